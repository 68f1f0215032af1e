//! The public face: launches, calls, faults, wrong uses, lifetimes.

mod calls;
#[cfg(feature = "clif")]
mod clif;
mod faults;
mod launches;
mod limits;
mod readings;
mod settings;
mod surface;
mod together;
mod wrong_use;

use ptxlift::{
    Device, DeviceConfig, Engine, EngineConfig, EngineKind, Error, Fault, Instance, Module, Report,
    Usage,
};

const ENGINES: [EngineKind; 2] = [EngineKind::Interpreter, EngineKind::Native];

fn device() -> Device {
    Device::new(DeviceConfig::default()).unwrap()
}

fn instance(text: &str, config: EngineConfig) -> Instance {
    let module = Module::parse(text).unwrap_or_else(|e| panic!("{e}"));
    let program = Engine::new(config).compile(&module).unwrap();
    program.instantiate(&device()).unwrap()
}

fn fault(result: Result<Report, Error>) -> Fault {
    match result {
        Err(Error::Fault(fault)) => *fault,
        other => panic!("a fault was expected, not {other:?}"),
    }
}

fn usage<T: std::fmt::Debug>(result: Result<T, Error>) -> Usage {
    match result {
        Err(Error::Usage(usage)) => *usage,
        other => panic!("a usage error was expected, not {other:?}"),
    }
}

/// The line, from 1, that ends in `// here: NAME`.
fn line(text: &str, name: &str) -> u32 {
    let mark = format!("// here: {name}");
    let found = text.lines().position(|l| l.ends_with(&mark));
    found.unwrap_or_else(|| panic!("no {mark}")) as u32 + 1
}
