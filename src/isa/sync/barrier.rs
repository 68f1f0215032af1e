//! Barriers of a CTA, a warp, a cluster. PTX ISA, `bar`, `barrier`, `bar.warp.sync`, `barrier.cluster`.

use super::{MASK, SYNC, meet, operands};
use crate::ir::sync::{BarrierAction, Meet, Op};
use crate::ir::{Kind, Operand};
use crate::isa::form::{
    Arg, Build, Choice, Complaint, Emit, Form, OperandKind, Param, Slot, SlotName, T, U32, dst,
    first, form, maybe, maybe_first, one, param, src, word,
};
use crate::isa::words::ty;

const CTA: Slot = maybe_first(SlotName::Group, &[word("cta").needs((7, 8), 10)]);
const CLUSTER: Slot = first(SlotName::Group, &[word("cluster")]);
const ARRIVE: Slot = first(SlotName::Variant, &[word("arrive")]);
const RED: Slot = first(SlotName::Variant, &[word("red")]);
const ALIGNED: Slot = maybe(SlotName::Aligned, &[word("aligned")]);
const POPC: Slot = one(SlotName::Operation, &[word("popc")]);
const AND_OR: Slot = one(SlotName::Operation, &[word("and"), word("or")]);
const COUNTED: Slot = ty(&[word("u32")]);
const LOGICAL: Slot = ty(&[word("pred")]);

/// Which of the 16 barriers.
const BARRIER: Param = param("a", OperandKind::Count(15), U32);
/// How many threads take part.
const THREADS: Param = src("b", U32);
const PREDICATE: Param = param("p", OperandKind::Pred, U32);

const SYNCS: &[Param] = &[BARRIER, THREADS.optional()];
const ARRIVES: &[Param] = &[BARRIER, THREADS];
const REDUCES: &[Param] = &[dst(T), BARRIER, PREDICATE];
const REDUCES_SOME: &[Param] = &[dst(T), BARRIER, THREADS, PREDICATE];

const SYNC_DOC: &str = "waits until b threads, or all of the CTA, have come to barrier a";
const ARRIVE_DOC: &str = "counts the thread among the b that barrier a waits for, and goes on";
const POPC_DOC: &str = "waits at barrier a; d = the number of threads there for which p holds";
const AND_OR_DOC: &str = "waits at barrier a; d = whether p holds for all, or one, of the threads";

/// `bar`
const fn bar(slots: &'static [Slot], operands: &'static [Param], doc: &'static str) -> Form {
    form("bar", slots, operands, Build::Emit(barrier), doc).needs((2, 0), 20)
}

/// `barrier`
const fn barriers(slots: &'static [Slot], operands: &'static [Param], doc: &'static str) -> Form {
    form("barrier", slots, operands, Build::Emit(barrier), doc).needs((5, 1), 30)
}

/// The rows.
pub(in crate::isa) const FORMS: &[Form] = &[
    form("bar", &[SYNC], SYNCS, Build::Emit(barrier), SYNC_DOC),
    bar(
        &[
            first(SlotName::Group, &[word("cta").needs((7, 8), 20)]),
            SYNC,
        ],
        SYNCS,
        SYNC_DOC,
    ),
    bar(&[CTA, ARRIVE], ARRIVES, ARRIVE_DOC),
    bar(&[CTA, RED, POPC, COUNTED], REDUCES, POPC_DOC),
    bar(&[CTA, RED, POPC, COUNTED], REDUCES_SOME, POPC_DOC),
    bar(&[CTA, RED, AND_OR, LOGICAL], REDUCES, AND_OR_DOC),
    bar(&[CTA, RED, AND_OR, LOGICAL], REDUCES_SOME, AND_OR_DOC),
    barriers(&[CTA, SYNC, ALIGNED], SYNCS, SYNC_DOC),
    barriers(&[CTA, ARRIVE, ALIGNED], ARRIVES, ARRIVE_DOC),
    barriers(&[CTA, RED, POPC, ALIGNED, COUNTED], REDUCES, POPC_DOC),
    barriers(&[CTA, RED, POPC, ALIGNED, COUNTED], REDUCES_SOME, POPC_DOC),
    barriers(&[CTA, RED, AND_OR, ALIGNED, LOGICAL], REDUCES, AND_OR_DOC),
    barriers(
        &[CTA, RED, AND_OR, ALIGNED, LOGICAL],
        REDUCES_SOME,
        AND_OR_DOC,
    ),
    form(
        "bar",
        &[first(SlotName::Group, &[word("warp")]), SYNC],
        &[MASK],
        Build::Emit(|_, a, out| meet(Op::Warp, a, out)),
        "waits until all lanes of membermask have come here",
    )
    .needs((5, 1), 30),
    form(
        "barrier",
        &[
            CLUSTER,
            ARRIVE,
            maybe(
                SlotName::Order,
                &[
                    word("release").needs((8, 0), 90),
                    word("relaxed").needs((8, 0), 90),
                ],
            ),
            ALIGNED,
        ],
        &[],
        Build::Emit(cluster_arrive),
        "counts the thread among those that the cluster's barrier waits for, and goes on",
    )
    .needs((7, 8), 90),
    form(
        "barrier",
        &[
            CLUSTER,
            first(SlotName::Variant, &[word("wait")]),
            maybe(SlotName::Order, &[word("acquire").needs((8, 0), 90)]),
            ALIGNED,
        ],
        &[],
        Build::Emit(cluster_wait),
        "waits until all threads of the cluster have arrived at its barrier",
    )
    .needs((7, 8), 90),
];

fn barrier(choice: &Choice<'_>, args: &[Arg], out: &mut dyn Emit) -> Result<(), Complaint> {
    let action = match (
        choice.word(SlotName::Variant),
        choice.word(SlotName::Operation),
    ) {
        (None, None) => BarrierAction::Sync,
        (Some("arrive"), None) => BarrierAction::Arrive,
        (Some("red"), Some("popc")) => BarrierAction::Popc,
        (Some("red"), Some("and")) => BarrierAction::And,
        (Some("red"), Some("or")) => BarrierAction::Or,
        _ => return Err(Complaint::row("no action of a barrier")),
    };
    let (dsts, mut srcs) = operands(args);
    let parameters = choice.form.operands;
    let at = parameters.iter().position(|p| p.name == THREADS.name);
    let at = at.filter(|&at| !matches!(args.get(at), None | Some(Arg::Absent)));
    let mut counted = at.is_some();
    if let Some(at) = at
        && let Some(Operand::Imm(threads)) = srcs.get(1).copied()
    {
        if threads % 32 != 0 {
            return Err(Complaint::operand(
                at,
                format!("{threads} threads are no multiple of 32"),
            ));
        }
        // No number of threads means all.
        if threads == 0 {
            if action == BarrierAction::Arrive {
                return Err(Complaint::operand(
                    at,
                    "an arrival needs a number of threads",
                ));
            }
            srcs.remove(1);
            counted = false;
        }
    }
    out.emit(Kind::Meet(Meet {
        op: Op::Barrier {
            action,
            counted,
            aligned: choice.form.mnemonic == "bar" || choice.has(SlotName::Aligned),
        },
        dsts,
        srcs,
    }));
    Ok(())
}

fn cluster_arrive(choice: &Choice<'_>, args: &[Arg], out: &mut dyn Emit) -> Result<(), Complaint> {
    let relaxed = choice.word(SlotName::Order) == Some("relaxed");
    let aligned = choice.has(SlotName::Aligned);
    meet(Op::ClusterArrive { aligned, relaxed }, args, out)
}

fn cluster_wait(choice: &Choice<'_>, args: &[Arg], out: &mut dyn Emit) -> Result<(), Complaint> {
    let aligned = choice.has(SlotName::Aligned);
    meet(Op::ClusterWait { aligned }, args, out)
}
