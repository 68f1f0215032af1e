//! Directives between the parameters of a function and its body. PTX ISA, "Performance-Tuning Directives".

use super::decls;
use super::module::Checker;
use crate::diag::Diagnostic;
use crate::ir::{ClusterLimits, FuncId, ThreadLimits};
use crate::syntax::ast::{self, Directive, Name};

/// The most registers that a function can be asked to preserve.
const MAX_REGISTERS: u64 = 255;

/// The value of a directive that must be positive.
fn positive(checker: &mut Checker<'_>, directive: &Directive<'_>, index: usize) -> Option<u32> {
    let expr = directive.values.get(index)?;
    match decls::integer(expr) {
        Ok(value) if value != 0 && u32::try_from(value).is_ok() => return Some(value as u32),
        Ok(value) => checker.reports.push(Diagnostic::error(
            expr.span(),
            format!(
                "`.{} {value}`: a number from 1 to 4294967295 is expected",
                directive.name.text
            ),
        )),
        Err(error) => checker.reports.push(error),
    }
    None
}

/// Three dimensions, those not written 1.
fn dimensions(checker: &mut Checker<'_>, directive: &Directive<'_>) -> Option<[u32; 3]> {
    let mut dimensions = [1; 3];
    for (index, dimension) in dimensions
        .iter_mut()
        .enumerate()
        .take(directive.values.len())
    {
        *dimension = positive(checker, directive, index)?;
    }
    Some(dimensions)
}

/// `.maxntid` and the others of a function. Gives whether `.noreturn` is among them.
pub(super) fn of_function(
    checker: &mut Checker<'_>,
    id: FuncId,
    function: &ast::Function<'_>,
) -> bool {
    let mut threads = ThreadLimits::default();
    let mut clusters = ClusterLimits::default();
    let mut noreturn = false;
    let find = |word: &str| function.directives.iter().find(|d| d.name.text == word);
    let mut once = Vec::new();
    for directive in &function.directives {
        let name = directive.name;
        let what = format!("`.{}`", name.text);
        let (version, number) = match name.text {
            "maxntid" | "maxnreg" | "maxnctapersm" => ((1, 3), 0),
            "minnctapersm" | "pragma" => ((2, 0), 0),
            "reqntid" => ((2, 1), 0),
            "local_maxnreg" => ((8, 8), 0),
            "noreturn" => ((6, 4), 30),
            "reqnctapercluster" | "explicitcluster" | "maxclusterrank" => ((7, 8), 90),
            "blocksareclusters" => ((9, 0), 90),
            "abi_preserve" | "abi_preserve_control" => ((9, 0), 80),
            _ => ((1, 0), 0),
        };
        checker
            .target
            .require(&mut checker.reports, &what, name.span, version, number);
        match name.text {
            "maxntid" => threads.max = dimensions(checker, directive).or(threads.max),
            "reqntid" => threads.required = dimensions(checker, directive).or(threads.required),
            "maxnreg" | "local_maxnreg" | "minnctapersm" => {
                positive(checker, directive, 0);
            }
            "maxnctapersm" if checker.target.version >= (2, 1) => {
                checker.reports.push(
                    Diagnostic::error(name.span, "`.maxnctapersm` was withdrawn")
                        .hint("`.minnctapersm` took its place"),
                );
            }
            "noreturn" => {
                noreturn = true;
                if !function.returns.is_empty() {
                    checker.reports.push(Diagnostic::error(
                        name.span,
                        "`.noreturn` on a function with results",
                    ));
                }
            }
            "abi_preserve" | "abi_preserve_control" => {
                at_most(checker, directive, MAX_REGISTERS);
            }
            "reqnctapercluster" | "maxclusterrank" => {
                at_most(checker, directive, u32::MAX.into());
                let mut values = directive.values.iter().map(decls::integer);
                let mut number = |missing| match values.next() {
                    Some(Ok(value)) => u32::try_from(value).unwrap_or(missing),
                    Some(Err(_)) | None => missing,
                };
                if name.text == "reqnctapercluster" {
                    clusters.required = Some([number(1), number(1), number(1)]);
                } else {
                    clusters.most = Some(number(0)).filter(|&most| most > 0);
                }
            }
            "explicitcluster" => clusters.explicit = true,
            "blocksareclusters" => clusters.whole = true,
            _ => {}
        }
        if matches!(
            name.text,
            "noreturn" | "abi_preserve" | "abi_preserve_control"
        ) {
            if let Some(earlier) = once.iter().find(|d: &&Name<'_>| d.text == name.text) {
                checker.reports.push(
                    Diagnostic::error(name.span, format!("{what} stands twice"))
                        .related(earlier.span, "first here"),
                );
            }
            once.push(name);
        }
    }
    for (one, other) in [
        ("maxntid", "reqntid"),
        ("reqnctapercluster", "maxclusterrank"),
    ] {
        if let (Some(a), Some(b)) = (find(one), find(other)) {
            let (first, second) = if a.span.start < b.span.start {
                (a, b)
            } else {
                (b, a)
            };
            checker.reports.push(
                Diagnostic::error(
                    second.span,
                    format!("`.{one}` and `.{other}` exclude each other"),
                )
                .related(first.span, "the other"),
            );
        }
    }
    if let Some(whole) = find("blocksareclusters")
        && (find("reqntid").is_none() || find("reqnctapercluster").is_none())
    {
        checker.reports.push(Diagnostic::error(
            whole.span,
            "`.blocksareclusters` needs `.reqntid` and `.reqnctapercluster`",
        ));
    }
    checker.functions[id.index()].threads = threads;
    checker.functions[id.index()].clusters = clusters;
    noreturn
}

fn at_most(checker: &mut Checker<'_>, directive: &Directive<'_>, most: u64) {
    for value in &directive.values {
        match decls::integer(value) {
            Ok(value) if value <= most => {}
            Ok(number) => checker.reports.push(Diagnostic::error(
                value.span(),
                format!("`.{} {number}`: {most} is the most", directive.name.text),
            )),
            Err(error) => checker.reports.push(error),
        }
    }
}

/// Directives of a prototype.
pub(super) fn of_prototype(checker: &mut Checker<'_>, directives: &[Directive<'_>]) {
    for directive in directives {
        let name = directive.name;
        let (version, number) = match name.text {
            "noreturn" => ((6, 4), 30),
            _ => ((9, 0), 80),
        };
        let what = format!("`.{}`", name.text);
        checker
            .target
            .require(&mut checker.reports, &what, name.span, version, number);
        at_most(checker, directive, MAX_REGISTERS);
    }
}
