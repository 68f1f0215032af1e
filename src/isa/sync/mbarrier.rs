//! Objects that count arrivals and bytes. PTX ISA, `mbarrier`.

use super::{ADDRESS, SHARED_CLUSTER, SHARED_CTA, operands, place, unexpected};
use crate::ir::bits::Op as BitsOp;
use crate::ir::memory::Space;
use crate::ir::sync::{MBARRIER_PENDING, Mbarrier, MbarrierOp};
use crate::ir::{Kind, Operand, PureOp, RegClass};
use crate::isa::convert::{pure, space};
use crate::isa::form::{
    Arg, Build, Choice, Complaint, Emit, Form, OperandKind, Param, Slot, SlotName, TypeOf, U32,
    dst, first, form, maybe, one, param, src, word,
};
use crate::isa::types::Ty;
use crate::isa::words::ty;

const B64: Slot = ty(&[word("b64")]);
const SPACE: Slot = maybe(SlotName::Space, &[word("shared"), SHARED_CTA]);
const ANY_SPACE: Slot = maybe(
    SlotName::Space,
    &[word("shared"), SHARED_CTA, SHARED_CLUSTER],
);
const IN_CLUSTER: Slot = one(
    SlotName::Space,
    &[word("shared::cluster").needs((8, 0), 90)],
);
const ARRIVE: Slot = first(SlotName::Variant, &[word("arrive"), word("arrive_drop")]);
const EXPECT: Slot = first(SlotName::Operation, &[word("expect_tx")]);
const NO_COMPLETE: Slot = one(SlotName::NoComplete, &[word("noComplete")]);
const PARITY: Slot = first(SlotName::Operation, &[word("parity")]);
const TEST: Slot = first(SlotName::Variant, &[word("test_wait")]);
const TRY: Slot = first(SlotName::Variant, &[word("try_wait")]);
const RELEASES: Slot = maybe(
    SlotName::Order,
    &[
        word("release").needs((8, 0), 80),
        word("relaxed").needs((8, 6), 90),
    ],
);
const ACQUIRES: Slot = maybe(
    SlotName::Order,
    &[
        word("acquire").needs((8, 0), 80),
        word("relaxed").needs((8, 6), 90),
    ],
);
const SCOPE: Slot = maybe(
    SlotName::Scope,
    &[
        word("cta").needs((8, 0), 80),
        word("cluster").needs((8, 0), 90),
    ],
);
const U64: TypeOf = TypeOf::Fixed(Ty::U64);
const PREDICATE: TypeOf = TypeOf::Fixed(Ty::PRED);

const STATE: Param = param("state", OperandKind::SinkDst, U64);
const NO_STATE: Param = param("_", OperandKind::Sink, U64);
const COUNT: Param = src("count", U32);
const BYTES: Param = src("tx-count", U32);
const TESTED: Param = param("p", OperandKind::Dst, PREDICATE);
const OF_STATE: Param = src("state", U64);
const OF_PARITY: Param = param("parity", OperandKind::Count(1), U32);
const TIME: Param = src("suspend-time", U32);

const ARRIVES: &[Param] = &[STATE, ADDRESS];
const ARRIVES_COUNTED: &[Param] = &[STATE, ADDRESS, COUNT];
const ARRIVES_AFAR: &[Param] = &[NO_STATE, ADDRESS, COUNT.optional()];
const EXPECTS: &[Param] = &[STATE, ADDRESS, BYTES];
const EXPECTS_AFAR: &[Param] = &[NO_STATE, ADDRESS, BYTES];
const TESTS: &[Param] = &[TESTED, ADDRESS, OF_STATE];
const TESTS_PARITY: &[Param] = &[TESTED, ADDRESS, OF_PARITY];
const TRIES: &[Param] = &[TESTED, ADDRESS, OF_STATE, TIME.optional()];
const TRIES_PARITY: &[Param] = &[TESTED, ADDRESS, OF_PARITY, TIME.optional()];

const ARRIVE_DOC: &str = "count arrivals (or one) at a; drop: and as many fewer from the next phase on; state = what was before";
const EXPECT_DOC: &str =
    "a expects tx-count bytes more, then one arrival at a; state = what was before";
const TEST_DOC: &str = "p = whether the phase of a that state or parity names is complete";

const fn mbarrier(
    slots: &'static [Slot],
    operands: &'static [Param],
    build: fn(&Choice<'_>, &[Arg], &mut dyn Emit) -> Result<(), Complaint>,
    doc: &'static str,
) -> Form {
    form("mbarrier", slots, operands, Build::Emit(build), doc)
        .needs((7, 0), 80)
        .rule(order_has_scope)
}

/// The rows.
pub(in crate::isa) const FORMS: &[Form] = &[
    mbarrier(
        &[first(SlotName::Variant, &[word("init")]), SPACE, B64],
        &[ADDRESS, param("count", OperandKind::Count(0xf_ffff), U32)],
        init,
        "makes a an mbarrier whose phases wait for count arrivals",
    ),
    mbarrier(
        &[first(SlotName::Variant, &[word("inval")]), SPACE, B64],
        &[ADDRESS],
        |c, a, out| object(c, a, out, MbarrierOp::Invalidate),
        "a is no mbarrier any more",
    ),
    mbarrier(
        &[ARRIVE, RELEASES, SCOPE, SPACE, B64],
        ARRIVES,
        arrive,
        ARRIVE_DOC,
    ),
    mbarrier(
        &[ARRIVE, RELEASES, SCOPE, SPACE, B64],
        ARRIVES_COUNTED,
        arrive,
        ARRIVE_DOC,
    )
    .needs((7, 8), 90),
    mbarrier(
        &[ARRIVE, RELEASES, SCOPE, IN_CLUSTER, B64],
        ARRIVES_AFAR,
        arrive,
        ARRIVE_DOC,
    ),
    mbarrier(
        &[ARRIVE, EXPECT, RELEASES, SCOPE, SPACE, B64],
        EXPECTS,
        arrive,
        EXPECT_DOC,
    )
    .needs((8, 0), 90),
    mbarrier(
        &[ARRIVE, EXPECT, RELEASES, SCOPE, IN_CLUSTER, B64],
        EXPECTS_AFAR,
        arrive,
        EXPECT_DOC,
    )
    .needs((8, 0), 90),
    mbarrier(
        &[
            ARRIVE,
            NO_COMPLETE,
            maybe(SlotName::Order, &[word("release").needs((8, 0), 80)]),
            maybe(SlotName::Scope, &[word("cta").needs((8, 0), 80)]),
            SPACE,
            B64,
        ],
        ARRIVES_COUNTED,
        arrive,
        ARRIVE_DOC,
    ),
    mbarrier(
        &[
            first(SlotName::Variant, &[word("expect_tx")]),
            maybe(SlotName::Order, &[word("relaxed")]),
            SCOPE,
            ANY_SPACE,
            B64,
        ],
        &[ADDRESS, BYTES],
        |c, a, out| object(c, a, out, MbarrierOp::ExpectTx),
        "a expects tx-count bytes more",
    )
    .needs((8, 0), 90),
    mbarrier(
        &[
            first(SlotName::Variant, &[word("complete_tx")]),
            maybe(SlotName::Order, &[word("relaxed")]),
            SCOPE,
            ANY_SPACE,
            B64,
        ],
        &[ADDRESS, BYTES],
        |c, a, out| object(c, a, out, MbarrierOp::CompleteTx),
        "tx-count of the bytes that a expects have come",
    )
    .needs((8, 0), 90),
    mbarrier(&[TEST, ACQUIRES, SCOPE, SPACE, B64], TESTS, test, TEST_DOC),
    mbarrier(
        &[TEST, PARITY, ACQUIRES, SCOPE, SPACE, B64],
        TESTS_PARITY,
        test,
        TEST_DOC,
    )
    .needs((7, 1), 80),
    mbarrier(&[TRY, ACQUIRES, SCOPE, SPACE, B64], TRIES, test, TEST_DOC).needs((7, 8), 90),
    mbarrier(
        &[TRY, PARITY, ACQUIRES, SCOPE, SPACE, B64],
        TRIES_PARITY,
        test,
        TEST_DOC,
    )
    .needs((7, 8), 90),
    mbarrier(
        &[first(SlotName::Variant, &[word("pending_count")]), B64],
        &[dst(U32), OF_STATE],
        pending_count,
        "d = the arrivals that state still waits for",
    ),
];

/// An order and a scope go together.
fn order_has_scope(choice: &Choice<'_>) -> Result<(), Complaint> {
    match (choice.word(SlotName::Order), choice.word(SlotName::Scope)) {
        (Some(order), None) => Err(Complaint::slot(
            SlotName::Order,
            format!("`.{order}` needs a scope"),
        )),
        (None, Some(scope)) => Err(Complaint::slot(
            SlotName::Scope,
            format!("`.{scope}` needs a memory order"),
        )),
        (Some(_), Some(_)) | (None, None) => Ok(()),
    }
}

/// The operation on the mbarrier at the address among the operands.
fn object(
    choice: &Choice<'_>,
    args: &[Arg],
    out: &mut dyn Emit,
    op: MbarrierOp,
) -> Result<(), Complaint> {
    let at = args.iter().position(|a| matches!(a, Arg::Address(..)));
    let Some((at, address)) = at.and_then(|at| Some((at, args.get(at)?))) else {
        return Err(unexpected());
    };
    let (space, addr) = place(address, space(choice)?)?;
    if !matches!(space, Space::Generic | Space::Shared | Space::Cluster) {
        return Err(Complaint::operand(at, "an mbarrier lies in shared memory"));
    }
    let (dsts, srcs) = operands(args);
    out.emit(Kind::Mbarrier(Mbarrier {
        op,
        space,
        addr,
        dst: dsts.first().copied().flatten(),
        srcs: srcs.into_iter().collect(),
    }));
    Ok(())
}

/// A count in a literal is not 0.
fn refuse_zero(args: &[Arg], at: usize) -> Result<(), Complaint> {
    match args.get(at) {
        Some(Arg::Src(Operand::Imm(0), _)) => Err(Complaint::operand(at, "a count of 0")),
        _ => Ok(()),
    }
}

fn init(choice: &Choice<'_>, args: &[Arg], out: &mut dyn Emit) -> Result<(), Complaint> {
    refuse_zero(args, 1)?;
    object(choice, args, out, MbarrierOp::Init)
}

fn arrive(choice: &Choice<'_>, args: &[Arg], out: &mut dyn Emit) -> Result<(), Complaint> {
    let expects = choice.has(SlotName::Operation);
    if !expects {
        refuse_zero(args, 2)?;
    }
    let op = MbarrierOp::Arrive {
        drop: choice.word(SlotName::Variant) == Some("arrive_drop"),
        expects,
        counted: !expects && matches!(args.get(2), Some(Arg::Src(..))),
        no_complete: choice.has(SlotName::NoComplete),
    };
    object(choice, args, out, op)
}

fn test(choice: &Choice<'_>, args: &[Arg], out: &mut dyn Emit) -> Result<(), Complaint> {
    let op = MbarrierOp::Test {
        parity: choice.has(SlotName::Operation),
        waits: choice.word(SlotName::Variant) == Some("try_wait"),
    };
    // For how long it may wait at most is a hint.
    object(choice, args.get(..3).ok_or_else(unexpected)?, out, op)
}

fn pending_count(_: &Choice<'_>, args: &[Arg], out: &mut dyn Emit) -> Result<(), Complaint> {
    let [Arg::Dst(Some(dst), _), Arg::Src(state, _)] = args else {
        return Err(unexpected());
    };
    let class = RegClass::B32;
    out.emit(pure(
        PureOp::Bits(BitsOp::And { class }),
        *dst,
        &[*state, Operand::Imm(MBARRIER_PENDING)],
    ));
    Ok(())
}
