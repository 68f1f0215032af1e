//! Numbers of 16 bits natively beside `semantics`: every value, and many pairs and triples.

use super::{Numbers, compile, with_launch};
use crate::diag::Source;
use crate::ir::compare::BoolOp;
use crate::ir::float::{
    Arith, Clamp, Extreme, FloatTy, Mark, Mixed, Mode, Op, Relation, Rounding, Sign, Signs,
};
use crate::ir::{FuncId, PureOp, RegClass};
use crate::semantics;
use std::sync::Arc;

const PACKED: [FloatTy; 2] = [FloatTy::F16x2, FloatTy::Bf16x2];
const ROUNDINGS: [(&str, Rounding); 4] = [
    ("rn", Rounding::Rn),
    ("rz", Rounding::Rz),
    ("rm", Rounding::Rm),
    ("rp", Rounding::Rp),
];

fn nearest(ftz: bool, clamp: Clamp) -> Mode {
    Mode {
        rounding: Rounding::Rn,
        ftz,
        clamp,
    }
}

/// `.ftz`, or nothing.
fn word(ftz: bool) -> &'static str {
    if ftz { ".ftz" } else { "" }
}

/// Runs `statement` of `%d, %a, %b, %c` (words) natively on each triple, and `op` beside it, with the sources that `srcs` makes
/// of the triple.
fn agree_of(
    statement: &str,
    op: Op,
    triples: impl IntoIterator<Item = [u32; 3]>,
    srcs: impl Fn([u32; 3]) -> [u64; 3],
) {
    let source = Source::new("halves.ptx", format!(
        ".version 8.7\n.target sm_100\n.func (.reg .b32 %d, .reg .b32 %e) f(.reg .b32 %a, .reg .b32 %b, .reg .b32 %c)
        {{ .reg .b16 %h<4>; .reg .pred %p<4>; mov.b32 %e, 0; {statement} ret; }}"
    ));
    let module = crate::check::parse_and_check(source).unwrap_or_else(|e| panic!("{e}"));
    let module = Arc::new(module);
    let code = compile(&module);
    with_launch(64, |launch, scratch, _| {
        for triple in triples {
            let args: Vec<u8> = triple.iter().flat_map(|x| x.to_le_bytes()).collect();
            let mut found = [0; 8];
            code.call(FuncId(0), launch, scratch, &args, &mut found)
                .expect("a call that fits")
                .expect("no fault");
            let expected = semantics::eval(PureOp::Float(op), 64, &srcs(triple));
            let found = u64::from_le_bytes(found);
            assert_eq!(
                [found & 0xffff_ffff, found >> 32],
                expected,
                "{statement} with {triple:x?}"
            );
        }
    });
}

fn agree(statement: &str, op: Op, triples: impl IntoIterator<Item = [u32; 3]>) {
    agree_of(statement, op, triples, |triple| triple.map(u64::from));
}

/// Lanes that are near to what decides about rounding, special ones, and any.
fn lane(numbers: &mut Numbers) -> u32 {
    let any = numbers.next() as u32 & 0xffff;
    match numbers.below(6) {
        0 => any & 0x83ff | 0x3800,
        1 => any & 0x80ff,
        2 => any | 0x7800,
        3 => any & 0xc3f0 | 0x3c00,
        4 => *numbers.pick(&[
            0, 0x8000, 0x7c00, 0xfc00, 0x7f80, 0xff80, 0x7fff, 0xffff, 0x7ff7, 0x3c00, 0x3f80,
            0x7bff, 0x7f7f, 0x0400, 0x83ff, 0x0080, 0x0001,
        ]),
        _ => any,
    }
}

fn words(count: usize, seed: u64) -> impl Iterator<Item = [u32; 3]> {
    let mut numbers = Numbers(seed);
    (0..count).map(move |_| [0; 3].map(|_| lane(&mut numbers) << 16 | lane(&mut numbers)))
}

/// Each number of 16 bits once in each lane.
fn every() -> impl Iterator<Item = [u32; 3]> {
    (0..=0xffff).map(|x| [x | (x ^ 0xffff) << 16, 0, 0])
}

#[test]
fn sums_and_products_agree_with_semantics() {
    let ops = [
        ("add", Arith::Add),
        ("sub", Arith::Sub),
        ("mul", Arith::Mul),
    ];
    for (name, op) in ops {
        for ty in PACKED {
            let mode = nearest(false, Clamp::None);
            let statement = format!("{name}.{ty} %d, %a, %b;");
            agree(&statement, Op::Arith { op, ty, mode }, words(170_000, 1));
        }
        let ty = FloatTy::F16x2;
        for (words_of, ftz, clamp) in [
            ("ftz", true, Clamp::None),
            ("sat", false, Clamp::Sat),
            ("ftz.sat", true, Clamp::Sat),
        ] {
            let mode = nearest(ftz, clamp);
            let statement = format!("{name}.{words_of}.{ty} %d, %a, %b;");
            agree(&statement, Op::Arith { op, ty, mode }, words(20_000, 2));
        }
    }
}

#[test]
fn every_number_is_itself_less_zero() {
    let op = Arith::Sub;
    let mode = nearest(false, Clamp::None);
    for ty in PACKED {
        let statement = format!("sub.{ty} %d, %a, %b;");
        agree(&statement, Op::Arith { op, ty, mode }, every());
    }
}

#[test]
fn fused_products_and_sums_agree_with_semantics() {
    for ty in PACKED {
        let mode = nearest(false, Clamp::None);
        let statement = format!("fma.rn.{ty} %d, %a, %b, %c;");
        agree(&statement, Op::Fma { ty, mode }, words(500_000, 3));
        let mode = nearest(false, Clamp::Relu);
        let statement = format!("fma.rn.relu.{ty} %d, %a, %b, %c;");
        agree(&statement, Op::Fma { ty, mode }, words(20_000, 4));
        for (relu, clamp) in [("", Clamp::None), (".relu", Clamp::Relu)] {
            let mode = nearest(false, clamp);
            let statement = format!("fma.rn.oob{relu}.{ty} %d, %a, %b, %c;");
            agree(&statement, Op::FmaOob { ty, mode }, words(20_000, 5));
        }
    }
    let ty = FloatTy::F16x2;
    for (modifiers, ftz, clamp) in [
        (".ftz", true, Clamp::None),
        (".sat", false, Clamp::Sat),
        (".ftz.sat", true, Clamp::Sat),
        (".ftz.relu", true, Clamp::Relu),
    ] {
        let mode = nearest(ftz, clamp);
        let statement = format!("fma.rn{modifiers}.{ty} %d, %a, %b, %c;");
        agree(&statement, Op::Fma { ty, mode }, words(20_000, 6));
    }
    let ty = FloatTy::Bf16x2;
    for (name, rounding) in ROUNDINGS {
        for (relu, clamp) in [("", Clamp::None), (".relu", Clamp::Relu)] {
            let mode = Mode {
                rounding,
                ftz: false,
                clamp,
            };
            let statement = format!("fma.{name}{relu}.{ty} %d, %a, %b, %c;");
            agree(&statement, Op::Fma { ty, mode }, words(50_000, 7));
        }
    }
}

/// Products that are ties exactly, and addends that are far smaller than anything of them: the sum in `F64` is the tie.
#[test]
fn fused_ties_with_a_tiny_addend_are_none() {
    let mut triples = Vec::new();
    for (ty, unit, factors) in [
        // 2^-7 is the last place of 1: 129 * 131, 137 * 131 and so on are ties in the last place but 6 or 7.
        (FloatTy::Bf16x2, 0x3f80, 0x80),
        (FloatTy::F16x2, 0x3c00, 0x400),
    ] {
        triples.clear();
        for a in 0..factors {
            for b in [0, 1, factors / 2, factors / 2 + 1, factors - 1] {
                for c in [0x0001, 0x8001, 0x0080, 0x8080, 0x1000, 0x9000, 0, 0x8000] {
                    let (x, y) = (unit + a, unit + b);
                    triples.push([x | (x ^ 0x8000) << 16, y | y << 16, c | c << 16]);
                }
            }
        }
        let mode = nearest(false, Clamp::None);
        let statement = format!("fma.rn.{ty} %d, %a, %b, %c;");
        agree(&statement, Op::Fma { ty, mode }, triples.iter().copied());
    }
}

#[test]
fn signs_agree_with_semantics_on_every_number() {
    for ty in PACKED {
        for (name, op) in [("abs", Sign::Abs), ("neg", Sign::Neg)] {
            for ftz in [false, true] {
                if ftz && ty == FloatTy::Bf16x2 {
                    continue;
                }
                let ftz_word = word(ftz);
                let statement = format!("{name}{ftz_word}.{ty} %d, %a;");
                agree(&statement, Op::Sign { op, ty, ftz }, every());
            }
        }
    }
}

#[test]
fn extremes_agree_with_semantics() {
    for ty in PACKED {
        for max in [false, true] {
            for nan in [false, true] {
                for (sign_words, signs) in [("", Signs::Kept), (".xorsign.abs", Signs::Xor)] {
                    for ftz in [false, true] {
                        if ftz && ty == FloatTy::Bf16x2 {
                            continue;
                        }
                        let name = if max { "max" } else { "min" };
                        let ftz_word = word(ftz);
                        let nan_word = if nan { ".NaN" } else { "" };
                        let statement =
                            format!("{name}{ftz_word}{nan_word}{sign_words}.{ty} %d, %a, %b;");
                        let three = false;
                        let op = Op::Extreme(Extreme {
                            max,
                            ty,
                            ftz,
                            nan,
                            signs,
                            three,
                        });
                        agree(&statement, op, words(20_000, 8));
                    }
                }
            }
        }
    }
}

#[test]
fn comparisons_agree_with_semantics() {
    for ty in PACKED {
        for cmp in Relation::ALL {
            let name = format!("{cmp:?}").to_lowercase();
            for ftz in [false, true] {
                if ftz && ty == FloatTy::Bf16x2 {
                    continue;
                }
                let ftz_word = word(ftz);
                let statement = format!(
                    "setp.{name}{ftz_word}.{ty} %p0|%p1, %a, %b; selp.u32 %d, 1, 0, %p0; selp.u32 %e, 1, 0, %p1;"
                );
                let combine = None;
                let op = Op::Setp {
                    cmp,
                    ty,
                    ftz,
                    combine,
                };
                agree(&statement, op, words(5_000, 9));
                for (to_word, to) in [
                    ("u32".to_string(), Mark::Ones(RegClass::B32)),
                    (ty.to_string(), Mark::One(ty)),
                ] {
                    let statement = format!(
                        "setp.ne.u32 %p0, %c, 0; set.{name}.xor{ftz_word}.{to_word}.{ty} %d, %a, %b, %p0;"
                    );
                    let combine = Some(BoolOp::Xor);
                    let op = Op::Set {
                        cmp,
                        ty,
                        ftz,
                        combine,
                        to,
                    };
                    agree_of(&statement, op, words(5_000, 10), |[a, b, c]| {
                        [a.into(), b.into(), (c != 0).into()]
                    });
                }
            }
        }
    }
}

#[test]
fn mixed_precision_agrees_with_semantics() {
    let ops = [
        ("add", Mixed::Add),
        ("sub", Mixed::Sub),
        ("fma", Mixed::Fma),
    ];
    for from in [FloatTy::F16, FloatTy::Bf16] {
        for (name, op) in ops {
            for (rounding_word, rounding) in ROUNDINGS {
                for (sat, clamp) in [("", Clamp::None), (".sat", Clamp::Sat)] {
                    let mode = Mode {
                        rounding,
                        ftz: false,
                        clamp,
                    };
                    let b = if op == Mixed::Fma { "%h1, " } else { "" };
                    let statement = format!(
                        "mov.b32 {{%h0, _}}, %a; mov.b32 {{%h1, _}}, %b; {name}.{rounding_word}{sat}.f32.{from} %d, %h0, {b}%c;"
                    );
                    agree_of(
                        &statement,
                        Op::Mixed { op, from, mode },
                        words(10_000, 11),
                        |[a, b, c]| match op {
                            Mixed::Fma => [(a & 0xffff).into(), (b & 0xffff).into(), c.into()],
                            Mixed::Add | Mixed::Sub => [(a & 0xffff).into(), c.into(), 0],
                        },
                    );
                }
            }
        }
    }
}
