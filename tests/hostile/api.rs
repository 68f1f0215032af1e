//! The library's side: a case in this process, and a good kernel after it.

use crate::Who;
use crate::case::{Case, Launch};
use ptxlift::diag::Severity;
use ptxlift::{
    Device, DeviceConfig, Engine, EngineConfig, EngineKind, Error, Instance, Module, args,
};
use std::time::Duration;

/// What came of it, as one line: kind, line, words; separated by tabs.
fn said(result: Result<(), Error>) -> String {
    let (kind, line, words) = match result {
        Ok(()) => ("fine", 0, String::new()),
        Err(Error::Diagnostics(list)) => {
            let first = list.iter().find(|d| d.severity == Severity::Error);
            let line = first.map_or(0, |d| list.source().line(d.span.start));
            // Rendering must be cheap too.
            let shown = list.to_string();
            assert!(shown.len() < 1 << 20, "{} bytes are shown", shown.len());
            (
                "refused",
                line,
                first.map_or(String::new(), |d| d.message.clone()),
            )
        }
        Err(Error::Unsupported(lacking)) => ("unsupported", 0, lacking.to_string()),
        Err(Error::Usage(usage)) => ("usage", 0, usage.to_string()),
        Err(Error::Fault(fault)) => ("fault", fault.position.line, fault.to_string()),
        Err(other) => ("another error", 0, other.to_string()),
    };
    format!("{kind}\t{line}\t{}", words.replace(['\n', '\t'], " "))
}

fn attempt(case: &Case, kind: EngineKind) -> Result<(), Error> {
    let text = String::from_utf8_lossy(&(case.text)()).into_owned();
    let module = Module::parse_named("input.ptx", text)?;
    if !case.compiled {
        return Ok(());
    }
    let program = Engine::new(EngineConfig::default().kind(kind)).compile(&module)?;
    let device = Device::new(DeviceConfig::default())?;
    let instance = program.instantiate(&device)?;
    match &case.launch {
        Some(launch) => start(&instance, launch),
        None => Ok(()),
    }
}

fn start(instance: &Instance, launch: &Launch) -> Result<(), Error> {
    let buffer = match launch.buffer {
        Some(elements) => Some(instance.device().alloc_zeroed::<u32>(elements as usize)?),
        None => None,
    };
    let kernel = instance.kernel("k")?;
    let asked = ptxlift::Launch::grid(launch.grid)
        .block(launch.block)
        .shared(launch.shared)
        .time_limit(Some(Duration::from_millis(launch.limit)));
    match &buffer {
        Some(buffer) => kernel.launch(asked, args![buffer])?,
        None => kernel.launch(asked, args![])?,
    };
    Ok(())
}

/// A kernel that must run whatever came before.
fn good() -> Result<Vec<u32>, Error> {
    let module = Module::parse(
        ".version 8.0\n.target sm_80\n.address_size 64\n\
         .entry square(.param .u64 p) {\n\
         .reg .b32 %r<3>; .reg .b64 %d<3>;\n\
         mov.u32 %r1, %tid.x; mul.lo.u32 %r2, %r1, %r1;\n\
         ld.param.u64 %d1, [p]; mad.wide.u32 %d2, %r1, 4, %d1; st.global.u32 [%d2], %r2; ret; }",
    )?;
    let device = Device::new(DeviceConfig::default())?;
    let instance = Engine::default().compile(&module)?.instantiate(&device)?;
    let out = device.alloc_zeroed::<u32>(5)?;
    instance
        .kernel("square")?
        .launch(ptxlift::Launch::grid(1).block(5), args![&out])?;
    out.to_vec()
}

/// The body of the process that tries one case.
pub fn run(case: &Case, who: Who) {
    let kind = match who {
        Who::Native => EngineKind::Native,
        Who::Interpreter => EngineKind::Interpreter,
    };
    println!("{}", said(attempt(case, kind)));
    match good() {
        Ok(squares) => println!("{squares:?}"),
        Err(error) => println!("{error}"),
    }
}

/// What [`run`] prints last.
pub const GOOD: &str = "[0, 1, 4, 9, 16]";
