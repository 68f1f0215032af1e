//! Operations of the lanes of a warp. PTX ISA, `shfl`, `vote`, `match`, `activemask`, `redux.sync`, `elect.sync`.

use super::atomic_float::extreme;
use super::{MASK, SYNC, meet, operands};
use crate::ir::Kind;
use crate::ir::sync::{Meet, Op, ReduxOp, ShflMode, VoteMode};
use crate::isa::form::{
    Arg, B32, Build, Choice, Complaint, Emit, Form, OperandKind, Param, Slot, SlotName, T, TypeOf,
    U32, dst, form, maybe, one, param, src, word,
};
use crate::isa::types::Ty;
use crate::isa::words::{ONLY_B32, WIDE_BITS, WORDS, ty};

const PRED: TypeOf = TypeOf::Fixed(Ty::PRED);
const SHFL: Slot = one(
    SlotName::Mode,
    &[word("up"), word("down"), word("bfly"), word("idx")],
);
const SHFL_DST: Param = param("d|p", OperandKind::MaybePairDst, T);
const VOTE: Slot = one(SlotName::Mode, &[word("all"), word("any"), word("uni")]);
const BALLOT: Slot = one(SlotName::Mode, &[word("ballot")]);
const LOGICAL: Slot = ty(&[word("pred")]);
const VOTER: Param = src("a", PRED);
const REDUCED: &[Param] = &[dst(U32), src("a", U32), MASK];

const SHFL_DOC: &str = "d = a of the lane that b and c choose; p = whether that lane is in range";
const VOTE_DOC: &str = "d = whether a holds for all, or one, of the lanes, or is the same for all";
const BALLOT_DOC: &str = "d = the lanes for which a holds";

/// The rows.
pub(in crate::isa) const FORMS: &[Form] = &[
    form(
        "shfl",
        &[SYNC, SHFL, ty(ONLY_B32)],
        &[SHFL_DST, src("a", T), src("b", B32), src("c", B32), MASK],
        Build::Emit(shfl),
        SHFL_DOC,
    )
    .needs((5, 1), 30),
    form(
        "shfl",
        &[SHFL, ty(ONLY_B32)],
        &[SHFL_DST, src("a", T), src("b", B32), src("c", B32)],
        Build::Emit(shfl),
        SHFL_DOC,
    )
    .needs((3, 0), 30)
    .ends((6, 4), 70),
    form(
        "vote",
        &[SYNC, VOTE, LOGICAL],
        &[dst(T), VOTER, MASK],
        Build::Emit(vote),
        VOTE_DOC,
    )
    .needs((5, 1), 30),
    form(
        "vote",
        &[SYNC, BALLOT, ty(ONLY_B32)],
        &[dst(T), VOTER, MASK],
        Build::Emit(vote),
        BALLOT_DOC,
    )
    .needs((5, 1), 30),
    form(
        "vote",
        &[VOTE, LOGICAL],
        &[dst(T), VOTER],
        Build::Emit(vote),
        VOTE_DOC,
    )
    .needs((1, 2), 12)
    .ends((6, 4), 70),
    form(
        "vote",
        &[BALLOT, ty(ONLY_B32)],
        &[dst(T), VOTER],
        Build::Emit(vote),
        BALLOT_DOC,
    )
    .needs((2, 0), 20)
    .ends((6, 4), 70),
    form(
        "match",
        &[one(SlotName::Mode, &[word("any")]), SYNC, ty(WIDE_BITS)],
        &[dst(U32), src("a", T), MASK],
        Build::Emit(|c, a, out| {
            let class = c.class(SlotName::Type)?;
            masked(Op::MatchAny { class }, a, out)
        }),
        "d = the lanes that have the same a",
    )
    .needs((5, 1), 70),
    form(
        "match",
        &[one(SlotName::Mode, &[word("all")]), SYNC, ty(WIDE_BITS)],
        &[
            param("d|p", OperandKind::MaybePairSinkDst, U32),
            src("a", T),
            MASK,
        ],
        Build::Emit(|c, a, out| {
            let class = c.class(SlotName::Type)?;
            masked(Op::MatchAll { class }, a, out)
        }),
        "p = whether all lanes have the same a; d = membermask if they have, else 0",
    )
    .needs((5, 1), 70),
    form(
        "activemask",
        &[ty(ONLY_B32)],
        &[dst(T)],
        Build::Emit(|_, a, out| meet(Op::ActiveMask, a, out)),
        "d = the lanes that execute this together",
    )
    .needs((6, 2), 30),
    form(
        "redux",
        &[
            SYNC,
            one(
                SlotName::Operation,
                &[word("add"), word("min"), word("max")],
            ),
            ty(WORDS),
        ],
        REDUCED,
        Build::Emit(redux),
        "d = sum, least or greatest a of the lanes",
    )
    .needs((7, 0), 80),
    form(
        "redux",
        &[
            SYNC,
            one(SlotName::Operation, &[word("and"), word("or"), word("xor")]),
            ty(ONLY_B32),
        ],
        REDUCED,
        Build::Emit(redux),
        "d = a of all lanes, combined bit by bit",
    )
    .needs((7, 0), 80),
    form(
        "redux",
        &[
            SYNC,
            one(SlotName::Operation, &[word("min"), word("max")]),
            maybe(SlotName::Abs, &[word("abs")]),
            maybe(SlotName::Nan, &[word("NaN")]),
            ty(&[word("f32")]),
        ],
        &[dst(T), src("a", T), MASK],
        Build::Emit(redux),
        "d = least or greatest a of the lanes; .abs: of magnitudes; .NaN: NaN if there is one",
    )
    .needs((8, 6), 100)
    .only_variants(&[100, 103, 107]),
    form(
        "elect",
        &[SYNC],
        &[param("d|p", OperandKind::PairDst, U32), MASK],
        Build::Emit(|_, a, out| masked(Op::Elect, a, out)),
        "d = one lane of membermask; p = whether it is this one",
    )
    .needs((8, 0), 90),
];

/// The mask, which is written last, comes first.
fn masked(op: Op, args: &[Arg], out: &mut dyn Emit) -> Result<(), Complaint> {
    let (dsts, mut srcs) = operands(args);
    srcs.rotate_right(1);
    out.emit(Kind::Meet(Meet { op, dsts, srcs }));
    Ok(())
}

fn shfl(choice: &Choice<'_>, args: &[Arg], out: &mut dyn Emit) -> Result<(), Complaint> {
    let mode = match choice.required(SlotName::Mode)? {
        "up" => ShflMode::Up,
        "down" => ShflMode::Down,
        "bfly" => ShflMode::Bfly,
        "idx" => ShflMode::Idx,
        other => return Err(Complaint::row(format!("`{other}` is no mode of shfl"))),
    };
    by_sync(choice, args, out, |sync| Op::Shfl { mode, sync })
}

fn vote(choice: &Choice<'_>, args: &[Arg], out: &mut dyn Emit) -> Result<(), Complaint> {
    let mode = match choice.required(SlotName::Mode)? {
        "all" => VoteMode::All,
        "any" => VoteMode::Any,
        "uni" => VoteMode::Uni,
        "ballot" => VoteMode::Ballot,
        other => return Err(Complaint::row(format!("`{other}` is no mode of vote"))),
    };
    by_sync(choice, args, out, |sync| Op::Vote { mode, sync })
}

/// With `.sync` there is a mask.
fn by_sync(
    choice: &Choice<'_>,
    args: &[Arg],
    out: &mut dyn Emit,
    op: impl FnOnce(bool) -> Op,
) -> Result<(), Complaint> {
    if choice.has(SlotName::Sync) {
        masked(op(true), args, out)
    } else {
        meet(op(false), args, out)
    }
}

fn redux(choice: &Choice<'_>, args: &[Arg], out: &mut dyn Emit) -> Result<(), Complaint> {
    let signed = choice.signed(SlotName::Type);
    let float = choice.word(SlotName::Type) == Some("f32");
    let op = match choice.required(SlotName::Operation)? {
        "add" => ReduxOp::Add,
        "min" | "max" if float => ReduxOp::Float(extreme(choice)?),
        "min" => ReduxOp::Min { signed },
        "max" => ReduxOp::Max { signed },
        "and" => ReduxOp::And,
        "or" => ReduxOp::Or,
        "xor" => ReduxOp::Xor,
        other => return Err(Complaint::row(format!("`{other}` is no operator of redux"))),
    };
    masked(Op::Redux { op }, args, out)
}
