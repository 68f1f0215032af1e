//! Checks that a plan of a kernel whose threads stop loses nothing: by definitions, apart from how the plan was made.

use super::FunctionPlan;
use super::names::{Name, Names};
use super::regions::{Regions, Stop};
use crate::ir::sync::as_meet;
use crate::ir::{Block, Function, Inst, Kind};
use rustc_hash::FxHashMap;

/// Blocks times names of a plan of which values are followed.
const MOST_PAIRS: usize = 4_000_000;

/// Checks a plan.
///
/// Slots: no byte of a lane's is another lane's at any point, and values at one point have slots of their own.
///
/// Rules: every meeting ends its block, without a guard, and begins a region, as every head of a loop that may wait does; a region
/// is entered through its point alone; what is read behind a point before it is written is kept for each thread,
/// given by the meeting, or found again; what is found again has one definition, on every way to the point, made of
/// constants, parameters, what tells threads apart, and values of that kind.
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
    check.shape()?;
    check.slots()?;
    // The definition takes time and memory with the product of blocks and names.
    if function.blocks.len() * plan.names.len() > MOST_PAIRS {
        return Ok(());
    }
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
        let mut owners: FxHashMap<u32, u32> = (0..LANES * 4).map(|byte| (byte, byte / 4)).collect();
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
        let (block, inst) = self.only_definition(name)?;
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
            let (at, _) = self.only_definition(source)?;
            if at != block && self.reaches(at, block) {
                return Err(format!("{source:?} may not be defined at {block}"));
            }
            self.is_steady(source, stop)
        })
    }

    fn only_definition(&self, name: Name) -> Result<(Block, &Inst), String> {
        let mut found = Vec::new();
        for block in self.blocks() {
            for inst in &self.function.block(block).insts {
                self.plan.names.defs(inst, |n| {
                    if n == name {
                        found.push((block, inst));
                    }
                });
            }
        }
        match found[..] {
            [(block, inst)] if inst.guard.is_none() => Ok((block, inst)),
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
