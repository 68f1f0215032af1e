//! Runs: accesses at constant distances from one register that are checked together.
//!
//! Between the members of a run nothing else can fault, so when the check of the whole fails, judging the members one
//! by one, in order, tells exactly which instruction is to blame; what the members before it would have done to
//! memory does not matter then. Accesses from other registers may stand between them, if these hold then what they hold at
//! the first member: they are judged along with the members.

use super::access::{Place, Reach};
use super::names::{Name, Names};
use super::provenance::{Provenance, Root};
use crate::ir::memory::{Base, Space};
use crate::ir::{BasicBlock, Function, Inst, Kind, Module, Reg};
use rustc_hash::FxHashMap;

/// Accesses of one block that are checked together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// The register that all addresses are based on.
    pub base: Reg,
    /// The state space.
    pub space: Space,
    /// Where the addresses come from.
    pub root: Option<Root>,
    /// Indices of the instructions in the block, in order; two at least.
    pub members: Vec<u32>,
    /// Whether one of them stores.
    pub writes: bool,
    /// The distance of the checked range from the register: no more than the least of the members'.
    pub offset: i64,
    /// Bytes that are checked, a multiple of `align`.
    pub bytes: u64,
    /// The alignment of the range that makes all members aligned.
    pub align: u32,
    /// Accesses from other registers that stand between the members.
    pub between: Vec<Between>,
}

/// Accesses from one register that stand between the members of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Between {
    /// The register.
    pub base: Reg,
    /// Indices of the instructions in the block, in order.
    pub members: Vec<u32>,
}

/// Runs that are under way at a time.
const WIDEST: usize = 4;

/// Most registers whose accesses stand between the members of a run.
pub const MOST_BETWEEN: usize = 4;

/// Most bytes that a run spans: so small that a range within it cannot leap over an allocation's end unnoticed.
const LONGEST: u64 = 4096;

/// Runs under way, and those that are over.
#[derive(Debug, Default)]
struct Runs {
    /// In order of their first members; with how many began since.
    open: Vec<(Run, usize)>,
    over: Vec<Run>,
    /// The last instruction that defines a name, by name.
    defined: FxHashMap<Name, u32>,
}

impl Runs {
    /// Ends all that are under way.
    fn end(&mut self) {
        self.over.extend(self.open.drain(..).map(|(run, _)| run));
    }

    /// Ends those for which `f` says so.
    fn end_if(&mut self, mut f: impl FnMut(&Run, usize) -> bool) {
        let ended = self.open.extract_if(.., |(run, since)| f(run, *since));
        self.over.extend(ended.map(|(run, _)| run));
    }

    /// Notes the definitions of an instruction.
    fn define(&mut self, names: &Names, inst: &Inst, index: u32) {
        names.defs(inst, |name| {
            self.defined.insert(name, index);
            self.end_if(|run, _| Name::from(run.base) == name);
        });
    }

    /// Adds an access to a run, or begins one with it.
    fn add(&mut self, next: Run) {
        let mut runs = self.open.iter_mut().map(|(run, _)| run);
        if let Some(run) = runs.find(|run| run.base == next.base && run.space == next.space) {
            if extend(run, &next).is_some() {
                return;
            }
            self.end_if(|run, _| run.base == next.base && run.space == next.space);
        }
        // Where the check of a run fails, what stands between its members is judged at its first.
        let defined = self.defined.get(&Name::from(next.base)).copied();
        self.end_if(|run, since| {
            since == MOST_BETWEEN || defined.is_some_and(|index| index >= run.members[0])
        });
        if self.open.len() == WIDEST {
            self.over.push(self.open.remove(0).0);
        }
        for (_, since) in &mut self.open {
            *since += 1;
        }
        self.open.push((next, 0));
    }

    /// All, with what stands between.
    fn finish(mut self) -> Vec<Run> {
        self.end();
        let mut runs = self.over;
        runs.sort_unstable_by_key(|run| run.members[0]);
        for i in 0..runs.len() {
            let (before, after) = runs.split_at_mut(i + 1);
            let run = &mut before[i];
            let last = run.members.last().copied().unwrap_or(0);
            for other in after.iter().take_while(|other| other.members[0] < last) {
                run.between.push(Between {
                    base: other.base,
                    members: other.members.clone(),
                });
            }
        }
        runs.retain(|r| r.members.len() > 1);
        runs
    }
}

/// The runs of a block, in order of their first members.
pub fn runs(
    module: &Module,
    function: &Function,
    names: &Names,
    provenance: &Provenance,
    block: &BasicBlock,
) -> Vec<Run> {
    let mut runs = Runs::default();
    for (index, inst) in (0..).zip(&block.insts) {
        match needs(module, function, names, provenance, inst) {
            Needs::Nothing => {}
            Needs::Other => runs.end(),
            Needs::Check(reach, base, root) => runs.add(start(reach, base, root, index)),
        }
        // A load may overwrite its own base.
        runs.define(names, inst, index);
    }
    runs.finish()
}

/// What an instruction needs before it may be executed.
enum Needs {
    /// Nothing: it cannot fault.
    Nothing,
    /// A check that can be part of a run.
    Check(Reach, Reg, Option<Root>),
    /// Something else.
    Other,
}

fn needs(
    module: &Module,
    function: &Function,
    names: &Names,
    provenance: &Provenance,
    inst: &Inst,
) -> Needs {
    match &inst.kind {
        Kind::Pure(_)
        | Kind::AddressOf(_)
        | Kind::FunctionAddress { .. }
        | Kind::Special { .. }
        | Kind::Hint { .. } => Needs::Nothing,
        Kind::Call(_)
        | Kind::Meet(_)
        | Kind::Atomic(_)
        | Kind::Fence(_)
        | Kind::Mbarrier(_)
        | Kind::Copy(_)
        | Kind::Stack(_)
        | Kind::Unsupported => Needs::Other,
        Kind::Load(_) | Kind::Store(_) => {
            let Some(reach) = Reach::of(inst) else {
                return Needs::Other;
            };
            match (
                reach.place(module, function, names, provenance),
                reach.address.base,
            ) {
                (Place::Name(_) | Place::Fixed(..), _) => Needs::Nothing,
                (Place::Checked(root), Base::Reg(base)) if inst.guard.is_none() => {
                    Needs::Check(reach, base, root)
                }
                (Place::Checked(_) | Place::Wrong(..), _) => Needs::Other,
            }
        }
    }
}

fn start(reach: Reach, base: Reg, root: Option<Root>, member: u32) -> Run {
    Run {
        base,
        space: reach.space,
        root,
        members: vec![member],
        writes: reach.access.write,
        offset: reach.address.offset,
        bytes: reach.access.bytes.into(),
        align: reach.access.align,
        between: Vec::new(),
    }
}

/// Adds the member of `next`, which has the same base and space; `None`, and nothing done, if it does not fit.
fn extend(run: &mut Run, next: &Run) -> Option<()> {
    let align = run.align.max(next.align);
    // The range begins at a multiple of the largest alignment, as seen from the member that has it; the others must
    // then be aligned by themselves.
    let anchor = if next.align > run.align {
        next.offset
    } else {
        run.offset
    };
    let low = run.offset.min(next.offset);
    let steps = anchor.checked_sub(low)?.checked_add(i64::from(align) - 1)? / i64::from(align);
    let offset = anchor.checked_sub(steps.checked_mul(i64::from(align))?)?;
    for (part, align) in [(run.offset, run.align), (next.offset, next.align)] {
        if part.checked_sub(offset)? % i64::from(align) != 0 {
            return None;
        }
    }
    let end = (run.offset.checked_add_unsigned(run.bytes)?)
        .max(next.offset.checked_add_unsigned(next.bytes)?);
    let bytes = u64::try_from(end.checked_sub(offset)?)
        .ok()?
        .next_multiple_of(u64::from(align));
    if bytes > LONGEST {
        return None;
    }
    run.members.extend(&next.members);
    run.writes |= next.writes;
    (run.offset, run.bytes, run.align) = (offset, bytes, align);
    Some(())
}
