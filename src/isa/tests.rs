//! The rows are consistent: with the names, with the build functions, with each other.

use super::form::{Arg, At, Build, Choice, Complaint, Emit, Form, OperandKind, Param, SlotName};
use super::select::{Refusal, Selection, forms, lacking_family, select};
use super::types::Ty;
use super::{FORMS, names, special};
use crate::ir::memory::{Address, AddressOf, Base, Var};
use crate::ir::video::Selector;
use crate::ir::{Kind, Operand, Pure, PureOp, Reading, Reg, RegClass};
use smallvec::SmallVec;

fn rows() -> impl Iterator<Item = &'static Form> {
    FORMS.iter().flat_map(|room| room.iter())
}

/// Every word once, with the first words in the other required slots.
fn choices(form: &'static Form) -> Vec<Choice<'static>> {
    let base: SmallVec<[Option<(usize, usize)>; 12]> = form
        .slots
        .iter()
        .enumerate()
        .map(|(index, slot)| (!slot.need.is_optional()).then_some((0, index)))
        .collect();
    let mut all = vec![base.clone()];
    for (index, slot) in form.slots.iter().enumerate() {
        for word in 0..slot.words.len() {
            let mut filled = base.clone();
            filled[index] = Some((word, index));
            all.push(filled);
        }
    }
    all.into_iter()
        .map(|filled| Choice { form, filled })
        .filter(|choice| form.rule.is_none_or(|rule| rule(choice).is_ok()))
        .collect()
}

/// An operand of the right kind, with register `n`.
fn operand(choice: &Choice<'_>, param: &Param, n: u32) -> Arg {
    let ty = choice.type_of(param.ty, Ty::B64).expect("a type");
    let reg = Reg(n);
    let value = Operand::Reg(reg);
    let class = ty.class();
    let dst = || match class {
        Some(class) => Arg::Dst(Some(reg), class),
        None => Arg::Quad(value, Operand::Reg(Reg(n + 100))),
    };
    let src = || match class {
        Some(class) => Arg::Src(value, class),
        None => Arg::Quad(value, Operand::Reg(Reg(n + 100))),
    };
    let count = match choice.word(SlotName::Vector) {
        Some("v2") => 2,
        Some("v4") => 4,
        Some("v8") => 8,
        _ => 1,
    };
    match param.kind {
        OperandKind::Dst | OperandKind::WideDst | OperandKind::SinkDst => dst(),
        OperandKind::UnreadAddress => Arg::Absent,
        OperandKind::Sink => Arg::Dst(None, RegClass::B64),
        OperandKind::Src
        | OperandKind::WideSrc
        | OperandKind::ConvertSrc
        | OperandKind::AnyWidthSrc
        | OperandKind::RegSrc
        | OperandKind::Count(_)
        | OperandKind::Fraction
        | OperandKind::SizeOrPred
        | OperandKind::SharedSrc
        | OperandKind::AddressSrc => src(),
        OperandKind::Literal(least, _) => Arg::Literal(least),
        OperandKind::AnyLiteral => Arg::Literal(0x80),
        OperandKind::SetpDst
        | OperandKind::SetpOneDst
        | OperandKind::PairDst
        | OperandKind::MaybePairDst
        | OperandKind::MaybePairSinkDst => Arg::Dsts(Some(reg), Some(Reg(n + 100))),
        OperandKind::Pred => Arg::Src(value, RegClass::Pred),
        OperandKind::VideoDst | OperandKind::VideoSrc => Arg::Part {
            value,
            part: Selector::Word,
            negated: false,
        },
        OperandKind::SimdDst | OperandKind::SimdSrc => Arg::Lanes {
            value,
            lanes: None,
            negated: false,
        },
        OperandKind::Address
        | OperandKind::HintAddress
        | OperandKind::AsyncAddress(_)
        | OperandKind::MbarrierAddress => Arg::Address(
            Address {
                base: Base::Reg(reg),
                offset: 0,
            },
            None,
        ),
        OperandKind::LoadDst | OperandKind::AtomDst | OperandKind::MovDst if count > 1 => {
            Arg::Vector(vec![dst(); count])
        }
        OperandKind::StoreSrc | OperandKind::AsyncSrc | OperandKind::MovSrc if count > 1 => {
            Arg::Vector(vec![src(); count])
        }
        OperandKind::FourSrc => Arg::Vector(vec![src(); 4]),
        OperandKind::LoadDst | OperandKind::AtomDst | OperandKind::MovDst => dst(),
        OperandKind::StoreSrc | OperandKind::AsyncSrc | OperandKind::MovSrc => src(),
    }
}

/// Collects what build functions append.
#[derive(Default)]
struct Collected {
    kinds: Vec<Kind>,
    registers: u32,
}

impl Emit for Collected {
    fn emit(&mut self, kind: Kind) {
        self.kinds.push(kind);
    }

    fn prepare(&mut self, kind: Kind) {
        self.kinds.push(kind);
    }

    fn fresh(&mut self, _: RegClass) -> Reg {
        self.registers += 1;
        Reg(1000 + self.registers)
    }

    fn carry(&mut self) -> Reg {
        Reg(999)
    }

    fn address_class(&self) -> RegClass {
        RegClass::B64
    }
}

fn classes(args: &[Arg]) -> (Vec<RegClass>, Vec<RegClass>) {
    let (mut srcs, mut dsts) = (Vec::new(), Vec::new());
    for (index, arg) in args.iter().enumerate() {
        match arg {
            Arg::Dst(_, class) => dsts.push(*class),
            Arg::Src(_, class) => srcs.push(*class),
            Arg::Part { .. } | Arg::Lanes { .. } if index == 0 => dsts.push(RegClass::B32),
            Arg::Part { .. } | Arg::Lanes { .. } => srcs.push(RegClass::B32),
            _ => {}
        }
    }
    (srcs, dsts)
}

/// A pure row's operands are what its operator wants: classes in order, carries aside.
fn check_signature(choice: &Choice<'_>, args: &[Arg], op: crate::ir::PureOp) {
    let name = choice.form.mnemonic;
    let signature = op.signature();
    let (mut srcs, dsts) = classes(args);
    if matches!(op, crate::ir::PureOp::Video(_)) {
        srcs.truncate(signature.srcs.len());
    }
    assert!(
        signature.srcs.starts_with(&srcs) && signature.srcs.len() <= srcs.len() + 1,
        "{name}: sources {srcs:?}, wanted {:?}",
        signature.srcs
    );
    let pairs = args.iter().any(|a| matches!(a, Arg::Dsts(..)));
    assert!(
        pairs || (signature.dsts.starts_with(&dsts) && signature.dsts.len() <= dsts.len() + 1),
        "{name}: destinations {dsts:?}, wanted {:?}",
        signature.dsts
    );
}

#[test]
fn every_word_of_every_row_builds() {
    let mut built = 0;
    for form in rows() {
        let all = choices(form);
        for choice in &all {
            let args: Vec<Arg> = form
                .operands
                .iter()
                .zip(0..)
                .map(|(param, n)| operand(choice, param, n))
                .collect();
            let outcome = match form.build {
                Build::Pure(operator) => operator(choice, &args).map(|op| {
                    check_signature(choice, &args, op);
                }),
                Build::Emit(function) => {
                    let mut out = Collected::default();
                    function(choice, &args, &mut out)
                        .map(|()| assert!(!out.kinds.is_empty(), "{} does nothing", form.mnemonic))
                }
                Build::Hint => Ok(()),
            };
            match outcome {
                Ok(()) => built += 1,
                // Addresses of 32 bits in a module of 64.
                Err(Complaint {
                    at: At::Slot(SlotName::Type),
                    ..
                }) => {}
                Err(complaint) => panic!("{}: {complaint:?}", form.mnemonic),
            }
        }
    }
    assert!(built > 1000, "only {built} forms were built");
}

/// Every combination of words.
fn all_choices(form: &'static Form) -> Vec<Choice<'static>> {
    let mut all = vec![SmallVec::<[Option<(usize, usize)>; 12]>::new()];
    for (index, slot) in form.slots.iter().enumerate() {
        let words = (0..slot.words.len()).map(|word| Some((word, index)));
        let words: Vec<_> = (slot.need.is_optional().then_some(None).into_iter())
            .chain(words)
            .collect();
        let longer = |filled: SmallVec<_>| {
            words.iter().map(move |word| {
                let mut filled = filled.clone();
                filled.push(*word);
                filled
            })
        };
        all = all.into_iter().flat_map(longer).collect();
    }
    let choices = all.into_iter().map(|filled| Choice { form, filled });
    choices
        .filter(|choice| form.rule.is_none_or(|rule| rule(choice).is_ok()))
        .collect()
}

#[test]
fn rows_say_where_nvidias_tools_depart_from_the_text() {
    let mut apart = 0;
    for form in rows() {
        let differs = |choice: &Choice<'static>| {
            let operands = form.operands.iter().zip(0..);
            let args: Vec<Arg> = operands.map(|(p, n)| operand(choice, p, n)).collect();
            let differs = |op: PureOp| op.read_as(Reading::Nvidia) != op.read_as(Reading::Text);
            match form.build {
                Build::Pure(operator) => operator(choice, &args).is_ok_and(differs),
                Build::Emit(function) => {
                    let mut out = Collected::default();
                    let built = function(choice, &args, &mut out);
                    let pure = |kind: &Kind| matches!(kind, Kind::Pure(pure) if differs(pure.op));
                    built.is_ok() && out.kinds.iter().any(pure)
                }
                Build::Hint => false,
            }
        };
        match (form.nvidia, form.build) {
            (Some(_), _) => {
                apart += 1;
                assert!(all_choices(form).iter().any(differs), "{}", form.mnemonic);
            }
            (None, Build::Pure(_)) => {
                assert!(!choices(form).iter().any(differs), "{}", form.mnemonic);
            }
            // What such rows make use of is not what the text names: it is not read in another way.
            (None, Build::Emit(_) | Build::Hint) => {}
        }
    }
    // vset, the five of vadd and two shifts twice each, vmad, bfe, bfi, fns, cvt.
    assert_eq!(apart, 1 + 2 * 7 + 1 + 3 + 1);
}

#[test]
fn a_row_is_found_by_its_own_words() {
    for form in rows() {
        for choice in choices(form) {
            let words: Vec<&str> = form
                .slots
                .iter()
                .filter_map(|slot| choice.word(slot.name))
                .collect();
            match select(form.mnemonic, &words) {
                Ok(Selection::Forms(found)) => assert!(
                    found
                        .iter()
                        .any(|f| f.form.slots == form.slots && f.form.operands == form.operands),
                    "{} {words:?}",
                    form.mnemonic
                ),
                other => panic!("{} {words:?}: {other:?}", form.mnemonic),
            }
        }
    }
}

#[test]
fn slots_of_a_row_have_names_of_their_own() {
    for form in rows() {
        for (index, slot) in form.slots.iter().enumerate() {
            assert!(!slot.words.is_empty());
            assert!(
                form.slots[..index].iter().all(|s| s.name != slot.name),
                "{} has {:?} twice",
                form.mnemonic,
                slot.name
            );
            assert!(
                !slot.need.leads() || form.slots[..index].iter().all(|s| s.need.leads()),
                "{}: what belongs to the mnemonic comes first",
                form.mnemonic
            );
        }
        let optional = form.operands.iter().skip_while(|o| !o.optional);
        assert!(
            optional.clone().all(|o| o.optional),
            "{}: what may be left out comes last",
            form.mnemonic
        );
    }
}

#[test]
fn mnemonics_are_named_once_and_have_rows_or_a_reason() {
    for (index, name) in names::MNEMONICS.iter().enumerate() {
        assert!(
            names::MNEMONICS[..index]
                .iter()
                .all(|m| m.name != name.name),
            "{} is named twice",
            name.name
        );
    }
    for form in rows() {
        assert!(names::find(form.mnemonic).is_some(), "{}", form.mnemonic);
    }
    for unbuilt in names::UNBUILT {
        assert!(
            forms(unbuilt.mnemonic).next().is_some(),
            "{}",
            unbuilt.mnemonic
        );
        for word in unbuilt.words {
            assert_eq!(
                lacking_family(unbuilt.mnemonic, &[word]),
                Some(unbuilt.family)
            );
        }
    }
}

#[test]
fn what_is_not_built_is_told_from_what_does_not_exist() {
    let family = |mnemonic, modifiers: &[&str]| match select(mnemonic, modifiers) {
        Ok(Selection::Unbuilt(family)) => Some(family),
        _ => None,
    };
    assert_eq!(family("tex", &["1d"]), Some("textures"));
    assert_eq!(family("bar", &["sync"]), None);
    assert_eq!(family("add", &["rn", "f32"]), None);
    assert_eq!(family("cvt", &["rn", "f16", "f32"]), None);
    assert_eq!(
        family("cvt", &["rn", "pzo", "tf32", "f32"]),
        Some("floating point")
    );
    assert_eq!(
        family("cp", &["async", "bulk", "tensor"]),
        Some("tensor cores")
    );
    assert_eq!(family("and", &["f32"]), None);
    assert_eq!(family("ld", &["global", "f16"]), None);
    assert!(matches!(
        select("frobnicate", &["u32"]),
        Err(Refusal::Mnemonic(None))
    ));
    assert!(matches!(
        select("mull", &["lo", "u32"]),
        Err(Refusal::Mnemonic(Some("mul")))
    ));
}

#[test]
fn a_refusal_names_the_modifier_and_what_would_fit() {
    let Err(Refusal::Modifier {
        index,
        repeated,
        expected,
        similar,
    }) = select("bfe", &["b32"])
    else {
        panic!("bfe.b32 is not refused at a modifier");
    };
    assert_eq!((index, repeated), (0, false));
    assert_eq!(expected, ["u32", "s32", "u64", "s64"]);
    assert!(similar.is_some());
    // The form that got furthest speaks: `.global` is no mistake.
    let at = |mnemonic, modifiers: &[&str]| match select(mnemonic, modifiers) {
        Err(Refusal::Modifier { index, .. }) => Some(index),
        _ => None,
    };
    assert_eq!(at("ld", &["global", "u31"]), Some(1));
    assert_eq!(at("mul", &["u32", "lo"]), Some(0));
    assert_eq!(at("setp", &["lo", "s32"]), Some(1));
    assert_eq!(at("cvt", &["pack", "sat", "s32", "u16"]), Some(2));
    let Err(Refusal::Missing { slot, expected }) = select("shf", &["l", "b32"]) else {
        panic!("shf without a mode is not refused");
    };
    assert_eq!(slot, SlotName::Overrun);
    assert_eq!(expected, ["clamp", "wrap"]);
}

#[test]
fn modifiers_stand_in_any_order_but_types_keep_theirs() {
    let types = |modifiers: &[&str]| match select("cvt", modifiers) {
        Ok(Selection::Forms(found)) => (
            found[0].word(SlotName::Type),
            found[0].word(SlotName::FromType),
        ),
        other => panic!("{modifiers:?}: {other:?}"),
    };
    for modifiers in [
        ["sat", "u8", "s32"],
        ["u8", "sat", "s32"],
        ["u8", "s32", "sat"],
    ] {
        assert_eq!(types(&modifiers), (Some("u8"), Some("s32")));
    }
    assert!(select("ld", &["u32", "v2", "global"]).is_ok());
    assert!(select("add", &["sat", "sat", "s32"]).is_ok());
    assert!(matches!(
        select("ld", &["global", "global", "u32"]),
        Err(Refusal::Modifier {
            index: 1,
            repeated: true,
            ..
        })
    ));
}

#[test]
fn saturation_between_integers_needs_an_effect() {
    // As the assembler has it: 26 of the 64 pairs have none.
    let types = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"];
    let refused = types
        .iter()
        .flat_map(|to| types.iter().map(move |from| ["sat", to, from]))
        .filter(|words| select("cvt", words).is_err())
        .count();
    assert_eq!(refused, 26);
}

/// Elements of a pack of 128 bits go to the halves of the destination.
#[test]
fn packs_of_128_bits_are_packs_of_halves() {
    let Ok(Selection::Forms(found)) = select("mov", &["b128"]) else {
        panic!("mov.b128 exists");
    };
    let words = (0..4)
        .map(|n| Arg::Src(Operand::Reg(Reg(n)), RegClass::B32))
        .collect();
    let args = [
        Arg::Quad(Operand::Reg(Reg(10)), Operand::Reg(Reg(11))),
        Arg::Vector(words),
    ];
    let mut out = Collected::default();
    let Build::Emit(function) = found[0].form.build else {
        panic!("mov is no pure instruction");
    };
    function(&found[0], &args, &mut out).expect("it builds");
    let halves: Vec<(Reg, Vec<Operand>)> = out
        .kinds
        .iter()
        .map(|kind| match kind {
            Kind::Pure(Pure { dsts, srcs, .. }) => (dsts[0].expect("a register"), srcs.to_vec()),
            other => panic!("{other:?}"),
        })
        .collect();
    let regs = |a, b| vec![Operand::Reg(Reg(a)), Operand::Reg(Reg(b))];
    assert_eq!(halves, [(Reg(10), regs(0, 1)), (Reg(11), regs(2, 3))]);
}

/// `cvta` of a variable takes its address first.
#[test]
fn addresses_of_variables_are_taken_before_they_are_converted() {
    let Ok(Selection::Forms(found)) = select("cvta", &["global", "u64"]) else {
        panic!("cvta.global.u64 exists");
    };
    let of = AddressOf {
        dst: Reg(u32::MAX),
        var: Var::Local(3),
        offset: 4,
    };
    let args = [Arg::Dst(Some(Reg(1)), RegClass::B64), Arg::AddressOf(of)];
    let mut out = Collected::default();
    let Build::Emit(function) = found[0].form.build else {
        panic!("cvta is no pure instruction");
    };
    function(&found[0], &args, &mut out).expect("it builds");
    let [Kind::AddressOf(taken), Kind::Pure(converted)] = &out.kinds[..] else {
        panic!("{:?}", out.kinds);
    };
    assert_eq!((taken.var, taken.offset), (Var::Local(3), 4));
    assert_eq!(converted.srcs[..], [Operand::Reg(taken.dst)]);
    assert_eq!(converted.dsts[..], [Some(Reg(1))]);
}

#[test]
fn special_registers_are_found_with_their_numbers() {
    use crate::ir::Special;
    let find = |name| special::find(name).map(|s| (s.special, s.bits, s.since));
    assert_eq!(find("%pm7"), Some((Special::Pm(7), 32, (3, 0))));
    assert_eq!(find("%pm3_64"), Some((Special::Pm64(3), 64, (4, 0))));
    assert_eq!(find("%envreg31"), Some((Special::Envreg(31), 32, (1, 0))));
    for name in [
        "%pm8",
        "%envreg32",
        "%pm",
        "%envreg",
        "%tid.x",
        "tid",
        "%pm_64",
        "%pm+1",
        "%pm01",
    ] {
        assert_eq!(find(name), None, "{name}");
    }
    assert_eq!(special::element(Special::Tid(0), 2), Some(Special::Tid(2)));
    assert_eq!(special::element(Special::Tid(0), 3), None);
}

/// What belongs to the mnemonic comes in its order, before all else; a part of it may be left out.
#[test]
fn parts_of_a_mnemonic_keep_their_order() {
    let found = |mnemonic, modifiers: &[&str]| match select(mnemonic, modifiers) {
        Ok(Selection::Forms(forms)) => forms.len(),
        _ => 0,
    };
    assert_eq!(found("bar", &["red", "popc", "u32"]), 2);
    assert_eq!(found("bar", &["cta", "red", "u32", "popc"]), 2);
    assert_eq!(found("bar", &["red", "cta", "popc", "u32"]), 0);
    assert_eq!(found("bar", &["popc", "red", "u32"]), 0);
    assert_eq!(found("barrier", &["cta", "aligned", "sync"]), 1);
    assert_eq!(found("barrier", &["sync", "cta"]), 0);
    assert_eq!(found("mbarrier", &["arrive", "expect_tx", "b64"]), 1);
    assert_eq!(found("mbarrier", &["expect_tx", "arrive", "b64"]), 0);
    let Err(Refusal::Modifier {
        index, expected, ..
    }) = select("barrier", &["cluster", "sync"])
    else {
        panic!("accepted");
    };
    assert_eq!((index, &expected[..]), (1, &["arrive", "wait"][..]));
    let Err(Refusal::Missing { slot, expected }) = select("barrier", &["cluster"]) else {
        panic!("accepted");
    };
    assert_eq!(
        (slot, &expected[..]),
        (SlotName::Variant, &["arrive", "wait"][..])
    );
}

/// The state space that is read stands behind the one that is written.
#[test]
fn state_spaces_keep_their_order() {
    assert!(select("cp", &["async", "ca", "shared", "global"]).is_ok());
    assert!(select("cp", &["async", "shared", "ca", "global"]).is_ok());
    assert!(select("cp", &["async", "ca", "global", "shared"]).is_err());
}

#[test]
fn forms_may_end() {
    let Ok(Selection::Forms(found)) = select("vote", &["all", "pred"]) else {
        panic!("refused");
    };
    let form = found[0].form;
    assert!(form.is_gone((6, 4), 70) && form.is_gone((9, 0), 90));
    assert!(!form.is_gone((6, 3), 70) && !form.is_gone((9, 0), 62));
}
