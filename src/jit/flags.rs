//! Cranelift's settings: which of them can be chosen, and how they are handed on.
//!
//! A setting is open to users if no value of it changes what code computes, what keeps it confined, or how it is called.
//! That holds for how hard Cranelift works, for what it checks of itself, for padding, and for features of the processor
//! that are left unused.

use super::settings::Allocator;
use super::target::Target;
use super::{CompileError, OptLevel, Settings};
use crate::diag::nearest;
use cranelift_codegen::isa::{Builder as IsaBuilder, OwnedTargetIsa};
use cranelift_codegen::settings::{self, Configurable, Flags, SetError, SettingKind};

/// A setting of Cranelift's for this machine, as [`cranelift_settings`] lists them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CraneliftSetting {
    /// Its name.
    pub name: &'static str,
    /// What Cranelift says about it.
    pub description: &'static str,
    /// The values that can be chosen; none if it is fixed.
    pub values: Vec<String>,
    /// The value where nothing else is said.
    pub default: String,
    /// Why it cannot be chosen; `None` if it can.
    pub fixed: Option<&'static str>,
}

/// Largest alignment of functions, as a power of two: that of a page.
const ALIGNMENT: u8 = 12;
/// Most padding between blocks; 2 to the power of one less bytes.
const PADDING: u8 = 12;

/// What values a setting that is open takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    /// All that it has.
    Any,
    /// A number up to this.
    UpTo(u8),
    /// A feature of the processor, which can be left unused.
    Feature,
}

/// Whether a setting can be chosen, or why not.
fn judge(name: &str, kind: SettingKind) -> Result<Open, &'static str> {
    Ok(match name {
        "opt_level"
        | "regalloc_algorithm"
        | "regalloc_checker"
        | "regalloc_verbose_logs"
        | "enable_alias_analysis"
        | "enable_verifier"
        | "enable_heap_access_spectre_mitigation"
        | "enable_table_access_spectre_mitigation"
        | "machine_code_cfg_info"
        | "preserve_frame_pointers"
        | "unwind_info"
        | "use_csdb" => Open::Any,
        "log2_min_function_alignment" => Open::UpTo(ALIGNMENT),
        "bb_padding_log2_minus_one" => Open::UpTo(PADDING),
        "enable_nan_canonicalization" => {
            return Err("PTX says which NaN an instruction gives, and it is another");
        }
        "enable_pinned_reg" => {
            return Err("it takes a register whose value the host's callers want back");
        }
        "enable_probestack" | "probestack_strategy" | "probestack_size_log2" => {
            return Err("probes keep deep recursion from stepping over the stack's guard page");
        }
        "is_pic" => return Err("code in memory is not position-independent"),
        "use_colocated_libcalls" => return Err("the host's functions lie far from the code"),
        "libcall_call_conv"
        | "enable_llvm_abi_extensions"
        | "enable_multi_ret_implicit_sret"
        | "sign_return_address"
        | "sign_return_address_all"
        | "sign_return_address_with_bkey" => {
            return Err("code and host call each other by one convention");
        }
        "use_bti" => return Err("it goes with how the host protects memory"),
        "tls_model" => return Err("no code has thread-local variables"),
        "stack_switch_model" => return Err("no code switches stacks"),
        "enable_incremental_compilation_cache_checks" => return Err("there is no such cache"),
        "enable_compact_unwind_abi" => return Err("it is for object files"),
        _ => match kind {
            SettingKind::Bool if name.starts_with("has_") => Open::Feature,
            SettingKind::Preset => return Err("features are chosen one by one, by `has_...`"),
            SettingKind::Bool | SettingKind::Enum | SettingKind::Num => {
                return Err("what it would change is not known");
            }
        },
    })
}

/// Features of x86-64 that build on others.
const NEEDS: [(&str, &str); 13] = [
    ("has_ssse3", "has_sse3"),
    ("has_sse41", "has_ssse3"),
    ("has_sse42", "has_sse41"),
    ("has_avx", "has_sse42"),
    ("has_avx2", "has_avx"),
    ("has_fma", "has_avx"),
    ("has_avx_vnni", "has_avx2"),
    ("has_avx512f", "has_avx2"),
    ("has_avx512bitalg", "has_avx512f"),
    ("has_avx512dq", "has_avx512f"),
    ("has_avx512vbmi", "has_avx512f"),
    ("has_avx512vl", "has_avx512f"),
    ("has_avx512vnni", "has_avx512f"),
];

/// Everything that Cranelift can set for this machine, in Cranelift's order: first what all machines have, then the
/// features of this one, the presets left out. Empty on a machine that Cranelift does not know.
///
/// What can be chosen is chosen by [`EngineConfig::setting`](crate::EngineConfig::setting).
pub fn cranelift_settings() -> Vec<CraneliftSetting> {
    let Ok(host) = Host::new() else {
        return Vec::new();
    };
    let defaults = host.defaults();
    host.known()
        .filter(|setting| setting.kind != SettingKind::Preset)
        .map(|setting| {
            let name = setting.name;
            let judged = judge(name, setting.kind);
            let default = match name {
                "opt_level" => "speed".to_string(),
                "enable_verifier" => cfg!(debug_assertions).to_string(),
                _ => value(&defaults, name),
            };
            CraneliftSetting {
                name,
                description: setting.description,
                values: judged.map_or_else(
                    |_| Vec::new(),
                    |open| values(open, setting.values, &default),
                ),
                default,
                fixed: judged.err(),
            }
        })
        .collect()
}

/// The values that an open setting takes.
fn values(open: Open, names: Option<&[&str]>, default: &str) -> Vec<String> {
    match (open, names) {
        (Open::UpTo(most), _) => (0..=most).map(|n| n.to_string()).collect(),
        (Open::Feature, _) if default == "false" => vec!["false".to_string()],
        (Open::Any, Some(names)) => names.iter().map(|n| n.to_string()).collect(),
        (Open::Any | Open::Feature, _) => vec!["true".to_string(), "false".to_string()],
    }
}

fn value(values: &[(&'static str, String)], name: &str) -> String {
    let found = values.iter().find(|(other, _)| *other == name);
    found.map_or_else(String::new, |(_, value)| value.clone())
}

/// Cranelift's builder for this machine, with the features that it has.
struct Host(IsaBuilder);

impl Host {
    fn new() -> Result<Self, CompileError> {
        Target::Host.builder().map(Host)
    }

    fn known(&self) -> impl Iterator<Item = settings::Setting> {
        settings::builder().iter().chain(self.0.iter())
    }

    /// The values of everything where nothing is set.
    fn defaults(&self) -> Vec<(&'static str, String)> {
        let flags = Flags::new(settings::builder());
        let mut values: Vec<_> = flags.iter().map(|v| (v.name, v.value_string())).collect();
        if let Ok(isa) = self.0.finish(flags) {
            let features = isa.isa_flags().into_iter();
            values.extend(features.map(|v| (v.name, v.value_string())));
        }
        values
    }
}

/// The setting that says how many threads of a kernel go together; it is not Cranelift's.
pub const WIDTH: &str = "width";

/// The numbers that it may be.
pub const WIDTHS: [u32; 5] = [1, 4, 8, 16, 32];

/// What it is by default: threads go together in kernels that are launched often enough, or run long enough.
pub const AUTO: &str = "auto";

/// Takes a setting into `settings`, if it is one that can be chosen and the value is one of its.
///
/// # Errors
/// What is wrong, and what would be right.
pub fn choose(settings: &mut Settings, name: &str, value: &str) -> Result<(), String> {
    if name == WIDTH {
        let width = value.parse().ok().filter(|w| WIDTHS.contains(w));
        (settings.width, settings.later) = match width {
            Some(width) => (width, None),
            None if value == AUTO => {
                let default = Settings::default();
                (default.width, default.later)
            }
            None => return Err(format!("`{name}={value}`: it is {AUTO}, 1, 4, 8, 16 or 32")),
        };
        return Ok(());
    }
    let all = cranelift_settings();
    let Some(setting) = all.iter().find(|s| s.name == name) else {
        let open = || all.iter().filter(|s| s.fixed.is_none()).map(|s| s.name);
        let hint = match nearest(name, open()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!(
                "these can be chosen: {}",
                open().collect::<Vec<_>>().join(", ")
            ),
        };
        return Err(format!("Cranelift has no setting `{name}`; {hint}"));
    };
    if let Some(why) = setting.fixed {
        return Err(format!("the setting `{name}` cannot be chosen: {why}"));
    }
    let value = match value {
        "on" | "yes" | "1" if setting.values.iter().any(|v| v == "false") => "true",
        "off" | "no" | "0" if setting.values.iter().any(|v| v == "false") => "false",
        value => value,
    };
    if !setting.values.iter().any(|v| v == value) {
        return Err(match &setting.values[..] {
            [_] => format!("`{name}={value}`: this machine does not have it"),
            [first, .., last] if first == "0" => {
                format!("`{name}={value}`: it is a number from {first} to {last}")
            }
            values => format!("`{name}={value}`: it is {}", values.join(" or ")),
        });
    }
    match (name, value) {
        ("opt_level", "none") => settings.opt_level = OptLevel::None,
        ("opt_level", "speed") => settings.opt_level = OptLevel::Speed,
        ("opt_level", _) => settings.opt_level = OptLevel::SpeedAndSize,
        ("regalloc_algorithm", "single_pass") => settings.allocator = Allocator::SinglePass,
        ("regalloc_algorithm", _) => settings.allocator = Allocator::Backtracking,
        ("enable_verifier", value) => settings.verify = value == "true",
        _ => {
            settings.cranelift.retain(|(other, _)| other != name);
            let setting = (name.to_string(), value.to_string());
            settings.cranelift.push(setting);
        }
    }
    Ok(())
}

/// Cranelift's idea of a machine.
///
/// # Errors
/// A machine that Cranelift does not know; settings that [`choose`] would not have taken.
pub(super) fn isa(
    settings: &Settings,
    target: &Target,
    opt_level: OptLevel,
    allocator: Allocator,
) -> Result<OwnedTargetIsa, CompileError> {
    let mut flags = settings::builder();
    let mut machine = target.builder()?;
    let opt_level = match opt_level {
        OptLevel::None => "none",
        OptLevel::Speed => "speed",
        OptLevel::SpeedAndSize => "speed_and_size",
    };
    let allocator = match allocator {
        Allocator::Backtracking => "backtracking",
        Allocator::SinglePass => "single_pass",
    };
    let verify = if settings.verify { "true" } else { "false" };
    let own = [
        ("opt_level", opt_level),
        ("regalloc_algorithm", allocator),
        ("enable_verifier", verify),
        ("is_pic", "false"),
        ("use_colocated_libcalls", "false"),
        ("enable_probestack", "true"),
        ("probestack_strategy", "inline"),
    ];
    let chosen = settings.cranelift.iter();
    let chosen = chosen.map(|(n, v)| (n.as_str(), v.as_str()));
    for (name, value) in own.into_iter().chain(chosen) {
        let set = match flags.set(name, value) {
            Err(SetError::BadName(_)) => machine.set(name, value),
            set => set,
        };
        set.map_err(|e| CompileError::Setting {
            name: name.to_string(),
            value: value.to_string(),
            message: e.to_string(),
        })?;
    }
    leave_unused(settings, &mut machine);
    machine
        .finish(Flags::new(flags))
        .map_err(|e| CompileError::Host(e.to_string()))
}

/// With a feature goes what builds on it.
fn leave_unused(settings: &Settings, machine: &mut IsaBuilder) {
    let mut unused: Vec<&str> = settings
        .cranelift
        .iter()
        .filter(|(name, value)| name.starts_with("has_") && value == "false")
        .map(|(name, _)| name.as_str())
        .collect();
    let mut seen = 0;
    while let Some(&base) = unused.get(seen) {
        seen += 1;
        for (feature, needs) in NEEDS {
            if needs == base && machine.set(feature, "false").is_ok() {
                unused.push(feature);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_of_cranelifts_is_judged() {
        let settings = cranelift_settings();
        for setting in &settings {
            assert_ne!(
                setting.fixed,
                Some("what it would change is not known"),
                "{}",
                setting.name
            );
            match setting.fixed {
                Some(_) => assert!(setting.values.is_empty()),
                None => assert!(setting.values.contains(&setting.default), "{setting:?}"),
            }
        }
        let find = |name: &str| settings.iter().find(|s| s.name == name).expect(name);
        assert_eq!(
            find("opt_level").values,
            ["none", "speed", "speed_and_size"]
        );
        assert!(find("enable_pinned_reg").fixed.is_some());
    }

    #[test]
    fn wrong_settings_are_told_with_what_is_right() {
        for (name, value, word) in [
            ("opt_levle", "none", "did you mean `opt_level`?"),
            ("opt_level", "fast", "it is none or speed or speed_and_size"),
            ("unwind_info", "maybe", "it is true or false"),
            ("log2_min_function_alignment", "13", "a number from 0 to 12"),
            ("enable_nan_canonicalization", "true", "NaN"),
            ("probestack_size_log2", "20", "guard page"),
            ("is_pic", "false", "cannot be chosen"),
            ("quite_something_else", "1", "these can be chosen: "),
        ] {
            let error = choose(&mut Settings::default(), name, value).expect_err(name);
            assert!(error.contains(word), "{name}={value}: {error}");
        }
    }

    #[test]
    fn the_last_value_holds() {
        let mut settings = Settings::default();
        for (name, value) in [
            ("opt_level", "none"),
            ("opt_level", "speed_and_size"),
            ("regalloc_algorithm", "single_pass"),
            ("enable_verifier", "on"),
            ("unwind_info", "off"),
            ("unwind_info", "yes"),
        ] {
            choose(&mut settings, name, value).expect("a setting");
        }
        assert_eq!(settings.opt_level, OptLevel::SpeedAndSize);
        assert_eq!(settings.allocator, Allocator::SinglePass);
        assert!(settings.verify);
        let unwind = ("unwind_info".to_string(), "true".to_string());
        assert_eq!(settings.cranelift, [unwind]);
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn what_builds_on_a_feature_goes_with_it() {
        let mut settings = Settings::default();
        choose(&mut settings, "has_ssse3", "false").expect("a feature");
        let isa = isa(
            &settings,
            &Target::Host,
            OptLevel::None,
            Allocator::Backtracking,
        )
        .expect("a machine");
        let on = |name: &str| {
            let flags = isa.isa_flags();
            let flag = flags
                .into_iter()
                .find(|f| f.name == name)
                .expect("a feature");
            flag.as_bool().expect("a switch")
        };
        for gone in [
            "has_ssse3",
            "has_sse42",
            "has_avx",
            "has_avx512vl",
            "has_fma",
        ] {
            assert!(!on(gone), "{gone}");
        }
        assert_eq!(on("has_sse3"), std::is_x86_feature_detected!("sse3"));
        assert_eq!(on("has_bmi2"), std::is_x86_feature_detected!("bmi2"));
    }
}
