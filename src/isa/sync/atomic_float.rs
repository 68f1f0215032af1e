//! Atomics and reductions of floating-point numbers. PTX ISA, `atom`, `red`.

use super::atomic::{
    ADD, ATOM, ATOM_DOC, ATOM_ORDER, ATOM_POLICY, CACHE_HINT, GLOBAL, MIN_MAX, POLICY, RED,
    RED_DOC, RED_ORDER, RED_POLICY, SCOPE, SHARED, order,
};
use super::{ADDRESS, place, unexpected};
use crate::ir::float::{Arith, Clamp, Extreme, Mode, Op, Rounding, Signs};
use crate::ir::memory::{Address, Space};
use crate::ir::sync::{Atomic, AtomicOp};
use crate::ir::{Kind, Operand, Pure, PureOp, Reg, convert};
use crate::isa::convert::space;
use crate::isa::form::{
    Arg, Build, Choice, Complaint, Emit, Form, OperandKind, Param, Slot, SlotName, T, form, one,
    param, word,
};
use crate::isa::words::ty;
use smallvec::smallvec;

pub(super) const NOFTZ: Slot = one(SlotName::Flush, &[word("noftz")]);
pub(super) const ADDED: Slot = ty(&[word("f32"), word("f64").needs((5, 0), 60)]);
const HALVES: Slot = ty(&[
    word("f16").needs((6, 3), 70),
    word("f16x2").needs((6, 2), 60),
    word("bf16").needs((7, 8), 90),
    word("bf16x2").needs((7, 8), 90),
]);
pub(super) const VECTOR_HALF: Slot = one(SlotName::Vector, &[word("v2"), word("v4"), word("v8")]);
pub(super) const VECTOR_WORD: Slot = one(SlotName::Vector, &[word("v2"), word("v4")]);
pub(super) const HALF: Slot = ty(&[word("f16"), word("bf16")]);
pub(super) const PAIR: Slot = ty(&[word("f16x2"), word("bf16x2")]);
pub(super) const SINGLE: Slot = ty(&[word("f32")]);

const DSTS: Param = param("d", OperandKind::AtomDst, T);
const SRCS: Param = param("b", OperandKind::AsyncSrc, T);
const ATOM_VECTOR: &[Param] = &[DSTS, ADDRESS, SRCS];
const ATOM_VECTOR_POLICY: &[Param] = &[DSTS, ADDRESS, SRCS, POLICY];
const RED_VECTOR: &[Param] = &[ADDRESS, SRCS];
const RED_VECTOR_POLICY: &[Param] = &[ADDRESS, SRCS, POLICY];
const VECTOR_DOC: &str = "each element of d = that at a, which becomes that op the one of b";
const RED_VECTOR_DOC: &str = "each element at a becomes that op the one of b";

const fn atom(slots: &'static [Slot], operands: &'static [Param]) -> Form {
    form("atom", slots, operands, Build::Emit(float), ATOM_DOC).needs((2, 0), 20)
}

const fn red(slots: &'static [Slot], operands: &'static [Param]) -> Form {
    form("red", slots, operands, Build::Emit(float), RED_DOC).needs((2, 0), 20)
}

const fn atom_vector(slots: &'static [Slot], operands: &'static [Param]) -> Form {
    form("atom", slots, operands, Build::Emit(float), VECTOR_DOC).needs((8, 1), 90)
}

const fn red_vector(slots: &'static [Slot], operands: &'static [Param]) -> Form {
    form("red", slots, operands, Build::Emit(float), RED_VECTOR_DOC).needs((8, 1), 90)
}

/// The rows.
#[rustfmt::skip]
pub(in crate::isa) const FORMS: &[Form] = &[
    atom(&[ATOM_ORDER, SCOPE, GLOBAL, ADD, ADDED], ATOM),
    atom(&[ATOM_ORDER, SCOPE, SHARED, ADD, ADDED], ATOM),
    atom(&[ATOM_ORDER, SCOPE, GLOBAL, ADD, CACHE_HINT, ADDED], ATOM_POLICY),
    atom(&[ATOM_ORDER, SCOPE, GLOBAL, ADD, NOFTZ, HALVES], ATOM),
    atom(&[ATOM_ORDER, SCOPE, SHARED, ADD, NOFTZ, HALVES], ATOM),
    atom(&[ATOM_ORDER, SCOPE, GLOBAL, ADD, NOFTZ, CACHE_HINT, HALVES], ATOM_POLICY),
    atom_vector(&[ATOM_ORDER, SCOPE, GLOBAL, ADD, VECTOR_WORD, SINGLE], ATOM_VECTOR),
    atom_vector(&[ATOM_ORDER, SCOPE, GLOBAL, ADD, CACHE_HINT, VECTOR_WORD, SINGLE], ATOM_VECTOR_POLICY),
    atom_vector(&[ATOM_ORDER, SCOPE, GLOBAL, ADD, NOFTZ, VECTOR_HALF, HALF], ATOM_VECTOR),
    atom_vector(&[ATOM_ORDER, SCOPE, GLOBAL, ADD, NOFTZ, CACHE_HINT, VECTOR_HALF, HALF], ATOM_VECTOR_POLICY),
    atom_vector(&[ATOM_ORDER, SCOPE, GLOBAL, ADD, NOFTZ, VECTOR_WORD, PAIR], ATOM_VECTOR),
    atom_vector(&[ATOM_ORDER, SCOPE, GLOBAL, ADD, NOFTZ, CACHE_HINT, VECTOR_WORD, PAIR], ATOM_VECTOR_POLICY),
    atom_vector(&[ATOM_ORDER, SCOPE, GLOBAL, MIN_MAX, NOFTZ, VECTOR_HALF, HALF], ATOM_VECTOR),
    atom_vector(&[ATOM_ORDER, SCOPE, GLOBAL, MIN_MAX, NOFTZ, CACHE_HINT, VECTOR_HALF, HALF], ATOM_VECTOR_POLICY),
    atom_vector(&[ATOM_ORDER, SCOPE, GLOBAL, MIN_MAX, NOFTZ, VECTOR_WORD, PAIR], ATOM_VECTOR),
    atom_vector(&[ATOM_ORDER, SCOPE, GLOBAL, MIN_MAX, NOFTZ, CACHE_HINT, VECTOR_WORD, PAIR], ATOM_VECTOR_POLICY),
    red(&[RED_ORDER, SCOPE, GLOBAL, ADD, ADDED], RED),
    red(&[RED_ORDER, SCOPE, SHARED, ADD, ADDED], RED),
    red(&[RED_ORDER, SCOPE, GLOBAL, ADD, CACHE_HINT, ADDED], RED_POLICY),
    red(&[RED_ORDER, SCOPE, GLOBAL, ADD, NOFTZ, HALVES], RED),
    red(&[RED_ORDER, SCOPE, SHARED, ADD, NOFTZ, HALVES], RED),
    red(&[RED_ORDER, SCOPE, GLOBAL, ADD, NOFTZ, CACHE_HINT, HALVES], RED_POLICY),
    red_vector(&[RED_ORDER, SCOPE, GLOBAL, ADD, VECTOR_WORD, SINGLE], RED_VECTOR),
    red_vector(&[RED_ORDER, SCOPE, GLOBAL, ADD, CACHE_HINT, VECTOR_WORD, SINGLE], RED_VECTOR_POLICY),
    red_vector(&[RED_ORDER, SCOPE, GLOBAL, ADD, NOFTZ, VECTOR_HALF, HALF], RED_VECTOR),
    red_vector(&[RED_ORDER, SCOPE, GLOBAL, ADD, NOFTZ, CACHE_HINT, VECTOR_HALF, HALF], RED_VECTOR_POLICY),
    red_vector(&[RED_ORDER, SCOPE, GLOBAL, ADD, NOFTZ, VECTOR_WORD, PAIR], RED_VECTOR),
    red_vector(&[RED_ORDER, SCOPE, GLOBAL, ADD, NOFTZ, CACHE_HINT, VECTOR_WORD, PAIR], RED_VECTOR_POLICY),
    red_vector(&[RED_ORDER, SCOPE, GLOBAL, MIN_MAX, NOFTZ, VECTOR_HALF, HALF], RED_VECTOR),
    red_vector(&[RED_ORDER, SCOPE, GLOBAL, MIN_MAX, NOFTZ, CACHE_HINT, VECTOR_HALF, HALF], RED_VECTOR_POLICY),
    red_vector(&[RED_ORDER, SCOPE, GLOBAL, MIN_MAX, NOFTZ, VECTOR_WORD, PAIR], RED_VECTOR),
    red_vector(&[RED_ORDER, SCOPE, GLOBAL, MIN_MAX, NOFTZ, CACHE_HINT, VECTOR_WORD, PAIR], RED_VECTOR_POLICY),
];

/// `min` or `max` of the words.
pub(super) fn extreme(choice: &Choice<'_>) -> Result<Op, Complaint> {
    Ok(Op::Extreme(Extreme {
        max: choice.required(SlotName::Operation)? == "max",
        ty: choice.float(SlotName::Type)?,
        ftz: false,
        nan: choice.has(SlotName::Nan),
        signs: if choice.has(SlotName::Abs) {
            Signs::Abs
        } else {
            Signs::Kept
        },
        three: false,
    }))
}

pub(super) fn float_operator(choice: &Choice<'_>, space: Space) -> Result<AtomicOp, Complaint> {
    let op = match choice.required(SlotName::Operation)? {
        "add" => Op::Arith {
            op: Arith::Add,
            ty: choice.float(SlotName::Type)?,
            mode: Mode {
                rounding: Rounding::Rn,
                ftz: false,
                clamp: Clamp::None,
            },
        },
        _ => extreme(choice)?,
    };
    Ok(AtomicOp::Float(op).within(space))
}

/// The elements of an operand.
fn elements(arg: &Arg) -> &[Arg] {
    match arg {
        Arg::Vector(elements) => elements,
        one => std::slice::from_ref(one),
    }
}

/// An atomic for each element.
pub(super) fn float(
    choice: &Choice<'_>,
    args: &[Arg],
    out: &mut dyn Emit,
) -> Result<(), Complaint> {
    let at = usize::from(choice.form.mnemonic == "atom");
    let (Some(address), Some(srcs)) = (args.get(at), args.get(at + 1)) else {
        return Err(unexpected());
    };
    let dsts = args.get(..at).and_then(<[Arg]>::first).map(elements);
    let srcs = elements(srcs);
    let ty = choice.ty(SlotName::Type)?;
    let class = ty.class().ok_or_else(unexpected)?;
    let bytes = ty.bits / 8;
    let (space, Address { base, offset }) = place(address, space(choice)?)?;
    let mut results: Vec<(Reg, Reg)> = Vec::new();
    for (index, src) in srcs.iter().enumerate() {
        let Arg::Src(value, _) = src else {
            return Err(unexpected());
        };
        let dst = match dsts.and_then(|dsts| dsts.get(index)) {
            None => None,
            Some(Arg::Dst(dst, _)) => *dst,
            Some(_) => return Err(unexpected()),
        };
        let dst = match dst {
            // What one element gives may be what the next one takes.
            Some(dst) if srcs.len() > 1 => {
                let fresh = out.fresh(class);
                results.push((dst, fresh));
                Some(fresh)
            }
            other => other,
        };
        out.emit(Kind::Atomic(Atomic {
            op: float_operator(choice, space)?,
            space,
            bytes: bytes as u8,
            dsts: dst.into_iter().map(Some).collect(),
            srcs: smallvec![*value],
            addr: Address {
                base,
                offset: offset.wrapping_add(index as i64 * i64::from(bytes)),
            },
            order: order(choice)?,
        }));
    }
    for (dst, fresh) in results {
        out.emit(Kind::Pure(Pure {
            op: PureOp::Convert(convert::Op::Mov { class }),
            dsts: smallvec![Some(dst)],
            srcs: smallvec![Operand::Reg(fresh)],
        }));
    }
    Ok(())
}
