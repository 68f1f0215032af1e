//! Runs NVIDIA PTX on the CPU: checks it, interprets it, compiles it to native code.
//!
//! The [`guide`] goes through it part by part; here is the whole of it once:
//!
//! ```
//! use ptxlift::{Device, DeviceConfig, Engine, Launch, Module, args};
//!
//! let module = Module::parse("
//!     .version 8.0
//!     .target sm_80
//!     .address_size 64
//!     .entry double(.param .u64 data, .param .u32 n)
//!     {
//!         .reg .pred %p;
//!         .reg .b32 %r<5>;
//!         .reg .b64 %rd<3>;
//!         mov.u32 %r1, %ctaid.x;
//!         mov.u32 %r2, %ntid.x;
//!         mov.u32 %r3, %tid.x;
//!         mad.lo.u32 %r1, %r1, %r2, %r3;
//!         ld.param.u32 %r2, [n];
//!         setp.ge.u32 %p, %r1, %r2;
//!         @%p ret;
//!         ld.param.u64 %rd1, [data];
//!         mad.wide.u32 %rd2, %r1, 4, %rd1;
//!         ld.global.u32 %r4, [%rd2];
//!         shl.b32 %r4, %r4, 1;
//!         st.global.u32 [%rd2], %r4;
//!         ret;
//!     }
//! ")?;                                                          // every error of the text at once
//! let program = Engine::default().compile(&module)?;            // native code
//! let device = Device::new(DeviceConfig::default())?;           // memory
//! let instance = program.instantiate(&device)?;                 // module variables
//!
//! let data = device.alloc_from(&[1u32, 2, 3, 4, 5])?;
//! let kernel = instance.kernel("double")?;
//! kernel.launch(Launch::grid(2).block(4), args![&data, 5u32])?;
//! assert_eq!(data.to_vec()?, [2, 4, 6, 8, 10]);
//! # Ok::<(), ptxlift::Error>(())
//! ```
//!
//! # The way of a program
//! * [`Module::parse`] checks a text. It refuses what NVIDIA's assembler refuses, and shows the words that are wrong.
//! * [`Engine::compile`] makes a [`Program`] of it: native code, or nothing where the [`EngineConfig`] chooses the
//!   interpreter. Both give the same bits; a launch may choose the other.
//! * [`Program::instantiate`] puts the module's variables on a [`Device`]. [`Instance::global`] reaches them.
//! * [`Instance::kernel`] gives a [`Kernel`] to [launch](Kernel::launch) on a grid; [`Instance::function`] a device
//!   function with its types, to be called like a Rust function:
//!
//! ```
//! # use ptxlift::{Device, DeviceConfig, Engine, Module};
//! # let module = Module::parse("
//! #     .version 8.0
//! #     .target sm_80
//! #     .address_size 64
//! #     .func (.reg .u32 d) extract(.reg .u32 a, .reg .u32 b, .reg .u32 c) { bfe.u32 d, a, b, c; ret; }
//! # ")?;
//! # let device = Device::new(DeviceConfig::default())?;
//! # let instance = Engine::default().compile(&module)?.instantiate(&device)?;
//! let extract = instance.function::<(u32, u32, u32), u32>("extract")?;
//! assert_eq!(extract.call((0xdead_beef, 4, 8))?, 0xee);
//! # Ok::<(), ptxlift::Error>(())
//! ```
//!
//! All of these are owned handles: cheap to clone, free to be sent to and shared between threads, and dropped in any
//! order. Code and memory go with the last handle that needs them.
//!
//! # What can go wrong
//! Everything gives an [`Error`], of one of five kinds: the text is wrong; it needs something that is not built yet
//! (told when a kernel that needs it is asked for, so that the others still run); the library was used wrongly; the
//! kernel did wrong ([`Fault`]: what, where in the text, which thread, which address); a bug of ours.
//!
//! # What cannot
//! No text, no argument and no launch makes safe code crash, corrupt memory, or run or grow without end:
//! * A kernel reaches the live buffers and module variables of its device, the shared memory of its block, and local
//!   memory and parameters of its thread. Every access is checked, for native code too.
//! * Launches and calls have a time limit ([`EngineConfig::time_limit`]; 10 seconds if nothing else is said) and end when
//!   a [`Cancel`] says so. Nesting of calls is limited ([`EngineConfig::call_depth`]), and so is the memory of a device
//!   ([`DeviceConfig::memory_limit`]).
//! * Kernels that race leave any of the values that they may leave, and nothing worse.
//!
//! Only [`EngineConfig::unchecked`], calls through [`Function::pointer`], and `Engine::compile_with_clif` (feature `clif`)
//! are `unsafe`.
//!
//! What else is promised, and what a new version may change, is told [in the guide](guide#what-is-promised).
//!
//! # Features
//! | feature | default | what it brings |
//! |---|---|---|
//! | `cli` | yes | the command `ptxlift`, the test formats that it reads, random programs; `clap`, `serde`, `regex` and more |
//!
//! Library users leave it out, and build some forty crates less:
//!
//! ```toml
//! [dependencies]
//! ptxlift = { version = "0.1", default-features = false }
//! ```
//!
//! As a dev-dependency it tests kernels on machines without a GPU: `examples/property_test` of the repository is a crate that
//! does so with `proptest`.
//!
//! # Where it runs
//! On x86-64 and 64-bit Arm hosts; the tests run on x86-64 Linux. Rust 1.95 is the oldest version that the tests run with.
//!
//! # How the source reads
//! Text becomes a syntax tree ([`syntax`]), that becomes the intermediate representation ([`ir`]) in `check`, by the
//! tables of `isa`. `interp` executes it, with what `semantics` says of each operation; `spmd`, `lower` and `jit` make native
//! code of it. `runtime` stands over both. [`diag`] and `machine` (faults, memory) lie at the bottom.

#![cfg_attr(docsrs, feature(doc_cfg))]
// What is left of these in the library says why it never comes to that. Parsing, compiling, launches and calls make an
// internal error of any panic all the same.
#![cfg_attr(
    not(test),
    warn(
        clippy::expect_used,
        clippy::panic,
        clippy::unreachable,
        clippy::unwrap_used
    )
)]

mod check;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
pub mod diag;
pub mod error;
#[cfg(feature = "cli")]
pub mod fuzzing;
pub mod guide;
mod interp;
pub mod ir;
pub mod isa;
mod jit;
mod lower;
mod machine;
mod runtime;
mod semantics;
mod spmd;
pub mod syntax;
#[cfg(feature = "cli")]
pub mod testing;

pub use check::ParseStats;
pub use diag::Diagnostics;
pub use error::{Error, Internal, Missing, Unsupported, Usage};
pub use interp::{Step, Trace};
pub use ir::Reading;
pub use jit::{
    CraneliftSetting, FunctionStats, OptLevel, Stage, Stats as CompileStats, cranelift_settings,
};
pub use machine::{Fault, FaultKind, Nearest};
pub use runtime::*;

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
