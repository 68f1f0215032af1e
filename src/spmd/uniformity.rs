//! Uniformity: how the values of a register differ between threads that stand beside each other in x.
//!
//! Threads of a run have `%tid.x` in a row, and all else that a launch gives in common. They are thought to execute each
//! instruction together: where they part, code for single threads takes over, so that control flow says nothing about values.
//! Registers are judged by all their definitions together, wherever they stand.
//!
//! Guarantees: while the threads of a run go together, a name that is uniform has one value for all, and one that is affine
//! has for each thread the value of the thread before it and the stride, modulo 2 to its width. The second holds across an
//! instruction that widens only if nothing wraps around ([`Uniformity::widens`]): it has to be found out when it is executed.

use super::access::{Place, Reach};
use super::names::{Name, Names};
use super::provenance::Provenance;
use crate::ir::integer::Part;
use crate::ir::memory::{Load, Order, Space};
use crate::ir::{
    Block, Function, Inst, IntTy, Kind, Module, Operand, Pure, PureOp, RegClass, Special, bits,
    compare, convert, integer, sync,
};

/// How the values of a name differ between the threads of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shape {
    /// Not at all.
    Uniform,
    /// By so much from a thread to the next; never 0.
    Affine(i64),
    /// In any way.
    Varying,
}

impl Shape {
    /// By so much, which may be nothing.
    fn stride(stride: i64, class: RegClass) -> Shape {
        let shift = 64 - class.bits();
        match stride << shift >> shift {
            0 => Shape::Uniform,
            stride => Shape::Affine(stride),
        }
    }

    /// What holds for either.
    fn join(self, other: Shape) -> Shape {
        if self == other { self } else { Shape::Varying }
    }

    /// The stride; `None` if there is no single one.
    fn as_stride(self) -> Option<i64> {
        match self {
            Shape::Uniform => Some(0),
            Shape::Affine(stride) => Some(stride),
            Shape::Varying => None,
        }
    }
}

/// What has to hold for the threads of a run for the result of an instruction to differ between them as is thought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Supposed {
    /// An affine value does not wrap around.
    Fits {
        /// The value.
        operand: Operand,
        /// Its class.
        class: RegClass,
        /// Its low bits, that matter; fewer than 64.
        bits: u32,
        /// Whether they are a signed number.
        signed: bool,
        /// Its stride.
        stride: i64,
    },
    /// A uniform value has no bit that an affine one has in one of the threads.
    Apart {
        /// The uniform one.
        uniform: Operand,
        /// The affine one.
        affine: Operand,
        /// The class of both.
        class: RegClass,
        /// The stride.
        stride: i64,
    },
    /// Some bits of a value that varies are the same for all.
    Alike {
        /// The value.
        operand: Operand,
        /// Its class.
        class: RegClass,
        /// The bits.
        mask: u64,
    },
}

impl Supposed {
    /// The values that it speaks of.
    pub fn operands(self) -> [Operand; 2] {
        match self {
            Supposed::Fits { operand, .. } | Supposed::Alike { operand, .. } => [operand; 2],
            Supposed::Apart {
                uniform, affine, ..
            } => [uniform, affine],
        }
    }
}

/// What an instruction gives, and what that rests on.
#[derive(Debug, Clone, Copy)]
struct Thought {
    shape: Shape,
    supposed: Option<Supposed>,
}

/// The shape of each name of a function.
#[derive(Debug)]
pub struct Uniformity {
    shapes: Vec<Shape>,
    alike: Vec<Option<u32>>,
    /// For each name whether it is small, and grows from thread to thread.
    small: Vec<bool>,
    width: u32,
}

/// What is known of a kernel.
#[derive(Clone, Copy)]
pub struct Of<'a> {
    /// Its module.
    pub module: &'a Module,
    /// It.
    pub function: &'a Function,
    /// What holds its values.
    pub names: &'a Names,
    /// Where its addresses come from.
    pub provenance: &'a Provenance,
    /// Whether runs are parts of a warp.
    pub in_warps: bool,
    /// Threads of a run.
    pub width: u32,
}

impl Uniformity {
    /// Of a kernel. `unset` tells of a name whether it may be read before it is written, and so be 0; `of_all` of a block that ends with a
    /// meeting whether that is of all threads of a run.
    pub fn new(of: Of<'_>, unset: impl Fn(Name) -> bool, of_all: impl Fn(Block) -> bool) -> Self {
        let Of {
            function, names, ..
        } = of;
        let insts: Vec<(&Inst, bool)> = (0..)
            .map(Block)
            .zip(&function.blocks)
            .flat_map(|(b, block)| {
                let of_all = of_all(b);
                block.insts.iter().map(move |inst| (inst, of_all))
            })
            .collect();
        let mut readers: Vec<Vec<u32>> = vec![Vec::new(); names.len()];
        let definitions = names.definitions(function);
        for (i, (inst, _)) in insts.iter().enumerate() {
            names.uses(inst, |n| readers[n.index()].push(i as u32));
        }
        // `None` as long as no definition has been seen.
        let mut shapes: Vec<Option<Shape>> = (0..names.len() as u32)
            .map(|n| unset(Name(n)).then_some(Shape::Uniform))
            .collect();
        let mut alike: Vec<Option<u32>> = vec![None; names.len()];
        let mut queued = vec![true; insts.len()];
        let mut queue: Vec<u32> = (0..insts.len() as u32).rev().collect();
        while let Some(i) = queue.pop() {
            queued[i as usize] = false;
            let (inst, of_all) = insts[i as usize];
            let new = match &inst.kind {
                Kind::Meet(meet) if of_all && gives_the_same(meet.op) => Some(Shape::Uniform),
                _ => of.shape(inst, &shapes, &alike),
            };
            let Some(new) = new else { continue };
            let above = of.alike_above(inst, &shapes);
            let mut changed = Vec::new();
            names.defs(inst, |name| {
                let old = shapes[name.index()];
                let joined = old.map_or(new, |old| old.join(new));
                let above =
                    above.filter(|_| definitions[name.index()] == 1 && joined == Shape::Varying);
                if old != Some(joined) || alike[name.index()] != above {
                    shapes[name.index()] = Some(joined);
                    alike[name.index()] = above;
                    changed.push(name);
                }
            });
            for reader in changed.iter().flat_map(|n| &readers[n.index()]) {
                if !std::mem::replace(&mut queued[*reader as usize], true) {
                    queue.push(*reader);
                }
            }
        }
        let mut small = vec![false; names.len()];
        for (inst, _) in &insts {
            let few = match &inst.kind {
                Kind::Special { special, .. } => {
                    *special == Special::Tid(0) || of.in_warps && *special == Special::Laneid
                }
                Kind::Pure(pure) => keeps_low_bits(pure),
                Kind::Load(_)
                | Kind::Store(_)
                | Kind::AddressOf(_)
                | Kind::FunctionAddress { .. }
                | Kind::Call(_)
                | Kind::Meet(_)
                | Kind::Atomic(_)
                | Kind::Fence(_)
                | Kind::Mbarrier(_)
                | Kind::Copy(_)
                | Kind::Stack(_)
                | Kind::Hint { .. }
                | Kind::Unsupported => false,
            };
            names.defs(inst, |n| {
                let grows = matches!(shapes[n.index()], Some(Shape::Affine(stride)) if stride > 0);
                small[n.index()] = few && grows && definitions[n.index()] == 1;
            });
        }
        Uniformity {
            alike,
            small,
            width: of.width,
            // What is never defined is 0.
            shapes: shapes
                .into_iter()
                .map(|s| s.unwrap_or(Shape::Uniform))
                .collect(),
        }
    }

    /// The shape of a name.
    pub fn of(&self, name: Name) -> Shape {
        self.shapes[name.index()]
    }

    /// Whether a name that is affine grows from thread to thread of a run, and has no value with the highest bit set: so it takes no leap.
    pub fn is_small(&self, name: Name) -> bool {
        self.small[name.index()]
    }

    /// That of an operand.
    pub fn operand(&self, operand: Operand) -> Shape {
        match operand {
            Operand::Reg(reg) => self.of(reg.into()),
            Operand::Imm(_) => Shape::Uniform,
        }
    }

    /// Whether an instruction does for all threads what it does for one: what it reads is uniform.
    pub fn is_uniform(&self, names: &Names, inst: &Inst) -> bool {
        let mut uniform = true;
        names.uses(inst, |n| uniform &= self.of(n) == Shape::Uniform);
        uniform
    }

    /// What the result of an instruction differs between threads as it does because of.
    pub fn supposes(&self, inst: &Inst) -> Option<Supposed> {
        let Kind::Pure(pure) = &inst.kind else {
            return None;
        };
        let dst = (*pure.dsts.first()?)?;
        if self.of(dst.into()) == Shape::Varying {
            return None;
        }
        let width = self.width;
        let shape = |operand| Some(self.operand(operand));
        let alike = |operand: Operand| match operand {
            Operand::Reg(reg) => self.alike[Name::from(reg).index()],
            Operand::Imm(_) => None,
        };
        (widened(pure, shape))
            .or_else(|| masked(pure, width, shape, alike).and_then(|t| t.supposed))
    }
}

/// Whether a load from one address gives all threads the same. Each has local memory of its own.
pub fn loads_the_same(load: &Load) -> bool {
    load.order == Order::Weak && !matches!(load.space, Space::Local | Space::Generic)
}

/// Whether a warp operation gives all lanes that come together the same.
fn gives_the_same(op: sync::Op) -> bool {
    match op {
        sync::Op::Vote { .. }
        | sync::Op::MatchAll { .. }
        | sync::Op::Redux { .. }
        | sync::Op::ActiveMask => true,
        sync::Op::Shfl { .. }
        | sync::Op::MatchAny { .. }
        | sync::Op::Elect
        | sync::Op::Warp
        | sync::Op::Barrier { .. }
        | sync::Op::ClusterArrive { .. }
        | sync::Op::ClusterWait { .. } => false,
    }
}

/// Whether a conversion only widens, by the sign of what it converts.
fn widening(op: convert::Op) -> bool {
    let convert::Op::Cvt { from, to, sat, dst } = op else {
        return false;
    };
    match from == to {
        true => dst.bits() > from.bits(),
        false => !sat && to.bits() > from.bits() && dst == to.class(),
    }
}

/// That the affine operand which an instruction widens fits.
fn widened(pure: &Pure, shape: impl Fn(Operand) -> Option<Shape>) -> Option<Supposed> {
    let affine = |operand: Operand, ty: IntTy| {
        let stride = shape(operand)?.as_stride()?;
        match Shape::stride(stride, ty.class()) {
            Shape::Affine(stride) => Some(Supposed::Fits {
                operand,
                class: ty.class(),
                bits: ty.bits(),
                signed: ty.signed(),
                stride,
            }),
            Shape::Uniform | Shape::Varying => None,
        }
    };
    match pure.op {
        PureOp::Integer(
            integer::Op::Mul {
                part: Part::Wide,
                ty,
            }
            | integer::Op::Mad {
                part: Part::Wide,
                ty,
                ..
            },
        ) => affine(pure.srcs[0], ty).or_else(|| affine(pure.srcs[1], ty)),
        PureOp::Convert(op @ convert::Op::Cvt { from, .. }) if widening(op) => {
            affine(pure.srcs[0], from)
        }
        PureOp::Integer(_)
        | PureOp::Extended(_)
        | PureOp::Bits(_)
        | PureOp::Video(_)
        | PureOp::Compare(_)
        | PureOp::Convert(_)
        | PureOp::Float(_) => None,
    }
}

/// A constant operand, of which so many bits count.
fn constant(operand: Operand, class: RegClass) -> Option<u64> {
    match operand {
        Operand::Imm(value) => Some(value & class.mask()),
        Operand::Reg(_) => None,
    }
}

/// Whether an instruction keeps some of the lower bits of a value, but not the highest.
fn keeps_low_bits(pure: &Pure) -> bool {
    let PureOp::Bits(bits::Op::And { class }) = pure.op else {
        return false;
    };
    let mask = pure.srcs.iter().find_map(|&src| constant(src, class));
    class != RegClass::Pred && mask.is_some_and(|mask| mask <= class.mask() >> 1)
}

/// How far the values of the threads of a run lie apart, as bits: those below are the only ones that differ, unless a carry comes out of them.
fn spread(stride: i64, width: u32) -> u32 {
    let farthest = stride.unsigned_abs().saturating_mul(u64::from(width) - 1);
    64 - farthest.leading_zeros()
}

/// What is thought of instructions that keep some bits of an affine value, as code does that knows its threads to come in powers of two.
/// `alike` tells of a value that varies from which bit on it is likely to be the same for all.
fn masked(
    pure: &Pure,
    width: u32,
    shape: impl Fn(Operand) -> Option<Shape>,
    alike: impl Fn(Operand) -> Option<u32>,
) -> Option<Thought> {
    let affine = |operand: Operand, class: RegClass| match Shape::stride(
        shape(operand)?.as_stride()?,
        class,
    ) {
        Shape::Affine(stride) => Some(stride),
        Shape::Uniform | Shape::Varying => None,
    };
    let fits = |operand, class, bits, signed, stride| Supposed::Fits {
        operand,
        class,
        bits,
        signed,
        stride,
    };
    // Above a bit all are the same, unless a carry comes out of those below.
    let uniform_above = |operand, class: RegClass, bit: u32, stride| {
        (spread(stride, width) <= bit && bit < class.bits()).then_some(Thought {
            shape: Shape::Uniform,
            supposed: Some(fits(operand, class, bit, false, stride)),
        })
    };
    let PureOp::Bits(op) = pure.op else {
        return None;
    };
    match op {
        bits::Op::And { class } if class != RegClass::Pred => {
            let [a, b] = [pure.srcs[0], pure.srcs[1]];
            let (operand, mask) = match (constant(a, class), constant(b, class)) {
                (None, Some(mask)) => (a, mask),
                (Some(mask), None) => (b, mask),
                (None, None) | (Some(_), Some(_)) => return None,
            };
            if mask == 0 {
                return None;
            }
            let low = mask.trailing_zeros();
            if shape(operand)? == Shape::Varying {
                return (alike(operand)? <= low).then_some(Thought {
                    shape: Shape::Uniform,
                    supposed: Some(Supposed::Alike {
                        operand,
                        class,
                        mask,
                    }),
                });
            }
            let stride = affine(operand, class)?;
            if let Some(uniform) = uniform_above(operand, class, low, stride) {
                return Some(uniform);
            }
            let end = 64 - mask.leading_zeros();
            let whole = (mask >> low).trailing_ones() == end - low;
            let steps = stride.trailing_zeros() >= low;
            let supposed = match end == class.bits() {
                true => None,
                false if spread(stride, width) <= end => {
                    Some(fits(operand, class, end, false, stride))
                }
                false => return None,
            };
            (whole && steps).then_some(Thought {
                shape: Shape::stride(stride, class),
                supposed,
            })
        }
        bits::Op::Or { class } | bits::Op::Xor { class } if class != RegClass::Pred => {
            let [a, b] = [pure.srcs[0], pure.srcs[1]];
            let (affine_one, uniform) = match (shape(a)?, shape(b)?) {
                (Shape::Affine(_), Shape::Uniform) => (a, b),
                (Shape::Uniform, Shape::Affine(_)) => (b, a),
                _ => return None,
            };
            let stride = affine(affine_one, class)?;
            (spread(stride, width) < class.bits()).then_some(Thought {
                shape: Shape::Affine(stride),
                supposed: Some(Supposed::Apart {
                    uniform,
                    affine: affine_one,
                    class,
                    stride,
                }),
            })
        }
        bits::Op::Shr { ty } => {
            let class = ty.class();
            let steps = constant(pure.srcs[1], RegClass::B32)?;
            let steps = u32::try_from(steps).ok().filter(|&k| k < class.bits())?;
            uniform_above(pure.srcs[0], class, steps, affine(pure.srcs[0], class)?)
        }
        bits::Op::Bfe { ty, reading: _ } if ty.bits() == 32 => {
            let class = ty.class();
            let from = constant(pure.srcs[1], RegClass::B32)? as u32 & 0xff;
            constant(pure.srcs[2], RegClass::B32)?;
            uniform_above(pure.srcs[0], class, from, affine(pure.srcs[0], class)?)
        }
        bits::Op::And { .. }
        | bits::Op::Or { .. }
        | bits::Op::Xor { .. }
        | bits::Op::Bfe { .. }
        | bits::Op::Not { .. }
        | bits::Op::Cnot { .. }
        | bits::Op::Lop3 { .. }
        | bits::Op::Lop3Pred { .. }
        | bits::Op::Shf { .. }
        | bits::Op::Shl { .. }
        | bits::Op::Prmt { .. }
        | bits::Op::Popc { .. }
        | bits::Op::Clz { .. }
        | bits::Op::Brev { .. }
        | bits::Op::Bfind { .. }
        | bits::Op::Fns { .. }
        | bits::Op::Bfi { .. }
        | bits::Op::Bmsk { .. }
        | bits::Op::Szext { .. } => None,
    }
}

impl Of<'_> {
    /// From which bit on what an instruction gives is likely to be the same for all threads of a run: it shifts an affine value to the right.
    fn alike_above(self, inst: &Inst, shapes: &[Option<Shape>]) -> Option<u32> {
        let Kind::Pure(pure) = &inst.kind else {
            return None;
        };
        let (PureOp::Bits(bits::Op::Shr { ty }), Operand::Reg(reg), None) =
            (pure.op, pure.srcs[0], inst.guard)
        else {
            return None;
        };
        let steps = u32::try_from(constant(pure.srcs[1], RegClass::B32)?).ok()?;
        let Shape::Affine(stride) = shapes[Name::from(reg).index()]? else {
            return None;
        };
        (steps < ty.bits()).then(|| spread(stride, self.width).saturating_sub(steps))
    }

    /// The shape of what an instruction writes; `None` while what it reads is not known.
    fn shape(self, inst: &Inst, shapes: &[Option<Shape>], alike: &[Option<u32>]) -> Option<Shape> {
        let mut known = true;
        let mut uniform = true;
        self.names.uses(inst, |n| match shapes[n.index()] {
            Some(Shape::Uniform) => {}
            Some(Shape::Affine(_) | Shape::Varying) => uniform = false,
            None => known = false,
        });
        if inst.guard.is_some() {
            // It reads what it may leave alone; until that is known, only its first definition counts.
            let guard = inst.guard.and_then(|g| shapes[Name::from(g.reg).index()]);
            match guard {
                None => return None,
                Some(Shape::Uniform) => {}
                Some(Shape::Affine(_) | Shape::Varying) => return Some(Shape::Varying),
            }
        }
        let of = |operand: Operand| match operand {
            Operand::Reg(reg) => shapes[Name::from(reg).index()],
            Operand::Imm(_) => Some(Shape::Uniform),
        };
        match &inst.kind {
            Kind::Pure(pure) => {
                let alike = |operand: Operand| match operand {
                    Operand::Reg(reg) => alike[Name::from(reg).index()],
                    Operand::Imm(_) => None,
                };
                let shape = self.pure(pure, of)?;
                match masked(pure, self.width, of, alike) {
                    Some(thought) if shape == Shape::Varying => Some(thought.shape),
                    Some(_) | None => Some(shape),
                }
            }
            Kind::Special { special, .. } => Some(match special {
                Special::Tid(0) => Shape::Affine(1),
                // Those of a run differ in x alone.
                Special::Tid(_) => Shape::Uniform,
                Special::Laneid if self.in_warps => Shape::Affine(1),
                Special::Warpid if self.in_warps => Shape::Uniform,
                special => match special.is_uniform() {
                    true => Shape::Uniform,
                    false => Shape::Varying,
                },
            }),
            Kind::AddressOf(_) | Kind::FunctionAddress { .. } => Some(Shape::Uniform),
            Kind::Load(load) => {
                let place =
                    Reach::of(inst)?.place(self.module, self.function, self.names, self.provenance);
                match place {
                    Place::Name(name) => {
                        // A stride does not hold in another width.
                        let shape = shapes[name.index()]?;
                        let class = self.names.class(name);
                        let dst = load.dsts.first().copied().flatten();
                        let whole = dst.is_none_or(|r| self.names.class(r.into()) == class);
                        Some(match shape {
                            Shape::Affine(_) if !whole => Shape::Varying,
                            shape => shape,
                        })
                    }
                    Place::Fixed(..) | Place::Checked(_) | Place::Wrong(..) => {
                        if !known {
                            return None;
                        }
                        Some(match uniform && loads_the_same(load) {
                            true => Shape::Uniform,
                            false => Shape::Varying,
                        })
                    }
                }
            }
            Kind::Store(store) => match self.names.of_address(&store.addr) {
                Some(name) => {
                    let class = self.names.class(name);
                    let whole = class.bits() == 8 * u32::from(store.bytes);
                    Some(match of(*store.srcs.first()?)? {
                        Shape::Affine(stride) if whole => Shape::stride(stride, class),
                        Shape::Affine(_) => Shape::Varying,
                        shape => shape,
                    })
                }
                None => None,
            },
            Kind::Call(_)
            | Kind::Meet(_)
            | Kind::Atomic(_)
            | Kind::Fence(_)
            | Kind::Mbarrier(_)
            | Kind::Copy(_)
            | Kind::Stack(_)
            | Kind::Hint { .. }
            | Kind::Unsupported => Some(Shape::Varying),
        }
    }

    fn pure(self, pure: &Pure, of: impl Fn(Operand) -> Option<Shape>) -> Option<Shape> {
        let shapes: Vec<Option<Shape>> = pure.srcs.iter().map(|&src| of(src)).collect();
        let signature = pure.op.signature();
        // A register that is wider than the operand is read in part: strides hold modulo the narrower width, too.
        let stride = |i: usize| {
            let stride = shapes[i]?.as_stride()?;
            Shape::stride(stride, signature.srcs[i]).as_stride()
        };
        let constant = |i: usize| match pure.srcs[i] {
            Operand::Imm(value) => {
                let class = signature.srcs[i];
                let shift = 64 - class.bits();
                Some((value << shift) as i64 >> shift)
            }
            Operand::Reg(_) => None,
        };
        if shapes.contains(&None) {
            return None;
        }
        if shapes.iter().all(|s| *s == Some(Shape::Uniform)) {
            return Some(Shape::Uniform);
        }
        let class = signature.dsts[0];
        let product = || match (stride(0)?, stride(1)?, constant(0), constant(1)) {
            (0, 0, ..) => Some(0),
            (stride, 0, _, Some(k)) | (0, stride, Some(k), _) => Some(stride.wrapping_mul(k)),
            _ => None,
        };
        let affine = match pure.op {
            PureOp::Integer(op) => match op {
                integer::Op::Add { sat: false, .. } => {
                    stride(0).zip(stride(1)).map(|(a, b)| a.wrapping_add(b))
                }
                integer::Op::Sub { sat: false, .. } => {
                    stride(0).zip(stride(1)).map(|(a, b)| a.wrapping_sub(b))
                }
                integer::Op::Neg { .. } => stride(0).map(i64::wrapping_neg),
                integer::Op::Mul { part: Part::Lo, .. } => product(),
                integer::Op::Mul {
                    part: Part::Wide,
                    ty,
                } => factors(ty, product(), constant(0).or(constant(1))),
                integer::Op::Mad {
                    part: Part::Lo,
                    sat: false,
                    ..
                } => product().zip(stride(2)).map(|(p, c)| p.wrapping_add(c)),
                integer::Op::Mad {
                    part: Part::Wide,
                    ty,
                    sat: false,
                } => factors(ty, product(), constant(0).or(constant(1)))
                    .zip(stride(2))
                    .map(|(p, c)| p.wrapping_add(c)),
                integer::Op::Add { .. }
                | integer::Op::Sub { .. }
                | integer::Op::Mul { .. }
                | integer::Op::Mad { .. }
                | integer::Op::Mul24 { .. }
                | integer::Op::Mad24 { .. }
                | integer::Op::Sad { .. }
                | integer::Op::Div { .. }
                | integer::Op::Rem { .. }
                | integer::Op::Abs { .. }
                | integer::Op::Min { .. }
                | integer::Op::Max { .. }
                | integer::Op::Packed { .. }
                | integer::Op::Dp4a { .. }
                | integer::Op::Dp2a { .. } => None,
            },
            PureOp::Bits(bits::Op::Shl { class }) => {
                match (stride(0), constant(1).map(|k| k as u64 & 0xffff_ffff)) {
                    (Some(stride), Some(k)) if k < u64::from(class.bits()) => {
                        Some(stride.wrapping_shl(k as u32))
                    }
                    _ => None,
                }
            }
            PureOp::Convert(op) => match op {
                convert::Op::Mov { .. } => stride(0),
                // An address of one of these is the generic one.
                convert::Op::Cvta {
                    space: Space::Global,
                    ..
                } => stride(0),
                convert::Op::Cvt { from, to, .. } if widening(op) || from == to => stride(0),
                // Cut off.
                convert::Op::Cvt {
                    from,
                    to,
                    sat: false,
                    dst,
                } if to.bits() <= from.bits() && dst == to.class() => stride(0),
                convert::Op::Cvt { .. }
                | convert::Op::Float(_)
                | convert::Op::Small(_)
                | convert::Op::Pack { .. }
                | convert::Op::Extract { .. }
                | convert::Op::CvtPack { .. }
                | convert::Op::Cvta { .. }
                | convert::Op::Isspacep { .. } => None,
            },
            PureOp::Compare(compare::Op::Selp { .. }) if stride(2) == Some(0) => stride(0)
                .zip(stride(1))
                .and_then(|(a, b)| (a == b).then_some(a)),
            PureOp::Bits(_)
            | PureOp::Compare(_)
            | PureOp::Extended(_)
            | PureOp::Video(_)
            | PureOp::Float(_) => None,
        };
        Some(affine.map_or(Shape::Varying, |stride| Shape::stride(stride, class)))
    }
}

/// The stride of a product of twice the width. Of an unsigned type, a factor that is negative as a signed number is large instead.
fn factors(ty: IntTy, product: Option<i64>, constant: Option<i64>) -> Option<i64> {
    product.filter(|&p| p == 0 || ty.signed() || constant.is_some_and(|k| k >= 0))
}
