//! The guide: how programs are run, part by part. Nothing to import stands here.
//!
//! [Memory](#memory) · [Pointers](#pointers-and-state-spaces) · [Arguments](#arguments) · [Launches](#launches) ·
//! [Functions](#functions) · [Faults](#faults) · [Time](#time-limits-and-cancelling) · [Threads](#threads) ·
//! [Stages](#looking-at-the-stages) · [Settings](#settings) · [Unchecked](#unchecked) · [Tracing](#watching-a-kernel) ·
//! [Promises](#what-is-promised)
//!
//! # Memory
//! A [`Device`] is an account of memory, not of hardware: real host memory, of which kernels reach exactly the live
//! [`Buffer`]s and the module variables of the instances on it. Several devices do not see each other's memory.
//!
//! [`Device::alloc_from`] and [`Device::alloc_zeroed`] give buffers of any plain data
//! ([`Pod`]: integers, floats, arrays, and `#[repr(C)]` structures that derive it). They are read
//! and written at any time; a buffer that is dropped can no longer be reached by kernels, and is freed when the launches
//! end that began before. [`Buffer::read_only`] forbids stores, as `const __restrict__` promises them away.
//!
//! ```
//! use ptxlift::{Device, DeviceConfig};
//!
//! let device = Device::new(DeviceConfig::default().memory_limit(1 << 20))?;
//! let squares = device.alloc_from(&[0u32, 1, 4, 9])?;
//! squares.write_at(2, &[400])?;
//! let mut middle = [0; 2];
//! squares.read_at(1, &mut middle)?;
//! assert_eq!(middle, [1, 400]);
//! assert!(device.alloc_zeroed::<u64>(1 << 20).is_err(), "8 MiB of 1");
//! # Ok::<(), ptxlift::Error>(())
//! ```
//!
//! Module variables (`.global`, `.const`) belong to an [`Instance`]: two instances of a program have
//! variables of their own. [`Instance::global`] reads and writes them.
//!
//! ```
//! # use ptxlift::{Device, DeviceConfig, Engine, Module};
//! let module = Module::parse("
//!     .version 8.0
//!     .target sm_80
//!     .address_size 64
//!     .const .u32 polynomial = 0xedb88320;
//!     .global .u64 counters[3] = {1, 2};
//! ")?;
//! let instance = Engine::default().compile(&module)?.instantiate(&Device::new(DeviceConfig::default())?)?;
//! assert_eq!(instance.global("polynomial")?.read::<u32>()?, [0xedb8_8320]);
//! let counters = instance.global("counters")?;
//! counters.write(&[10u64])?;
//! assert_eq!(counters.read::<u64>()?, [10, 2, 0]);
//! # Ok::<(), ptxlift::Error>(())
//! ```
//!
//! # Pointers and state spaces
//! An [`Address`] is what a kernel sees: [`Buffer::address`], [`Variable::address`], either with an offset, or
//! [`Address::NULL`]. Pointers may be stored in buffers and structures, so that linked data works; whether memory is
//! there, aligned and writable is checked when a kernel uses one, and a pointer never keeps memory alive.
//!
//! | state space | where it lies | as long as |
//! |---|---|---|
//! | `.global` | buffers; variables of an instance. Generic and `.global` addresses are the same | the buffer, the instance |
//! | `.const` | variables of an instance, in a window of their own | the instance |
//! | `.shared` | a window for each block: static variables, then [`Launch::shared`] bytes; zero when the block begins | the block |
//! | `.local` | a window for each thread; frames are zero when a function begins, and so is what `alloca` gives | the call |
//! | `.param` of kernels | a window with the arguments, read-only | the launch |
//!
//! Addresses in windows are offsets that fit 32 bits, as on the GPU; `cvta` makes generic addresses of them, and
//! `isspacep` tells them apart. Modules with `.address_size 32` want a device whose memory lies low:
//! [`DeviceConfig::address_bits`].
//!
//! # Arguments
//! [`args!`] makes an array of [`Arg`]s: scalars, buffers, addresses, structures by value. Each must have
//! the size of its parameter; floats do not fit `.u32`, and signed and unsigned integers fit each other, as in PTX.
//!
//! ```
//! use ptxlift::{Arg, ByValue, Device, DeviceConfig, Engine, Launch, Module, args};
//!
//! let module = Module::parse("
//!     .version 8.0
//!     .target sm_80
//!     .address_size 64
//!     .entry area(.param .align 4 .b8 size[8], .param .u64 out, .param .u16 times)
//!     {
//!         .reg .b32 %r<4>;
//!         .reg .b16 %h;
//!         .reg .b64 %rd;
//!         ld.param.v2.u32 {%r0, %r1}, [size];
//!         ld.param.u16 %h, [times];
//!         cvt.u32.u16 %r2, %h;
//!         mul.lo.u32 %r0, %r0, %r1;
//!         mul.lo.u32 %r0, %r0, %r2;
//!         ld.param.u64 %rd, [out];
//!         st.global.u32 [%rd], %r0;
//!         ret;
//!     }
//! ")?;
//! let device = Device::new(DeviceConfig::default())?;
//! let area = Engine::default().compile(&module)?.instantiate(&device)?.kernel("area")?;
//! let out = device.alloc_zeroed::<u32>(2)?;
//!
//! area.launch(Launch::grid(1), args![ByValue([6u32, 7]), &out, 2u16])?;
//! assert_eq!(out.to_vec()?, [84, 0]);
//!
//! // Types that are known at run time only: any iterator of `Arg`s will do.
//! let size = [3u32, 4];
//! area.launch(Launch::grid(1), [Arg::value(&size), Arg::from(out.address() + 4), Arg::bytes(&[1, 0])])?;
//! assert_eq!(out.to_vec()?, [84, 12]);
//!
//! // What does not fit is told with what is wanted.
//! let error = area.launch(Launch::grid(1), args![&out, 2u16]).unwrap_err();
//! assert!(error.to_string().contains("2 arguments instead of 3"), "{error}");
//! # Ok::<(), ptxlift::Error>(())
//! ```
//!
//! # Launches
//! [`Kernel::launch`] runs a kernel for each thread of a grid, and waits. [`Launch`] says how many blocks of how many
//! threads (numbers, pairs, triples), how much dynamic shared memory, and what differs from the engine's configuration.
//! The limits are CUDA's: 1024 threads a block, 227 KiB of shared memory, `.maxntid` and `.reqntid` of the kernel. The
//! [`Report`] says what it took.
//!
//! Blocks form clusters if the kernel (`.reqnctapercluster`) or the launch ([`Launch::cluster`]) says so: 16 blocks at most,
//! neighbours in the grid. The blocks of a cluster begin together and run on one thread of the host, by turns; addresses of
//! their shared memory have the block's rank from bit 24 on. When a block is over its shared memory is out of bounds for the
//! others (PTX leaves open what they would find): that is a fault, as any access beyond it is.
//!
//! Instructions that are not built yet do not spoil a module: `Module::parse` takes it, its other kernels run, and
//! [`Instance::kernel`] refuses the one that needs them with an [`Unsupported`] that names each.
//! [`FunctionInfo::unsupported`] tells beforehand:
//!
//! ```
//! # use ptxlift::Module;
//! let module = Module::parse("
//!     .version 8.0
//!     .target sm_80
//!     .address_size 64
//!     .entry good() { ret; }
//!     .global .texref picture;
//!     .entry later() { .reg .f32 f<5>; tex.1d.v4.f32.f32 {f1, f2, f3, f4}, [picture, {f0}]; ret; }
//! ")?;
//! for kernel in module.kernels() {
//!     for missing in kernel.unsupported() {
//!         println!("{} cannot run yet: {missing}", kernel.name());
//!     }
//! }
//! # let lacking = |name| module.function(name).unwrap().unsupported().count();
//! # assert_eq!([lacking("good"), lacking("later")], [0, 1]);
//! # Ok::<(), ptxlift::Error>(())
//! ```
//!
//! # Functions
//! Device functions (`.func`) are called like Rust functions, as the only thread of the only block.
//! [`Instance::function`] takes the types of parameters (a tuple) and results and checks them once;
//! [`Instance::any_function`] leaves types to run time. Where a function can neither fault nor run without end
//! nor look at the machine, [`Function::pointer`] gives the bare native code: a nanosecond a call, `unsafe` because
//! the compiler cannot see that a handle must stay alive meanwhile.
//!
//! ```
//! # use ptxlift::{Device, DeviceConfig, Engine, Module};
//! # let module = Module::parse("
//! #     .version 8.0
//! #     .target sm_80
//! #     .address_size 64
//! #     .func (.reg .u64 product) wide(.reg .u32 a, .reg .u32 b) { mul.wide.u32 product, a, b; ret; }
//! #     .func (.reg .u32 q, .reg .u32 r) divide(.reg .u32 a, .reg .u32 b) { div.u32 q, a, b; rem.u32 r, a, b; ret; }
//! # ")?;
//! # let device = Device::new(DeviceConfig::default())?;
//! # let instance = Engine::default().compile(&module)?.instantiate(&device)?;
//! let wide = instance.function::<(u32, u32), u64>("wide")?;
//! assert_eq!(wide.call((u32::MAX, 2))?, 0x1_ffff_fffe);
//! let divide = instance.function::<(u32, u32), (u32, u32)>("divide")?;    // several results: a tuple
//! assert_eq!(divide.call((17, 5))?, (3, 2));
//!
//! if let Some(pointer) = wide.pointer() {
//!     // SAFETY: `wide` lives on.
//!     assert_eq!(unsafe { pointer(3, 4) }, 12);
//! }
//! # Ok::<(), ptxlift::Error>(())
//! ```
//!
//! # Faults
//! A kernel that does wrong ends with [`Error::Fault`]. The [`Fault`] says what
//! ([`FaultKind`]), which instruction (line of the PTX, and of the source if `.loc` tells), which block and
//! thread, which address, and the allocation that lies nearest. Of several threads, the one that would come first in
//! order of blocks and threads is told by both engines. What the kernel stored before stays stored.
//!
//! ```
//! use ptxlift::{Device, DeviceConfig, Engine, Error, FaultKind, Launch, Module, args};
//!
//! let module = Module::parse_named("fill.ptx", "
//!     .version 8.0
//!     .target sm_80
//!     .address_size 64
//!     .entry fill(.param .u64 data)
//!     {
//!         .reg .b32 %r;
//!         .reg .b64 %rd;
//!         mov.u32 %r, %tid.x;
//!         ld.param.u64 %rd, [data];
//!         mad.wide.u32 %rd, %r, 4, %rd;
//!         st.global.u32 [%rd], %r;
//!         ret;
//!     }
//! ")?;
//! let device = Device::new(DeviceConfig::default())?;
//! let fill = Engine::default().compile(&module)?.instantiate(&device)?.kernel("fill")?;
//! let data = device.alloc_zeroed::<u32>(100)?;
//! let Err(Error::Fault(fault)) = fill.launch(Launch::grid(1).block(128), args![&data]) else {
//!     panic!("it stores past the end");
//! };
//! assert_eq!(fault.kind, FaultKind::OutOfBounds);
//! assert_eq!((fault.file.as_str(), fault.position.line), ("fill.ptx", 12));
//! assert_eq!(fault.thread, [100, 0, 0]);
//! assert_eq!(fault.nearest.as_ref().map(|n| n.offset), Some(400));
//! println!("{fault}");        // all of it, over some lines
//! # Ok::<(), ptxlift::Error>(())
//! ```
//!
//! # Time limits and cancelling
//! A launch or call that takes longer than [`EngineConfig::time_limit`] (10 seconds, if nothing else is said) or
//! [`Launch::time_limit`] ends in a fault of kind [`TimeLimit`](FaultKind::TimeLimit). A [`Cancel`] ends launches from
//! another thread. Both work on endless loops and endless recursion too, in both engines; kernels poll at loops and calls.
//! The interpreter can also count: [`EngineConfig::steps`].
//!
//! ```
//! use ptxlift::{Cancel, Device, DeviceConfig, Engine, Error, FaultKind, Launch, Module, args};
//! use std::time::Duration;
//!
//! let module = Module::parse("
//!     .version 8.0
//!     .target sm_80
//!     .address_size 64
//!     .entry forever() { again: bra again; }
//! ")?;
//! let device = Device::new(DeviceConfig::default())?;
//! let forever = Engine::default().compile(&module)?.instantiate(&device)?.kernel("forever")?;
//! let ended = |launch| matches!(
//!     forever.launch(launch, args![]),
//!     Err(Error::Fault(fault)) if fault.kind == FaultKind::TimeLimit
//! );
//!
//! assert!(ended(Launch::grid(1).time_limit(Some(Duration::from_millis(20)))));
//!
//! let cancel = Cancel::new();
//! std::thread::scope(|scope| {
//!     scope.spawn(|| {
//!         std::thread::sleep(Duration::from_millis(20));
//!         cancel.cancel();
//!     });
//!     assert!(ended(Launch::grid(1).time_limit(None).cancel(&cancel)));
//! });
//! # Ok::<(), ptxlift::Error>(())
//! ```
//!
//! # Threads
//! All handles are `Send` and `Sync`. Blocks of a launch are spread over [`EngineConfig::threads`] threads of the host, the
//! calling one among them; several threads may launch on the same device at once. Programs that race, and memory that is
//! read while a kernel writes it, give old or new values and never undefined behaviour. What a kernel that does not race
//! leaves in memory does not depend on how many threads run it.
//!
//! ```
//! # use ptxlift::{Device, DeviceConfig, Engine, Module};
//! # let module = Module::parse("
//! #     .version 8.0
//! #     .target sm_80
//! #     .address_size 64
//! #     .func (.reg .u32 d) twice(.reg .u32 a) { shl.b32 d, a, 1; ret; }
//! # ")?;
//! # let device = Device::new(DeviceConfig::default())?;
//! # let instance = Engine::default().compile(&module)?.instantiate(&device)?;
//! let twice = instance.function::<(u32,), u32>("twice")?;
//! std::thread::scope(|scope| {
//!     for i in 0..4 {
//!         let twice = twice.clone();      // cheap
//!         scope.spawn(move || assert_eq!(twice.call((i,)).unwrap(), 2 * i));
//!     }
//! });
//! # Ok::<(), ptxlift::Error>(())
//! ```
//!
//! # Looking at the stages
//! [`Engine::dump`] shows a kernel or function on its way to native code: what was found out about it
//! ([`Stage::Plan`]), Cranelift's IR as it is made and as the mid-end leaves it, machine instructions, bytes; PTX
//! lines stand between as comments. `examples/explore_clif.rs` does so for one instruction at each level. `ptxlift dump --target`
//! shows the code for other machines.
//!
//! ```
//! # use ptxlift::{Engine, Module, Stage};
//! let module = Module::parse("
//!     .version 8.0
//!     .target sm_80
//!     .address_size 64
//!     .func (.reg .u32 d) rotate(.reg .u32 a) { shf.l.wrap.b32 d, a, a, 7; ret; }
//! ")?;
//! let clif = Engine::default().dump(&module, "rotate", Stage::Clif)?;
//! assert!(clif.contains("rotl"), "{clif}");
//! # Ok::<(), ptxlift::Error>(())
//! ```
//!
//! Cranelift's IR can be edited and put back: `Engine::compile_with_clif` (feature `clif`) makes native code of it, unsafely,
//! to be compared with the interpreter. `ptxlift run --unsafe-clif FILE` does both.
//!
//! The stages before that, [`syntax`], [`isa`] and [`ir`], can be looked at as data;
//! see [what is promised](#what-is-promised) about them.
//!
//! # Settings
//! [`EngineConfig`] holds what an engine does. [`EngineConfig::kind`] chooses native code or the interpreter for
//! everything; [`Launch::engine`], [`Function::engine`] and [`AnyFunction::engine`] choose for one launch or function, so
//! that one can be compared with the other. [`EngineConfig::opt_level`] trades the quality of code against the time to
//! make it; [`EngineConfig::setting`] passes on Cranelift's own settings, those that can do no harm:
//! [`cranelift_settings`] lists them.
//!
//! ```
//! use ptxlift::{Engine, EngineConfig, Module, OptLevel};
//! # let module = Module::parse("
//! #     .version 8.0
//! #     .target sm_80
//! #     .address_size 64
//! #     .func (.reg .u32 d) twice(.reg .u32 a) { shl.b32 d, a, 1; ret; }
//! # ")?;
//!
//! let config = EngineConfig::default()
//!     .opt_level(OptLevel::None)
//!     .setting("regalloc_algorithm", "single_pass");
//! let program = Engine::new(config).compile(&module)?;
//! let stats = program.compile_stats().expect("native code");
//! println!("{} bytes of code in {:.1?}", stats.code_bytes, program.compile_time());
//!
//! let wrong = EngineConfig::default().setting("opt_level", "ludicrous");
//! assert!(matches!(Engine::new(wrong).compile(&module), Err(ptxlift::Error::Usage(_))));
//! # Ok::<(), ptxlift::Error>(())
//! ```
//!
//! # Unchecked
//! [`EngineConfig::unchecked`] leaves out the checks of addresses in native code. It is `unsafe`: whoever calls it vouches
//! for every kernel that the engine will run, with every argument. Kernels whose accesses are hoisted or computed by few
//! instructions gain most; measure before. Time limits, recursion limits and the checks of indirect calls stay.
//!
//! ```
//! use ptxlift::{Engine, EngineConfig};
//! // SAFETY: our kernels have been run with checks, on the largest inputs that they will meet.
//! let engine = Engine::new(unsafe { EngineConfig::default().unchecked() });
//! # drop(engine);
//! ```
//!
//! # Watching a kernel
//! [`Kernel::launch_traced`] runs a kernel in the interpreter and shows each [`Step`] to a closure, or to a [`Trace`]:
//! where in the text, which thread, which registers were read and written, with their values.
//!
//! ```
//! # use ptxlift::{Device, DeviceConfig, Engine, Launch, Module, Step, args};
//! # let module = Module::parse("
//! #     .version 8.0
//! #     .target sm_80
//! #     .address_size 64
//! #     .entry k() { .reg .b32 %r; mov.u32 %r, %tid.x; add.u32 %r, %r, 5; ret; }
//! # ")?;
//! # let device = Device::new(DeviceConfig::default())?;
//! # let kernel = Engine::default().compile(&module)?.instantiate(&device)?.kernel("k")?;
//! let mut written = Vec::new();
//! let mut trace = |step: &Step<'_>| {
//!     println!("{}: {:?}", module.source().slice(step.span), step.writes);
//!     written.extend(step.writes.iter().map(|&(_, value)| value));
//! };
//! kernel.launch_traced(Launch::grid(1).block(2), args![], &mut trace)?;
//! assert_eq!(written, [0, 5, 1, 6]);
//! # Ok::<(), ptxlift::Error>(())
//! ```
//!
//! # What is promised
//! **No panics, no crashes.** Whatever the text, the arguments and the launch, safe functions of this crate return: a
//! result, or an [`Error`]. They do not panic, overflow the stack, abort for want of memory on hostile text, or run
//! on past their limits. Should a panic happen inside checking or compiling, it becomes
//! [`Error::Internal`], which is a bug to be reported. This is tested with hostile texts,
//! programs and launches. Out of its scope are panics of what the caller passes in (a closure that traces), and hosts
//! that give out more memory than they have.
//!
//! **The same bits.** Interpreter and native code give the same results on every host; what PTX leaves open is
//! decided once.
//!
//! **Versions.** Before 1.0 a minor version (0.1 to 0.2) may change anything; patches change nothing that is documented. The
//! names at the crate's root, [`error`] and [`diag`] are meant to stay, and grow only in ways
//! that compile on: types that may grow are `#[non_exhaustive]`, traits are sealed or may be implemented ([`Trace`]).
//! [`syntax`], [`isa`], [`ir`] and the registers of a [`Step`] show
//! the inside, for experiments, and follow it: they may change with every minor version, later ones included, as may the
//! words of messages and the text of dumps. The modules `testing` and `fuzzing` (feature `cli`) are there for this project's
//! own tests and may change at any time. Raising the minimum version of Rust is a minor change.
//!
//! [`Pod`]: bytemuck::Pod

// For the links above.
#[allow(unused_imports)]
use crate::*;
