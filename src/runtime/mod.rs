//! Programs on the CPU: device memory, instances of modules, launches and calls.
//!
//! A [`Module`] is a checked text; [`Engine::compile`] makes a [`Program`] of it; [`Program::instantiate`] gives its
//! variables a place on a [`Device`]; the [`Instance`] hands out [`Kernel`]s and [`Function`]s.

mod args;
mod backend;
mod buffer;
mod call;
mod cancel;
mod cluster;
mod copy;
mod device;
mod engine;
mod facts;
mod function;
mod grid;
mod instance;
mod kernel;
mod launch;
mod low_memory;
mod module;
mod output;
mod pace;
mod pool;
mod program;
mod residents;
mod runners;
mod scratch;
mod ticker;
mod value;
mod variable;
mod watchdog;

pub use args::{Address, Arg};
pub use buffer::Buffer;
pub use cancel::Cancel;
pub use device::{Device, DeviceConfig};
pub use engine::{Engine, EngineConfig, EngineKind};
pub use function::{AnyFunction, Function};
pub use instance::Instance;
pub use kernel::Kernel;
pub use launch::{Dim, Launch, Report};
pub use module::{FunctionInfo, Module, ModuleConfig, Parameter};
pub use output::Output;
pub use program::Program;
pub use value::{Args, ByValue, Results, Value};
pub use variable::Variable;
