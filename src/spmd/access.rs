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
    /// Nowhere: it always faults.
    Wrong(FaultKind),
}

/// A load or store, as far as its address goes.
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
    /// Of a load or store.
    pub fn of(inst: &Inst) -> Option<Reach> {
        match &inst.kind {
            Kind::Load(l) => Some(Reach {
                space: l.space,
                address: l.addr,
                access: Access {
                    write: false,
                    bytes: u32::from(l.bytes) * l.dsts.len() as u32,
                    align: u32::from(l.align),
                },
            }),
            Kind::Store(s) => Some(Reach {
                space: s.space,
                address: s.addr,
                access: Access {
                    write: true,
                    bytes: u32::from(s.bytes) * s.srcs.len() as u32,
                    align: u32::from(s.align),
                },
            }),
            Kind::Pure(_)
            | Kind::AddressOf(_)
            | Kind::FunctionAddress { .. }
            | Kind::Special { .. }
            | Kind::Call(_)
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
                    let (home, size, root) = match variable.space {
                        Space::Global => (Home::Globals, module.global_bytes, Some(Root::Globals)),
                        Space::Const => (Home::Constants, u64::from(module.const_bytes), None),
                        // Which kernel runs a device function, and so how much shared memory there is, is not known.
                        Space::Shared if kernel => {
                            (Home::Shared, u64::from(function.shared_bytes), None)
                        }
                        Space::Shared | Space::Generic | Space::Local | Space::Param => {
                            return Place::Checked(None);
                        }
                    };
                    let writable = !matches!(variable.space, Space::Const);
                    self.fixed(home, variable.offset, size, writable)
                        .unwrap_or(Place::Checked(root))
                }
                Var::Param(i) if kernel => {
                    let param = &function.params[i as usize];
                    let (offset, size) = (param.offset, function.param_bytes);
                    self.fixed(Home::Params, offset.into(), size.into(), false)
                        .unwrap_or(Place::Checked(None))
                }
                Var::Local(i) => {
                    let offset = function.locals[i as usize].offset;
                    self.fixed(
                        Home::Locals,
                        offset.into(),
                        function.local_bytes.into(),
                        true,
                    )
                    .unwrap_or(Place::Checked(None))
                }
                Var::Param(i) => {
                    let size = function.params[i as usize].ty.size;
                    self.fixed(Home::Param(i), 0, size.into(), false)
                        .unwrap_or_else(|| self.wrong(0, size, false))
                }
                Var::Return(i) => {
                    let size = function.returns[i as usize].ty.size;
                    self.fixed(Home::Return(i), 0, size.into(), true)
                        .unwrap_or_else(|| self.wrong(0, size, true))
                }
                Var::Frame(i) => {
                    let size = function.frame[i as usize].ty.size;
                    self.fixed(Home::Frame(i), 0, size.into(), true)
                        .unwrap_or_else(|| self.wrong(0, size, true))
                }
            },
        }
    }

    /// Known bytes, if they are aligned, in bounds, and may be written where that is wanted.
    fn fixed(&self, home: Home, offset: u64, size: u64, writable: bool) -> Option<Place> {
        let at = offset.checked_add_signed(self.address.offset)?;
        let end = at.checked_add(self.access.bytes.into())?;
        let fits = end <= size && at.is_multiple_of(self.access.align.into());
        let may = writable || !self.access.write;
        Some(Place::Fixed(
            home,
            u32::try_from(at).ok().filter(|_| fits && may)?,
        ))
    }

    /// What is wrong with known bytes, in the order of [`View::access`](crate::machine::View::access).
    fn wrong(&self, offset: u64, size: u32, writable: bool) -> Place {
        let at = offset.wrapping_add_signed(self.address.offset);
        let (size, bytes) = (u64::from(size), u64::from(self.access.bytes));
        Place::Wrong(if !at.is_multiple_of(self.access.align.into()) {
            FaultKind::Misaligned
        } else if at > size || size - at < bytes || writable {
            FaultKind::OutOfBounds
        } else {
            FaultKind::ReadOnly
        })
    }
}
