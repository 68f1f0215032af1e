//! Names inside a function. PTX ISA, "Identifiers"; what is not said there follows `ptxas`.
//!
//! A name means what the innermost scope that declares it says; names are visible from their declaration on, labels
//! in the whole of their scope. `%r<8>` declares a family of registers without naming each: a member exists once it is
//! referred to, so that a range of billions costs nothing.

use super::context::{DeclTy, Symbol};
use crate::diag::Span;
use crate::ir::Block;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::borrow::Cow;

/// What a name of a function stands for.
#[derive(Debug, Clone)]
pub(super) enum Local {
    /// A register that nothing has referred to yet: its type, and elements if it is a vector.
    Unused(DeclTy, u8),
    /// Anything else.
    Is(Symbol),
}

#[derive(Debug)]
struct Entry {
    depth: u32,
    span: Span,
    local: Local,
}

/// `%r<8>`
#[derive(Debug)]
struct Family {
    depth: u32,
    span: Span,
    count: u32,
    ty: DeclTy,
    lanes: u8,
    /// Members that have been referred to.
    used: FxHashMap<u32, Symbol>,
}

/// What a lookup finds.
pub(super) enum Found<'n> {
    /// A symbol.
    Symbol(Symbol),
    /// A register to be made, and where to keep it.
    Register {
        ty: DeclTy,
        lanes: u8,
        keep: Keep<'n>,
    },
}

/// Where a new register is to be remembered.
pub(super) enum Keep<'n> {
    Name(&'n mut Local),
    Member(&'n mut FxHashMap<u32, Symbol>, u32),
}

impl Keep<'_> {
    /// Remembers it.
    pub(super) fn set(self, symbol: Symbol) {
        match self {
            Keep::Name(local) => *local = Local::Is(symbol),
            Keep::Member(used, index) => {
                used.insert(index, symbol);
            }
        }
    }
}

#[derive(Debug, Default)]
struct Scope<'s> {
    names: Vec<Cow<'s, str>>,
    families: Vec<&'s str>,
}

/// All names that are visible at one place of a function.
#[derive(Debug, Default)]
pub(super) struct Names<'s> {
    names: FxHashMap<Cow<'s, str>, SmallVec<[Entry; 1]>>,
    families: FxHashMap<&'s str, SmallVec<[Family; 1]>>,
    /// For each prefix of a parameter's name the least number behind it: a family of the body must not contain it.
    parameters: FxHashMap<String, (u32, Span)>,
    scopes: Vec<Scope<'s>>,
}

/// A name as a prefix and the number of a member. All digits at the end are the number, as `ptxas` has it.
fn member(name: &str) -> Option<(&str, u32)> {
    let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
    Some((prefix, name[prefix.len()..].parse().ok()?))
}

/// The other ways to read a name so: members of families whose prefix ends in a digit. `ptxas` takes the declaration of
/// such a family and knows no member of it.
fn other_members(name: &str) -> impl Iterator<Item = (&str, u32)> {
    // No count has more digits.
    const MOST: usize = 10;
    let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
    (1..digits.min(MOST + 1)).rev().filter_map(move |digits| {
        let (prefix, number) = name.split_at(name.len() - digits);
        Some((prefix, number.parse().ok()?))
    })
}

impl<'s> Names<'s> {
    /// Opens a scope.
    pub(super) fn open(&mut self) {
        self.scopes.push(Scope::default());
    }

    /// Closes the innermost scope; what it declared is forgotten.
    pub(super) fn close(&mut self) {
        let Some(scope) = self.scopes.pop() else {
            return;
        };
        for name in scope.names {
            if let Some(entries) = self.names.get_mut(&name) {
                entries.pop();
            }
        }
        for prefix in scope.families {
            if let Some(families) = self.families.get_mut(prefix) {
                families.pop();
            }
        }
    }

    fn depth(&self) -> u32 {
        self.scopes.len() as u32
    }

    /// Where the innermost scope itself declares a name.
    pub(super) fn declared_here(&self, name: &str) -> Option<Span> {
        let depth = self.depth();
        self.names
            .get(name)
            .and_then(|entries| entries.last())
            .filter(|e| e.depth == depth)
            .map(|e| e.span)
            .or_else(|| {
                let (prefix, number) = member(name)?;
                let family = self.families.get(prefix)?.last()?;
                (family.depth == depth && number < family.count).then_some(family.span)
            })
    }

    /// The block of a label that the innermost scope declares. A family that has the name as a member hides the label
    /// from everything else.
    pub(super) fn label_here(&self, name: &str) -> Option<Block> {
        let entry = self.names.get(name)?.last()?;
        match entry.local {
            Local::Is(Symbol::Label(block)) if entry.depth == self.depth() => Some(block),
            Local::Is(_) | Local::Unused(..) => None,
        }
    }

    /// Declares a name in the innermost scope.
    ///
    /// # Errors
    /// Where the scope declares it already.
    pub(super) fn declare(
        &mut self,
        name: Cow<'s, str>,
        span: Span,
        local: Local,
    ) -> Result<(), Span> {
        if let Some(earlier) = self.declared_here(&name) {
            return Err(earlier);
        }
        let depth = self.depth();
        let entry = Entry { depth, span, local };
        self.names.entry(name.clone()).or_default().push(entry);
        if let Some(scope) = self.scopes.last_mut() {
            scope.names.push(name);
        }
        Ok(())
    }

    /// Declares a parameter of the function in the innermost scope.
    ///
    /// # Errors
    /// As [`Names::declare`].
    pub(super) fn declare_parameter(
        &mut self,
        name: &str,
        span: Span,
        symbol: Symbol,
    ) -> Result<(), Span> {
        self.declare(name.to_string().into(), span, Local::Is(symbol))?;
        if let Some((prefix, number)) = member(name) {
            let entry = self.parameters.entry(prefix.to_string());
            let least = entry.or_insert((number, span));
            if number < least.0 {
                *least = (number, span);
            }
        }
        Ok(())
    }

    /// Declares a family of registers in the innermost scope. Single names that it overlaps are hidden.
    ///
    /// # Errors
    /// Where the scope has a family of the same prefix, or a parameter that would be a member.
    pub(super) fn declare_family(
        &mut self,
        prefix: &'s str,
        span: Span,
        count: u32,
        ty: DeclTy,
        lanes: u8,
    ) -> Result<(), Span> {
        let depth = self.depth();
        if depth == 1
            && let Some(&(number, parameter)) = self.parameters.get(prefix)
            && number < count
        {
            return Err(parameter);
        }
        let families = self.families.entry(prefix).or_default();
        if let Some(last) = families.last()
            && last.depth == depth
        {
            return Err(last.span);
        }
        families.push(Family {
            depth,
            span,
            count,
            ty,
            lanes,
            used: FxHashMap::default(),
        });
        if let Some(scope) = self.scopes.last_mut() {
            scope.families.push(prefix);
        }
        Ok(())
    }

    /// The innermost meaning of a name. In one scope a family comes before a single name.
    pub(super) fn find(&mut self, name: &str) -> Option<Found<'_>> {
        let single = self
            .names
            .get(name)
            .and_then(|entries| entries.last())
            .map_or(0, |e| e.depth);
        let of_family = |(prefix, number)| {
            let mut families = self.families.get(prefix)?.iter().rev();
            let family = families.find(|f| number < f.count && f.depth >= single)?;
            Some((prefix, number, family.depth))
        };
        let found = member(name).and_then(of_family).or_else(|| {
            let undeclared = single == 0 && !self.families.is_empty();
            undeclared.then(|| other_members(name).find_map(of_family))?
        });
        if let Some((prefix, number, depth)) = found {
            let family = self
                .families
                .get_mut(prefix)?
                .iter_mut()
                .rev()
                .find(|f| f.depth == depth)?;
            if let Some(symbol) = family.used.get(&number) {
                return Some(Found::Symbol(symbol.clone()));
            }
            return Some(Found::Register {
                ty: family.ty,
                lanes: family.lanes,
                keep: Keep::Member(&mut family.used, number),
            });
        }
        let entry = self.names.get_mut(name)?.last_mut()?;
        if let Local::Is(symbol) = &entry.local {
            return Some(Found::Symbol(symbol.clone()));
        }
        let Local::Unused(ty, lanes) = entry.local else {
            return None;
        };
        Some(Found::Register {
            ty,
            lanes,
            keep: Keep::Name(&mut entry.local),
        })
    }

    /// All single names that are visible, and the prefixes of families with their counts.
    pub(super) fn visible(&self) -> impl Iterator<Item = (&str, Option<u32>)> {
        let names = self
            .names
            .iter()
            .filter(|(_, entries)| !entries.is_empty())
            .map(|(name, _)| (&**name, None));
        let families = self
            .families
            .iter()
            .filter_map(|(prefix, f)| Some((*prefix, Some(f.last()?.count))));
        names.chain(families)
    }
}
