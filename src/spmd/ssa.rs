//! Where values of a name meet: pruned SSA form.
//!
//! Requires: a [`Cfg`]. Guarantees: walking the dominator tree, the value of a name at any use is the one that was
//! last defined, or met at a block's start, on the way down from the root; at the root every name is zero. Where threads
//! go on that had stopped, what lives into the block is defined anew: it was kept.

use super::cfg::Cfg;
use super::facts::Absent;
use super::names::{Name, Names};
use super::regions::{Regions, Stop};
use crate::ir::{Block, Function};

/// The most work, in visits of a block for a name. Real code needs not many more than it has instructions.
const MOST_WORK: usize = 20_000_000;

/// The most values that are handed to blocks where they meet, over all ways into them.
const MOST_ARGUMENTS: usize = 2_000_000;

/// Values that live into a block without crowding it: about as many as machines have registers.
const ROOM: u32 = 16;

/// Which names need a parameter of which block.
#[derive(Debug)]
pub struct Ssa {
    phis: Vec<Vec<Name>>,
    kept: Vec<Vec<Name>>,
    unset: Vec<bool>,
    crowding: u64,
    arguments: u64,
}

impl Ssa {
    /// Of a function. `left` are the blocks where single threads take over from runs. `found` tells which names need not be kept where
    /// threads stop, as they are found again.
    ///
    /// # Errors
    /// One that is too tangled to be worth it.
    pub fn new(
        function: &Function,
        regions: Option<&Regions>,
        cfg: &Cfg,
        names: &Names,
        left: &[Block],
        found: impl Fn(Name, Stop) -> bool,
    ) -> Result<Self, Absent> {
        let too_large = |what, limit: usize| Absent::TooLarge {
            what,
            count: limit as u64 + 1,
            limit: limit as u64,
        };
        let tangled = || too_large("visits of blocks to follow values", MOST_WORK);
        let events = Events::collect(function, regions, cfg, names);
        let frontiers = cfg.frontiers(MOST_WORK).ok_or_else(tangled)?;
        let count = function.blocks.len();
        let mut phis = vec![Vec::new(); count];
        let mut kept = vec![Vec::new(); count];
        let mut taken_over = vec![false; count];
        for block in left {
            taken_over[block.index()] = true;
        }
        let mut unset = vec![false; names.len()];
        // Of a block where threads go on: the one at whose end they stopped, if the name is kept there.
        let resumed = |b: Block, name: Name| {
            if taken_over[b.index()] {
                return Some(None);
            }
            let regions = regions?;
            let point = regions.points[regions.resumed(b)? as usize];
            Some(match point.stop {
                Stop::Meets { block, .. } if !found(name, point.stop) => Some(block),
                Stop::Meets { .. } | Stop::Yields(_) => None,
            })
        };
        let mut living = vec![0u32; count];
        // Marks hold the name for which they were set, plus one.
        let [mut live, mut met, mut defined] = [(); 3].map(|()| vec![0u32; count]);
        let mut stack = Vec::new();
        let mut keepers = Vec::new();
        let mut work = 0;
        for (n, unset) in (0..).zip(&mut unset) {
            let name = Name(n);
            let mark = name.0 + 1;
            let (defs, exposed) = (events.defs(name), events.exposed(name));
            if exposed.is_empty() {
                continue;
            }
            for d in defs {
                defined[d.index()] = mark;
            }
            stack.clear();
            keepers.clear();
            for &b in exposed {
                live[b.index()] = mark;
                stack.push(b);
            }
            while let Some(b) = stack.pop() {
                work += 1;
                living[b.index()] += 1;
                let mut stopped = None;
                if let Some(stop) = resumed(b, name) {
                    kept[b.index()].push(name);
                    keepers.push(b);
                    stopped = stop;
                }
                // What is kept is read where threads stop; the head of a loop reads it anyway.
                for &p in cfg.preds(b).iter().chain(&stopped) {
                    if defined[p.index()] != mark && live[p.index()] != mark {
                        live[p.index()] = mark;
                        stack.push(p);
                    }
                }
            }
            if work > MOST_WORK {
                return Err(tangled());
            }
            *unset = live[0] == mark;
            let one = |def: &Block| exposed.iter().all(|&b| cfg.strictly_dominates(*def, b));
            let simple = defs.is_empty() || matches!(defs, [def] if one(def));
            if simple && keepers.is_empty() {
                continue;
            }
            let mut meet = |from: usize, stack: &mut Vec<Block>| {
                for &b in &frontiers[from] {
                    if live[b.index()] == mark && met[b.index()] != mark {
                        met[b.index()] = mark;
                        phis[b.index()].push(name);
                        stack.push(b);
                    }
                }
            };
            stack.clear();
            meet(cfg.root(), &mut stack);
            for d in defs.iter().chain(&keepers) {
                meet(d.index(), &mut stack);
            }
            while let Some(b) = stack.pop() {
                work += 1;
                meet(b.index(), &mut stack);
            }
        }
        let mut arguments = 0usize;
        for &b in cfg.order() {
            let terminator = &function.block(b).terminator;
            terminator.successors(|s| arguments = arguments.saturating_add(phis[s.index()].len()));
        }
        if arguments > MOST_ARGUMENTS {
            return Err(too_large("values where ways meet", MOST_ARGUMENTS));
        }
        Ok(Ssa {
            phis,
            kept,
            unset,
            crowding: living
                .iter()
                .map(|&n| u64::from(n.saturating_sub(ROOM)))
                .sum(),
            arguments: arguments as u64,
        })
    }

    /// How many values live into blocks beyond what fits registers, over all blocks.
    pub fn crowding(&self) -> u64 {
        self.crowding
    }

    /// How many values are handed to blocks where they meet.
    pub fn arguments(&self) -> u64 {
        self.arguments
    }

    /// Whether a name may be read before it is written.
    pub fn is_unset(&self, name: Name) -> bool {
        self.unset[name.index()]
    }

    /// The names that live into a block where threads go on that had stopped.
    pub fn kept(&self, block: Block) -> &[Name] {
        &self.kept[block.index()]
    }

    /// The names whose values meet at the start of a block.
    pub fn phis(&self, block: Block) -> &[Name] {
        &self.phis[block.index()]
    }
}

/// For each name the blocks that define it and those that read it before they define it.
struct Events {
    defs: Table,
    exposed: Table,
}

impl Events {
    fn collect(function: &Function, regions: Option<&Regions>, cfg: &Cfg, names: &Names) -> Self {
        let mut defs = Vec::new();
        let mut exposed = Vec::new();
        let mut defined_in = vec![u32::MAX; names.len()];
        let mut exposed_in = vec![u32::MAX; names.len()];
        for &b in cfg.order() {
            let block = function.block(b);
            // What a meeting gives is there when threads go on, and where they stopped nothing reads it.
            for reg in regions.and_then(|r| r.met(b)).iter().flat_map(|m| &m.dsts) {
                if let Some(name) = reg.map(Name::from)
                    && defined_in[name.index()] != b.0
                {
                    defined_in[name.index()] = b.0;
                    defs.push((name, b));
                }
            }
            let mut read = |name: Name, defined_in: &[u32]| {
                if defined_in[name.index()] != b.0 && exposed_in[name.index()] != b.0 {
                    exposed_in[name.index()] = b.0;
                    exposed.push((name, b));
                }
            };
            for inst in &block.insts {
                names.uses(inst, |name| read(name, &defined_in));
                names.defs(inst, |name| {
                    if defined_in[name.index()] != b.0 {
                        defined_in[name.index()] = b.0;
                        defs.push((name, b));
                    }
                });
            }
            names.terminator_uses(&block.terminator, |name| read(name, &defined_in));
        }
        Events {
            defs: Table::new(names.len(), &defs),
            exposed: Table::new(names.len(), &exposed),
        }
    }

    fn defs(&self, name: Name) -> &[Block] {
        self.defs.row(name)
    }

    fn exposed(&self, name: Name) -> &[Block] {
        self.exposed.row(name)
    }
}

/// Blocks by name.
struct Table {
    starts: Vec<u32>,
    blocks: Vec<Block>,
}

impl Table {
    fn new(names: usize, pairs: &[(Name, Block)]) -> Self {
        let mut starts = vec![0u32; names + 1];
        for (name, _) in pairs {
            starts[name.index() + 1] += 1;
        }
        for i in 0..names {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        let mut blocks = vec![Block(0); pairs.len()];
        for (name, block) in pairs {
            let at = &mut next[name.index()];
            blocks[*at as usize] = *block;
            *at += 1;
        }
        Table { starts, blocks }
    }

    fn row(&self, name: Name) -> &[Block] {
        let [from, to] = [name.index(), name.index() + 1].map(|i| self.starts[i] as usize);
        &self.blocks[from..to]
    }
}
