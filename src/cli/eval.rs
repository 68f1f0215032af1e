//! `ptxlift eval`

use super::ReadingArg;
use super::error::Failure;
use super::json;
use super::out::{Out, Style, counted};
use super::settings;
use crate::diag::{Diagnostic, Diagnostics, Source, Span};
use crate::error::Error;
use crate::runtime::{Engine, EngineConfig, EngineKind, Module};
use crate::testing::contents::{ElemTy, parse_integer};
use crate::testing::exec::Prepared;
use crate::testing::launch::{Arg, ArgValue, LaunchSpec};
use crate::testing::report::engine_name;
use crate::testing::vectors::table::{Header, Word};
use crate::testing::vectors::template::{ModuleText, SLOT, Template, Widths};
use serde::Serialize;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Sources are %a %b %c %e, in this order, destinations %d %f %h; %p %q %pc are predicates. Several statements are
separated by `;`.

Examples:
  ptxlift eval 'shf.l.wrap.b32 %d, %a, %b, %c' 0x1 0x80000000 3
  ptxlift eval 'add.cc.u32 %d, %a, %b; addc.u32 %f, 0, 0' 0xffffffff 1
  ptxlift eval --target sm_120a --ptx 8.8 'setp.lt.s32 %p, %a, %b' -1 0
  ptxlift eval --reading nvidia 'vadd.u32.u32.u32.sat %d, %a, %b' 0xffffffff 2
  ptxlift eval --json 'popc.b32 %d, %a' 0xff | jq -r '.engines[0].results[0].hex'")]
pub(super) struct Args {
    /// The statement
    #[arg(value_name = "STATEMENT")]
    statement: String,
    /// Values of the sources: decimal, 0x..., 0b..., or 0f... and 0d... as in PTX
    #[arg(value_name = "VALUE", allow_hyphen_values = true)]
    values: Vec<String>,
    /// `.version` of the module around it
    #[arg(long, value_name = "X.Y", default_value = "8.7")]
    ptx: String,
    /// `.target` of the module around it
    #[arg(long, value_name = "SM", default_value = "sm_90")]
    target: String,
    /// Which meaning is followed where NVIDIA's tools depart from the text of the PTX ISA
    #[arg(long, value_enum, default_value = "text")]
    reading: ReadingArg,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    set: settings::Set,
}

/// What a statement gave, for programs.
#[derive(Serialize)]
struct Report<'a> {
    statement: &'a str,
    operands: Vec<Register>,
    engines: Vec<EngineReport>,
    agree: bool,
}

#[derive(Serialize)]
struct EngineReport {
    engine: &'static str,
    results: Vec<Register>,
}

/// A register with its value in several notations.
#[derive(Serialize)]
struct Register {
    register: &'static str,
    bits: u32,
    hex: String,
    unsigned: u64,
    signed: i64,
}

impl Register {
    fn new(register: &'static str, word: Word) -> Self {
        Register {
            register,
            bits: word.bits,
            hex: format!("0x{word}"),
            unsigned: word.value as u64,
            signed: signed(word),
        }
    }

    fn all(names: &[&'static str], words: &[Word]) -> Vec<Self> {
        let registers = names.iter().zip(words);
        registers
            .map(|(name, word)| Register::new(name, *word))
            .collect()
    }
}

const KERNEL: &str = "eval";

/// Widths that registers may have, those tried first in front.
const WIDTHS: [u32; 3] = [32, 64, 16];

pub(super) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    args.set.check_one()?;
    // Behind the statement everything is a value, for the sake of negative ones.
    if let Some(option) = args.values.iter().find(|v| v.starts_with("--")) {
        return Err(Failure::Usage(format!(
            "`{option}`: options stand before the statement"
        )));
    }
    if Path::new(&args.statement).is_file() {
        return Err(Failure::Usage(format!(
            "`{}` is a file; `eval` wants a statement",
            args.statement
        ))
        .hint("`ptxlift check` and `ptxlift run` read files"));
    }
    let template = template(&args.statement)?;
    if args.values.len() != template.operands.len() {
        let sources = match &template.operands[..] {
            [] => "no source".to_string(),
            names => format!(
                "{} ({})",
                counted(names.len() as u64, "source"),
                names.join(" ")
            ),
        };
        let problem = format!(
            "the statement has {sources}, the command line {}",
            counted(args.values.len() as u64, "value")
        );
        let mut example = format!("for example: ptxlift eval '{}'", args.statement);
        for (index, _) in template.operands.iter().enumerate() {
            let given = args.values.get(index).map_or("1", String::as_str);
            example.push_str(&format!(" {given}"));
        }
        return Err(Failure::Usage(problem).hint(example));
    }
    let values = args
        .values
        .iter()
        .map(|v| parse_value(v))
        .collect::<Result<Vec<_>, _>>()?;
    let header = Header {
        version: args.ptx.clone(),
        target: args.target.clone(),
    };
    let (module, widths) = find_widths(&header, &template, &values, args.reading)
        .map_err(|refusal| refusal.of_statement(args, &template))?;
    let engines = [EngineKind::Interpreter, EngineKind::Native];
    let interpreter = EngineConfig::default().kind(EngineKind::Interpreter);
    let engine = Engine::new(args.set.apply(interpreter));
    let results = engines
        .iter()
        .map(|&kind| execute(&module, &template, &widths, &values, &engine, kind))
        .collect::<Result<Vec<_>, _>>()?;
    let operands: Vec<Word> = (values.iter().zip(&widths.operands))
        .map(|(value, bits)| value.in_bits(*bits))
        .collect();
    let agree = results[0] == results[1];
    if args.json {
        let reports = engines
            .into_iter()
            .zip(&results)
            .map(|(engine, words)| EngineReport {
                engine: engine_name(engine),
                results: Register::all(&template.results, words),
            });
        let report = Report {
            statement: &template.text,
            operands: Register::all(&template.operands, &operands),
            engines: reports.collect(),
            agree,
        };
        json::write(out, "eval", &report)?;
    } else {
        for (name, word) in template.operands.iter().zip(&operands) {
            out.text(format_args!("{name} = 0x{word}\n"));
        }
        let float = floats(&template.text);
        for (engine, words) in engines.into_iter().zip(&results) {
            for (name, word) in template.results.iter().zip(words) {
                out.text(format_args!(
                    "{:6}  {} = {}\n",
                    engine_name(engine),
                    out.paint(Style::Strong, name),
                    show(*word, float)
                ));
            }
        }
    }
    if !agree {
        return Err(Failure::bug("the engines differ; please report it"));
    }
    Ok(())
}

/// The statement; a predicate that is its only result is turned into a number.
fn template(statement: &str) -> Result<Template, Failure> {
    let statement = statement.trim().trim_end_matches(';');
    Template::parse(statement)
        .or_else(|error| {
            if statement.contains("%p") {
                Template::parse(&format!("{statement}; selp.u32 %d, 1, 0, %p"))
            } else {
                Err(error)
            }
        })
        .map_err(|e| Failure::Usage(e.message))
}

/// A value as written: its bits, and how many of them count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Value {
    bits: u64,
    negative: bool,
    /// Of a float literal: its width.
    exact: Option<u32>,
}

fn parse_value(text: &str) -> Result<Value, Failure> {
    for (prefix, ty) in [("0f", ElemTy::F32), ("0d", ElemTy::F64)] {
        if text.to_ascii_lowercase().starts_with(prefix)
            && let Ok(bits) = ty.parse_value(text)
        {
            return Ok(Value {
                bits,
                negative: false,
                exact: Some(8 * ty.bytes() as u32),
            });
        }
    }
    let value = parse_integer(text)
        .filter(|v| (-(1i128 << 63)..1i128 << 64).contains(v))
        .ok_or_else(|| {
            Failure::Usage(format!(
                "`{text}` is neither a 64-bit integer nor 0f... or 0d... with 8 or 16 digits"
            ))
        })?;
    Ok(Value {
        bits: value as u64,
        negative: value < 0,
        exact: None,
    })
}

impl Value {
    fn fits(self, bits: u32) -> bool {
        match self.exact {
            Some(exact) => exact == bits,
            None if bits == 64 => true,
            None if self.negative => (self.bits as i64) >= -(1i64 << (bits - 1)),
            None => self.bits >> bits == 0,
        }
    }

    fn in_bits(self, bits: u32) -> Word {
        Word {
            value: u128::from(self.bits & (u64::MAX >> (64 - bits))),
            bits,
        }
    }
}

/// Why no registers make a statement legal.
enum Refusal {
    /// The text of the module around it is refused; where the statement stands in it.
    Text(Diagnostics, Range<usize>),
    Other(Failure),
}

impl Refusal {
    /// What is said about the module as if the statement stood alone, as it was typed.
    fn of_statement(self, args: &Args, template: &Template) -> Failure {
        let (diagnostics, range) = match self {
            Refusal::Text(diagnostics, range) => (diagnostics, range),
            Refusal::Other(failure) => return failure,
        };
        let typed = &args.statement;
        // The template may end in a statement of ours.
        let known = template.text.len().min(typed.trim_start().len());
        let skipped = typed.len() - typed.trim_start().len();
        let at = |offset: u32| {
            let inside = (offset as usize).saturating_sub(range.start).min(known);
            (skipped + inside) as u32
        };
        let mut list = Vec::new();
        for diagnostic in &diagnostics {
            let Span { start, end } = diagnostic.span;
            if (end as usize) <= range.start {
                // The directives say what the options say.
                return Failure::Usage(format!(
                    "`--ptx {}`, `--target {}`: {}",
                    args.ptx, args.target, diagnostic.message
                ));
            }
            let inside = |(span, label): &(Span, String)| {
                let inside = range.contains(&(span.start as usize));
                inside.then(|| (Span::new(at(span.start), at(span.end)), label.clone()))
            };
            list.push(Diagnostic {
                span: Span::new(at(start), at(end)),
                related: diagnostic.related.iter().filter_map(inside).collect(),
                ..diagnostic.clone()
            });
        }
        let source = Arc::new(Source::new("<statement>", typed.as_str()));
        Failure::Library(Error::Diagnostics(Diagnostics::new(source, list)))
    }
}

/// The narrowest registers with which the statement is legal and that hold the values.
fn find_widths(
    header: &Header,
    template: &Template,
    values: &[Value],
    reading: ReadingArg,
) -> Result<(Module, Widths), Refusal> {
    let registers = template.operands.len() + template.results.len();
    let mut combinations: Vec<Vec<u32>> = vec![Vec::new()];
    for index in 0..registers {
        let fitting = |bits: &&u32| values.get(index).is_none_or(|v| v.fits(**bits));
        let mut longer = Vec::new();
        for combination in &combinations {
            for &bits in WIDTHS.iter().filter(fitting) {
                let mut combination = combination.clone();
                combination.push(bits);
                longer.push(combination);
            }
        }
        combinations = longer;
    }
    // 32 bits everywhere comes first: its errors are shown when nothing else is legal.
    let preferred = combinations.first().cloned();
    combinations.sort_by_key(|c| c.iter().sum::<u32>());
    let parse = |combination: &[u32]| {
        let (operands, results) = combination.split_at(template.operands.len());
        let widths = Widths {
            operands: operands.to_vec(),
            results: results.to_vec(),
        };
        let mut text = ModuleText::new(&header.directives());
        let range = text.register_kernel(KERNEL, template, &widths);
        match reading.module("<statement>", text.as_str()) {
            Ok(module) => Ok((module, widths)),
            Err(Error::Diagnostics(diagnostics)) => Err(Refusal::Text(diagnostics, range)),
            Err(error) => Err(Refusal::Other(error.into())),
        }
    };
    for combination in &combinations {
        match parse(combination) {
            Err(Refusal::Text(..)) => {}
            found => return found,
        }
    }
    match preferred {
        Some(combination) => parse(&combination),
        None => Err(Refusal::Other(Failure::Usage(
            "a value does not fit any register".to_string(),
        ))),
    }
}

fn execute(
    module: &Module,
    template: &Template,
    widths: &Widths,
    values: &[Value],
    engine: &Engine,
    kind: EngineKind,
) -> Result<Vec<Word>, Failure> {
    let mut input = vec![0; SLOT * values.len()];
    for (slot, (value, &bits)) in input
        .chunks_mut(SLOT)
        .zip(values.iter().zip(&widths.operands))
    {
        let bytes = value.in_bits(bits).to_bytes();
        slot[..bytes.len()].copy_from_slice(&bytes);
    }
    let buffer = |name: &str, contents| Arg {
        name: name.to_string(),
        value: ArgValue::Buffer {
            ty: ElemTy::U8,
            contents,
        },
    };
    let spec = LaunchSpec {
        kernel: KERNEL.to_string(),
        grid: [1; 3],
        block: [1; 3],
        cluster: None,
        workers: None,
        dynamic_shared: 0,
        args: vec![
            buffer("in", input),
            buffer("out", vec![0; SLOT * template.results.len()]),
        ],
    };
    let left = Prepared::new(module, &spec, engine)?.run(kind)?;
    if let Err(fault) = left.end {
        return Err(Failure::Library(Error::Fault(fault)));
    }
    let output = left.buffers.into_iter().nth(1).unwrap_or_default();
    Ok(widths
        .results
        .iter()
        .zip(output.chunks(SLOT))
        .map(|(&bits, slot)| Word::from_bytes(slot, bits))
        .collect())
}

/// Whether the statement has a floating-point type.
fn floats(text: &str) -> bool {
    [".f16", ".bf16", ".f32", ".f64"]
        .iter()
        .any(|ty| text.contains(ty))
}

/// A word of up to 64 bits as a signed number.
fn signed(word: Word) -> i64 {
    ((word.value as u64) << (64 - word.bits)) as i64 >> (64 - word.bits)
}

/// Hexadecimal, unsigned, signed, binary; as a float if one is near.
fn show(word: Word, float: bool) -> String {
    let bits = word.bits;
    let value = word.value as u64;
    let signed = signed(word);
    let binary = format!("{value:0width$b}", width = bits as usize);
    let groups: Vec<&str> = (0..binary.len())
        .step_by(8)
        .map(|i| &binary[i..i + 8])
        .collect();
    let float = match (float, bits) {
        (true, 32) => format!("  {:?}", f32::from_bits(value as u32)),
        (true, 64) => format!("  {:?}", f64::from_bits(value)),
        (true, 16) => format!("  {}", half::f16::from_bits(value as u16)),
        _ => String::new(),
    };
    format!("0x{word}  {value}  {signed}  0b{}{float}", groups.join("_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_fit_registers_or_not() {
        let fits = |text: &str| {
            let value = parse_value(text).expect("a value");
            WIDTHS.map(|bits| value.fits(bits))
        };
        assert_eq!(fits("0xffff"), [true, true, true]);
        assert_eq!(fits("65536"), [true, true, false]);
        assert_eq!(fits("-32768"), [true, true, true]);
        assert_eq!(fits("-32769"), [true, true, false]);
        assert_eq!(fits("0x100000000"), [false, true, false]);
        assert_eq!(fits("0f3f800000"), [true, false, false]);
        assert!(parse_value("0x10000000000000000").is_err());
        assert!(parse_value("one").is_err());
    }

    #[test]
    fn results_are_shown_in_four_ways() {
        let word = Word {
            value: 0xfffe,
            bits: 16,
        };
        assert_eq!(show(word, false), "0xfffe  65534  -2  0b11111111_11111110");
        let one = Word {
            value: 0x3f80_0000,
            bits: 32,
        };
        assert!(show(one, true).ends_with("  1.0"));
    }
}
