//! Regions: where the threads of a kernel stop, and where they go on.
//!
//! Guarantees: in the function that it gives, a meeting is not guarded and is the last instruction of its block, which jumps
//! to a block that nothing else leads to; the head of a loop that may wait has a block of its own that leads to it and that
//! nothing else leads to. These blocks are where threads go on: what lives into one has to be kept while a thread waits.

use super::inline::Body;
use crate::diag::Span;
use crate::ir::control::Terminator;
use crate::ir::sync::{Meet, as_meet};
use crate::ir::{BasicBlock, Block, FuncId, Function, Guard, Inst};

/// A place at which a thread may stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// Why.
    pub stop: Stop,
    /// Where it goes on.
    pub resume: Block,
}

/// Why a thread stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// For others, at the end of the block; the site is that of [`Waits`](crate::ir::waits::Waits).
    Meets {
        /// The block.
        block: Block,
        /// What the schedule knows the meeting by.
        site: u32,
    },
    /// Its turn is over, at the start of the block.
    Yields(Block),
}

/// A function cut at the points where its threads stop.
#[derive(Debug, Clone)]
pub struct Regions {
    /// The function.
    pub function: Function,
    /// The function that each block comes from.
    owners: Vec<FuncId>,
    /// The points.
    pub points: Vec<Point>,
    /// For each block the point that it ends with.
    meets: Vec<Option<u32>>,
    /// For each block the point that it begins with.
    yields: Vec<Option<u32>>,
    /// For each block the point after which threads go on there.
    resumed: Vec<Option<u32>>,
    /// For each point whether threads go on behind it that have stopped there.
    entered: Vec<bool>,
}

impl Regions {
    /// Of the body of a kernel.
    pub fn new(body: Body) -> Self {
        let mut cut = Cut {
            function: Function {
                blocks: body.function.blocks.iter().map(empty).collect(),
                ..body.function.clone()
            },
            owners: body.owners,
            points: Vec::new(),
        };
        for (b, block) in (0..).map(Block).zip(&body.function.blocks) {
            cut.block(b, block, |inst| body.sites.get(&(b, inst)).copied());
        }
        for b in body.soft {
            let block = body.function.block(b);
            let (span, location) = (block.insts.first())
                .map_or((block.span, block.location), |i| (i.span, i.location));
            let resume = cut.add(b, Terminator::Jump(b), span, location);
            cut.points.push(Point {
                stop: Stop::Yields(b),
                resume,
            });
        }
        let none = || vec![None; cut.function.blocks.len()];
        let [mut meets, mut yields, mut resumed] = [none(), none(), none()];
        for (i, point) in (0..).zip(&cut.points) {
            match point.stop {
                Stop::Meets { block, .. } => meets[block.index()] = Some(i),
                Stop::Yields(b) => yields[b.index()] = Some(i),
            }
            resumed[point.resume.index()] = Some(i);
        }
        Regions {
            function: cut.function,
            owners: cut.owners,
            entered: vec![true; cut.points.len()],
            points: cut.points,
            meets,
            yields,
            resumed,
        }
    }

    /// The same points in a function whose blocks were cut further: `from` tells of each new block which one it was cut from, `last` of each
    /// old one what it ends with now.
    pub fn cut_further(
        &self,
        function: Function,
        from: &[Block],
        last: impl Fn(Block) -> Block,
    ) -> Self {
        let mut regions = Regions {
            owners: from.iter().map(|b| self.owner(*b)).collect(),
            points: self.points.clone(),
            entered: self.entered.clone(),
            meets: vec![None; from.len()],
            yields: vec![None; from.len()],
            resumed: vec![None; from.len()],
            function,
        };
        regions.yields[..self.yields.len()].copy_from_slice(&self.yields);
        regions.resumed[..self.resumed.len()].copy_from_slice(&self.resumed);
        for (i, point) in (0..).zip(&mut regions.points) {
            match &mut point.stop {
                Stop::Meets { block, .. } => {
                    *block = last(*block);
                    regions.meets[block.index()] = Some(i);
                }
                Stop::Yields(_) => {}
            }
        }
        regions
    }

    /// Has threads that go on behind some of the points do so in a block of its own, that jumps to where they went on: others may come there
    /// without having stopped ([`passing`](Regions::passing)).
    pub fn set_apart(&mut self, points: impl Fn(u32) -> bool) {
        for i in (0..self.points.len() as u32).filter(|&i| points(i)) {
            let beside = self.points[i as usize].resume;
            let block = self.function.block(beside);
            let (span, location) = (block.span, block.location);
            let resume = Block(self.function.blocks.len() as u32);
            self.function.blocks.push(BasicBlock {
                label: None,
                insts: Vec::new(),
                terminator: Terminator::Jump(beside),
                span,
                location,
            });
            self.owners.push(self.owner(beside));
            self.meets.push(None);
            self.yields.push(None);
            self.resumed.push(Some(i));
            self.resumed[beside.index()] = None;
            self.points[i as usize].resume = resume;
        }
    }

    /// For threads that do not stop at some points, which have been [set apart](Regions::set_apart). They go on behind them all the same, if
    /// they had stopped there, where they may have come one by one from one of the blocks in `alone` without passing another.
    #[must_use]
    pub fn passing(&self, points: impl Fn(u32) -> bool, alone: &[Block]) -> Self {
        let mut passing = self.clone();
        for (point, entered) in (0..).zip(&mut passing.entered) {
            *entered = !points(point);
        }
        let mut seen = vec![false; self.function.blocks.len()];
        let mut left = alone.to_vec();
        while let Some(block) = left.pop() {
            if std::mem::replace(&mut seen[block.index()], true) {
                continue;
            }
            match self.meets(block) {
                Some(point) => passing.entered[point as usize] = true,
                None => self
                    .function
                    .block(block)
                    .terminator
                    .successors(|b| left.push(b)),
            }
        }
        for meets in &mut passing.meets {
            *meets = meets.filter(|&point| !points(point));
        }
        passing
    }

    /// Has threads go on behind some of the points that have stopped there.
    pub fn enter(&mut self, points: impl Fn(u32) -> bool) {
        for (point, entered) in (0..).zip(&mut self.entered) {
            *entered |= points(point);
        }
    }

    /// Whether threads go on behind a point that have stopped there.
    pub fn is_entered(&self, point: u32) -> bool {
        self.entered[point as usize]
    }

    /// The blocks where they do.
    pub fn entries(&self) -> impl Iterator<Item = Block> {
        let entered = self.points.iter().zip(&self.entered);
        entered
            .filter(|(_, entered)| **entered)
            .map(|(p, _)| p.resume)
    }

    /// The function that a block comes from.
    pub fn owner(&self, block: Block) -> FuncId {
        self.owners[block.index()]
    }

    /// The point with which a block ends.
    pub fn meets(&self, block: Block) -> Option<u32> {
        self.meets[block.index()]
    }

    /// The point with which a block begins.
    pub fn yields(&self, block: Block) -> Option<u32> {
        self.yields[block.index()]
    }

    /// The point after which threads go on in a block.
    pub fn resumed(&self, block: Block) -> Option<u32> {
        self.resumed[block.index()]
    }

    /// The meeting of a point, and its site; `None` where threads only give up their turn.
    pub fn meeting(&self, point: u32) -> Option<(u32, &Meet)> {
        let Stop::Meets { block, site } = self.points.get(point as usize)?.stop else {
            return None;
        };
        let inst = self.function.block(block).insts.last()?;
        as_meet(&inst.kind).map(|meet| (site, meet))
    }

    /// The meeting after which threads go on in a block.
    pub fn met(&self, block: Block) -> Option<&Meet> {
        self.meeting(self.resumed(block)?).map(|(_, meet)| meet)
    }
}

/// A block with nothing in it yet.
fn empty(block: &BasicBlock) -> BasicBlock {
    BasicBlock {
        label: block.label.clone(),
        insts: Vec::new(),
        terminator: Terminator::Exit,
        span: block.span,
        location: block.location,
    }
}

/// A function that is being cut.
struct Cut {
    function: Function,
    owners: Vec<FuncId>,
    points: Vec<Point>,
}

impl Cut {
    /// A block beside another.
    fn add(&mut self, beside: Block, terminator: Terminator, span: Span, location: u32) -> Block {
        self.owners.push(self.owners[beside.index()]);
        self.function.blocks.push(BasicBlock {
            label: None,
            insts: Vec::new(),
            terminator,
            span,
            location,
        });
        Block(self.function.blocks.len() as u32 - 1)
    }

    fn at(&mut self, block: Block) -> &mut BasicBlock {
        &mut self.function.blocks[block.index()]
    }

    /// Fills a block with what the whole block has up to its first meeting, and new ones with the rest.
    fn block(&mut self, block: Block, whole: &BasicBlock, site: impl Fn(usize) -> Option<u32>) {
        let mut current = block;
        for (i, inst) in whole.insts.iter().enumerate() {
            let Some(site) = site(i) else {
                self.at(current).insts.push(inst.clone());
                continue;
            };
            let (span, location) = (inst.span, inst.location);
            let rest = self.add(block, Terminator::Exit, span, location);
            let (before, resume) = match inst.guard {
                None => (current, rest),
                Some(Guard { reg, negated }) => {
                    let before = self.add(block, Terminator::Exit, span, location);
                    let resume = self.add(block, Terminator::Jump(rest), span, location);
                    let (then, other) = if negated {
                        (rest, before)
                    } else {
                        (before, rest)
                    };
                    self.end(
                        current,
                        Terminator::Branch {
                            cond: reg,
                            then,
                            other,
                        },
                        (span, location),
                    );
                    (before, resume)
                }
            };
            self.at(before).insts.push(Inst {
                guard: None,
                ..inst.clone()
            });
            self.end(before, Terminator::Jump(resume), (span, location));
            self.points.push(Point {
                stop: Stop::Meets {
                    block: before,
                    site,
                },
                resume,
            });
            current = rest;
        }
        self.end(
            current,
            whole.terminator.clone(),
            (whole.span, whole.location),
        );
    }

    fn end(&mut self, block: Block, terminator: Terminator, (span, location): (Span, u32)) {
        let block = self.at(block);
        (block.terminator, block.span, block.location) = (terminator, span, location);
    }
}
