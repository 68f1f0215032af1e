//! What differs between the measured configurations.

use super::super::settings;
use crate::runtime::{Engine, EngineConfig, EngineKind};
use crate::testing::report::engine_name;
use std::fmt;
use std::num::NonZeroUsize;
use std::time::Duration;

/// The key that varies the number of worker threads, which no setting of Cranelift's is called.
const THREADS: &str = "threads";

/// `KEY=V1,V2`
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Vary {
    pub(super) key: String,
    pub(super) values: Vec<String>,
}

pub(super) fn parse(text: &str) -> Result<Vary, String> {
    let (key, values) = text
        .split_once('=')
        .ok_or("write KEY=V1,V2; KEY is `threads`, or a setting that `ptxlift settings` lists")?;
    let values: Vec<String> = values.split(',').map(|v| v.trim().to_string()).collect();
    for (index, value) in values.iter().enumerate() {
        if values[..index].contains(value) {
            return Err(format!("`{value}` is there twice"));
        }
        if key == THREADS {
            parse_threads(value)?;
        } else {
            settings::parse(&format!("{key}={value}"))?;
        }
    }
    Ok(Vary {
        key: key.to_string(),
        values,
    })
}

fn parse_threads(value: &str) -> Result<NonZeroUsize, String> {
    value
        .parse()
        .map_err(|_| format!("`{value}` is no number of threads"))
}

/// One way of running a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Configuration {
    pub(super) kind: EngineKind,
    /// What was varied, with the value that it has here.
    pub(super) varied: Vec<(String, String)>,
}

impl fmt::Display for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(engine_name(self.kind))?;
        for (key, value) in &self.varied {
            write!(f, " {key}={value}")?;
        }
        Ok(())
    }
}

impl Configuration {
    /// An engine of this configuration; what is varied goes before what is the same for all.
    pub(super) fn engine(
        &self,
        set: &settings::Set,
        threads: usize,
        time_limit: Option<Duration>,
    ) -> Engine {
        let mut config = EngineConfig::default()
            .kind(self.kind)
            .threads(threads)
            .time_limit(time_limit);
        config = set.apply(config);
        for (key, value) in &self.varied {
            config = match parse_threads(value) {
                Ok(threads) if key == THREADS => config.threads(threads.into()),
                Ok(_) | Err(_) => config.setting(key, value),
            };
        }
        Engine::new(config)
    }
}

/// All combinations of the varied values, the last key changing fastest, for native code; for the interpreter those in
/// which the number of threads differs, for nothing else concerns it.
pub(super) fn combinations(varied: &[Vary], kinds: &[EngineKind]) -> Vec<Configuration> {
    let mut native: Vec<Vec<(String, String)>> = vec![Vec::new()];
    for vary in varied {
        native = native
            .iter()
            .flat_map(|before| {
                vary.values.iter().map(|value| {
                    let mut combination = before.clone();
                    combination.push((vary.key.clone(), value.clone()));
                    combination
                })
            })
            .collect();
    }
    let mut interpreter: Vec<Vec<(String, String)>> = Vec::new();
    for combination in &native {
        let threads = combination.iter().filter(|(key, _)| key == THREADS);
        let threads: Vec<_> = threads.cloned().collect();
        if !interpreter.contains(&threads) {
            interpreter.push(threads);
        }
    }
    let of = |kind, combinations: Vec<_>| -> Vec<Configuration> {
        if !kinds.contains(&kind) {
            return Vec::new();
        }
        let all = combinations.into_iter();
        all.map(|varied| Configuration { kind, varied }).collect()
    };
    let mut all = of(EngineKind::Native, native);
    all.extend(of(EngineKind::Interpreter, interpreter));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_once() {
        let varied: Vec<Vary> = ["opt_level=none,speed", "threads=1,2"]
            .iter()
            .map(|text| parse(text).expect("a setting"))
            .collect();
        let both = [EngineKind::Interpreter, EngineKind::Native];
        let names: Vec<String> = combinations(&varied, &both)
            .iter()
            .map(Configuration::to_string)
            .collect();
        assert_eq!(
            names,
            [
                "jit opt_level=none threads=1",
                "jit opt_level=none threads=2",
                "jit opt_level=speed threads=1",
                "jit opt_level=speed threads=2",
                "interp threads=1",
                "interp threads=2",
            ]
        );
        let native = combinations(&[], &[EngineKind::Native]);
        assert_eq!(native.len(), 1);
        assert_eq!(native[0].to_string(), "jit");
    }

    #[test]
    fn what_is_varied_goes_before_what_is_set() {
        let configuration = Configuration {
            kind: EngineKind::Native,
            varied: vec![(THREADS.to_string(), "3".to_string())],
        };
        let engine = configuration.engine(&settings::Set::default(), 1, None);
        let three = EngineConfig::default().threads(3).time_limit(None);
        assert_eq!(*engine.config(), three);
    }

    #[test]
    fn wrong_values_are_told() {
        for (text, word) in [
            ("opt_level", "KEY=V1,V2"),
            ("threads=0", "no number of threads"),
            ("opt_level=none,none", "twice"),
            ("opt_level=none,fast", "it is none or speed"),
            ("is_pic=true", "cannot be chosen"),
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
