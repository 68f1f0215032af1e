//! The intermediate representation as text, for people: dumps and debugging. Nothing reads it back.

use super::control::{Callee, Slot, Terminator};
use super::memory::{Address, Base, Order, Space, Var};
use super::{FuncId, Function, FunctionKind, Kind, Module, Operand, ParamKind, PureOp, Reg};
use crate::diag::Span;
use std::fmt::{self, Write};

/// Writes a function: parameters, registers, variables, blocks. Each instruction stands under the PTX that it was made
/// of, with its line.
///
/// # Errors
/// Those of `out`.
pub fn write_function(out: &mut dyn Write, module: &Module, id: FuncId) -> fmt::Result {
    let function = &module.functions[id.index()];
    Printer {
        module,
        function,
        last: Span::default(),
    }
    .function(out)
}

struct Printer<'m> {
    module: &'m Module,
    function: &'m Function,
    /// The text that was shown last.
    last: Span,
}

impl Printer<'_> {
    fn function(&mut self, out: &mut dyn Write) -> fmt::Result {
        let function = self.function;
        let kind = match function.kind {
            FunctionKind::Kernel => "kernel",
            FunctionKind::Device => "function",
        };
        writeln!(
            out,
            "{kind} {} // line {}",
            function.name,
            self.module.source.line(function.span.start)
        )?;
        for (what, params) in [("param", &function.params), ("return", &function.returns)] {
            for param in params {
                let place = match param.kind {
                    ParamKind::Memory => format!("at {}", param.offset),
                    ParamKind::Reg(reg) => format!("in {reg}"),
                };
                writeln!(
                    out,
                    "  {what} {}: .{}, {} bytes, {place}",
                    param.name, param.declared, param.ty.size
                )?;
            }
        }
        for (what, variables) in [("local", &function.locals), ("frame", &function.frame)] {
            for v in variables {
                writeln!(
                    out,
                    "  {what} {}: {} bytes at {}",
                    v.name, v.ty.size, v.offset
                )?;
            }
        }
        if function.shared_bytes > 0 {
            writeln!(out, "  shared: {} bytes", function.shared_bytes)?;
        }
        for (index, reg) in function.regs.iter().enumerate() {
            let name = if reg.name.is_empty() {
                String::new()
            } else {
                format!(" // {}", reg.name)
            };
            writeln!(out, "  {}: {}{name}", Reg(index as u32), reg.class)?;
        }
        if let Some(carry) = function.carry {
            writeln!(out, "  carry: {carry}")?;
        }
        for (index, block) in function.blocks.iter().enumerate() {
            let label = block
                .label
                .as_ref()
                .map_or_else(String::new, |l| format!(" // {l}"));
            writeln!(out, "block{index}:{label}")?;
            for inst in &block.insts {
                self.text(out, inst.span)?;
                out.write_str("    ")?;
                if let Some(guard) = inst.guard {
                    let not = if guard.negated { "!" } else { "" };
                    write!(out, "@{not}{} ", guard.reg)?;
                }
                self.kind(out, &inst.kind)?;
                writeln!(out)?;
            }
            self.text(out, block.span)?;
            out.write_str("    ")?;
            self.terminator(out, &block.terminator)?;
            writeln!(out)?;
        }
        Ok(())
    }

    /// The PTX at `span` as a comment, unless it was shown just before.
    fn text(&mut self, out: &mut dyn Write, span: Span) -> fmt::Result {
        const LONGEST: usize = 160;
        if span == self.last || span == Span::default() {
            return Ok(());
        }
        self.last = span;
        let source = &self.module.source;
        let words: Vec<&str> = source.slice(span).split_whitespace().collect();
        let text: String = words.join(" ").chars().take(LONGEST).collect();
        writeln!(out, "  // {}: {text}", source.line(span.start))
    }

    fn kind(&self, out: &mut dyn Write, kind: &Kind) -> fmt::Result {
        match kind {
            Kind::Pure(pure) => {
                for (i, dst) in pure.dsts.iter().enumerate() {
                    write!(out, "{}{}", comma(i), optional(*dst))?;
                }
                write!(out, " = ")?;
                match pure.op {
                    PureOp::Integer(op) => write!(out, "integer {op:?}")?,
                    PureOp::Extended(op) => write!(out, "extended {op:?}")?,
                    PureOp::Bits(op) => write!(out, "bits {op:?}")?,
                    PureOp::Video(op) => write!(out, "video {op:?}")?,
                    PureOp::Compare(op) => write!(out, "compare {op:?}")?,
                    PureOp::Convert(op) => write!(out, "convert {op:?}")?,
                }
                operands(out, &pure.srcs)
            }
            Kind::Load(load) => {
                for (i, dst) in load.dsts.iter().enumerate() {
                    write!(out, "{}{}", comma(i), optional(*dst))?;
                }
                let sign = if load.signed { "s" } else { "u" };
                write!(
                    out,
                    " = load{}{} {sign}{} {}",
                    order(load.order),
                    if load.read_only { " read-only" } else { "" },
                    8 * u32::from(load.bytes),
                    space(load.space),
                )?;
                self.address(out, load.addr)
            }
            Kind::Store(store) => {
                write!(
                    out,
                    "store{} u{} {}",
                    order(store.order),
                    8 * u32::from(store.bytes),
                    space(store.space),
                )?;
                self.address(out, store.addr)?;
                write!(out, " =")?;
                operands(out, &store.srcs)
            }
            Kind::AddressOf(address) => {
                write!(out, "{} = address of ", address.dst)?;
                self.var(out, address.var)?;
                offset(out, address.offset)
            }
            Kind::FunctionAddress { dst, function } => {
                write!(out, "{dst} = address of {}", self.function_name(*function))
            }
            Kind::Special { dst, special } => write!(out, "{dst} = special {special:?}"),
            Kind::Call(call) => {
                for (i, slot) in call.results.iter().enumerate() {
                    write!(out, "{}", comma(i))?;
                    self.slot(out, slot)?;
                }
                if !call.results.is_empty() {
                    write!(out, " = ")?;
                }
                match &call.callee {
                    Callee::Direct(function) => {
                        write!(out, "call {}", self.function_name(*function))?;
                    }
                    Callee::Indirect { target, .. } => write!(out, "call at {target}")?,
                }
                write!(out, "(")?;
                for (i, slot) in call.args.iter().enumerate() {
                    write!(out, "{}", comma(i))?;
                    self.slot(out, slot)?;
                }
                write!(out, ")")
            }
            Kind::Hint { name } => write!(out, "hint {name}"),
            Kind::Unsupported => write!(out, "unsupported"),
        }
    }

    fn terminator(&self, out: &mut dyn Write, terminator: &Terminator) -> fmt::Result {
        match terminator {
            Terminator::Jump(block) => write!(out, "jump {block}"),
            Terminator::Branch { cond, then, other } => {
                write!(out, "branch {cond}, {then}, {other}")
            }
            Terminator::Table { index, targets } => {
                write!(out, "table {index}, {targets:?}")
            }
            Terminator::Return => write!(out, "return"),
            Terminator::Exit => write!(out, "exit"),
            Terminator::Trap => write!(out, "trap"),
        }
    }

    fn address(&self, out: &mut dyn Write, address: Address) -> fmt::Result {
        write!(out, "[")?;
        match address.base {
            Base::Reg(reg) => write!(out, "{reg}")?,
            Base::Var(var) => self.var(out, var)?,
            Base::Absolute => {}
        }
        offset(out, address.offset)?;
        write!(out, "]")
    }

    fn var(&self, out: &mut dyn Write, var: Var) -> fmt::Result {
        let function = self.function;
        let name = match var {
            Var::Module(id) => self.module.variables.get(id.index()).map(|v| &v.name),
            Var::Local(i) => function.locals.get(i as usize).map(|v| &v.name),
            Var::Param(i) => function.params.get(i as usize).map(|p| &p.name),
            Var::Return(i) => function.returns.get(i as usize).map(|p| &p.name),
            Var::Frame(i) => function.frame.get(i as usize).map(|v| &v.name),
        };
        match name {
            Some(name) => out.write_str(name),
            None => write!(out, "{var:?}"),
        }
    }

    fn slot(&self, out: &mut dyn Write, slot: &Slot) -> fmt::Result {
        match *slot {
            Slot::Value(operand) => write!(out, "{operand}"),
            Slot::Frame(i) => self.var(out, Var::Frame(i)),
            Slot::Param(i) => self.var(out, Var::Param(i)),
            Slot::Sink => write!(out, "_"),
        }
    }

    fn function_name(&self, id: FuncId) -> &str {
        &self.module.functions[id.index()].name
    }
}

fn comma(index: usize) -> &'static str {
    if index == 0 { "" } else { ", " }
}

fn optional(reg: Option<Reg>) -> String {
    reg.map_or_else(|| "_".to_string(), |r| r.to_string())
}

fn operands(out: &mut dyn Write, list: &[Operand]) -> fmt::Result {
    list.iter()
        .enumerate()
        .try_for_each(|(i, operand)| write!(out, "{} {operand}", if i == 0 { "" } else { "," }))
}

fn offset(out: &mut dyn Write, offset: i64) -> fmt::Result {
    match offset {
        0 => Ok(()),
        _ => write!(out, "{offset:+}"),
    }
}

fn order(order: Order) -> &'static str {
    match order {
        Order::Weak => "",
        Order::Volatile => " volatile",
        Order::Relaxed => " relaxed",
        Order::Acquire => " acquire",
        Order::Release => " release",
    }
}

fn space(space: Space) -> &'static str {
    match space {
        Space::Generic => "generic",
        Space::Global => "global",
        Space::Shared => "shared",
        Space::Local => "local",
        Space::Const => "const",
        Space::Param => "param",
    }
}
