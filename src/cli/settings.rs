//! Settings of Cranelift's on the command line: `--set KEY=VALUE`, and `ptxlift settings`, which lists them.

use super::error::Failure;
use super::out::Out;
use crate::jit::{self, CraneliftSetting, cranelift_settings};
use crate::runtime::EngineConfig;

/// The options of every command that makes native code.
#[derive(Debug, Default, clap::Args)]
pub(super) struct Set {
    /// A setting of Cranelift's; `ptxlift settings` lists them
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse)]
    set: Vec<Setting>,
}

impl Set {
    /// Hands the settings on.
    pub(super) fn apply(&self, config: EngineConfig) -> EngineConfig {
        self.set.iter().fold(config, |config, set| {
            config.setting(set.key.clone(), set.value.clone())
        })
    }

    /// Names and values.
    pub(super) fn pairs(&self) -> Vec<(String, String)> {
        let pairs = self.set.iter();
        pairs.map(|s| (s.key.clone(), s.value.clone())).collect()
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
pub(super) struct Args {
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    let settings = cranelift_settings();
    if args.json {
        let objects: Vec<serde_json::Value> = settings.iter().map(object).collect();
        let text = serde_json::to_string_pretty(&objects)
            .map_err(|e| Failure::bug(format!("a list that is no JSON: {e}")))?;
        out.text(format_args!("{text}\n"));
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
        [first, .., last] if first == "0" => format!("{first} to {last}"),
        _ => values.join(" or "),
    }
}

fn object(setting: &CraneliftSetting) -> serde_json::Value {
    serde_json::json!({
        "name": setting.name,
        "description": setting.description,
        "values": setting.values,
        "default": setting.default,
        "fixed": setting.fixed,
    })
}
