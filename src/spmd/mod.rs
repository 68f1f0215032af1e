//! From IR to a plan for native code: control flow, values, provenance of addresses, facts about calls.
//!
//! A kernel whose threads never stop is one region: they run one after another, each to its end, in a loop around the
//! body. Others are cut at the points where threads stop ([`regions`]); what lives across a point is kept for each lane of a
//! warp ([`Crossing`]). [`ModulePlan`] says which functions can be compiled and what is known of them; each has a
//! [`FunctionPlan`].

pub mod access;
mod cfg;
mod dump;
pub mod facts;
mod floats;
mod idle;
mod inline;
mod known;
mod names;
mod provenance;
pub mod regions;
mod runs;
mod ssa;
mod steady;
#[cfg(test)]
mod tests;
mod turns;
pub mod uniformity;
pub mod verify;
pub mod wide;

pub use cfg::Cfg;
pub use dump::dump;
pub use facts::{Absent, Facts};
pub use floats::Floats;
pub use inline::Stopping;
pub use names::{Name, Names, register_class};
pub use provenance::{Provenance, Root};
pub use regions::Regions;
use regions::{Point, Stop};
pub use runs::{Between, MOST_BETWEEN, Run};
pub use ssa::Ssa;
pub use steady::Steady;
pub use uniformity::Shape;
pub use wide::Wide;

use crate::ir::waits::Waits;
use crate::ir::{Block, FuncId, Function, FunctionKind, Module, RegClass};
use crate::machine::schedule::{Known, LANES};

/// Values that blocks hand on to others, for each instruction and beyond, all functions of a module together. What
/// compiling takes grows with them, and there may be as many as branches times registers. Real code has one or two for
/// an instruction.
const HANDED_ON_EACH: u64 = 16;
const HANDED_ON: u64 = 2_000_000;

/// Instructions that keeping values at the points of a kernel takes. More, and the interpreter does better.
const KEPT: u64 = 200_000;

/// The points of a kernel of which code asks by a bit whether they are barriers, the first ones.
const NUMBERED: u32 = 63;

/// What lives across a point at which a thread may stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crossing {
    /// Names that are found again.
    pub rebuilt: Vec<Name>,
    /// Names that are kept for each thread.
    pub framed: Vec<Name>,
    /// Where each is kept.
    pub slots: Vec<FrameSlot>,
}

/// A slot of the frame of a warp: a value for each lane, one beside the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameSlot {
    /// Where it begins, in bytes from the frame.
    pub offset: u32,
    /// Whether values take eight bytes rather than four.
    pub wide: bool,
}

/// Bytes of a slot of four bytes for each lane; the first says where the lanes stand.
const NARROW: u32 = 4 * LANES as u32;

/// Gives what is kept its slots: narrow ones first, wide ones behind all narrow ones of all points, since lanes of a warp stand at
/// different points at one time. Gives the bytes of the frame.
fn place(crossings: &mut [Crossing], names: &Names) -> u32 {
    let wide = |name: Name| names.class(name) == RegClass::B64;
    let narrow = (crossings.iter())
        .map(|c| c.framed.iter().filter(|&&n| !wide(n)).count() as u32)
        .max()
        .unwrap_or(0);
    let first_wide = NARROW * (1 + narrow);
    let mut end = first_wide;
    for crossing in crossings {
        let (mut next_narrow, mut next_wide) = (NARROW, first_wide);
        crossing.slots = (crossing.framed.iter())
            .map(|&name| {
                let wide = wide(name);
                let (next, bytes) = match wide {
                    true => (&mut next_wide, 2 * NARROW),
                    false => (&mut next_narrow, NARROW),
                };
                let offset = *next;
                *next += bytes;
                FrameSlot { offset, wide }
            })
            .collect();
        end = end.max(next_wide);
    }
    end
}

/// How much work compiling a function is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// All that the settings ask for.
    Full,
    /// It is so large that quick code will do, unless that needs too much stack.
    Quick,
    /// Quick code will do whatever stack it needs, or optimising would take time out of proportion: loops nested in
    /// hundreds, thousands of values alive across thousands of blocks.
    Least,
}

/// Control flow, and what goes with it.
#[derive(Debug)]
pub struct Flow {
    /// Control flow.
    pub cfg: Cfg,
    /// Where values meet.
    pub ssa: Ssa,
}

/// The plan of a function.
#[derive(Debug)]
pub struct FunctionPlan {
    /// Where threads stop, in a kernel that may wait.
    pub regions: Option<Regions>,
    /// What lives across each of its points.
    pub crossings: Vec<Crossing>,
    /// Bytes of the frame in which a warp keeps that.
    pub frame_bytes: u32,
    /// Whether functions are called, system calls apart.
    pub calls: bool,
    /// Whether the function has local memory behind its variables: `alloca` and what goes with it.
    pub stack: bool,
    /// What need not be kept there.
    pub steady: Option<Steady>,
    /// Control flow, and where values meet.
    pub flow: Flow,
    /// How its threads go together, in a kernel where they do.
    pub wide: Option<Box<Wide>>,
    /// What holds values.
    pub names: Names,
    /// Which of them hold results of floating-point arithmetic alone.
    pub floats: Floats,
    /// Where addresses come from.
    pub provenance: Provenance,
    /// Accesses that are checked together, by block.
    pub runs: Vec<Vec<Run>>,
    /// How much work it is worth.
    pub effort: Effort,
}

impl FunctionPlan {
    /// Of a function with a body; `waits` is there for a kernel whose threads may stop, with its index; `known` tells of the meetings. `width`:
    /// how many threads may go together.
    ///
    /// # Errors
    /// One that is too large or too tangled.
    pub fn new(
        module: &Module,
        function: &Function,
        waits: Option<(&Waits, &Stopping, FuncId)>,
        known: &[Known],
        width: u32,
    ) -> Result<Self, Absent> {
        let regions = waits
            .map(|(waits, stopping, kernel)| {
                inline::Body::new(module, waits, stopping, kernel).map(Regions::new)
            })
            .transpose()?;
        let function = regions.as_ref().map_or(function, |r| &r.function);
        let cfg = Cfg::new(function, regions.as_ref(), &[]);
        let names = Names::new(function);
        // Memory on the native stack is not kept while a thread waits.
        if regions.is_some() && (0..function.frame.len()).any(|i| names.frame(i).is_none()) {
            return Err(Absent::Interpreted);
        }
        let provenance = Provenance::new(module, function, &names);
        let steady = (regions.as_ref()).map(|r| Steady::new(module, r, &names, &provenance));
        let found = |name, stop| steady.as_ref().is_some_and(|s| s.is_found(name, stop));
        let ssa = Ssa::new(function, regions.as_ref(), &cfg, &names, &[], found)?;
        let mut crossings: Vec<Crossing> = (regions.iter().flat_map(|r| &r.points))
            .map(|point| {
                let kept = ssa.kept(point.resume);
                let (rebuilt, framed) = match &steady {
                    Some(steady) => steady.split(point.stop, kept),
                    None => (Vec::new(), kept.to_vec()),
                };
                Crossing {
                    rebuilt,
                    framed,
                    slots: Vec::new(),
                }
            })
            .collect();
        let weights =
            (steady.iter()).flat_map(|s| crossings.iter().map(|c| s.weight(&c.rebuilt, &c.framed)));
        if weights.sum::<u64>() > KEPT {
            return Err(Absent::Interpreted);
        }
        let frame_bytes = place(&mut crossings, &names);
        let runs = function
            .blocks
            .iter()
            .map(|b| runs::runs(module, function, &names, &provenance, b))
            .collect();
        let blocks = cfg.order().len() as u64;
        let deep = 40 * blocks + 50_000;
        let tangled =
            ssa.crowding() > 300_000 || ssa.arguments() > 100_000 || cfg.nesting(deep) > deep;
        let effort = match tangled {
            true => Effort::Least,
            false if facts::weight(function) <= 250_000 => Effort::Full,
            // A kernel may have so much stack.
            false if function.kind == FunctionKind::Kernel => Effort::Least,
            false => Effort::Quick,
        };
        let wide = match (function.kind, effort) {
            (FunctionKind::Kernel, Effort::Full) if width > 1 => {
                let stops = (regions.as_ref().zip(steady.as_ref()))
                    .map(|(regions, steady)| (regions, steady, &crossings[..]));
                let of = (module, function, &names, &provenance);
                Wide::new(of, width, stops, known, &ssa).map(Box::new)
            }
            _ => None,
        };
        Ok(FunctionPlan {
            wide,
            calls: facts::calls(module, function),
            stack: facts::has_stack(function),
            crossings,
            frame_bytes,
            steady,
            flow: Flow { cfg, ssa },
            floats: Floats::new(function, &names),
            names,
            provenance,
            runs,
            effort,
            regions,
        })
    }

    /// The function that was planned: the one of the module, or that as it was cut.
    pub fn function<'a>(&'a self, whole: &'a Function) -> &'a Function {
        self.regions.as_ref().map_or(whole, |r| &r.function)
    }

    /// Values that blocks hand on to others, past those that so large a function may have.
    fn handed_on(&self, function: &Function) -> u64 {
        let (mut values, mut instructions) = (0, 0);
        let function = self.function(function);
        for &b in self.flow.cfg.order() {
            let block = function.block(b);
            instructions += 1 + block.insts.len() as u64;
            (block.terminator).successors(|to| values += self.flow.ssa.phis(to).len() as u64);
        }
        values.saturating_sub(HANDED_ON_EACH * instructions)
    }

    /// The runs of a block.
    pub fn runs(&self, block: Block) -> &[Run] {
        &self.runs[block.index()]
    }
}

/// The plan of a module.
#[derive(Debug)]
pub struct ModulePlan {
    /// The plans of functions that can be compiled.
    pub functions: Vec<Option<FunctionPlan>>,
    /// Why the others cannot.
    pub absent: Vec<Option<Absent>>,
    /// What is known of those that can.
    pub facts: Vec<Facts>,
    /// Where threads may stop.
    pub waits: Waits,
    /// What is known of each of its sites.
    pub known: Vec<Known>,
    /// Whether a variable begins where the static shared memory of a kernel ends.
    pub dynamic_shared: bool,
}

impl ModulePlan {
    /// Of a module. `checked`: whether accesses are checked, and so may fault. `shallow`: calls nested no deeper than
    /// that are not counted. `width`: how many threads of a kernel may go together.
    pub fn new(
        module: &Module,
        checked: bool,
        shallow: u32,
        width: impl Fn(FuncId) -> u32,
    ) -> Self {
        let mut functions = Vec::new();
        let mut refused = Vec::new();
        let mut left = HANDED_ON;
        let waits = Waits::new(module);
        let stopping = inline::stopping(module, &waits);
        let known = known::known(module, &waits);
        for (i, function) in module.functions.iter().enumerate() {
            let id = FuncId(i as u32);
            let suspends = waits.suspends(id);
            let own = suspends.then_some((&waits, &stopping, id));
            let plan = match facts::refuse(function, suspends) {
                Some(absent) => Err(absent),
                None => {
                    FunctionPlan::new(module, function, own, &known, width(id)).and_then(|plan| {
                        let count = plan.handed_on(function);
                        left = left.checked_sub(count).ok_or(Absent::TooLarge {
                            what: "values that blocks hand on",
                            count,
                            limit: left,
                        })?;
                        Ok(plan)
                    })
                }
            };
            refused.push(plan.as_ref().err().copied());
            functions.push(plan.ok());
        }
        let absent = facts::absent(module, &functions, refused);
        for (plan, absent) in functions.iter_mut().zip(&absent) {
            if absent.is_some() {
                *plan = None;
            }
        }
        let facts = facts::facts(module, &functions, checked, shallow);
        ModulePlan {
            functions,
            absent,
            facts,
            known,
            waits,
            dynamic_shared: module.variables.iter().any(|v| v.dynamic),
        }
    }

    /// The first of a kernel's points, numbered from 1 on, at which all threads of the CTA wait for each other and nothing else, as bits.
    pub fn barriers(&self, kernel: FuncId) -> u64 {
        let points = (self.function(kernel).and_then(|plan| plan.regions.as_ref()))
            .map_or(&[][..], |regions| &regions.points);
        let plain = |point: &Point| match point.stop {
            Stop::Meets { site, .. } => self.known[site as usize].plain_barrier().is_some(),
            Stop::Yields(_) => false,
        };
        (1..=NUMBERED)
            .zip(points)
            .filter(|(_, point)| plain(point))
            .fold(0, |bits, (number, _)| bits | 1 << number)
    }

    /// Takes a function out, and those that call it.
    pub fn refuse(&mut self, module: &Module, function: FuncId, why: Absent) {
        self.absent[function.index()] = Some(why);
        self.absent = facts::absent(module, &self.functions, std::mem::take(&mut self.absent));
        for (plan, absent) in self.functions.iter_mut().zip(&self.absent) {
            if absent.is_some() {
                *plan = None;
            }
        }
    }

    /// The plan of a function, if it can be compiled.
    pub fn function(&self, function: FuncId) -> Option<&FunctionPlan> {
        self.functions.get(function.index())?.as_ref()
    }
}
