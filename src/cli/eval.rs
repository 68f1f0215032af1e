//! `ptxlift eval`

use super::error::Failure;
use super::out::{Out, counted};
use crate::error::Error;
use crate::runtime::{Engine, EngineKind, Module};
use crate::testing::contents::{ElemTy, parse_integer};
use crate::testing::exec::Prepared;
use crate::testing::launch::{Arg, ArgValue, LaunchSpec};
use crate::testing::report::engine_name;
use crate::testing::vectors::table::{Header, Word};
use crate::testing::vectors::template::{ModuleText, SLOT, Template, Widths};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Sources are %a %b %c %e, in this order, destinations %d %f %h; %p %q %pc are predicates. Several statements are
separated by `;`.

Examples:
  ptxlift eval 'shf.l.wrap.b32 %d, %a, %b, %c' 0x1 0x80000000 3
  ptxlift eval 'add.cc.u32 %d, %a, %b; addc.u32 %f, 0, 0' 0xffffffff 1")]
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
}

const KERNEL: &str = "eval";

/// Widths that registers may have, those tried first in front.
const WIDTHS: [u32; 3] = [32, 64, 16];

pub(super) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    // Behind the statement everything is a value, for the sake of negative ones.
    if let Some(option) = args.values.iter().find(|v| v.starts_with("--")) {
        return Err(Failure::Usage(format!(
            "`{option}`: options stand before the statement"
        )));
    }
    let template = template(&args.statement)?;
    if args.values.len() != template.operands.len() {
        return Err(Failure::Usage(format!(
            "the statement has {} ({}), the command line {}",
            counted(template.operands.len() as u64, "source"),
            template.operands.join(" "),
            counted(args.values.len() as u64, "value")
        )));
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
    let (module, widths) = find_widths(&header, &template, &values)?;
    let engines = [EngineKind::Interpreter, EngineKind::Native];
    let results = engines
        .iter()
        .map(|&engine| execute(&module, &template, &widths, &values, engine))
        .collect::<Result<Vec<_>, _>>()?;
    for (name, (value, bits)) in template
        .operands
        .iter()
        .zip(values.iter().zip(&widths.operands))
    {
        let word = value.in_bits(*bits);
        out.text(format_args!("{name} = 0x{word}\n"));
    }
    let float = floats(&template.text);
    for (engine, words) in engines.into_iter().zip(&results) {
        for (name, word) in template.results.iter().zip(words) {
            out.text(format_args!(
                "{:6}  {name} = {}\n",
                engine_name(engine),
                show(*word, float)
            ));
        }
    }
    if results[0] != results[1] {
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

/// The narrowest registers with which the statement is legal and that hold the values.
fn find_widths(
    header: &Header,
    template: &Template,
    values: &[Value],
) -> Result<(Module, Widths), Failure> {
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
        text.register_kernel(KERNEL, template, &widths);
        Module::parse_named("<statement>", text.as_str()).map(|module| (module, widths))
    };
    for combination in &combinations {
        match parse(combination) {
            Ok(found) => return Ok(found),
            Err(Error::Diagnostics(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    match preferred {
        Some(combination) => Ok(parse(&combination)?),
        None => Err(Failure::Usage(
            "a value does not fit any register".to_string(),
        )),
    }
}

fn execute(
    module: &Module,
    template: &Template,
    widths: &Widths,
    values: &[Value],
    engine: EngineKind,
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
        dynamic_shared: 0,
        args: vec![
            buffer("in", input),
            buffer("out", vec![0; SLOT * template.results.len()]),
        ],
    };
    let left = Prepared::new(module, &spec, &Engine::interpreter())?.run(engine)?;
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

/// Hexadecimal, unsigned, signed, binary; as a float if one is near.
fn show(word: Word, float: bool) -> String {
    let bits = word.bits;
    let value = word.value as u64;
    let signed = ((value << (64 - bits)) as i64) >> (64 - bits);
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
