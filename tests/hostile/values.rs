//! The library's public functions with values that mean harm: an answer or an error comes, never a panic, and never an
//! error that calls itself a bug.

use crate::case::HEADER;
use ptxlift::diag::{Diagnostic, Diagnostics, Source, Span};
use ptxlift::{
    Address, Arg, ByValue, Cancel, Device, DeviceConfig, Engine, EngineConfig, EngineKind, Error,
    Instance, Launch, Module, OptLevel, Program, Reading, Stage, Usage, args,
};
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const TEXT: &str = "
.global .u32 table[4] = {1, 2, 3, 4};
.const .b8 fixed[3] = {1, 2, 3};
.extern .shared .b8 tile[];
.func (.reg .b32 r) add(.reg .b32 a, .reg .b32 b) { add.u32 r, a, b; ret; }
.func (.param .align 8 .b8 r[16]) swap(.param .align 8 .b8 a[16])
{
    .reg .b64 %d<2>;
    ld.param.v2.b64 {%d0, %d1}, [a];
    st.param.v2.b64 [r], {%d1, %d0};
    ret;
}
.func (.reg .b32 r) read(.reg .b64 p) { ld.u32 r, [p]; ret; }
.func spin() { L: bra L; }
.entry k(.param .u64 p, .param .u32 n, .param .align 8 .b8 s[16])
{
    .reg .pred %q; .reg .b32 %n; .reg .b64 %p;
    ld.param.u64 %p, [p]; ld.param.u32 %n, [n];
    setp.eq.u32 %q, %n, 0; @%q ret;
    st.global.u32 [%p], %n;
    ret;
}
.entry lacks() { wgmma.fence.sync.aligned; ret; }
";

/// Panics, wherever, that were not in these tests.
static PANICS: AtomicUsize = AtomicUsize::new(0);

fn count_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let file = info.location().map_or("", |l| l.file());
            if !file.starts_with("tests") {
                PANICS.fetch_add(1, Ordering::SeqCst);
            }
            before(info);
        }));
    });
}

/// Nothing is a bug; everything can be shown.
fn tame<T>(result: Result<T, Error>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(error @ Error::Internal(_)) => panic!("{error}"),
        Err(error) => {
            assert!(!error.to_string().is_empty());
            assert!(!format!("{error:?}").is_empty());
            None
        }
    }
}

#[track_caller]
fn usage<T>(result: Result<T, Error>) -> Usage {
    match result {
        Err(Error::Usage(usage)) => *usage,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it is allowed"),
    }
}

fn module() -> Module {
    Module::parse(format!("{HEADER}{TEXT}")).expect("a module that is right")
}

fn instance() -> Instance {
    let device = Device::new(DeviceConfig::default()).expect("a device");
    let program = Engine::default().compile(&module()).expect("a program");
    program
        .instantiate(&device)
        .expect("room for its variables")
}

pub const TESTS: [(&str, fn()); 11] = [
    ("values: names", names),
    ("values: devices and buffers", devices),
    ("values: variables", variables),
    ("values: configurations of engines", engines),
    ("values: arguments", arguments),
    ("values: extents", extents),
    ("values: functions", functions),
    ("values: limits and cancellation", limits),
    ("values: places and diagnostics", places),
    ("values: tables of the instruction set", isa),
    ("values: test formats", formats),
];

/// The body of the process that runs one of [`TESTS`]; panics if anything is wrong.
pub fn run(test: fn()) {
    count_panics();
    test();
    assert_eq!(PANICS.load(Ordering::SeqCst), 0, "panics in the library");
}

/// Words that are no names.
fn words() -> Vec<String> {
    [
        "",
        " ",
        "\0",
        "k ",
        "K",
        ".entry",
        "%r",
        "日本",
        "\u{202e}k",
        "_",
    ]
    .map(str::to_string)
    .into_iter()
    .chain(["k".repeat(1 << 20), "é".repeat(1 << 20)])
    .collect()
}

fn names() {
    let (instance, module) = (instance(), module());
    let engine = Engine::default();
    for word in words() {
        let wrong = |usage: Usage| {
            assert!(matches!(usage, Usage::NoSuchName { .. }), "{usage}");
        };
        wrong(usage(instance.kernel(&word)));
        wrong(usage(instance.any_function(&word)));
        wrong(usage(instance.function::<(), ()>(&word)));
        wrong(usage(instance.global(&word)));
        for stage in [Stage::Plan, Stage::Clif, Stage::Vcode, Stage::Asm] {
            wrong(usage(engine.dump(&module, &word, stage)));
        }
        assert!(module.function(&word).is_none());
        assert!(matches!(
            Module::parse_named(word.clone(), word),
            Err(Error::Diagnostics(_))
        ));
    }
    // Names of another kind.
    usage(instance.kernel("add"));
    usage(instance.any_function("k"));
    usage(instance.global("tile"));
    usage(instance.global("k"));
    for stage in [Stage::Plan, Stage::Clif, Stage::Vcode, Stage::Asm] {
        for name in ["lacks", "add", "k"] {
            tame(engine.dump(&module, name, stage));
        }
    }
    for function in module.functions() {
        assert!(
            !format!(
                "{function:?}{:?}{:?}",
                function.parameters(),
                function.results()
            )
            .is_empty()
        );
        assert!(function.line() > 3);
    }
}

fn devices() {
    for bits in [0, 1, 31, 33, 63, 65, u32::MAX] {
        let config = DeviceConfig::default().address_bits(bits);
        assert!(matches!(
            usage(Device::new(config)),
            Usage::Configuration { .. }
        ));
    }
    for (bits, limit) in [(64, 0), (64, 1), (64, u64::MAX), (32, u64::MAX), (32, 0)] {
        let config = DeviceConfig::default()
            .memory_limit(limit)
            .address_bits(bits);
        let Some(device) = tame(Device::new(config)) else {
            continue;
        };
        for elements in [usize::MAX, usize::MAX / 8, isize::MAX as usize, 1 << 56] {
            usage(device.alloc_zeroed::<u64>(elements));
            usage(device.alloc_zeroed::<[u64; 4096]>(elements));
        }
        tame(device.alloc_zeroed::<u8>(0));
        tame(device.alloc_from::<u8>(&[]));
        assert_eq!(device.memory_used(), 0);
    }
    let device = Device::new(DeviceConfig::default()).expect("a device");
    let usual = usage(device.alloc_zeroed::<u8>(1 << 40)).to_string();
    assert_eq!(
        usual,
        "no room for 1099511627776 bytes of device memory: 0 of 8589934592 bytes are in use"
    );
    let buffer = device.alloc_from(&[1u32, 2, 3]).expect("room");
    for first in [1, 3, 4, usize::MAX / 4, usize::MAX] {
        let length = |usage| assert!(matches!(usage, Usage::Length { .. }), "{usage}");
        length(usage(buffer.read_at(first, &mut [0; 3])));
        length(usage(buffer.write_at(first, &[0; 3])));
    }
    usage(buffer.read_at(usize::MAX, &mut []));
    usage(buffer.write(&[0; 4]));
    buffer.write_at(3, &[]).expect("nothing fits everywhere");
    let nothing = device.alloc_zeroed::<u64>(0).expect("room for nothing");
    assert!(nothing.is_empty() && nothing.to_vec().expect("nothing").is_empty());
    assert_eq!(buffer.to_vec().expect("three words"), [1, 2, 3]);
}

fn variables() {
    let instance = instance();
    let table = instance.global("table").expect("a variable");
    usage(table.write(&[0u32; 5]));
    usage(table.write(&[0u8; 17]));
    table.write::<u32>(&[]).expect("nothing fits");
    assert_eq!(table.read::<[u8; 5]>().expect("three wholes").len(), 3);
    assert!(table.read::<[u64; 64]>().expect("no whole").is_empty());
    assert_eq!(table.read::<u32>().expect("its words"), [1, 2, 3, 4]);
    let fixed = instance.global("fixed").expect("a variable");
    assert!(fixed.read::<u32>().expect("no whole").is_empty());
    usage(fixed.write(&[1u32]));
    fixed.write(&[7u8]).expect("the host may");
    assert_eq!(fixed.read::<u8>().expect("its bytes"), [7, 2, 3]);
    // Memory of which there is not enough.
    let large = Module::parse(format!("{HEADER}.global .b8 g[68719476736];")).expect("64 GiB");
    let program = Engine::default().compile(&large).expect("a program");
    let device = Device::new(DeviceConfig::default()).expect("a device");
    assert!(matches!(
        usage(program.instantiate(&device)),
        Usage::OutOfMemory { .. }
    ));
    let wanting =
        Module::parse(".version 8.0\n.target sm_50\n.address_size 32\n.entry k() { ret; }");
    let program = tame(wanting.and_then(|m| Engine::default().compile(&m)));
    if let Some(program) = program {
        assert!(matches!(
            usage(program.instantiate(&device)),
            Usage::Configuration { .. }
        ));
    }
}

/// Runs everything that a program has, as far as it lets itself be run.
fn try_all(program: &Program) {
    let device = Device::new(DeviceConfig::default()).expect("a device");
    let Some(instance) = tame(program.instantiate(&device)) else {
        return;
    };
    let buffer = device.alloc_zeroed::<u32>(8).expect("room");
    let launch = Launch::grid(3).block(3);
    if let Some(kernel) = tame(instance.kernel("k")) {
        tame(kernel.launch(launch, args![&buffer, 1u32, ByValue([0u64; 2])]));
    }
    if let Some(add) = tame(instance.function::<(u32, u32), u32>("add"))
        && let Some(sum) = tame(add.call((u32::MAX, 2)))
    {
        assert_eq!(sum, 1);
    }
    if let Some(read) = tame(instance.function::<(Address,), u32>("read")) {
        for address in [0, 1, 3, 1 << 47, 1 << 63, u64::MAX, u64::MAX - 3] {
            assert!(tame(read.call((Address(address),))).is_none());
        }
    }
}

fn engines() {
    let module = module();
    let limit = Some(Duration::from_secs(5));
    let base = || EngineConfig::default().time_limit(limit);
    for config in [
        base().threads(usize::MAX).threads(1),
        base().threads(1024),
        base().steps(0),
        base().steps(1).kind(EngineKind::Interpreter),
        base().call_depth(0),
        base().call_depth(0).kind(EngineKind::Interpreter),
        base().call_depth(u32::MAX),
        base().local_bytes(0),
        base().local_bytes(u32::MAX),
        base().local_bytes(u32::MAX).kind(EngineKind::Interpreter),
        base().time_limit(Some(Duration::ZERO)),
        base().time_limit(Some(Duration::MAX)),
        base().time_limit(None),
        base().opt_level(OptLevel::None).verify(true),
        base().opt_level(OptLevel::SpeedAndSize).verify(true),
    ] {
        let program = tame(Engine::new(config).compile(&module)).expect("a program");
        try_all(&program);
    }
    // Whatever Cranelift knows, and what it does not.
    let values = [
        "",
        "true",
        "false",
        "0",
        "1",
        "-1",
        "18446744073709551616",
        "none",
        "speed",
        "é",
    ];
    let settings = [
        "",
        "é",
        "opt_level",
        "is_pic",
        "enable_verifier",
        "enable_probestack",
        "probestack_strategy",
        "probestack_size_log2",
        "unwind_info",
        "preserve_frame_pointers",
        "regalloc_algorithm",
        "regalloc_checker",
        "libcall_call_conv",
        "tls_model",
        "stack_switch_model",
        "enable_pinned_reg",
        "enable_nan_canonicalization",
        "machine_code_cfg_info",
        "enable_llvm_abi_extensions",
        "enable_heap_access_spectre_mitigation",
        "enable_table_access_spectre_mitigation",
        "enable_incremental_compilation_cache_checks",
        "bb_padding_log2_minus_one",
        "log2_min_function_alignment",
        "enable_alias_analysis",
        "has_avx512f",
        "has_sse41",
        "has_bmi1",
        "use_colocated_libcalls",
        "enable_float",
        "enable_atomics",
        "enable_jump_tables",
        "enable_safepoints",
    ];
    for name in settings {
        for value in values {
            let engine = Engine::new(base().setting(name, value));
            if let Some(program) = tame(engine.compile(&module)) {
                try_all(&program);
            }
        }
    }
}

fn arguments() {
    let instance = instance();
    let device = instance.device().clone();
    let kernel = instance.kernel("k").expect("a kernel");
    let buffer = device.alloc_zeroed::<u32>(1).expect("room");
    let launch = || Launch::grid(1);
    let wrong = |args: Vec<Arg>| {
        let usage = usage(kernel.launch(launch(), args));
        assert!(matches!(usage, Usage::Arguments { .. }), "{usage}");
    };
    wrong(vec![]);
    wrong(vec![Arg::bytes(&[])]);
    wrong(vec![Arg::from(1u32); 100_000]);
    wrong(vec![Arg::bytes(&[]), Arg::bytes(&[]), Arg::bytes(&[])]);
    wrong(vec![
        Arg::from(&buffer),
        Arg::bytes(&[1; 3]),
        Arg::bytes(&[0; 16]),
    ]);
    wrong(vec![
        Arg::from(&buffer),
        Arg::from(1u32),
        Arg::bytes(&vec![0; 1 << 24]),
    ]);
    wrong(vec![
        Arg::from(1u64),
        Arg::from(&buffer),
        Arg::bytes(&[0; 16]),
    ]);
    wrong(vec![
        Arg::value(&[0u8; 8]),
        Arg::from(1f32),
        Arg::value(&[0u64; 2]),
    ]);
    // Pointers to anywhere are a fault of the kernel's.
    for address in [
        0u64,
        1,
        4,
        1 << 47,
        1 << 63,
        u64::MAX,
        buffer.address().0 + 4,
    ] {
        for kind in [EngineKind::Native, EngineKind::Interpreter] {
            let args = args![Address(address), 7u32, ByValue([0u64; 2])];
            let done = kernel.launch(launch().engine(kind), args);
            assert!(matches!(done, Err(Error::Fault(_))), "{address:#x}");
        }
    }
    // Memory that is gone meanwhile is nobody's.
    let address = buffer.address();
    drop(buffer);
    let done = kernel.launch(launch(), args![address, 7u32, ByValue([0u64; 2])]);
    assert!(matches!(done, Err(Error::Fault(_))));
    let other = Device::new(DeviceConfig::default()).expect("a device");
    let elsewhere = other.alloc_zeroed::<u32>(1).expect("room");
    let error = usage(kernel.launch(launch(), args![&elsewhere, 7u32, ByValue([0u64; 2])]));
    assert!(matches!(error, Usage::OtherDevice { .. }));
}

fn extents() {
    let kernel = instance().kernel("k").expect("a kernel");
    let numbers = [
        0,
        1,
        64,
        65,
        1024,
        1025,
        65535,
        65536,
        i32::MAX as u32,
        u32::MAX,
    ];
    let mut allowed = 0;
    for x in numbers {
        for y in numbers {
            for z in numbers {
                let args = || args![Address::NULL, 0u32, ByValue([0u64; 2])];
                let limit = Some(Duration::from_millis(1));
                let grid = Launch::grid((x, y, z)).time_limit(limit);
                let block = Launch::grid(1).block((x, y, z)).time_limit(limit);
                tame(kernel.launch(grid, args()));
                allowed += usize::from(tame(kernel.launch(block, args())).is_some());
                for shared in [x, y, z] {
                    let launch = Launch::grid(1).shared(shared).time_limit(limit);
                    tame(kernel.launch(launch, args()));
                }
            }
        }
    }
    // One thread, 64, and 1024 in some shapes.
    assert!((1..20).contains(&allowed), "{allowed}");
}

fn functions() {
    let instance = instance();
    for name in ["add", "swap", "read", "spin"] {
        let any = instance.any_function(name).expect("a function");
        for args in [
            vec![],
            vec![Arg::bytes(&[])],
            vec![Arg::from(0u8); 3],
            vec![Arg::bytes(&vec![0; 1 << 20])],
            vec![Arg::from(1u32), Arg::from(2u32), Arg::from(3u32)],
        ] {
            if name != "spin" || !args.is_empty() {
                usage(any.call(args));
            }
        }
    }
    let swap = instance.any_function("swap").expect("a function");
    let swapped = swap.call([Arg::value(&[1u64, 2])]).expect("it swaps");
    assert_eq!(swapped, [[2u64, 1].map(u64::to_le_bytes).concat()]);
    usage(instance.function::<(u8, u8), u8>("add"));
    usage(instance.function::<(u32, u32), (u32, u32)>("add"));
    usage(instance.function::<(ByValue<[u64; 2]>,), ()>("swap"));
    tame(
        instance
            .kernel("lacks")
            .and_then(|k| k.launch(Launch::grid(1), args![])),
    );
}

fn limits() {
    let instance = instance();
    let spin = instance.function::<(), ()>("spin").expect("a function");
    for kind in [EngineKind::Native, EngineKind::Interpreter] {
        for limit in [
            Duration::ZERO,
            Duration::from_nanos(1),
            Duration::from_millis(5),
        ] {
            let done = spin.clone().engine(kind).time_limit(Some(limit)).call(());
            assert!(matches!(done, Err(Error::Fault(_))));
        }
        let cancel = Cancel::new();
        cancel.cancel();
        cancel.cancel();
        for limit in [None, Some(Duration::ZERO), Some(Duration::MAX)] {
            let spin = spin.clone().engine(kind).time_limit(limit).cancel(&cancel);
            assert!(matches!(spin.call(()), Err(Error::Fault(_))));
        }
    }
}

fn places() {
    let texts = [
        "",
        "a",
        "\n",
        "é",
        "\u{feff}",
        "a\r\nb\r",
        "\t\t\n\n\u{1f980}\u{200d}\n",
    ];
    let offsets = [0, 1, 2, 3, 4, 5, 9, 100, i32::MAX as u32, u32::MAX];
    for text in texts {
        let source = std::sync::Arc::new(Source::new("", text));
        let mut list = Vec::new();
        for start in offsets {
            source.line(start);
            source.position(start);
            source.line_text(start);
            for end in offsets {
                let span = Span::new(start, end);
                source.slice(span);
                list.push(
                    Diagnostic::error(span, "\0\n\t")
                        .label("\x1b[2J")
                        .related(span, "")
                        .hint("\r"),
                );
            }
        }
        let all = Diagnostics::new(source, list);
        assert_eq!(all.len(), 100);
        for colour in [false, true] {
            assert!(!all.render(colour).contains("\x1b[2J"));
        }
    }
}

fn isa() {
    for word in words() {
        ptxlift::isa::names::find(&word);
        ptxlift::isa::special::find(&word);
        assert!(ptxlift::isa::select(&word, &[]).is_err());
        let many: Vec<&str> = std::iter::repeat_n(&*word, 1000).collect();
        assert!(ptxlift::isa::select("add", &many).is_err());
        ptxlift::isa::lacking_family(&word, &many);
        assert_eq!(ptxlift::isa::forms(&word).count(), 0);
    }
}

fn formats() {
    use ptxlift::testing::contents::{ElemTy, Init};
    use ptxlift::testing::launch::Arg;
    use ptxlift::testing::launch_toml::LaunchFile;
    use ptxlift::testing::tolerance::Tolerance;
    use ptxlift::testing::vectors::{table, template};
    use ptxlift::testing::{FormatError, launch_lines, run_lines};
    let mut refuse = |_: &str| Err(FormatError::new("no files here"));
    let hostile = [
        "",
        ":",
        "[",
        "]",
        "[]",
        "u32",
        "u32:",
        "u32[",
        "u32[]:",
        "u32[1]",
        "u32[-1]:zeros",
        "u32[1]:@",
        "u32[18446744073709551615]:zeros",
        "u64[2305843009213693952]:zeros",
        "bytes:",
        "bytes:0",
        "bytes:é",
        "f32:nan",
        "f32:inf",
        "f32:0fé",
        "f32:0f",
        "i8:-129",
        "u32:0x",
        "u32:0b",
        "u32:-",
        "u32:--1",
        "u32:0é",
        "u64:340282366920938463463374607431768211456",
        "i64:-170141183460469231731687303715884105728",
        "u32[1]:splitmix64",
        "u32[1]:splitmix64 seed=-1",
        "u32[1]:splitmix64 seed=1 mod=-1",
        "u32[1]:fill",
        "u32[4]:iota start=170141183460469231731687303715884105727 step=170141183460469231731687303715884105727",
        "u32[4]:splitmix64 seed=1 mod=18446744073709551615 add=170141183460469231731687303715884105727",
        "f32[4]:splitmix64 seed=1 lo=nan hi=inf",
        "f32[4]:iota start=1e400 step=nan",
        "u32[1]:=",
        "u32[1]:a=b",
    ];
    for text in hostile {
        let _ = Arg::parse(usize::MAX, text, &mut refuse);
        let _ = ElemTy::parse(text);
        for ty in [
            ElemTy::U8,
            ElemTy::I64,
            ElemTy::F16,
            ElemTy::Bf16,
            ElemTy::F64,
        ] {
            let _ = ty.parse_value(text);
            let _ = Tolerance::parse(text, ty);
            if let Ok(init) = Init::parse(text.split_once(':').map_or("", |(_, init)| init), ty) {
                assert!(init.generate(ty, usize::MAX).is_err());
                let _ = init.generate(ty, 3);
            }
            ty.show(&[]);
            ty.show_hex(&[1]);
        }
        let _ = LaunchFile::parse(text, &mut refuse);
        let _ = run_lines::parse(&format!(".func f() {{ ret; }}\n// run: {text}"));
        let _ = launch_lines::parse(&format!("//@ entry k\n//@ {text}\n//@ arg {text}"));
        let _ = table::parse(
            "t",
            &format!("{text}\t{text}\t{text}\t{text}"),
            Reading::Text,
        );
        let _ = launch_lines::reading(&format!("//@ reading {text}"));
        let _ = template::Template::parse(text);
    }
}
