//! Checks that IR keeps its own rules: what every reader of it takes for granted.

use super::control::{Call, Callee, ParamTy, Slot, Terminator};
use super::memory::{Address, Base, STACK_ALIGN, STACK_MOST_ALIGN, Space, Stack, Var};
use super::sync::{Atomic, AtomicOp, Copy, Mbarrier};
use super::{
    Block, Function, FunctionKind, Inst, Kind, Module, Operand, ParamKind, Reg, RegClass,
    RelocationTarget, StackVar, System, Variable,
};
use std::fmt;

/// A rule that IR breaks: a bug of whoever made it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// The function in which it stands, empty outside functions.
    pub function: String,
    /// The block in which it stands.
    pub block: Option<Block>,
    /// Which instruction of the block, from 0; the terminator comes last.
    pub inst: Option<usize>,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.function)?;
        if let Some(block) = self.block {
            write!(f, " {block}")?;
        }
        if let Some(inst) = self.inst {
            write!(f, " instruction {inst}")?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for Violation {}

/// Checks a module.
///
/// Rules: indices are in range; sources and destinations have the classes of their operator's
/// [`Signature`](super::Signature), memory accesses those of their elements; guards and conditions are predicates;
/// what an access names lies in the space of the access; a call passes what the callee takes; variables and parameters
/// are aligned and do not overlap; initial contents fit.
///
/// # Errors
/// The first rule that is broken.
pub fn verify(module: &Module) -> Result<(), Violation> {
    for variable in &module.variables {
        verify_variable(module, variable).map_err(|message| Violation {
            function: String::new(),
            block: None,
            inst: None,
            message: format!("variable `{}`: {message}", variable.name),
        })?;
    }
    overlaps(module).map_err(|message| Violation {
        function: String::new(),
        block: None,
        inst: None,
        message,
    })?;
    for function in &module.functions {
        let check = Check { module, function };
        check.function()?;
    }
    Ok(())
}

/// What is wrong, without its place.
type Rule = Result<(), String>;

fn require(holds: bool, message: impl FnOnce() -> String) -> Rule {
    if holds { Ok(()) } else { Err(message()) }
}

fn verify_variable(module: &Module, variable: &Variable) -> Rule {
    let align = u64::from(variable.align);
    require(align.is_power_of_two(), || format!("alignment {align}"))?;
    require(variable.offset.is_multiple_of(align), || {
        format!("offset {} is not aligned to {align}", variable.offset)
    })?;
    require(
        matches!(variable.space, Space::Global | Space::Const | Space::Shared),
        || format!("space {:?}", variable.space),
    )?;
    let init = &variable.init;
    require(init.bytes.len() as u64 <= variable.size, || {
        format!("{} initial bytes of {}", init.bytes.len(), variable.size)
    })?;
    for relocation in &init.relocations {
        require((1..=8).contains(&relocation.bytes), || {
            format!("an address of {} bytes", relocation.bytes)
        })?;
        let end = relocation.offset.checked_add(u64::from(relocation.bytes));
        require(end.is_some_and(|end| end <= variable.size), || {
            format!("an address at {} of {}", relocation.offset, variable.size)
        })?;
        match relocation.target {
            RelocationTarget::Variable(id) => {
                require(id.index() < module.variables.len(), || format!("{id}"))?;
            }
            RelocationTarget::Function(id) => {
                require(id.index() < module.functions.len(), || format!("{id}"))?;
            }
        }
    }
    Ok(())
}

/// Variables of `.global` and `.const` lie in their blocks, side by side. Those of `.shared` may lie over each other,
/// where no kernel has both.
fn overlaps(module: &Module) -> Rule {
    for (space, bytes) in [
        (Space::Global, module.global_bytes),
        (Space::Const, u64::from(module.const_bytes)),
    ] {
        let mut variables: Vec<&Variable> = module
            .variables
            .iter()
            .filter(|v| v.space == space && v.size > 0)
            .collect();
        variables.sort_by_key(|v| v.offset);
        let mut end = 0;
        for variable in variables {
            require(variable.offset >= end, || {
                format!("`{}` lies over the variable before", variable.name)
            })?;
            end = variable.offset + variable.size;
        }
        require(end <= bytes, || {
            format!("{space:?} variables end at {end} of {bytes}")
        })?;
    }
    Ok(())
}

struct Check<'m> {
    module: &'m Module,
    function: &'m Function,
}

impl Check<'_> {
    fn function(&self) -> Result<(), Violation> {
        let function = self.function;
        let violation = |block: Option<Block>, inst: Option<usize>, message: String| Violation {
            function: function.name.clone(),
            block,
            inst,
            message,
        };
        self.frame()
            .map_err(|message| violation(None, None, message))?;
        if function.defined && function.blocks.is_empty() {
            return Err(violation(None, None, "no blocks".to_string()));
        }
        for (index, block) in function.blocks.iter().enumerate() {
            let name = Some(Block(index as u32));
            for (number, inst) in block.insts.iter().enumerate() {
                self.inst(inst)
                    .map_err(|message| violation(name, Some(number), message))?;
            }
            let number = Some(block.insts.len());
            self.terminator(&block.terminator)
                .and_then(|()| self.location(block.location))
                .map_err(|message| violation(name, number, message))?;
        }
        Ok(())
    }

    /// Parameters, variables, registers.
    fn frame(&self) -> Rule {
        let function = self.function;
        for (params, bytes) in [
            (&function.params, function.param_bytes),
            (&function.returns, function.return_bytes),
        ] {
            let mut end = 0;
            for param in params {
                placed(&param.name, param.ty, param.offset, &mut end)?;
                if let ParamKind::Reg(reg) = param.kind {
                    let class = self.class(reg)?;
                    require(class.bits().div_ceil(8) == param.ty.size, || {
                        format!("parameter `{}` in a {class}", param.name)
                    })?;
                }
            }
            require(end <= bytes, || {
                format!("parameters end at {end} of {bytes}")
            })?;
        }
        for (vars, bytes) in [
            (&function.locals, function.local_bytes),
            (&function.frame, function.frame_bytes),
        ] {
            let mut end = 0;
            for StackVar { name, ty, offset } in vars {
                placed(name, *ty, *offset, &mut end)?;
            }
            require(end <= bytes, || {
                format!("variables end at {end} of {bytes}")
            })?;
        }
        let align = function.local_align;
        let aligned = function.locals.iter().all(|var| var.ty.align <= align);
        require(align.is_power_of_two() && aligned, || {
            format!("`.local` alignment {align}")
        })?;
        match function.carry {
            Some(carry) => self.exactly(carry, RegClass::Pred),
            None => Ok(()),
        }
    }

    fn location(&self, location: u32) -> Rule {
        let known = location == u32::MAX || (location as usize) < self.module.locations.len();
        require(known, || format!("location {location}"))
    }

    fn class(&self, reg: Reg) -> Result<RegClass, String> {
        match self.function.regs.get(reg.index()) {
            Some(info) => Ok(info.class),
            None => Err(format!("{reg} of {} registers", self.function.regs.len())),
        }
    }

    fn exactly(&self, reg: Reg, class: RegClass) -> Rule {
        let found = self.class(reg)?;
        require(found == class, || {
            format!("{reg} is {found}, {class} is wanted")
        })
    }

    /// A source may be wider than what is wanted of it, unless that is a predicate.
    fn at_least(&self, operand: Operand, class: RegClass) -> Rule {
        let Operand::Reg(reg) = operand else {
            return Ok(());
        };
        let found = self.class(reg)?;
        let fits = if class == RegClass::Pred || found == RegClass::Pred {
            found == class
        } else {
            found >= class
        };
        require(fits, || format!("{reg} is {found}, {class} is wanted"))
    }

    fn address_register(&self, reg: Reg) -> Rule {
        let found = self.class(reg)?;
        require(matches!(found, RegClass::B32 | RegClass::B64), || {
            format!("address in {reg}, a {found}")
        })
    }

    fn var(&self, var: Var) -> Result<Space, String> {
        let function = self.function;
        let (index, len, space) = match var {
            Var::Module(id) => match self.module.variables.get(id.index()) {
                Some(variable) => return Ok(variable.space),
                None => return Err(format!("{id}")),
            },
            Var::Local(index) => (index, function.locals.len(), Space::Local),
            Var::Param(index) => (index, function.params.len(), Space::Param),
            Var::Return(index) => (index, function.returns.len(), Space::Param),
            Var::Frame(index) => (index, function.frame.len(), Space::Param),
        };
        require((index as usize) < len, || format!("{var:?} of {len}"))?;
        Ok(space)
    }

    fn inst(&self, inst: &Inst) -> Rule {
        self.location(inst.location)?;
        if let Some(guard) = inst.guard {
            self.exactly(guard.reg, RegClass::Pred)?;
        }
        match &inst.kind {
            Kind::Pure(pure) => {
                let signature = pure.op.signature();
                let counts = (pure.srcs.len(), pure.dsts.len());
                let wanted = (signature.srcs.len(), signature.dsts.len());
                require(counts == wanted, || {
                    format!("{:?}: {counts:?} operands, {wanted:?} are wanted", pure.op)
                })?;
                for (&src, &class) in pure.srcs.iter().zip(&signature.srcs) {
                    self.at_least(src, class)?;
                }
                for (dst, &class) in pure.dsts.iter().zip(&signature.dsts) {
                    if let Some(dst) = *dst {
                        self.exactly(dst, class)?;
                    }
                }
                Ok(())
            }
            Kind::Load(load) => {
                let elements = load.dsts.len();
                self.access(load.space, load.bytes, load.align, elements, &load.addr)?;
                load.dsts
                    .iter()
                    .flatten()
                    .try_for_each(|&reg| self.element(Operand::Reg(reg), load.bytes))
            }
            Kind::Store(store) => {
                let elements = store.srcs.len();
                self.access(store.space, store.bytes, store.align, elements, &store.addr)?;
                store
                    .srcs
                    .iter()
                    .try_for_each(|&src| self.element(src, store.bytes))
            }
            Kind::AddressOf(address) => {
                self.address_register(address.dst)?;
                let space = self.var(address.var)?;
                let kernel = self.function.kind == FunctionKind::Kernel;
                require(
                    match address.var {
                        Var::Param(_) => kernel,
                        Var::Return(_) | Var::Frame(_) => false,
                        Var::Module(_) | Var::Local(_) => true,
                    },
                    || format!("address of {:?} in {space:?}", address.var),
                )
            }
            Kind::FunctionAddress { dst, function } => {
                self.address_register(*dst)?;
                require(function.index() < self.module.functions.len(), || {
                    format!("{function}")
                })
            }
            Kind::Special { dst, .. } => self.class(*dst).map(drop),
            Kind::Call(call) => self.call(call),
            Kind::Meet(meet) => {
                let signature = meet.op.signature();
                let counts = (meet.srcs.len(), meet.dsts.len());
                let wanted = (signature.srcs.len(), signature.dsts.len());
                require(counts == wanted, || {
                    format!("{:?}: {counts:?} operands, {wanted:?} are wanted", meet.op)
                })?;
                for (&src, &class) in meet.srcs.iter().zip(&signature.srcs) {
                    self.at_least(src, class)?;
                }
                for (dst, &class) in meet.dsts.iter().zip(&signature.dsts) {
                    if let Some(dst) = *dst {
                        self.exactly(dst, class)?;
                    }
                }
                Ok(())
            }
            Kind::Atomic(atomic) => self.atomic(atomic),
            Kind::Mbarrier(mbarrier) => self.mbarrier(mbarrier),
            Kind::Copy(copy) => self.copy(copy),
            Kind::Stack(stack) => match *stack {
                Stack::Allocate { dst, size, align } => {
                    self.address_register(dst)?;
                    self.at_least(size, self.class(dst)?)?;
                    let aligns = STACK_ALIGN..=STACK_MOST_ALIGN;
                    require(align.is_power_of_two() && aligns.contains(&align), || {
                        format!("alloca aligned to {align}")
                    })
                }
                Stack::Save { dst } => self.address_register(dst),
                Stack::Restore { src } => self.address_register(src),
            },
            Kind::Fence(_) | Kind::Hint { .. } => Ok(()),
            Kind::Unsupported => require(!self.function.unsupported.is_empty(), || {
                "an unsupported instruction that is not listed".to_string()
            }),
        }
    }

    fn element(&self, operand: Operand, bytes: u8) -> Rule {
        let class = RegClass::of_bits(u32::from(bytes) * 8);
        let class = class.ok_or_else(|| format!("elements of {bytes} bytes"))?;
        self.at_least(operand, class)
    }

    fn access(
        &self,
        space: Space,
        bytes: u8,
        align: u8,
        elements: usize,
        address: &Address,
    ) -> Rule {
        require(matches!(bytes, 1 | 2 | 4 | 8), || {
            format!("elements of {bytes} bytes")
        })?;
        require(elements > 0, || "an access of nothing".to_string())?;
        require(align.is_power_of_two() && align >= bytes, || {
            format!("alignment {align}")
        })?;
        self.place(space, address)
    }

    /// Elements of 16 bytes have two halves.
    fn atomic(&self, atomic: &Atomic) -> Rule {
        let (element, halves) = match atomic.bytes {
            16 => (8, 2),
            bytes => (bytes, 1),
        };
        require(matches!(atomic.bytes, 2 | 4 | 8 | 16), || {
            format!("an atomic of {} bytes", atomic.bytes)
        })?;
        let operands = if atomic.op == AtomicOp::Cas { 2 } else { 1 };
        require(atomic.srcs.len() == operands * halves, || {
            format!("{} sources of {:?}", atomic.srcs.len(), atomic.op)
        })?;
        require(
            atomic.dsts.is_empty() || atomic.dsts.len() == halves,
            || format!("{} destinations of {:?}", atomic.dsts.len(), atomic.op),
        )?;
        for &src in &atomic.srcs {
            self.element(src, element)?;
        }
        for &dst in atomic.dsts.iter().flatten() {
            self.element(Operand::Reg(dst), element)?;
        }
        self.place(atomic.space, &atomic.addr)
    }

    fn mbarrier(&self, mbarrier: &Mbarrier) -> Rule {
        let (dst, srcs) = mbarrier.op.signature();
        require(mbarrier.srcs.len() == srcs.len(), || {
            format!("{} sources of {:?}", mbarrier.srcs.len(), mbarrier.op)
        })?;
        for (&src, &class) in mbarrier.srcs.iter().zip(&srcs) {
            self.at_least(src, class)?;
        }
        match (mbarrier.dst, dst) {
            (Some(reg), Some(class)) => self.exactly(reg, class)?,
            (Some(_), None) => return Err(format!("a destination of {:?}", mbarrier.op)),
            (None, _) => {}
        }
        self.place(mbarrier.space, &mbarrier.addr)
    }

    fn copy(&self, copy: &Copy) -> Rule {
        for operand in copy.operands() {
            let class = if Some(operand) == copy.ignore {
                RegClass::Pred
            } else if Some(operand) == copy.byte_mask || Some(operand) == copy.multicast {
                RegClass::B16
            } else {
                RegClass::B32
            };
            self.at_least(operand, class)?;
        }
        require(matches!(copy.align, 4 | 8 | 16), || {
            format!("a copy aligned to {}", copy.align)
        })?;
        self.place(copy.to.0, &copy.to.1)?;
        self.place(copy.from.0, &copy.from.1)?;
        match &copy.mbarrier {
            Some((space, address)) => self.place(*space, address),
            None => Ok(()),
        }
    }

    fn place(&self, space: Space, address: &Address) -> Rule {
        match address.base {
            Base::Reg(reg) => self.address_register(reg),
            Base::Var(var) => {
                let found = self.var(var)?;
                require(found == space, || {
                    format!("{var:?} lies in {found:?}, the access is to {space:?}")
                })
            }
            Base::Absolute => Ok(()),
        }
    }

    fn call(&self, call: &Call) -> Rule {
        let own;
        let ty = match &call.callee {
            Callee::Direct(id) => {
                let callee = self.module.functions.get(id.index());
                let callee = callee.ok_or_else(|| format!("{id}"))?;
                require(
                    callee.kind == FunctionKind::Device
                        && (callee.defined || System::of(callee).is_some()),
                    || format!("call of `{}`", callee.name),
                )?;
                own = callee.call_type();
                &own
            }
            Callee::Indirect { target, ty } => {
                if let Operand::Reg(reg) = target {
                    self.address_register(*reg)?;
                }
                ty
            }
        };
        for (what, slots, params) in [
            ("arguments", &call.args, &ty.params),
            ("results", &call.results, &ty.returns),
        ] {
            require(slots.len() == params.len(), || {
                format!("{} {what} of {}", slots.len(), params.len())
            })?;
            for (slot, param) in slots.iter().zip(params) {
                self.slot(slot, *param, what == "results")?;
            }
        }
        Ok(())
    }

    fn slot(&self, slot: &Slot, param: ParamTy, result: bool) -> Rule {
        let size = match *slot {
            Slot::Value(Operand::Reg(reg)) => self.class(reg)?.bits().div_ceil(8),
            Slot::Value(Operand::Imm(_)) => {
                require(!result, || "a result in a constant".to_string())?;
                param.size
            }
            Slot::Frame(index) => match self.function.frame.get(index as usize) {
                Some(var) => var.ty.size,
                None => return Err(format!("frame variable {index}")),
            },
            Slot::Param(index) => {
                require(!result, || "a result in a parameter".to_string())?;
                match self.function.params.get(index as usize) {
                    Some(own) => own.ty.size,
                    None => return Err(format!("parameter {index}")),
                }
            }
            Slot::Sink => {
                require(result, || "a sink as an argument".to_string())?;
                param.size
            }
        };
        require(size == param.size, || {
            format!("{size} bytes for a parameter of {}", param.size)
        })
    }

    fn terminator(&self, terminator: &Terminator) -> Rule {
        let mut wrong = None;
        terminator.successors(|block| {
            if block.index() >= self.function.blocks.len() {
                wrong = Some(block);
            }
        });
        if let Some(block) = wrong {
            return Err(format!("{block} of {} blocks", self.function.blocks.len()));
        }
        match terminator {
            Terminator::Branch { cond, .. } => self.exactly(*cond, RegClass::Pred),
            Terminator::Table { index, targets } => {
                require(!targets.is_empty(), || "an empty table".to_string())?;
                self.at_least(*index, RegClass::B32)
            }
            Terminator::Jump(_) | Terminator::Return | Terminator::Exit | Terminator::Trap => {
                Ok(())
            }
        }
    }
}

/// A parameter or variable behind those before it.
fn placed(name: &str, ty: ParamTy, offset: u32, end: &mut u32) -> Rule {
    require(
        ty.align.is_power_of_two() && offset.is_multiple_of(ty.align),
        || format!("`{name}` at {offset}, aligned to {}", ty.align),
    )?;
    require(offset >= *end, || {
        format!("`{name}` at {offset} lies over the one before")
    })?;
    let after = offset.checked_add(ty.size);
    *end = after.ok_or_else(|| format!("`{name}` at {offset} is too large"))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::parse_and_check;
    use crate::diag::Source;
    use crate::ir::{FuncId, Operand, VarId};

    const TEXT: &str = "
.version 8.7
.target sm_90
.address_size 64
.global .b32 first = 1;
.global .u64 second = first;
.func (.param .b32 r) f(.param .b32 a, .reg .pred q)
{
    .reg .b32 x;
    ld.param.b32 x, [a];
    @q add.u32 x, x, 1;
    st.param.b32 [r], x;
    ret;
}
.entry k()
{
    .reg .pred p;
    .reg .b16 h;
    .reg .b32 a;
    .reg .b64 d;
    .param .b32 got;
    .local .b64 kept;
    setp.eq.u32 p, a, 0;
    call (got), f, (5, p);
    mov.b64 d, kept;
    st.local.b32 [d], a;
    @p bra L;
    exit;
L:
    ret;
}
";

    fn module() -> Module {
        parse_and_check(Source::new("test", TEXT)).expect("a module")
    }

    /// Breaks a rule, and gives what is said of it.
    fn broken(change: impl FnOnce(&mut Module)) -> String {
        let mut module = module();
        change(&mut module);
        verify(&module).expect_err("a violation").to_string()
    }

    fn insts(module: &mut Module) -> &mut Vec<Inst> {
        &mut module.functions[1].blocks[0].insts
    }

    #[test]
    fn what_check_makes_keeps_the_rules() {
        assert_eq!(verify(&module()), Ok(()));
    }

    #[test]
    fn indices_must_be_in_range() {
        let far = Block(99);
        let said = broken(|m| m.functions[1].blocks[0].terminator = Terminator::Jump(far));
        assert_eq!(said, "k block0 instruction 4: block99 of 3 blocks");
        let said = broken(|m| {
            if let Kind::Pure(pure) = &mut insts(m)[0].kind {
                pure.srcs[0] = Operand::Reg(Reg(99));
            }
        });
        assert!(said.contains("r99"), "{said}");
        let said = broken(|m| {
            if let Kind::Call(call) = &mut insts(m)[1].kind {
                call.callee = Callee::Direct(FuncId(99));
            }
        });
        assert!(said.contains("fn99"), "{said}");
        let said = broken(|m| {
            if let Kind::AddressOf(address) = &mut insts(m)[2].kind {
                address.var = Var::Module(VarId(99));
            }
        });
        assert!(said.contains("var99"), "{said}");
        let said = broken(|m| insts(m)[0].location = 0);
        assert!(said.contains("location 0"), "{said}");
    }

    #[test]
    fn classes_must_fit() {
        // The registers of `k`: by their order in the text, as they are first used.
        let reg = |module: &Module, name: &str| {
            let regs = &module.functions[1].regs;
            let index = regs.iter().position(|r| &*r.name == name);
            Reg(index.expect("a register") as u32)
        };
        let said = broken(|m| {
            let (p, a) = (reg(m, "p"), reg(m, "a"));
            insts(m)[0].guard = Some(crate::ir::Guard {
                reg: a,
                negated: false,
            });
            if let Terminator::Branch { cond, .. } = &mut m.functions[1].blocks[0].terminator {
                assert_eq!(*cond, p);
            }
        });
        assert!(said.contains("is b32, pred is wanted"), "{said}");
        let said = broken(|m| {
            let a = reg(m, "a");
            if let Kind::Pure(pure) = &mut insts(m)[0].kind {
                pure.dsts[0] = Some(a);
            }
        });
        assert!(said.contains("is b32, pred is wanted"), "{said}");
        let said = broken(|m| {
            let p = reg(m, "p");
            if let Kind::Store(store) = &mut insts(m)[3].kind {
                store.srcs[0] = Operand::Reg(p);
            }
        });
        assert!(said.contains("is pred, b32 is wanted"), "{said}");
        let said = broken(|m| {
            let p = reg(m, "p");
            if let Kind::Store(store) = &mut insts(m)[3].kind {
                store.addr.base = Base::Reg(p);
            }
        });
        assert!(said.contains("address in"), "{said}");
        let said = broken(|m| {
            if let Kind::Pure(pure) = &mut insts(m)[0].kind {
                pure.srcs.pop();
            }
        });
        assert!(said.contains("operands"), "{said}");
    }

    #[test]
    fn accesses_and_calls_must_fit_what_they_name() {
        let said = broken(|m| {
            if let Kind::Store(store) = &mut insts(m)[3].kind {
                store.addr.base = Base::Var(Var::Local(0));
                store.space = Space::Shared;
            }
        });
        assert!(said.contains("lies in Local"), "{said}");
        let said = broken(|m| {
            if let Kind::Store(store) = &mut insts(m)[3].kind {
                store.bytes = 3;
            }
        });
        assert!(said.contains("3 bytes"), "{said}");
        let said = broken(|m| {
            if let Kind::Call(call) = &mut insts(m)[1].kind {
                call.args.pop();
            }
        });
        assert!(said.contains("1 arguments of 2"), "{said}");
        let said = broken(|m| {
            if let Kind::Call(call) = &mut insts(m)[1].kind {
                call.results[0] = Slot::Value(Operand::Imm(0));
            }
        });
        assert!(said.contains("a result in a constant"), "{said}");
        let said = broken(|m| m.functions[1].frame[0].ty.size = 8);
        assert!(said.contains("8"), "{said}");
    }

    #[test]
    fn variables_must_not_overlap_or_lie_askew() {
        let said = broken(|m| m.variables[1].offset = 0);
        assert!(said.contains("lies over"), "{said}");
        let said = broken(|m| m.variables[1].offset += 4);
        assert!(said.contains("not aligned"), "{said}");
        let said = broken(|m| m.global_bytes = 4);
        assert!(said.contains("of 4"), "{said}");
        let said = broken(|m| m.variables[0].init.bytes = vec![0; 5]);
        assert!(said.contains("5 initial bytes"), "{said}");
        let said = broken(|m| {
            m.variables[1].init.relocations[0].target = RelocationTarget::Function(FuncId(9));
        });
        assert!(said.contains("fn9"), "{said}");
        let said = broken(|m| m.functions[1].local_bytes = 4);
        assert!(said.contains("end at 8 of 4"), "{said}");
    }

    #[test]
    fn what_is_unsupported_must_be_listed() {
        let said = broken(|m| insts(m)[0].kind = Kind::Unsupported);
        assert!(said.contains("not listed"), "{said}");
    }
}
