//! Where values of a name meet: pruned SSA form.
//!
//! Requires: a [`Cfg`]. Guarantees: walking the dominator tree, the value of a name at any use is the one that was
//! last defined, or met at a block's start, on the way down from the root; at the root every name is zero.

use super::cfg::Cfg;
use super::names::{Name, Names};
use crate::ir::{Block, Function};

/// The most work, in visits of a block for a name. Real code needs fewer than it has instructions.
pub(super) const LIMIT: usize = 20_000_000;

/// The most values that are handed to blocks where they meet, over all ways into them.
const MOST_ARGUMENTS: usize = 2_000_000;

/// The most of names that live across blocks, times blocks: what register allocation may have to look at.
const MOST_LIVE: usize = 2_000_000_000;

/// Which names need a parameter of which block.
#[derive(Debug)]
pub struct Ssa {
    phis: Vec<Vec<Name>>,
}

impl Ssa {
    /// Of a function; `None` if it is too tangled to be worth it.
    pub fn new(function: &Function, cfg: &Cfg, names: &Names) -> Option<Self> {
        let events = Events::collect(function, cfg, names);
        let lasting = (0..names.len()).filter(|&n| !events.exposed(Name(n as u32)).is_empty());
        if lasting.count().saturating_mul(cfg.order().len()) > MOST_LIVE {
            return None;
        }
        let frontiers = cfg.frontiers(LIMIT)?;
        let mut phis = vec![Vec::new(); function.blocks.len()];
        // Marks hold the name for which they were set, plus one.
        let mut live = vec![0u32; function.blocks.len()];
        let mut met = vec![0u32; function.blocks.len()];
        let mut defined = vec![0u32; function.blocks.len()];
        let mut stack = Vec::new();
        let mut work = 0;
        for n in 0..names.len() {
            let name = Name(n as u32);
            let mark = name.0 + 1;
            let (defs, exposed) = (events.defs(name), events.exposed(name));
            if exposed.is_empty() {
                continue;
            }
            if let [def] = defs
                && exposed.iter().all(|&b| cfg.strictly_dominates(*def, b))
            {
                continue;
            }
            for d in defs {
                defined[d.index()] = mark;
            }
            stack.clear();
            for &b in exposed {
                live[b.index()] = mark;
                stack.push(b);
            }
            while let Some(b) = stack.pop() {
                work += 1;
                for &p in cfg.preds(b) {
                    if defined[p.index()] != mark && live[p.index()] != mark {
                        live[p.index()] = mark;
                        stack.push(p);
                    }
                }
            }
            if defs.is_empty() {
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
            for d in defs {
                meet(d.index(), &mut stack);
            }
            while let Some(b) = stack.pop() {
                work += 1;
                meet(b.index(), &mut stack);
            }
            if work > LIMIT {
                return None;
            }
        }
        let mut arguments = 0usize;
        for &b in cfg.order() {
            let terminator = &function.block(b).terminator;
            terminator.successors(|s| arguments = arguments.saturating_add(phis[s.index()].len()));
        }
        (arguments <= MOST_ARGUMENTS).then_some(Ssa { phis })
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
    fn collect(function: &Function, cfg: &Cfg, names: &Names) -> Self {
        let mut defs = Vec::new();
        let mut exposed = Vec::new();
        let mut defined_in = vec![u32::MAX; names.len()];
        let mut exposed_in = vec![u32::MAX; names.len()];
        for &b in cfg.order() {
            let block = function.block(b);
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
