//! Hints about memory: what they say has no effect here.

use super::{MAYBE_GLOBAL, U64, unexpected};
use crate::ir::memory::Space;
use crate::ir::{Kind, Operand};
use crate::isa::convert::copy;
use crate::isa::form::{
    Arg, Build, Choice, Complaint, Emit, Form, OperandKind, Param, SlotName, TypeOf, U32, Word,
    dst, first, form, maybe, one, param, src, word,
};
use crate::isa::types::Ty;
use crate::isa::words::ty;

const HINTED: Param = param("a", OperandKind::HintAddress, TypeOf::Address);
const SIZE_128: Param = param("size", OperandKind::Literal(128, 128), U64);
const PRIMARY: &[Word] = &[
    word("L2::evict_last"),
    word("L2::evict_normal"),
    word("L2::evict_first"),
    word("L2::evict_unchanged"),
];
const SECONDARY: &[Word] = &[word("L2::evict_first"), word("L2::evict_unchanged")];

/// The rows.
pub(in crate::isa) const FORMS: &[Form] = &[
    form(
        "prefetch",
        &[
            maybe(SlotName::Space, &[word("global"), word("local")]),
            one(SlotName::Level, &[word("L1"), word("L2")]),
        ],
        &[HINTED],
        Build::Hint,
        "nothing: a hint that a will be used",
    )
    .needs((2, 0), 20),
    form(
        "prefetch",
        &[
            MAYBE_GLOBAL,
            one(
                SlotName::EvictL2,
                &[
                    word("L2::evict_last").needs((7, 4), 80),
                    word("L2::evict_normal").needs((7, 4), 80),
                ],
            ),
        ],
        &[HINTED],
        Build::Hint,
        "nothing: a hint that a will be used",
    )
    .needs((2, 0), 20),
    form(
        "prefetch",
        &[
            maybe(SlotName::Space, &[word("param"), word("const")]),
            one(SlotName::Level, &[word("tensormap")]),
        ],
        &[HINTED],
        Build::Hint,
        "nothing: a hint that the tensor map at a will be used",
    )
    .needs((8, 0), 90),
    form(
        "prefetchu",
        &[one(SlotName::Level, &[word("L1")])],
        &[HINTED],
        Build::Emit(prefetch_uniform),
        "nothing: a hint that a will be used",
    )
    .needs((2, 0), 20),
    form(
        "applypriority",
        &[
            MAYBE_GLOBAL,
            one(SlotName::EvictL2, &[word("L2::evict_normal")]),
        ],
        &[HINTED, SIZE_128],
        Build::Hint,
        "nothing: a hint about the priority of 128 bytes at a",
    )
    .needs((7, 4), 80),
    form(
        "discard",
        &[MAYBE_GLOBAL, one(SlotName::Level, &[word("L2")])],
        &[HINTED, SIZE_128],
        Build::Hint,
        "nothing: a hint that the 128 bytes at a are no longer needed",
    )
    .needs((7, 4), 80),
    form(
        "createpolicy",
        &[
            first(SlotName::Variant, &[word("fractional")]),
            one(SlotName::EvictL2, PRIMARY),
            maybe(SlotName::SecondPriority, SECONDARY),
            ty(&[word("b64")]),
        ],
        &[
            dst(U64),
            param("fraction", OperandKind::Fraction, TypeOf::Fixed(Ty::F32)).optional(),
        ],
        Build::Emit(policy),
        "d = 0, which stands for any cache policy",
    )
    .needs((7, 4), 80),
    form(
        "createpolicy",
        &[
            first(SlotName::Variant, &[word("range")]),
            MAYBE_GLOBAL,
            one(SlotName::EvictL2, PRIMARY),
            maybe(SlotName::SecondPriority, SECONDARY),
            ty(&[word("b64")]),
        ],
        &[
            dst(U64),
            HINTED,
            src("primary-size", U32),
            src("total-size", U32),
        ],
        Build::Emit(policy_range),
        "d = 0, which stands for any cache policy",
    )
    .needs((7, 4), 80),
    form(
        "createpolicy",
        &[
            first(SlotName::Variant, &[word("cvt")]),
            one(SlotName::Level, &[word("L2")]),
            ty(&[word("b64")]),
        ],
        &[dst(U64), src("access-property", U64)],
        Build::Emit(policy),
        "d = 0, which stands for any cache policy",
    )
    .needs((7, 4), 80),
];

/// `prefetchu` takes generic addresses, of which only global variables have one by name.
fn prefetch_uniform(
    choice: &Choice<'_>,
    args: &[Arg],
    out: &mut dyn Emit,
) -> Result<(), Complaint> {
    if let [Arg::Address(_, Some(Space::Local | Space::Shared))] = args {
        return Err(Complaint::operand(0, "`prefetchu` takes a generic address"));
    }
    out.emit(Kind::Hint {
        name: choice.form.mnemonic,
    });
    Ok(())
}

fn policy(_: &Choice<'_>, args: &[Arg], out: &mut dyn Emit) -> Result<(), Complaint> {
    match args.first() {
        Some(Arg::Dst(Some(dst), class)) => {
            out.emit(copy(*class, *dst, Operand::Imm(0)));
            Ok(())
        }
        _ => Err(unexpected()),
    }
}

/// `createpolicy.range` refuses a primary size beyond the total.
fn policy_range(choice: &Choice<'_>, args: &[Arg], out: &mut dyn Emit) -> Result<(), Complaint> {
    if let [
        _,
        _,
        Arg::Src(Operand::Imm(primary), _),
        Arg::Src(Operand::Imm(total), _),
    ] = args
        && primary > total
    {
        return Err(Complaint::operand(
            2,
            "the primary size is greater than the total size",
        ));
    }
    policy(choice, args, out)
}
