//! What users' code builds on: traits, conversions, what can be made from outside.

use crate::{device, instance};
use ptxlift::diag::{Diagnostic, Diagnostics, Position, Severity, Source, Span};
use ptxlift::error::{Internal, Missing, Unsupported};
use ptxlift::{
    Address, AnyFunction, Arg, Buffer, ByValue, Cancel, CompileStats, Device, DeviceConfig, Dim,
    Engine, EngineConfig, EngineKind, Error, Fault, FaultKind, Function, FunctionInfo,
    FunctionStats, Instance, Kernel, Launch, Module, ModuleConfig, Nearest, OptLevel, Parameter,
    ParseStats, Program, Reading, Report, Stage, Step, Usage, Variable,
};
use std::fmt::Debug;
use std::hash::Hash;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::Duration;

#[test]
fn handles_are_shared_between_threads() {
    fn handle<T: Clone + Debug + Send + Sync + Unpin + 'static>() {}
    handle::<Module>();
    handle::<Engine>();
    handle::<Program>();
    handle::<Device>();
    handle::<Instance>();
    handle::<Kernel>();
    handle::<Function<(u32,), u32>>();
    handle::<AnyFunction>();
    handle::<Variable>();
    handle::<Cancel>();
    handle::<Buffer<u32>>();
    handle::<Arg>();
    handle::<Launch>();
    handle::<EngineConfig>();
    handle::<ModuleConfig>();
    handle::<Reading>();
    handle::<DeviceConfig>();
    handle::<CompileStats>();
    handle::<FunctionStats>();
    handle::<ParseStats>();
    handle::<Report>();
    handle::<Parameter>();
    handle::<Diagnostics>();
    handle::<Diagnostic>();
    handle::<Arc<Source>>();
    fn shared<T: Clone + Debug + Send + Sync>(_: &T) {}
    let module = Module::parse(".version 8.0\n.target sm_80\n.entry k() { ret; }").unwrap();
    let kernel: FunctionInfo<'_> = module.kernels().next().unwrap();
    shared(&kernel);
    fn step<T: Clone + Debug + Send + Sync>() {}
    step::<Step<'_>>();
}

#[test]
fn a_panic_of_the_user_leaves_handles_usable() {
    fn survives<T: UnwindSafe + RefUnwindSafe>() {}
    survives::<Device>();
    survives::<Buffer<u32>>();
    survives::<Cancel>();
    survives::<Launch>();
    survives::<Error>();
}

#[test]
fn small_values_are_compared_and_hashed() {
    fn value<T: Copy + Eq + Hash + Debug + Send + Sync>() {}
    value::<EngineKind>();
    value::<OptLevel>();
    value::<Stage>();
    value::<FaultKind>();
    value::<Dim>();
    value::<Address>();
    value::<ByValue<[u32; 4]>>();
    value::<Span>();
    value::<Position>();
    value::<Severity>();
}

#[test]
fn errors_are_errors() {
    fn error<T: std::error::Error + Clone + Send + Sync + 'static>() {}
    error::<Error>();
    error::<Diagnostics>();
    error::<Unsupported>();
    error::<Usage>();
    error::<Fault>();
    error::<Internal>();
    fn part<T: Clone + Debug + PartialEq + Send + Sync>() {}
    part::<Missing>();
    part::<Nearest>();

    let refused = Module::parse(".version 8.0\n.target sm_80\n.entry k() { frob; }");
    let Err(Error::Diagnostics(diagnostics)) = refused else {
        panic!("{refused:?}");
    };
    let error = Error::from(diagnostics.clone());
    assert_eq!(error.to_string(), diagnostics.to_string());
    let Err(Error::Usage(usage)) = device().alloc_zeroed::<u8>(usize::MAX) else {
        panic!("there is no such memory");
    };
    let error = Error::from(Usage::clone(&usage));
    assert_eq!(error.to_string(), usage.to_string());
    // `Display` tells all: reporters that walk the chain of sources must not tell it twice.
    assert!(std::error::Error::source(&error).is_none());
}

#[test]
fn errors_travel_through_question_marks() {
    fn boxed() -> Result<Module, Box<dyn std::error::Error + Send + Sync>> {
        Ok(Module::parse("nonsense")?)
    }
    let error = boxed().unwrap_err();
    assert!(matches!(
        error.downcast_ref::<Error>(),
        Some(Error::Diagnostics(_))
    ));
}

#[test]
fn everything_that_users_fill_in_is_made_from_outside() {
    let config = EngineConfig::default()
        .kind(EngineKind::Interpreter)
        .opt_level(OptLevel::None)
        .verify(true)
        .setting("enable_alias_analysis", "false")
        .threads(1)
        .time_limit(None)
        .steps(1000)
        .call_depth(10)
        .local_bytes(1024);
    let instance = instance(
        ".version 8.0\n.target sm_80\n.address_size 64\n.entry k(.param .u64 p) { ret; }",
        config,
    );
    let launch = Launch::grid((2, 3))
        .block([4, 2, 1])
        .shared(16)
        .engine(EngineKind::Native)
        .time_limit(Some(Duration::from_secs(5)))
        .cancel(&Cancel::new());
    let nowhere = Address::NULL + 16;
    let kernel = instance.kernel("k").unwrap();
    let report = kernel.launch(launch, [Arg::from(nowhere)]).unwrap();
    assert_eq!((report.blocks, report.threads), (6, 48));

    let device = Device::new(DeviceConfig::default().memory_limit(1 << 20)).unwrap();
    assert!(device.alloc_zeroed::<u8>(1 << 20).is_err());

    let source = Arc::new(Source::new("text", "word"));
    let said = Diagnostic::error(Span::new(0, 4), "no").hint("yes");
    assert!(
        Diagnostics::new(source, vec![said])
            .to_string()
            .contains("yes")
    );
}
