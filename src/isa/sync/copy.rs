//! Asynchronous copies, stores and reductions. PTX ISA, `cp.async`, `cp.async.bulk`, `cp.reduce.async.bulk`, `st.async`,
//! `red.async`; not those of tensors.
//!
//! They are done at once: groups have nothing to wait for, and what is counted on an mbarrier is counted behind the copy.

use super::atomic::operator;
use super::atomic_float::{ADDED as ADDED_NUMBER, HALF, NOFTZ, float_operator};
use super::{SHARED_CTA, place, unexpected};
use crate::ir::memory::{Address, Order, Space, Store};
use crate::ir::sync::{Atomic, Copy, Mbarrier, MbarrierOp};
use crate::ir::{Kind, Operand, RegClass};
use crate::isa::convert::space;
use crate::isa::form::{
    Arg, Build, Choice, Complaint, Emit, Form, OperandKind, Param, Slot, SlotName, T, TypeOf, U32,
    first, form, maybe, one, param, src, word,
};
use crate::isa::memory::elements;
use crate::isa::types::{Ty, TyKind};
use crate::isa::words::ty;
use smallvec::{SmallVec, smallvec};

const U16: TypeOf = TypeOf::Fixed(Ty::U16);
const U64: TypeOf = TypeOf::Fixed(Ty::U64);

const ASYNC: Slot = first(SlotName::Variant, &[word("async")]);
const BULK: Slot = first(SlotName::Bulk, &[word("bulk")]);
const REDUCE: Slot = first(SlotName::Variant, &[word("reduce")]);
const REDUCE_ASYNC: Slot = first(SlotName::Asynchronous, &[word("async")]);
const FROM_GLOBAL: Slot = one(SlotName::FromSpace, &[word("global")]);
const FROM_CTA: Slot = one(SlotName::FromSpace, &[word("shared::cta")]);
const TO_CTA: Slot = one(SlotName::Space, &[word("shared"), word("shared::cta")]);
const TO_CTA_ONLY: Slot = one(SlotName::Space, &[word("shared::cta")]);
const TO_CLUSTER: Slot = one(SlotName::Space, &[word("shared::cluster")]);
const TO_EITHER: Slot = one(
    SlotName::Space,
    &[
        word("shared::cluster"),
        word("shared::cta").needs((8, 6), 90),
    ],
);
const TO_GLOBAL: Slot = one(SlotName::Space, &[word("global")]);
const MAYBE_GLOBAL: Slot = maybe(SlotName::Space, &[word("global")]);
const THROUGH_L1: Slot = one(SlotName::Cache, &[word("ca")]);
const PAST_L1: Slot = one(SlotName::Cache, &[word("cg")]);
const HINT: Slot = one(
    SlotName::CacheHint,
    &[word("L2::cache_hint").needs((7, 4), 80)],
);
const PREFETCH: Slot = maybe(
    SlotName::PrefetchSize,
    &[
        word("L2::64B").needs((7, 4), 80),
        word("L2::128B").needs((7, 4), 80),
        word("L2::256B").needs((7, 4), 80),
    ],
);
const COMPLETES: Slot = one(
    SlotName::Completion,
    &[word("mbarrier::complete_tx::bytes")],
);
const IN_GROUP: Slot = one(SlotName::Completion, &[word("bulk_group")]);
const MULTICAST: Slot = one(SlotName::Multicast, &[word("multicast::cluster")]);
const MASKED: Slot = one(SlotName::Masked, &[word("cp_mask")]);
const IGNORES: Slot = one(SlotName::Masked, &[word("ignore_oob")]);

const fn operation(words: &'static [crate::isa::form::Word]) -> Slot {
    one(SlotName::Operation, words)
}

const ADD: Slot = operation(&[word("add")]);
const COUNT: Slot = operation(&[word("inc"), word("dec")]);
const MIN_MAX: Slot = operation(&[word("min"), word("max")]);
const BITWISE: Slot = operation(&[word("and"), word("or"), word("xor")]);
const ADDED: Slot = ty(&[word("u32"), word("s32"), word("u64")]);
const ADDED_ASYNC: Slot = ty(&[word("u32"), word("s32"), word("u64"), word("s64")]);
const COUNTED: Slot = ty(&[word("u32")]);
const NARROW: Slot = ty(&[word("u32"), word("s32")]);
const ORDERED: Slot = ty(&[word("u32"), word("s32"), word("u64"), word("s64")]);
const BITS: Slot = ty(&[word("b32")]);
const WIDE_BITS: Slot = ty(&[word("b32"), word("b64")]);

const TO: Param = param(
    "dst",
    OperandKind::AsyncAddress(SlotName::Space),
    TypeOf::Address,
);
const FROM: Param = param(
    "src",
    OperandKind::AsyncAddress(SlotName::FromSpace),
    TypeOf::Address,
);
const SMALL: Param = param("cp-size", OperandKind::Literal(4, 16), U32);
const SIXTEEN: Param = param("cp-size", OperandKind::Literal(16, 16), U32);
const SIZE_OR_IGNORE: Param = param("src-size", OperandKind::SizeOrPred, U32);
const POLICY: Param = src("cache-policy", U64);
const SIZE: Param = param("size", OperandKind::Count(0xf_ffff), U32);
const MBARRIER: Param = param("mbar", OperandKind::MbarrierAddress, TypeOf::Address);
const CTA_MASK: Param = src("ctaMask", U16);
const BYTE_MASK: Param = src("byteMask", U16);
const LEFT: Param = param("ignoreBytesLeft", OperandKind::Count(15), U32);
const RIGHT: Param = param("ignoreBytesRight", OperandKind::Count(15), U32);
const GROUPS: Param = param("N", OperandKind::AnyLiteral, U32);
const VALUE: Param = param("b", OperandKind::AsyncSrc, T);
/// In the state space of the destination.
const MBARRIER_THERE: Param = param(
    "mbar",
    OperandKind::AsyncAddress(SlotName::Space),
    TypeOf::Address,
);

const COPY_DOC: &str = "the cp-size bytes at dst = those at src: src-size of them, then zeros; a predicate: all zeros where it holds";
const GROUP_DOC: &str = "nothing: copies are complete at once";
const BULK_DOC: &str = "the size bytes at dst = those at src";
const BULK_REDUCE_DOC: &str = "each element at dst becomes itself op that at src";
const STORE_DOC: &str = "the element or elements at a = b, whose bytes mbar counts";
const REDUCE_DOC: &str = "the value at a becomes that value op b, whose bytes mbar counts";

/// `cp.async`
const fn small(slots: &'static [Slot], operands: &'static [Param]) -> Form {
    form("cp", slots, operands, Build::Emit(copy), COPY_DOC).needs((7, 0), 80)
}

/// `cp.async.bulk`
const fn bulk(slots: &'static [Slot], operands: &'static [Param]) -> Form {
    form("cp", slots, operands, Build::Emit(copy_bulk), BULK_DOC).needs((8, 0), 90)
}

/// `cp.reduce.async.bulk`
const fn bulk_reduce(slots: &'static [Slot], operands: &'static [Param]) -> Form {
    form(
        "cp",
        slots,
        operands,
        Build::Emit(copy_bulk),
        BULK_REDUCE_DOC,
    )
    .needs((8, 0), 90)
}

/// Groups and hints.
const fn group(slots: &'static [Slot], operands: &'static [Param]) -> Form {
    form("cp", slots, operands, Build::Hint, GROUP_DOC).needs((7, 0), 80)
}

/// `red.async`
const fn red_async(slots: &'static [Slot], operands: &'static [Param]) -> Form {
    form("red", slots, operands, Build::Emit(reduce), REDUCE_DOC).rule(mmio_rule)
}

const REDUCE_TO_CLUSTER: &[Param] = &[TO, FROM, SIZE, MBARRIER];
const REDUCE_TO_GLOBAL: &[Param] = &[TO, FROM, SIZE];
const REDUCE_HINTED: &[Param] = &[TO, FROM, SIZE, POLICY];
const RED_COUNTED: &[Param] = &[TO, src("b", T), MBARRIER_THERE];
const RED_ALONE: &[Param] = &[TO, src("b", T)];
const RED_ALONE_BITS: &[Param] = &[TO, src("b", U32)];
const RELAXED: Slot = one(SlotName::Order, &[word("relaxed")]);
const IN_CLUSTER: Slot = one(SlotName::Scope, &[word("cluster")]);
const MAYBE_CLUSTER: Slot = maybe(SlotName::Space, &[word("shared::cluster")]);
const MMIO: Slot = maybe(SlotName::Mmio, &[word("mmio")]);
const STRONG: Slot = one(SlotName::Order, &[word("release"), word("relaxed")]);
const WIDE_SCOPE: Slot = one(SlotName::Scope, &[word("gpu"), word("sys")]);
const STORED: Slot = ty(&[
    word("b8"),
    word("u8"),
    word("s8"),
    word("b16"),
    word("u16"),
    word("s16"),
    word("b32"),
    word("u32"),
    word("s32"),
    word("f32"),
    word("b64"),
    word("u64"),
    word("s64"),
    word("f64"),
]);
const WEAK: Slot = maybe(SlotName::Order, &[word("weak")]);

/// The rows.
pub(in crate::isa) const FORMS: &[Form] = &[
    small(&[ASYNC, THROUGH_L1, TO_CTA, FROM_GLOBAL, PREFETCH], &[TO, FROM, SMALL]),
    small(
        &[ASYNC, THROUGH_L1, TO_CTA, FROM_GLOBAL, PREFETCH],
        &[TO, FROM, SMALL, SIZE_OR_IGNORE],
    ),
    small(
        &[ASYNC, THROUGH_L1, TO_CTA, FROM_GLOBAL, HINT, PREFETCH],
        &[TO, FROM, SMALL, POLICY],
    ),
    small(
        &[ASYNC, THROUGH_L1, TO_CTA, FROM_GLOBAL, HINT, PREFETCH],
        &[TO, FROM, SMALL, SIZE_OR_IGNORE, POLICY],
    ),
    small(&[ASYNC, PAST_L1, TO_CTA, FROM_GLOBAL, PREFETCH], &[TO, FROM, SIXTEEN]),
    small(
        &[ASYNC, PAST_L1, TO_CTA, FROM_GLOBAL, PREFETCH],
        &[TO, FROM, SIXTEEN, SIZE_OR_IGNORE],
    ),
    small(
        &[ASYNC, PAST_L1, TO_CTA, FROM_GLOBAL, HINT, PREFETCH],
        &[TO, FROM, SIXTEEN, POLICY],
    ),
    small(
        &[ASYNC, PAST_L1, TO_CTA, FROM_GLOBAL, HINT, PREFETCH],
        &[TO, FROM, SIXTEEN, SIZE_OR_IGNORE, POLICY],
    ),
    group(&[ASYNC, first(SlotName::Step, &[word("commit_group"), word("wait_all")])], &[]),
    group(&[ASYNC, first(SlotName::Step, &[word("wait_group")])], &[GROUPS]),
    form(
        "cp",
        &[
            ASYNC,
            first(SlotName::Bulk, &[word("mbarrier")]),
            first(SlotName::Step, &[word("arrive")]),
            maybe(SlotName::NoComplete, &[word("noinc")]),
            maybe(SlotName::Space, &[word("shared"), SHARED_CTA]),
            ty(&[word("b64")]),
        ],
        &[TO],
        Build::Emit(arrive),
        "one arrival at a when the thread's copies are complete, which a expects from now on; noinc: which it expects anyway",
    )
    .needs((7, 0), 80),
    bulk(&[ASYNC, BULK, TO_EITHER, FROM_GLOBAL, COMPLETES], &[TO, FROM, SIZE, MBARRIER]),
    bulk(
        &[ASYNC, BULK, TO_EITHER, FROM_GLOBAL, COMPLETES, HINT],
        &[TO, FROM, SIZE, MBARRIER, POLICY],
    ),
    bulk(
        &[ASYNC, BULK, TO_CLUSTER, FROM_GLOBAL, COMPLETES, MULTICAST],
        &[TO, FROM, SIZE, MBARRIER, CTA_MASK],
    ),
    bulk(
        &[ASYNC, BULK, TO_CLUSTER, FROM_GLOBAL, COMPLETES, MULTICAST, HINT],
        &[TO, FROM, SIZE, MBARRIER, CTA_MASK, POLICY],
    ),
    bulk(
        &[ASYNC, BULK, TO_CTA_ONLY, FROM_GLOBAL, COMPLETES, IGNORES],
        &[TO, FROM, SIZE, LEFT, RIGHT, MBARRIER],
    )
    .needs((9, 2), 90),
    bulk(
        &[ASYNC, BULK, TO_CTA_ONLY, FROM_GLOBAL, COMPLETES, IGNORES, HINT],
        &[TO, FROM, SIZE, LEFT, RIGHT, MBARRIER, POLICY],
    )
    .needs((9, 2), 90),
    bulk(&[ASYNC, BULK, TO_CLUSTER, FROM_CTA, COMPLETES], &[TO, FROM, SIZE, MBARRIER]),
    bulk(&[ASYNC, BULK, TO_GLOBAL, FROM_CTA, IN_GROUP], &[TO, FROM, SIZE]),
    bulk(
        &[ASYNC, BULK, TO_GLOBAL, FROM_CTA, IN_GROUP, HINT],
        &[TO, FROM, SIZE, POLICY],
    ),
    bulk(
        &[ASYNC, BULK, TO_GLOBAL, FROM_CTA, IN_GROUP, MASKED],
        &[TO, FROM, SIZE, BYTE_MASK],
    )
    .needs((8, 6), 100),
    bulk(
        &[ASYNC, BULK, TO_GLOBAL, FROM_CTA, IN_GROUP, HINT, MASKED],
        &[TO, FROM, SIZE, POLICY, BYTE_MASK],
    )
    .needs((8, 6), 100),
    group(&[ASYNC, BULK, first(SlotName::Step, &[word("commit_group")])], &[]).needs((8, 0), 90),
    group(
        &[
            ASYNC,
            BULK,
            first(SlotName::Step, &[word("wait_group")]),
            maybe(SlotName::Reading, &[word("read")]),
        ],
        &[GROUPS],
    )
    .needs((8, 0), 90),
    form(
        "cp",
        &[
            ASYNC,
            BULK,
            first(SlotName::Step, &[word("prefetch")]),
            one(SlotName::Level, &[word("L2")]),
            TO_GLOBAL,
        ],
        &[TO, SIZE],
        Build::Emit(prefetch),
        "nothing: a hint that the size bytes at a will be used",
    )
    .needs((8, 0), 90),
    form(
        "cp",
        &[
            ASYNC,
            BULK,
            first(SlotName::Step, &[word("prefetch")]),
            one(SlotName::Level, &[word("L2")]),
            TO_GLOBAL,
            HINT,
        ],
        &[TO, SIZE, POLICY],
        Build::Emit(prefetch),
        "nothing: a hint that the size bytes at a will be used",
    )
    .needs((8, 0), 90),
    bulk_reduce(
        &[REDUCE, REDUCE_ASYNC, BULK, TO_CLUSTER, FROM_CTA, COMPLETES, ADD, ADDED],
        REDUCE_TO_CLUSTER,
    ),
    bulk_reduce(
        &[REDUCE, REDUCE_ASYNC, BULK, TO_CLUSTER, FROM_CTA, COMPLETES, COUNT, COUNTED],
        REDUCE_TO_CLUSTER,
    ),
    bulk_reduce(
        &[REDUCE, REDUCE_ASYNC, BULK, TO_CLUSTER, FROM_CTA, COMPLETES, MIN_MAX, NARROW],
        REDUCE_TO_CLUSTER,
    ),
    bulk_reduce(
        &[REDUCE, REDUCE_ASYNC, BULK, TO_CLUSTER, FROM_CTA, COMPLETES, BITWISE, BITS],
        REDUCE_TO_CLUSTER,
    ),
    bulk_reduce(
        &[REDUCE, REDUCE_ASYNC, BULK, TO_GLOBAL, FROM_CTA, IN_GROUP, ADD, ADDED],
        REDUCE_TO_GLOBAL,
    ),
    bulk_reduce(
        &[REDUCE, REDUCE_ASYNC, BULK, TO_GLOBAL, FROM_CTA, IN_GROUP, HINT, ADD, ADDED],
        REDUCE_HINTED,
    ),
    bulk_reduce(
        &[REDUCE, REDUCE_ASYNC, BULK, TO_GLOBAL, FROM_CTA, IN_GROUP, ADD, ADDED_NUMBER],
        REDUCE_TO_GLOBAL,
    ),
    bulk_reduce(
        &[REDUCE, REDUCE_ASYNC, BULK, TO_GLOBAL, FROM_CTA, IN_GROUP, HINT, ADD, ADDED_NUMBER],
        REDUCE_HINTED,
    ),
    bulk_reduce(
        &[REDUCE, REDUCE_ASYNC, BULK, TO_GLOBAL, FROM_CTA, IN_GROUP, ADD, NOFTZ, HALF],
        REDUCE_TO_GLOBAL,
    ),
    bulk_reduce(
        &[REDUCE, REDUCE_ASYNC, BULK, TO_GLOBAL, FROM_CTA, IN_GROUP, HINT, ADD, NOFTZ, HALF],
        REDUCE_HINTED,
    ),
    bulk_reduce(
        &[REDUCE, REDUCE_ASYNC, BULK, TO_GLOBAL, FROM_CTA, IN_GROUP, MIN_MAX, HALF],
        REDUCE_TO_GLOBAL,
    ),
    bulk_reduce(
        &[REDUCE, REDUCE_ASYNC, BULK, TO_GLOBAL, FROM_CTA, IN_GROUP, HINT, MIN_MAX, HALF],
        REDUCE_HINTED,
    ),
    bulk_reduce(
        &[REDUCE, REDUCE_ASYNC, BULK, TO_GLOBAL, FROM_CTA, IN_GROUP, COUNT, COUNTED],
        REDUCE_TO_GLOBAL,
    ),
    bulk_reduce(
        &[REDUCE, REDUCE_ASYNC, BULK, TO_GLOBAL, FROM_CTA, IN_GROUP, HINT, COUNT, COUNTED],
        REDUCE_HINTED,
    ),
    bulk_reduce(
        &[REDUCE, REDUCE_ASYNC, BULK, TO_GLOBAL, FROM_CTA, IN_GROUP, MIN_MAX, ORDERED],
        REDUCE_TO_GLOBAL,
    ),
    bulk_reduce(
        &[REDUCE, REDUCE_ASYNC, BULK, TO_GLOBAL, FROM_CTA, IN_GROUP, HINT, MIN_MAX, ORDERED],
        REDUCE_HINTED,
    ),
    bulk_reduce(
        &[REDUCE, REDUCE_ASYNC, BULK, TO_GLOBAL, FROM_CTA, IN_GROUP, BITWISE, WIDE_BITS],
        REDUCE_TO_GLOBAL,
    ),
    bulk_reduce(
        &[REDUCE, REDUCE_ASYNC, BULK, TO_GLOBAL, FROM_CTA, IN_GROUP, HINT, BITWISE, WIDE_BITS],
        REDUCE_HINTED,
    ),
    form(
        "st",
        &[
            ASYNC,
            WEAK,
            maybe(
                SlotName::Space,
                &[word("shared"), word("shared::cta"), word("shared::cluster")],
            ),
            COMPLETES,
            maybe(SlotName::Vector, &[word("v2"), word("v4")]),
            ty(&[
                word("b32"),
                word("u32"),
                word("s32"),
                word("f32"),
                word("b64"),
                word("u64"),
                word("s64"),
                word("f64"),
            ]),
        ],
        &[TO, VALUE, MBARRIER_THERE],
        Build::Emit(store),
        STORE_DOC,
    )
    .needs((8, 1), 90)
    .rule(fits_128_bits),
    form(
        "st",
        &[ASYNC, WEAK, STORED],
        &[TO, VALUE],
        Build::Emit(store),
        STORE_DOC,
    )
    .needs((8, 1), 90),
    form(
        "st",
        &[ASYNC, WEAK, TO_GLOBAL, STORED],
        &[TO, VALUE],
        Build::Emit(store),
        STORE_DOC,
    )
    .needs((8, 7), 100),
    form(
        "st",
        &[
            ASYNC,
            MMIO,
            one(SlotName::Order, &[word("release")]),
            WIDE_SCOPE,
            MAYBE_GLOBAL,
            STORED,
        ],
        &[TO, VALUE],
        Build::Emit(store),
        STORE_DOC,
    )
    .needs((8, 7), 100)
    .rule(mmio_rule),
    red_async(
        &[ASYNC, RELAXED, IN_CLUSTER, COMPLETES, MAYBE_CLUSTER, ADD, ADDED_ASYNC],
        RED_COUNTED,
    )
    .needs((8, 1), 90),
    red_async(
        &[ASYNC, RELAXED, IN_CLUSTER, COMPLETES, MAYBE_CLUSTER, COUNT, COUNTED],
        RED_COUNTED,
    )
    .needs((8, 1), 90),
    red_async(
        &[ASYNC, RELAXED, IN_CLUSTER, COMPLETES, MAYBE_CLUSTER, MIN_MAX, NARROW],
        RED_COUNTED,
    )
    .needs((8, 1), 90),
    red_async(
        &[ASYNC, RELAXED, IN_CLUSTER, COMPLETES, MAYBE_CLUSTER, BITWISE, BITS],
        RED_COUNTED,
    )
    .needs((8, 1), 90),
    red_async(
        &[ASYNC, MMIO, STRONG, WIDE_SCOPE, MAYBE_GLOBAL, ADD, ADDED_ASYNC],
        RED_ALONE,
    )
    .needs((8, 7), 100),
    red_async(
        &[ASYNC, MMIO, STRONG, WIDE_SCOPE, MAYBE_GLOBAL, COUNT, COUNTED],
        RED_ALONE,
    )
    .needs((8, 7), 100),
    red_async(
        &[ASYNC, MMIO, STRONG, WIDE_SCOPE, MAYBE_GLOBAL, MIN_MAX, NARROW],
        RED_ALONE,
    )
    .needs((8, 7), 100),
    red_async(
        &[ASYNC, MMIO, STRONG, WIDE_SCOPE, MAYBE_GLOBAL, BITWISE, BITS],
        RED_ALONE_BITS,
    )
    .needs((8, 7), 100),
];

/// Mapped memory is reached by `.release.sys`.
fn mmio_rule(choice: &Choice<'_>) -> Result<(), Complaint> {
    let released = choice.word(SlotName::Order) == Some("release")
        && choice.word(SlotName::Scope) == Some("sys");
    if choice.has(SlotName::Mmio) && !released {
        return Err(Complaint::slot(
            SlotName::Mmio,
            "`.mmio` goes with `.release.sys` here",
        ));
    }
    Ok(())
}

fn fits_128_bits(choice: &Choice<'_>) -> Result<(), Complaint> {
    let bits = choice.ty(SlotName::Type)?.bits as usize * elements(choice);
    if bits > 128 {
        return Err(Complaint::slot(
            SlotName::Vector,
            format!("{bits} bits, of which 128 are stored at once"),
        ));
    }
    Ok(())
}

/// The operand called `name`, if the form has it and it is there.
fn named<'a>(choice: &Choice<'_>, args: &'a [Arg], name: &str) -> Option<(usize, &'a Arg)> {
    let at = choice.form.operands.iter().position(|p| p.name == name)?;
    let arg = args.get(at)?;
    (*arg != Arg::Absent).then_some((at, arg))
}

fn value(choice: &Choice<'_>, args: &[Arg], name: &str) -> Result<Option<Operand>, Complaint> {
    match named(choice, args, name) {
        None => Ok(None),
        Some((_, Arg::Src(value, _))) => Ok(Some(*value)),
        Some(_) => Err(unexpected()),
    }
}

/// The address called `name`, in a space.
fn address(
    choice: &Choice<'_>,
    args: &[Arg],
    name: &str,
    space: Space,
) -> Result<(Space, Address), Complaint> {
    let (_, arg) = named(choice, args, name).ok_or_else(unexpected)?;
    place(arg, space)
}

/// The space that a copy reads.
fn from_space(choice: &Choice<'_>) -> Space {
    if choice.word(SlotName::FromSpace) == Some("global") {
        Space::Global
    } else {
        Space::Shared
    }
}

/// `cp.async`
fn copy(choice: &Choice<'_>, args: &[Arg], out: &mut dyn Emit) -> Result<(), Complaint> {
    let Some((size_at, Arg::Literal(size))) = named(choice, args, "cp-size") else {
        return Err(unexpected());
    };
    let size = match size {
        4 => 4u8,
        8 => 8,
        16 => 16,
        other => {
            return Err(Complaint::operand(
                size_at,
                format!("{other} bytes; a copy has 4, 8 or 16"),
            ));
        }
    };
    let (mut read, mut ignore) = (None, None);
    match named(choice, args, "src-size") {
        None => {}
        Some((_, Arg::Src(value, RegClass::Pred))) => ignore = Some(*value),
        Some((at, Arg::Src(value, _))) => {
            if let Operand::Imm(bytes) = value
                && *bytes > u64::from(size)
            {
                return Err(Complaint::operand(
                    at,
                    format!("{bytes} bytes are read for {size}"),
                ));
            }
            read = Some(*value);
        }
        Some(_) => return Err(unexpected()),
    }
    out.emit(Kind::Copy(Box::new(Copy {
        read,
        ignore,
        ..Copy::new(
            address(choice, args, "dst", Space::Shared)?,
            address(choice, args, "src", from_space(choice))?,
            Operand::Imm(size.into()),
            size,
        )
    })));
    Ok(())
}

/// A size in a literal is a multiple of 16.
fn size(choice: &Choice<'_>, args: &[Arg]) -> Result<Operand, Complaint> {
    let Some((at, Arg::Src(size, _))) = named(choice, args, "size") else {
        return Err(unexpected());
    };
    match size {
        Operand::Imm(bytes) if bytes % 16 != 0 => Err(Complaint::operand(
            at,
            format!("{bytes} bytes are no multiple of 16"),
        )),
        size => Ok(*size),
    }
}

/// `cp.async.bulk`, `cp.reduce.async.bulk`
fn copy_bulk(choice: &Choice<'_>, args: &[Arg], out: &mut dyn Emit) -> Result<(), Complaint> {
    let to = space(choice)?;
    // It lies where the bytes go.
    let mbarrier = match named(choice, args, "mbar") {
        None => None,
        Some((_, arg)) if to == Space::Cluster => Some(place(arg, to)?),
        Some((_, arg)) => Some(place(arg, Space::Shared)?),
    };
    let reduce = if choice.has(SlotName::Operation) {
        let ty = choice.ty(SlotName::Type)?;
        let op = match ty.kind {
            TyKind::Float | TyKind::PackedFloat | TyKind::Alternate(_) => {
                float_operator(choice, to)?
            }
            TyKind::Pred
            | TyKind::Bits
            | TyKind::Unsigned
            | TyKind::Signed
            | TyKind::PackedInt { .. } => operator(choice)?,
        };
        Some((op, ty.class().ok_or_else(unexpected)?))
    } else {
        None
    };
    let left = value(choice, args, LEFT.name)?;
    let right = value(choice, args, RIGHT.name)?;
    out.emit(Kind::Copy(Box::new(Copy {
        skip: left.zip(right).map(<[Operand; 2]>::from),
        byte_mask: value(choice, args, BYTE_MASK.name)?,
        multicast: value(choice, args, CTA_MASK.name)?,
        reduce,
        mbarrier,
        ..Copy::new(
            address(choice, args, "dst", to)?,
            address(choice, args, "src", from_space(choice))?,
            size(choice, args)?,
            16,
        )
    })));
    Ok(())
}

fn prefetch(choice: &Choice<'_>, args: &[Arg], out: &mut dyn Emit) -> Result<(), Complaint> {
    size(choice, args)?;
    out.emit(Kind::Hint {
        name: choice.form.mnemonic,
    });
    Ok(())
}

/// `cp.async.mbarrier.arrive`. Without `.noinc` the object expects one arrival more, which comes at once: nothing is left
/// but that an mbarrier must be there.
fn arrive(choice: &Choice<'_>, args: &[Arg], out: &mut dyn Emit) -> Result<(), Complaint> {
    let (space, addr) = address(choice, args, "dst", space(choice)?)?;
    let noinc = choice.has(SlotName::NoComplete);
    out.emit(Kind::Mbarrier(Mbarrier {
        op: if noinc {
            MbarrierOp::Arrive {
                drop: false,
                expects: false,
                counted: false,
                no_complete: false,
            }
        } else {
            MbarrierOp::ExpectTx
        },
        space,
        addr,
        dst: None,
        srcs: if noinc {
            smallvec![]
        } else {
            smallvec![Operand::Imm(0)]
        },
    }));
    Ok(())
}

/// Counts the bytes that a store or reduction has written.
fn complete(
    choice: &Choice<'_>,
    args: &[Arg],
    bytes: u32,
    out: &mut dyn Emit,
) -> Result<(), Complaint> {
    if choice.has(SlotName::Completion) {
        let (space, addr) = address(choice, args, "mbar", space(choice)?)?;
        out.emit(Kind::Mbarrier(Mbarrier {
            op: MbarrierOp::CompleteTx,
            space,
            addr,
            dst: None,
            srcs: smallvec![Operand::Imm(bytes.into())],
        }));
    }
    Ok(())
}

fn order(choice: &Choice<'_>) -> Order {
    match choice.word(SlotName::Order) {
        _ if choice.has(SlotName::Mmio) => Order::Volatile,
        Some("release") => Order::Release,
        Some("relaxed") => Order::Relaxed,
        _ => Order::Weak,
    }
}

/// `st.async`
fn store(choice: &Choice<'_>, args: &[Arg], out: &mut dyn Emit) -> Result<(), Complaint> {
    let (space, addr) = address(choice, args, "dst", space(choice)?)?;
    let (_, stored) = named(choice, args, "b").ok_or_else(unexpected)?;
    let values = match stored {
        Arg::Vector(elements) => elements.as_slice(),
        scalar => std::slice::from_ref(scalar),
    };
    let mut srcs: SmallVec<[Operand; 4]> = SmallVec::new();
    for value in values {
        match value {
            Arg::Src(operand, _) => srcs.push(*operand),
            _ => return Err(unexpected()),
        }
    }
    let bytes = choice.ty(SlotName::Type)?.bits / 8;
    let whole = bytes * srcs.len() as u32;
    out.emit(Kind::Store(Store {
        space,
        bytes: bytes as u8,
        align: whole as u8,
        srcs,
        addr,
        order: order(choice),
    }));
    complete(choice, args, whole, out)
}

/// `red.async`
fn reduce(choice: &Choice<'_>, args: &[Arg], out: &mut dyn Emit) -> Result<(), Complaint> {
    let (space, addr) = address(choice, args, "dst", space(choice)?)?;
    let b = value(choice, args, "b")?.ok_or_else(unexpected)?;
    let bytes = choice.ty(SlotName::Type)?.bits / 8;
    out.emit(Kind::Atomic(Atomic {
        op: operator(choice)?,
        space,
        bytes: bytes as u8,
        dsts: SmallVec::new(),
        srcs: smallvec![b],
        addr,
        order: match choice.word(SlotName::Order) {
            Some("release") => Order::Release,
            _ => Order::Relaxed,
        },
    }));
    complete(choice, args, bytes, out)
}
