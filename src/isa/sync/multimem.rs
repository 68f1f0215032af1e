//! Accesses of multicast objects. PTX ISA, `multimem.ld_reduce`, `multimem.st`, `multimem.red`.
//!
//! There is one device, so a multicast object has one member: what all members hold together, by any operator, is what is
//! there. No sum is formed, and no precision to sum with makes a difference.

use super::atomic::{ADD, BITWISE, GLOBAL, MIN_MAX, RED_ORDER, SCOPE, atomic};
use super::atomic_float::{HALF, PAIR, SINGLE, VECTOR_HALF, VECTOR_WORD, float};
use super::{ADDRESS, unexpected};
use crate::isa::form::{
    Arg, Build, Choice, Complaint, Emit, Form, OperandKind, Param, Slot, SlotName, T, dst, first,
    form, maybe, one, param, src, word,
};
use crate::isa::memory::{load, ordered, store};
use crate::isa::words::{WIDE, WIDE_BITS, ty};

const LD_REDUCE: Slot = first(SlotName::Variant, &[word("ld_reduce")]);
const ST: Slot = first(SlotName::Variant, &[word("st")]);
const RED: Slot = first(SlotName::Variant, &[word("red")]);
const LOAD_ORDER: Slot = maybe(
    SlotName::Order,
    &[word("weak"), word("relaxed"), word("acquire")],
);
const STORE_ORDER: Slot = maybe(
    SlotName::Order,
    &[word("weak"), word("relaxed"), word("release")],
);
const IN_SINGLE: Slot = maybe(SlotName::Accumulator, &[word("acc::f32").needs((8, 5), 90)]);
const IN_HALF: Slot = maybe(SlotName::Accumulator, &[word("acc::f16")]);

const ADDED: Slot = ty(&[
    word("u32"),
    word("s32"),
    word("u64"),
    word("f32"),
    word("f64"),
]);
const INTEGERS_ADDED: Slot = ty(&[word("u32"), word("s32"), word("u64")]);
const FLOATS_ADDED: Slot = ty(&[word("f32"), word("f64")]);
const ORDERED: Slot = ty(WIDE);
const BITS: Slot = ty(WIDE_BITS);
const STORED: Slot = ty(&[
    word("b32"),
    word("u32"),
    word("s32"),
    word("f32"),
    word("b64"),
    word("u64"),
    word("s64"),
    word("f64"),
    word("f16x2"),
    word("bf16x2"),
]);
const VECTOR_BYTE: Slot = one(SlotName::Vector, &[word("v4"), word("v8")]);
const BYTE: Slot = ty(&[word("e4m3"), word("e5m2")]);
const TWO_BYTES: Slot = ty(&[word("e4m3x2"), word("e5m2x2")]);
const FOUR_BYTES: Slot = ty(&[word("e4m3x4"), word("e5m2x4")]);
/// Targets whose variants have numbers of 8 bits.
const SMALL_TARGETS: &[u32] = &[100, 103, 107, 110, 120, 121];

const LOADED: &[Param] = &[dst(T), ADDRESS];
const LOADED_VECTOR: &[Param] = &[param("d", OperandKind::AtomDst, T), ADDRESS];
const STORED_ONE: &[Param] = &[ADDRESS, src("b", T)];
const STORED_VECTOR: &[Param] = &[ADDRESS, param("b", OperandKind::AsyncSrc, T)];

const LOAD_DOC: &str = "d = the element or elements at a, of all members of the multicast object together: here, of the only one";
const STORE_DOC: &str = "the element or elements at a = b, in all members of the multicast object: here, in the only one";
const RED_DOC: &str = "each element at a becomes that op the one of b, in all members of the multicast object: here, in the only one";

const fn ld_reduce(slots: &'static [Slot], operands: &'static [Param]) -> Form {
    form("multimem", slots, operands, Build::Emit(reduced), LOAD_DOC)
        .needs((8, 1), 90)
        .rule(ordered)
}

const fn st(slots: &'static [Slot], operands: &'static [Param]) -> Form {
    form("multimem", slots, operands, Build::Emit(store), STORE_DOC)
        .needs((8, 1), 90)
        .rule(ordered)
}

const fn red(slots: &'static [Slot], operands: &'static [Param]) -> Form {
    form("multimem", slots, operands, Build::Emit(atomic), RED_DOC)
        .needs((8, 1), 90)
        .rule(ordered)
}

const fn red_float(slots: &'static [Slot], operands: &'static [Param]) -> Form {
    form("multimem", slots, operands, Build::Emit(float), RED_DOC)
        .needs((8, 1), 90)
        .rule(ordered)
}

/// Of numbers of 8 bits.
const fn small(form: Form) -> Form {
    form.needs((8, 6), 100).only_variants(SMALL_TARGETS)
}

/// The rows.
#[rustfmt::skip]
pub(in crate::isa) const FORMS: &[Form] = &[
    ld_reduce(&[LD_REDUCE, LOAD_ORDER, SCOPE, GLOBAL, ADD, ADDED], LOADED),
    ld_reduce(&[LD_REDUCE, LOAD_ORDER, SCOPE, GLOBAL, MIN_MAX, ORDERED], LOADED),
    ld_reduce(&[LD_REDUCE, LOAD_ORDER, SCOPE, GLOBAL, BITWISE, BITS], LOADED),
    ld_reduce(&[LD_REDUCE, LOAD_ORDER, SCOPE, GLOBAL, ADD, VECTOR_WORD, SINGLE], LOADED_VECTOR),
    ld_reduce(&[LD_REDUCE, LOAD_ORDER, SCOPE, GLOBAL, ADD, IN_SINGLE, VECTOR_HALF, HALF], LOADED_VECTOR),
    ld_reduce(&[LD_REDUCE, LOAD_ORDER, SCOPE, GLOBAL, ADD, IN_SINGLE, PAIR], LOADED),
    ld_reduce(&[LD_REDUCE, LOAD_ORDER, SCOPE, GLOBAL, ADD, IN_SINGLE, VECTOR_WORD, PAIR], LOADED_VECTOR),
    ld_reduce(&[LD_REDUCE, LOAD_ORDER, SCOPE, GLOBAL, MIN_MAX, VECTOR_HALF, HALF], LOADED_VECTOR),
    ld_reduce(&[LD_REDUCE, LOAD_ORDER, SCOPE, GLOBAL, MIN_MAX, PAIR], LOADED),
    ld_reduce(&[LD_REDUCE, LOAD_ORDER, SCOPE, GLOBAL, MIN_MAX, VECTOR_WORD, PAIR], LOADED_VECTOR),
    small(ld_reduce(&[LD_REDUCE, LOAD_ORDER, SCOPE, GLOBAL, ADD, IN_HALF, VECTOR_BYTE, BYTE], LOADED_VECTOR)),
    small(ld_reduce(&[LD_REDUCE, LOAD_ORDER, SCOPE, GLOBAL, ADD, IN_HALF, VECTOR_HALF, TWO_BYTES], LOADED_VECTOR)),
    small(ld_reduce(&[LD_REDUCE, LOAD_ORDER, SCOPE, GLOBAL, ADD, IN_HALF, FOUR_BYTES], LOADED)),
    small(ld_reduce(&[LD_REDUCE, LOAD_ORDER, SCOPE, GLOBAL, ADD, IN_HALF, VECTOR_WORD, FOUR_BYTES], LOADED_VECTOR)),
    small(ld_reduce(&[LD_REDUCE, LOAD_ORDER, SCOPE, GLOBAL, MIN_MAX, VECTOR_BYTE, BYTE], LOADED_VECTOR)),
    small(ld_reduce(&[LD_REDUCE, LOAD_ORDER, SCOPE, GLOBAL, MIN_MAX, VECTOR_HALF, TWO_BYTES], LOADED_VECTOR)),
    small(ld_reduce(&[LD_REDUCE, LOAD_ORDER, SCOPE, GLOBAL, MIN_MAX, FOUR_BYTES], LOADED)),
    small(ld_reduce(&[LD_REDUCE, LOAD_ORDER, SCOPE, GLOBAL, MIN_MAX, VECTOR_WORD, FOUR_BYTES], LOADED_VECTOR)),
    st(&[ST, STORE_ORDER, SCOPE, GLOBAL, STORED], STORED_ONE),
    st(&[ST, STORE_ORDER, SCOPE, GLOBAL, VECTOR_WORD, SINGLE], STORED_VECTOR),
    st(&[ST, STORE_ORDER, SCOPE, GLOBAL, VECTOR_HALF, HALF], STORED_VECTOR),
    st(&[ST, STORE_ORDER, SCOPE, GLOBAL, VECTOR_WORD, PAIR], STORED_VECTOR),
    small(st(&[ST, STORE_ORDER, SCOPE, GLOBAL, VECTOR_BYTE, BYTE], STORED_VECTOR)),
    small(st(&[ST, STORE_ORDER, SCOPE, GLOBAL, VECTOR_HALF, TWO_BYTES], STORED_VECTOR)),
    small(st(&[ST, STORE_ORDER, SCOPE, GLOBAL, FOUR_BYTES], STORED_ONE)),
    small(st(&[ST, STORE_ORDER, SCOPE, GLOBAL, VECTOR_WORD, FOUR_BYTES], STORED_VECTOR)),
    red(&[RED, RED_ORDER, SCOPE, GLOBAL, ADD, INTEGERS_ADDED], STORED_ONE),
    red(&[RED, RED_ORDER, SCOPE, GLOBAL, MIN_MAX, ORDERED], STORED_ONE),
    red(&[RED, RED_ORDER, SCOPE, GLOBAL, BITWISE, BITS], STORED_ONE),
    red_float(&[RED, RED_ORDER, SCOPE, GLOBAL, ADD, FLOATS_ADDED], STORED_ONE),
    red_float(&[RED, RED_ORDER, SCOPE, GLOBAL, ADD, VECTOR_WORD, SINGLE], STORED_VECTOR),
    red_float(&[RED, RED_ORDER, SCOPE, GLOBAL, ADD, VECTOR_HALF, HALF], STORED_VECTOR),
    red_float(&[RED, RED_ORDER, SCOPE, GLOBAL, ADD, PAIR], STORED_ONE),
    red_float(&[RED, RED_ORDER, SCOPE, GLOBAL, ADD, VECTOR_WORD, PAIR], STORED_VECTOR),
    red_float(&[RED, RED_ORDER, SCOPE, GLOBAL, MIN_MAX, VECTOR_HALF, HALF], STORED_VECTOR),
    red_float(&[RED, RED_ORDER, SCOPE, GLOBAL, MIN_MAX, VECTOR_WORD, PAIR], STORED_VECTOR),
];

/// `multimem.ld_reduce`
fn reduced(choice: &Choice<'_>, args: &[Arg], out: &mut dyn Emit) -> Result<(), Complaint> {
    match args.first() {
        None => Err(unexpected()),
        Some(Arg::Dst(None, _)) => Err(Complaint::operand(
            0,
            "a vector whose elements may be `_` is expected here",
        )),
        Some(_) => load(choice, args, out),
    }
}
