//! Runs of threads that go together: where they may part, and code for single threads takes over.
//!
//! A kernel is lowered twice: for runs, whose values of a register lie side by side in vectors unless they are uniform or affine
//! ([`uniformity`](super::uniformity)), and for single threads. Where a branch takes some threads of a run this way and some that way, or what
//! was supposed of their values does not hold, each thread of the run goes on by itself, to its end; but where the ways are short and meet again ([`Sides`]), the
//! threads go these one after another, and on together.
//!
//! Guarantees: in the function that it gives, a place where a run may be left begins a block, and a branch that may part threads has a
//! block of its own.

use super::cfg::Cfg;
use super::idle::{self, Idle};
use super::names::{Name, Names};
use super::provenance::Provenance;
use super::regions::{Point, Regions, Stop};
use super::runs::{self, Run};
use super::ssa::Ssa;
use super::steady::Steady;
use super::turns::Turns;
use super::uniformity::{Of, Shape, Supposed, Uniformity};
use super::{Crossing, Flow, NUMBERED};
use crate::diag::Span;
use crate::ir::control::Terminator;
use crate::ir::{BasicBlock, Block, Function, Inst, Kind, Module, Operand};
use crate::machine::schedule::{Known, LANES};

/// Instructions that a kernel may have to be lowered for runs, too.
const MOST_INSTRUCTIONS: u64 = 20_000;

/// Why a run may be left at the start of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// Threads may part where the block ends, which is all that it does.
    Parts,
    /// What is supposed may not hold for the threads of the run.
    Unlike(Supposed),
}

/// What threads do that part at a branch and meet again behind it, without stopping in between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sides {
    /// The blocks of either way; none where it leads to where they meet.
    pub ways: [Vec<Block>; 2],
    /// Where they meet.
    pub join: Block,
    /// What is read on the ways that was there before.
    pub read: Vec<Name>,
    /// What is written on them and read later.
    pub changed: Vec<Name>,
}

/// Most instructions of both ways.
const MOST_ASIDE: usize = 48;

/// A place where a run may be left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leave {
    /// The block that begins there.
    pub block: Block,
    /// Why.
    pub why: Why,
}

/// The plan of a kernel whose threads go together.
#[derive(Debug)]
pub struct Wide {
    /// Threads of a run.
    pub width: u32,
    /// Whether runs have turns, from barrier to barrier: whole warps do, and parts of warps where there is nothing but barriers of all threads.
    pub by_turns: bool,
    /// The kernel, cut.
    pub function: Function,
    /// Where its threads stop, if they do.
    pub regions: Option<Regions>,
    /// Where threads of a run stop: not at the warp operations that a whole warp does in vectors.
    pub passing: Option<Regions>,
    /// Where runs ask whether their turn is over that pass such operations, if there are any.
    pub turns: Option<Turns>,
    /// Where whole warps may have nothing to do, if they do anywhere.
    pub idle: Option<Idle>,
    /// Of runs.
    pub together: Flow,
    /// Of single threads, which begin at the start or where a run is left.
    pub single: Flow,
    /// How values differ between threads.
    pub uniformity: Uniformity,
    /// Accesses that are checked together, by block.
    pub runs: Vec<Vec<Run>>,
    /// Where runs may be left.
    pub leaves: Vec<Leave>,
    /// Which of them begins a block.
    at: Vec<Option<u32>>,
    /// What threads do that part at the end of a block, and meet again.
    sides: Vec<Option<Sides>>,
}

impl Wide {
    /// Of a kernel with what is known of it; `None` if threads do better one by one, or control flow is too tangled once it is cut. Runs are of
    /// `width` threads, or of whole warps where those do something together; `known` tells of the meetings.
    pub fn new(
        (module, function, names, provenance): (&Module, &Function, &Names, &Provenance),
        width: u32,
        stops: Option<(&Regions, &Steady, &[Crossing])>,
        known: &[Known],
        ssa: &Ssa,
    ) -> Option<Self> {
        let regions = stops.map(|(regions, steady, _)| (regions, steady));
        let memory_of_its_own =
            function.local_bytes > 0 || (0..function.frame.len()).any(|i| names.frame(i).is_none());
        let insts = || function.blocks.iter().flat_map(|b| &b.insts);
        // Frames of local memory are of single threads.
        let calls = insts().any(|inst| matches!(inst.kind, Kind::Call(_) | Kind::Stack(_)));
        let large = insts().count() as u64 > MOST_INSTRUCTIONS;
        let yields = |point: &Point| match point.stop {
            Stop::Yields(_) => true,
            Stop::Meets { .. } => false,
        };
        let waits = regions.is_some_and(|(r, _)| r.points.iter().any(yields));
        if memory_of_its_own || calls || large || waits {
            return None;
        }
        let passed: Vec<bool> = (regions.iter())
            .flat_map(|(r, _)| (0..r.points.len() as u32).map(|point| r.meeting(point)))
            .map(|meeting| meeting.is_some_and(|(site, _)| known[site as usize].is_of_whole_warp()))
            .collect();
        let passes = |point: u32| passed[point as usize];
        let by_warps = passed.contains(&true);
        let width = if by_warps { LANES as u32 } else { width };
        let by_turns = width == LANES as u32
            || regions.is_some_and(|(r, _)| {
                (r.points.len() < NUMBERED as usize)
                    && (0..r.points.len() as u32).all(|point| {
                        let known = r.meeting(point).map(|(site, _)| &known[site as usize]);
                        known.is_some_and(|known| known.plain_barrier().is_some())
                    })
            });
        let unset = |name| ssa.is_unset(name);
        let of = Of {
            module,
            function,
            names,
            provenance,
            in_warps: regions.is_some(),
            width,
        };
        let of_all = |block: Block| {
            let point = regions.and_then(|(r, _)| r.meets(block));
            point.is_some_and(passes)
        };
        let uniformity = Uniformity::new(of, unset, of_all);
        let Cut {
            mut function,
            mut leaves,
            from,
            last,
        } = cut(function, names, &uniformity);
        let steady = regions.map(|(_, steady)| steady);
        let regions = regions.map(|(r, _)| {
            let mut regions = r.cut_further(function.clone(), &from, |b| last[b.index()]);
            regions.set_apart(passes);
            function = regions.function.clone();
            regions
        });
        let apart: Vec<Block> = leaves.iter().map(|leave| leave.block).collect();
        let mut passing = regions.as_ref().map(|r| r.passing(passes, &apart));
        let turns = (regions.as_ref().zip(passing.as_mut()))
            .filter(|_| by_warps)
            .map(|(regions, passing)| {
                let cfg = Cfg::new(&function, Some(passing), &[]);
                let passed = |b| regions.meets(b).filter(|&point| passes(point));
                let turns = Turns::new(&function, passing, &cfg, passed);
                passing.enter(|point| turns.asks(point).is_some());
                turns
            })
            .filter(Turns::passes_any);
        let found = |name, stop| {
            let whole = match stop {
                Stop::Meets { block, site } => Stop::Meets {
                    block: from[block.index()],
                    site,
                },
                Stop::Yields(block) => Stop::Yields(block),
            };
            steady.is_some_and(|s| s.is_found(name, whole))
        };
        let flow = |regions: Option<&Regions>, left: &[Block]| {
            let cfg = Cfg::new(&function, regions, left);
            let ssa = Ssa::new(&function, regions, &cfg, names, left, found).ok()?;
            Some(Flow { cfg, ssa })
        };
        let together = flow(passing.as_ref(), &[])?;
        let mut sides = vec![None; function.blocks.len()];
        leaves.retain(|leave| {
            let own = match leave.why {
                Why::Parts => Aside {
                    function: &function,
                    regions: regions.as_ref(),
                    flow: &together,
                    names,
                    uniformity: &uniformity,
                }
                .sides(leave.block),
                Why::Unlike(_) => None,
            };
            let stays = own.is_none();
            sides[leave.block.index()] = own;
            stays
        });
        let mut at = vec![None; function.blocks.len()];
        for (i, leave) in (0..).zip(&leaves) {
            at[leave.block.index()] = Some(i);
        }
        let idle = (stops.zip(passing.as_ref()))
            .filter(|_| width == LANES as u32)
            .and_then(|((_, _, crossings), regions)| {
                Idle::new(idle::Of {
                    module,
                    function: &function,
                    names,
                    provenance,
                    regions,
                    flow: &together,
                    crossings,
                    uniformity: &uniformity,
                    known,
                })
            });
        let left: Vec<Block> = leaves.iter().map(|l| l.block).collect();
        let single = flow(regions.as_ref(), &left)?;
        let runs = (function.blocks.iter())
            .map(|b| runs::runs(module, &function, names, provenance, b))
            .collect();
        Some(Wide {
            width,
            by_turns,
            together,
            single,
            uniformity,
            runs,
            leaves,
            at,
            sides,
            regions,
            passing,
            turns,
            idle,
            function,
        })
    }

    /// The point at the end of a block at which a run does not stop, but does what is to be done.
    pub fn passes(&self, block: Block) -> Option<u32> {
        let point = self.regions.as_ref()?.meets(block)?;
        let stops = self.passing.as_ref()?.meets(block).is_some();
        (!stops).then_some(point)
    }

    /// Whether a run may be left at the start of a block, and which place it is.
    pub fn leave(&self, block: Block) -> Option<(u32, Leave)> {
        let i = self.at[block.index()]?;
        Some((i, self.leaves[i as usize]))
    }

    /// What threads do that part at the end of a block, if they meet again.
    pub fn sides(&self, block: Block) -> Option<&Sides> {
        self.sides[block.index()].as_ref()
    }

    /// The names that live where a run is left.
    pub fn kept(&self, leave: &Leave) -> &[Name] {
        self.single.ssa.kept(leave.block)
    }
}

/// Where it is looked for ways that meet again.
struct Aside<'a> {
    function: &'a Function,
    regions: Option<&'a Regions>,
    flow: &'a Flow,
    names: &'a Names,
    uniformity: &'a Uniformity,
}

impl Aside<'_> {
    /// Of the branch at the end of a block.
    fn sides(&self, branch: Block) -> Option<Sides> {
        let &Terminator::Branch { then, other, .. } = &self.function.block(branch).terminator
        else {
            return None;
        };
        let [(first, join), (second, behind)] = [self.way(then)?, self.way(other)?];
        if join != behind || then == other {
            return None;
        }
        let ways = [first, second];
        let insts = || {
            ways.iter()
                .map(|way| way.iter().flat_map(|&b| &self.function.block(b).insts))
        };
        if insts().map(Iterator::count).sum::<usize>() > MOST_ASIDE {
            return None;
        }
        let (mut read, mut changed) = (Vec::new(), Vec::new());
        for way in insts() {
            let mut defined = Vec::new();
            for inst in way {
                self.names.uses(inst, |n| {
                    if !defined.contains(&n) && !read.contains(&n) {
                        read.push(n);
                    }
                });
                self.names.defs(inst, |n| defined.push(n));
            }
            changed.extend(defined);
        }
        let met = self.flow.ssa.phis(join);
        changed.retain(|n| met.contains(n));
        changed.sort_unstable();
        changed.dedup();
        // Threads that did not go that way have what they had.
        let varies = |n: &Name| self.uniformity.of(*n) == Shape::Varying;
        changed.iter().all(varies).then_some(Sides {
            ways,
            join,
            read,
            changed,
        })
    }

    /// The blocks from one on to which nothing else leads, and where they lead; `None` if threads part again, stop or end there.
    fn way(&self, mut at: Block) -> Option<(Vec<Block>, Block)> {
        let mut way = Vec::new();
        while let [_] = self.flow.cfg.preds(at) {
            let body = self.function.block(at);
            let apart =
                |inst: &Inst| matches!(inst.kind, Kind::Call(_) | Kind::Meet(_) | Kind::Stack(_));
            let points = self.regions.is_some_and(|r| {
                r.meets(at).is_some() || r.yields(at).is_some() || r.resumed(at).is_some()
            });
            let Terminator::Jump(next) = body.terminator else {
                return None;
            };
            if points || body.insts.iter().any(apart) || way.contains(&at) {
                return None;
            }
            way.push(at);
            at = next;
        }
        Some((way, at))
    }
}

/// A function that has been cut, or is being cut.
struct Cut {
    function: Function,
    leaves: Vec<Leave>,
    /// The block that each was cut from.
    from: Vec<Block>,
    /// What each block of the whole ends with.
    last: Vec<Block>,
}

/// Cuts a function where runs may be left.
fn cut(whole: &Function, names: &Names, uniformity: &Uniformity) -> Cut {
    let blocks = || (0..whole.blocks.len() as u32).map(Block);
    let mut cut = Cut {
        function: whole.clone(),
        leaves: Vec::new(),
        from: blocks().collect(),
        last: blocks().collect(),
    };
    for (b, block) in blocks().zip(&whole.blocks) {
        cut.function.blocks[b.index()].insts.clear();
        let mut found: Vec<Supposed> = Vec::new();
        for inst in &block.insts {
            if let Some(supposed) = uniformity.supposes(inst)
                && !found.contains(&supposed)
            {
                cut.leave(b, (inst.span, inst.location), Why::Unlike(supposed));
                found.push(supposed);
            }
            names.defs(inst, |n| {
                found.retain(|supposed| {
                    supposed.operands().iter().all(|operand| match operand {
                        Operand::Reg(reg) => Name::from(*reg) != n,
                        Operand::Imm(_) => true,
                    })
                });
            });
            cut.current(b).insts.push(inst.clone());
        }
        let parts = (block.terminator.uses())
            .is_some_and(|reg| uniformity.of(reg.into()) != Shape::Uniform);
        if parts {
            cut.leave(b, (block.span, block.location), Why::Parts);
        }
        let last = cut.current(b);
        last.terminator = block.terminator.clone();
        (last.span, last.location) = (block.span, block.location);
    }
    cut
}

impl Cut {
    /// What a block of the whole ends with as yet.
    fn current(&mut self, of: Block) -> &mut BasicBlock {
        &mut self.function.blocks[self.last[of.index()].index()]
    }

    /// Ends what there is of a block, and goes on in a new one.
    fn leave(&mut self, of: Block, (span, location): (Span, u32), why: Why) {
        let block = Block(self.function.blocks.len() as u32);
        let before = self.current(of);
        (before.terminator, before.span, before.location) =
            (Terminator::Jump(block), span, location);
        self.function.blocks.push(BasicBlock {
            label: None,
            insts: Vec::new(),
            terminator: Terminator::Exit,
            span,
            location,
        });
        self.from.push(of);
        self.last[of.index()] = block;
        self.leaves.push(Leave { block, why });
    }
}
