//! Comparison and selection of integers. PTX ISA, "Comparison and Selection Instructions".

use super::float::Mark;
use super::{IntTy, RegClass, Signature};

/// Comparisons; the type says whether signed. `lo ls hi hs` are `Lt Le Gt Ge` of an unsigned type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum CmpOp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// `.and`, `.or`, `.xor`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum BoolOp {
    And,
    Or,
    Xor,
}

/// The operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Op {
    /// t = a cmp b. Destinations p = t, q = !t; with `combine` (source c): p = t op c, q = !t op c.
    #[allow(missing_docs)]
    Setp {
        cmp: CmpOp,
        ty: IntTy,
        combine: Option<BoolOp>,
    },
    /// d = the mark of true where t (combined with source c), else 0.
    #[allow(missing_docs)]
    Set {
        cmp: CmpOp,
        ty: IntTy,
        combine: Option<BoolOp>,
        to: Mark,
    },
    /// d = p ? a : b. Sources a b p.
    #[allow(missing_docs)]
    Selp { class: RegClass },
    /// d = c >= 0 ? a : b, c signed 32 bits. Sources a b c.
    #[allow(missing_docs)]
    Slct { class: RegClass },
}

impl Op {
    /// Classes of sources and destinations.
    pub fn signature(self) -> Signature {
        use RegClass::{B32, Pred};
        let mut signature = match self {
            Op::Setp { ty, .. } => Signature::new(&[ty.class(); 2], &[Pred, Pred]),
            Op::Set { ty, to, .. } => Signature::new(&[ty.class(); 2], &[to.class()]),
            Op::Selp { class } => Signature::new(&[class, class, Pred], &[class]),
            Op::Slct { class } => Signature::new(&[class, class, B32], &[class]),
        };
        match self {
            Op::Setp {
                combine: Some(_), ..
            }
            | Op::Set {
                combine: Some(_), ..
            } => signature.srcs.push(Pred),
            Op::Setp { .. } | Op::Set { .. } | Op::Selp { .. } | Op::Slct { .. } => {}
        }
        signature
    }
}
