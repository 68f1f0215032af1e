//! Where variables lie.

use super::decls::{MAX_BYTES, MAX_CONST_BYTES, MAX_FRAME_BYTES, MAX_LOCAL_BYTES};
use super::module::Checker;
use super::report::Reports;
use crate::diag::Diagnostic;
use crate::ir::memory::Space;
use crate::ir::{FuncId, Function, FunctionKind, StackVar, VarId};
use rustc_hash::FxHashSet;

/// Alignment of the stack of a thread and of dynamic shared memory, at least.
pub(super) const LEAST_ALIGN: u32 = 16;
/// Bytes between two `.global` variables, so that one element past the end of one is out of bounds.
const GLOBAL_GAP: u64 = 16;
/// Bytes of static shared memory of a kernel.
const MAX_SHARED: u64 = 48 << 10;
/// Steps from kernels over calls that are taken to find out who uses which shared variable.
const MAX_STEPS: usize = 1 << 22;

/// Lays out the `.local` variables of a function, and its `.param` variables for calls.
pub(super) fn stack(function: &mut Function, reports: &mut Reports) {
    let locals = place(&mut function.locals);
    let frame = place(&mut function.frame);
    function.local_align = function
        .locals
        .iter()
        .map(|var| var.ty.align)
        .fold(LEAST_ALIGN, u32::max);
    for (what, bytes, most) in [
        ("`.local` variables", locals, MAX_LOCAL_BYTES),
        ("`.param` variables", frame, MAX_FRAME_BYTES),
    ] {
        if bytes > most {
            reports.push(Diagnostic::error(
                function.span,
                format!(
                    "the {what} of `{}` take {bytes} bytes, {most} are the most",
                    function.name
                ),
            ));
            return;
        }
    }
    function.local_bytes = locals as u32;
    function.frame_bytes = frame as u32;
}

/// Places variables one behind the other. Gives where they end.
fn place(vars: &mut [StackVar]) -> u64 {
    let mut end = 0u64;
    for var in vars {
        let offset = end.next_multiple_of(u64::from(var.ty.align));
        // Past the limit the sum is refused, and the offset never read.
        var.offset = offset as u32;
        end = offset + u64::from(var.ty.size);
    }
    end
}

/// Lays out `.global` and `.const` variables. Gives the bytes of both.
pub(super) fn memory(checker: &mut Checker<'_>) -> (u64, u32) {
    let mut globals = 0u64;
    let mut constants = 0u64;
    for variable in &mut checker.variables {
        let (end, what, most) = match variable.space {
            Space::Global => (&mut globals, "`.global`", MAX_BYTES),
            Space::Const => (&mut constants, "`.const`", MAX_CONST_BYTES),
            Space::Shared | Space::Cluster | Space::Generic | Space::Local | Space::Param => {
                continue;
            }
        };
        let before = *end;
        let gap = if before > 0 && variable.space == Space::Global {
            GLOBAL_GAP
        } else {
            0
        };
        variable.offset = (before + gap).next_multiple_of(u64::from(variable.align));
        *end = variable.offset + variable.size;
        if *end > most && before <= most {
            checker.reports.push(
                Diagnostic::error(
                    variable.span,
                    format!("with `{}` there is too much {what} memory", variable.name),
                )
                .label(format!("all variables take at most {most} bytes")),
            );
        }
    }
    (globals, constants.min(MAX_CONST_BYTES) as u32)
}

/// Lays out `.shared` variables.
///
/// What begins a run, a kernel or a function that no kernel reaches, sees no two of its variables at one place. A variable
/// that only one of them can reach lies in that one's own part; the others have one place for the whole module, before
/// all such parts, since functions that several kernels call name them.
pub(super) fn shared(checker: &mut Checker<'_>) {
    if !checker.variables.iter().any(|v| v.space == Space::Shared) {
        return;
    }
    let mut users = vec![Users::Nobody; checker.variables.len()];
    let roots = roots(checker, &mut users);
    // Where a module is too tangled to find out, every variable has a place of its own and everything holds all.
    let known = roots.is_some();
    let roots = roots.unwrap_or_else(|| everything(checker));
    let own: Vec<bool> = users
        .iter()
        .map(|users| known && matches!(users, Users::One))
        .collect();
    let mut common = 0u64;
    for (variable, own) in checker.variables.iter_mut().zip(&own) {
        if variable.space == Space::Shared && !variable.dynamic && !own {
            variable.offset = common.next_multiple_of(u64::from(variable.align));
            common = variable.offset + variable.size;
        }
    }
    for root in &roots {
        lay_out(checker, root, &own, known);
    }
}

/// How many roots reach a variable.
#[derive(Debug, Clone, Copy)]
enum Users {
    Nobody,
    One,
    Many,
}

/// A kernel, or a function that no kernel reaches, with what it can reach.
struct Root {
    id: FuncId,
    functions: Vec<FuncId>,
    /// In the order of the text.
    vars: Vec<VarId>,
}

/// All roots; counts who uses which variable. `None` past the limit.
fn roots(checker: &Checker<'_>, users: &mut [Users]) -> Option<Vec<Root>> {
    let ids = || (0..checker.functions.len() as u32).map(FuncId);
    let is_kernel = |id: &FuncId| checker.functions[id.index()].kind == FunctionKind::Kernel;
    let kernels = ids().filter(is_kernel);
    let others = ids().filter(|id| !is_kernel(id));
    let mut reached = vec![false; checker.functions.len()];
    let mut roots = Vec::new();
    let mut steps = 0;
    for id in kernels.chain(others) {
        if reached[id.index()] && !is_kernel(&id) {
            continue;
        }
        let root = reach(checker, id, &mut steps)?;
        for function in &root.functions {
            reached[function.index()] = true;
        }
        for var in &root.vars {
            let user = &mut users[var.index()];
            *user = match *user {
                Users::Nobody => Users::One,
                Users::One | Users::Many => Users::Many,
            };
        }
        roots.push(root);
    }
    Some(roots)
}

/// Every function as a root that reaches all variables.
fn everything(checker: &Checker<'_>) -> Vec<Root> {
    let vars: Vec<VarId> = (0..checker.variables.len() as u32)
        .map(VarId)
        .filter(|id| checker.variables[id.index()].space == Space::Shared)
        .collect();
    let functions: Vec<FuncId> = (0..checker.functions.len() as u32).map(FuncId).collect();
    let first = functions.first().copied();
    first
        .map(|id| Root {
            id,
            functions,
            vars,
        })
        .into_iter()
        .collect()
}

/// Gives a root's own variables their places, and all that it reaches its size.
fn lay_out(checker: &mut Checker<'_>, root: &Root, own: &[bool], known: bool) {
    let mut end = 0u64;
    let mut used = 0u64;
    let mut over = None;
    let mut align = LEAST_ALIGN;
    for &id in &root.vars {
        let variable = &checker.variables[id.index()];
        align = align.max(variable.align);
        let before = used;
        used = used.next_multiple_of(u64::from(variable.align)) + variable.size;
        if used > MAX_SHARED && before <= MAX_SHARED {
            over = Some(id);
        }
        if !variable.dynamic && !own[id.index()] {
            end = end.max(variable.offset + variable.size);
        }
    }
    for &id in &root.vars {
        let variable = &mut checker.variables[id.index()];
        if !variable.dynamic && own[id.index()] {
            variable.offset = end.next_multiple_of(u64::from(variable.align));
            end = variable.offset + variable.size;
        }
    }
    let function = &checker.functions[root.id.index()];
    let kernel = function.kind == FunctionKind::Kernel;
    let too_much = u32::try_from(end).is_err() || known && kernel && used > MAX_SHARED;
    if too_much && let Some(over) = over {
        let variable = &checker.variables[over.index()];
        checker.reports.push(
            Diagnostic::error(
                variable.span,
                format!(
                    "with `{}`, `{}` takes {used} bytes of shared memory: {MAX_SHARED} are the most",
                    variable.name, function.name
                ),
            )
            .related(function.span, "declared here"),
        );
        return;
    }
    for id in &root.functions {
        let function = &mut checker.functions[id.index()];
        // A function that several kernels reach may be called from the host with the most that one of them has.
        if function.kind == FunctionKind::Device || *id == root.id || !known {
            function.shared_bytes = function.shared_bytes.max(end as u32);
            function.shared_align = function.shared_align.max(align);
        }
    }
}

/// What a function reaches; `None` past the limit.
fn reach(checker: &Checker<'_>, root: FuncId, steps: &mut usize) -> Option<Root> {
    let mut seen = FxHashSet::default();
    let mut vars = FxHashSet::default();
    let mut functions = vec![root];
    let mut done = 0;
    let mut indirect = false;
    seen.insert(root);
    while let Some(&id) = functions.get(done) {
        done += 1;
        let info = &checker.infos[id.index()];
        *steps += 1 + info.callees.len() + info.shared.len();
        if *steps > MAX_STEPS {
            return None;
        }
        vars.extend(info.shared.iter().copied());
        let mut next: Vec<FuncId> = info.callees.iter().copied().collect();
        if let Some((real, _)) = checker.aliases.get(&id) {
            next.push(*real);
        }
        if info.indirect && !std::mem::replace(&mut indirect, true) {
            *steps += checker.addressed.len();
            next.extend(checker.addressed.keys().copied());
        }
        functions.extend(next.into_iter().filter(|id| seen.insert(*id)));
    }
    let mut vars: Vec<VarId> = vars.into_iter().collect();
    vars.sort_unstable();
    Some(Root {
        id: root,
        functions,
        vars,
    })
}
