//! Widening: what a pure instruction does for one thread, done for all threads of a run.
//!
//! The instruction is lowered for one thread, with values that stand for those of the threads; what depends on these is then said
//! again in vectors, and dropped. So each family is lowered in one way, and constants and uniform operands are seen through as ever.
//! Where Cranelift has no vector instruction ([`Widen::op`] knows those it has), the caller does it thread by thread.

mod emit;
mod shift;

use super::emit::Emit;
use super::function::{Lower, constant_memory};
use super::together::{Vectors, as_little};
use crate::ir::{Inst, Kind, Operand, RegClass};
use crate::spmd::{Name, Shape};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::types::{F32, F32X4, F64, F64X2, I8, I16, I32, I32X4, I64, I64X2};
use cranelift_codegen::ir::{self as clif, InstBuilder, InstructionData, Opcode, Type, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// A value of all threads.
#[derive(Debug, Clone)]
enum All {
    /// One for all.
    One(Value),
    /// Side by side; of a type of fewer than 32 bits, with anything above.
    Lanes(Vectors),
    /// 0 or 1, as no bits or all.
    Mask(Vectors),
}

impl Lower<'_, '_> {
    /// The first two sources of an instruction to which their places do not matter, in each place the one that was computed
    /// first: where lanes of a warp give each other values and take them together, two of them compute the same then.
    fn in_one_order(&mut self, inst: &Inst) -> Option<[(Name, Vectors); 2]> {
        let Kind::Pure(pure) = &inst.kind else {
            return None;
        };
        let &[Operand::Reg(a), Operand::Reg(b), ref others @ ..] = &pure.srcs[..] else {
            return None;
        };
        let elsewhere = |reg| others.contains(&Operand::Reg(reg));
        // What a guard leaves as it is may be one of the sources.
        if inst.guard.is_some() || !pure.op.commutes() || a == b || elsewhere(a) || elsewhere(b) {
            return None;
        }
        let names = [a, b].map(Name::from);
        let class = self.plan.names.class(names[0]);
        let alike = (names.iter())
            .all(|&n| self.plan.names.class(n) == class && self.shape(n) == Shape::Varying);
        if !alike || class == RegClass::Pred {
            return None;
        }
        let [mut first, mut second] = names.map(|name| self.vectors(name));
        for (a, b) in first.iter_mut().zip(&mut second) {
            if b < a && self.emit().ty(*a) == self.emit().ty(*b) {
                std::mem::swap(a, b);
            }
        }
        Some([(names[0], first), (names[1], second)])
    }

    /// Does a pure instruction for all threads at once; `false`, and nothing done, if that cannot be.
    pub(super) fn widen(&mut self, inst: &Inst, defs: &[Name]) -> bool {
        let plan = self.plan;
        let Some(block) = self.b.current_block() else {
            return false;
        };
        let mark = self.b.func.layout.last_inst(block);
        let mut uses = SmallVec::<[Name; 8]>::new();
        plan.names.uses(inst, |n| uses.push(n));
        uses.sort_unstable();
        uses.dedup();
        let before: SmallVec<[(Name, Option<Value>); 8]> = (uses.iter().chain(defs))
            .map(|&n| (n, self.current[n.index()]))
            .collect();
        let undo = self.undo.len();
        let mut all = FxHashMap::default();
        let ordered = self.in_one_order(inst);
        for &name in &uses {
            let ordered = ordered.iter().flatten().find(|(of, _)| *of == name);
            let vectors = match self.shape(name) {
                Shape::Uniform => continue,
                Shape::Affine(_) | Shape::Varying => match ordered {
                    Some((_, vectors)) => vectors.clone(),
                    None => self.vectors(name),
                },
            };
            let stands = self.stands_for(plan.names.class(name), vectors[0]);
            let values = match plan.names.class(name) {
                RegClass::Pred => All::Mask(vectors),
                RegClass::B8 | RegClass::B16 | RegClass::B32 | RegClass::B64 => All::Lanes(vectors),
            };
            all.insert(stands, values);
            self.current[name.index()] = Some(stands);
        }
        self.instruction(inst);
        let results: SmallVec<[Option<Value>; 4]> =
            defs.iter().map(|n| self.current[n.index()]).collect();
        self.undo.truncate(undo);
        for &(name, value) in before.iter().rev() {
            self.current[name.index()] = value;
        }
        let width = self.width();
        let mut widen = Widen {
            emit: self.emit(),
            width,
            all,
        };
        let straight = widen.emit.b.current_block() == Some(block);
        let found = match straight {
            true => {
                let results = (defs.iter())
                    .map(|&n| plan.names.class(n) == RegClass::Pred)
                    .zip(results);
                widen.instructions(block, mark, results)
            }
            false => None,
        };
        let Some(found) = found else {
            self.drop_from(block, mark);
            return false;
        };
        for (&name, values) in defs.iter().zip(found) {
            self.set_vectors(name, values);
        }
        true
    }

    /// A value for one thread that stands for those of all.
    fn stands_for(&mut self, class: RegClass, vector: Value) -> Value {
        let ty = super::emit::clif_type(class);
        let bits = self.b.ins().load(ty, constant_memory(), self.context, 0);
        match self.b.func.dfg.value_type(vector) {
            F32X4 => self.b.ins().bitcast(F32, as_little(), bits),
            F64X2 => self.b.ins().bitcast(F64, as_little(), bits),
            _ => bits,
        }
    }

    /// Takes instructions out again that stand behind one.
    fn drop_from(&mut self, block: clif::Block, mark: Option<clif::Inst>) {
        let layout = &mut self.b.func.layout;
        while let Some(inst) = layout.last_inst(block).filter(|&inst| Some(inst) != mark) {
            layout.remove_inst(inst);
        }
    }
}

/// Says instructions again in vectors.
struct Widen<'a, 'f> {
    emit: Emit<'a, 'f>,
    width: u32,
    /// What is known of values that differ between threads.
    all: FxHashMap<Value, All>,
}

/// How lanes of a type lie in vectors.
fn vector_of(ty: Type) -> Option<Type> {
    match ty {
        I8 | I16 | I32 => Some(I32X4),
        I64 => Some(I64X2),
        F32 => Some(F32X4),
        F64 => Some(F64X2),
        _ => None,
    }
}

impl Widen<'_, '_> {
    /// All instructions behind one, and the results (whether each is a predicate), as registers hold them; instructions that were
    /// said again are taken out.
    fn instructions(
        &mut self,
        block: clif::Block,
        mark: Option<clif::Inst>,
        results: impl Iterator<Item = (bool, Option<Value>)>,
    ) -> Option<Vec<Vectors>> {
        let layout = &self.emit.b.func.layout;
        let first = match mark {
            Some(mark) => layout.next_inst(mark),
            None => layout.first_inst(block),
        };
        let insts: Vec<clif::Inst> =
            std::iter::successors(first, |&inst| layout.next_inst(inst)).collect();
        let mut said_again = Vec::new();
        for inst in insts {
            let dfg = &self.emit.b.func.dfg;
            let known = |value: &Value| self.all.contains_key(&dfg.resolve_aliases(*value));
            if dfg.inst_results(inst).iter().any(known) {
                said_again.push(inst);
            } else if dfg.inst_args(inst).iter().any(known) {
                said_again.push(inst);
                self.instruction(inst)?;
            }
        }
        let mut found = Vec::new();
        for (is_predicate, value) in results {
            found.push(match is_predicate {
                true => self.mask(value?)?,
                false => self.lanes(value?)?,
            });
        }
        for inst in said_again {
            self.emit.b.func.layout.remove_inst(inst);
        }
        Some(found)
    }

    fn all(&self, value: Value) -> All {
        let value = self.emit.b.func.dfg.resolve_aliases(value);
        self.all.get(&value).cloned().unwrap_or(All::One(value))
    }

    /// A value side by side, with anything above its bits.
    fn lanes(&mut self, value: Value) -> Option<Vectors> {
        let ty = self.emit.ty(value);
        let vector = vector_of(ty)?;
        Some(match self.all(value) {
            All::Lanes(lanes) => lanes,
            All::Mask(mask) => {
                let one = self.emit.lanes_k(I32X4, &[1; 4]);
                mask.into_iter()
                    .map(|m| self.emit.ins().band(m, one))
                    .collect()
            }
            All::One(value) => {
                let all = match (self.emit.constant(value), ty) {
                    (Some(k), I8 | I16 | I32) => self.emit.lanes_k(vector, &[k as i64; 4]),
                    (Some(k), I64) => self.emit.lanes_k(vector, &[k as i64; 2]),
                    (None, I8 | I16) => {
                        let value = self.emit.resize(value, I32, false);
                        self.emit.all_lanes(vector, value)
                    }
                    (Some(_) | None, _) => self.emit.all_lanes(vector, value),
                };
                (0..self.width / vector.lane_count()).map(|_| all).collect()
            }
        })
    }

    /// A condition as masks.
    fn mask(&mut self, value: Value) -> Option<Vectors> {
        match self.all(value) {
            All::Mask(mask) => Some(mask),
            All::One(value) => {
                let is_set = self.emit.cmp_k(IntCC::NotEqual, value, 0);
                let is_set = self.emit.resize(is_set, I32, false);
                let mask = self.emit.ins().ineg(is_set);
                let all = self.emit.all_lanes(I32X4, mask);
                Some((0..self.width / 4).map(|_| all).collect())
            }
            All::Lanes(_) => {
                let zero = self.emit.lanes_k(I32X4, &[0; 4]);
                let lanes = self.extended(value, false)?;
                (lanes.into_iter())
                    .map(|v| Some(self.emit.ins().icmp(IntCC::NotEqual, v, zero)))
                    .collect()
            }
        }
    }

    /// A value of 32 bits or fewer, side by side and extended to these.
    fn extended(&mut self, value: Value, signed: bool) -> Option<Vectors> {
        let ty = self.emit.ty(value);
        let mut lanes = self.lanes(value)?;
        if matches!(ty, I8 | I16) && !matches!(self.all(value), All::Mask(_)) {
            for lane in &mut lanes {
                *lane = if signed {
                    let shift = 32 - ty.bits();
                    let up = self.emit.shl_k(*lane, shift);
                    self.emit.sar_k(up, shift)
                } else {
                    let mask = self
                        .emit
                        .lanes_k(I32X4, &[i64::from(u32::MAX >> (32 - ty.bits())); 4]);
                    self.emit.ins().band(*lane, mask)
                };
            }
        }
        Some(lanes)
    }

    /// The low words of lanes of 64 bits.
    fn even_words(&mut self, wide: &[Value]) -> Vectors {
        self.picked_words(wide, [0, 2, 4, 6])
    }

    fn picked_words(&mut self, wide: &[Value], words: [u8; 4]) -> Vectors {
        (wide.chunks(2))
            .map(|pair| self.emit.pick_words(pair[0], pair[1], words))
            .collect()
    }

    /// Masks for lanes of 64 bits.
    fn wide_masks(&mut self, masks: &[Value]) -> Vectors {
        (masks.iter())
            .flat_map(|&m| {
                let low = self.emit.pick_words(m, m, [0, 0, 1, 1]);
                let high = self.emit.pick_words(m, m, [2, 2, 3, 3]);
                [low, high].map(|v| self.emit.cast(I64X2, v))
            })
            .collect()
    }

    fn each(&mut self, x: &[Value], mut f: impl FnMut(&mut Emit<'_, '_>, Value) -> Value) -> All {
        let mut emit = Emit {
            b: self.emit.b,
            address_bits: self.emit.address_bits,
        };
        All::Lanes(x.iter().map(|&v| f(&mut emit, v)).collect())
    }

    fn pairs(
        &mut self,
        x: &[Value],
        y: &[Value],
        mut f: impl FnMut(&mut Emit<'_, '_>, Value, Value) -> Value,
    ) -> All {
        let mut emit = Emit {
            b: self.emit.b,
            address_bits: self.emit.address_bits,
        };
        All::Lanes(
            (x.iter().zip(y))
                .map(|(&a, &b)| f(&mut emit, a, b))
                .collect(),
        )
    }

    /// An instruction of one result that varies; `None` if there is none such for vectors.
    fn instruction(&mut self, inst: clif::Inst) -> Option<()> {
        let dfg = &self.emit.b.func.dfg;
        let data = dfg.insts[inst];
        let args: SmallVec<[Value; 3]> = dfg.inst_args(inst).into();
        let &[result] = dfg.inst_results(inst) else {
            return None;
        };
        let values = self.op(data, &args, self.emit.ty(result))?;
        self.all.insert(result, values);
        Some(())
    }

    fn op(&mut self, data: InstructionData, args: &[Value], ty: Type) -> Option<All> {
        use Opcode as Op;
        let from = args.first().map(|&a| self.emit.ty(a))?;
        let opcode = data.opcode();
        vector_of(ty)?;
        vector_of(from)?;
        Some(match opcode {
            Op::Band | Op::Bor | Op::Bxor if ty == I8 && self.is_mask(args) => {
                let constant = args.iter().find_map(|&a| self.emit.constant(a));
                if opcode == Op::Bxor && constant == Some(1) {
                    let other = args.iter().find(|&&a| self.emit.constant(a).is_none())?;
                    let mask = self.mask(*other)?;
                    let All::Lanes(mask) = self.each(&mask, |e, v| e.ins().bnot(v)) else {
                        return None;
                    };
                    return Some(All::Mask(mask));
                }
                let (a, b) = (self.mask(args[0])?, self.mask(args[1])?);
                let All::Lanes(mask) = self.pairs(&a, &b, |e, a, b| match opcode {
                    Op::Band => e.ins().band(a, b),
                    Op::Bor => e.ins().bor(a, b),
                    _ => e.ins().bxor(a, b),
                }) else {
                    return None;
                };
                All::Mask(mask)
            }
            Op::Iadd
            | Op::Isub
            | Op::Imul
            | Op::Band
            | Op::Bor
            | Op::Bxor
            | Op::Fadd
            | Op::Fsub
            | Op::Fmul
            | Op::Fdiv
            | Op::Fmin
            | Op::Fmax => {
                let (a, b) = (self.lanes(args[0])?, self.lanes(args[1])?);
                self.pairs(&a, &b, |e, a, b| match opcode {
                    Op::Iadd => e.ins().iadd(a, b),
                    Op::Isub => e.ins().isub(a, b),
                    Op::Imul => e.ins().imul(a, b),
                    Op::Band => e.ins().band(a, b),
                    Op::Bor => e.ins().bor(a, b),
                    Op::Bxor => e.ins().bxor(a, b),
                    Op::Fadd => e.ins().fadd(a, b),
                    Op::Fsub => e.ins().fsub(a, b),
                    Op::Fmul => e.ins().fmul(a, b),
                    Op::Fdiv => e.ins().fdiv(a, b),
                    Op::Fmin => e.ins().fmin(a, b),
                    _ => e.ins().fmax(a, b),
                })
            }
            Op::Smin | Op::Smax | Op::Umin | Op::Umax => {
                let signed = matches!(opcode, Op::Smin | Op::Smax);
                let (a, b) = match ty {
                    I64 => (self.lanes(args[0])?, self.lanes(args[1])?),
                    _ => (
                        self.extended(args[0], signed)?,
                        self.extended(args[1], signed)?,
                    ),
                };
                self.pairs(&a, &b, |e, a, b| match opcode {
                    Op::Smin => e.ins().smin(a, b),
                    Op::Smax => e.ins().smax(a, b),
                    Op::Umin => e.ins().umin(a, b),
                    _ => e.ins().umax(a, b),
                })
            }
            Op::Bnot
            | Op::Ineg
            | Op::Fneg
            | Op::Fabs
            | Op::Sqrt
            | Op::Ceil
            | Op::Floor
            | Op::Trunc
            | Op::Nearest => {
                let a = self.lanes(args[0])?;
                self.each(&a, |e, a| match opcode {
                    Op::Bnot => e.ins().bnot(a),
                    Op::Ineg => e.ins().ineg(a),
                    Op::Fneg => e.ins().fneg(a),
                    Op::Fabs => e.ins().fabs(a),
                    Op::Sqrt => e.ins().sqrt(a),
                    Op::Ceil => e.ins().ceil(a),
                    Op::Floor => e.ins().floor(a),
                    Op::Trunc => e.ins().trunc(a),
                    _ => e.ins().nearest(a),
                })
            }
            Op::Iabs => {
                let a = match ty {
                    I64 => self.lanes(args[0])?,
                    _ => self.extended(args[0], true)?,
                };
                self.each(&a, |e, a| e.ins().iabs(a))
            }
            Op::Fma => {
                let [a, b, c] = [0, 1, 2].map(|i| self.lanes(args[i]));
                let (a, b, c) = (a?, b?, c?);
                let mut c = c.into_iter();
                self.pairs(&a, &b, |e, a, b| match c.next() {
                    Some(c) => e.ins().fma(a, b, c),
                    None => a,
                })
            }
            Op::Ishl | Op::Ushr | Op::Sshr | Op::Rotl | Op::Rotr => {
                return self.shift(opcode, args, ty);
            }
            Op::Icmp => {
                let InstructionData::IntCompare { cond, .. } = data else {
                    return None;
                };
                self.icmp(cond, args, from)?
            }
            Op::Fcmp => {
                let InstructionData::FloatCompare { cond, .. } = data else {
                    return None;
                };
                self.fcmp(cond, args, from)?
            }
            Op::Select => self.select(args, ty)?,
            Op::Bitselect => {
                let [c, a, b] = [0, 1, 2].map(|i| self.lanes(args[i]));
                let (c, a, b) = (c?, a?, b?);
                let mut c = c.into_iter();
                self.pairs(&a, &b, |e, a, b| match c.next() {
                    Some(c) => e.ins().bitselect(c, a, b),
                    None => a,
                })
            }
            Op::Uextend | Op::Sextend => {
                let signed = opcode == Op::Sextend;
                let a = self.extended(args[0], signed)?;
                if ty != I64 {
                    return Some(All::Lanes(a));
                }
                All::Lanes(
                    (a.iter())
                        .flat_map(|&v| match signed {
                            true => [
                                self.emit.ins().swiden_low(v),
                                self.emit.ins().swiden_high(v),
                            ],
                            false => [
                                self.emit.ins().uwiden_low(v),
                                self.emit.ins().uwiden_high(v),
                            ],
                        })
                        .collect(),
                )
            }
            Op::Ireduce => {
                let a = self.lanes(args[0])?;
                match from {
                    I64 => All::Lanes(self.even_words(&a)),
                    _ => All::Lanes(a),
                }
            }
            Op::Bitcast if ty.bits() == from.bits() => {
                let a = self.lanes(args[0])?;
                let vector = vector_of(ty)?;
                All::Lanes(a.into_iter().map(|v| self.emit.cast(vector, v)).collect())
            }
            Op::Fcopysign => {
                let (a, b) = (self.lanes(args[0])?, self.lanes(args[1])?);
                let (int, sign) = match ty {
                    F32 => (I32X4, self.emit.lanes_k(I32X4, &[i64::from(i32::MIN); 4])),
                    _ => (I64X2, self.emit.lanes_k(I64X2, &[i64::MIN; 2])),
                };
                let vector = vector_of(ty)?;
                All::Lanes(
                    (a.iter().zip(&b))
                        .map(|(&a, &b)| {
                            let [a, b] = [a, b].map(|v| self.emit.cast(int, v));
                            let d = self.emit.ins().bitselect(sign, b, a);
                            self.emit.cast(vector, d)
                        })
                        .collect(),
                )
            }
            Op::Fpromote => {
                let a = self.lanes(args[0])?;
                All::Lanes(
                    (a.iter())
                        .flat_map(|&v| {
                            let high = self.emit.pick_words(v, v, [2, 3, 2, 3]);
                            let high = self.emit.cast(F32X4, high);
                            [v, high].map(|v| self.emit.ins().fvpromote_low(v))
                        })
                        .collect(),
                )
            }
            Op::Fdemote => {
                let a = self.lanes(args[0])?;
                let halves: Vectors = a.iter().map(|&v| self.emit.ins().fvdemote(v)).collect();
                let whole = self.picked_words(&halves, [0, 1, 4, 5]);
                All::Lanes(
                    whole
                        .into_iter()
                        .map(|v| self.emit.cast(F32X4, v))
                        .collect(),
                )
            }
            Op::FcvtFromSint | Op::FcvtFromUint if ty == F32 && from == I32 => {
                let a = self.lanes(args[0])?;
                self.each(&a, |e, a| match opcode {
                    Op::FcvtFromSint => e.ins().fcvt_from_sint(F32X4, a),
                    _ => e.ins().fcvt_from_uint(F32X4, a),
                })
            }
            Op::FcvtFromSint if ty == F64 && from == I32 => {
                let a = self.lanes(args[0])?;
                All::Lanes(
                    (a.iter())
                        .flat_map(|&v| {
                            let high = self.emit.pick_words(v, v, [2, 3, 2, 3]);
                            [v, high].map(|v| {
                                let wide = self.emit.ins().swiden_low(v);
                                self.emit.ins().fcvt_from_sint(F64X2, wide)
                            })
                        })
                        .collect(),
                )
            }
            Op::FcvtToSintSat | Op::FcvtToUintSat if ty == I32 && from == F32 => {
                let a = self.lanes(args[0])?;
                self.each(&a, |e, a| match opcode {
                    Op::FcvtToSintSat => e.ins().fcvt_to_sint_sat(I32X4, a),
                    _ => e.ins().fcvt_to_uint_sat(I32X4, a),
                })
            }
            Op::Umulhi | Op::Smulhi if ty == I32 => {
                let (a, b) = (self.lanes(args[0])?, self.lanes(args[1])?);
                let products = self.products(&a, &b, opcode == Op::Smulhi);
                All::Lanes(self.picked_words(&products, [1, 3, 5, 7]))
            }
            Op::Popcnt if ty == I32 => {
                let a = self.lanes(args[0])?;
                self.each(&a, |e, v| e.ones_of_lanes(v))
            }
            Op::Clz if ty == I32 => {
                let a = self.lanes(args[0])?;
                self.each(&a, |e, v| {
                    // Ones from the highest on, so that the zeros above it are left.
                    let below = [1, 2, 4, 8, 16].iter().fold(v, |v, &steps| {
                        let lower = e.shr_k(v, steps);
                        e.or(v, lower)
                    });
                    let above = e.ins().bnot(below);
                    e.ones_of_lanes(above)
                })
            }
            Op::Ctz if ty == I32 => {
                let a = self.lanes(args[0])?;
                let ones = self.emit.lanes_k(I32X4, &[-1; 4]);
                self.each(&a, |e, v| {
                    let less = e.ins().iadd(v, ones);
                    let below = e.ins().band_not(less, v);
                    e.ones_of_lanes(below)
                })
            }
            Op::Bswap if ty == I32 || ty == I64 => {
                let a = self.lanes(args[0])?;
                let vector = vector_of(ty)?;
                let last = ty.bytes() as u8 - 1;
                let bytes = std::array::from_fn(|i| i as u8 ^ last);
                self.each(&a, |e, v| {
                    let turned = e.pick_bytes(v, v, bytes);
                    e.cast(vector, turned)
                })
            }
            Op::Bitrev if ty == I32 || ty == I64 => {
                let a = self.lanes(args[0])?;
                let vector = vector_of(ty)?;
                let last = ty.bytes() as u8 - 1;
                let bytes = std::array::from_fn(|i| i as u8 ^ last);
                self.each(&a, |e, v| {
                    let turned = e.pick_bytes(v, v, bytes);
                    let mut bits = e.cast(I32X4, turned);
                    for (steps, low) in [(4, 0x0f0f_0f0f), (2, 0x3333_3333), (1, 0x5555_5555)] {
                        let low = e.lanes_k(I32X4, &[low; 4]);
                        let down = e.shr_k(bits, steps);
                        let down = e.ins().band(down, low);
                        let up = e.ins().band(bits, low);
                        let up = e.shl_k(up, steps);
                        bits = e.or(up, down);
                    }
                    e.cast(vector, bits)
                })
            }
            _ => return None,
        })
    }

    fn is_mask(&self, args: &[Value]) -> bool {
        args.iter().all(|&a| match self.all(a) {
            All::Mask(_) => true,
            All::One(a) => self.emit.constant(a).is_none_or(|k| k < 2),
            All::Lanes(_) => false,
        })
    }

    /// Products of 64 bits of lanes of 32.
    fn products(&mut self, a: &[Value], b: &[Value], signed: bool) -> Vectors {
        (a.iter().zip(b))
            .flat_map(|(&a, &b)| {
                let wide = |e: &mut Emit<'_, '_>, v: Value| match signed {
                    true => [e.ins().swiden_low(v), e.ins().swiden_high(v)],
                    false => [e.ins().uwiden_low(v), e.ins().uwiden_high(v)],
                };
                let a = wide(&mut self.emit, a);
                let b = wide(&mut self.emit, b);
                [0, 1].map(|i| self.emit.ins().imul(a[i], b[i]))
            })
            .collect()
    }

    fn icmp(&mut self, cond: IntCC, args: &[Value], from: Type) -> Option<All> {
        let signed = matches!(
            cond,
            IntCC::SignedLessThan
                | IntCC::SignedLessThanOrEqual
                | IntCC::SignedGreaterThan
                | IntCC::SignedGreaterThanOrEqual
        );
        let (a, b) = match from {
            I64 => (self.lanes(args[0])?, self.lanes(args[1])?),
            _ => (
                self.extended(args[0], signed)?,
                self.extended(args[1], signed)?,
            ),
        };
        let All::Lanes(mask) = self.pairs(&a, &b, |e, a, b| e.ins().icmp(cond, a, b)) else {
            return None;
        };
        Some(All::Mask(match from {
            I64 => self.even_words(&mask),
            _ => mask,
        }))
    }

    fn fcmp(&mut self, cond: FloatCC, args: &[Value], from: Type) -> Option<All> {
        let (a, b) = (self.lanes(args[0])?, self.lanes(args[1])?);
        // Two comparisons that there are not for vectors.
        let (cond, negated) = match cond {
            FloatCC::UnorderedOrEqual => (FloatCC::OrderedNotEqual, true),
            cond => (cond, false),
        };
        let All::Lanes(mut mask) = self.pairs(&a, &b, |e, a, b| match cond {
            FloatCC::OrderedNotEqual => {
                let less = e.ins().fcmp(FloatCC::LessThan, a, b);
                let greater = e.ins().fcmp(FloatCC::GreaterThan, a, b);
                e.ins().bor(less, greater)
            }
            cond => e.ins().fcmp(cond, a, b),
        }) else {
            return None;
        };
        if from == F64 {
            mask = self.even_words(&mask);
        }
        if negated {
            for m in &mut mask {
                *m = self.emit.ins().bnot(*m);
            }
        }
        Some(All::Mask(mask))
    }

    fn select(&mut self, args: &[Value], ty: Type) -> Option<All> {
        let mask = self.mask(args[0])?;
        let either = [args[1], args[2]];
        let masks = either.map(|a| matches!(self.all(a), All::Mask(_)));
        if ty == I8 && masks.contains(&true) && self.is_mask(&either) {
            let (a, b) = (self.mask(args[1])?, self.mask(args[2])?);
            let mut mask = mask.into_iter();
            let All::Lanes(d) = self.pairs(&a, &b, |e, a, b| match mask.next() {
                Some(m) => e.ins().bitselect(m, a, b),
                None => a,
            }) else {
                return None;
            };
            return Some(All::Mask(d));
        }
        let (a, b) = (self.lanes(args[1])?, self.lanes(args[2])?);
        let vector = vector_of(ty)?;
        let mask = match ty.bits() {
            64 => self.wide_masks(&mask),
            _ => mask,
        };
        let mask: Vectors = mask
            .into_iter()
            .map(|m| self.emit.cast(vector, m))
            .collect();
        let mut mask = mask.into_iter();
        Some(self.pairs(&a, &b, |e, a, b| match mask.next() {
            Some(m) => e.ins().bitselect(m, a, b),
            None => a,
        }))
    }
}
