//! `ptxlift isa`

use super::error::Failure;
use super::out::Out;
use crate::isa::form::{Code, Form, Need, Param, Slot, SlotName, TypeOf, Version};
use crate::isa::{self, names};
use indexmap::IndexMap;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// An instruction, such as bfe; without it all families are listed
    #[arg(value_name = "MNEMONIC")]
    mnemonic: Option<String>,
}

/// Instructions of AMD GPUs that do nearly the same.
const AMD_RELATIVES: [(&str, &str); 2] = [
    ("bfe", "v_bfe_u32, v_bfe_i32, s_bfe_u32"),
    ("shf", "v_alignbit_b32"),
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

pub(super) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    match &args.mnemonic {
        None => families(out),
        Some(text) => {
            // `bfe.u32` asks for `bfe`.
            let name = text.split('.').next().unwrap_or_default();
            mnemonic(name, out)?;
        }
    }
    Ok(())
}

fn families(out: &mut Out) {
    let mut families: IndexMap<&str, Vec<&str>> = IndexMap::new();
    let mut later: IndexMap<&str, Vec<&str>> = IndexMap::new();
    for m in names::MNEMONICS {
        let list = if isa::lacking_family(m.name, &[]).is_none() {
            &mut families
        } else {
            &mut later
        };
        list.entry(m.family).or_default().push(m.name);
    }
    for (family, names) in families {
        out.text(format_args!("{family}\n  {}\n", names.join(" ")));
    }
    out.text(format_args!("\nnot built yet\n"));
    for (family, names) in later {
        out.text(format_args!("  {family}: {}\n", names.join(" ")));
    }
    for unbuilt in names::UNBUILT {
        out.text(format_args!(
            "  {}: {} with {}\n",
            unbuilt.family,
            unbuilt.mnemonic,
            dotted(unbuilt.words)
        ));
    }
    out.text(format_args!(
        "\n`ptxlift isa MNEMONIC` shows all forms of an instruction.\n"
    ));
}

fn dotted(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|w| format!(".{w}")).collect();
    words.join(" ")
}

fn mnemonic(name: &str, out: &mut Out) -> Result<(), Failure> {
    let Some(known) = names::find(name) else {
        let all = names::MNEMONICS.iter().map(|m| m.name);
        let hint = isa::similar(name, all)
            .map(|near| format!("; did you mean `{near}`?"))
            .unwrap_or_default();
        return Err(Failure::Usage(format!(
            "PTX has no instruction `{name}`{hint}"
        )));
    };
    out.text(format_args!("{name}: {}\n", known.family));
    if isa::lacking_family(name, &[]).is_some() {
        out.text(format_args!("not built yet\n"));
        return Ok(());
    }
    for (_, form, doc, since, target) in CONTROL.iter().filter(|c| c.0 == name) {
        out.text(format_args!(
            "\n{form}\n    {doc}\n    since {}; native code\n",
            show_needs(*since, *target)
        ));
    }
    for form in isa::forms(name) {
        out.text(format_args!("\n"));
        show_form(form, out);
    }
    let unbuilt: Vec<String> = names::UNBUILT
        .iter()
        .filter(|u| u.mnemonic == name)
        .map(|u| format!("{} ({})", dotted(u.words), u.family))
        .collect();
    if !unbuilt.is_empty() {
        out.text(format_args!("\nnot built yet: {}\n", unbuilt.join("; ")));
    }
    if let Some((_, relatives)) = AMD_RELATIVES.iter().find(|(n, _)| *n == name) {
        out.text(format_args!(
            "\nrelated on AMD GPUs (equivalent with restrictions): {relatives}\n"
        ));
    }
    Ok(())
}

fn show_form(form: &Form, out: &mut Out) {
    let slots: String = form.slots.iter().map(show_slot).collect();
    let mut operands = String::new();
    for (index, operand) in form.operands.iter().enumerate() {
        let comma = if index == 0 { " " } else { ", " };
        if operand.optional {
            operands.push_str(&format!("{{{comma}{}}}", operand.name));
        } else {
            operands.push_str(&format!("{comma}{}", operand.name));
        }
    }
    out.text(format_args!("{}{slots}{operands}\n", form.mnemonic));
    out.text(format_args!("    {}\n", form.doc));
    let types: Vec<String> = form.operands.iter().filter_map(show_type).collect();
    if !types.is_empty() {
        out.text(format_args!("    {}\n", types.join(", ")));
    }
    let code = match form.code {
        Code::Native => "native code",
        Code::Call => "a call of the library",
        Code::Nothing => "no effect on a CPU",
    };
    let variants: Vec<String> = form
        .variants
        .iter()
        .map(|n| format!("sm_{n}a, sm_{n}f"))
        .collect();
    let needs = if variants.is_empty() {
        show_needs(form.since, form.target)
    } else {
        let (major, minor) = form.since;
        format!("PTX {major}.{minor} for {} only", variants.join(", "))
    };
    out.text(format_args!("    since {needs}; {code}\n"));
    let mut later: Vec<String> = Vec::new();
    for slot in form.slots {
        for word in slot.words {
            if word.since > form.since || word.target > form.target {
                let needs = show_needs(word.since, word.target);
                later.push(format!(".{} since {needs}", word.text));
            }
        }
    }
    if !later.is_empty() {
        out.text(format_args!("    {}\n", later.join("; ")));
    }
}

fn show_needs((major, minor): Version, target: u32) -> String {
    format!("PTX {major}.{minor} for sm_{target}")
}

/// `.wide`, `(.u32|.s32)`; what may be left out in braces: `{.sat}`.
fn show_slot(slot: &Slot) -> String {
    let words: Vec<String> = slot.words.iter().map(|w| format!(".{}", w.text)).collect();
    match (slot.need, &words[..]) {
        (Need::First | Need::Required, [one]) => one.clone(),
        (Need::First | Need::Required, _) => format!("({})", words.join("|")),
        (Need::Optional, _) => format!("{{{}}}", words.join("|")),
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
