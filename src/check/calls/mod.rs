//! Calls, and the tables that indirect ones name. PTX ISA, "call", ".callprototype", ".calltargets".

mod pass;

use super::blocks::{modifiers, plain_name, targets};
use super::builder::Builder;
use super::context::{Context, DeclKind, Symbol};
use super::decls::Owner;
use super::directives;
use super::functions::{self, Signature};
use super::module::{Checker, twice};
use super::scope::Local;
use crate::diag::{Diagnostic, Span};
use crate::ir::control::{Call, CallType, Callee};
use crate::ir::{Block, FuncId, FunctionKind, Guard, Kind, Operand, System};
use crate::syntax::ast::{CallTable, CallTableKind, Instruction, Name, Operand as Written, Target};
use pass::{Around, argument, result};
use rustc_hash::FxHashSet;
use std::rc::Rc;

/// What a labelled table lists.
#[derive(Debug)]
pub(super) enum Table {
    /// `.branchtargets`
    Branches(Rc<[Block]>),
    /// `.callprototype`, or what all functions of a `.calltargets` take and give.
    Calls(Rc<Signature>),
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
            Some(Table::Branches(targets(builder, list).into()))
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
    directives::of_prototype(checker, directives);
    Some(Table::Calls(signature))
}

fn call_targets(builder: &mut Builder<'_, '_>, list: &[Target<'_>]) -> Option<Table> {
    let mut first: Option<(FuncId, Span)> = None;
    let mut seen = FxHashSet::default();
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
        if !seen.insert(id) {
            continue;
        }
        let infos = &builder.checker.infos;
        if let Some((other, span)) = first {
            let differs = functions::difference(
                &infos[other.index()].signature,
                &infos[id.index()].signature,
                false,
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

fn callee(builder: &mut Builder<'_, '_>, parts: &Parts<'_, '_>) -> Option<(Who, Rc<Signature>)> {
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

fn table(builder: &mut Builder<'_, '_>, parts: &Parts<'_, '_>) -> Option<Rc<Signature>> {
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

/// Whether the CUDA driver provides a function.
fn is_system_call(name: &str) -> bool {
    matches!(name, "vprintf" | "malloc" | "free" | "__assertfail")
        || name.starts_with("__cuda_syscall")
}

/// Whether a function can be called. Of those of the driver some cannot, yet.
fn ordinary(builder: &mut Builder<'_, '_>, id: FuncId, name: Name<'_>) -> bool {
    let info = &builder.checker.infos[id.index()];
    if info.linkage != "extern" {
        return true;
    }
    if is_system_call(name.text) {
        let ty = CallType {
            params: functions::layouts(&info.signature.params),
            returns: functions::layouts(&info.signature.returns),
        };
        if System::named(name.text, &ty).is_some() {
            return true;
        }
        builder.unsupported(format!("call {}", name.text), "system calls", name.span);
        return false;
    }
    builder.checker.called.entry(id).or_insert(name.span);
    true
}
