//! Threads that go together: the loop over runs of threads, what each instruction does for a run, and how a run is left.
//!
//! What is the same for all threads of a run, or differs by a constant from one to the next, is a value of the first thread, and its
//! instructions are those of a single thread. The rest lies in vectors ([`Vectors`]): pure instructions are widened
//! ([`widen`](super::widen)), accesses side by side are one ([`memory`](super::memory)), and anything else is done for one thread after the
//! other. Where threads part, what lives is kept in memory and each goes on by itself, for good or until they meet again ([`sides`]).

mod idle;
mod lanes;
mod leaves;
mod masks;
mod sides;
mod warp;

use super::context::DONE;
use super::emit::clif_type;
use super::function::Lower;
use super::region::Taken;
use super::site::Cause;
use crate::ir::memory::{Base, Order, Space, Store};
use crate::ir::{Block, Inst, Kind, Operand, Reg, RegClass};
use crate::spmd::uniformity::loads_the_same;
use crate::spmd::wide::{Leave, Sides};
use crate::spmd::{Flow, Name, Run, Shape, Wide};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::types::{F32X4, F64X2, I8, I32, I32X4, I64, I64X2};
use cranelift_codegen::ir::{
    self as clif, Endianness, InstBuilder, MemFlagsData, StackSlot, Type, Value,
};
use masks::Ends;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// The values of a register of all threads of a run, in their order: four in each vector, two if they have 64 bits. Values of fewer than 32 bits
/// lie in lanes of 32, whose upper bits may be anything; predicates have all bits of their lanes set, or none.
pub(super) type Vectors = SmallVec<[Value; 4]>;

/// Bytes of a vector.
pub(super) const VECTOR: u32 = 16;

/// Fewer vectors than that are looked through for NaN one by one.
const FEW_SETTLED: usize = 3;

/// Most instructions of a kernel in which what is the same for all runs is computed once.
const HOISTED: usize = 64;

/// The threads of a run.
#[derive(Debug)]
pub(super) struct Together<'a> {
    pub(super) plan: &'a Wide,
    /// The values of names that vary; `None` is zero.
    vectors: Vec<Option<Vectors>>,
    undo: Vec<(Name, Option<Vectors>)>,
    /// What is known of predicates by their ends.
    ends: FxHashMap<Name, Ends>,
    /// Where it is kept what lives when the run is left.
    kept: StackSlot,
    /// Where its threads go on one by one.
    apart: Apart,
    /// Whether it is one thread's turn, which has values of its own.
    one_lane: bool,
    /// Whether it is the turn of a [`STRIP`].
    strip: bool,
}

/// Threads of a run that go their way together where not all of them do: a vector of values of 32 bits.
const STRIP: u32 = 4;

/// Where the threads of a run go on one by one.
#[derive(Debug, Clone, Copy)]
enum Apart {
    /// In a kernel whose threads do not stop: here, with the first one's `%tid.x`, where they end, and where they take over.
    Threads(clif::Block),
    /// In one whose threads stop: the lanes.
    Lanes {
        /// Where they take over.
        taken: Taken,
        /// Where each goes on from where it stands.
        head: clif::Block,
    },
}

/// What becomes of threads that part at a branch.
#[derive(Debug, Clone, Copy)]
pub(super) enum Parts<'a> {
    /// Each goes on by itself, at a place with this number.
    ForGood(u32, Leave),
    /// They meet again.
    Meets(&'a Sides),
}

/// The first thread of a run.
pub(super) struct First {
    tid: Option<[Value; 3]>,
    number: Option<Value>,
}

/// Lanes in a vector of values of a class.
pub(super) fn lanes_of(class: RegClass) -> u32 {
    match class {
        RegClass::B64 => 2,
        RegClass::Pred | RegClass::B8 | RegClass::B16 | RegClass::B32 => 4,
    }
}

/// The vectors of a class.
pub(super) fn vector_type(class: RegClass) -> Type {
    match class {
        RegClass::B64 => I64X2,
        RegClass::Pred | RegClass::B8 | RegClass::B16 | RegClass::B32 => I32X4,
    }
}

/// Flags of a bitcast between vectors.
pub(super) fn as_little() -> MemFlagsData {
    MemFlagsData::new().with_endianness(Endianness::Little)
}

impl<'a> Lower<'a, '_> {
    /// A kernel whose threads go together as long as they can: runs of them in x, then those that are left, one after another.
    pub(super) fn runs_of_threads(&mut self, wide: &'a Wide) {
        let width = self.width();
        self.function = &wide.function;
        self.runs_of = &wide.runs;
        let [nz, ny, nx] = self.block_size();
        let zero = self.k(I32, 0);
        let mut loops = SmallVec::<[_; 3]>::new();
        for count in [nz, ny, nx] {
            let head = self.b.create_block();
            let index = self.b.append_block_param(head, I32);
            self.b.ins().jump(head, &[zero.into()]);
            self.b.switch_to_block(head);
            loops.push((head, index, count));
        }
        let (head, first, _) = loops[2];
        let [z, y] = [loops[0].1, loops[1].1];
        let [run, tail, over, single] = [(); 4].map(|()| self.b.create_block());
        // Where it is asked whether there are more threads in the row: Cranelift hoists what is the same for all runs out of the loop if that is
        // at its end. It would fill all registers and more in large kernels.
        let insts: usize = wide.function.blocks.iter().map(|b| b.insts.len()).sum();
        let row = match insts <= HOISTED {
            true => self.b.create_block(),
            false => head,
        };
        let [index, end, place] = [(); 3].map(|()| self.b.append_block_param(single, I32));
        let rest = self.b.ins().isub(nx, first);
        let enough = self
            .emit()
            .cmp_k(IntCC::UnsignedGreaterThanOrEqual, rest, width.into());
        self.b.ins().brif(enough, run, &[], tail, &[]);
        self.b.switch_to_block(tail);
        let args = [first.into(), nx.into(), zero.into()];
        match row == head {
            true => self.b.ins().brif(rest, single, &args, over, &[]),
            false => self.b.ins().jump(single, &args),
        };

        let kept = self.kept_slot(wide);
        self.b.switch_to_block(run);
        self.tid = Some([first, y, z]);
        self.together = Some(Together {
            plan: wide,
            vectors: vec![None; self.plan.names.len()],
            undo: Vec::new(),
            ends: FxHashMap::default(),
            kept,
            apart: Apart::Threads(single),
            one_lane: false,
            strip: false,
        });
        self.begin_flow(wide, &wide.together);
        let latch = self.b.create_block();
        self.latch = Some(latch);
        self.body();
        self.b.switch_to_block(latch);
        self.poll_if_long();
        let next = self.emit().add_k(first, width.into());
        self.b.ins().jump(row, &[next.into()]);
        self.endings();
        self.together = None;

        self.begin_flow(wide, &wide.single);
        self.begin_endings();
        self.b.switch_to_block(single);
        self.tid = Some([index, y, z]);
        let start = self.b.create_block();
        let takes_over: Vec<clif::Block> =
            wide.leaves.iter().map(|_| self.b.create_block()).collect();
        self.turn_to(place, start, &takes_over);
        for (leave, block) in wide.leaves.iter().zip(takes_over) {
            self.b.switch_to_block(block);
            let before = self.emit().add_k(end, u64::from(width).wrapping_neg());
            let lane = self.b.ins().isub(index, before);
            let lane = self.emit().resize(lane, I64, false);
            self.take_over(wide, leave, kept, lane);
        }
        self.b.switch_to_block(start);
        let latch = self.b.create_block();
        self.latch = Some(latch);
        self.body();
        self.b.switch_to_block(latch);
        self.poll_if_long();
        let next = self.emit().add_k(index, 1);
        let more = self.b.ins().icmp(IntCC::UnsignedLessThan, next, end);
        let args = [next.into(), end.into(), place.into()];
        self.b.ins().brif(more, single, &args, row, &[end.into()]);

        if row != head {
            // There is a thread in each row.
            let to = self.b.append_block_param(row, I32);
            self.b.switch_to_block(row);
            let more = self.b.ins().icmp(IntCC::UnsignedLessThan, to, nx);
            self.b.ins().brif(more, head, &[to.into()], over, &[]);
        }
        self.b.switch_to_block(over);
        for &(head, index, count) in loops[..2].iter().rev() {
            let next = self.emit().add_k(index, 1);
            let more = self.b.ins().icmp(IntCC::UnsignedLessThan, next, count);
            let over = self.b.create_block();
            self.b.ins().brif(more, head, &[next.into()], over, &[]);
            self.b.switch_to_block(over);
        }
        let done = self.k(I32, DONE.into());
        self.b.ins().return_(&[done]);
    }

    /// Turns to code of its own blocks.
    fn begin_flow(&mut self, wide: &Wide, flow: &'a Flow) {
        self.flow = flow;
        self.blocks = (wide.function.blocks.iter())
            .map(|_| self.b.create_block())
            .collect();
    }

    fn poll_if_long(&mut self) {
        if self.modules.facts[self.id.index()].long {
            let site = self.site(Cause::Stop, self.function.span, u32::MAX);
            self.poll(site);
        }
    }

    /// How many threads go together, where they do.
    pub(super) fn width(&self) -> u32 {
        match &self.together {
            Some(together) if together.strip => STRIP,
            Some(_) | None => self.plan.wide.as_ref().map_or(1, |wide| wide.width),
        }
    }

    /// Whether a name's values are in vectors here.
    pub(super) fn varies(&self, name: Name) -> bool {
        self.shape(name) == Shape::Varying
    }

    /// How the values of a name differ; uniform for a single thread.
    pub(super) fn shape(&self, name: Name) -> Shape {
        match &self.together {
            Some(together) if !together.one_lane => together.plan.uniformity.of(name),
            Some(_) | None => Shape::Uniform,
        }
    }

    /// Whether a name takes no leap from thread to thread.
    fn is_small(&self, name: Name) -> bool {
        (self.together.as_ref()).is_some_and(|t| t.plan.uniformity.is_small(name))
    }

    /// Says whether it is one thread's turn, which has values of its own.
    fn set_one_lane(&mut self, one_lane: bool) {
        if let Some(together) = &mut self.together {
            together.one_lane = one_lane;
        }
    }

    /// Whether the check of a run of accesses is the same for all threads that go together.
    pub(super) fn is_of_all(&self, run: &Run) -> bool {
        self.shape(run.base.into()) == Shape::Uniform
            && !run.between.iter().any(|b| self.varies(b.base.into()))
    }

    /// Says whether it is the turn of a strip.
    fn set_strip(&mut self, strip: bool) {
        if let Some(together) = &mut self.together {
            together.strip = strip;
        }
    }

    /// Bytes that a name takes where a run is left.
    fn bytes(&self, name: Name) -> u32 {
        self.width() * VECTOR / lanes_of(self.plan.names.class(name))
    }

    /// Room for all that is kept where a run is left, wherever that is.
    fn kept_slot(&mut self, wide: &Wide) -> StackSlot {
        let kept = wide.leaves.iter().map(|leave| {
            let names = wide.kept(leave).iter();
            names.map(|&n| self.bytes(n)).sum::<u32>()
        });
        let most = kept.max().unwrap_or(0);
        self.stack_slot(most, VECTOR)
    }

    /// The type in which a vector of a name that meets others is handed on.
    fn met_vector(&self, name: Name) -> Type {
        use crate::ir::float::FloatTy;
        match self.plan.floats.of(name) {
            Some(FloatTy::F64) => F64X2,
            Some(_) => F32X4,
            None => vector_type(self.plan.names.class(name)),
        }
    }

    /// Parameters of a block for a name that varies.
    pub(super) fn append_vectors(&mut self, block: clif::Block, name: Name) {
        let count = self.width() / lanes_of(self.plan.names.class(name));
        let ty = self.met_vector(name);
        let vectors = (0..count)
            .map(|_| self.b.append_block_param(block, ty))
            .collect();
        self.set_vectors(name, vectors);
    }

    /// The values of a name for where it meets others.
    pub(super) fn met_vectors(&mut self, name: Name) -> Vectors {
        let ty = self.met_vector(name);
        let vectors = match ty.lane_type().is_int() {
            true => self.settled_vectors(name),
            false => self.vectors(name),
        };
        vectors
            .into_iter()
            .map(|v| self.emit().cast(ty, v))
            .collect()
    }

    pub(super) fn set_vectors(&mut self, name: Name, vectors: Vectors) {
        if let Some(together) = &mut self.together {
            let old = together.vectors[name.index()].replace(vectors);
            together.undo.push((name, old));
        }
    }

    /// How far [`forget_vectors`](Lower::forget_vectors) goes back.
    pub(super) fn vectors_mark(&self) -> usize {
        self.together.as_ref().map_or(0, |t| t.undo.len())
    }

    /// Takes back what was set since the mark.
    pub(super) fn forget_vectors(&mut self, mark: usize) {
        let Some(together) = &mut self.together else {
            return;
        };
        for (name, old) in together.undo.drain(mark..).rev() {
            together.vectors[name.index()] = old;
        }
    }

    /// The values of a name, of all threads.
    pub(super) fn vectors(&mut self, name: Name) -> Vectors {
        let class = self.plan.names.class(name);
        match self.shape(name) {
            Shape::Varying => {
                let known = (self.together.as_ref()).and_then(|t| t.vectors[name.index()].clone());
                match known {
                    Some(vectors) => vectors,
                    None => {
                        let zero = self.k(clif_type(class), 0);
                        self.spread(class, zero, 0)
                    }
                }
            }
            Shape::Uniform => {
                let value = self.value(name);
                self.spread(class, value, 0)
            }
            Shape::Affine(stride) => {
                let value = self.value(name);
                self.spread(class, value, stride)
            }
        }
    }

    /// A value as a lane of a vector holds it.
    fn as_lane(&mut self, class: RegClass, value: Value) -> Value {
        match class {
            RegClass::Pred => {
                let value = self.emit().resize(value, I32, false);
                self.b.ins().ineg(value)
            }
            RegClass::B8 | RegClass::B16 => self.emit().resize(value, I32, false),
            RegClass::B32 | RegClass::B64 => value,
        }
    }

    /// A value for all threads, each with so much more than the one before it.
    pub(super) fn spread(&mut self, class: RegClass, value: Value, stride: i64) -> Vectors {
        let count = self.width() / lanes_of(class);
        let ty = vector_type(class);
        let value = self.as_lane(class, value);
        let all = self.emit().all_lanes(ty, value);
        (0..count)
            .map(|i| {
                if stride == 0 {
                    return all;
                }
                let lanes = lanes_of(class);
                let steps: Vec<i64> = (0..lanes)
                    .map(|lane| stride.wrapping_mul(i64::from(i * lanes + lane)))
                    .collect();
                let steps = self.emit().lanes_k(ty, &steps);
                self.b.ins().iadd(all, steps)
            })
            .collect()
    }

    /// The value of a name in one of the threads, as a register holds it.
    fn lane_value(&mut self, name: Name, lane: u32) -> Value {
        let class = self.plan.names.class(name);
        match self.shape(name) {
            Shape::Uniform => self.value(name),
            Shape::Affine(stride) => {
                let value = self.value(name);
                let more = stride.wrapping_mul(lane.into()) as u64 & class.mask();
                self.emit().add_k(value, more)
            }
            Shape::Varying => {
                let vectors = self.settled_vectors(name);
                let lanes = lanes_of(class);
                let vector = vectors[(lane / lanes) as usize];
                let value = self.b.ins().extractlane(vector, (lane % lanes) as u8);
                match class {
                    RegClass::Pred => {
                        let bit = self.emit().and_k(value, 1);
                        self.emit().resize(bit, I8, false)
                    }
                    RegClass::B8 | RegClass::B16 => {
                        self.emit().resize(value, clif_type(class), false)
                    }
                    RegClass::B32 | RegClass::B64 => value,
                }
            }
        }
    }

    /// The bits of a name's values, NaN canonical where arithmetic computed them.
    pub(super) fn settled_vectors(&mut self, name: Name) -> Vectors {
        let vectors = self.vectors(name);
        let settled = self.settled_together(&vectors);
        if self.varies(name) && settled != vectors {
            self.set_vectors(name, settled.clone());
        }
        settled
    }

    /// Vectors of one type, likewise: NaN are few, so that several vectors are looked through for them at once.
    fn settled_together(&mut self, vectors: &Vectors) -> Vectors {
        let each = |l: &mut Self| -> Vectors {
            (vectors.iter())
                .map(|&v| l.emit().settled_vector(v))
                .collect()
        };
        let ty = self.emit().ty(vectors[0]);
        if vectors.len() < FEW_SETTLED || !ty.lane_type().is_float() {
            return each(self);
        }
        let mut any = None;
        for pair in vectors.chunks(2) {
            let second = pair.last().copied().unwrap_or(pair[0]);
            let unordered = self.b.ins().fcmp(FloatCC::Unordered, pair[0], second);
            any = Some(match any {
                None => unordered,
                Some(any) => self.b.ins().bor(any, unordered),
            });
        }
        let Some(any) = any else {
            return each(self);
        };
        let any = self.b.ins().vhigh_bits(I32, any);
        let (next, cold) = (self.b.create_block(), self.cold_block());
        let bits = |l: &mut Self| -> Vectors {
            let int = ty.as_int();
            vectors.iter().map(|&v| l.emit().cast(int, v)).collect()
        };
        let found: SmallVec<[clif::BlockArg; 8]> = bits(self).into_iter().map(Into::into).collect();
        self.b.ins().brif(any, cold, &[], next, &found);
        self.b.switch_to_block(cold);
        let settled: SmallVec<[clif::BlockArg; 8]> =
            each(self).into_iter().map(Into::into).collect();
        self.b.ins().jump(next, &settled);
        self.b.switch_to_block(next);
        (vectors.iter())
            .map(|_| self.b.append_block_param(next, ty.as_int()))
            .collect()
    }

    /// Puts single values together.
    pub(super) fn gather(&mut self, class: RegClass, values: &[Value]) -> Vectors {
        let ty = vector_type(class);
        (values.chunks(lanes_of(class) as usize))
            .map(|values| {
                let mut vector = None;
                for (lane, &value) in (0..).zip(values) {
                    let value = self.as_lane(class, value);
                    vector = Some(match vector {
                        None => self.b.ins().scalar_to_vector(ty, value),
                        Some(vector) => self.b.ins().insertlane(vector, value, lane),
                    });
                }
                vector.unwrap_or(values[0])
            })
            .collect()
    }

    /// An instruction of a block, for all threads of a run.
    pub(super) fn instruction_of_all(&mut self, block: Block, inst: &'a Inst) {
        let Some(together) = &self.together else {
            return;
        };
        let names = &self.plan.names;
        let uniform = together.plan.uniformity.is_uniform(names, inst);
        let mut defs = SmallVec::<[Name; 4]>::new();
        names.defs(inst, |n| defs.push(n));
        let of_first = !defs.iter().any(|&n| self.varies(n));
        match &inst.kind {
            Kind::Pure(_) if uniform || of_first => self.once(inst, &defs),
            Kind::Special { .. } if of_first => self.once(inst, &defs),
            Kind::AddressOf(_) | Kind::FunctionAddress { .. } if uniform => {
                self.once(inst, &defs);
            }
            Kind::Load(load) if of_first || (uniform && loads_the_same(load)) => {
                self.once(inst, &defs);
            }
            Kind::Load(load) => {
                if !self.load_side_by_side(inst, load) && !self.load_gathered(inst, load) {
                    self.each(inst);
                }
            }
            // To a variable that is as good as a register.
            Kind::Store(_) if of_first && !defs.is_empty() => self.once(inst, &defs),
            Kind::Store(store) => {
                // The same value to the same place: as good as one of them.
                let of_one = uniform && store.order == Order::Weak;
                if of_one {
                    self.once(inst, &defs);
                } else if self.is_of_last(inst, store) {
                    self.with_lane(inst, &defs, self.width() - 1);
                } else if !self.store_side_by_side(inst, store) && !self.store_gathered(inst, store)
                {
                    self.each(inst);
                }
            }
            Kind::Pure(_) => match self.widen(inst, &defs) {
                true => self.note_ends(inst),
                false => self.each(inst),
            },
            Kind::Fence(_) | Kind::Hint { .. } if uniform => self.instruction(inst),
            Kind::Meet(meet) => self.pass(block, meet),
            Kind::AddressOf(_)
            | Kind::FunctionAddress { .. }
            | Kind::Special { .. }
            | Kind::Call(_)
            | Kind::Atomic(_)
            | Kind::Fence(_)
            | Kind::Mbarrier(_)
            | Kind::Copy(_)
            | Kind::Stack(_)
            | Kind::Hint { .. }
            | Kind::Unsupported => self.each(inst),
        }
    }

    /// An instruction whose result for the first thread tells that for all.
    fn once(&mut self, inst: &Inst, defs: &[Name]) {
        self.with_lane(inst, defs, 0);
        for &name in defs {
            if self.varies(name) {
                let value = self.value(name);
                let class = self.plan.names.class(name);
                let vectors = self.spread(class, value, 0);
                self.set_vectors(name, vectors);
                self.current[name.index()] = None;
            }
        }
    }

    /// Whether all threads of a run store to one place: what the last of them stores stays there.
    fn is_of_last(&self, inst: &Inst, store: &Store) -> bool {
        let uniform = |reg: Reg| self.shape(reg.into()) == Shape::Uniform;
        let base = match store.addr.base {
            Base::Reg(reg) => uniform(reg) && !matches!(store.space, Space::Local | Space::Generic),
            Base::Var(_) | Base::Absolute => false,
        };
        base && store.order == Order::Weak && inst.guard.is_none_or(|guard| uniform(guard.reg))
    }

    /// An instruction of the first thread, with what a lane has of the registers that vary.
    fn with_lane(&mut self, inst: &Inst, defs: &[Name], lane: u32) {
        let mut uses = SmallVec::<[Name; 8]>::new();
        self.plan.names.uses(inst, |n| uses.push(n));
        uses.retain(|n| self.varies(*n) && !defs.contains(n));
        for &name in &uses {
            let value = self.lane_value(name, lane);
            self.current[name.index()] = Some(value);
        }
        self.instruction(inst);
        for name in uses {
            self.current[name.index()] = None;
        }
    }

    /// An instruction, for one thread after the other.
    fn each(&mut self, inst: &Inst) {
        let (mut uses, mut defs) = (SmallVec::<[Name; 8]>::new(), SmallVec::<[Name; 4]>::new());
        self.plan.names.uses(inst, |n| uses.push(n));
        self.plan.names.defs(inst, |n| defs.push(n));
        uses.sort_unstable();
        uses.dedup();
        let first = self.first_thread();
        let before: SmallVec<[Option<Value>; 8]> = (uses.iter().chain(&defs))
            .map(|n| self.current[n.index()])
            .collect();
        let undo = self.undo.len();
        let mut results: Vec<Vec<Value>> = vec![Vec::new(); defs.len()];
        for lane in 0..self.width() {
            let values: SmallVec<[Value; 8]> = (uses.iter())
                .map(|&name| self.lane_value(name, lane))
                .collect();
            for (name, value) in uses.iter().zip(values) {
                self.current[name.index()] = Some(value);
            }
            let distance = self.k(I64, lane.into());
            self.turn_to_thread(&first, distance);
            self.instruction(inst);
            for (result, &name) in results.iter_mut().zip(&defs) {
                result.push(self.value(name));
            }
            // What this thread has is of no concern to what comes later.
            self.undo.truncate(undo);
            for (name, value) in uses.iter().chain(&defs).zip(&before) {
                self.current[name.index()] = *value;
            }
        }
        self.turn_back(&first);
        for (name, values) in defs.into_iter().zip(results) {
            if self.varies(name) {
                let class = self.plan.names.class(name);
                let vectors = self.gather(class, &values);
                self.set_vectors(name, vectors);
            } else {
                self.set(name, values[0]);
            }
        }
    }

    /// Which thread is the first.
    pub(super) fn first_thread(&mut self) -> First {
        First {
            tid: self.tid,
            number: self.lane.map(|lane| self.b.use_var(lane.number)),
        }
    }

    /// Turns to a thread at a distance (64 bits) from the first.
    pub(super) fn turn_to_thread(&mut self, first: &First, distance: Value) {
        if let Some([x, y, z]) = first.tid {
            let distance = self.emit().resize(distance, I32, false);
            let x = self.b.ins().iadd(x, distance);
            self.tid = Some([x, y, z]);
        }
        if let (Some(lane), Some(number)) = (self.lane, first.number) {
            let number = self.b.ins().iadd(number, distance);
            self.b.def_var(lane.number, number);
        }
    }

    /// Turns to the first thread again.
    pub(super) fn turn_back(&mut self, first: &First) {
        self.tid = first.tid;
        if let (Some(lane), Some(number)) = (self.lane, first.number) {
            self.b.def_var(lane.number, number);
        }
    }

    /// The value of an operand in all threads, of which the low bits count.
    pub(super) fn operand_vectors(&mut self, operand: Operand, class: RegClass) -> Vectors {
        match operand {
            Operand::Imm(value) => {
                let value = self.k(clif_type(class), value & class.mask());
                self.spread(class, value, 0)
            }
            Operand::Reg(reg) => self.settled_vectors(reg.into()),
        }
    }
}
