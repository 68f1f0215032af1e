//! `.version`, `.target` and `.address_size`. PTX ISA, "PTX Module Directives".

use super::report::Reports;
use crate::diag::{Diagnostic, Span};
use crate::syntax::ast::{Item, Name};

/// `(major, minor)` of `.version`.
pub(super) type Version = (u32, u32);

/// For each major version the last minor one; every minor version from 0 up to it exists.
const VERSIONS: [(u32, u32); 9] = [
    (1, 5),
    (2, 3),
    (3, 2),
    (4, 3),
    (5, 1),
    (6, 5),
    (7, 8),
    (8, 8),
    (9, 5),
];

/// Architectures: number, and since which version they exist plain, with suffix `a`, and with suffix `f`.
const ARCHITECTURES: [(u32, Version, Option<Version>, Option<Version>); 32] = [
    (10, (1, 0), None, None),
    (11, (1, 0), None, None),
    (12, (1, 2), None, None),
    (13, (1, 2), None, None),
    (20, (2, 0), None, None),
    (21, (2, 0), None, None),
    (30, (3, 0), None, None),
    (32, (4, 0), None, None),
    (35, (3, 1), None, None),
    (37, (4, 1), None, None),
    (50, (4, 0), None, None),
    (52, (4, 1), None, None),
    (53, (4, 2), None, None),
    (60, (5, 0), None, None),
    (61, (5, 0), None, None),
    (62, (5, 0), None, None),
    (70, (5, 1), None, None),
    (72, (6, 1), None, None),
    (75, (6, 3), None, None),
    (80, (7, 0), None, None),
    (86, (7, 1), None, None),
    (87, (7, 4), None, None),
    (88, (9, 0), None, None),
    (89, (7, 8), None, None),
    (90, (7, 8), Some((8, 0)), None),
    (100, (8, 6), Some((8, 6)), Some((8, 8))),
    (101, (8, 6), Some((8, 6)), Some((8, 8))),
    (103, (8, 8), Some((8, 8)), Some((8, 8))),
    (107, (9, 4), Some((9, 4)), Some((9, 4))),
    (110, (9, 0), Some((9, 0)), Some((9, 0))),
    (120, (8, 7), Some((8, 7)), Some((8, 8))),
    (121, (8, 8), Some((8, 8)), Some((8, 8))),
];

/// What the directives at the top of a module say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    /// `.version`
    pub version: Version,
    /// The number in `sm_90a`.
    pub number: u32,
    /// Its suffix: empty, `a` or `f`.
    pub suffix: String,
    /// The architecture as written.
    pub name: String,
    /// `texmode_independent`: textures and samplers are apart.
    pub independent_textures: bool,
    /// 32 or 64.
    pub address_bits: u32,
}

impl Target {
    /// Refuses what needs a newer version or architecture than the module has.
    pub(super) fn require(
        &self,
        reports: &mut Reports,
        what: &str,
        span: Span,
        version: Version,
        number: u32,
    ) {
        if self.version < version {
            let (major, minor) = version;
            reports.push(
                Diagnostic::error(
                    span,
                    format!("{what} needs `.version {major}.{minor}` or later"),
                )
                .label(format!(
                    "the module has {}.{}",
                    self.version.0, self.version.1
                )),
            );
        }
        if self.number < number {
            reports.push(
                Diagnostic::error(span, format!("{what} needs `.target sm_{number}` or later"))
                    .label(format!("the module has {}", self.name)),
            );
        }
    }
}

/// Reads the directives at the top of a module. Gives what they say, and the items behind them.
pub(super) fn header<'i, 's>(
    items: &'i [Item<'s>],
    reports: &mut Reports,
) -> (Target, &'i [Item<'s>]) {
    let mut target = Target {
        version: VERSIONS[VERSIONS.len() - 1],
        number: 90,
        suffix: String::new(),
        name: "sm_90".to_string(),
        independent_textures: false,
        address_bits: 64,
    };
    let mut rest = items;
    let start = items.first().map_or(Span::default(), item_span);
    if let [Item::Version { major, minor, span }, tail @ ..] = rest {
        rest = tail;
        target.version = (*major, *minor);
        check_version((*major, *minor), *span, reports);
    } else {
        reports.push(
            Diagnostic::error(start, "the module does not begin with `.version`")
                .hint("write `.version 8.7` or the like as the first directive"),
        );
        return (target, rest);
    }
    let mut named = None;
    while let [Item::Target { names, span }, tail @ ..] = rest {
        rest = tail;
        read_target(names, *span, &mut target, reports);
        named = Some(*span);
    }
    let Some(named) = named else {
        let at = rest.first().map_or(start, item_span);
        reports.push(
            Diagnostic::error(at, "no `.target` behind `.version`")
                .hint("write `.target sm_90` or the like as the second directive"),
        );
        return (target, rest);
    };
    // 32-bit addressing ended with sm_90; the default is 32 bits where it exists.
    target.address_bits = if target.number >= 90 { 64 } else { 32 };
    if let [Item::AddressSize { bits, span }, tail @ ..] = rest {
        rest = tail;
        target.require(reports, "`.address_size`", *span, (2, 3), 0);
        match bits {
            64 => target.address_bits = 64,
            32 if target.number < 90 => target.address_bits = 32,
            32 => reports.push(
                Diagnostic::error(
                    *span,
                    format!("32-bit addresses do not exist on {}", target.name),
                )
                .related(named, "the target")
                .hint("write `.address_size 64`"),
            ),
            _ => reports.push(Diagnostic::error(
                *span,
                format!("`.address_size {bits}`: addresses are 32 or 64 bits wide"),
            )),
        }
    }
    (target, rest)
}

fn check_version(version: Version, span: Span, reports: &mut Reports) {
    let (major, minor) = version;
    let newest = VERSIONS[VERSIONS.len() - 1];
    if version > newest {
        reports.push(
            Diagnostic::warning(span, format!("PTX {major}.{minor} is newer than any known"))
                .label(format!("read as {}.{}", newest.0, newest.1)),
        );
    } else if !VERSIONS
        .iter()
        .any(|&(known, last)| major == known && minor <= last)
    {
        let mut error = Diagnostic::error(span, format!("there is no PTX {major}.{minor}"));
        if let Some((_, last)) = VERSIONS.iter().find(|(known, _)| *known == major) {
            error = error.hint(format!("the last version before is {major}.{last}"));
        }
        reports.push(error);
    }
}

/// The architecture of a name: number and suffix.
fn architecture(name: &str) -> Option<(u32, &str)> {
    let digits = name
        .strip_prefix("sm_")
        .or_else(|| name.strip_prefix("compute_"))?;
    let end = digits
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(digits.len());
    Some((digits[..end].parse().ok()?, &digits[end..]))
}

fn read_target(names: &[Name<'_>], span: Span, target: &mut Target, reports: &mut Reports) {
    let mut found = false;
    let mut texture_mode: Option<Name<'_>> = None;
    for (index, name) in names.iter().enumerate() {
        match name.text {
            "texmode_unified" | "texmode_independent" => {
                target.require(
                    reports,
                    &format!("`{}`", name.text),
                    name.span,
                    if name.text == "texmode_independent" {
                        (1, 5)
                    } else {
                        (1, 0)
                    },
                    0,
                );
                if let Some(first) = texture_mode
                    && first.text != name.text
                {
                    reports.push(
                        Diagnostic::error(
                            name.span,
                            format!("`{}` contradicts `{}`", name.text, first.text),
                        )
                        .related(first.span, "the other mode"),
                    );
                }
                texture_mode = Some(*name);
                target.independent_textures = name.text == "texmode_independent";
            }
            "debug" => target.require(reports, "`debug`", name.span, (3, 0), 0),
            "map_f64_to_f32" => {
                if target.number >= 13 && found {
                    reports.push(Diagnostic::error(
                        name.span,
                        format!(
                            "`map_f64_to_f32` is for targets without f64, {} has it",
                            target.name
                        ),
                    ));
                }
            }
            text => match known_architecture(text) {
                Some((number, suffix, since)) => {
                    if index > 0 && !found {
                        continue;
                    }
                    found = true;
                    target.number = number;
                    target.suffix = suffix.to_string();
                    target.name = text.to_string();
                    if target.version < since {
                        reports.push(
                            Diagnostic::error(
                                name.span,
                                format!(
                                    "`{text}` needs `.version {}.{}` or later",
                                    since.0, since.1
                                ),
                            )
                            .label(format!(
                                "the module has {}.{}",
                                target.version.0, target.version.1
                            )),
                        );
                    }
                }
                None => {
                    found |= index == 0;
                    reports.push(unknown_target(*name));
                }
            },
        }
    }
    if !found {
        reports.push(Diagnostic::error(
            span,
            "`.target` does not begin with an architecture such as `sm_90`",
        ));
    }
}

/// Number, suffix, and the version that brought it.
fn known_architecture(text: &str) -> Option<(u32, &str, Version)> {
    let (number, suffix) = architecture(text)?;
    let &(_, plain, a, f) = ARCHITECTURES.iter().find(|known| known.0 == number)?;
    let since = match suffix {
        "" => plain,
        "a" => a?,
        "f" => f?,
        _ => return None,
    };
    Some((number, suffix, since))
}

fn unknown_target(name: Name<'_>) -> Diagnostic {
    let error = Diagnostic::error(name.span, format!("there is no target `{}`", name.text));
    match architecture(name.text) {
        Some((number, suffix)) if !suffix.is_empty() => {
            if ARCHITECTURES.iter().any(|known| known.0 == number) {
                return error.hint(format!("sm_{number} has no variant `{suffix}`"));
            }
            error
        }
        Some((number, _)) => {
            match ARCHITECTURES
                .iter()
                .min_by_key(|known| known.0.abs_diff(number))
            {
                Some((near, ..)) => error.hint(format!("did you mean `sm_{near}`?")),
                None => error,
            }
        }
        None => error,
    }
}

/// Where an item stands.
pub(super) fn item_span(item: &Item<'_>) -> Span {
    match item {
        Item::Version { span, .. }
        | Item::Target { span, .. }
        | Item::AddressSize { span, .. }
        | Item::Alias { span, .. } => *span,
        Item::Variable(v) => v.span,
        Item::Function(f) => f.span,
        Item::File(f) => f.span,
        Item::Section(s) => s.span,
        Item::Pragma(p) => p.span,
    }
}
