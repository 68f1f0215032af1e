//! Calls, and the tables that indirect ones name. PTX ISA, "call", ".callprototype", ".calltargets".

use super::blocks::{modifiers, plain_name, targets};
use super::builder::Builder;
use super::constant::{Constant, evaluate};
use super::context::{Context, DeclKind, DeclTy, Symbol};
use super::decls::{Owner, Shape};
use super::functions::{self, Signature};
use super::module::{Checker, twice};
use super::scope::Local;
use crate::diag::{Diagnostic, Span};
use crate::ir::control::{Call, CallType, Callee, Slot};
use crate::ir::memory::{Address, Base, Load, Order, Space, Store, Var};
use crate::ir::{Block, FuncId, FunctionKind, Guard, Kind, Operand, Reg, StackVar};
use crate::syntax::ast::{
    CallTable, CallTableKind, Expr, Instruction, Name, Operand as Written, Target,
};
use smallvec::{SmallVec, smallvec};

/// What a labelled table lists.
#[derive(Debug)]
pub(super) enum Table {
    /// `.branchtargets`
    Branches(Vec<Block>),
    /// `.callprototype`, or what all functions of a `.calltargets` take and give.
    Calls(Signature),
}

/// A table in a body.
pub(super) fn body_table<'s>(builder: &mut Builder<'_, 's>, table: &CallTable<'s>) {
    let made = match &table.kind {
        CallTableKind::BranchTargets(list) => {
            let (reports, span) = (&mut builder.checker.reports, table.span);
            let what = "`.branchtargets`";
            builder
                .checker
                .target
                .require(reports, what, span, (6, 0), 30);
            Some(Table::Branches(targets(builder, list)))
        }
        CallTableKind::CallTargets(list) => {
            let (reports, span) = (&mut builder.checker.reports, table.span);
            let what = "`.calltargets`";
            builder
                .checker
                .target
                .require(reports, what, span, (2, 1), 20);
            call_targets(builder, list)
        }
        CallTableKind::Prototype { .. } => prototype(builder.checker, table),
    };
    let label = table.label;
    let Some(made) = made else {
        return;
    };
    let index = builder.checker.tables.len() as u32;
    builder.checker.tables.push(made);
    let local = Local::Is(Symbol::Table(index));
    if let Err(earlier) = builder.names.declare(label.text.into(), label.span, local) {
        builder.report(twice(label.text, label.span, earlier));
    }
}

fn prototype(checker: &mut Checker<'_>, table: &CallTable<'_>) -> Option<Table> {
    let CallTableKind::Prototype {
        returns,
        params,
        directives,
        ..
    } = &table.kind
    else {
        return None;
    };
    checker.target.require(
        &mut checker.reports,
        "`.callprototype`",
        table.span,
        (2, 1),
        20,
    );
    let signature = functions::signature(checker, Owner::Prototype, returns, params)?;
    functions::abi_directives(checker, directives);
    Some(Table::Calls(signature))
}

fn call_targets(builder: &mut Builder<'_, '_>, list: &[Target<'_>]) -> Option<Table> {
    let mut first: Option<(FuncId, Span)> = None;
    for target in list {
        if let Some((_, span)) = target.range {
            builder.report(Diagnostic::error(
                span,
                "a range in `.calltargets`: list the functions",
            ));
            return None;
        }
        let name = target.name;
        let id = match builder.lookup(name.text) {
            Some(Symbol::Function(id)) => id,
            Some(_) => {
                builder.report(Diagnostic::error(
                    name.span,
                    format!("`{}` is no function", name.text),
                ));
                return None;
            }
            None => {
                let error = builder.undeclared(name);
                builder.report(error);
                return None;
            }
        };
        builder.callees.insert(id);
        let infos = &builder.checker.infos;
        if let Some((other, span)) = first {
            let differs = functions::difference(
                &infos[other.index()].signature,
                &infos[id.index()].signature,
            );
            if let Some(what) = differs {
                builder.report(
                    Diagnostic::error(
                        name.span,
                        format!("`{}` differs from the first target: {what}", name.text),
                    )
                    .related(span, "the first target"),
                );
                return None;
            }
        } else {
            first = Some((id, name.span));
        }
    }
    let (first, _) = first?;
    Some(Table::Calls(
        builder.checker.infos[first.index()].signature.clone(),
    ))
}

/// The parts of a written call.
struct Parts<'w, 's> {
    results: &'w [Written<'s>],
    callee: Name<'s>,
    args: &'w [Written<'s>],
    table: Option<Name<'s>>,
}

fn parts<'w, 's>(
    builder: &mut Builder<'_, 's>,
    instruction: &'w Instruction<'s>,
) -> Option<Parts<'w, 's>> {
    let mut operands = instruction.operands.iter().peekable();
    let list = |operands: &mut std::iter::Peekable<std::slice::Iter<'w, Written<'s>>>| {
        if let Some(Written::List(list, _)) = operands.peek() {
            operands.next();
            return list.as_slice();
        }
        &[]
    };
    let results = list(&mut operands);
    let Some(callee) = operands.next() else {
        builder.report(Diagnostic::error(
            instruction.mnemonic.span,
            "`call` without a function",
        ));
        return None;
    };
    let Some(callee) = plain_name(callee) else {
        builder.report(Diagnostic::error(
            callee.span(),
            "a function or a register with its address is expected here",
        ));
        return None;
    };
    let args = list(&mut operands);
    let table = match operands.next() {
        None => None,
        Some(operand) => {
            let table = plain_name(operand);
            if table.is_none() {
                builder.report(
                    Diagnostic::error(
                        operand.span(),
                        "the label of a `.callprototype` or `.calltargets` is expected here",
                    )
                    .hint("arguments stand in parentheses"),
                );
                return None;
            }
            table
        }
    };
    if let Some(more) = operands.next() {
        builder.report(Diagnostic::error(
            more.span(),
            "too many operands of `call`",
        ));
        return None;
    }
    Some(Parts {
        results,
        callee,
        args,
        table,
    })
}

/// Who is called, and what that takes and gives.
enum Who {
    Function(FuncId),
    Address(Operand),
}

/// `call (results), callee, (args), table;`
pub(super) fn call<'s>(
    builder: &mut Builder<'_, 's>,
    instruction: &Instruction<'s>,
    guard: Option<Guard>,
) {
    if !modifiers(builder, instruction, &["uni"]) {
        return;
    }
    let Some(parts) = parts(builder, instruction) else {
        return;
    };
    let Some((who, signature)) = callee(builder, &parts) else {
        return;
    };
    builder.guarded(guard, |builder| {
        emit(builder, instruction, &parts, who, &signature);
    });
}

fn callee(builder: &mut Builder<'_, '_>, parts: &Parts<'_, '_>) -> Option<(Who, Signature)> {
    let name = parts.callee;
    let error = match builder.lookup(name.text) {
        Some(Symbol::Function(id)) => {
            if let Some(table) = parts.table {
                builder.report(Diagnostic::error(
                    table.span,
                    format!(
                        "`{}` is called by its name: no table belongs here",
                        name.text
                    ),
                ));
                return None;
            }
            if builder.checker.functions[id.index()].kind == FunctionKind::Kernel {
                builder.report(Diagnostic::error(
                    name.span,
                    format!("`{}` is a kernel, only functions can be called", name.text),
                ));
                return None;
            }
            let signature = builder.checker.infos[id.index()].signature.clone();
            return Some((Who::Function(id), signature));
        }
        Some(Symbol::Reg { reg, ty, .. })
            if matches!(ty.bits, 32 | 64)
                && matches!(
                    ty.kind,
                    DeclKind::Bits | DeclKind::Unsigned | DeclKind::Signed
                ) =>
        {
            let signature = table(builder, parts)?;
            builder.checker.target.require(
                &mut builder.checker.reports,
                "a call through a register",
                name.span,
                (2, 1),
                20,
            );
            return Some((Who::Address(Operand::Reg(reg)), signature));
        }
        Some(_) => Diagnostic::error(
            name.span,
            format!(
                "`{}` is neither a function nor a register with an address",
                name.text
            ),
        ),
        None => builder
            .undeclared(name)
            .label("functions are declared before they are called"),
    };
    builder.report(error);
    None
}

fn table(builder: &mut Builder<'_, '_>, parts: &Parts<'_, '_>) -> Option<Signature> {
    let Some(name) = parts.table else {
        builder.report(
            Diagnostic::error(
                parts.callee.span,
                "a call through a register needs a prototype",
            )
            .hint("name a `.callprototype` or `.calltargets` as the last operand"),
        );
        return None;
    };
    let error = match builder.lookup(name.text) {
        Some(Symbol::Table(index)) => match &builder.checker.tables[index as usize] {
            Table::Calls(signature) => return Some(signature.clone()),
            Table::Branches(_) => Diagnostic::error(
                name.span,
                format!("`{}` is a table of branches, not of calls", name.text),
            ),
        },
        Some(_) => Diagnostic::error(
            name.span,
            format!("`{}` is no `.callprototype` or `.calltargets`", name.text),
        ),
        None => builder.undeclared(name),
    };
    builder.report(error);
    None
}

/// What happens around a call that passes values through memory.
#[derive(Default)]
struct Around {
    args: Vec<Slot>,
    results: Vec<Slot>,
    after: Vec<Kind>,
}

fn emit(
    builder: &mut Builder<'_, '_>,
    instruction: &Instruction<'_>,
    parts: &Parts<'_, '_>,
    who: Who,
    signature: &Signature,
) {
    let open = signature.params.last().is_some_and(|last| last.open);
    let least = signature.params.len() - usize::from(open);
    let fits = |list: &[Written<'_>], least, most| (least..=most).contains(&list.len());
    let (formals, returns) = (&signature.params, &signature.returns);
    for (what, list, least, most) in [
        ("arguments", parts.args, least, formals.len()),
        ("results", parts.results, returns.len(), returns.len()),
    ] {
        if !fits(list, least, most) {
            let span = match list {
                [] => parts.callee.span,
                [first, .., last] => first.span().to(last.span()),
                [only] => only.span(),
            };
            builder.report(Diagnostic::error(
                span,
                format!(
                    "`{}` has {most} {what}, here are {}",
                    parts.callee.text,
                    list.len()
                ),
            ));
            return;
        }
    }
    let mut around = Around::default();
    let mut good = true;
    for (formal, written) in formals.iter().zip(parts.args) {
        good &= argument(builder, &mut around, formal, written).is_some();
    }
    for (formal, written) in returns.iter().zip(parts.results) {
        good &= result(builder, &mut around, formal, written).is_some();
    }
    let callee = match who {
        Who::Function(id) => {
            builder.callees.insert(id);
            if !ordinary(builder, id, parts.callee) {
                return;
            }
            Callee::Direct(id)
        }
        Who::Address(target) => {
            builder.indirect = true;
            let ty = CallType {
                params: functions::layouts(&signature.params),
                returns: functions::layouts(&signature.returns),
            };
            Callee::Indirect { target, ty }
        }
    };
    if open {
        let what = format!("call {}", parts.callee.text);
        builder.unsupported(what, "variadic functions", instruction.span);
        return;
    }
    if !good {
        return;
    }
    builder.emit(Kind::Call(Call {
        callee,
        args: around.args,
        results: around.results,
    }));
    for kind in around.after {
        builder.emit_unguarded(kind);
    }
}

/// Functions that the CUDA driver provides.
const SYSTEM_CALLS: [&str; 6] = [
    "vprintf",
    "malloc",
    "free",
    "__assertfail",
    "__assert_fail",
    "__nv_aligned_device_malloc",
];

/// Whether a function is called as any other. Those of the driver are not, yet.
fn ordinary(builder: &mut Builder<'_, '_>, id: FuncId, name: Name<'_>) -> bool {
    let info = &builder.checker.infos[id.index()];
    if info.linkage != "extern" {
        return true;
    }
    if SYSTEM_CALLS.contains(&name.text) {
        builder.unsupported(format!("call {}", name.text), "system calls", name.span);
        return false;
    }
    builder.checker.called.entry(id).or_insert(name.span);
    true
}

/// What is written as an argument or result.
enum Passed {
    Register(Reg, Option<Reg>, DeclTy),
    Vector(Vec<Reg>, DeclTy),
    Frame(u32),
    Sink,
    Constant(Constant),
}

fn passed(builder: &mut Builder<'_, '_>, formal: &Shape, written: &Written<'_>) -> Option<Passed> {
    if let Some(name) = plain_name(written).filter(|name| name.text != "WARP_SZ") {
        if name.text == "_" {
            return Some(Passed::Sink);
        }
        let error = match builder.lookup(name.text) {
            Some(Symbol::Reg { reg, high, ty }) => return Some(Passed::Register(reg, high, ty)),
            Some(Symbol::Vector { elements, ty }) => return Some(Passed::Vector(elements, ty)),
            Some(Symbol::Var {
                var: Var::Frame(index),
                ..
            }) => return Some(Passed::Frame(index)),
            Some(Symbol::Var {
                var: Var::Param(_) | Var::Return(_),
                ..
            }) => Diagnostic::error(
                name.span,
                format!(
                    "`{}` is a parameter of this function itself and cannot be passed on",
                    name.text
                ),
            )
            .hint("copy it to a register with `ld.param`"),
            Some(_) => Diagnostic::error(
                name.span,
                format!("`{}` is no register and no `.param` variable", name.text),
            ),
            None => builder.undeclared(name),
        };
        builder.report(error);
        return None;
    }
    if let Written::Expr(expr) = written
        && !matches!(
            expr,
            Expr::Name {
                suffix: Some(_),
                ..
            }
        )
    {
        match evaluate(expr) {
            Ok(constant) => return Some(Passed::Constant(constant)),
            Err(error) => {
                builder.report(error);
                return None;
            }
        }
    }
    builder.report(Diagnostic::error(
        written.span(),
        format!(
            "`{}` takes a register, a constant or a `.param` variable",
            formal.name
        ),
    ));
    None
}

fn mismatch(builder: &mut Builder<'_, '_>, formal: &Shape, span: Span, why: &str) {
    let array = match formal.count {
        Some(count) => format!("[{count}]"),
        None => String::new(),
    };
    builder.report(
        Diagnostic::error(
            span,
            format!("this does not fit parameter `{}`: {why}", formal.name),
        )
        .related(
            formal.span,
            format!(
                "`.{}{array}`, aligned to {}",
                formal.declared, formal.layout.align
            ),
        ),
    );
}

/// Checks that a register or vector fits a parameter.
fn register_fits(
    builder: &mut Builder<'_, '_>,
    formal: &Shape,
    ty: DeclTy,
    lanes: usize,
    span: Span,
) -> bool {
    let why = if formal.count.is_some() {
        "it is an array"
    } else if usize::from(formal.lanes) != lanes {
        "the vector has another size"
    } else if !formal.ty.is_some_and(|formal| ty.fits(formal)) {
        "the types differ"
    } else if !formal.register && formal.layout.align != ty.bytes() {
        "the alignments differ"
    } else {
        return true;
    };
    mismatch(builder, formal, span, why);
    false
}

/// Checks that a `.param` variable fits a parameter.
fn frame_fits(builder: &mut Builder<'_, '_>, formal: &Shape, index: u32, span: Span) -> bool {
    let info = builder.frames[index as usize];
    let layout = builder.frame[index as usize].ty;
    let why = if formal.open {
        return true;
    } else if formal.count.is_some() != info.count.is_some() {
        "one is an array, the other a single value"
    } else if formal.layout.size != layout.size || formal.lanes != 1 {
        "the sizes differ"
    } else if formal.count.is_none() && !formal.ty.is_some_and(|ty| info.ty.fits(ty)) {
        "the types differ"
    } else if formal.layout.align != layout.align {
        "the alignments differ"
    } else {
        return true;
    };
    mismatch(builder, formal, span, why);
    false
}

fn address(index: u32, offset: i64) -> Address {
    Address {
        base: Base::Var(Var::Frame(index)),
        offset,
    }
}

/// A load of `regs`, side by side, from a `.param` variable.
fn load(index: u32, regs: &[Reg], bytes: u8) -> Kind {
    Kind::Load(Load {
        space: Space::Param,
        bytes,
        signed: false,
        align: bytes,
        dsts: regs.iter().copied().map(Some).collect(),
        addr: address(index, 0),
        order: Order::Weak,
        read_only: false,
    })
}

/// A store of `srcs`, side by side, to a `.param` variable.
fn store(index: u32, srcs: SmallVec<[Operand; 4]>, bytes: u8) -> Kind {
    Kind::Store(Store {
        space: Space::Param,
        bytes,
        align: bytes,
        srcs,
        addr: address(index, 0),
        order: Order::Weak,
    })
}

/// A `.param` variable that the text does not have.
fn hidden(builder: &mut Builder<'_, '_>, formal: &Shape, ty: DeclTy) -> u32 {
    let var = StackVar {
        name: formal.name.clone(),
        ty: formal.layout,
        offset: 0,
    };
    builder.add_frame(var, ty, None);
    let index = (builder.frame.len() - 1) as u32;
    builder.frames[index as usize].returned = true;
    index
}

fn argument(
    builder: &mut Builder<'_, '_>,
    around: &mut Around,
    formal: &Shape,
    written: &Written<'_>,
) -> Option<()> {
    let span = written.span();
    match passed(builder, formal, written)? {
        Passed::Sink => {
            builder.report(Diagnostic::error(span, "`_` cannot be an argument"));
            return None;
        }
        Passed::Register(reg, high, ty) => {
            if !register_fits(builder, formal, ty, 1, span) {
                return None;
            }
            match high {
                None => around.args.push(Slot::Value(Operand::Reg(reg))),
                Some(high) if formal.register => around
                    .args
                    .extend([reg, high].map(|reg| Slot::Value(Operand::Reg(reg)))),
                Some(high) => {
                    let index = hidden(builder, formal, ty);
                    let srcs = smallvec![Operand::Reg(reg), Operand::Reg(high)];
                    builder.emit_unguarded(store(index, srcs, 8));
                    around.args.push(Slot::Frame(index));
                }
            }
        }
        Passed::Vector(elements, ty) => {
            if !register_fits(builder, formal, ty, elements.len(), span) {
                return None;
            }
            let slots = elements.iter().map(|&reg| Slot::Value(Operand::Reg(reg)));
            around.args.extend(slots);
        }
        Passed::Frame(index) => {
            if !frame_fits(builder, formal, index, span) {
                return None;
            }
            if !formal.register {
                around.args.push(Slot::Frame(index));
                return Some(());
            }
            let classes = functions::classes(formal);
            let regs: Vec<Reg> = classes.iter().map(|&class| builder.fresh(class)).collect();
            builder.frames[index as usize].returned = true;
            builder.emit_unguarded(load(index, &regs, (classes[0].bits() / 8).max(1) as u8));
            let slots = regs.iter().map(|&reg| Slot::Value(Operand::Reg(reg)));
            around.args.extend(slots);
        }
        Passed::Constant(constant) => constant_argument(builder, around, formal, constant, span)?,
    }
    Some(())
}

fn constant_argument(
    builder: &mut Builder<'_, '_>,
    around: &mut Around,
    formal: &Shape,
    constant: Constant,
    span: Span,
) -> Option<()> {
    let ty = formal
        .ty
        .filter(|_| formal.count.is_none() && formal.lanes == 1);
    let fits = ty.is_some_and(|ty| match (constant, ty.kind) {
        (_, DeclKind::Pred | DeclKind::PackedFloat) => false,
        (_, DeclKind::Bits) => true,
        (Constant::Int { .. }, DeclKind::Unsigned | DeclKind::Signed) => true,
        (Constant::Int { .. }, DeclKind::Float) => false,
        (Constant::F32(_) | Constant::F64(_), DeclKind::Float) => true,
        (Constant::F32(_) | Constant::F64(_), DeclKind::Unsigned | DeclKind::Signed) => false,
    });
    let Some(ty) = ty.filter(|_| fits) else {
        mismatch(builder, formal, span, "the constant is of another type");
        return None;
    };
    let bits = match constant {
        Constant::Int { value, .. } => value,
        Constant::F32(bits) if ty.bits == 64 => f64::from(f32::from_bits(bits)).to_bits(),
        Constant::F32(bits) => u64::from(bits),
        Constant::F64(bits) if ty.bits == 32 => u64::from((f64::from_bits(bits) as f32).to_bits()),
        Constant::F64(bits) => bits,
    };
    let high = match constant {
        Constant::Int {
            unsigned: false, ..
        } => ((bits as i64) >> 63) as u64,
        Constant::Int { .. } | Constant::F32(_) | Constant::F64(_) => 0,
    };
    if ty.bits < 128 {
        around.args.push(Slot::Value(Operand::Imm(bits)));
    } else if formal.register {
        around
            .args
            .extend([bits, high].map(|part| Slot::Value(Operand::Imm(part))));
    } else {
        let index = hidden(builder, formal, ty);
        let srcs = smallvec![Operand::Imm(bits), Operand::Imm(high)];
        builder.emit_unguarded(store(index, srcs, 8));
        around.args.push(Slot::Frame(index));
    }
    Some(())
}

fn result(
    builder: &mut Builder<'_, '_>,
    around: &mut Around,
    formal: &Shape,
    written: &Written<'_>,
) -> Option<()> {
    let span = written.span();
    match passed(builder, formal, written)? {
        Passed::Constant(_) => {
            builder.report(Diagnostic::error(span, "a constant cannot take a result"));
            return None;
        }
        Passed::Sink => {
            let parts = functions::classes(formal).len();
            around
                .results
                .extend(std::iter::repeat_n(Slot::Sink, parts));
        }
        Passed::Register(reg, high, ty) => {
            if !register_fits(builder, formal, ty, 1, span) {
                return None;
            }
            match high {
                None => around.results.push(Slot::Value(Operand::Reg(reg))),
                Some(high) if formal.register => around
                    .results
                    .extend([reg, high].map(|reg| Slot::Value(Operand::Reg(reg)))),
                Some(high) => {
                    let index = hidden(builder, formal, ty);
                    around.results.push(Slot::Frame(index));
                    around.after.push(load(index, &[reg, high], 8));
                }
            }
        }
        Passed::Vector(elements, ty) => {
            if !register_fits(builder, formal, ty, elements.len(), span) {
                return None;
            }
            let slots = elements.iter().map(|&reg| Slot::Value(Operand::Reg(reg)));
            around.results.extend(slots);
        }
        Passed::Frame(index) => {
            if !frame_fits(builder, formal, index, span) {
                return None;
            }
            builder.frames[index as usize].returned = true;
            if !formal.register {
                around.results.push(Slot::Frame(index));
                return Some(());
            }
            let classes = functions::classes(formal);
            let regs: Vec<Reg> = classes.iter().map(|&class| builder.fresh(class)).collect();
            let slots = regs.iter().map(|&reg| Slot::Value(Operand::Reg(reg)));
            around.results.extend(slots);
            let srcs = regs.iter().map(|&reg| Operand::Reg(reg)).collect();
            let bytes = (classes[0].bits() / 8).max(1) as u8;
            around.after.push(store(index, srcs, bytes));
        }
    }
    Some(())
}
