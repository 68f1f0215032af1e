//! Runs: accesses at constant distances from one register that are checked together.
//!
//! Between the members of a run nothing else can fault, so when the check of the whole fails, judging the members one
//! by one, in order, tells exactly which instruction is to blame; what the members before it would have done to
//! memory does not matter then.

use super::access::{Place, Reach};
use super::names::{Name, Names};
use super::provenance::{Provenance, Root};
use crate::ir::memory::{Base, Space};
use crate::ir::{BasicBlock, Function, Inst, Kind, Module, Reg};

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
}

/// Most bytes that a run spans: so small that a range within it cannot leap over an allocation's end unnoticed.
const LONGEST: u64 = 4096;

/// The runs of a block, in order of their first members.
pub fn runs(
    module: &Module,
    function: &Function,
    names: &Names,
    provenance: &Provenance,
    block: &BasicBlock,
) -> Vec<Run> {
    let mut runs = Vec::new();
    let mut open: Option<Run> = None;
    for (i, inst) in block.insts.iter().enumerate() {
        let next = match needs(module, function, names, provenance, inst) {
            Needs::Nothing => {
                let mut redefined = false;
                if let Some(run) = &open {
                    names.defs(inst, |n| redefined |= n == Name::from(run.base));
                }
                if redefined {
                    runs.extend(open.take());
                }
                continue;
            }
            Needs::Other => {
                runs.extend(open.take());
                continue;
            }
            Needs::Check(reach, base, root) => start(reach, base, root, i as u32),
        };
        let extended = open.as_mut().and_then(|run| extend(run, &next));
        if extended.is_none() {
            runs.extend(open.replace(next));
        }
        // A load may overwrite its own base.
        if let Some(run) = &open {
            let mut redefined = false;
            names.defs(inst, |n| redefined |= n == Name::from(run.base));
            if redefined {
                runs.extend(open.take());
            }
        }
    }
    runs.extend(open);
    runs.retain(|r| r.members.len() > 1);
    runs
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
    }
}

/// Adds the member of `next`; `None`, and nothing done, if it does not fit.
fn extend(run: &mut Run, next: &Run) -> Option<()> {
    if run.base != next.base || run.space != next.space {
        return None;
    }
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
