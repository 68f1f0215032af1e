//! Requests for clusters that have not begun. PTX ISA, `clusterlaunchcontrol.try_cancel`, `clusterlaunchcontrol.query_cancel`.
//!
//! Whether a request succeeds is up to the implementation: here every one is declined. Which CTA a declined response names is
//! undefined: here it is the first one of the grid.

use super::{place, unexpected};
use crate::ir::bits::Op as BitsOp;
use crate::ir::sync::Copy;
use crate::ir::{Kind, Operand, PureOp, RegClass, Special, convert};
use crate::isa::convert::{pure, space};
use crate::isa::form::{
    Arg, Build, Choice, Complaint, Emit, Form, OperandKind, Param, Slot, SlotName, T, TypeOf, dst,
    first, form, maybe, one, param, src, word,
};
use crate::isa::words::{ONLY_B32, from_ty, ty};

/// Bytes of a response.
const RESPONSE: u64 = 16;

const TRY: Slot = first(SlotName::Variant, &[word("try_cancel")]);
const ASYNC: Slot = first(SlotName::Asynchronous, &[word("async")]);
const QUERY: Slot = first(SlotName::Variant, &[word("query_cancel")]);
const IS_CANCELED: Slot = first(SlotName::Step, &[word("is_canceled")]);
const CTA: Slot = first(SlotName::Step, &[word("get_first_ctaid")]);
const PART: Slot = first(
    SlotName::Step,
    &[
        word("get_first_ctaid::x"),
        word("get_first_ctaid::y"),
        word("get_first_ctaid::z"),
    ],
);
const SPACE: Slot = maybe(SlotName::Space, &[word("shared::cta")]);
const COMPLETES: Slot = one(
    SlotName::Completion,
    &[word("mbarrier::complete_tx::bytes")],
);
const ALL: Slot = one(SlotName::Multicast, &[word("multicast::cluster::all")]);
const FOUR: Slot = one(SlotName::Vector, &[word("v4")]);
const WHOLE: Slot = ty(&[word("b128")]);
const FROM_WHOLE: Slot = from_ty(&[word("b128")]);
const TRUTH: Slot = ty(&[word("pred")]);
const NUMBER: Slot = ty(ONLY_B32);

const TO: Param = param(
    "dst",
    OperandKind::AsyncAddress(SlotName::Space),
    TypeOf::Address,
);
const MBARRIER: Param = param(
    "mbar",
    OperandKind::AsyncAddress(SlotName::Space),
    TypeOf::Address,
);
const ANSWER: Param = src("response", TypeOf::Slot(SlotName::FromType));
const NUMBERS: Param = param("d", OperandKind::AtomDst, T);
/// Targets whose variants send a response to all CTAs of the cluster.
const MULTICAST_TARGETS: &[u32] = &[100, 103, 107, 110, 120, 121];

const TRY_DOC: &str = "the 16 bytes at dst = a response, which declines, and mbar counts them";
const QUERY_DOC: &str = "d = 0: no cluster was given";
const CTA_DOC: &str = "d = 0, of a response that declines";

/// The rows.
pub(in crate::isa) const FORMS: &[Form] = &[
    control(
        &[TRY, ASYNC, SPACE, COMPLETES, WHOLE],
        &[TO, MBARRIER],
        Build::Emit(request),
        TRY_DOC,
    ),
    control(
        &[TRY, ASYNC, SPACE, COMPLETES, ALL, WHOLE],
        &[TO, MBARRIER],
        Build::Emit(request),
        TRY_DOC,
    )
    .only_variants(MULTICAST_TARGETS),
    control(
        &[QUERY, IS_CANCELED, TRUTH, FROM_WHOLE],
        &[dst(T), ANSWER],
        Build::Emit(zeros),
        QUERY_DOC,
    ),
    control(
        &[QUERY, CTA, FOUR, NUMBER, FROM_WHOLE],
        &[NUMBERS, ANSWER],
        Build::Emit(zeros),
        CTA_DOC,
    ),
    control(
        &[QUERY, PART, NUMBER, FROM_WHOLE],
        &[dst(T), ANSWER],
        Build::Emit(zeros),
        CTA_DOC,
    ),
];

const fn control(
    slots: &'static [Slot],
    operands: &'static [Param],
    build: Build,
    doc: &'static str,
) -> Form {
    form("clusterlaunchcontrol", slots, operands, build, doc).needs((8, 6), 100)
}

/// `try_cancel`: what a copy that reads nothing writes are zeros.
fn request(choice: &Choice<'_>, args: &[Arg], out: &mut dyn Emit) -> Result<(), Complaint> {
    let [to, mbarrier] = args else {
        return Err(unexpected());
    };
    let space = space(choice)?;
    let (to, mbarrier) = (place(to, space)?, place(mbarrier, space)?);
    let multicast = if choice.has(SlotName::Multicast) {
        let (ctas, all) = (out.fresh(RegClass::B32), out.fresh(RegClass::B32));
        out.prepare(Kind::Special {
            dst: ctas,
            special: Special::ClusterNctarank,
        });
        let ones = PureOp::Bits(BitsOp::Bmsk { wrap: false });
        out.prepare(pure(ones, all, &[Operand::Imm(0), Operand::Reg(ctas)]));
        Some(Operand::Reg(all))
    } else {
        None
    };
    out.emit(Kind::Copy(Box::new(Copy {
        read: Some(Operand::Imm(0)),
        multicast,
        mbarrier: Some(mbarrier),
        ..Copy::new(to, to, Operand::Imm(RESPONSE), RESPONSE as u8)
    })));
    Ok(())
}

/// `query_cancel`
fn zeros(_: &Choice<'_>, args: &[Arg], out: &mut dyn Emit) -> Result<(), Complaint> {
    let dsts = match args.first() {
        Some(Arg::Vector(elements)) => elements.as_slice(),
        Some(Arg::Dst(Some(_), _)) => &args[..1],
        Some(Arg::Dst(None, _)) => {
            let message = "a vector whose elements may be `_` is expected here";
            return Err(Complaint::operand(0, message));
        }
        Some(_) | None => return Err(unexpected()),
    };
    for dst in dsts {
        let Arg::Dst(dst, class) = dst else {
            return Err(unexpected());
        };
        if let Some(dst) = *dst {
            let zero = PureOp::Convert(convert::Op::Mov { class: *class });
            out.emit(pure(zero, dst, &[Operand::Imm(0)]));
        }
    }
    Ok(())
}
