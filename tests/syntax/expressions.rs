//! Literals, precedence, and printed expressions.

use super::{Random, assert_round_trip, shown};
use ptxlift::diag::{Severity, Source};
use ptxlift::syntax::ast::{BinaryOp, Expr, Init, Item, UnaryOp};
use ptxlift::syntax::{parse, print};

/// What is in the initialiser of the first variable.
fn initialiser(expression: &str) -> String {
    format!(".global .u64 x = {expression};")
}

/// The value of a constant expression and whether it is unsigned.
fn evaluate(expr: &Expr<'_>) -> (u64, bool) {
    let truth = |b: bool| (u64::from(b), false);
    match expr {
        Expr::Int {
            value, unsigned, ..
        } => (*value, *unsigned),
        Expr::Name { name, .. } => {
            assert_eq!(name.text, "WARP_SZ");
            (32, false)
        }
        Expr::Unary { op, arg, .. } => {
            let (a, unsigned) = evaluate(arg);
            match op {
                UnaryOp::Plus => (a, unsigned),
                UnaryOp::Neg => (a.wrapping_neg(), unsigned),
                UnaryOp::Not => (!a, unsigned),
                UnaryOp::LogicalNot => truth(a == 0),
            }
        }
        Expr::Cast { ty, arg, .. } => (evaluate(arg).0, ty.text == "u64"),
        Expr::Conditional { cond, then, other } => {
            evaluate(if evaluate(cond).0 != 0 { then } else { other })
        }
        Expr::Binary { op, lhs, rhs } => {
            let ((a, ua), (b, ub)) = (evaluate(lhs), evaluate(rhs));
            let unsigned = ua || ub;
            let (sa, sb) = (a as i64, b as i64);
            match op {
                BinaryOp::Mul => (a.wrapping_mul(b), unsigned),
                BinaryOp::Div if unsigned => (a / b, true),
                BinaryOp::Div => ((sa / sb) as u64, false),
                BinaryOp::Rem if unsigned => (a % b, true),
                BinaryOp::Rem => ((sa % sb) as u64, false),
                BinaryOp::Add => (a.wrapping_add(b), unsigned),
                BinaryOp::Sub => (a.wrapping_sub(b), unsigned),
                BinaryOp::Shl => (a << b, ua),
                BinaryOp::Shr if ua => (a >> b, true),
                BinaryOp::Shr => ((sa >> b) as u64, false),
                BinaryOp::Lt => truth(if unsigned { a < b } else { sa < sb }),
                BinaryOp::Le => truth(if unsigned { a <= b } else { sa <= sb }),
                BinaryOp::Gt => truth(if unsigned { a > b } else { sa > sb }),
                BinaryOp::Ge => truth(if unsigned { a >= b } else { sa >= sb }),
                BinaryOp::Eq => truth(a == b),
                BinaryOp::Ne => truth(a != b),
                BinaryOp::And => (a & b, unsigned),
                BinaryOp::Xor => (a ^ b, unsigned),
                BinaryOp::Or => (a | b, unsigned),
                BinaryOp::LogicalAnd => truth(a != 0 && b != 0),
                BinaryOp::LogicalOr => truth(a != 0 || b != 0),
            }
        }
        Expr::F64 { .. } | Expr::F32 { .. } | Expr::Apply { .. } => panic!("no integer: {expr:?}"),
    }
}

/// Expressions with the value that ptxas 13.5 put into a `.global .u64` for each.
const EXPRESSIONS: &[(&str, u64)] = &[
    ("1 + 2 * 3", 7),
    ("2 * 3 + 1", 7),
    ("10 - 4 - 3", 3),
    ("100 / 5 / 2", 10),
    ("100 / 5 * 2", 40),
    ("17 % 5 * 2", 4),
    ("17 % 5 + 2", 4),
    ("1 << 2 + 1", 8),
    ("1 + 1 << 2", 8),
    ("256 >> 2 >> 1", 32),
    ("1 << 2 < 5", 1),
    ("3 < 2 == 0", 1),
    ("1 == 1 < 2", 1),
    ("5 > 4 > 0", 1),
    ("2 <= 2 == 1", 1),
    ("3 >= 2 != 0", 1),
    ("6 & 3 == 3", 0),
    ("1 == 1 & 2", 0),
    ("6 ^ 3 & 1", 7),
    ("6 & 1 ^ 3", 3),
    ("4 | 1 ^ 5", 4),
    ("4 ^ 5 | 1", 1),
    ("1 | 0 && 0", 0),
    ("0 && 0 | 1", 0),
    ("1 || 0 && 0", 1),
    ("0 && 0 || 1", 1),
    ("1 ? 2 : 0 ? 3 : 4", 2),
    ("0 ? 2 : 0 ? 3 : 4", 4),
    ("1 ? 0 ? 5 : 6 : 7", 6),
    ("0 || 1 ? 8 : 9", 8),
    ("1 + 1 ? 3 + 4 : 5", 7),
    ("0 ? 1 : 2 + 3", 5),
    ("-1 + 2", 1),
    ("- 2 * -3", 6),
    ("~0 & 255", 255),
    ("!0 + 1", 2),
    ("!5 == 0", 1),
    ("~-1", 0),
    ("- -5", 5),
    ("!!7", 1),
    ("-(2 + 3) + 10", 5),
    ("(1 + 2) * 3", 9),
    ("2 * (3 + 4) * 5", 70),
    ("(.u64) 1 + 2", 3),
    ("(.s64) -1 + 2", 1),
    ("(.u64) 2 * 3", 6),
    ("WARP_SZ + 1", 33),
    ("2 * WARP_SZ / 3", 21),
    ("1 + 2 == 3 && 4 > 2 || 0 ? 0x10 | 1 : 010", 17),
    ("7 & 3 | 8", 11),
    ("1 < 2 < 3 < 4", 1),
    ("10 - 2 + 3", 11),
    ("64 / 4 % 5", 1),
    ("2 + 3 % 2 * 4", 6),
    ("1 << 1 << 1 + 1", 8),
    ("0xff ^ 0x0f << 4", 15),
    ("~0 ^ -16", 15),
    ("(.u64) -1 >> 1", 0x7fff_ffff_ffff_ffff),
    ("(.s64) -1 >> 1", 0xffff_ffff_ffff_ffff),
    ("-1 >> 1", 0xffff_ffff_ffff_ffff),
    ("-1U >> 1", 0x7fff_ffff_ffff_ffff),
    ("(.s64) 0xffffffffffffffff >> 1", 0xffff_ffff_ffff_ffff),
    ("0xffffffffffffffff >> 1", 0x7fff_ffff_ffff_ffff),
    ("-(.u64) 1 >> 1", 0x7fff_ffff_ffff_ffff),
    ("-(.s64) 1 >> 1", 0xffff_ffff_ffff_ffff),
    ("!(.u64) 0", 1),
    ("(.s64)(.u64) -1 >> 1", 0xffff_ffff_ffff_ffff),
    ("(.u64) -1 / 2", 0x7fff_ffff_ffff_ffff),
    ("(.u64) (-1 / 2)", 0),
    ("- (.u64) 1 / 2", 0x7fff_ffff_ffff_ffff),
    ("1U - 2 >> 1", 0x7fff_ffff_ffff_ffff),
    ("-1 < 0U", 0),
];

#[test]
fn operators_bind_as_in_ptxas() {
    for &(text, expected) in EXPRESSIONS {
        let text = initialiser(text);
        let source = Source::new("test.ptx", text.as_str());
        let parsed = parse(&source);
        let Some(Item::Variable(variable)) = parsed.module.items.first() else {
            panic!("{}", shown(&text))
        };
        let Some(Init::Value(value)) = &variable.declarators[0].init else {
            panic!("{variable:?}")
        };
        assert_eq!(evaluate(value).0, expected, "{text}");
        assert_round_trip(&text, &text);
    }
}

#[test]
fn literals_have_the_value_that_ptxas_gives_them() {
    let values = [
        ("010", 8, false),
        ("0b101U", 5, false),
        ("0XfF", 255, false),
        ("18446744073709551615", u64::MAX, false),
        // Larger ones lose their high bits, as long as the top bit is clear when the next digit comes.
        ("0x10000000000000000", 0, true),
        ("0x1ffffffffffffffff", u64::MAX, true),
        ("0x123456789abcdef01", 0x2345_6789_abcd_ef01, true),
        ("18446744073709551617", 1, true),
        ("02000000000000000000001", 1, true),
    ];
    for (text, expected, warned) in values {
        let text = initialiser(text);
        let source = Source::new("test.ptx", text.as_str());
        let parsed = parse(&source);
        let Some(Item::Variable(variable)) = parsed.module.items.first() else {
            panic!("{}", shown(&text))
        };
        let Some(Init::Value(Expr::Int { value, .. })) = variable.declarators[0].init else {
            panic!("{variable:?}")
        };
        assert_eq!(value, expected, "{text}");
        let warns = parsed
            .diagnostics
            .iter()
            .any(|d| d.severity == Severity::Warning);
        assert_eq!(warns, warned, "{text}");
    }
}

impl Random {
    /// An expression with every part in parentheses.
    fn expression(&mut self, depth: u32) -> String {
        const BINARY: &[&str] = &[
            "*", "+", "-", "<<", ">>", "<", "<=", ">", ">=", "==", "!=", "&", "^", "|", "&&", "||",
        ];
        if depth == 0 {
            return [
                "0",
                "1",
                "2",
                "7U",
                "0x80000000",
                "WARP_SZ",
                "0xffffffffffffffff",
            ][self.below(7)]
            .into();
        }
        let mut part = || self.expression(depth - 1);
        let (a, b, c) = (part(), part(), part());
        match self.below(12) {
            0 => format!("(-{a})"),
            1 => format!("(~{a})"),
            2 => format!("(!{a})"),
            3 => format!("((.s64){a})"),
            4 => format!("((.u64){a})"),
            5 => format!("({a} ? {b} : {c})"),
            // Shifts by 64 and more are not for this test.
            _ => match BINARY[self.below(BINARY.len())] {
                shift @ ("<<" | ">>") => format!("({a} {shift} ({b} & 15))"),
                op => format!("({a} {op} {b})"),
            },
        }
    }
}

#[test]
fn printed_expressions_keep_their_value() {
    let value = |text: &str| {
        let source = Source::new("test.ptx", text);
        let parsed = parse(&source);
        let Some(Item::Variable(variable)) = parsed.module.items.first() else {
            panic!("{}", shown(text))
        };
        let Some(Init::Value(value)) = &variable.declarators[0].init else {
            panic!("{variable:?}")
        };
        evaluate(value)
    };
    let mut random = Random(1);
    for _ in 0..2000 {
        let text = initialiser(&random.expression(4));
        let printed = print(&parse(&Source::new("test.ptx", text.as_str())).module);
        assert_eq!(value(&text), value(&printed), "{text}\n{printed}");
        assert_round_trip(&text, &text);
    }
}
