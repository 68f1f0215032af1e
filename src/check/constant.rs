//! Constant expressions. PTX ISA, "Constant Expressions".
//!
//! Integers are 64 bits wide, `.s64` or `.u64`; overflow wraps. Where the text of the ISA leaves a value open the
//! assembler's is taken: shift counts count modulo 64, and the smallest integer divided by -1 is 0.

use crate::diag::{Diagnostic, Span};
use crate::syntax::ast::{BinaryOp, Expr, UnaryOp};

/// The value of a constant expression.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Constant {
    /// An integer of 64 bits.
    Int {
        /// Its bits.
        value: u64,
        /// `.u64` rather than `.s64`.
        unsigned: bool,
    },
    /// `0f...`: the bits of an f32.
    F32(u32),
    /// Any other floating-point constant: the bits of an f64.
    F64(u64),
}

/// `WARP_SZ`, the one named constant of PTX.
const WARP_SIZE: u64 = 32;

/// Operators nest no deeper than this in an expression that is evaluated.
const MAX_DEPTH: u32 = 4096;

/// Evaluates an expression without symbols.
///
/// # Errors
/// A diagnostic at the offending part: a name that is no constant, an operator on the wrong type, division by zero.
pub(crate) fn evaluate(expr: &Expr<'_>) -> Result<Constant, Diagnostic> {
    eval(expr, 0)
}

impl Constant {
    fn signed(value: i64) -> Self {
        Constant::Int {
            value: value as u64,
            unsigned: false,
        }
    }

    fn truth(value: bool) -> Self {
        Constant::signed(i64::from(value))
    }
}

fn eval(expr: &Expr<'_>, depth: u32) -> Result<Constant, Diagnostic> {
    if depth > MAX_DEPTH {
        return Err(Diagnostic::error(
            expr.span(),
            "constant expression is nested too deeply",
        ));
    }
    let depth = depth + 1;
    match expr {
        &Expr::Int {
            value, unsigned, ..
        } => Ok(Constant::Int { value, unsigned }),
        &Expr::F32 { bits, .. } => Ok(Constant::F32(bits)),
        &Expr::F64 { bits, .. } => Ok(Constant::F64(bits)),
        Expr::Name { name, suffix } => {
            if name.text == "WARP_SZ" && suffix.is_none() {
                Ok(Constant::Int {
                    value: WARP_SIZE,
                    unsigned: false,
                })
            } else {
                Err(Diagnostic::error(
                    expr.span(),
                    format!("`{}` is not a constant", name.text),
                ))
            }
        }
        Expr::Unary { op, arg, span } => unary(*op, eval(arg, depth)?, *span),
        Expr::Binary { op, lhs, rhs } => {
            let (a, b) = (eval(lhs, depth)?, eval(rhs, depth)?);
            binary(*op, (a, lhs.span()), (b, rhs.span()))
        }
        Expr::Conditional { cond, then, other } => {
            let (c, _) = integer(eval(cond, depth)?, cond.span())?;
            let (a, a_unsigned) = integer(eval(then, depth)?, then.span())?;
            let (b, b_unsigned) = integer(eval(other, depth)?, other.span())?;
            Ok(Constant::Int {
                value: if c != 0 { a } else { b },
                unsigned: a_unsigned || b_unsigned,
            })
        }
        Expr::Cast { ty, arg, .. } => {
            let unsigned = match ty.text {
                "u64" => true,
                "s64" => false,
                other => {
                    return Err(Diagnostic::error(
                        ty.span,
                        format!("constants cannot be cast to `.{other}`"),
                    )
                    .label("expected `.s64` or `.u64`"));
                }
            };
            let (value, _) = integer(eval(arg, depth)?, arg.span())?;
            Ok(Constant::Int { value, unsigned })
        }
        Expr::Apply { span, .. } => Err(Diagnostic::error(
            *span,
            "an operator on addresses cannot stand in a constant expression",
        )),
    }
}

/// The value and whether it is `.u64`.
fn integer(constant: Constant, span: Span) -> Result<(u64, bool), Diagnostic> {
    match constant {
        Constant::Int { value, unsigned } => Ok((value, unsigned)),
        Constant::F32(_) | Constant::F64(_) => Err(Diagnostic::error(
            span,
            "an integer constant is expected here, this is a floating-point one",
        )),
    }
}

/// `0f...` gives the exact bits and takes no part in arithmetic.
fn float(constant: Constant, span: Span) -> Result<f64, Diagnostic> {
    match constant {
        Constant::F64(bits) => Ok(f64::from_bits(bits)),
        Constant::F32(_) => Err(Diagnostic::error(
            span,
            "a `0f` constant cannot stand in an expression",
        )),
        Constant::Int { .. } => Err(Diagnostic::error(
            span,
            "integer and floating-point constants cannot be mixed",
        )),
    }
}

fn unary(op: UnaryOp, arg: Constant, span: Span) -> Result<Constant, Diagnostic> {
    match (op, arg) {
        (UnaryOp::Plus, Constant::Int { .. }) => Ok(arg),
        (UnaryOp::Neg, Constant::Int { value, unsigned }) => Ok(Constant::Int {
            value: value.wrapping_neg(),
            unsigned,
        }),
        (UnaryOp::Plus, Constant::F64(_) | Constant::F32(_)) => {
            float(arg, span).map(|x| Constant::F64(x.to_bits()))
        }
        (UnaryOp::Neg, Constant::F64(_) | Constant::F32(_)) => {
            float(arg, span).map(|x| Constant::F64((-x).to_bits()))
        }
        (UnaryOp::Not, _) => integer(arg, span).map(|(value, _)| Constant::Int {
            value: !value,
            unsigned: true,
        }),
        (UnaryOp::LogicalNot, _) => {
            integer(arg, span).map(|(value, _)| Constant::truth(value == 0))
        }
    }
}

fn binary(
    op: BinaryOp,
    (lhs, lhs_span): (Constant, Span),
    (rhs, rhs_span): (Constant, Span),
) -> Result<Constant, Diagnostic> {
    let is_float = |c| matches!(c, Constant::F32(_) | Constant::F64(_));
    if is_float(lhs) || is_float(rhs) {
        let (a, b) = (float(lhs, lhs_span)?, float(rhs, rhs_span)?);
        if op == BinaryOp::Div && b == 0.0 {
            return Err(division_by_zero(rhs_span));
        }
        return float_binary(op, a, b).ok_or_else(|| {
            Diagnostic::error(
                lhs_span.to(rhs_span),
                "this operator takes integer constants only",
            )
        });
    }
    let (a, a_unsigned) = integer(lhs, lhs_span)?;
    let (b, b_unsigned) = integer(rhs, rhs_span)?;
    // The usual conversions: `.u64` if either side is.
    let unsigned = a_unsigned || b_unsigned;
    let order = if unsigned {
        a.cmp(&b)
    } else {
        (a as i64).cmp(&(b as i64))
    };
    let converted = |value| Ok(Constant::Int { value, unsigned });
    match op {
        BinaryOp::Mul => converted(a.wrapping_mul(b)),
        BinaryOp::Add => converted(a.wrapping_add(b)),
        BinaryOp::Sub => converted(a.wrapping_sub(b)),
        BinaryOp::Div | BinaryOp::Rem if b == 0 => Err(division_by_zero(rhs_span)),
        BinaryOp::Div if unsigned => converted(a / b),
        BinaryOp::Div => converted((a as i64).checked_div(b as i64).unwrap_or(0) as u64),
        BinaryOp::Rem => Ok(Constant::signed((a % b) as i64)),
        BinaryOp::Shl => Ok(Constant::Int {
            value: a.wrapping_shl(b as u32),
            unsigned: a_unsigned,
        }),
        BinaryOp::Shr => Ok(Constant::Int {
            value: if a_unsigned {
                a.wrapping_shr(b as u32)
            } else {
                (a as i64).wrapping_shr(b as u32) as u64
            },
            unsigned: a_unsigned,
        }),
        BinaryOp::Lt => Ok(Constant::truth(order.is_lt())),
        BinaryOp::Le => Ok(Constant::truth(order.is_le())),
        BinaryOp::Gt => Ok(Constant::truth(order.is_gt())),
        BinaryOp::Ge => Ok(Constant::truth(order.is_ge())),
        BinaryOp::Eq => Ok(Constant::truth(a == b)),
        BinaryOp::Ne => Ok(Constant::truth(a != b)),
        BinaryOp::And => Ok(Constant::Int {
            value: a & b,
            unsigned: true,
        }),
        BinaryOp::Xor => Ok(Constant::Int {
            value: a ^ b,
            unsigned: true,
        }),
        BinaryOp::Or => Ok(Constant::Int {
            value: a | b,
            unsigned: true,
        }),
        BinaryOp::LogicalAnd => Ok(Constant::truth(a != 0 && b != 0)),
        BinaryOp::LogicalOr => Ok(Constant::truth(a != 0 || b != 0)),
    }
}

fn division_by_zero(divisor: Span) -> Diagnostic {
    Diagnostic::error(divisor, "division by zero in a constant expression")
}

/// `None` for an operator that floating-point constants do not have.
fn float_binary(op: BinaryOp, a: f64, b: f64) -> Option<Constant> {
    let value = match op {
        BinaryOp::Mul => a * b,
        BinaryOp::Div => a / b,
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Lt => return Some(Constant::truth(a < b)),
        BinaryOp::Le => return Some(Constant::truth(a <= b)),
        BinaryOp::Gt => return Some(Constant::truth(a > b)),
        BinaryOp::Ge => return Some(Constant::truth(a >= b)),
        BinaryOp::Eq => return Some(Constant::truth(a == b)),
        BinaryOp::Ne => return Some(Constant::truth(a != b)),
        BinaryOp::Rem
        | BinaryOp::Shl
        | BinaryOp::Shr
        | BinaryOp::And
        | BinaryOp::Xor
        | BinaryOp::Or
        | BinaryOp::LogicalAnd
        | BinaryOp::LogicalOr => return None,
    };
    Some(Constant::F64(value.to_bits()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Span = Span { start: 0, end: 1 };

    fn int(value: i64) -> Expr<'static> {
        Expr::Int {
            value: value as u64,
            unsigned: false,
            span: HERE,
        }
    }

    fn uint(value: u64) -> Expr<'static> {
        Expr::Int {
            value,
            unsigned: true,
            span: HERE,
        }
    }

    fn float(value: f64) -> Expr<'static> {
        Expr::F64 {
            bits: value.to_bits(),
            span: HERE,
        }
    }

    fn bin(op: BinaryOp, lhs: Expr<'static>, rhs: Expr<'static>) -> Expr<'static> {
        Expr::Binary {
            op,
            lhs: Box::new(lhs),
            rhs: Box::new(rhs),
        }
    }

    fn un(op: UnaryOp, arg: Expr<'static>) -> Expr<'static> {
        Expr::Unary {
            op,
            arg: Box::new(arg),
            span: HERE,
        }
    }

    fn value(expr: &Expr<'_>) -> u64 {
        match evaluate(expr) {
            Ok(Constant::Int { value, .. }) => value,
            other => panic!("not an integer: {other:?}"),
        }
    }

    /// Values that ptxas 13.5 gives to initialisers.
    #[test]
    fn folds_as_the_assembler_does() {
        use BinaryOp::*;
        assert_eq!(value(&bin(Div, int(-7), int(2))), -3i64 as u64);
        assert_eq!(
            value(&bin(Div, uint(-7i64 as u64), int(2))),
            0x7fff_ffff_ffff_fffc
        );
        assert_eq!(value(&bin(Rem, int(7), int(-3))), 7);
        assert_eq!(value(&bin(Div, int(i64::MIN), int(-1))), 0);
        assert_eq!(value(&bin(Shr, int(-7), uint(1))), -4i64 as u64);
        assert_eq!(
            value(&bin(Shr, un(UnaryOp::Not, int(0)), int(4))),
            u64::MAX >> 4
        );
        assert_eq!(value(&bin(Shl, int(1), int(65))), 2);
        assert_eq!(value(&bin(Lt, int(-1), int(1))), 1);
        assert_eq!(value(&bin(Lt, int(-1), uint(1))), 0);
        assert_eq!(value(&bin(Lt, float(1.5), float(2.5))), 1);
        assert_eq!(value(&un(UnaryOp::LogicalNot, int(5))), 0);
    }

    /// What C says of each operator, and the type of the result. PTX ISA, "Summary of Constant Expression Evaluation Rules".
    #[test]
    fn each_operator_on_integers() {
        use BinaryOp::*;
        let all = [
            Mul, Add, Sub, Div, Rem, Shl, Shr, Lt, Le, Gt, Ge, Eq, Ne, And, Xor, Or, LogicalAnd,
            LogicalOr,
        ];
        let results = |a: i64, b: i64| all.map(|op| value(&bin(op, int(a), int(b))) as i64);
        assert_eq!(
            results(12, 10),
            [120, 22, 2, 1, 2, 12288, 0, 0, 0, 1, 1, 0, 1, 8, 6, 14, 1, 1]
        );
        assert_eq!(
            results(3, 5),
            [15, 8, -2, 0, 3, 96, 0, 1, 1, 0, 0, 0, 1, 1, 6, 7, 1, 1]
        );
        assert_eq!(
            results(6, 6),
            [36, 12, 0, 1, 0, 384, 0, 0, 1, 0, 1, 1, 0, 6, 0, 6, 1, 1]
        );
        for (a, b, and, or) in [(0, 0, 0, 0), (0, 7, 0, 1), (7, 0, 0, 1)] {
            assert_eq!(value(&bin(LogicalAnd, int(a), int(b))), and);
            assert_eq!(value(&bin(LogicalOr, int(a), int(b))), or);
        }
        assert_eq!(value(&un(UnaryOp::LogicalNot, int(0))), 1);
        assert_eq!(value(&un(UnaryOp::Plus, int(7))), 7);
        assert_eq!(value(&un(UnaryOp::Neg, int(7))) as i64, -7);
        assert_eq!(value(&un(UnaryOp::Not, int(7))) as i64, -8);

        let unsigned = |expr: &Expr<'_>| match evaluate(expr) {
            Ok(Constant::Int { unsigned, .. }) => unsigned,
            other => panic!("not an integer: {other:?}"),
        };
        for op in all {
            let types = [
                unsigned(&bin(op, int(9), int(2))),
                unsigned(&bin(op, uint(9), int(2))),
                unsigned(&bin(op, int(9), uint(2))),
            ];
            let expected = match op {
                Mul | Add | Sub | Div => [false, true, true],
                Shl | Shr => [false, true, false],
                And | Xor | Or => [true; 3],
                Rem | Lt | Le | Gt | Ge | Eq | Ne | LogicalAnd | LogicalOr => [false; 3],
            };
            assert_eq!(types, expected, "{op:?}");
        }
        assert!(unsigned(&un(UnaryOp::Not, int(1))));
        assert!(!unsigned(&un(UnaryOp::LogicalNot, uint(1))));
        assert!(unsigned(&un(UnaryOp::Neg, uint(1))));
    }

    #[test]
    fn conditions_and_names() {
        let choice = |cond, then, other| Expr::Conditional {
            cond: Box::new(int(cond)),
            then: Box::new(then),
            other: Box::new(other),
        };
        let result = |value, unsigned| Ok(Constant::Int { value, unsigned });
        assert_eq!(evaluate(&choice(2, int(7), int(8))), result(7, false));
        assert_eq!(evaluate(&choice(0, int(7), int(8))), result(8, false));
        assert_eq!(evaluate(&choice(1, uint(7), int(8))), result(7, true));
        assert_eq!(evaluate(&choice(1, int(7), uint(8))), result(7, true));
        let named = |text| Expr::Name {
            name: crate::syntax::ast::Name { text, span: HERE },
            suffix: None,
        };
        assert_eq!(evaluate(&named("WARP_SZ")), result(32, false));
        assert!(evaluate(&named("NOSUCH")).is_err());
    }

    #[test]
    fn each_operator_on_floats() {
        use BinaryOp::*;
        for (op, expected) in [(Mul, 12.0), (Div, 3.0), (Add, 8.0), (Sub, 4.0)] {
            let result = evaluate(&bin(op, float(6.0), float(2.0)));
            assert_eq!(result, Ok(Constant::F64(f64::to_bits(expected))), "{op:?}");
        }
        let ops = [Lt, Le, Gt, Ge, Eq, Ne];
        let results = |a, b| ops.map(|op| value(&bin(op, float(a), float(b))));
        assert_eq!(results(1.5, 2.5), [1, 1, 0, 0, 0, 1]);
        assert_eq!(results(2.5, 2.5), [0, 1, 0, 1, 1, 0]);
        assert_eq!(results(2.5, 1.5), [0, 0, 1, 1, 0, 1]);
        // Only division minds a zero, and only as divisor.
        let zero = evaluate(&bin(Mul, float(6.0), float(0.0)));
        assert_eq!(zero, Ok(Constant::F64(0)));
        let quotient = evaluate(&bin(Div, float(0.0), float(6.0)));
        assert_eq!(quotient, Ok(Constant::F64(0)));
        for op in [Rem, Shl, Shr, And, Xor, Or, LogicalAnd, LogicalOr] {
            assert!(
                evaluate(&bin(op, float(6.0), float(2.0))).is_err(),
                "{op:?}"
            );
        }
    }

    #[test]
    fn depth_is_limited() {
        let nested = |depth| (0..depth).fold(int(1), |e, _| un(UnaryOp::Neg, e));
        let test = move || {
            assert_eq!(value(&nested(MAX_DEPTH)), 1);
            assert!(evaluate(&nested(MAX_DEPTH + 1)).is_err());
        };
        // As deep as that needs more stack than tests have when nothing is optimised.
        let thread = std::thread::Builder::new()
            .stack_size(256 << 20)
            .spawn(test);
        thread.expect("a thread").join().expect("no panic");
    }

    #[test]
    fn floats_stay_apart_from_integers_and_from_bit_patterns() {
        let sum = bin(BinaryOp::Add, float(1.0), float(2.0));
        assert_eq!(evaluate(&sum), Ok(Constant::F64(3.0f64.to_bits())));
        assert!(evaluate(&bin(BinaryOp::Add, float(1.5), int(1))).is_err());
        let bits = Expr::F32 {
            bits: 0x4000_0000,
            span: HERE,
        };
        assert_eq!(evaluate(&bits), Ok(Constant::F32(0x4000_0000)));
        assert!(evaluate(&un(UnaryOp::Neg, bits)).is_err());
        assert!(evaluate(&un(UnaryOp::Not, float(1.0))).is_err());
    }

    #[test]
    fn division_by_zero_is_an_error_at_the_divisor() {
        for (one, zero) in [(int(7), int(0)), (float(7.0), float(-0.0))] {
            let err = evaluate(&bin(BinaryOp::Div, one, zero)).unwrap_err();
            assert!(err.message.contains("division by zero"));
        }
    }
}
