//! Branches and the other ways out of a block. PTX ISA, "Control Flow Instructions".

use super::builder::Builder;
use super::calls::Table;
use super::constant::{Constant, evaluate};
use super::context::{Context, DeclKind, Symbol};
use crate::diag::{Diagnostic, Span};
use crate::ir::control::Terminator;
use crate::ir::{Block, Guard, Operand};
use crate::syntax::ast::{Expr, Instruction, Name, Operand as Written};
use std::rc::Rc;

/// `bra L;`, `bra.uni L;`
pub(super) fn branch<'s>(
    builder: &mut Builder<'_, 's>,
    instruction: &Instruction<'s>,
    guard: Option<Guard>,
) {
    if !modifiers(builder, instruction, &["uni"]) {
        return;
    }
    let [operand] = instruction.operands.as_slice() else {
        count(builder, instruction, "one label");
        return;
    };
    if let Some(target) = label(builder, operand) {
        builder.jump(guard, target);
    }
}

/// `brx.idx index, table;`
pub(super) fn branch_indexed<'s>(
    builder: &mut Builder<'_, 's>,
    instruction: &Instruction<'s>,
    guard: Option<Guard>,
) {
    if instruction
        .modifiers
        .first()
        .is_none_or(|m| m.text != "idx")
    {
        builder.report(
            Diagnostic::error(instruction.mnemonic.span, "`brx` without `.idx` behind it")
                .hint("write `brx.idx`"),
        );
        return;
    }
    if !modifiers(builder, instruction, &["idx", "uni"]) {
        return;
    }
    builder.checker.target.require(
        &mut builder.checker.reports,
        "`brx.idx`",
        instruction.mnemonic.span,
        (6, 0),
        30,
    );
    let [index, table] = instruction.operands.as_slice() else {
        count(
            builder,
            instruction,
            "an index and the label of a `.branchtargets`",
        );
        return;
    };
    let index = index_operand(builder, index);
    let targets = branch_targets(builder, table);
    if let (Some(index), Some(targets)) = (index, targets)
        && more_targets(builder, targets.len() as u64, instruction.span)
    {
        let targets = targets.to_vec();
        builder.guarded(guard, |builder| {
            builder.terminate(Terminator::Table { index, targets });
        });
    }
}

/// `ret;`, `exit;`, `trap;`, `brkpt;`
pub(super) fn leave<'s>(
    builder: &mut Builder<'_, 's>,
    instruction: &Instruction<'s>,
    guard: Option<Guard>,
    terminator: Terminator,
) {
    let allowed: &[&str] = match terminator {
        Terminator::Return => &["uni"],
        _ => &[],
    };
    if !modifiers(builder, instruction, allowed) {
        return;
    }
    if instruction.mnemonic.text == "brkpt" {
        builder.checker.target.require(
            &mut builder.checker.reports,
            "`brkpt`",
            instruction.mnemonic.span,
            (1, 0),
            11,
        );
    }
    if !instruction.operands.is_empty() {
        count(builder, instruction, "no operands");
        return;
    }
    builder.guarded(guard, |builder| builder.terminate(terminator));
}

/// Refuses modifiers that are not among `allowed`.
pub(super) fn modifiers(
    builder: &mut Builder<'_, '_>,
    instruction: &Instruction<'_>,
    allowed: &[&str],
) -> bool {
    let mnemonic = instruction.mnemonic.text;
    let Some(wrong) = instruction
        .modifiers
        .iter()
        .find(|m| !allowed.contains(&m.text))
    else {
        return true;
    };
    let error = Diagnostic::error(
        wrong.span,
        format!("`{mnemonic}` has no modifier `.{}`", wrong.text),
    );
    builder.report(match allowed {
        [] => error,
        _ => error.hint(format!("it has `.{}`", allowed.join("`, `."))),
    });
    false
}

fn count(builder: &mut Builder<'_, '_>, instruction: &Instruction<'_>, wanted: &str) {
    let span = match instruction.operands.as_slice() {
        [] => instruction.mnemonic.span,
        [first, .., last] => first.span().to(last.span()),
        [only] => only.span(),
    };
    let mnemonic = instruction.mnemonic.text;
    builder.report(Diagnostic::error(
        span,
        format!("`{mnemonic}` takes {wanted}"),
    ));
}

/// The plain name that an operand is.
pub(super) fn plain_name<'s>(operand: &Written<'s>) -> Option<Name<'s>> {
    match operand {
        Written::Expr(Expr::Name { name, suffix: None }) => Some(*name),
        _ => None,
    }
}

fn label<'s>(builder: &mut Builder<'_, 's>, operand: &Written<'s>) -> Option<Block> {
    let Some(name) = plain_name(operand) else {
        builder.report(Diagnostic::error(
            operand.span(),
            "a label is expected here",
        ));
        return None;
    };
    label_named(builder, name)
}

fn label_named(builder: &mut Builder<'_, '_>, name: Name<'_>) -> Option<Block> {
    let error = match builder.lookup(name.text) {
        Some(Symbol::Label(block)) => return Some(block),
        None => builder.undeclared(name),
        Some(_) => Diagnostic::error(name.span, format!("`{}` is no label", name.text)),
    };
    builder.report(error);
    None
}

/// Entries of tables of branches, and of the jumps by them, in a module: each is a word of memory, though `L<N>` and
/// `brx` are short texts.
const MAX_TARGETS: u64 = 1 << 20;

/// Counts further entries; refuses those that are too many.
fn more_targets(builder: &mut Builder<'_, '_>, count: u64, span: Span) -> bool {
    let before = builder.checker.targets;
    let all = before.saturating_add(count);
    builder.checker.targets = all;
    if all > MAX_TARGETS && before <= MAX_TARGETS {
        builder.report(Diagnostic::error(
            span,
            format!("the tables of branches of the module have more than {MAX_TARGETS} entries"),
        ));
    }
    all <= MAX_TARGETS
}

/// The labels of a `.branchtargets` list.
pub(super) fn targets(
    builder: &mut Builder<'_, '_>,
    list: &[crate::syntax::ast::Target<'_>],
) -> Vec<Block> {
    let mut blocks = Vec::new();
    for target in list {
        let count = target.range.map_or(1, |(count, _)| count);
        if !more_targets(builder, count, target.name.span) {
            break;
        }
        if target.range.is_none() {
            blocks.extend(label_named(builder, target.name));
            continue;
        }
        for index in 0..count {
            let text = format!("{}{index}", target.name.text);
            let name = Name {
                text: &text,
                span: target.name.span,
            };
            match label_named(builder, name) {
                Some(block) => blocks.push(block),
                None => break,
            }
        }
    }
    blocks
}

fn branch_targets(builder: &mut Builder<'_, '_>, operand: &Written<'_>) -> Option<Rc<[Block]>> {
    let Some(name) = plain_name(operand) else {
        builder.report(Diagnostic::error(
            operand.span(),
            "the label of a `.branchtargets` is expected here",
        ));
        return None;
    };
    let error = match builder.lookup(name.text) {
        Some(Symbol::Table(index)) => match &builder.checker.tables[index as usize] {
            Table::Branches(blocks) => return Some(blocks.clone()),
            Table::Calls(_) => Diagnostic::error(
                name.span,
                format!("`{}` is a table of calls, not of branches", name.text),
            ),
        },
        None => builder.undeclared(name),
        Some(_) => Diagnostic::error(name.span, format!("`{}` is no `.branchtargets`", name.text)),
    };
    builder.report(error);
    None
}

/// The index of `brx.idx`: 32 bits.
fn index_operand(builder: &mut Builder<'_, '_>, operand: &Written<'_>) -> Option<Operand> {
    if let Some(name) = plain_name(operand).filter(|name| name.text != "WARP_SZ") {
        let error = match builder.lookup(name.text) {
            Some(Symbol::Reg { reg, ty, .. })
                if ty.bits == 32
                    && matches!(
                        ty.kind,
                        DeclKind::Bits | DeclKind::Unsigned | DeclKind::Signed
                    ) =>
            {
                return Some(Operand::Reg(reg));
            }
            None => builder.undeclared(name),
            Some(_) => Diagnostic::error(
                name.span,
                format!("`{}` is no 32-bit integer register", name.text),
            ),
        };
        builder.report(error);
        return None;
    }
    let Written::Expr(expr) = operand else {
        builder.report(Diagnostic::error(
            operand.span(),
            "an index is a 32-bit register or a constant",
        ));
        return None;
    };
    match evaluate(expr) {
        Ok(Constant::Int { value, .. }) => Some(Operand::Imm(value & 0xffff_ffff)),
        Ok(Constant::F32(_) | Constant::F64(_)) => {
            builder.report(Diagnostic::error(expr.span(), "an index is an integer"));
            None
        }
        Err(error) => {
            builder.report(error);
            None
        }
    }
}
