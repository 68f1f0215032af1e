//! Names: the registers of a function, and those of its parameters and `.param` variables that are as good as
//! registers.

use crate::ir::control::{ParamTy, Slot, Terminator};
use crate::ir::memory::{Address, Base, Var};
use crate::ir::{Function, FunctionKind, Inst, Kind, Param, ParamKind, Reg, RegClass};

/// Something that holds a value: registers come first, in their order, then promoted variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(pub u32);

impl Name {
    /// The index as a `usize`.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl From<Reg> for Name {
    fn from(reg: Reg) -> Name {
        Name(reg.0)
    }
}

/// The names of a function.
#[derive(Debug)]
pub struct Names {
    classes: Vec<RegClass>,
    params: Vec<Option<Name>>,
    returns: Vec<Option<Name>>,
    frame: Vec<Option<Name>>,
    written: Vec<bool>,
}

impl Names {
    /// Promotes every parameter, return parameter and `.param` variable of a body that has the size of a register
    /// and is only read and written whole. Kernel parameters stay in their buffer.
    pub fn new(function: &Function) -> Self {
        let kernel = function.kind == FunctionKind::Kernel;
        let mut names = Names {
            classes: function.regs.iter().map(|r| r.class).collect(),
            params: Vec::new(),
            returns: Vec::new(),
            frame: Vec::new(),
            written: Vec::new(),
        };
        let fits = |ty: ParamTy, offset: u32| {
            register_class(ty).is_some() && offset.is_multiple_of(ty.size)
        };
        let in_memory = |p: &Param| p.kind == ParamKind::Memory && fits(p.ty, p.offset);
        let mut params: Vec<_> = (function.params.iter())
            .map(|p| !kernel && in_memory(p))
            .collect();
        let mut returns: Vec<_> = function.returns.iter().map(in_memory).collect();
        let mut frame: Vec<_> = (function.frame.iter())
            .map(|v| fits(v.ty, v.offset))
            .collect();
        names.written = vec![false; params.len()];
        for inst in function.blocks.iter().flat_map(|b| &b.insts) {
            let (var, whole) = match &inst.kind {
                Kind::Load(l) => match l.addr {
                    Address {
                        base: Base::Var(var),
                        offset,
                    } => (var, (offset == 0 && l.dsts.len() == 1).then_some(l.bytes)),
                    Address { .. } => continue,
                },
                Kind::Store(s) => match s.addr {
                    Address {
                        base: Base::Var(var),
                        offset,
                    } => (var, (offset == 0 && s.srcs.len() == 1).then_some(s.bytes)),
                    Address { .. } => continue,
                },
                Kind::AddressOf(a) => (a.var, None),
                Kind::Pure(_)
                | Kind::FunctionAddress { .. }
                | Kind::Special { .. }
                | Kind::Call(_)
                | Kind::Meet(_)
                | Kind::Atomic(_)
                | Kind::Fence(_)
                | Kind::Mbarrier(_)
                | Kind::Copy(_)
                | Kind::Stack(_)
                | Kind::Hint { .. }
                | Kind::Unsupported => continue,
            };
            let stays = |ty: ParamTy| whole.map(u32::from) == Some(ty.size);
            match var {
                Var::Param(i) => {
                    params[i as usize] &= stays(function.params[i as usize].ty);
                    names.written[i as usize] |= matches!(inst.kind, Kind::Store(_));
                }
                Var::Return(i) => returns[i as usize] &= stays(function.returns[i as usize].ty),
                Var::Frame(i) => frame[i as usize] &= stays(function.frame[i as usize].ty),
                Var::Module(_) | Var::Local(_) => {}
            }
        }
        let mut promote = |yes: bool, ty: ParamTy| {
            let class = register_class(ty).filter(|_| yes)?;
            names.classes.push(class);
            Some(Name(names.classes.len() as u32 - 1))
        };
        let promoted_params = (function.params.iter().zip(params))
            .map(|(p, yes)| promote(yes, p.ty))
            .collect();
        let promoted_returns = (function.returns.iter().zip(returns))
            .map(|(p, yes)| promote(yes, p.ty))
            .collect();
        let promoted_frame = (function.frame.iter().zip(frame))
            .map(|(v, yes)| promote(yes, v.ty))
            .collect();
        names.params = promoted_params;
        names.returns = promoted_returns;
        names.frame = promoted_frame;
        let by_register = |param: &Param| match param.kind {
            ParamKind::Reg(reg) => Some(Name::from(reg)),
            ParamKind::Memory => None,
        };
        for (name, param) in names.params.iter_mut().zip(&function.params) {
            *name = name.or(by_register(param));
        }
        for (name, param) in names.returns.iter_mut().zip(&function.returns) {
            *name = name.or(by_register(param));
        }
        names
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.classes.len()
    }

    /// The class of a name.
    pub fn class(&self, name: Name) -> RegClass {
        self.classes[name.index()]
    }

    /// The name that a parameter is; `None` for one in memory.
    pub fn param(&self, index: usize) -> Option<Name> {
        self.params[index]
    }

    /// Whether the function writes to a parameter of its own.
    pub fn writes_param(&self, index: usize) -> bool {
        self.written[index]
    }

    /// The name that a return parameter is.
    pub fn ret(&self, index: usize) -> Option<Name> {
        self.returns[index]
    }

    /// The name that a `.param` variable of the body is.
    pub fn frame(&self, index: usize) -> Option<Name> {
        self.frame[index]
    }

    /// The name that a named address is.
    pub fn of_address(&self, address: &Address) -> Option<Name> {
        match address.base {
            Base::Var(Var::Param(i)) => self.param(i as usize),
            Base::Var(Var::Return(i)) => self.ret(i as usize),
            Base::Var(Var::Frame(i)) => self.frame(i as usize),
            Base::Var(Var::Module(_) | Var::Local(_)) | Base::Reg(_) | Base::Absolute => None,
        }
    }

    /// The name that an argument or result of a call is.
    pub fn of_slot(&self, slot: &Slot) -> Option<Name> {
        match slot {
            Slot::Value(operand) => operand.reg().map(Name::from),
            Slot::Frame(i) => self.frame(*i as usize),
            Slot::Param(i) => self.param(*i as usize),
            Slot::Sink => None,
        }
    }

    /// Calls `f` with each name that an instruction writes.
    pub fn defs(&self, inst: &Inst, mut f: impl FnMut(Name)) {
        match &inst.kind {
            Kind::Store(s) => self.of_address(&s.addr).into_iter().for_each(f),
            Kind::Call(c) => c.results.iter().filter_map(|s| self.of_slot(s)).for_each(f),
            Kind::Pure(_)
            | Kind::Load(_)
            | Kind::AddressOf(_)
            | Kind::FunctionAddress { .. }
            | Kind::Special { .. }
            | Kind::Meet(_)
            | Kind::Atomic(_)
            | Kind::Fence(_)
            | Kind::Mbarrier(_)
            | Kind::Copy(_)
            | Kind::Stack(_)
            | Kind::Hint { .. }
            | Kind::Unsupported => inst.defs(|r| f(r.into())),
        }
    }

    /// How many instructions write each name.
    pub fn definitions(&self, function: &Function) -> Vec<u32> {
        let mut definitions = vec![0; self.len()];
        for inst in function.blocks.iter().flat_map(|b| &b.insts) {
            self.defs(inst, |n| definitions[n.index()] += 1);
        }
        definitions
    }

    /// Calls `f` with each name that an instruction reads. A guarded instruction reads what it may leave alone.
    pub fn uses(&self, inst: &Inst, mut f: impl FnMut(Name)) {
        if inst.guard.is_some() {
            self.defs(inst, &mut f);
        }
        match &inst.kind {
            Kind::Load(l) => self.of_address(&l.addr).into_iter().for_each(&mut f),
            Kind::Call(c) => c
                .args
                .iter()
                .filter_map(|s| self.of_slot(s))
                .for_each(&mut f),
            Kind::Pure(_)
            | Kind::Store(_)
            | Kind::AddressOf(_)
            | Kind::FunctionAddress { .. }
            | Kind::Special { .. }
            | Kind::Meet(_)
            | Kind::Atomic(_)
            | Kind::Fence(_)
            | Kind::Mbarrier(_)
            | Kind::Copy(_)
            | Kind::Stack(_)
            | Kind::Hint { .. }
            | Kind::Unsupported => {}
        }
        inst.uses(|r| f(r.into()));
    }

    /// Calls `f` with each name that a terminator reads.
    pub fn terminator_uses(&self, terminator: &Terminator, mut f: impl FnMut(Name)) {
        match terminator {
            Terminator::Return => self.returns.iter().flatten().copied().for_each(f),
            Terminator::Jump(_)
            | Terminator::Branch { .. }
            | Terminator::Table { .. }
            | Terminator::Exit
            | Terminator::Trap => terminator.uses().into_iter().for_each(|r| f(r.into())),
        }
    }
}

/// The class of a parameter that travels in a register.
pub fn register_class(ty: ParamTy) -> Option<RegClass> {
    ty.size.checked_mul(8).and_then(RegClass::of_bits)
}
