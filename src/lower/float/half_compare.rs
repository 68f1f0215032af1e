//! Comparison of numbers of 16 bits, and what only looks at their signs: on integers, two lanes at a time where the bits allow.

use super::compare::condition;
use super::half::Layout;
use crate::ir::compare::BoolOp;
use crate::ir::float::{Extreme, FloatTy, Mark, Relation, Sign, Signs};
use crate::lower::emit::Emit;
use cranelift_codegen::ir::condcodes::CondCode;
use cranelift_codegen::ir::types::{I16, I32};
use cranelift_codegen::ir::{InstBuilder, Value};
use smallvec::{SmallVec, smallvec};

/// The signs of both lanes.
const SIGNS: u64 = 0x8000_8000;

impl Emit<'_, '_> {
    /// |a| or -a
    pub(super) fn half_sign(&mut self, op: Sign, ty: FloatTy, ftz: bool, a: Value) -> Value {
        let word = self.half_word(a, ftz);
        let nan = self.nan_lanes(ty, word);
        let ones = self.magnitudes_of(nan);
        let d = match op {
            Sign::Abs => {
                let magnitudes = self.and_k(word, !SIGNS & 0xffff_ffff);
                self.or(magnitudes, ones)
            }
            Sign::Neg => {
                let signs = self.k(I32, SIGNS);
                let negated = self.ins().bxor(word, signs);
                let d = self.or(negated, ones);
                self.ins().band_not(d, nan)
            }
        };
        self.of_half_word(ty, d)
    }

    /// `min`, `max`
    pub(super) fn half_extreme(&mut self, extreme: Extreme, srcs: &[Value]) -> Value {
        let Extreme {
            max,
            ty,
            ftz,
            nan,
            signs,
            ..
        } = extreme;
        let words: SmallVec<[Value; 3]> = srcs.iter().map(|&s| self.half_word(s, ftz)).collect();
        // NaN is the greatest of all, or with the sign set the least.
        let nan_is_least = max != nan;
        let ranks: SmallVec<[Value; 3]> = (words.iter())
            .map(|&word| {
                let word = match signs {
                    Signs::Kept => word,
                    Signs::Abs | Signs::Xor => self.and_k(word, !SIGNS & 0xffff_ffff),
                };
                let is_nan = self.nan_lanes(ty, word);
                let ones = self.magnitudes_of(is_nan);
                let word = self.or(word, ones);
                let word = if nan_is_least {
                    self.or(word, is_nan)
                } else {
                    self.ins().band_not(word, is_nan)
                };
                self.ranked(word)
            })
            .collect();
        let mut rank = ranks[0];
        for &next in &ranks[1..] {
            rank = self.extreme_lanes(max, ty, rank, next);
        }
        let mut d = self.ranked(rank);
        let is_nan = (nan_is_least || signs == Signs::Xor).then(|| self.nan_lanes(ty, d));
        if signs == Signs::Xor {
            let xor = self.ins().bxor(words[0], words[1]);
            let sign = self.and_k(xor, SIGNS);
            d = self.or(d, sign);
        }
        if let Some(is_nan) = is_nan {
            d = self.ins().band_not(d, is_nan);
        }
        self.of_half_word(ty, d)
    }

    /// The lesser or greater of the lanes as signed integers.
    fn extreme_lanes(&mut self, max: bool, ty: FloatTy, a: Value, b: Value) -> Value {
        let pick = |e: &mut Self, a: Value, b: Value| {
            if max {
                e.ins().smax(a, b)
            } else {
                e.ins().smin(a, b)
            }
        };
        let [low_a, low_b] = [a, b].map(|x| self.shl_k(x, 16));
        let low = pick(self, low_a, low_b);
        let low = self.shr_k(low, 16);
        if ty.lanes() == 1 {
            return low;
        }
        let high = pick(self, a, b);
        let high = self.and_k(high, 0xffff_0000);
        self.or(low, high)
    }

    /// The signs of those lanes that are NaN.
    fn nan_lanes(&mut self, ty: FloatTy, word: Value) -> Value {
        let room = 0x7fff - Layout::half(ty).infinity();
        let magnitudes = self.and_k(word, !SIGNS & 0xffff_ffff);
        // What exceeds infinity carries into the place of the sign.
        let carries = self.add_k(magnitudes, room << 16 | room);
        self.and_k(carries, SIGNS)
    }

    /// Below each sign that is set, 15 ones.
    fn magnitudes_of(&mut self, signs: Value) -> Value {
        let units = self.shr_k(signs, 15);
        self.ins().isub(signs, units)
    }

    /// Lanes that compare as integers as these do as numbers, -0 below +0; and back.
    fn ranked(&mut self, word: Value) -> Value {
        let signs = self.and_k(word, SIGNS);
        let ones = self.magnitudes_of(signs);
        self.ins().bxor(word, ones)
    }

    /// A word of the lanes as a value of the format's integer type.
    fn of_half_word(&mut self, ty: FloatTy, word: Value) -> Value {
        if ty.lanes() == 1 {
            self.ins().ireduce(I16, word)
        } else {
            word
        }
    }

    /// For each lane two values that compare as the numbers do.
    fn half_pairs(
        &mut self,
        ty: FloatTy,
        ftz: bool,
        srcs: &[Value],
    ) -> SmallVec<[(Value, Value); 2]> {
        let [a, b] = [0, 1].map(|i| self.halves_to_comparable(ty, srcs[i], ftz));
        a.into_iter().zip(b).collect()
    }

    /// `setp`: of packed formats p is for the first lane, and q for the second.
    pub(super) fn half_setp(
        &mut self,
        cmp: Relation,
        ty: FloatTy,
        ftz: bool,
        combine: Option<BoolOp>,
        srcs: &[Value],
    ) -> SmallVec<[Value; 2]> {
        let cc = condition(cmp);
        let pairs = self.half_pairs(ty, ftz, srcs);
        let holds: [Value; 2] = match pairs[..] {
            [(a, b), (c, d)] => [self.ins().fcmp(cc, a, b), self.ins().fcmp(cc, c, d)],
            _ => {
                let (a, b) = pairs[0];
                [
                    self.ins().fcmp(cc, a, b),
                    self.ins().fcmp(cc.complement(), a, b),
                ]
            }
        };
        match combine {
            None => smallvec![holds[0], holds[1]],
            Some(combine) => holds
                .into_iter()
                .map(|t| self.combine(combine, t, srcs[2]))
                .collect(),
        }
    }

    /// `set`: of packed formats a mark in each lane.
    pub(super) fn half_set(
        &mut self,
        cmp: Relation,
        ty: FloatTy,
        ftz: bool,
        combine: Option<BoolOp>,
        to: Mark,
        srcs: &[Value],
    ) -> Value {
        let marks: SmallVec<[Value; 2]> = (self.half_pairs(ty, ftz, srcs).into_iter())
            .map(|(a, b)| {
                let t = self.ins().fcmp(condition(cmp), a, b);
                let t = match combine {
                    None => t,
                    Some(combine) => self.combine(combine, t, srcs[2]),
                };
                self.marked(t, to.of_lane(ty))
            })
            .collect();
        match marks[..] {
            [low, high] => {
                let [low, high] = [low, high].map(|mark| self.resize(mark, I32, false));
                let high = self.shl_k(high, 16);
                self.or(low, high)
            }
            _ => marks[0],
        }
    }
}
