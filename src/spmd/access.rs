//! What each load and store needs: nothing, a check, or a fault.

use super::names::{Name, Names};
use super::provenance::{Provenance, Root};
use crate::ir::memory::{Address, Base, Space, Var};
use crate::ir::{Function, FunctionKind, Inst, Kind, Module};
use crate::machine::{Access, FaultKind};

/// Memory whose place and size are known when code is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Home {
    /// The block of `.global` variables.
    Globals,
    /// The window of constants.
    Constants,
    /// The CTA's shared memory.
    Shared,
    /// The buffer of kernel parameters.
    Params,
    /// The function's own `.local` variables.
    Locals,
    /// A parameter of a device function, in memory.
    Param(u32),
    /// A return parameter, in memory.
    Return(u32),
    /// A `.param` variable of the body, in memory.
    Frame(u32),
}

/// Where an access goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// To a name: no memory at all.
    Name(Name),
    /// To these bytes of known memory, aligned and in bounds: no check.
    Fixed(Home, u32),
    /// Where an address says, to be checked.
    Checked(Option<Root>),
    /// Nowhere: it always faults, at this address.
    Wrong(FaultKind, u64),
}

/// A load, store or atomic, as far as its address goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reach {
    /// The state space.
    pub space: Space,
    /// The address.
    pub address: Address,
    /// Read or write, size and alignment.
    pub access: Access,
}

impl Reach {
    /// Of a load, store or atomic.
    pub fn of(inst: &Inst) -> Option<Reach> {
        match &inst.kind {
            Kind::Load(l) => Some(Reach {
                space: l.space,
                address: l.addr,
                access: Access {
                    write: false,
                    bytes: u32::from(l.bytes) * l.dsts.len() as u32,
                    align: u32::from(l.align.max(l.bytes)),
                },
            }),
            Kind::Store(s) => Some(Reach {
                space: s.space,
                address: s.addr,
                access: Access {
                    write: true,
                    bytes: u32::from(s.bytes) * s.srcs.len() as u32,
                    align: u32::from(s.align.max(s.bytes)),
                },
            }),
            Kind::Atomic(a) => Some(Reach {
                space: a.space,
                address: a.addr,
                access: Access {
                    write: true,
                    bytes: a.bytes.into(),
                    align: a.bytes.into(),
                },
            }),
            Kind::Pure(_)
            | Kind::AddressOf(_)
            | Kind::FunctionAddress { .. }
            | Kind::Special { .. }
            | Kind::Call(_)
            | Kind::Meet(_)
            | Kind::Fence(_)
            | Kind::Mbarrier(_)
            | Kind::Copy(_)
            | Kind::Stack(_)
            | Kind::Hint { .. }
            | Kind::Unsupported => None,
        }
    }

    /// Where it goes.
    pub fn place(
        &self,
        module: &Module,
        function: &Function,
        names: &Names,
        provenance: &Provenance,
    ) -> Place {
        if let Some(name) = names.of_address(&self.address) {
            return Place::Name(name);
        }
        let kernel = function.kind == FunctionKind::Kernel;
        match self.address.base {
            Base::Reg(reg) => Place::Checked(provenance.root(reg.into()).cloned()),
            Base::Absolute => Place::Checked(None),
            Base::Var(var) => match var {
                Var::Module(id) => {
                    let variable = &module.variables[id.index()];
                    let start = variable.offset;
                    match variable.space {
                        // The gaps between variables are not memory.
                        Space::Global => self
                            .fixed(Home::Globals, start, start, start + variable.size)
                            .unwrap_or(Place::Checked(Some(Root::Variable(id)))),
                        Space::Const if !self.access.write => {
                            self.window(Home::Constants, start, module.const_bytes)
                        }
                        // Which kernel runs a device function, and so how much shared memory there is, is not known.
                        // Where a dynamic one ends is the launch's to say.
                        Space::Shared if kernel && !variable.dynamic => {
                            self.window(Home::Shared, start, function.shared_bytes)
                        }
                        Space::Const
                        | Space::Shared
                        | Space::Cluster
                        | Space::Generic
                        | Space::Local
                        | Space::Param => Place::Checked(None),
                    }
                }
                Var::Param(i) if kernel => {
                    let start = function.params[i as usize].offset.into();
                    if self.access.write {
                        return Place::Checked(None);
                    }
                    self.window(Home::Params, start, function.param_bytes)
                }
                Var::Local(i) => {
                    let start = function.locals[i as usize].offset.into();
                    self.window(Home::Locals, start, function.local_bytes)
                }
                Var::Param(i) => {
                    let param = &function.params[i as usize];
                    self.variable(Home::Param(i), param.offset, param.ty.size)
                }
                Var::Return(i) => {
                    let param = &function.returns[i as usize];
                    self.variable(Home::Return(i), param.offset, param.ty.size)
                }
                Var::Frame(i) => {
                    let var = &function.frame[i as usize];
                    self.variable(Home::Frame(i), var.offset, var.ty.size)
                }
            },
        }
    }

    /// Bytes of a variable that begins at `start`, if they are aligned and lie in `from..to`.
    fn fixed(&self, home: Home, start: u64, from: u64, to: u64) -> Option<Place> {
        let at = start.checked_add_signed(self.address.offset)?;
        let end = at.checked_add(self.access.bytes.into())?;
        let fits = from <= at && end <= to && at.is_multiple_of(self.access.align.into());
        Some(Place::Fixed(home, u32::try_from(at).ok().filter(|_| fits)?))
    }

    /// An access by name to a window, of which `size` bytes are there for certain.
    fn window(&self, home: Home, start: u64, size: u32) -> Place {
        self.fixed(home, start, 0, size.into())
            .unwrap_or(Place::Checked(None))
    }

    /// An access to a variable of `size` bytes at `start` in a buffer of its own.
    fn variable(&self, home: Home, start: u32, size: u32) -> Place {
        let at = i64::from(start).wrapping_add(self.address.offset) as u64;
        if !at.is_multiple_of(self.access.align.into()) {
            return Place::Wrong(FaultKind::Misaligned, at);
        }
        let fits = u64::try_from(self.address.offset)
            .ok()
            .and_then(|offset| offset.checked_add(self.access.bytes.into()))
            .is_some_and(|end| end <= size.into());
        if fits {
            Place::Fixed(home, self.address.offset as u32)
        } else {
            Place::Wrong(FaultKind::OutOfBounds, at)
        }
    }
}
