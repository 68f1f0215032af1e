//! IR as text, for people.

use super::control::{Call, Callee, Slot, Terminator};
use super::memory::{Address, Base, Load, Order, Space, Stack, Store, Var};
use super::sync::{Atomic, Copy, Mbarrier};
use super::{
    Block, Function, FunctionKind, Inst, Kind, Module, Operand, ParamKind, PureOp, Reg,
    RelocationTarget, Variable,
};
use crate::diag::Source;
use rustc_hash::FxHashMap;
use std::fmt;

/// All variables and functions, with the lines of the text as comments.
impl fmt::Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor) = self.version;
        writeln!(
            f,
            "module .version {major}.{minor} .target {} .address_size {}, {} bytes of .global, {} of .const",
            self.target, self.address_bits, self.global_bytes, self.const_bytes
        )?;
        for (index, variable) in self.variables.iter().enumerate() {
            write!(f, "var{index}: ")?;
            print_variable(f, self, variable)?;
        }
        for index in 0..self.functions.len() {
            write!(f, "\n{}", self.display(index))?;
        }
        Ok(())
    }
}

impl Module {
    /// A function by index, with the lines of the text as comments.
    pub fn display(&self, function: usize) -> impl fmt::Display + '_ {
        Printer {
            module: Some(self),
            function: &self.functions[function],
            names: names(&self.functions[function]),
        }
    }
}

/// Registers, variables and blocks; variables and functions of the module by their index.
impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let printer = Printer {
            module: None,
            function: self,
            names: names(self),
        };
        fmt::Display::fmt(&printer, f)
    }
}

fn print_variable(f: &mut fmt::Formatter<'_>, module: &Module, variable: &Variable) -> fmt::Result {
    write!(
        f,
        ".{} .align {} .{} {}",
        space(variable.space),
        variable.align,
        variable.declared,
        variable.name
    )?;
    if variable.dynamic {
        write!(f, ", dynamic")?;
    } else {
        write!(f, ", {} bytes at {:#x}", variable.size, variable.offset)?;
    }
    let bytes = &variable.init.bytes;
    if !bytes.is_empty() {
        const SHOWN: usize = 32;
        write!(f, " =")?;
        for byte in bytes.iter().take(SHOWN) {
            write!(f, " {byte:02x}")?;
        }
        if bytes.len() > SHOWN {
            write!(f, " ... {} bytes", bytes.len())?;
        }
    }
    for relocation in &variable.init.relocations {
        let target = match relocation.target {
            RelocationTarget::Variable(id) => &module.variables[id.index()].name,
            RelocationTarget::Function(id) => &module.functions[id.index()].name,
        };
        let generic = if relocation.generic { "generic " } else { "" };
        write!(
            f,
            ", +{}: {} bytes of {generic}{target}{:+}",
            relocation.offset, relocation.bytes, relocation.addend
        )?;
        if relocation.shift > 0 {
            write!(f, " >> {}", relocation.shift)?;
        }
    }
    writeln!(f)
}

fn space(space: Space) -> &'static str {
    match space {
        Space::Generic => "generic",
        Space::Global => "global",
        Space::Shared => "shared",
        Space::Cluster => "shared::cluster",
        Space::Local => "local",
        Space::Const => "const",
        Space::Param => "param",
    }
}

/// What each register is called: its name in the text where no other has it, else its index.
fn names(function: &Function) -> Vec<String> {
    let mut count: FxHashMap<&str, u32> = FxHashMap::default();
    for info in &function.regs {
        *count.entry(&info.name).or_default() += 1;
    }
    function
        .regs
        .iter()
        .enumerate()
        .map(|(index, info)| {
            if info.name.is_empty() {
                Reg(index as u32).to_string()
            } else if count.get(&*info.name) == Some(&1) {
                info.name.to_string()
            } else {
                format!("{}#{index}", info.name)
            }
        })
        .collect()
}

struct Printer<'m> {
    module: Option<&'m Module>,
    function: &'m Function,
    names: Vec<String>,
}

impl fmt::Display for Printer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let function = self.function;
        let kind = match function.kind {
            FunctionKind::Kernel => "kernel",
            FunctionKind::Device => "function",
        };
        write!(f, "{kind} {}(", function.name)?;
        for (index, param) in function.params.iter().enumerate() {
            if index > 0 {
                write!(f, ", ")?;
            }
            self.param(f, param)?;
        }
        write!(f, ")")?;
        for (index, param) in function.returns.iter().enumerate() {
            write!(f, "{}", if index == 0 { " -> " } else { ", " })?;
            self.param(f, param)?;
        }
        for (what, bytes) in [
            ("shared", function.shared_bytes),
            ("local", function.local_bytes),
        ] {
            if bytes > 0 {
                write!(f, ", {bytes} bytes of .{what}")?;
            }
        }
        if !function.defined {
            return writeln!(f, ", declared");
        }
        writeln!(f)?;
        for (what, vars) in [("local", &function.locals), ("param", &function.frame)] {
            for var in vars {
                writeln!(
                    f,
                    "    .{what} .align {} {}, {} bytes at {:#x}",
                    var.ty.align, var.name, var.ty.size, var.offset
                )?;
            }
        }
        let mut line = 0;
        for (index, block) in function.blocks.iter().enumerate() {
            write!(f, "{}:", Block(index as u32))?;
            match &block.label {
                Some(label) => writeln!(f, " ; {label}")?,
                None => writeln!(f)?,
            }
            for inst in &block.insts {
                self.line(f, inst.span.start, &mut line)?;
                self.inst(f, inst)?;
            }
            self.line(f, block.span.start, &mut line)?;
            self.terminator(f, &block.terminator)?;
        }
        Ok(())
    }
}

impl Printer<'_> {
    fn param(&self, f: &mut fmt::Formatter<'_>, param: &super::Param) -> fmt::Result {
        write!(f, ".{} {}", param.declared, param.name)?;
        if param.array {
            write!(f, "[{} bytes]", param.ty.size)?;
        }
        match param.kind {
            ParamKind::Memory => write!(f, " at {:#x}", param.offset),
            ParamKind::Reg(reg) => write!(f, " in {}", self.reg(reg)),
        }
    }

    /// The line of the text that an offset lies on, unless it is the one that stands above already.
    fn line(&self, f: &mut fmt::Formatter<'_>, offset: u32, last: &mut u32) -> fmt::Result {
        let Some(module) = self.module else {
            return Ok(());
        };
        let source: &Source = &module.source;
        let line = source.line(offset);
        if std::mem::replace(last, line) == line {
            return Ok(());
        }
        const SHOWN: usize = 100;
        let text = source.line_text(line).trim();
        match text.char_indices().nth(SHOWN) {
            Some((end, _)) => writeln!(f, "    ; {line}: {}...", &text[..end]),
            None => writeln!(f, "    ; {line}: {text}"),
        }
    }

    fn reg(&self, reg: Reg) -> &str {
        self.names.get(reg.index()).map_or("?", String::as_str)
    }

    fn operand(&self, operand: Operand) -> String {
        match operand {
            Operand::Reg(reg) => self.reg(reg).to_string(),
            Operand::Imm(value) => format!("{value:#x}"),
        }
    }

    fn var(&self, var: Var) -> String {
        let function = self.function;
        let name = match var {
            Var::Module(id) => match self.module {
                Some(module) => module.variables.get(id.index()).map(|v| v.name.clone()),
                None => Some(id.to_string()),
            },
            Var::Local(index) => function.locals.get(index as usize).map(|v| v.name.clone()),
            Var::Param(index) => function.params.get(index as usize).map(|p| p.name.clone()),
            Var::Return(index) => function.returns.get(index as usize).map(|p| p.name.clone()),
            Var::Frame(index) => function.frame.get(index as usize).map(|v| v.name.clone()),
        };
        name.unwrap_or_else(|| "?".to_string())
    }

    fn callee(&self, id: super::FuncId) -> String {
        match self.module.and_then(|m| m.functions.get(id.index())) {
            Some(function) => function.name.clone(),
            None => id.to_string(),
        }
    }

    fn address(&self, address: &Address) -> String {
        let base = match address.base {
            Base::Reg(reg) => self.reg(reg).to_string(),
            Base::Var(var) => self.var(var),
            Base::Absolute => return format!("[{:#x}]", address.offset),
        };
        match address.offset {
            0 => format!("[{base}]"),
            offset => format!("[{base}{offset:+}]"),
        }
    }

    fn dsts(&self, dsts: &[Option<Reg>]) -> String {
        let names: Vec<&str> = dsts
            .iter()
            .map(|dst| dst.map_or("_", |reg| self.reg(reg)))
            .collect();
        names.join(", ")
    }

    fn operands(&self, operands: &[Operand]) -> String {
        let names: Vec<String> = operands.iter().map(|&o| self.operand(o)).collect();
        names.join(", ")
    }

    fn slots(&self, slots: &[Slot]) -> String {
        let names: Vec<String> = slots
            .iter()
            .map(|slot| match *slot {
                Slot::Value(operand) => self.operand(operand),
                Slot::Frame(index) => self.var(Var::Frame(index)),
                Slot::Param(index) => self.var(Var::Param(index)),
                Slot::Sink => "_".to_string(),
            })
            .collect();
        names.join(", ")
    }

    fn inst(&self, f: &mut fmt::Formatter<'_>, inst: &Inst) -> fmt::Result {
        write!(f, "    ")?;
        if let Some(guard) = inst.guard {
            let not = if guard.negated { "!" } else { "" };
            write!(f, "@{not}{} ", self.reg(guard.reg))?;
        }
        match &inst.kind {
            Kind::Pure(pure) => {
                write!(f, "{} = ", self.dsts(&pure.dsts))?;
                match pure.op {
                    PureOp::Integer(op) => write!(f, "{op:?}"),
                    PureOp::Extended(op) => write!(f, "{op:?}"),
                    PureOp::Bits(op) => write!(f, "{op:?}"),
                    PureOp::Video(op) => write!(f, "{op:?}"),
                    PureOp::Compare(op) => write!(f, "{op:?}"),
                    PureOp::Convert(op) => write!(f, "{op:?}"),
                    PureOp::Float(op) => write!(f, "{op:?}"),
                }?;
                writeln!(f, " {}", self.operands(&pure.srcs))
            }
            Kind::Load(load) => self.load(f, load),
            Kind::Store(store) => self.store(f, store),
            Kind::AddressOf(address) => writeln!(
                f,
                "{} = address of {}{:+}",
                self.reg(address.dst),
                self.var(address.var),
                address.offset
            ),
            Kind::FunctionAddress { dst, function } => writeln!(
                f,
                "{} = address of {}",
                self.reg(*dst),
                self.callee(*function)
            ),
            Kind::Special { dst, special } => writeln!(f, "{} = {special:?}", self.reg(*dst)),
            Kind::Call(call) => self.call(f, call),
            Kind::Meet(meet) => {
                if !meet.dsts.is_empty() {
                    write!(f, "{} = ", self.dsts(&meet.dsts))?;
                }
                writeln!(f, "{:?} {}", meet.op, self.operands(&meet.srcs))
            }
            Kind::Atomic(atomic) => self.atomic(f, atomic),
            Kind::Fence(fence) => writeln!(f, "fence {fence:?}"),
            Kind::Mbarrier(mbarrier) => self.mbarrier(f, mbarrier),
            Kind::Copy(copy) => self.copy(f, copy),
            Kind::Stack(stack) => match *stack {
                Stack::Allocate { dst, size, align } => writeln!(
                    f,
                    "{} = alloca {} align {align}",
                    self.reg(dst),
                    self.operands(&[size])
                ),
                Stack::Save { dst } => writeln!(f, "{} = stacksave", self.reg(dst)),
                Stack::Restore { src } => writeln!(f, "stackrestore {}", self.reg(src)),
            },
            Kind::Hint { name } => writeln!(f, "{name}"),
            Kind::Unsupported => writeln!(f, "unsupported"),
        }
    }

    fn load(&self, f: &mut fmt::Formatter<'_>, load: &Load) -> fmt::Result {
        let sign = if load.signed { 's' } else { 'u' };
        let read_only = if load.read_only { ", read-only" } else { "" };
        writeln!(
            f,
            "{} = load.{}.{sign}{} {}, align {}{}{read_only}",
            self.dsts(&load.dsts),
            space(load.space),
            u32::from(load.bytes) * 8,
            self.address(&load.addr),
            load.align,
            order(load.order),
        )
    }

    fn store(&self, f: &mut fmt::Formatter<'_>, store: &Store) -> fmt::Result {
        writeln!(
            f,
            "store.{}.b{} {}, {}, align {}{}",
            space(store.space),
            u32::from(store.bytes) * 8,
            self.address(&store.addr),
            self.operands(&store.srcs),
            store.align,
            order(store.order),
        )
    }

    fn atomic(&self, f: &mut fmt::Formatter<'_>, atomic: &Atomic) -> fmt::Result {
        if !atomic.dsts.is_empty() {
            write!(f, "{} = ", self.dsts(&atomic.dsts))?;
        }
        writeln!(
            f,
            "atomic {:?}.{}.b{} {}, {}{}",
            atomic.op,
            space(atomic.space),
            u32::from(atomic.bytes) * 8,
            self.address(&atomic.addr),
            self.operands(&atomic.srcs),
            order(atomic.order),
        )
    }

    fn mbarrier(&self, f: &mut fmt::Formatter<'_>, mbarrier: &Mbarrier) -> fmt::Result {
        if let Some(dst) = mbarrier.dst {
            write!(f, "{} = ", self.reg(dst))?;
        }
        let address = self.address(&mbarrier.addr);
        write!(
            f,
            "mbarrier {:?}.{} {address}",
            mbarrier.op,
            space(mbarrier.space)
        )?;
        for src in &mbarrier.srcs {
            write!(f, ", {}", self.operand(*src))?;
        }
        writeln!(f)
    }

    fn copy(&self, f: &mut fmt::Formatter<'_>, copy: &Copy) -> fmt::Result {
        let place =
            |(of, address): &(Space, Address)| format!("{} {}", space(*of), self.address(address));
        write!(f, "copy")?;
        if let Some((op, class)) = copy.reduce {
            write!(f, " {op:?}.{class}")?;
        }
        let bytes = self.operand(copy.bytes);
        write!(f, " {}, {}, {bytes}", place(&copy.to), place(&copy.from))?;
        if let Some(read) = copy.read {
            write!(f, ", read {}", self.operand(read))?;
        }
        if let Some(ignore) = copy.ignore {
            write!(f, ", ignore {}", self.operand(ignore))?;
        }
        if let Some([left, right]) = copy.skip {
            let (left, right) = (self.operand(left), self.operand(right));
            write!(f, ", skip {left} and {right}")?;
        }
        if let Some(mask) = copy.byte_mask {
            write!(f, ", mask {}", self.operand(mask))?;
        }
        if let Some(mask) = copy.multicast {
            write!(f, ", multicast {}", self.operand(mask))?;
        }
        if let Some(mbarrier) = &copy.mbarrier {
            write!(f, ", mbarrier {}", place(mbarrier))?;
        }
        writeln!(f, ", align {}", copy.align)
    }

    fn call(&self, f: &mut fmt::Formatter<'_>, call: &Call) -> fmt::Result {
        if !call.results.is_empty() {
            write!(f, "{} = ", self.slots(&call.results))?;
        }
        let callee = match &call.callee {
            Callee::Direct(id) => self.callee(*id),
            Callee::Indirect { target, .. } => format!("*{}", self.operand(*target)),
        };
        writeln!(f, "call {callee}({})", self.slots(&call.args))
    }

    fn terminator(&self, f: &mut fmt::Formatter<'_>, terminator: &Terminator) -> fmt::Result {
        write!(f, "    ")?;
        match terminator {
            Terminator::Jump(block) => writeln!(f, "jump {block}"),
            Terminator::Branch { cond, then, other } => {
                writeln!(f, "branch {} ? {then} : {other}", self.reg(*cond))
            }
            Terminator::Table { index, targets } => {
                let targets: Vec<String> = targets.iter().map(Block::to_string).collect();
                writeln!(f, "table {} [{}]", self.operand(*index), targets.join(", "))
            }
            Terminator::Return => writeln!(f, "return"),
            Terminator::Exit => writeln!(f, "exit"),
            Terminator::Trap => writeln!(f, "trap"),
        }
    }
}

fn order(order: Order) -> &'static str {
    match order {
        Order::Weak => "",
        Order::Volatile => ", volatile",
        Order::Relaxed => ", relaxed",
        Order::Acquire => ", acquire",
        Order::Release => ", release",
        Order::AcquireRelease => ", acquire and release",
    }
}
