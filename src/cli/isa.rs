//! `ptxlift isa`

use super::error::Failure;
use super::json;
use super::out::{Out, Style, wrapped};
use crate::diag::nearest;
use crate::isa::form::{Code, Form, Need, Param, Slot, SlotName, TypeOf, Version};
use crate::isa::{self, names};
use indexmap::IndexMap;
use serde::Serialize;
use std::fmt;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
In forms, one of (.a|.b) must be written and {.c} may be.

Examples:
  ptxlift isa
  ptxlift isa bfe
  ptxlift isa --json ld | jq -r '.forms[].syntax'")]
pub(super) struct Args {
    /// An instruction, such as bfe; without it all families are listed
    #[arg(value_name = "MNEMONIC")]
    mnemonic: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Instructions of AMD GPUs that do nearly the same.
const AMD_RELATIVES: [(&str, &[&str]); 2] = [
    ("bfe", &["v_bfe_u32", "v_bfe_i32", "s_bfe_u32"]),
    ("shf", &["v_alignbit_b32"]),
];

/// Instructions of the checker's own, which have no rows: what may be written, what it does, what it needs.
const CONTROL: [(&str, &str, &str, Version, u32); 8] = [
    ("bra", "bra{.uni} label", "goes on at the label", (1, 0), 10),
    (
        "brx",
        "brx.idx{.uni} index, table",
        "goes on at the label of `.branchtargets` with this index",
        (6, 0),
        30,
    ),
    (
        "call",
        "call{.uni} {(results),} function{, (arguments)}",
        "calls a function",
        (1, 0),
        10,
    ),
    (
        "call",
        "call{.uni} {(results),} address, {(arguments),} prototype or targets",
        "calls the function at an address, of this `.callprototype` or among these `.calltargets`",
        (2, 1),
        20,
    ),
    (
        "ret",
        "ret{.uni}",
        "returns from a function; ends the thread in a kernel",
        (1, 0),
        10,
    ),
    ("exit", "exit", "ends the thread", (1, 0), 10),
    ("trap", "trap", "ends the launch in a fault", (1, 0), 10),
    ("brkpt", "brkpt", "as trap", (1, 0), 11),
];

/// What the whole instruction set has, for programs.
#[derive(Serialize)]
struct Overview {
    families: Vec<Family>,
    unbuilt: Vec<Unbuilt>,
}

#[derive(Serialize)]
struct Family {
    family: &'static str,
    supported: bool,
    mnemonics: Vec<&'static str>,
}

/// Forms of a mnemonic that are not built yet: those with one of the words.
#[derive(Serialize)]
struct Unbuilt {
    mnemonic: &'static str,
    words: &'static [&'static str],
    family: &'static str,
}

impl Unbuilt {
    fn of(mnemonic: Option<&str>) -> Vec<Self> {
        let all = names::UNBUILT.iter();
        all.filter(|u| mnemonic.is_none_or(|name| name == u.mnemonic))
            .map(|u| Unbuilt {
                mnemonic: u.mnemonic,
                words: u.words,
                family: u.family,
            })
            .collect()
    }

    fn words(&self) -> String {
        let words: Vec<String> = self.words.iter().map(|w| format!(".{w}")).collect();
        words.join(" ")
    }
}

/// An instruction with all its forms.
#[derive(Serialize)]
struct Instruction {
    mnemonic: &'static str,
    family: &'static str,
    supported: bool,
    forms: Vec<FormReport>,
    unbuilt: Vec<Unbuilt>,
    amd_relatives: Vec<&'static str>,
}

#[derive(Serialize)]
struct FormReport {
    /// How it is written: alternatives in parentheses, what may be left out in braces.
    syntax: String,
    does: String,
    /// What NVIDIA's tools compute instead (`--reading nvidia`).
    #[serde(skip_serializing_if = "Option::is_none")]
    nvidia: Option<&'static str>,
    /// Types of operands, where they are not simply the instruction's.
    operand_types: Vec<String>,
    #[serde(flatten)]
    needs: Needs,
    /// The only targets that have it, if it belongs to some.
    only_for: Vec<String>,
    /// `native`, `call` or `nothing`.
    code: &'static str,
    /// Modifiers that came later than the form.
    later: Vec<LaterWord>,
}

/// The first PTX version and the smallest target.
#[derive(Serialize)]
struct Needs {
    ptx: String,
    target: u32,
}

#[derive(Serialize)]
struct LaterWord {
    word: String,
    #[serde(flatten)]
    needs: Needs,
}

impl Needs {
    fn new((major, minor): Version, target: u32) -> Self {
        Needs {
            ptx: format!("{major}.{minor}"),
            target,
        }
    }
}

impl fmt::Display for Needs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PTX {} for sm_{}", self.ptx, self.target)
    }
}

pub(super) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    match &args.mnemonic {
        None => {
            let overview = overview();
            if args.json {
                return json::write(out, "isa", &overview);
            }
            overview.show(out);
        }
        Some(text) => {
            // `bfe.u32` asks for `bfe`.
            let name = text.split('.').next().unwrap_or_default();
            let instruction = instruction(name)?;
            if args.json {
                return json::write(out, "instruction", &instruction);
            }
            instruction.show(out);
        }
    }
    Ok(())
}

fn overview() -> Overview {
    let mut families: IndexMap<(&str, bool), Vec<&str>> = IndexMap::new();
    for m in names::MNEMONICS {
        let supported = isa::lacking_family(m.name, &[]).is_none();
        families
            .entry((m.family, supported))
            .or_default()
            .push(m.name);
    }
    let families = families
        .into_iter()
        .map(|((family, supported), mnemonics)| Family {
            family,
            supported,
            mnemonics,
        });
    Overview {
        families: families.collect(),
        unbuilt: Unbuilt::of(None),
    }
}

impl Overview {
    fn show(&self, out: &mut Out) {
        let width = out.width();
        for Family {
            family, mnemonics, ..
        } in self.families.iter().filter(|f| f.supported)
        {
            out.text(format_args!("{}\n", out.paint(Style::Strong, family)));
            let names = wrapped(&mnemonics.join(" "), "  ", "  ", width);
            out.text(format_args!("{names}"));
        }
        out.text(format_args!("\nnot built yet\n"));
        for family in self.families.iter().filter(|f| !f.supported) {
            let line = format!("{}: {}", family.family, family.mnemonics.join(" "));
            out.text(format_args!("{}", wrapped(&line, "  ", "    ", width)));
        }
        for unbuilt in &self.unbuilt {
            let line = format!(
                "{}: {} with {}",
                unbuilt.family,
                unbuilt.mnemonic,
                unbuilt.words()
            );
            out.text(format_args!("{}", wrapped(&line, "  ", "    ", width)));
        }
        out.text(format_args!(
            "\n`ptxlift isa MNEMONIC` shows all forms of an instruction.\n"
        ));
    }
}

fn instruction(name: &str) -> Result<Instruction, Failure> {
    let Some(known) = names::find(name) else {
        let all = names::MNEMONICS.iter().map(|m| m.name);
        let hint = match nearest(name, all) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`ptxlift isa` lists all instructions".to_string(),
        };
        return Err(Failure::Usage(format!("PTX has no instruction `{name}`")).hint(hint));
    };
    let supported = isa::lacking_family(name, &[]).is_none();
    let control = CONTROL.iter().filter(|c| c.0 == name);
    let control = control.map(|&(_, form, doc, since, target)| FormReport {
        syntax: form.to_string(),
        does: doc.to_string(),
        nvidia: None,
        operand_types: Vec::new(),
        needs: Needs::new(since, target),
        only_for: Vec::new(),
        code: "native",
        later: Vec::new(),
    });
    let relatives = AMD_RELATIVES.iter().find(|(n, _)| *n == name);
    Ok(Instruction {
        mnemonic: known.name,
        family: known.family,
        supported,
        forms: match supported {
            true => control
                .chain(isa::forms(name).map(FormReport::new))
                .collect(),
            false => Vec::new(),
        },
        unbuilt: match supported {
            true => Unbuilt::of(Some(name)),
            false => Vec::new(),
        },
        amd_relatives: relatives.map_or(Vec::new(), |(_, list)| list.to_vec()),
    })
}

impl Instruction {
    fn show(&self, out: &mut Out) {
        let width = out.width();
        out.text(format_args!("{}: {}\n", self.mnemonic, self.family));
        if !self.supported {
            out.text(format_args!("not built yet\n"));
            return;
        }
        for form in &self.forms {
            out.text(format_args!("\n"));
            form.show(out);
        }
        if !self.unbuilt.is_empty() {
            let unbuilt: Vec<String> = self
                .unbuilt
                .iter()
                .map(|u| format!("{} ({})", u.words(), u.family))
                .collect();
            let line = format!("not built yet: {}", unbuilt.join("; "));
            out.text(format_args!("\n{}", wrapped(&line, "", "    ", width)));
        }
        if !self.amd_relatives.is_empty() {
            out.text(format_args!(
                "\nrelated on AMD GPUs (equivalent with restrictions): {}\n",
                self.amd_relatives.join(", ")
            ));
        }
    }
}

impl FormReport {
    fn new(form: &Form) -> Self {
        let mut syntax = form.mnemonic.to_string();
        syntax.extend(form.slots.iter().map(show_slot));
        for (index, operand) in form.operands.iter().enumerate() {
            let comma = if index == 0 { " " } else { ", " };
            if operand.optional {
                syntax.push_str(&format!("{{{comma}{}}}", operand.name));
            } else {
                syntax.push_str(&format!("{comma}{}", operand.name));
            }
        }
        let words = form.slots.iter().flat_map(|slot| slot.words);
        let later = words
            .filter(|word| word.since > form.since || word.target > form.target)
            .map(|word| LaterWord {
                word: format!(".{}", word.text),
                needs: Needs::new(word.since, word.target),
            });
        FormReport {
            syntax,
            does: form.doc.to_string(),
            nvidia: form.nvidia,
            operand_types: form.operands.iter().filter_map(show_type).collect(),
            needs: Needs::new(form.since, form.target),
            only_for: form
                .variants
                .iter()
                .flat_map(|n| [format!("sm_{n}a"), format!("sm_{n}f")])
                .collect(),
            code: match form.code {
                Code::Native => "native",
                Code::Call => "call",
                Code::Nothing => "nothing",
            },
            later: later.collect(),
        }
    }

    fn show(&self, out: &mut Out) {
        const INDENT: &str = "    ";
        let width = out.width();
        let strong = |line: &str| out.paint(Style::Strong, line);
        let syntax = wrapped(&self.syntax, "", "      ", width);
        let syntax: String = syntax.lines().map(|line| strong(line) + "\n").collect();
        let mut lines = vec![self.does.clone()];
        lines.extend(
            self.nvidia
                .map(|instead| format!("--reading nvidia: {instead}")),
        );
        if !self.operand_types.is_empty() {
            lines.push(self.operand_types.join(", "));
        }
        let code = match self.code {
            "native" => "native code",
            "call" => "a call of the library",
            _ => "no effect on a CPU",
        };
        lines.push(if self.only_for.is_empty() {
            format!("since {}; {code}", self.needs)
        } else {
            let only = self.only_for.join(", ");
            format!("since PTX {} for {only} only; {code}", self.needs.ptx)
        });
        let mut later: IndexMap<String, Vec<&str>> = IndexMap::new();
        for LaterWord { word, needs } in &self.later {
            later.entry(needs.to_string()).or_default().push(word);
        }
        let later = later.into_iter();
        lines.extend(later.map(|(needs, words)| format!("since {needs}: {}", words.join(" "))));
        out.text(format_args!("{syntax}"));
        for line in lines {
            out.text(format_args!("{}", wrapped(&line, INDENT, "      ", width)));
        }
    }
}

/// `.wide`, `(.u32|.s32)`; what may be left out in braces: `{.sat}`.
fn show_slot(slot: &Slot) -> String {
    let words: Vec<String> = slot.words.iter().map(|w| format!(".{}", w.text)).collect();
    match (slot.need, &words[..]) {
        (Need::First | Need::Required, [one]) => one.clone(),
        (Need::First | Need::Required, _) => format!("({})", words.join("|")),
        (Need::Optional | Need::MaybeFirst, _) => format!("{{{}}}", words.join("|")),
    }
}

/// The type of an operand, where it is not simply the instruction's.
fn show_type(operand: &Param) -> Option<String> {
    let ty = match operand.ty {
        TypeOf::Slot(SlotName::Type) => return None,
        TypeOf::Slot(name) => format!("of the {} type", ordinal(name)),
        TypeOf::Wide(_) => "twice as wide as the type".to_string(),
        TypeOf::Fixed(ty) => ty.to_string(),
        TypeOf::Address => "an address".to_string(),
    };
    Some(format!("{}: {ty}", operand.name))
}

fn ordinal(name: SlotName) -> &'static str {
    match name {
        SlotName::FromType => "source's",
        SlotName::SecondType => "second",
        SlotName::ThirdType => "third",
        _ => "instruction's",
    }
}
