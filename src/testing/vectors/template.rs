//! Statements with the registers of a table in them, and the modules that run them.

use super::table::Word;
use crate::testing::FormatError;
use std::fmt::Write as _;

/// The sources of a template in their order.
const OPERANDS: [&str; 4] = ["%a", "%b", "%c", "%e"];
/// The destinations of a template in their order.
const RESULTS: [&str; 3] = ["%d", "%f", "%h"];

/// Bytes from one operand or result to the next in the buffers of a launch.
pub const SLOT: usize = 16;

/// Statements of a row.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Template {
    /// The text, without the last `;`.
    pub text: String,
    /// The sources that occur, in the order %a %b %c %e.
    pub operands: Vec<&'static str>,
    /// The destinations that occur, in the order %d %f %h.
    pub results: Vec<&'static str>,
}

impl Template {
    /// Finds the registers of a template.
    ///
    /// # Errors
    /// There is no statement, or none with a destination.
    pub fn parse(text: &str) -> Result<Self, FormatError> {
        let used: Vec<&str> = registers(text).map(|r| r.name).collect();
        let list = |names: &[&'static str]| -> Vec<&'static str> {
            names.iter().copied().filter(|n| used.contains(n)).collect()
        };
        let template = Template {
            text: text.trim().trim_end_matches(';').to_string(),
            operands: list(&OPERANDS),
            results: list(&RESULTS),
        };
        if template.results.is_empty() {
            return Err(FormatError::new(format!(
                "`{text}` has no destination %d, %f or %h"
            )));
        }
        Ok(template)
    }

    /// The mnemonic that the template is about: of its first instruction that does not just make a predicate of an
    /// operand (`setp.ne.u32 %pc, %c, 0`).
    pub fn mnemonic(&self) -> &str {
        let instructions = || {
            self.text
                .split(';')
                .map(str::trim)
                .filter(|s| !s.is_empty() && !s.starts_with('.'))
        };
        let makes_predicate = |s: &str| {
            s.starts_with("setp.ne.") && s.split(',').next_back().is_some_and(|x| x.trim() == "0")
        };
        let main = instructions().find(|s| !makes_predicate(s));
        let main = main.or_else(|| instructions().next()).unwrap_or_default();
        main.split(['.', ' ']).next().unwrap_or_default()
    }

    /// Whether source `index` may be replaced by a literal as far as its spelling goes: no selector behind it, no
    /// sign before it.
    pub fn may_be_literal(&self, index: usize) -> bool {
        let name = self.operands[index];
        registers(&self.text)
            .filter(|r| r.name == name)
            .all(|r| !r.selected && !r.signed)
    }

    /// The statements with some sources replaced by literals.
    pub fn with_literals(&self, operands: &[Word], spelling: &[Spelling]) -> String {
        let mut text = String::new();
        let mut done = 0;
        for register in registers(&self.text) {
            let Some(index) = self.operands.iter().position(|n| *n == register.name) else {
                continue;
            };
            let literal = match spelling[index] {
                Spelling::Register => continue,
                Spelling::Integer => format!("{:#x}", operands[index].value),
                Spelling::Float if operands[index].bits == 32 => {
                    format!("0f{}", operands[index])
                }
                Spelling::Float => format!("0d{}", operands[index]),
            };
            text.push_str(&self.text[done..register.start]);
            text.push_str(&literal);
            done = register.start + register.name.len();
        }
        text.push_str(&self.text[done..]);
        text
    }
}

/// How a source is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Spelling {
    /// As a register.
    Register,
    /// As `0x...`.
    Integer,
    /// As `0f...` or `0d...`.
    Float,
}

impl Spelling {
    /// Whether a word of this width can be written so.
    pub fn fits(self, word: Word) -> bool {
        match self {
            Spelling::Register => true,
            Spelling::Integer => word.bits <= 64,
            Spelling::Float => matches!(word.bits, 32 | 64),
        }
    }
}

/// A word that begins with `%`.
struct Register<'t> {
    name: &'t str,
    start: usize,
    /// A dotted word follows: `%a.h1`.
    selected: bool,
    /// A sign or `!` stands before it.
    signed: bool,
}

fn registers(text: &str) -> impl Iterator<Item = Register<'_>> {
    text.match_indices('%').map(|(start, _)| {
        let rest = &text[start..];
        let end = rest[1..]
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '$')
            .map_or(rest.len(), |i| i + 1);
        Register {
            name: &rest[..end],
            start,
            selected: rest[end..].starts_with('.'),
            signed: text[..start].trim_end().ends_with(['-', '!', '~', '+']),
        }
    })
}

/// Writes the text of a module and remembers where each part stands.
#[derive(Debug)]
pub struct ModuleText {
    text: String,
}

impl ModuleText {
    /// Begins with the directives of a module.
    pub fn new(directives: &str) -> Self {
        ModuleText {
            text: directives.to_string(),
        }
    }

    /// The text so far.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    fn open(&mut self, kernel: &str) {
        let text = &mut self.text;
        let _ = writeln!(
            text,
            ".visible .entry {kernel}(.param .u64 {kernel}_in, .param .u64 {kernel}_out)\n{{\n\
             .reg .b64 $in, $out;\n.reg .b32 $i, $n, $t;\n\
             ld.param.u64 $in, [{kernel}_in];\nld.param.u64 $out, [{kernel}_out];"
        );
    }

    fn close(&mut self) {
        self.text.push_str("ret;\n}\n");
    }

    /// A scope with a template's registers, its statements, and the transport of operands and results: from `$in`
    /// plus `from`, to `$out` plus `to`. Gives the range of the template's statements in the text.
    fn body(
        &mut self,
        template: &Template,
        widths: &Widths,
        statements: &str,
        loaded: impl Fn(usize) -> bool,
        from: usize,
        to: usize,
    ) -> std::ops::Range<usize> {
        let text = &mut self.text;
        text.push_str("{\n.reg .pred %p, %q, %pc;\n");
        let operands = template.operands.iter().zip(&widths.operands);
        let results = template.results.iter().zip(&widths.results);
        for (name, bits) in operands.clone().chain(results.clone()) {
            let _ = writeln!(text, ".reg .b{bits} {name};");
        }
        for (i, (name, bits)) in operands.enumerate() {
            if loaded(i) {
                let offset = from + i * SLOT;
                let _ = writeln!(text, "ld.global.b{bits} {name}, [$in+{offset}];");
            }
        }
        text.push_str("{ ");
        let start = text.len();
        text.push_str(statements);
        text.push(';');
        let end = text.len();
        text.push_str(" }\n");
        for (i, (name, bits)) in results.enumerate() {
            let offset = to + i * SLOT;
            let _ = writeln!(text, "st.global.b{bits} [$out+{offset}], {name};");
        }
        text.push_str("}\n");
        start..end
    }

    /// A kernel whose threads each take a row: operands lie [`SLOT`] bytes apart, row after row, results likewise.
    /// Gives the range of the template's statements in the text.
    pub fn register_kernel(
        &mut self,
        kernel: &str,
        template: &Template,
        widths: &Widths,
    ) -> std::ops::Range<usize> {
        self.open(kernel);
        let _ = writeln!(
            self.text,
            "mov.u32 $t, %tid.x;\nmov.u32 $i, %ctaid.x;\nmov.u32 $n, %ntid.x;\nmad.lo.u32 $i, $i, $n, $t;\n\
             mad.wide.u32 $in, $i, {}, $in;\nmad.wide.u32 $out, $i, {}, $out;",
            SLOT * template.operands.len(),
            SLOT * template.results.len()
        );
        let range = self.body(template, widths, &template.text, |_| true, 0, 0);
        self.close();
        range
    }

    /// A kernel of one thread that takes rows one after the other, each with its own literals; the rest of its
    /// operands and all its results lie as for [`ModuleText::register_kernel`], one [`Literals`] after the other.
    /// Gives the ranges of the statements.
    pub fn literal_kernel(
        &mut self,
        kernel: &str,
        template: &Template,
        widths: &Widths,
        rows: &[Literals<'_>],
    ) -> Vec<std::ops::Range<usize>> {
        self.open(kernel);
        let ranges = rows
            .iter()
            .enumerate()
            .map(|(i, row)| {
                let statements = template.with_literals(row.operands, &row.spelling);
                self.body(
                    template,
                    widths,
                    &statements,
                    |operand| row.spelling[operand] == Spelling::Register,
                    i * SLOT * template.operands.len(),
                    i * SLOT * template.results.len(),
                )
            })
            .collect();
        self.close();
        ranges
    }
}

/// Widths of a template's registers, as its rows give them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Widths {
    /// Of the operands, in bits.
    pub operands: Vec<u32>,
    /// Of the results, in bits.
    pub results: Vec<u32>,
}

/// A row with literals.
#[derive(Debug, Clone)]
pub struct Literals<'r> {
    /// Contents of the sources.
    pub operands: &'r [Word],
    /// How each is written.
    pub spelling: Vec<Spelling>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(text: &str) -> Template {
        Template::parse(text).expect("a template")
    }

    #[test]
    fn registers_and_their_order() {
        let t = template(
            "setp.ne.u32 %pc, %e, 0; lop3.and.b32 %d|%p, %a, %b, %c, 0x80, %pc; selp.u32 %f, 1, 0, %p",
        );
        assert_eq!(t.operands, ["%a", "%b", "%c", "%e"]);
        assert_eq!(t.results, ["%d", "%f"]);
        assert!(Template::parse("bar.sync 0").is_err());
    }

    #[test]
    fn the_mnemonic_is_that_of_the_instruction_in_question() {
        for (text, mnemonic) in [
            ("bfe.u32 %d, %a, %b, %c", "bfe"),
            ("setp.eq.b16 %p, %a, %b; selp.u32 %d, 1, 0, %p", "setp"),
            ("setp.ne.u32 %pc, %c, 0; selp.b16 %d, %a, %b, %pc", "selp"),
            (
                "setp.ne.u32 %pc, %c, 0; setp.eq.s16 %p|%q, %a, %b, !%pc; selp.u32 %d, 1, 0, %p",
                "setp",
            ),
            (
                "setp.ne.u32 %p, %a, 0; setp.ne.u32 %q, %b, 0; xor.pred %pc, %p, %q; selp.u32 %d, 1, 0, %pc",
                "xor",
            ),
            (
                ".reg .b8 %x; cvt.u8.u16 %x, %a; cvt.rn.f16x2.e2m1x2 %d, %x",
                "cvt",
            ),
        ] {
            assert_eq!(template(text).mnemonic(), mnemonic, "{text}");
        }
    }

    #[test]
    fn literals_replace_whole_registers() {
        let t = template("vmad.s32.s32.s32 %d, -%a, %b.h1, %c; mov.b32 %f, %c");
        let allowed: Vec<bool> = (0..3).map(|i| t.may_be_literal(i)).collect();
        assert_eq!(allowed, [false, false, true]);
        let word = |value| Word { value, bits: 32 };
        let text = t.with_literals(
            &[word(1), word(2), word(0xff)],
            &[Spelling::Register, Spelling::Register, Spelling::Integer],
        );
        assert_eq!(
            text,
            "vmad.s32.s32.s32 %d, -%a, %b.h1, 0xff; mov.b32 %f, 0xff"
        );
        let t = template("add.f32 %d, %a, %b");
        let text = t.with_literals(
            &[word(0x3f80_0000), word(1)],
            &[Spelling::Float, Spelling::Register],
        );
        assert_eq!(text, "add.f32 %d, 0f3f800000, %b");
    }

    #[test]
    fn ranges_cover_the_statements() {
        let t = template("add.u16 %d, %a, %b");
        let widths = Widths {
            operands: vec![16, 16],
            results: vec![16],
        };
        let mut module = ModuleText::new(".version 8.7\n");
        let range = module.register_kernel("k", &t, &widths);
        assert_eq!(&module.as_str()[range], "add.u16 %d, %a, %b;");
        assert!(module.as_str().contains("ld.global.b16 %b, [$in+16];"));
        let words = [Word { value: 7, bits: 16 }; 2];
        let row = Literals {
            operands: &words,
            spelling: vec![Spelling::Integer, Spelling::Register],
        };
        let ranges = module.literal_kernel("l", &t, &widths, &[row.clone(), row]);
        assert_eq!(&module.as_str()[ranges[1].clone()], "add.u16 %d, 0x7, %b;");
        assert!(module.as_str().contains("ld.global.b16 %b, [$in+48];"));
        assert!(module.as_str().contains("st.global.b16 [$out+16], %d;"));
    }
}
