//! One instruction of the text to IR, by the rows of the instruction set.
//!
//! Selects the form, compares what it needs with `.version` and `.target`, resolves the operands, and lets the row
//! build the IR.

use super::context::Context;
use super::operands::Resolver;
use crate::diag::{Diagnostic, Span};
use crate::ir::{Kind, Operand, Pure, PureOp, Reading, Reg, RegClass};
use crate::isa::form::{Arg, At, Build, Choice, Complaint, Emit, Version};
use crate::isa::{Refusal, Selection, names, select};
use crate::syntax::ast;
use smallvec::SmallVec;
use std::fmt::{self, Display};

/// Builds an instruction that is not control flow (`bra`, `brx`, `call`, `ret`, `exit`, `trap` and `brkpt` are the
/// caller's). Its guard is the caller's too: what [`Context::emit`] appends carries it. Whatever is wrong is reported.
pub(crate) fn build(context: &mut dyn Context, instruction: &ast::Instruction<'_>) {
    if let Err(diagnostic) = try_build(context, instruction) {
        context.report(diagnostic);
    }
}

fn try_build(
    context: &mut dyn Context,
    instruction: &ast::Instruction<'_>,
) -> Result<(), Diagnostic> {
    // To guess what was meant takes time, in vain if nobody is told.
    if context.is_full() && names::find(instruction.mnemonic.text).is_none() {
        let refusal = Refusal::Mnemonic(None);
        return Err(refused(instruction, &refusal));
    }
    let modifiers: Vec<&str> = instruction.modifiers.iter().map(|m| m.text).collect();
    let choices = match select(instruction.mnemonic.text, &modifiers) {
        Ok(Selection::Forms(choices)) => choices,
        Ok(Selection::Unbuilt(family)) => {
            context.unsupported(spelling(instruction).to_string(), family, instruction.span);
            return Ok(());
        }
        Err(refusal) => return Err(refused(instruction, &refusal)),
    };
    let count = instruction.operands.len();
    let Some(choice) = choices.iter().find(|c| {
        let (least, most) = c.form.operand_count();
        (least..=most).contains(&count)
    }) else {
        return Err(wrong_count(instruction, &choices));
    };
    check_availability(context, instruction, choice)?;
    let mut args: SmallVec<[Arg; 5]> = SmallVec::new();
    for (index, param) in choice.form.operands.iter().enumerate() {
        args.push(match instruction.operands.get(index) {
            Some(operand) => Resolver {
                context,
                choice,
                instruction,
            }
            .resolve(param, operand)?,
            None => Arg::Absent,
        });
    }
    let reading = match choice.form.nvidia {
        Some(_) => context.reading(),
        None => Reading::Text,
    };
    match choice.form.build {
        Build::Pure(operator) => {
            let op = operator(choice, &args).map_err(|c| complaint(instruction, choice, &c))?;
            let op = match op {
                PureOp::Float(op) if context.target().0 < 20 => PureOp::Float(op.flushing()),
                op => op,
            };
            emit_pure(context, op.read_as(reading), &args);
        }
        Build::Emit(function) => {
            function(choice, &args, &mut Output { context, reading })
                .map_err(|c| complaint(instruction, choice, &c))?;
        }
        Build::Hint => context.emit(Kind::Hint {
            name: choice.form.mnemonic,
        }),
    }
    Ok(())
}

/// The instruction's words as written.
fn spelling(instruction: &ast::Instruction<'_>) -> impl Display {
    fmt::from_fn(|f| {
        f.write_str(instruction.mnemonic.text)?;
        for modifier in &instruction.modifiers {
            write!(f, ".{}", modifier.text)?;
        }
        Ok(())
    })
}

/// Mnemonic and modifiers.
fn head(instruction: &ast::Instruction<'_>) -> Span {
    instruction
        .modifiers
        .last()
        .map_or(instruction.mnemonic.span, |m| {
            instruction.mnemonic.span.to(m.span)
        })
}

/// `.a`, `.b` or `.c`; of many only the first, and how many more there are.
fn alternatives(words: &[&str]) -> String {
    const SHOWN: usize = 12;
    let shown = match words.len() {
        // Room for one more instead of "1 other".
        few if few <= SHOWN + 1 => few,
        _ => SHOWN,
    };
    let mut parts: Vec<String> = words[..shown].iter().map(|w| format!("`.{w}`")).collect();
    if shown < words.len() {
        parts.push(format!("{} others", words.len() - shown));
    }
    match parts.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, before)) => format!("{} or {last}", before.join(", ")),
        None => String::new(),
    }
}

fn refused(instruction: &ast::Instruction<'_>, refusal: &Refusal) -> Diagnostic {
    let mnemonic = instruction.mnemonic;
    match refusal {
        Refusal::Mnemonic(similar) => {
            let error = Diagnostic::error(
                mnemonic.span,
                format!("no instruction is called `{}`", mnemonic.text),
            );
            match similar {
                Some(word) => error.hint(format!("did you mean `{word}`?")),
                None => error,
            }
        }
        Refusal::Modifier {
            index,
            repeated,
            expected,
            similar,
        } => {
            let Some(word) = instruction.modifiers.get(*index) else {
                return Diagnostic::error(mnemonic.span, "malformed instruction");
            };
            let message = if *repeated {
                format!("`.{}` is given twice", word.text)
            } else if *index == 0 {
                format!("`{}` has no modifier `.{}`", mnemonic.text, word.text)
            } else {
                format!(
                    "`.{}` does not go with the other modifiers of `{}`",
                    word.text, mnemonic.text
                )
            };
            let mut error = Diagnostic::error(word.span, message);
            if expected.is_empty() {
                error = error.label("no further modifier is expected");
            } else {
                error = error.label(format!("expected {}", alternatives(expected)));
            }
            match similar {
                Some(similar) => error.hint(format!("did you mean `.{similar}`?")),
                None => error,
            }
        }
        Refusal::Missing { slot, expected } => Diagnostic::error(
            head(instruction),
            format!("`{}` lacks {}", spelling(instruction), slot.with_article()),
        )
        .label(format!("expected {}", alternatives(expected))),
        Refusal::Rule(choice, broken) => complaint(instruction, choice, broken),
    }
}

fn wrong_count(instruction: &ast::Instruction<'_>, choices: &[Choice<'_>]) -> Diagnostic {
    let least = choices.iter().map(|c| c.form.operand_count().0).min();
    let most = choices.iter().map(|c| c.form.operand_count().1).max();
    let (least, most) = (least.unwrap_or(0), most.unwrap_or(0));
    let wanted = if least == most {
        format!("{least}")
    } else {
        format!("{least} to {most}")
    };
    let span = instruction
        .operands
        .get(most)
        .map_or(head(instruction), |surplus| {
            instruction
                .operands
                .last()
                .map_or(surplus.span(), |last| surplus.span().to(last.span()))
        });
    let names: Vec<&str> = choices.first().map_or_else(Vec::new, |c| {
        c.form.operands.iter().map(|o| o.name).collect()
    });
    Diagnostic::error(
        span,
        format!(
            "`{}` takes {wanted} operand{}, not {}",
            spelling(instruction),
            if wanted == "1" { "" } else { "s" },
            instruction.operands.len()
        ),
    )
    .label(if names.is_empty() {
        "no operands are expected".to_string()
    } else {
        format!("operands: {}", names.join(", "))
    })
}

fn complaint(
    instruction: &ast::Instruction<'_>,
    choice: &Choice<'_>,
    complaint: &Complaint,
) -> Diagnostic {
    let span = match complaint.at {
        At::Slot(name) => choice
            .filled(name)
            .and_then(|(_, index)| instruction.modifiers.get(index))
            .map_or(instruction.mnemonic.span, |m| m.span),
        At::Operand(index) => instruction
            .operands
            .get(index)
            .map_or(instruction.span, ast::Operand::span),
        At::Row => instruction.span,
    };
    let message = match complaint.at {
        At::Row => format!(
            "internal error: the row of `{}` is wrong: {}",
            instruction.mnemonic.text, complaint.message
        ),
        At::Slot(_) | At::Operand(_) => complaint.message.clone(),
    };
    Diagnostic::error(span, message)
}

/// Compares what form and words need with `.version` and `.target`.
fn check_availability(
    context: &dyn Context,
    instruction: &ast::Instruction<'_>,
    choice: &Choice<'_>,
) -> Result<(), Diagnostic> {
    let (sm, suffix) = context.target();
    let (since, target) = choice.form.needed(context.version(), sm);
    available(
        context,
        instruction.mnemonic.span,
        format_args!("`{}`", spelling(instruction)),
        since,
        target,
    )?;
    if choice.form.is_gone(context.version(), sm)
        && let Some(((major, minor), of)) = choice.form.until
    {
        return Err(Diagnostic::error(
            instruction.mnemonic.span,
            format!("`{}` ended with `.target sm_{of}`", spelling(instruction)),
        )
        .label(format!("this module says sm_{sm}{suffix}"))
        .hint(format!(
            "write `{}.sync`; versions before {major}.{minor} still take it",
            instruction.mnemonic.text
        )));
    }
    let form = choice.form;
    if !form.is_in(sm, suffix) {
        let name = |n: &u32| {
            if form.families {
                format!("`sm_{n}a`, `sm_{n}f`")
            } else {
                format!("`sm_{n}a`")
            }
        };
        let names: Vec<String> = form.variants.iter().map(name).collect();
        return Err(Diagnostic::error(
            instruction.mnemonic.span,
            format!(
                "`{}` exists for specific targets only",
                spelling(instruction)
            ),
        )
        .label(format!("this module says sm_{sm}{suffix}"))
        .hint(format!("these have it: {}", names.join(", "))));
    }
    for (slot, filled) in choice.form.slots.iter().zip(&choice.filled) {
        let Some((word, at)) = filled else { continue };
        let word = &slot.words[*word];
        let span = instruction
            .modifiers
            .get(*at)
            .map_or(instruction.span, |m| m.span);
        available(
            context,
            span,
            format_args!("`.{}`", word.text),
            word.since,
            word.target,
        )?;
    }
    Ok(())
}

/// # Errors
/// If the module's `.version` or `.target` is smaller.
pub(in crate::check) fn available(
    context: &dyn Context,
    span: Span,
    what: impl Display,
    since: Version,
    target: u32,
) -> Result<(), Diagnostic> {
    let version = context.version();
    if version < since {
        return Err(Diagnostic::error(
            span,
            format!("{what} needs `.version {}.{}`", since.0, since.1),
        )
        .label(format!("this module says {}.{}", version.0, version.1)));
    }
    let (sm, suffix) = context.target();
    if sm < target {
        return Err(
            Diagnostic::error(span, format!("{what} needs `.target sm_{target}`"))
                .label(format!("this module says sm_{sm}{suffix}")),
        );
    }
    Ok(())
}

/// Destinations and sources in the order of the operands; the carry last.
fn emit_pure(context: &mut dyn Context, op: PureOp, args: &[Arg]) {
    let signature = op.signature();
    let mut dsts: SmallVec<[Option<Reg>; 2]> = SmallVec::new();
    let mut srcs: SmallVec<[Operand; 4]> = SmallVec::new();
    for (index, arg) in args.iter().enumerate() {
        match arg {
            Arg::Dst(reg, _) => dsts.push(*reg),
            Arg::Dsts(first, second) => dsts.extend([*first, *second]),
            Arg::Part { value, .. } | Arg::Lanes { value, .. } if index == 0 => {
                dsts.push(value.reg());
            }
            Arg::Src(value, _) | Arg::Part { value, .. } | Arg::Lanes { value, .. } => {
                srcs.push(*value);
            }
            Arg::Absent
            | Arg::Literal(_)
            | Arg::Quad(..)
            | Arg::Vector(_)
            | Arg::Address(..)
            | Arg::AddressOf(_)
            | Arg::Function(_)
            | Arg::Special(_) => {}
        }
    }
    // A third operand of video instructions that nothing asks for.
    srcs.truncate(signature.srcs.len());
    if matches!(op, PureOp::Extended(_)) {
        if signature.srcs.len() > srcs.len() {
            srcs.push(Operand::Reg(context.carry()));
        }
        if signature.dsts.len() > dsts.len() {
            dsts.push(Some(context.carry()));
        }
    }
    context.emit(Kind::Pure(Pure { op, dsts, srcs }));
}

/// The context as build functions see it.
struct Output<'a> {
    context: &'a mut dyn Context,
    reading: Reading,
}

impl Output<'_> {
    fn read(&self, mut kind: Kind) -> Kind {
        if let Kind::Pure(pure) = &mut kind {
            pure.op = pure.op.read_as(self.reading);
        }
        kind
    }
}

impl Emit for Output<'_> {
    fn emit(&mut self, kind: Kind) {
        self.context.emit(self.read(kind));
    }

    fn prepare(&mut self, kind: Kind) {
        self.context.emit_unguarded(self.read(kind));
    }

    fn fresh(&mut self, class: RegClass) -> Reg {
        self.context.fresh(class)
    }

    fn carry(&mut self) -> Reg {
        self.context.carry()
    }

    fn address_class(&self) -> RegClass {
        if self.context.address_bits() == 32 {
            RegClass::B32
        } else {
            RegClass::B64
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::check::parse_and_check;
    use crate::diag::Source;
    use crate::ir::{Kind, Module, PureOp};

    fn module(directives: &str, statement: &str) -> String {
        format!(
            "{directives}\n.address_size 64\n.visible .entry k(.param .b64 p)\n{{\n\
             .reg .pred %p<4>;\n.reg .b16 %h<4>;\n.reg .b32 %r<4>;\n.reg .b64 %d<4>;\n\
             {statement}\nret;\n}}\n"
        )
    }

    fn check(statement: &str) -> Module {
        let text = module(".version 8.7\n.target sm_90", statement);
        parse_and_check(Source::new("test.ptx", text)).unwrap_or_else(|e| panic!("{e}"))
    }

    /// The first error: its word, message, label and hint.
    fn error(directives: &str, statement: &str) -> (String, String, String, Option<String>) {
        let source = Source::new("test.ptx", module(directives, statement));
        let errors = parse_and_check(source).expect_err("it is refused");
        let first = errors.iter().next().expect("an error");
        (
            errors.source().slice(first.span).to_string(),
            first.message.clone(),
            first.label.clone(),
            first.hint.clone(),
        )
    }

    fn error_now(statement: &str) -> (String, String, String, Option<String>) {
        error(".version 8.7\n.target sm_90", statement)
    }

    #[test]
    fn an_unknown_instruction_is_named() {
        let (word, message, _, hint) = error_now("frobnicate.u32 %r0, %r1;");
        assert_eq!(word, "frobnicate");
        assert!(message.contains("`frobnicate`"), "{message}");
        assert_eq!(hint, None);
        let (_, _, _, hint) = error_now("mull.lo.u32 %r0, %r1, %r2;");
        assert_eq!(hint.as_deref(), Some("did you mean `mul`?"));
    }

    #[test]
    fn modifiers_that_exist_are_told_from_those_that_do_not_fit() {
        let (_, message, ..) = error_now("add.xyz %r0, %r1, %r2;");
        assert_eq!(message, "`add` has no modifier `.xyz`");
        let (_, message, ..) = error_now("add.u32.xyz %r0, %r1, %r2;");
        assert_eq!(
            message,
            "`.xyz` does not go with the other modifiers of `add`"
        );
    }

    #[test]
    fn long_lists_of_words_are_cut() {
        let words: Vec<String> = (1..=14).map(|n| format!("w{n}")).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let list = super::alternatives;
        assert_eq!(list(&words[..1]), "`.w1`");
        assert_eq!(list(&words[..3]), "`.w1`, `.w2` or `.w3`");
        assert!(list(&words[..12]).ends_with("`.w11` or `.w12`"));
        assert!(list(&words[..13]).ends_with("`.w12` or `.w13`"));
        assert!(list(&words[..14]).ends_with("`.w11`, `.w12` or 2 others"));
    }

    #[test]
    fn no_hint_where_there_is_nothing_to_say() {
        let (word, _, _, hint) = error_now("exit.uni;");
        assert_eq!((word.as_str(), hint), (".uni", None));
        // A long word is not put before the message.
        let long = "1.0000000000000000000000000000000000000000001";
        let (word, message, ..) = error_now(&format!("add.u32 %r0, %r1, {long};"));
        assert_eq!(word, long);
        assert!(!message.contains(long), "{message}");
    }

    #[test]
    fn a_wrong_modifier_is_underlined_with_what_would_fit() {
        let (word, message, label, hint) = error_now("shf.l.wrapp.b32 %r0, %r1, %r2, %r3;");
        assert_eq!(word, ".wrapp");
        assert!(message.contains("`.wrapp`"), "{message}");
        assert_eq!(label, "expected `.clamp`, `.wrap` or `.b32`");
        assert_eq!(hint.as_deref(), Some("did you mean `.wrap`?"));
        let (word, _, label, _) = error_now("shf.l.b32 %r0, %r1, %r2, %r3;");
        assert_eq!(word, "shf.l.b32");
        assert_eq!(label, "expected `.clamp` or `.wrap`");
        let (_, message, ..) = error_now("shf.l.b32 %r0, %r1, %r2, %r3;");
        assert_eq!(message, "`shf.l.b32` lacks an overrun mode");
        let (_, _, label, hint) = error_now("ld.parm.u32 %r0, [0];");
        assert!(label.starts_with("expected `.weak`, "), "{label}");
        assert!(label.ends_with(" others") && label.len() < 200, "{label}");
        assert_eq!(hint.as_deref(), Some("did you mean `.param`?"));
        let (word, ..) = error_now("cvt.sat.s32.u16 %r0, %h1;");
        assert_eq!(word, ".sat");
    }

    #[test]
    fn what_is_newer_than_the_module_says_since_when() {
        let (word, message, label, _) = error(
            ".version 7.5\n.target sm_80",
            "szext.wrap.s32 %r0, %r1, %r2;",
        );
        assert_eq!(word, "szext");
        assert!(message.contains("`.version 7.6`"), "{message}");
        assert_eq!(label, "this module says 7.5");
        let (word, message, label, _) = error(
            ".version 8.7\n.target sm_70",
            "ld.global.L2::128B.u32 %r0, [%d0];",
        );
        assert_eq!(word, ".L2::128B");
        assert!(message.contains("`.target sm_75`"), "{message}");
        assert_eq!(label, "this module says sm_70");
        let (_, _, label, hint) = error(".version 9.2\n.target sm_120", "add.u8x4 %r0, %r1, %r2;");
        assert_eq!(label, "this module says sm_120");
        assert!(hint.is_some_and(|h| h.contains("`sm_120a`")));
    }

    #[test]
    fn operands_are_counted_and_the_surplus_is_underlined() {
        let (word, message, label, _) = error_now("add.u32 %r0, %r1, %r2, %r3;");
        assert_eq!(word, "%r3");
        assert!(message.contains("takes 3 operands, not 4"), "{message}");
        assert_eq!(label, "operands: d, a, b");
    }

    #[test]
    fn everything_that_is_lacking_is_listed() {
        let module = check(
            "tex.1d.v4.u32.u32 {%r0, %r1, %r2, %r3}, [%d0, {%r4}];\nwgmma.fence.sync.aligned;\nadd.u32 %r0, %r1, %r2;",
        );
        let lacking: Vec<(&str, &str)> = module.functions[0]
            .unsupported
            .iter()
            .map(|u| (u.what.as_str(), u.family))
            .collect();
        assert_eq!(
            lacking,
            [
                ("tex.1d.v4.u32.u32", "textures"),
                ("wgmma.fence.sync.aligned", "tensor cores")
            ]
        );
    }

    /// The carry is one register of the function, the last source and destination.
    #[test]
    fn carries_join_the_operands() {
        let module = check(
            "add.cc.u32 %r0, %r1, %r2;\n@%p1 addc.cc.u32 %r0, %r1, %r2;\nsubc.u32 %r0, %r1, %r2;",
        );
        let function = &module.functions[0];
        let carry = function.carry.expect("a carry");
        let shapes: Vec<(usize, usize, bool, bool)> = function
            .blocks
            .iter()
            .flat_map(|b| &b.insts)
            .filter_map(|inst| match &inst.kind {
                Kind::Pure(p) if matches!(p.op, PureOp::Extended(_)) => Some((
                    p.srcs.len(),
                    p.dsts.len(),
                    p.srcs.last().and_then(|s| s.reg()) == Some(carry),
                    p.dsts.last().copied().flatten() == Some(carry),
                )),
                _ => None,
            })
            .collect();
        assert_eq!(
            shapes,
            [(2, 2, false, true), (3, 2, true, true), (3, 1, true, false)]
        );
    }

    /// `!p` becomes a register before the instruction, outside its guard.
    #[test]
    fn negated_predicates_are_computed_unguarded() {
        let module = check("@%p1 selp.b32 %r0, %r1, %r2, !%p2;");
        let guards: Vec<bool> = module.functions[0].blocks[0]
            .insts
            .iter()
            .map(|inst| inst.guard.is_some())
            .collect();
        assert_eq!(guards, [false, true]);
    }
}
