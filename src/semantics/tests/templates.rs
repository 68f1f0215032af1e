//! From the statement templates of the vector tables to operators, by hand and for well-formed statements only. It
//! shares nothing with the checker, so that the tables test this crate's semantics by themselves.

use crate::ir::bits::{self, PrmtMode};
use crate::ir::compare::{self, BoolOp, CmpOp};
use crate::ir::convert;
use crate::ir::extended;
use crate::ir::float::{FloatTy, Mark};
use crate::ir::integer::{self, Part};
use crate::ir::video::{self, ScalarOp, Second, Selector, SimdOp, Source};
use crate::ir::{IntTy, PureOp, Reading, RegClass};

/// One statement: operator, destinations, sources (as written).
pub(super) struct Statement {
    pub op: PureOp,
    pub dsts: Vec<String>,
    pub srcs: Vec<String>,
}

/// A mnemonic with its modifiers.
struct Words<'a> {
    mnemonic: &'a str,
    modifiers: Vec<&'a str>,
    operands: Vec<&'a str>,
}

impl Words<'_> {
    fn has(&self, modifier: &str) -> bool {
        self.modifiers.contains(&modifier)
    }

    /// The types among the modifiers, in order.
    fn types(&self) -> Vec<IntTy> {
        self.modifiers.iter().filter_map(|m| int_ty(m)).collect()
    }

    fn find<T>(&self, meaning: impl Fn(&str) -> Option<T>) -> Option<T> {
        self.modifiers.iter().find_map(|m| meaning(m))
    }

    fn part(&self) -> Option<Part> {
        self.find(|m| match m {
            "lo" => Some(Part::Lo),
            "hi" => Some(Part::Hi),
            "wide" => Some(Part::Wide),
            _ => None,
        })
    }
}

fn int_ty(word: &str) -> Option<IntTy> {
    let (kind, bits) = word.split_at_checked(1)?;
    let class = RegClass::of_bits(bits.parse().ok()?)?;
    match kind {
        "u" | "b" => IntTy::new(class, false),
        "s" => IntTy::new(class, true),
        _ => None,
    }
}

fn cmp_op(word: &str) -> Option<CmpOp> {
    Some(match word {
        "eq" => CmpOp::Eq,
        "ne" => CmpOp::Ne,
        "lt" | "lo" => CmpOp::Lt,
        "le" | "ls" => CmpOp::Le,
        "gt" | "hi" => CmpOp::Gt,
        "ge" | "hs" => CmpOp::Ge,
        _ => return None,
    })
}

fn bool_op(word: &str) -> Option<BoolOp> {
    Some(match word {
        "and" => BoolOp::And,
        "or" => BoolOp::Or,
        "xor" => BoolOp::Xor,
        _ => return None,
    })
}

/// What a template says, statement by statement; `None` if one is none of the integer families.
pub(super) fn parse(template: &str) -> Option<Vec<Statement>> {
    template
        .split(';')
        .map(|statement| {
            let (head, operands) = statement.trim().split_once(' ')?;
            let mut head = head.split('.');
            let words = Words {
                mnemonic: head.next()?,
                modifiers: head.collect(),
                operands: operands.split(',').map(str::trim).collect(),
            };
            let floats = words.modifiers.iter().filter(|m| is_float(m)).count();
            // `set.CMP.f32.TYPE` only writes a float.
            let compares_integers = words.modifiers.last().and_then(|m| int_ty(m)).is_some();
            let writes_only = words.mnemonic == "set" && floats == 1 && compares_integers;
            if floats > 0 && !writes_only {
                return None;
            }
            build(&words)
        })
        .collect()
}

fn is_float(modifier: &str) -> bool {
    matches!(modifier, "f16" | "f32" | "f64" | "ftz")
}

fn build(words: &Words<'_>) -> Option<Statement> {
    if words.mnemonic.starts_with('v') {
        return video(words);
    }
    let types = words.types();
    let ty = types.first().copied();
    let mut dsts: Vec<String> = words.operands[0].split('|').map(str::to_string).collect();
    let mut srcs: Vec<String> = words.operands[1..].iter().map(|s| s.to_string()).collect();
    let op = match words.mnemonic {
        "add" | "addc" | "sub" | "subc" | "mad" | "madc"
            if words.mnemonic.ends_with('c') || words.has("cc") =>
        {
            let carry_in = words.mnemonic.ends_with('c');
            let carry_out = words.has("cc");
            let ty = ty?;
            if carry_in {
                srcs.push("CF".to_string());
            }
            if carry_out {
                dsts.push("CF".to_string());
            }
            PureOp::Extended(match words.mnemonic.trim_end_matches('c') {
                "add" => extended::Op::Add {
                    ty,
                    carry_in,
                    carry_out,
                },
                "sub" => extended::Op::Sub {
                    ty,
                    carry_in,
                    carry_out,
                },
                _ => extended::Op::Mad {
                    high: words.has("hi"),
                    ty,
                    carry_in,
                    carry_out,
                },
            })
        }
        "setp" | "set" => {
            let combine = words.find(bool_op);
            let cmp = words.find(cmp_op)?;
            PureOp::Compare(if words.mnemonic == "setp" {
                compare::Op::Setp {
                    cmp,
                    ty: ty?,
                    combine,
                }
            } else {
                compare::Op::Set {
                    cmp,
                    ty: *types.last()?,
                    combine,
                    to: if words.has("f32") {
                        Mark::One(FloatTy::F32)
                    } else {
                        Mark::Ones(RegClass::B32)
                    },
                }
            })
        }
        "selp" => PureOp::Compare(compare::Op::Selp { class: ty?.class() }),
        "slct" => PureOp::Compare(compare::Op::Slct { class: ty?.class() }),
        "cvt" => PureOp::Convert(convert::Op::Cvt {
            to: types[0],
            from: *types.get(1)?,
            sat: words.has("sat"),
            // Set by the caller, who knows the width of the register.
            dst: RegClass::B64,
        }),
        _ => match (integer(words, ty), bits(words, ty, &mut srcs)) {
            (Some(op), _) => PureOp::Integer(op),
            (None, Some(op)) => PureOp::Bits(op),
            (None, None) => return None,
        },
    };
    Some(Statement { op, dsts, srcs })
}

fn integer(words: &Words<'_>, ty: Option<IntTy>) -> Option<integer::Op> {
    let sat = words.has("sat");
    let relu = words.has("relu");
    let high = words.has("hi");
    let signs = words.types();
    Some(match words.mnemonic {
        "add" => integer::Op::Add { ty: ty?, sat },
        "sub" => integer::Op::Sub { ty: ty?, sat },
        "mul" => integer::Op::Mul {
            part: words.part()?,
            ty: ty?,
        },
        "mad" => integer::Op::Mad {
            part: words.part()?,
            ty: ty?,
            sat,
        },
        "mul24" => integer::Op::Mul24 {
            high,
            signed: ty?.signed(),
        },
        "mad24" => integer::Op::Mad24 {
            high,
            signed: ty?.signed(),
            sat,
        },
        "sad" => integer::Op::Sad { ty: ty? },
        "div" => integer::Op::Div { ty: ty? },
        "rem" => integer::Op::Rem { ty: ty? },
        "abs" => integer::Op::Abs { ty: ty? },
        "neg" => integer::Op::Neg { ty: ty? },
        "min" => integer::Op::Min { ty: ty?, relu },
        "max" => integer::Op::Max { ty: ty?, relu },
        "dp4a" => integer::Op::Dp4a {
            a_signed: signs[0].signed(),
            b_signed: signs[1].signed(),
        },
        "dp2a" => integer::Op::Dp2a {
            a_signed: signs[0].signed(),
            b_signed: signs[1].signed(),
            high,
        },
        _ => return None,
    })
}

fn bits(words: &Words<'_>, ty: Option<IntTy>, srcs: &mut Vec<String>) -> Option<bits::Op> {
    // Predicates, `and.pred`, have no type.
    let class = ty.map_or(RegClass::Pred, IntTy::class);
    let wrap = words.has("wrap");
    Some(match words.mnemonic {
        "and" => bits::Op::And { class },
        "or" => bits::Op::Or { class },
        "xor" => bits::Op::Xor { class },
        "not" => bits::Op::Not { class },
        "cnot" => bits::Op::Cnot { class },
        "lop3" => {
            let lut = srcs.remove(3);
            let lut = u8::from_str_radix(lut.trim_start_matches("0x"), 16).ok()?;
            match words.find(bool_op) {
                None => bits::Op::Lop3 { lut },
                Some(combine) => bits::Op::Lop3Pred { lut, combine },
            }
        }
        "shf" => bits::Op::Shf {
            left: words.has("l"),
            wrap,
        },
        "shl" => bits::Op::Shl { class },
        "shr" => bits::Op::Shr { ty: ty? },
        "prmt" => bits::Op::Prmt {
            mode: words
                .find(|m| {
                    Some(match m {
                        "f4e" => PrmtMode::F4e,
                        "b4e" => PrmtMode::B4e,
                        "rc8" => PrmtMode::Rc8,
                        "ecl" => PrmtMode::Ecl,
                        "ecr" => PrmtMode::Ecr,
                        "rc16" => PrmtMode::Rc16,
                        _ => return None,
                    })
                })
                .unwrap_or(PrmtMode::Index),
        },
        "popc" => bits::Op::Popc { class },
        "clz" => bits::Op::Clz { class },
        "bfind" => bits::Op::Bfind {
            ty: ty?,
            shiftamt: words.has("shiftamt"),
        },
        "fns" => bits::Op::Fns {
            reading: Reading::Text,
        },
        "brev" => bits::Op::Brev { class },
        "bfe" => bits::Op::Bfe {
            ty: ty?,
            reading: Reading::Text,
        },
        "bfi" => bits::Op::Bfi {
            class,
            reading: Reading::Text,
        },
        "bmsk" => bits::Op::Bmsk { wrap },
        "szext" => bits::Op::Szext {
            signed: ty?.signed(),
            wrap,
        },
        _ => return None,
    })
}

/// A video operand: register, negation, selector letters and digits (`b3021`).
fn operand(text: &str) -> (String, bool, Option<(char, Vec<u8>)>) {
    let negated = text.starts_with('-');
    let mut parts = text.trim_start_matches('-').split('.');
    let register = parts.next().unwrap_or_default().to_string();
    let selector = parts.next().map(|s| {
        let digits = s[1..].bytes().map(|b| b - b'0').collect();
        (s.chars().next().unwrap_or_default(), digits)
    });
    (register, negated, selector)
}

fn part(selector: &Option<(char, Vec<u8>)>) -> Selector {
    match selector {
        None => Selector::Word,
        Some(('b', digits)) => Selector::Byte(digits[0]),
        Some((_, digits)) => Selector::Half(digits[0]),
    }
}

fn video(words: &Words<'_>) -> Option<Statement> {
    let (name, lanes) = match words.mnemonic.as_bytes().last()? {
        b'2' => (words.mnemonic.trim_end_matches('2'), 2),
        b'4' => (words.mnemonic.trim_end_matches('4'), 4),
        _ => (words.mnemonic, 1),
    };
    let operands: Vec<_> = words.operands.iter().map(|o| operand(o)).collect();
    let mut types: Vec<bool> = words.types().iter().map(|t| t.signed()).collect();
    // `vset` has no destination type; what it gives is unsigned.
    if name == "vset" {
        types.insert(0, false);
    }
    let (signed, a_signed, b_signed) = (types[0], types[1], types[2]);
    let sat = words.has("sat");
    let dsts = vec![operands[0].0.clone()];
    let srcs = operands[1..].iter().map(|o| o.0.clone()).collect();
    let a = Source {
        signed: a_signed,
        part: part(&operands[1].2),
    };
    let b = Source {
        signed: b_signed,
        part: part(&operands[2].2),
    };
    let op = if name == "vmad" {
        video::Op::Mad {
            signed,
            a,
            b,
            neg_a: operands[1].1,
            neg_b: operands[2].1,
            neg_c: operands[3].1,
            plus_one: words.has("po"),
            sat,
            shift: if words.has("shr7") {
                7
            } else if words.has("shr15") {
                15
            } else {
                0
            },
            reading: Reading::Text,
        }
    } else if lanes == 1 {
        let wrap = words.has("wrap");
        let second = words.modifiers.iter().find_map(|m| {
            Some(match *m {
                "add" => Second::Add,
                "min" => Second::Min,
                "max" => Second::Max,
                _ => return None,
            })
        });
        video::Op::Scalar {
            op: match name {
                "vadd" => ScalarOp::Add,
                "vsub" => ScalarOp::Sub,
                "vabsdiff" => ScalarOp::AbsDiff,
                "vmin" => ScalarOp::Min,
                "vmax" => ScalarOp::Max,
                "vshl" => ScalarOp::Shl { wrap },
                "vshr" => ScalarOp::Shr { wrap },
                _ => ScalarOp::Set(words.find(cmp_op)?),
            },
            signed,
            a,
            b,
            sat,
            second: match (second, &operands[0].2) {
                (Some(second), _) => second,
                (None, Some(_)) => Second::Merge(part(&operands[0].2)),
                (None, None) => Second::None,
            },
            reading: Reading::Text,
        }
    } else {
        // Lanes are written highest first.
        let pick = |index: usize, first: u8| {
            let mut picked = [0, 1, 2, 3].map(|i| i + first);
            if let Some((_, digits)) = &operands[index].2 {
                for (lane, digit) in digits.iter().rev().enumerate() {
                    picked[lane] = *digit;
                }
            }
            picked
        };
        video::Op::Simd {
            op: match name {
                "vadd" => SimdOp::Add,
                "vsub" => SimdOp::Sub,
                "vabsdiff" => SimdOp::AbsDiff,
                "vmin" => SimdOp::Min,
                "vmax" => SimdOp::Max,
                "vavrg" => SimdOp::Avrg,
                _ => SimdOp::Set(words.find(cmp_op)?),
            },
            lanes,
            signed,
            a_signed,
            b_signed,
            a_lanes: pick(1, 0),
            b_lanes: pick(2, lanes),
            mask: operands[0]
                .2
                .as_ref()
                .map_or(0xf, |(_, digits)| digits.iter().map(|d| 1 << d).sum()),
            sat,
            add: words.has("add"),
        }
    };
    Some(Statement {
        op: PureOp::Video(op),
        dsts,
        srcs,
    })
}
