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
            Space::Shared | Space::Generic | Space::Local | Space::Param => continue,
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
/// A variable that only one kernel can reach lies in that kernel's own part; the others have one place for the whole
/// module, before all such parts, since functions that several kernels call name them.
pub(super) fn shared(checker: &mut Checker<'_>) {
    if !checker.variables.iter().any(|v| v.space == Space::Shared) {
        return;
    }
    let kernels: Vec<FuncId> = (0..checker.functions.len() as u32)
        .map(FuncId)
        .filter(|id| {
            let function = &checker.functions[id.index()];
            function.kind == FunctionKind::Kernel && function.defined
        })
        .collect();
    let mut users: Vec<Users> = vec![Users::Nobody; checker.variables.len()];
    let mut reached: Vec<Option<Vec<VarId>>> = Vec::with_capacity(kernels.len());
    let mut steps = 0;
    for &kernel in &kernels {
        let vars = reachable(checker, kernel, &mut steps);
        for var in vars.iter().flatten() {
            let user = &mut users[var.index()];
            *user = match *user {
                Users::Nobody => Users::One,
                Users::One | Users::Many => Users::Many,
            };
        }
        reached.push(vars);
    }
    // Where a module is too tangled to find out, every variable has a place of its own and every kernel holds all.
    let known = reached.iter().all(Option::is_some);
    let mut common = 0u64;
    for (index, variable) in checker.variables.iter_mut().enumerate() {
        if variable.space == Space::Shared
            && !variable.dynamic
            && !(known && matches!(users[index], Users::One))
            && !(known && matches!(users[index], Users::Nobody) && variable.scoped)
        {
            variable.offset = common.next_multiple_of(u64::from(variable.align));
            common = variable.offset + variable.size;
        }
    }
    for (kernel, vars) in kernels.iter().zip(&reached) {
        let all;
        let vars = match vars {
            Some(vars) if known => vars,
            _ => {
                all = (0..checker.variables.len() as u32)
                    .map(VarId)
                    .filter(|id| checker.variables[id.index()].space == Space::Shared)
                    .collect();
                &all
            }
        };
        lay_out_kernel(checker, *kernel, vars, &users, known);
    }
}

/// Which kernels reach a variable.
#[derive(Debug, Clone, Copy)]
enum Users {
    Nobody,
    One,
    Many,
}

fn lay_out_kernel(
    checker: &mut Checker<'_>,
    kernel: FuncId,
    vars: &[VarId],
    users: &[Users],
    known: bool,
) {
    let mut end = 0u64;
    let mut used = 0u64;
    let mut over = None;
    let mut align = LEAST_ALIGN;
    let own = |id: VarId| known && matches!(users[id.index()], Users::One);
    for &id in vars {
        let variable = &checker.variables[id.index()];
        align = align.max(variable.align);
        let before = used;
        used = used.next_multiple_of(u64::from(variable.align)) + variable.size;
        if used > MAX_SHARED && before <= MAX_SHARED {
            over = Some((variable.name.clone(), variable.span));
        }
        if !variable.dynamic && !own(id) {
            end = end.max(variable.offset + variable.size);
        }
    }
    for &id in vars {
        let variable = &mut checker.variables[id.index()];
        if !variable.dynamic && own(id) {
            variable.offset = end.next_multiple_of(u64::from(variable.align));
            end = variable.offset + variable.size;
        }
    }
    let function = &mut checker.functions[kernel.index()];
    let Ok(bytes) = u32::try_from(end) else {
        checker.reports.push(Diagnostic::error(
            function.span,
            format!("kernel `{}` takes too much shared memory", function.name),
        ));
        return;
    };
    if let Some((name, span)) = over {
        checker.reports.push(
            Diagnostic::error(
                span,
                format!(
                    "with `{name}`, kernel `{}` takes {used} bytes of shared memory: {MAX_SHARED} are the most",
                    function.name
                ),
            )
            .related(function.span, "the kernel"),
        );
    }
    (function.shared_bytes, function.shared_align) = (bytes, align);
}

/// The shared variables that a kernel and all that it calls name, in the order of the text; `None` past the limit.
fn reachable(checker: &Checker<'_>, kernel: FuncId, steps: &mut usize) -> Option<Vec<VarId>> {
    let mut seen = FxHashSet::default();
    let mut vars = FxHashSet::default();
    let mut work = vec![kernel];
    let mut indirect = false;
    seen.insert(kernel);
    while let Some(id) = work.pop() {
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
        work.extend(next.into_iter().filter(|id| seen.insert(*id)));
    }
    let mut vars: Vec<VarId> = vars.into_iter().collect();
    vars.sort_unstable();
    Some(vars)
}
