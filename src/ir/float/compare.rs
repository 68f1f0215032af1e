//! Comparison of floating-point numbers, and what only looks at their signs and classes.

use super::FloatTy;
use crate::ir::RegClass;

/// Comparisons. Those of two letters and `num` are false where an operand is NaN, the others true.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Relation {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Equ,
    Neu,
    Ltu,
    Leu,
    Gtu,
    Geu,
    /// Neither operand is NaN.
    Num,
    /// An operand is NaN.
    Nan,
}

impl Relation {
    /// All of them.
    pub const ALL: [Relation; 14] = [
        Relation::Eq,
        Relation::Ne,
        Relation::Lt,
        Relation::Le,
        Relation::Gt,
        Relation::Ge,
        Relation::Equ,
        Relation::Neu,
        Relation::Ltu,
        Relation::Leu,
        Relation::Gtu,
        Relation::Geu,
        Relation::Num,
        Relation::Nan,
    ];
}

/// What `set` writes where the comparison holds; 0 elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mark {
    /// All ones.
    Ones(RegClass),
    /// 1.0 of a format.
    One(FloatTy),
}

impl Mark {
    /// The class of the destination.
    pub fn class(self) -> RegClass {
        match self {
            Mark::Ones(class) => class,
            Mark::One(ty) => ty.class(),
        }
    }

    /// The mark in one lane, where numbers of a format are compared.
    #[must_use]
    pub fn of_lane(self, ty: FloatTy) -> Mark {
        match self {
            Mark::Ones(_) if ty.lanes() > 1 => Mark::Ones(ty.lane().class()),
            Mark::One(to) => Mark::One(to.lane()),
            Mark::Ones(_) => self,
        }
    }
}

/// `abs` and `neg`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Sign {
    Abs,
    Neg,
}

/// What `min` and `max` do with the signs of operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Signs {
    /// They count.
    Kept,
    /// `.abs`: magnitudes are compared, and one is the result.
    Abs,
    /// `.xorsign.abs`: the same, with the exclusive or of the operands' signs.
    Xor,
}

/// `min` and `max`. -0 is less than +0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Extreme {
    /// `max`
    pub max: bool,
    /// The format.
    pub ty: FloatTy,
    /// `.ftz`: subnormal operands become zeros of their sign.
    pub ftz: bool,
    /// `.NaN`: NaN wins; otherwise it loses.
    pub nan: bool,
    /// What is done with signs.
    pub signs: Signs,
    /// Of three operands, from left to right.
    pub three: bool,
}

/// Classes of numbers, as `testp` tells them. Zeros are normal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Class {
    Finite,
    Infinite,
    Number,
    NotANumber,
    Normal,
    Subnormal,
}
