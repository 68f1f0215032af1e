//! Extended-precision arithmetic. PTX ISA, "Extended-Precision Integer Arithmetic Instructions".
//!
//! The condition code CC.CF is an ordinary predicate register of the function here ([`Function::carry`]), so a
//! guarded instruction leaves it alone like any other destination. It is the machine carry: `sub` sets it when
//! there is no borrow.
//!
//! [`Function::carry`]: super::Function::carry

use super::{IntTy, RegClass, Signature};

/// The operators. With `carry_in` the carry is the last source; with `carry_out` it is the second destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Op {
    /// d = a + b (+ CF)
    #[allow(missing_docs)]
    Add {
        ty: IntTy,
        carry_in: bool,
        carry_out: bool,
    },
    /// d = a + ~b + 1, or a + ~b + CF with `carry_in`; carry out of that sum.
    #[allow(missing_docs)]
    Sub {
        ty: IntTy,
        carry_in: bool,
        carry_out: bool,
    },
    /// d = (low or high half of a * b) + c (+ CF)
    #[allow(missing_docs)]
    Mad {
        high: bool,
        ty: IntTy,
        carry_in: bool,
        carry_out: bool,
    },
}

impl Op {
    /// Classes of sources and destinations.
    pub fn signature(self) -> Signature {
        let (ty, sources, carry_in, carry_out) = match self {
            Op::Add {
                ty,
                carry_in,
                carry_out,
            }
            | Op::Sub {
                ty,
                carry_in,
                carry_out,
            } => (ty, 2, carry_in, carry_out),
            Op::Mad {
                ty,
                carry_in,
                carry_out,
                ..
            } => (ty, 3, carry_in, carry_out),
        };
        let mut signature = Signature::new(&vec![ty.class(); sources], &[ty.class()]);
        if carry_in {
            signature.srcs.push(RegClass::Pred);
        }
        if carry_out {
            signature.dsts.push(RegClass::Pred);
        }
        signature
    }
}
