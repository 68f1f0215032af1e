//! Checks that a plan of a kernel whose threads stop loses nothing: by definitions, apart from how the plan was made.

use super::FunctionPlan;
use super::names::{Name, Names};
use super::regions::{Regions, Stop};
use crate::ir::control::Terminator;
use crate::ir::memory::Order;
use crate::ir::sync::{MbarrierOp, as_meet};
use crate::ir::{Block, Function, Inst, Kind};
use rustc_hash::FxHashMap;

/// Blocks times names of a plan of which values are followed.
const MOST_PAIRS: usize = 4_000_000;

/// Checks a plan.
///
/// Slots: no byte of a lane's is another lane's at any point, and values at one point have slots of their own.
///
/// Rules: every meeting ends its block, without a guard, and begins a region; so does a block on every way round a loop in
/// which a thread looks at what others do; a region
/// is entered through its point alone; what is read behind a point before it is written is kept for each thread,
/// given by the meeting, or found again; what is found again has one definition, on every way to the point, made of
/// constants, parameters, what tells threads apart, and values of that kind that are defined before it.
///
/// # Errors
/// The first rule that is broken: a bug of ours.
pub fn verify(plan: &FunctionPlan) -> Result<(), String> {
    let Some(regions) = &plan.regions else {
        return Ok(());
    };
    let function = &regions.function;
    let check = Check {
        plan,
        regions,
        function,
    };
    check.points()?;
    check.shape()?;
    check.slots()?;
    // The definition takes time and memory with the product of blocks and names.
    if function.blocks.len() * plan.names.len() > MOST_PAIRS {
        return Ok(());
    }
    check.turns()?;
    let live = check.live();
    for (point, crossing) in (0..).zip(&plan.crossings) {
        let resume = regions.points[point].resume;
        let given = |name: Name| {
            let meeting = regions.meeting(point as u32);
            meeting.is_some_and(|(_, meet)| meet.dsts.iter().flatten().any(|&r| name == r.into()))
        };
        for (n, live) in (0..).map(Name).zip(&live[resume.index()]) {
            if !live || given(n) || crossing.framed.contains(&n) {
                continue;
            }
            if !crossing.rebuilt.contains(&n) {
                return Err(format!("{n:?} is lost at point {point}"));
            }
            check.is_steady(n, regions.points[point].stop)?;
        }
    }
    Ok(())
}

struct Check<'p> {
    plan: &'p FunctionPlan,
    regions: &'p Regions,
    function: &'p Function,
}

impl Check<'_> {
    fn blocks(&self) -> impl Iterator<Item = Block> + use<> {
        (0..self.function.blocks.len() as u32).map(Block)
    }

    /// Each point is that of its blocks, and a region begins behind it.
    fn points(&self) -> Result<(), String> {
        if self.plan.crossings.len() != self.regions.points.len() {
            return Err("a point has no crossing, or more than one".to_string());
        }
        for (number, point) in (0..).zip(&self.regions.points) {
            let resume = self.function.block(point.resume);
            let begins = self.regions.resumed(point.resume) == Some(number);
            let fits = match point.stop {
                Stop::Meets { block, .. } => {
                    let leads = self.function.block(block).terminator.clone();
                    self.regions.meets(block) == Some(number)
                        && self.regions.meeting(number).is_some()
                        && leads == Terminator::Jump(point.resume)
                }
                Stop::Yields(head) => {
                    self.regions.yields(head) == Some(number)
                        && resume.insts.is_empty()
                        && resume.terminator == Terminator::Jump(head)
                }
            };
            if !begins || !fits {
                return Err(format!("no region begins at point {number}"));
            }
        }
        Ok(())
    }

    /// No loop in which a thread looks at what others do goes round without a point.
    fn turns(&self) -> Result<(), String> {
        let cut = |block| self.regions.meets(block).is_some();
        for block in self.blocks() {
            let insts = &self.function.block(block).insts;
            if cut(block) || !insts.iter().any(|inst| polls(&inst.kind)) {
                continue;
            }
            let mut seen = vec![false; self.function.blocks.len()];
            let mut stack = vec![block];
            while let Some(from) = stack.pop() {
                let mut again = false;
                (self.function.block(from).terminator).successors(|to| {
                    if self.regions.yields(to).is_none() {
                        again |= to == block;
                        if !cut(to) && !std::mem::replace(&mut seen[to.index()], true) {
                            stack.push(to);
                        }
                    }
                });
                if again {
                    return Err(format!("the loop around {block} has no point"));
                }
            }
        }
        Ok(())
    }

    /// Meetings and regions.
    fn shape(&self) -> Result<(), String> {
        for block in self.blocks() {
            let insts = &self.function.block(block).insts;
            for (i, inst) in insts.iter().enumerate() {
                let meets = as_meet(&inst.kind).is_some();
                let last = i + 1 == insts.len();
                if meets && (!last || inst.guard.is_some() || self.regions.meets(block).is_none()) {
                    return Err(format!("the meeting in {block} does not end it"));
                }
            }
            let mut wrong = None;
            self.function.block(block).terminator.successors(|to| {
                let own = self.regions.meets(block);
                if self.regions.resumed(to).is_some() && self.regions.resumed(to) != own {
                    wrong = Some(format!("{block} leads into the region of {to}"));
                }
            });
            if let Some(wrong) = wrong {
                return Err(wrong);
            }
        }
        Ok(())
    }

    /// Where values are kept: whose each byte of the frame is.
    fn slots(&self) -> Result<(), String> {
        const LANES: u32 = 32;
        let mut owners: FxHashMap<u32, u32> = FxHashMap::default();
        for (point, crossing) in self.plan.crossings.iter().enumerate() {
            let mut taken = FxHashMap::default();
            for (name, slot) in crossing.framed.iter().zip(&crossing.slots) {
                let bytes = if slot.wide { 8 } else { 4 };
                let fits = self.plan.names.class(*name).bits() <= 8 * bytes
                    && slot.offset.is_multiple_of(bytes)
                    && slot.offset + LANES * bytes <= self.plan.frame_bytes
                    && slot.offset >= LANES * 4;
                let own = (0..LANES * bytes).all(|at| {
                    let lane = at / bytes;
                    *owners.entry(slot.offset + at).or_insert(lane) == lane
                        && taken.insert(slot.offset + at, *name).is_none()
                });
                if !fits || !own {
                    return Err(format!(
                        "the slot of {name:?} at point {point} is not its own"
                    ));
                }
            }
            if crossing.slots.len() != crossing.framed.len() {
                return Err(format!("slots are missing at point {point}"));
            }
        }
        Ok(())
    }

    /// For each block the names that are read from its start on before they are written, on some way within its region.
    fn live(&self) -> Vec<Vec<bool>> {
        let count = self.plan.names.len();
        let names = &self.plan.names;
        let mut live = vec![vec![false; count]; self.function.blocks.len()];
        loop {
            let mut changed = false;
            for block in self.blocks() {
                let body = self.function.block(block);
                let mut now = vec![false; count];
                let kept = |now: &mut [bool], point: u32| {
                    let crossing = &self.plan.crossings[point as usize];
                    crossing.framed.iter().for_each(|n| now[n.index()] = true);
                };
                if let Some(point) = self.regions.meets(block) {
                    kept(&mut now, point);
                } else {
                    body.terminator.successors(|to| {
                        for (now, then) in now.iter_mut().zip(&live[to.index()]) {
                            *now |= then;
                        }
                    });
                    names.terminator_uses(&body.terminator, |n| now[n.index()] = true);
                }
                for inst in body.insts.iter().rev() {
                    if inst.guard.is_none() && as_meet(&inst.kind).is_none() {
                        names.defs(inst, |n| now[n.index()] = false);
                    }
                    Names::uses(names, inst, |n| now[n.index()] = true);
                }
                if let Some(meet) = self.regions.met(block) {
                    for reg in meet.dsts.iter().flatten() {
                        now[reg.index()] = false;
                    }
                }
                if let Some(point) = self.regions.yields(block) {
                    kept(&mut now, point);
                }
                if now != live[block.index()] {
                    live[block.index()] = now;
                    changed = true;
                }
            }
            if !changed {
                return live;
            }
        }
    }

    /// Whether a name can be found again behind a stop.
    fn is_steady(&self, name: Name, stop: Stop) -> Result<(), String> {
        let ((block, index), inst) = self.only_definition(name)?;
        let stands = match stop {
            Stop::Meets { block, .. } | Stop::Yields(block) => block,
        };
        let before = matches!(stop, Stop::Meets { .. }) && stands == block;
        if !before && self.reaches(block, stands) {
            return Err(format!("{name:?} may not be defined at {stands}"));
        }
        let constant = match &inst.kind {
            Kind::Pure(_) | Kind::AddressOf(_) | Kind::FunctionAddress { .. } => true,
            Kind::Load(load) => load.read_only,
            Kind::Special { special, .. } => !special.tells_time(),
            Kind::Store(_)
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
        if !constant {
            return Err(format!("{name:?} is not found again by its definition"));
        }
        let mut sources = Vec::new();
        Names::uses(&self.plan.names, inst, |n| sources.push(n));
        sources.into_iter().try_for_each(|source| {
            // On every way to the definition, and so to the point.
            let ((at, before), _) = self.only_definition(source)?;
            let defined = match at == block {
                true => before < index,
                false => !self.reaches(at, block),
            };
            if !defined {
                return Err(format!("{source:?} may not be defined at {block}"));
            }
            self.is_steady(source, stop)
        })
    }

    fn only_definition(&self, name: Name) -> Result<((Block, usize), &Inst), String> {
        let mut found = Vec::new();
        for block in self.blocks() {
            for (index, inst) in self.function.block(block).insts.iter().enumerate() {
                self.plan.names.defs(inst, |n| {
                    if n == name {
                        found.push(((block, index), inst));
                    }
                });
            }
        }
        match found[..] {
            [(at, inst)] if inst.guard.is_none() => Ok((at, inst)),
            _ => Err(format!("{name:?} has {} definitions", found.len())),
        }
    }

    /// Whether a way, points crossed, leads from the start to a block without going through another.
    fn reaches(&self, without: Block, to: Block) -> bool {
        let mut seen = vec![false; self.function.blocks.len()];
        let mut stack = vec![Block(0)];
        while let Some(block) = stack.pop() {
            if block == to {
                return true;
            }
            if block != without && !std::mem::replace(&mut seen[block.index()], true) {
                let terminator = &self.function.block(block).terminator;
                terminator.successors(|next| stack.push(next));
            }
        }
        false
    }
}

/// Whether an instruction looks at what other threads do, by itself, so that one in a loop may wait for them.
fn polls(kind: &Kind) -> bool {
    match kind {
        Kind::Load(load) => match load.order {
            Order::Volatile | Order::Relaxed | Order::Acquire | Order::AcquireRelease => true,
            Order::Weak | Order::Release => false,
        },
        Kind::Atomic(atomic) => atomic.dsts.iter().any(Option::is_some),
        Kind::Mbarrier(mbarrier) => matches!(mbarrier.op, MbarrierOp::Test { .. }),
        Kind::Hint { name } => *name == "nanosleep",
        Kind::Pure(_)
        | Kind::Store(_)
        | Kind::AddressOf(_)
        | Kind::FunctionAddress { .. }
        | Kind::Special { .. }
        | Kind::Call(_)
        | Kind::Meet(_)
        | Kind::Fence(_)
        | Kind::Copy(_)
        | Kind::Stack(_)
        | Kind::Unsupported => false,
    }
}
