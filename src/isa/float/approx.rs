//! Approximate functions. PTX ISA, the instructions with `.approx` and `.full`.

use crate::ir::PureOp;
use crate::ir::float::{Approx, FloatTy, Op};
use crate::isa::form::{
    Build, Choice, Complaint, Form, Param, Slot, SlotName, T, Word, dst, first, form, maybe, one,
    src, word,
};
use crate::isa::words::ty;

const APPROX: Slot = one(SlotName::Rounding, &[word("approx")]);
const FULL: Slot = first(SlotName::Rounding, &[word("full")]);
const FLUSH: Slot = maybe(SlotName::Flush, &[word("ftz")]);
const ALWAYS_FLUSH: Slot = one(SlotName::Flush, &[word("ftz")]);
const F32: Slot = ty(&[word("f32")]);
const F64: Slot = ty(&[word("f64")]);
const F16: Slot = ty(&[word("f16"), word("f16x2")]);
const BF16: Slot = ty(&[word("bf16"), word("bf16x2")]);
const HALVES: &[Word] = &[
    word("f16"),
    word("f16x2"),
    word("bf16").needs((7, 8), 90),
    word("bf16x2").needs((7, 8), 90),
];

const A: &[Param] = &[dst(T), src("a", T)];
const AB: &[Param] = &[dst(T), src("a", T), src("b", T)];

const DIV: Build = Build::Pure(|c, _| build(c, Approx::Div));
const DIV_FULL: Build = Build::Pure(|c, _| build(c, Approx::DivFull));
const RCP: Build = Build::Pure(|c, _| build(c, Approx::Rcp));
const SQRT: Build = Build::Pure(|c, _| build(c, Approx::Sqrt));
const RSQRT: Build = Build::Pure(|c, _| build(c, Approx::Rsqrt));
const SIN: Build = Build::Pure(|c, _| build(c, Approx::Sin));
const COS: Build = Build::Pure(|c, _| build(c, Approx::Cos));
const LG2: Build = Build::Pure(|c, _| build(c, Approx::Lg2));
const EX2: Build = Build::Pure(|c, _| build(c, Approx::Ex2));
const TANH: Build = Build::Pure(|c, _| build(c, Approx::Tanh));

const DIV_DOC: &str = "d = a / b approximately; |b| above 2^126 counts as infinite";
const RCP_DOC: &str = "d = 1 / a approximately";
const SQRT_DOC: &str = "d = the square root of a, approximately";
const RSQRT_DOC: &str = "d = 1 / the square root of a, approximately";
const SIN_DOC: &str = "d = the sine of a (in radians), approximately";
const COS_DOC: &str = "d = the cosine of a (in radians), approximately";
const LG2_DOC: &str = "d = the logarithm of a to base 2, approximately";
const EX2_DOC: &str = "d = 2 to the power of a, approximately";
const TANH_DOC: &str = "d = the hyperbolic tangent of a, approximately";
const UPPER_RCP_DOC: &str = "d = 1 / a roughly, from upper word to upper word";
const UPPER_RSQRT_DOC: &str = "d = 1 / the square root of a roughly, from upper word to upper word";

/// As since version 1.4.
const fn single(
    mnemonic: &'static str,
    operands: &'static [Param],
    build: Build,
    doc: &'static str,
) -> Form {
    form(mnemonic, &[APPROX, FLUSH, F32], operands, build, doc).needs((1, 4), 10)
}

/// As before version 1.4: approximate, and subnormal numbers are zeros.
const fn old(
    mnemonic: &'static str,
    operands: &'static [Param],
    build: Build,
    doc: &'static str,
) -> Form {
    form(mnemonic, &[F32], operands, build, doc).ends((1, 4), 10)
}

/// The rows.
pub(in crate::isa) const FORMS: &[Form] = &[
    single("div", AB, DIV, DIV_DOC),
    old("div", AB, DIV, DIV_DOC),
    form(
        "div",
        &[FULL, FLUSH, F32],
        AB,
        DIV_FULL,
        "d = a / b approximately",
    )
    .needs((1, 4), 10),
    single("rcp", A, RCP, RCP_DOC),
    old("rcp", A, RCP, RCP_DOC),
    form("rcp", &[APPROX, ALWAYS_FLUSH, F64], A, RCP, UPPER_RCP_DOC).needs((2, 1), 20),
    single("sqrt", A, SQRT, SQRT_DOC),
    old("sqrt", A, SQRT, SQRT_DOC),
    single("rsqrt", A, RSQRT, RSQRT_DOC),
    old("rsqrt", A, RSQRT, RSQRT_DOC),
    form("rsqrt", &[APPROX, F64], A, RSQRT, RSQRT_DOC).needs((1, 4), 10),
    form("rsqrt", &[F64], A, RSQRT, RSQRT_DOC).ends((1, 4), 10),
    form(
        "rsqrt",
        &[APPROX, ALWAYS_FLUSH, F64],
        A,
        RSQRT,
        UPPER_RSQRT_DOC,
    )
    .needs((4, 0), 20),
    single("sin", A, SIN, SIN_DOC),
    old("sin", A, SIN, SIN_DOC),
    single("cos", A, COS, COS_DOC),
    old("cos", A, COS, COS_DOC),
    single("lg2", A, LG2, LG2_DOC),
    old("lg2", A, LG2, LG2_DOC),
    single("ex2", A, EX2, EX2_DOC),
    old("ex2", A, EX2, EX2_DOC),
    form("ex2", &[APPROX, F16], A, EX2, EX2_DOC).needs((7, 0), 75),
    form("ex2", &[APPROX, ALWAYS_FLUSH, BF16], A, EX2, EX2_DOC).needs((7, 8), 90),
    form("tanh", &[APPROX, F32], A, TANH, TANH_DOC).needs((7, 0), 75),
    form("tanh", &[APPROX, ty(HALVES)], A, TANH, TANH_DOC).needs((7, 0), 75),
];

fn build(choice: &Choice<'_>, op: Approx) -> Result<PureOp, Complaint> {
    let ty = choice.float(SlotName::Type)?;
    // What has no mode is of the time when `.f32` had no subnormal numbers.
    let old = ty == FloatTy::F32 && !choice.has(SlotName::Rounding);
    Ok(PureOp::Float(Op::Approx {
        op,
        ty,
        ftz: old || choice.has(SlotName::Flush),
    }))
}
