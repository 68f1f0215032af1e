//! Atomics and reductions. PTX ISA, `atom`, `red`.

use super::{ADDRESS, SHARED_CLUSTER, operands, place, unexpected};
use crate::ir::Kind;
use crate::ir::memory::Order;
use crate::ir::sync::{Atomic, AtomicOp};
use crate::isa::convert::space;
use crate::isa::form::{
    Arg, Build, Choice, Complaint, Emit, Form, OperandKind, Param, Slot, SlotName, T, TypeOf, Word,
    form, maybe, one, param, src, word,
};
use crate::isa::types::Ty;
use crate::isa::words::ty;
use smallvec::SmallVec;

pub(super) const ATOM_ORDER: Slot = maybe(
    SlotName::Order,
    &[
        word("relaxed").needs((5, 1), 70),
        word("acquire").needs((5, 1), 70),
        word("release").needs((5, 1), 70),
        word("acq_rel").needs((5, 1), 70),
    ],
);
pub(super) const RED_ORDER: Slot = maybe(
    SlotName::Order,
    &[
        word("relaxed").needs((5, 1), 70),
        word("release").needs((5, 1), 70),
    ],
);
pub(super) const SCOPE: Slot = maybe(
    SlotName::Scope,
    &[
        word("cta").needs((5, 0), 60),
        word("cluster").needs((7, 8), 90),
        word("gpu").needs((5, 0), 60),
        word("sys").needs((5, 0), 60),
    ],
);
/// Without a word, the address is generic.
pub(super) const GLOBAL: Slot = maybe(SlotName::Space, &[word("global")]);
pub(super) const SHARED: Slot = one(
    SlotName::Space,
    &[
        word("shared").needs((1, 0), 12),
        word("shared::cta").needs((7, 8), 12),
        SHARED_CLUSTER,
    ],
);
pub(super) const CACHE_HINT: Slot = one(
    SlotName::CacheHint,
    &[word("L2::cache_hint").needs((7, 4), 80)],
);

pub(super) const BITWISE: Slot = operation(&[word("and"), word("or"), word("xor")]);
pub(super) const ADD: Slot = operation(&[word("add")]);
const COUNT: Slot = operation(&[word("inc"), word("dec")]);
pub(super) const MIN_MAX: Slot = operation(&[word("min"), word("max")]);
const EXCH: Slot = operation(&[word("exch")]);
const CAS: Slot = operation(&[word("cas")]);

const B32_B64: Slot = ty(&[word("b32"), word("b64").needs((3, 1), 32)]);
const U32_ONLY: Slot = ty(&[word("u32")]);
const ORDERED: Slot = ty(&[
    word("u32"),
    word("s32"),
    word("u64").needs((3, 1), 32),
    word("s64").needs((3, 1), 32),
]);
const B128: Word = word("b128").needs((8, 3), 90);
// 64 bits came to global memory first.
const ADDED: Slot = ty(&[word("u32"), word("s32"), word("u64").needs((1, 2), 12)]);
const ADDED_SHARED: Slot = ty(&[word("u32"), word("s32"), word("u64").needs((2, 0), 20)]);
const EXCHANGED: Slot = ty(&[word("b32"), word("b64").needs((1, 2), 12), B128]);
const EXCHANGED_SHARED: Slot = ty(&[word("b32"), word("b64").needs((2, 0), 20), B128]);
const COMPARED: Slot = ty(&[
    word("b16").needs((6, 3), 70),
    word("b32"),
    word("b64").needs((1, 2), 12),
    B128,
]);
const COMPARED_SHARED: Slot = ty(&[
    word("b16").needs((6, 3), 70),
    word("b32"),
    word("b64").needs((2, 0), 20),
    B128,
]);

pub(super) const DST: Param = param("d", OperandKind::SinkDst, T);
pub(super) const POLICY: Param = src("cache-policy", TypeOf::Fixed(Ty::U64));
pub(super) const ATOM: &[Param] = &[DST, ADDRESS, src("b", T)];
pub(super) const ATOM_POLICY: &[Param] = &[DST, ADDRESS, src("b", T), POLICY];
const ATOM_CAS: &[Param] = &[DST, ADDRESS, src("b", T), src("c", T)];
pub(super) const RED: &[Param] = &[ADDRESS, src("b", T)];
pub(super) const RED_POLICY: &[Param] = &[ADDRESS, src("b", T), POLICY];

const fn operation(words: &'static [Word]) -> Slot {
    one(SlotName::Operation, words)
}

pub(super) const ATOM_DOC: &str = "d = the value at a, which becomes that value op b";
pub(super) const RED_DOC: &str = "the value at a becomes that value op b";
const COUNT_DOC: &str = "inc: d = the value at a, which becomes one more, 0 from b on; dec: one less, b from 0 or above b";
const EXCH_DOC: &str = "d = the value at a, which becomes b";
const CAS_DOC: &str = "d = the value at a, which becomes c if it is b";

/// `atom`
const fn atom(slots: &'static [Slot], operands: &'static [Param], doc: &'static str) -> Form {
    form("atom", slots, operands, Build::Emit(atomic), doc).needs((1, 0), 11)
}

/// `red`
const fn red(slots: &'static [Slot], operands: &'static [Param], doc: &'static str) -> Form {
    form("red", slots, operands, Build::Emit(atomic), doc).needs((1, 2), 11)
}

/// The rows.
pub(in crate::isa) const FORMS: &[Form] = &[
    atom(
        &[ATOM_ORDER, SCOPE, GLOBAL, BITWISE, B32_B64],
        ATOM,
        ATOM_DOC,
    ),
    atom(
        &[ATOM_ORDER, SCOPE, SHARED, BITWISE, B32_B64],
        ATOM,
        ATOM_DOC,
    ),
    atom(
        &[ATOM_ORDER, SCOPE, GLOBAL, BITWISE, CACHE_HINT, B32_B64],
        ATOM_POLICY,
        ATOM_DOC,
    ),
    atom(&[ATOM_ORDER, SCOPE, GLOBAL, ADD, ADDED], ATOM, ATOM_DOC),
    atom(
        &[ATOM_ORDER, SCOPE, SHARED, ADD, ADDED_SHARED],
        ATOM,
        ATOM_DOC,
    ),
    atom(
        &[ATOM_ORDER, SCOPE, GLOBAL, ADD, CACHE_HINT, ADDED],
        ATOM_POLICY,
        ATOM_DOC,
    ),
    atom(
        &[ATOM_ORDER, SCOPE, GLOBAL, COUNT, U32_ONLY],
        ATOM,
        COUNT_DOC,
    ),
    atom(
        &[ATOM_ORDER, SCOPE, SHARED, COUNT, U32_ONLY],
        ATOM,
        COUNT_DOC,
    ),
    atom(
        &[ATOM_ORDER, SCOPE, GLOBAL, COUNT, CACHE_HINT, U32_ONLY],
        ATOM_POLICY,
        COUNT_DOC,
    ),
    atom(
        &[ATOM_ORDER, SCOPE, GLOBAL, MIN_MAX, ORDERED],
        ATOM,
        ATOM_DOC,
    ),
    atom(
        &[ATOM_ORDER, SCOPE, SHARED, MIN_MAX, ORDERED],
        ATOM,
        ATOM_DOC,
    ),
    atom(
        &[ATOM_ORDER, SCOPE, GLOBAL, MIN_MAX, CACHE_HINT, ORDERED],
        ATOM_POLICY,
        ATOM_DOC,
    ),
    atom(
        &[ATOM_ORDER, SCOPE, GLOBAL, EXCH, EXCHANGED],
        ATOM,
        EXCH_DOC,
    ),
    atom(
        &[ATOM_ORDER, SCOPE, SHARED, EXCH, EXCHANGED_SHARED],
        ATOM,
        EXCH_DOC,
    ),
    atom(
        &[ATOM_ORDER, SCOPE, GLOBAL, EXCH, CACHE_HINT, EXCHANGED],
        ATOM_POLICY,
        EXCH_DOC,
    ),
    atom(
        &[ATOM_ORDER, SCOPE, GLOBAL, CAS, COMPARED],
        ATOM_CAS,
        CAS_DOC,
    ),
    atom(
        &[ATOM_ORDER, SCOPE, SHARED, CAS, COMPARED_SHARED],
        ATOM_CAS,
        CAS_DOC,
    ),
    red(&[RED_ORDER, SCOPE, GLOBAL, BITWISE, B32_B64], RED, RED_DOC),
    red(&[RED_ORDER, SCOPE, SHARED, BITWISE, B32_B64], RED, RED_DOC),
    red(
        &[RED_ORDER, SCOPE, GLOBAL, BITWISE, CACHE_HINT, B32_B64],
        RED_POLICY,
        RED_DOC,
    ),
    red(&[RED_ORDER, SCOPE, GLOBAL, ADD, ADDED], RED, RED_DOC),
    red(&[RED_ORDER, SCOPE, SHARED, ADD, ADDED_SHARED], RED, RED_DOC),
    red(
        &[RED_ORDER, SCOPE, GLOBAL, ADD, CACHE_HINT, ADDED],
        RED_POLICY,
        RED_DOC,
    ),
    red(&[RED_ORDER, SCOPE, GLOBAL, COUNT, U32_ONLY], RED, RED_DOC),
    red(&[RED_ORDER, SCOPE, SHARED, COUNT, U32_ONLY], RED, RED_DOC),
    red(
        &[RED_ORDER, SCOPE, GLOBAL, COUNT, CACHE_HINT, U32_ONLY],
        RED_POLICY,
        RED_DOC,
    ),
    red(&[RED_ORDER, SCOPE, GLOBAL, MIN_MAX, ORDERED], RED, RED_DOC),
    red(&[RED_ORDER, SCOPE, SHARED, MIN_MAX, ORDERED], RED, RED_DOC),
    red(
        &[RED_ORDER, SCOPE, GLOBAL, MIN_MAX, CACHE_HINT, ORDERED],
        RED_POLICY,
        RED_DOC,
    ),
];

/// The operator in [`SlotName::Operation`].
pub(super) fn operator(choice: &Choice<'_>) -> Result<AtomicOp, Complaint> {
    Ok(match choice.required(SlotName::Operation)? {
        "and" => AtomicOp::And,
        "or" => AtomicOp::Or,
        "xor" => AtomicOp::Xor,
        "add" => AtomicOp::Add,
        "inc" => AtomicOp::Inc,
        "dec" => AtomicOp::Dec,
        "min" => AtomicOp::Min {
            ty: choice.int(SlotName::Type)?,
        },
        "max" => AtomicOp::Max {
            ty: choice.int(SlotName::Type)?,
        },
        "exch" => AtomicOp::Exch,
        "cas" => AtomicOp::Cas,
        other => return Err(Complaint::row(format!("`{other}` is no atomic operator"))),
    })
}

/// `atom`, `red`
pub(super) fn atomic(
    choice: &Choice<'_>,
    args: &[Arg],
    out: &mut dyn Emit,
) -> Result<(), Complaint> {
    let at = usize::from(choice.form.mnemonic == "atom");
    // A cache policy says nothing here.
    let operands_end = args.len() - usize::from(choice.has(SlotName::CacheHint));
    let (dst, srcs) = (args.get(..at), args.get(at + 1..operands_end));
    let (Some(dst), Some(address), Some(srcs)) = (dst, args.get(at), srcs) else {
        return Err(unexpected());
    };
    let (dsts, _) = operands(dst);
    let mut values = SmallVec::new();
    for src in srcs {
        match src {
            Arg::Src(value, _) => values.push(*value),
            Arg::Quad(low, high) => values.extend([*low, *high]),
            _ => return Err(unexpected()),
        }
    }
    let (space, addr) = place(address, space(choice)?)?;
    out.emit(Kind::Atomic(Atomic {
        op: operator(choice)?,
        space,
        bytes: (choice.ty(SlotName::Type)?.bits / 8) as u8,
        dsts: if dsts.iter().all(Option::is_none) {
            SmallVec::new()
        } else {
            dsts
        },
        srcs: values,
        addr,
        order: order(choice)?,
    }));
    Ok(())
}

/// The order in [`SlotName::Order`].
pub(super) fn order(choice: &Choice<'_>) -> Result<Order, Complaint> {
    match choice.word(SlotName::Order) {
        None | Some("relaxed") => Ok(Order::Relaxed),
        Some("acquire") => Ok(Order::Acquire),
        Some("release") => Ok(Order::Release),
        Some("acq_rel") => Ok(Order::AcquireRelease),
        Some(other) => Err(Complaint::row(format!("`{other}` is no memory order"))),
    }
}
