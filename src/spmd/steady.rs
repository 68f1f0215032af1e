//! Values that stay what they are from where they are defined on, and are cheap to find again: they need not be kept while
//! a thread waits.

use super::access::{Home, Place, Reach};
use super::cfg::Cfg;
use super::names::{Name, Names};
use super::provenance::Provenance;
use super::regions::{Regions, Stop};
use crate::ir::{Block, Function, Inst, Kind, Module};

/// Most operations by which a value that differs between threads is found again, rather than kept.
const MOST_STEPS: u32 = 4;

/// Most operations in all: those that are the same for all threads are done once for all lanes that run, but at every point.
const MOST_IN_ALL: u32 = 24;

/// Where a steady name is defined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Definition {
    /// The block.
    pub block: Block,
    /// Index of the instruction in the block.
    pub inst: usize,
    /// Operations, those that are the same for all threads not counted.
    steps: u32,
    /// Operations in all.
    all: u32,
    /// Whether all threads have the same.
    uniform: bool,
}

/// What it takes to find a value again, as in [`Definition`].
struct Cost {
    steps: u32,
    all: u32,
    uniform: bool,
}

/// The steady names of a function.
#[derive(Debug)]
pub struct Steady {
    definitions: Vec<Option<Definition>>,
    /// Control flow with the ways across the points.
    cfg: Cfg,
}

impl Steady {
    /// Of a function that has been cut.
    pub fn new(module: &Module, regions: &Regions, names: &Names, provenance: &Provenance) -> Self {
        let function = &regions.function;
        let count = names.definitions(function);
        let mut steady = Steady {
            definitions: vec![None; names.len()],
            cfg: Cfg::new(function, None, &[]),
        };
        for block in steady.cfg.order().to_vec() {
            for (i, inst) in function.block(block).insts.iter().enumerate() {
                let mut defs = Vec::new();
                names.defs(inst, |n| defs.push(n));
                let [name] = defs[..] else { continue };
                if count[name.index()] != 1 || inst.guard.is_some() {
                    continue;
                }
                let found = steady.judge(module, function, names, provenance, block, inst);
                steady.definitions[name.index()] = found.map(|cost| Definition {
                    block,
                    inst: i,
                    steps: cost.steps,
                    all: cost.all,
                    uniform: cost.uniform,
                });
            }
        }
        steady
    }

    /// What it takes to find what an instruction defines, if that is steady.
    fn judge(
        &self,
        module: &Module,
        function: &Function,
        names: &Names,
        provenance: &Provenance,
        block: Block,
        inst: &Inst,
    ) -> Option<Cost> {
        let (mut steps, mut all, mut uniform) = (1, 1, true);
        match &inst.kind {
            Kind::Pure(_) => {
                let mut known = true;
                names.uses(inst, |n| {
                    match self
                        .definition(n)
                        .filter(|d| d.block == block || self.cfg.strictly_dominates(d.block, block))
                    {
                        Some(d) => {
                            uniform &= d.uniform;
                            all += d.all;
                            steps += if d.uniform { 0 } else { d.steps };
                        }
                        None => known = false,
                    }
                });
                known.then_some(())?;
            }
            Kind::Load(load) => {
                let reach = Reach::of(inst)?;
                let place = reach.place(module, function, names, provenance);
                let params = matches!(place, Place::Fixed(Home::Params | Home::Constants, _));
                (params && load.dsts.len() == 1).then_some(())?;
            }
            Kind::Special { special, .. } => {
                (!special.tells_time()).then_some(())?;
                uniform = special.is_uniform();
            }
            Kind::AddressOf(_) | Kind::FunctionAddress { .. } => {}
            Kind::Store(_)
            | Kind::Call(_)
            | Kind::Meet(_)
            | Kind::Atomic(_)
            | Kind::Fence(_)
            | Kind::Mbarrier(_)
            | Kind::Copy(_)
            | Kind::Stack(_)
            | Kind::Hint { .. }
            | Kind::Unsupported => return None,
        }
        let few = all <= MOST_IN_ALL && (uniform || steps <= MOST_STEPS);
        few.then_some(Cost {
            steps,
            all,
            uniform,
        })
    }

    /// What of the names that live across a point is found again, and what has to be kept. A value that may not be defined
    /// yet at the point is kept: it is zero then.
    pub fn split(&self, stop: Stop, names: &[Name]) -> (Vec<Name>, Vec<Name>) {
        (names.iter()).partition(|&&name| self.is_found(name, stop))
    }

    /// Whether a name that lives across a point is found again.
    pub fn is_found(&self, name: Name, stop: Stop) -> bool {
        self.definition(name).is_some_and(|d| match stop {
            Stop::Meets { block: b, .. } => b == d.block || self.cfg.strictly_dominates(d.block, b),
            Stop::Yields(b) => self.cfg.strictly_dominates(d.block, b),
        })
    }

    /// About how many instructions keeping values at a point and finding them again takes.
    pub fn weight(&self, rebuilt: &[Name], framed: &[Name]) -> u64 {
        let found = rebuilt.iter().filter_map(|&n| self.definition(n));
        2 * framed.len() as u64 + found.map(|d| u64::from(d.all)).sum::<u64>()
    }

    /// Where a name is defined, if it is steady.
    pub fn definition(&self, name: Name) -> Option<Definition> {
        self.definitions[name.index()]
    }
}
