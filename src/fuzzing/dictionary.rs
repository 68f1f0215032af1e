//! The words of PTX: those of the instruction set's tables, and those that the parser knows by itself.

use crate::isa::{self, names, special};
use std::fmt::Write;
use std::sync::LazyLock;

/// Numbers at the borders of types, shifts and tables, and how they may be written.
pub const NUMBERS: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "4",
    "7",
    "8",
    "15",
    "16",
    "24",
    "31",
    "32",
    "33",
    "63",
    "64",
    "65",
    "127",
    "128",
    "255",
    "256",
    "32767",
    "32768",
    "65535",
    "65536",
    "0x7fffffff",
    "0x80000000",
    "0xffffffff",
    "4294967296",
    "0x7fffffffffffffff",
    "0x8000000000000000",
    "0xffffffffffffffffU",
    "18446744073709551616",
    "0b101",
    "017",
    "0f3f800000",
    "0d7ff0000000000000",
    "1.5",
    ".5e-3",
    "WARP_SZ",
];

/// Words with a point that stand in no row of the instruction set. PTX ISA, "Directive Statements" and "Types".
const DIRECTIVES: &[&str] = &[
    "version",
    "target",
    "address_size",
    "entry",
    "func",
    "alias",
    "file",
    "section",
    "pragma",
    "loc",
    "branchtargets",
    "calltargets",
    "callprototype",
    "extern",
    "visible",
    "weak",
    "common",
    "attribute",
    "managed",
    "unified",
    "reg",
    "global",
    "const",
    "local",
    "param",
    "shared",
    "tex",
    "ptr",
    "align",
    "maxntid",
    "reqntid",
    "maxnreg",
    "minnctapersm",
    "reqnctapercluster",
    "explicitcluster",
    "maxclusterrank",
    "blocksareclusters",
    "noreturn",
    "abi_preserve",
    "abi_preserve_control",
    "pred",
    "b8",
    "u8",
    "s8",
    "b128",
    "f16",
    "f32",
    "f64",
    "texref",
    "samplerref",
    "surfref",
    "v2",
    "v4",
    "v8",
];

/// Signs and the like, and words that stand without a point.
const OTHERS: &[&str] = &[
    ",",
    ";",
    ":",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "<",
    ">",
    "<<",
    ">>",
    "=",
    "==",
    "!",
    "&&",
    "||",
    "+",
    "-",
    "*",
    "/",
    "%",
    "?",
    "@",
    "@!",
    "_",
    "|",
    "sm_90",
    "sm_20",
    "generic",
    "mask",
    "function_name",
    "inlined_at",
    "/*",
    "*/",
    "//",
    "\"",
    "#line 1",
];

/// All words by what they are.
#[derive(Debug)]
pub struct Words {
    /// Mnemonics, without modifiers.
    pub mnemonics: Vec<&'static str>,
    /// Words with a point, given without it, in groups of which each may stand for the other: the words of a slot of
    /// the instruction set, and all directives.
    pub groups: Vec<Vec<&'static str>>,
    /// Special registers, with `%`.
    pub specials: Vec<&'static str>,
}

/// The words that this library knows.
pub static WORDS: LazyLock<Words> = LazyLock::new(|| {
    let slots = isa::FORMS.iter().flat_map(|family| family.iter());
    let mut groups: Vec<Vec<_>> = slots
        .flat_map(|form| form.slots)
        .map(|slot| slot.words.iter().map(|word| word.text).collect())
        .collect();
    groups.push(DIRECTIVES.to_vec());
    groups.sort();
    groups.dedup();
    Words {
        mnemonics: names::MNEMONICS.iter().map(|m| m.name).collect(),
        groups,
        specials: special::SPECIALS.iter().map(|s| s.name).collect(),
    }
});

/// The dictionary as libFuzzer reads it: a word a line, in quotes.
pub fn libfuzzer() -> String {
    let words = &*WORDS;
    let dotted = words.groups.iter().flatten().map(|word| format!(".{word}"));
    let plain = words
        .mnemonics
        .iter()
        .chain(&words.specials)
        .chain(NUMBERS)
        .chain(OTHERS)
        .map(|word| (*word).to_string());
    let mut all: Vec<_> = plain.chain(dotted).collect();
    all.sort();
    all.dedup();
    all.iter().fold(String::new(), |mut text, word| {
        let escaped = word.replace('\\', "\\\\").replace('"', "\\\"");
        let _ = writeln!(text, "\"{escaped}\"");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::lexer::{Kind, Lexer};

    fn kind(word: &str) -> Kind {
        let token = Lexer::new(word).next();
        assert_eq!(token.span.range(), 0..word.len(), "{word}");
        token.kind
    }

    #[test]
    fn each_word_is_one_token() {
        for word in WORDS.groups.iter().flatten() {
            assert_eq!(kind(&format!(".{word}")), Kind::Word, "{word}");
        }
        for word in WORDS.mnemonics.iter().chain(&WORDS.specials) {
            assert_eq!(kind(word), Kind::Ident, "{word}");
        }
        for number in NUMBERS {
            assert_ne!(kind(number), Kind::Invalid, "{number}");
        }
    }

    #[test]
    fn libfuzzer_reads_each_line() {
        let text = libfuzzer();
        for line in text.lines() {
            let word = line.strip_prefix('"').and_then(|w| w.strip_suffix('"'));
            assert!(word.is_some_and(|w| !w.is_empty()), "{line}");
        }
        for line in ["\"bfe\"", "\".maxntid\"", "\"\\\"\"", "\".L2::cache_hint\""] {
            assert!(text.lines().any(|l| l == line), "{line}");
        }
    }
}
