//! Which statements are of a form that is known and not built yet.

use crate::isa::{self, Selection};

/// The mnemonic of the first instruction of a statement, for summaries; `(directive)` if there is none.
pub(super) fn mnemonic(statement: &str) -> String {
    instructions(statement)
        .next()
        .map(|i| i.mnemonic.to_string())
        .unwrap_or_else(|| "(directive)".to_string())
}

/// An instruction as far as it matters here.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Words<'s> {
    mnemonic: &'s str,
    modifiers: Vec<&'s str>,
}

/// The instructions of a text that need not be right: what follows `;`, braces, labels and guards, up to a space.
fn instructions(text: &str) -> impl Iterator<Item = Words<'_>> {
    text.split([';', '{', '}']).filter_map(|part| {
        let mut part = part.trim();
        loop {
            let word = part.split_whitespace().next()?;
            if word.starts_with('@') {
                part = part[word.len()..].trim_start();
            } else if let Some((label, rest)) = part.split_once(':')
                && !label.contains([' ', '.', ','])
                && !rest.starts_with(':')
            {
                part = rest.trim_start();
            } else {
                break;
            }
        }
        let word = part.split([' ', '\t', ',']).next()?;
        let mut words = word.split('.');
        let mnemonic = words
            .next()
            .filter(|m| m.starts_with(|c: char| c.is_ascii_lowercase()))?;
        Some(Words {
            mnemonic,
            modifiers: words.collect(),
        })
    })
}

/// The family of the first instruction of a statement that is known and not built yet, judged by mnemonic and types.
pub(super) fn lacking(statement: &str) -> Option<String> {
    instructions(statement).find_map(|i| match isa::select(i.mnemonic, &i.modifiers) {
        Ok(Selection::Unbuilt(family)) => Some(family.to_string()),
        Ok(Selection::Forms(_)) | Err(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_that_lack_are_told_by_mnemonic_and_types() {
        for (text, family) in [
            ("add.u32 %r0, %r1, %r2;", None),
            ("add.rn.f32 %r0, %r1, %r2;", None),
            ("and.f32 %r0, %r1, %r2;", None),
            ("ld.global.f32 %r0, [%d0];", None),
            ("@%p0 bar.sync 0;", None),
            ("@%p0 wgmma.fence.sync.aligned;", Some("tensor cores")),
            ("setp.eq.f32 %p0, %r0, %r1;", None),
            ("set.eq.f32.u32 %r0, %r1, %r2;", None),
            ("mov.f32 %r0, %r1;", None),
            ("add.b8 %r0, %r1, %r2;", None),
            (
                "mov.u32 %r0, 1; L: tex.1d.v4.u32.u32 {%r0, %r1, %r2, %r3}, [%d0, {%r4}];",
                Some("textures"),
            ),
            ("atom.global.add.f32 %r0, [%d0], %r1;", None),
            ("bra L0; L0:", None),
            ("frobnicate %r0;", None),
        ] {
            assert_eq!(lacking(text).as_deref(), family, "{text}");
        }
    }

    #[test]
    fn mnemonics_are_found_in_any_text() {
        for (text, expected) in [
            ("add.u32 %r0, %r1, %r2;", "add"),
            ("@!%p1 bra L0; L0:", "bra"),
            ("L0: L1: bra L1;", "bra"),
            ("{ .reg .b32 z; mov.b32 z, 1; }", "mov"),
            (".reg .v2 .b32 z; mov.b64 %d0, z;", "mov"),
            ("st.shared::cta.b32 [%d0], %r0;", "st"),
            (".section .debug { }", "(directive)"),
            ("ret;", "ret"),
        ] {
            assert_eq!(mnemonic(text), expected, "{text}");
        }
    }
}
