//! Settings of Cranelift's on the command line: `--set KEY=VALUE`, and `ptxlift settings`, which lists them.

use super::error::Failure;
use super::json;
use super::out::Out;
use crate::jit::{self, CraneliftSetting, WIDTHS, cranelift_settings};
use crate::runtime::EngineConfig;
use serde::Serialize;

/// The options of every command that makes native code.
#[derive(Debug, Default, clap::Args)]
pub(super) struct Set {
    /// A setting of Cranelift's; `ptxlift settings` lists them
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse)]
    set: Vec<Setting>,
    /// How many threads of a kernel native code takes together, side by side in vectors: 1, 4, 8, 16 or 32, or `auto`: one after another until
    /// making other code pays; `test` and `fuzz` take `all` of the numbers [default: auto]
    #[arg(long, value_name = "W", value_parser = parse_width)]
    width: Option<Width>,
    /// How many vectors of four threads lie side by side: 1, 2, 4 or 8; as `--width` of four times that
    #[arg(long, value_name = "N", value_parser = parse_interleave)]
    interleave: Option<u32>,
}

/// Threads of a vector.
const LANES: u32 = 4;

/// What `--width` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Width {
    One(u32),
    Auto,
    All,
}

fn parse_width(text: &str) -> Result<Width, String> {
    match text.parse() {
        Ok(width) if WIDTHS.contains(&width) => Ok(Width::One(width)),
        _ if text == "all" => Ok(Width::All),
        _ if text == jit::AUTO => Ok(Width::Auto),
        _ => Err("it is 1, 4, 8, 16, 32, auto or all".to_string()),
    }
}

fn parse_interleave(text: &str) -> Result<u32, String> {
    match text.parse::<u32>() {
        Ok(vectors) if WIDTHS.contains(&vectors.saturating_mul(LANES)) => Ok(vectors),
        Ok(_) | Err(_) => Err("it is 1, 2, 4 or 8".to_string()),
    }
}

impl Set {
    /// What `--width` and `--interleave` say together.
    fn together(&self) -> Option<Width> {
        let threads = self.interleave.map(|vectors| Width::One(LANES * vectors));
        threads.or(self.width)
    }

    /// Hands the settings on.
    pub(super) fn apply(&self, config: EngineConfig) -> EngineConfig {
        (self.pairs().into_iter()).fold(config, |config, (key, value)| config.setting(key, value))
    }

    /// Names and values.
    pub(super) fn pairs(&self) -> Vec<(String, String)> {
        let width = match self.together() {
            Some(Width::One(width)) => Some(width.to_string()),
            Some(Width::Auto) => Some(jit::AUTO.to_string()),
            Some(Width::All) | None => None,
        };
        let width = width.map(|width| (jit::WIDTH.to_string(), width));
        let pairs = self.set.iter();
        (pairs.map(|s| (s.key.clone(), s.value.clone())))
            .chain(width)
            .collect()
    }

    /// The widths to go through, for commands that take all; none for whatever there is by default.
    pub(super) fn widths(&self) -> &'static [u32] {
        match self.together() {
            Some(Width::All) => &WIDTHS,
            Some(Width::One(_) | Width::Auto) | None => &[],
        }
    }

    /// Refuses a `--width` that does not go with `--interleave`. One of four threads is taken for that of a vector.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let (Some(width), Some(vectors)) = (self.width, self.interleave) else {
            return Ok(());
        };
        let threads = LANES * vectors;
        if [LANES, threads].map(Width::One).contains(&width) {
            return Ok(());
        }
        Err(Failure::Usage(format!(
            "`--interleave {vectors}` takes {threads} threads together, and `--width` says something else"
        ))
        .hint(format!("leave out one of them, or write `--width {threads}`")))
    }

    /// As [`Set::check`], and refuses `--width all`.
    pub(super) fn check_one(&self) -> Result<(), Failure> {
        self.check()?;
        match self.together() {
            Some(Width::All) => Err(Failure::Usage(
                "`--width all` is for `test` and `fuzz`; here it is 1, 4, 8, 16, 32 or auto"
                    .to_string(),
            )),
            Some(Width::One(_) | Width::Auto) | None => Ok(()),
        }
    }
}

/// `KEY=VALUE`, which Cranelift takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) key: String,
    pub(super) value: String,
}

pub(super) fn parse(text: &str) -> Result<Setting, String> {
    let (key, value) = text
        .split_once('=')
        .ok_or("write KEY=VALUE; `ptxlift settings` lists keys and values")?;
    jit::choose(&mut jit::Settings::default(), key, value)?;
    Ok(Setting {
        key: key.to_string(),
        value: value.to_string(),
    })
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxlift settings
  ptxlift settings --json | jq -r .name
  ptxlift run case/launch.toml --set opt_level=none --set regalloc_algorithm=single_pass")]
pub(super) struct Args {
    /// Print one JSON object for each
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    let settings = cranelift_settings();
    if args.json {
        for setting in &settings {
            json::write(out, "setting", &Object::new(setting))?;
        }
        return Ok(());
    }
    out.text(format_args!(
        "Settings of Cranelift's, given as `--set KEY=VALUE`. None changes what a program computes.\n\n"
    ));
    for setting in settings.iter().filter(|s| s.fixed.is_none()) {
        out.text(format_args!(
            "{}: {}\n    {}, by default {}\n",
            setting.name,
            setting.description,
            show_values(&setting.values),
            setting.default
        ));
    }
    out.text(format_args!("\nFixed, for native code relies on them:\n\n"));
    for setting in &settings {
        if let Some(why) = setting.fixed {
            out.text(format_args!("{}: {why}\n", setting.name));
        }
    }
    Ok(())
}

fn show_values(values: &[String]) -> String {
    match values {
        [one] => format!("only {one} on this machine"),
        [first, .., last] if first == "0" => format!("{first} to {last}"),
        _ => values.join(" or "),
    }
}

/// A setting, for programs.
#[derive(Serialize)]
struct Object<'a> {
    name: &'a str,
    description: &'a str,
    values: &'a [String],
    default: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    fixed: Option<&'a str>,
}

impl<'a> Object<'a> {
    fn new(setting: &'a CraneliftSetting) -> Self {
        Object {
            name: setting.name,
            description: setting.description,
            values: &setting.values,
            default: &setting.default,
            fixed: setting.fixed,
        }
    }
}
