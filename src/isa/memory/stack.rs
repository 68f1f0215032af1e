//! Memory on the stack. PTX ISA, "Stack Manipulation Instructions".

use super::unexpected;
use crate::ir::memory::{STACK_ALIGN, STACK_MOST_ALIGN, Stack};
use crate::ir::{Kind, Operand};
use crate::isa::form::{
    Arg, Build, Choice, Complaint, Emit, Form, OperandKind, Slot, T, U32, dst, form, param, src,
    word,
};
use crate::isa::words::ty;

const ADDRESSES: Slot = ty(&[word("u32"), word("u64")]);

/// The rows.
pub(in crate::isa) const FORMS: &[Form] = &[
    form(
        "alloca",
        &[ADDRESSES],
        &[
            dst(T),
            src("size", T),
            param("immAlign", OperandKind::AnyLiteral, U32).optional(),
        ],
        Build::Emit(allocate),
        "d = the address in .local of size bytes until the function returns",
    )
    .needs((7, 3), 52),
    form(
        "stacksave",
        &[ADDRESSES],
        &[dst(T)],
        Build::Emit(save),
        "d = where the memory of alloca ends now",
    )
    .needs((7, 3), 52),
    form(
        "stackrestore",
        &[ADDRESSES],
        &[param("a", OperandKind::RegSrc, T)],
        Build::Emit(restore),
        "gives back what alloca gave since stacksave gave a",
    )
    .needs((7, 3), 52),
];

fn allocate(_: &Choice<'_>, args: &[Arg], out: &mut dyn Emit) -> Result<(), Complaint> {
    let (Some(Arg::Dst(Some(dst), _)), Some(Arg::Src(size, _))) = (args.first(), args.get(1))
    else {
        return Err(unexpected());
    };
    let align = match args.get(2) {
        None | Some(Arg::Absent) => STACK_ALIGN,
        // As ptxas has it: bits above 32 are cut off.
        Some(Arg::Literal(align)) => *align as u32,
        Some(_) => return Err(unexpected()),
    };
    if !align.is_power_of_two() {
        return Err(Complaint::operand(2, "an alignment is a power of two"));
    }
    if align > STACK_MOST_ALIGN {
        return Err(Complaint::operand(
            2,
            format!("the largest alignment is {STACK_MOST_ALIGN}"),
        ));
    }
    out.emit(Kind::Stack(Stack::Allocate {
        dst: *dst,
        size: *size,
        align: align.max(STACK_ALIGN),
    }));
    Ok(())
}

fn save(_: &Choice<'_>, args: &[Arg], out: &mut dyn Emit) -> Result<(), Complaint> {
    let [Arg::Dst(Some(dst), _)] = args else {
        return Err(unexpected());
    };
    out.emit(Kind::Stack(Stack::Save { dst: *dst }));
    Ok(())
}

fn restore(_: &Choice<'_>, args: &[Arg], out: &mut dyn Emit) -> Result<(), Complaint> {
    let [Arg::Src(Operand::Reg(src), _)] = args else {
        return Err(unexpected());
    };
    out.emit(Kind::Stack(Stack::Restore { src: *src }));
    Ok(())
}
