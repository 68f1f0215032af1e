//! Changes PTX by its tokens and statements, so that much of what comes out is still legal.
//!
//! The outcome depends on the text and the seed alone. Comments are dropped.

use super::dictionary::{NUMBERS, WORDS};
use crate::syntax::lexer::{Kind, Lexer};
use rand_pcg::Pcg32;
use rand_pcg::rand_core::{Rng, SeedableRng};
use std::ops::Range;

/// Most tokens that a mutated text has.
const MOST_TOKENS: usize = 1 << 14;

/// A change of `text` that is at most `most` bytes long; `None` if it cannot be changed so.
pub fn mutate(text: &str, most: usize, seed: u32) -> Option<String> {
    let mut random = Random::new(seed);
    let mut module = Tokens::of(text);
    // Mostly a few changes, so that what was legal has a chance to remain so.
    for _ in 0..=random.below(2) + random.below(2) * random.below(4) {
        module.change(&mut random);
    }
    module.text(most)
}

/// `text` with statements of `other` put in or in the place of some of its own, at most `most` bytes long; `None` if
/// that cannot be.
pub fn cross(text: &str, other: &str, most: usize, seed: u32) -> Option<String> {
    let mut random = Random::new(seed);
    let mut module = Tokens::of(text);
    let other = Tokens::of(other);
    for _ in 0..=random.below(3) {
        let from = random.of(&other.statements())?.clone();
        let at = random.of(&module.statements())?.clone();
        let replaced = if random.one_in(2) {
            at
        } else {
            at.start..at.start
        };
        module.0.splice(replaced, other.0[from].iter().cloned());
    }
    module.text(most)
}

/// Numbers from a seed.
struct Random(Pcg32);

impl Random {
    fn new(seed: u32) -> Self {
        Random(Pcg32::seed_from_u64(seed.into()))
    }

    /// Less than `bound`; 0 if that is 0.
    fn below(&mut self, bound: usize) -> usize {
        (self.0.next_u64() % bound.max(1) as u64) as usize
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of several, if there are any.
    fn of<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        from.get(self.below(from.len()))
    }

    /// One of those for which `wanted` holds, if there are any.
    fn find<T>(&mut self, from: &[T], wanted: impl Fn(&T) -> bool) -> Option<usize> {
        let found: Vec<_> = (0..from.len()).filter(|&i| wanted(&from[i])).collect();
        self.of(&found).copied()
    }
}

/// A token with what stands before it: nothing, a blank, or a line break.
#[derive(Debug, Clone, PartialEq)]
struct Token {
    kind: Kind,
    before: &'static str,
    text: String,
}

impl Token {
    fn new(kind: Kind, text: impl Into<String>) -> Self {
        Token {
            kind,
            before: if kind == Kind::Word { "" } else { " " },
            text: text.into(),
        }
    }

    fn is_number(&self) -> bool {
        matches!(self.kind, Kind::Int | Kind::Decimal | Kind::F32 | Kind::F64)
    }

    /// Whether it may be an operand by itself.
    fn is_operand(&self) -> bool {
        self.kind == Kind::Ident || self.is_number()
    }

    /// The name without the number at its end: registers of one type, labels of one kind.
    fn family(&self) -> &str {
        self.text.trim_end_matches(|c: char| c.is_ascii_digit())
    }
}

/// A text by its tokens.
#[derive(Debug, Clone)]
struct Tokens(Vec<Token>);

impl Tokens {
    fn of(text: &str) -> Self {
        let mut lexer = Lexer::new(text);
        let mut tokens = Vec::new();
        let mut end = 0;
        while tokens.len() < MOST_TOKENS {
            let token = lexer.next();
            if token.kind == Kind::End {
                break;
            }
            let before = match token.span.start as usize - end {
                _ if token.first_on_line => "\n",
                0 => "",
                _ => " ",
            };
            end = token.span.end as usize;
            tokens.push(Token {
                kind: token.kind,
                before,
                text: text[token.span.range()].to_string(),
            });
        }
        Tokens(tokens)
    }

    /// The text, if it is no longer than that.
    fn text(&self, most: usize) -> Option<String> {
        let mut text = String::new();
        for token in self.0.iter().take(MOST_TOKENS) {
            text.push_str(token.before);
            text.push_str(&token.text);
            if text.len() > most {
                return None;
            }
        }
        Some(text)
    }

    /// The statements in bodies, labels included, each to behind its `;` or `:`.
    fn statements(&self) -> Vec<Range<usize>> {
        let mut statements = Vec::new();
        let mut start = 0;
        // Braces of bodies and scopes, and those of operands and initialisers.
        let (mut depth, mut inner) = (0u32, 0u32);
        for (i, token) in self.0.iter().enumerate() {
            match token.kind {
                Kind::LBrace => {
                    let first = &self.0[start];
                    let operand = i > start && matches!(first.kind, Kind::Ident | Kind::At);
                    let initialiser = i > 0 && self.0[i - 1].kind == Kind::Assign;
                    if inner > 0 || operand || initialiser {
                        inner += 1;
                    } else {
                        depth += 1;
                        start = i + 1;
                    }
                }
                Kind::RBrace if inner > 0 => inner -= 1,
                Kind::RBrace => {
                    depth = depth.saturating_sub(1);
                    start = i + 1;
                }
                Kind::Colon | Kind::Semicolon if inner == 0 => {
                    // A `:` that is no label's belongs to `a ? b : c`.
                    if token.kind == Kind::Colon && i != start + 1 {
                        continue;
                    }
                    if depth > 0 {
                        statements.push(start..i + 1);
                    }
                    start = i + 1;
                }
                _ => {}
            }
        }
        statements
    }

    /// Makes one change, if there is a place for it.
    fn change(&mut self, random: &mut Random) {
        // What is likely to stay legal comes up more often.
        let _ = match random.below(24) {
            0..=3 => self.exchange_name(random),
            4..=6 => self.exchange_number(random),
            7..=9 => self.exchange_word(random),
            10 => self.exchange_mnemonic(random),
            11 => self.number_for_name(random),
            12 | 13 => self.swap_operands(random),
            14 => self.delete_statement(random),
            15 | 16 => self.copy_statement(random),
            17 | 18 => self.swap_statements(random),
            19 => self.change_guard(random),
            20 => self.repeat_statement(random),
            21 => self.wrap(random),
            22 => self.change_token(random),
            _ => self.insert_word(random),
        };
    }

    /// Another register, label or variable, mostly one of the same kind.
    fn exchange_name(&mut self, random: &mut Random) -> Option<()> {
        let at = random.find(&self.0, |t| t.kind == Kind::Ident)?;
        let family = if random.one_in(8) {
            ""
        } else {
            self.0[at].family()
        };
        let other = random.find(&self.0, |t| {
            t.kind == Kind::Ident && t.family().starts_with(family)
        })?;
        self.0[at].text = self.0[other].text.clone();
        Some(())
    }

    /// Another number: one at a border, or one near to it.
    fn exchange_number(&mut self, random: &mut Random) -> Option<()> {
        let at = random.find(&self.0, Token::is_number)?;
        let near = self.0[at].text.parse::<i64>().ok();
        let text = match near {
            Some(value) if random.one_in(2) => {
                value.wrapping_add(random.below(9) as i64 - 4).to_string()
            }
            _ => (*random.of(NUMBERS)?).to_string(),
        };
        self.0[at].text = text;
        Some(())
    }

    /// Another modifier, type or directive, one that may stand for it somewhere.
    fn exchange_word(&mut self, random: &mut Random) -> Option<()> {
        let at = random.find(&self.0, |t| t.kind == Kind::Word)?;
        let word = &self.0[at].text[1..];
        let groups: Vec<_> = WORDS.groups.iter().filter(|g| g.contains(&word)).collect();
        let group = match random.of(&groups) {
            Some(group) => group,
            None => random.of(&WORDS.groups)?,
        };
        self.0[at].text = format!(".{}", random.of(group)?);
        Some(())
    }

    fn exchange_mnemonic(&mut self, random: &mut Random) -> Option<()> {
        let at = random.find(&self.0, |t| WORDS.mnemonics.contains(&&*t.text))?;
        self.0[at].text = (*random.of(&WORDS.mnemonics)?).to_string();
        Some(())
    }

    fn number_for_name(&mut self, random: &mut Random) -> Option<()> {
        let statement = random.of(&self.statements())?.clone();
        let names = &self.0[statement.clone()];
        let at = random.find(names, |t| t.text.starts_with('%'))? + statement.start;
        self.0[at] = Token {
            kind: Kind::Int,
            before: self.0[at].before,
            text: (*random.of(NUMBERS)?).to_string(),
        };
        Some(())
    }

    fn swap_operands(&mut self, random: &mut Random) -> Option<()> {
        let statement = random.of(&self.statements())?.clone();
        let tokens = &self.0[statement.clone()];
        // The mnemonic is no operand.
        let operand = |i: &usize| *i > 0 && tokens[*i].is_operand();
        let operands: Vec<_> = (0..tokens.len()).filter(operand).collect();
        let (a, b) = (*random.of(&operands)?, *random.of(&operands)?);
        self.0.swap(statement.start + a, statement.start + b);
        Some(())
    }

    fn delete_statement(&mut self, random: &mut Random) -> Option<()> {
        let statement = random.of(&self.statements())?.clone();
        self.0.drain(statement);
        Some(())
    }

    fn copy_statement(&mut self, random: &mut Random) -> Option<()> {
        let statements = self.statements();
        let from = random.of(&statements)?.clone();
        let at = random.of(&statements)?.start;
        let copy = self.0[from].to_vec();
        self.0.splice(at..at, copy);
        Some(())
    }

    fn swap_statements(&mut self, random: &mut Random) -> Option<()> {
        let statements = self.statements();
        let (a, b) = (random.of(&statements)?, random.of(&statements)?);
        let (first, second) = if a.start < b.start { (a, b) } else { (b, a) };
        if first.end > second.start {
            return None;
        }
        let (one, other) = (
            self.0[first.clone()].to_vec(),
            self.0[second.clone()].to_vec(),
        );
        self.0.splice(second.clone(), one);
        self.0.splice(first.clone(), other);
        Some(())
    }

    /// Takes a guard away, turns it round, or puts one there that stands elsewhere.
    fn change_guard(&mut self, random: &mut Random) -> Option<()> {
        let statement = random.of(&self.statements())?.clone();
        let at = statement.start;
        if self.0[at].kind != Kind::At {
            let guard = random.find(&self.0, |t| t.kind == Kind::At)?;
            let negated = usize::from(self.0.get(guard + 1)?.kind == Kind::Not);
            let copy = self.0.get(guard..guard + 2 + negated)?.to_vec();
            self.0.splice(at..at, copy);
        } else if self.0.get(at + 1)?.kind == Kind::Not {
            self.0.remove(at + 1);
        } else if random.one_in(2) {
            self.0.insert(at + 1, Token::new(Kind::Not, "!"));
        } else {
            self.0.drain(at..statement.end.min(at + 2));
        }
        Some(())
    }

    /// A statement many times in a row.
    fn repeat_statement(&mut self, random: &mut Random) -> Option<()> {
        let statement = random.of(&self.statements())?.clone();
        let copy = self.0[statement.clone()].to_vec();
        for _ in 0..1 << random.below(7) {
            if self.0.len() < MOST_TOKENS {
                self.0
                    .splice(statement.start..statement.start, copy.clone());
            }
        }
        Some(())
    }

    /// Some statements in a scope of their own, or an operand in parentheses or braces.
    fn wrap(&mut self, random: &mut Random) -> Option<()> {
        let (around, open, close) = if random.one_in(2) {
            let statements = self.statements();
            let (a, b) = (random.of(&statements)?, random.of(&statements)?);
            let range = a.start.min(b.start)..a.end.max(b.end);
            (range, (Kind::LBrace, "{"), (Kind::RBrace, "}"))
        } else {
            let at = random.find(&self.0, Token::is_operand)?;
            let (open, close) = if random.one_in(2) {
                ((Kind::LBrace, "{"), (Kind::RBrace, "}"))
            } else {
                ((Kind::LParen, "("), (Kind::RParen, ")"))
            };
            (at..at + 1, open, close)
        };
        for _ in 0..1 << random.below(9) {
            self.0.insert(around.end, Token::new(close.0, close.1));
            self.0.insert(around.start, Token::new(open.0, open.1));
            if random.one_in(2) {
                break;
            }
        }
        Some(())
    }

    /// Deletes a token, doubles it, or puts another in its place.
    fn change_token(&mut self, random: &mut Random) -> Option<()> {
        let at = random.find(&self.0, |_| true)?;
        match random.below(3) {
            0 => {
                self.0.remove(at);
            }
            1 => self.0.insert(at, self.0[at].clone()),
            _ => self.0[at] = random.of(&self.0)?.clone(),
        }
        Some(())
    }

    /// A special register or a modifier where there was none.
    fn insert_word(&mut self, random: &mut Random) -> Option<()> {
        if random.one_in(2) {
            let at = random.find(&self.0, |t| t.kind == Kind::Ident)?;
            self.0[at].text = (*random.of(&WORDS.specials)?).to_string();
        } else {
            let at = random.find(&self.0, |t| t.kind == Kind::Word)?;
            let group = random.of(&WORDS.groups)?;
            let word = random.of(group)?;
            self.0
                .insert(at + 1, Token::new(Kind::Word, format!(".{word}")));
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::Module;

    const TEXT: &str = "\
.version 8.7
.target sm_90
.address_size 64
.global .b32 table[2] = {1, 2};
.entry k(.param .u64 out)
{
.reg .pred %p<2>;
.reg .b32 %r<4>;
.reg .b64 %d<2>;
ld.param.u64 %d0, [out];
mov.u32 %r1, %tid.x;
L: setp.lt.u32 %p1, %r1, 3;
@%p1 add.u32 %r1, %r1, 1;
{ mov.b64 %d1, {%r1, %r2}; }
@!%p1 bra L;
st.global.v2.b32 [%d0], {%r1, %r2};
ret;
}";

    #[test]
    fn statements_are_told_from_scopes_and_operands() {
        let tokens = Tokens::of(TEXT);
        let statements: Vec<_> = tokens
            .statements()
            .into_iter()
            .map(|range| Tokens(tokens.0[range].to_vec()).text(1000).expect("short"))
            .collect();
        let expected = [
            "\n.reg .pred %p<2>;",
            "\n.reg .b32 %r<4>;",
            "\n.reg .b64 %d<2>;",
            "\nld.param.u64 %d0, [out];",
            "\nmov.u32 %r1, %tid.x;",
            "\nL:",
            " setp.lt.u32 %p1, %r1, 3;",
            "\n@%p1 add.u32 %r1, %r1, 1;",
            " mov.b64 %d1, {%r1, %r2};",
            "\n@!%p1 bra L;",
            "\nst.global.v2.b32 [%d0], {%r1, %r2};",
            "\nret;",
        ];
        assert_eq!(statements, expected);
    }

    #[test]
    fn a_seed_gives_one_text_and_many_are_legal() {
        let mut legal = 0;
        let mut texts = std::collections::HashSet::new();
        for seed in 0..500 {
            let text = mutate(TEXT, 4000, seed).expect("short");
            assert_eq!(mutate(TEXT, 4000, seed), Some(text.clone()));
            legal += u32::from(text != TEXT && Module::parse(&*text).is_ok());
            texts.insert(text);
        }
        assert!(texts.len() > 400, "{} texts", texts.len());
        assert!(legal > 100, "{legal} of 500 are legal");
    }

    #[test]
    fn what_is_crossed_has_statements_of_both() {
        let other = ".entry other() { .reg .b32 zero; mov.b32 zero, 0; }";
        let found = (0..100)
            .filter_map(|seed| cross(TEXT, other, 4000, seed))
            .filter(|text| text.contains("mov.b32 zero, 0;") && text.contains("ld.param"))
            .count();
        assert!(found > 30, "{found} of 100");
        assert_eq!(cross(TEXT, "", 4000, 0), None);
    }

    #[test]
    fn lengths_are_kept_to_and_nothing_panics() {
        for seed in 0..200 {
            for text in ["", "{", "} ; {", "@", "L:", "\"", ".entry k() { @ ; } é"] {
                let changed = mutate(text, 50, seed);
                assert!(changed.is_none_or(|t| t.len() <= 50), "{text}");
                let crossed = cross(text, TEXT, 60, seed);
                assert!(crossed.is_none_or(|t| t.len() <= 60), "{text}");
            }
        }
    }
}
