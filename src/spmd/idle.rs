//! Warps that have nothing to do in a region, and all those behind them with them.
//!
//! Warps of a CTA run by turns from barrier to barrier. Where a comparison that the thread index decides sends all lanes of a warp past
//! everything that the region does, and would send all threads behind them, too, these warps need no turn: each would but keep what is
//! the same for all.
//!
//! Guarantees: as long as all warps have gone from the start from the same points to the same points, a name that is alike has one value for all
//! threads that stand at a point. On a side that is idle, and on all ways from the points to its branch, nothing is done that could be seen, and
//! ways are the same for all warps; what is kept at the barriers behind it is alike, or has been kept in the same place at the points before, and is
//! still the same.

use super::access::{Home, Place, Reach};
use super::names::{Name, Names};
use super::provenance::Provenance;
use super::regions::Regions;
use super::uniformity::{Shape, Uniformity};
use super::{Crossing, Flow, NUMBERED};
use crate::ir::control::Terminator;
use crate::ir::integer::{self, Part};
use crate::ir::{Block, Function, Inst, Kind, Module, PureOp, Special, bits};
use crate::machine::schedule::Known;
use rustc_hash::FxHashSet;

/// Where warps may have nothing to do.
#[derive(Debug, Clone)]
pub struct Idle {
    /// For each block the sides of the branch at its end that are idle.
    sides: Vec<[bool; 2]>,
    /// For each block with a side that is idle whether the other one ends where that does.
    ahead: Vec<bool>,
    /// For each point whether an idle side leads there.
    reached: Vec<bool>,
    /// For each name whether it is the same for all threads of a CTA.
    alike: Vec<bool>,
    /// For each name whether it grows by the same from one thread to the next, past the ends of warps, too.
    grows: Vec<bool>,
}

/// What is known of a kernel whose threads go together.
#[derive(Clone, Copy)]
pub struct Of<'a> {
    /// Its module.
    pub module: &'a Module,
    /// It, cut.
    pub function: &'a Function,
    /// What holds its values.
    pub names: &'a Names,
    /// Where its addresses come from.
    pub provenance: &'a Provenance,
    /// Where its threads stop.
    pub regions: &'a Regions,
    /// Its control flow.
    pub flow: &'a Flow,
    /// What is kept at its points.
    pub crossings: &'a [Crossing],
    /// How its values differ within a warp.
    pub uniformity: &'a Uniformity,
    /// Its meetings.
    pub known: &'a [Known],
}

impl Idle {
    /// Of a kernel; `None` if no side is idle.
    pub fn new(of: Of<'_>) -> Option<Self> {
        let alike = of.alike();
        let clean = of.clean(&alike);
        let mut idle = Idle {
            sides: vec![[false; 2]; of.function.blocks.len()],
            ahead: vec![false; of.function.blocks.len()],
            reached: vec![false; of.regions.points.len()],
            grows: of.grows(&alike),
            alike,
        };
        let mut any = false;
        for &b in of.flow.cfg.order() {
            let Terminator::Branch { cond, then, other } = of.function.block(b).terminator else {
                continue;
            };
            let parts = !idle.alike[Name::from(cond).index()];
            if !parts || !clean[b.index()] || !of.is_quiet(b) {
                continue;
            }
            for (i, side) in [then, other].into_iter().enumerate() {
                if let Some(points) = of.idle(&idle.alike, b, side) {
                    idle.sides[b.index()][i] = true;
                    points.iter().for_each(|&p| idle.reached[p as usize] = true);
                    any = true;
                }
            }
            if idle.sides[b.index()] != [false; 2] {
                let ends = of.ends([then, other]);
                idle.ahead[b.index()] = ends.is_some_and(|ends| ends.len() == 1);
            }
        }
        any.then_some(idle)
    }

    /// The sides of the branch at the end of a block that are idle: where its condition holds, where it does not.
    pub fn sides(&self, block: Block) -> [bool; 2] {
        self.sides[block.index()]
    }

    /// Whether all threads end their turn at the same place from both sides of the branch at the end of a block on, of which one is idle.
    pub fn is_ahead(&self, block: Block) -> bool {
        self.ahead[block.index()]
    }

    /// Whether an idle side leads to a point.
    pub fn reaches(&self, point: u32) -> bool {
        self.reached[point as usize]
    }

    /// Whether a name is the same for all threads.
    pub fn is_alike(&self, name: Name) -> bool {
        self.alike[name.index()]
    }

    /// Whether a name differs by as much between the last thread of a warp and the first of the next as within a warp, in a CTA that is one row.
    pub fn grows(&self, name: Name) -> bool {
        self.grows[name.index()]
    }
}

impl Of<'_> {
    /// Whether what an instruction gives is the same for all threads for which what it reads is; and whether nobody sees that it was done.
    fn gives_alike(&self, inst: &Inst) -> bool {
        match &inst.kind {
            Kind::Pure(_) | Kind::AddressOf(_) | Kind::FunctionAddress { .. } => true,
            Kind::Special { special, .. } => special.is_uniform() && !special.tells_time(),
            Kind::Load(_) => self.loads_a_constant(inst),
            Kind::Hint { .. } => true,
            Kind::Store(_)
            | Kind::Call(_)
            | Kind::Meet(_)
            | Kind::Atomic(_)
            | Kind::Fence(_)
            | Kind::Mbarrier(_)
            | Kind::Copy(_)
            | Kind::Stack(_)
            | Kind::Unsupported => false,
        }
    }

    /// Whether nobody sees that an instruction was done.
    fn is_unseen(&self, inst: &Inst) -> bool {
        self.gives_alike(inst) || matches!(inst.kind, Kind::Special { .. })
    }

    /// Whether a load cannot fail and is of what nobody writes.
    fn loads_a_constant(&self, inst: &Inst) -> bool {
        let place = Reach::of(inst)
            .map(|r| r.place(self.module, self.function, self.names, self.provenance));
        matches!(place, Some(Place::Fixed(Home::Params | Home::Constants, _)))
    }

    /// Where control goes on within a region.
    fn successors(&self, block: Block, f: impl FnMut(Block)) {
        if self.regions.meets(block).is_none() {
            self.function.block(block).terminator.successors(f);
        }
    }

    /// The names that are the same for all threads of a CTA.
    fn alike(&self) -> Vec<bool> {
        let mut alike = vec![true; self.names.len()];
        // Blocks to which warps may come by different ways.
        let mut apart = vec![false; self.function.blocks.len()];
        loop {
            let mut changed = false;
            for &b in self.flow.cfg.order() {
                let block = self.function.block(b);
                for inst in &block.insts {
                    let mut same = self.gives_alike(inst);
                    self.names.uses(inst, |n| same &= alike[n.index()]);
                    if !same {
                        self.names
                            .defs(inst, |n| changed |= std::mem::take(&mut alike[n.index()]));
                    }
                }
                let mut same = true;
                let ends = &block.terminator;
                (self.names).terminator_uses(ends, |n| same &= alike[n.index()]);
                if same {
                    continue;
                }
                let mut left = Vec::new();
                self.successors(b, |s| left.push(s));
                while let Some(b) = left.pop() {
                    if !std::mem::replace(&mut apart[b.index()], true) {
                        self.successors(b, |s| left.push(s));
                        for n in self.flow.ssa.phis(b) {
                            changed |= std::mem::take(&mut alike[n.index()]);
                        }
                    }
                }
            }
            if !changed {
                break;
            }
        }
        for (n, alike) in (0..).map(Name).zip(&mut alike) {
            *alike &= self.uniformity.of(n) == Shape::Uniform;
        }
        alike
    }

    /// The names that grow by the same from one thread of a CTA to the next: `%tid.x`, and what is made of it and of what is alike.
    fn grows(&self, alike: &[bool]) -> Vec<bool> {
        let definitions = self.names.definitions(self.function);
        let insts = || self.function.blocks.iter().flat_map(|b| &b.insts);
        let mut grows = vec![false; self.names.len()];
        loop {
            let mut changed = false;
            for inst in insts() {
                let linear = match &inst.kind {
                    Kind::Special { special, .. } => *special == Special::Tid(0),
                    Kind::Pure(pure) => is_linear(pure.op),
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
                let mut made = linear && inst.guard.is_none();
                self.names
                    .uses(inst, |n| made &= alike[n.index()] || grows[n.index()]);
                self.names.defs(inst, |n| {
                    let affine = matches!(self.uniformity.of(n), Shape::Affine(_));
                    if made && affine && definitions[n.index()] == 1 {
                        changed |= !std::mem::replace(&mut grows[n.index()], true);
                    }
                });
            }
            if !changed {
                return grows;
            }
        }
    }

    /// Whether nobody sees what is done in a block, but for the barrier at its end.
    fn is_quiet(&self, block: Block) -> bool {
        let insts = &self.function.block(block).insts;
        let point = self.regions.meets(block);
        let barrier = point.and_then(|point| self.regions.meeting(point));
        let insts = match barrier {
            Some((site, meet)) => {
                let known = &self.known[site as usize];
                let told = (0..meet.srcs.len()).all(|i| known.constant(i).is_some());
                if known.plain_barrier().is_none() || !told {
                    return false;
                }
                insts.split_last().map_or(&[][..], |(_, before)| before)
            }
            None => insts,
        };
        insts.iter().all(|inst| self.is_unseen(inst))
    }

    /// Whether all warps go on at the end of a block to the same one.
    fn goes_alike(&self, alike: &[bool], block: Block) -> bool {
        let mut same = true;
        let ends = &self.function.block(block).terminator;
        (self.names).terminator_uses(ends, |n| same &= alike[n.index()]);
        same
    }

    /// For each block whether nobody sees what is done on any way there, and all warps go it.
    fn clean(&self, alike: &[bool]) -> Vec<bool> {
        let mut clean = vec![true; self.function.blocks.len()];
        loop {
            let mut changed = false;
            for &b in self.flow.cfg.order() {
                let before =
                    self.flow.cfg.preds(b).iter().all(|&p| {
                        clean[p.index()] && self.is_quiet(p) && self.goes_alike(alike, p)
                    });
                changed |= !before && std::mem::take(&mut clean[b.index()]);
            }
            if !changed {
                return clean;
            }
        }
    }

    /// Where turns end from some blocks on: points, and nowhere for threads that are over; `None` if at a point of a kind that has no number.
    fn ends(&self, from: [Block; 2]) -> Option<FxHashSet<Option<u32>>> {
        let mut ends = FxHashSet::default();
        let mut seen = FxHashSet::from_iter(from);
        let mut left = from.to_vec();
        while let Some(b) = left.pop() {
            match (self.regions.meets(b), &self.function.block(b).terminator) {
                (Some(point), _) if point >= NUMBERED => return None,
                (Some(point), _) => {
                    ends.insert(Some(point));
                }
                (None, Terminator::Return | Terminator::Exit) => {
                    ends.insert(None);
                }
                (None, terminator) => terminator.successors(|s| {
                    if seen.insert(s) {
                        left.push(s)
                    }
                }),
            }
        }
        Some(ends)
    }

    /// The points to which a side of the branch at the end of a block leads, which nothing unclean leads to; `None` if it is not idle.
    fn idle(&self, alike: &[bool], branch: Block, side: Block) -> Option<Vec<u32>> {
        let mut written = FxHashSet::default();
        let mut points = Vec::new();
        let mut seen = FxHashSet::from_iter([side]);
        let mut left = vec![side];
        let defs = |b: Block, written: &mut FxHashSet<Name>| {
            for inst in &self.function.block(b).insts {
                self.names.defs(inst, |n| {
                    written.insert(n);
                });
            }
        };
        while let Some(b) = left.pop() {
            let ends = &self.function.block(b).terminator;
            let fails = matches!(ends, Terminator::Trap);
            if fails || !self.is_quiet(b) {
                return None;
            }
            defs(b, &mut written);
            match self.regions.meets(b) {
                Some(point) if point >= NUMBERED => return None,
                Some(point) => points.push(point),
                None if self.goes_alike(alike, b) => {
                    ends.successors(|s| {
                        if seen.insert(s) {
                            left.push(s)
                        }
                    });
                }
                None => return None,
            }
        }
        // From where the branch is come to.
        let mut entries = Vec::new();
        let mut seen = FxHashSet::from_iter([branch]);
        let mut left = vec![branch];
        while let Some(b) = left.pop() {
            defs(b, &mut written);
            match self.regions.resumed(b) {
                Some(point) if self.regions.is_entered(point) => entries.push(Some(point)),
                Some(_) | None if b == Block(0) => entries.push(None),
                Some(_) | None => {}
            }
            let before = self.flow.cfg.preds(b).iter();
            left.extend(before.filter(|&&p| seen.insert(p)));
        }
        let kept = |point: u32| {
            let crossing = &self.crossings[point as usize];
            crossing.framed.iter().zip(&crossing.slots)
        };
        let stays = |point: &u32| {
            kept(*point).all(|(name, slot)| {
                let as_before = |entry: &Option<u32>| {
                    entry.is_some_and(|entry| kept(entry).any(|k| k == (name, slot)))
                };
                alike[name.index()] || !written.contains(name) && entries.iter().all(as_before)
            })
        };
        points.iter().all(stays).then_some(points)
    }
}

/// Whether an operation gives what grows by the same from thread to thread, if what it takes does or is the same for all, and it gives something
/// affine.
fn is_linear(op: PureOp) -> bool {
    matches!(
        op,
        PureOp::Integer(
            integer::Op::Add { sat: false, .. }
                | integer::Op::Sub { sat: false, .. }
                | integer::Op::Neg { .. }
                | integer::Op::Mul { part: Part::Lo, .. }
                | integer::Op::Mad {
                    part: Part::Lo,
                    sat: false,
                    ..
                }
        ) | PureOp::Bits(bits::Op::Shl { .. })
    )
}
