//! One instruction of the text to IR, by the rows of the instruction set.

use super::context::Context;
use crate::syntax::ast;

/// Builds an instruction that is not control flow (`bra`, `brx`, `call`, `ret`, `exit`, `trap` and `brkpt` are the
/// caller's). Its guard is the caller's too: what [`Context::emit`] appends carries it. Whatever is wrong is reported.
pub(crate) fn build(context: &mut dyn Context, instruction: &ast::Instruction<'_>) {
    let mnemonic = instruction.mnemonic;
    context.unsupported(mnemonic.text.to_string(), "instructions", mnemonic.span);
}
