//! Wrong texts, names, types, grids and settings: what the errors say.

use crate::calls::FUNCTIONS;
use crate::faults::FAULTS;
use crate::launches::SCALE;
use crate::{ENGINES, device, instance, usage};
use ptxlift::{Arg, Engine, EngineConfig, Error, Launch, Module, Usage, args};

#[test]
fn wrong_names_are_told_with_hints() {
    let instance = instance(FAULTS, EngineConfig::default());
    let text = usage(instance.kernel("trappin")).to_string();
    assert!(text.contains("no kernel `trappin`"), "{text}");
    assert!(text.contains("did you mean `trapping`?"), "{text}");
    let text = usage(instance.kernel("deeper")).to_string();
    assert!(text.contains("it is a device function"), "{text}");
    let text = usage(instance.any_function("load")).to_string();
    assert!(text.contains("it is a kernel"), "{text}");
    let text = usage(instance.global("tabel")).to_string();
    assert!(text.contains("did you mean `table`?"), "{text}");
    let text = usage(instance.kernel("something else altogether")).to_string();
    assert!(
        !text.contains("did you mean") && text.contains("`load`"),
        "{text}"
    );
}

#[test]
fn wrong_arguments_are_told_with_what_the_kernel_wants() {
    let instance = instance(SCALE, EngineConfig::default());
    let kernel = instance.kernel("scale").unwrap();
    let a = instance.device().alloc_zeroed::<u32>(1).unwrap();
    let launch = Launch::grid(1);
    let wrong: [(Vec<Arg>, &str); 5] = [
        (args![&a, &a, 1u32].into(), "3 arguments instead of 4"),
        (
            args![&a, &a, 1u64, 1u32].into(),
            "argument 2 does not fit: `.u32 n` has 4 bytes, `u64` has 8",
        ),
        (
            args![1u32, &a, 1u32, 1u32].into(),
            "argument 0 does not fit: `.u64 from` has 8 bytes, `u32` has 4",
        ),
        (
            args![&a, &a, &a, 1u32].into(),
            "argument 2 does not fit: `.u32 n` has 4 bytes, an address has 8",
        ),
        (
            args![&a, &a, 1u32, 1f32].into(),
            "argument 3 does not fit: `.u32 factor` is not `f32`",
        ),
    ];
    for (args, expected) in wrong {
        let error = usage(kernel.launch(launch.clone(), args));
        assert!(matches!(error, Usage::Arguments { .. }));
        let text = error.to_string();
        assert!(text.contains(expected), "{text}");
        let wants = "kernel `scale` wants (.u64 from, .u64 to, .u32 n, .u32 factor)";
        assert!(text.contains(wants), "{text}");
    }
    let elsewhere = device().alloc_zeroed::<u32>(1).unwrap();
    let error = usage(kernel.launch(launch, args![&a, &elsewhere, 1u32, 1u32]));
    assert!(
        matches!(error, Usage::OtherDevice { argument: 1, .. }),
        "{error}"
    );
}

#[test]
fn functions_of_other_types_are_refused() {
    let instance = instance(FUNCTIONS, EngineConfig::default());
    let text = usage(instance.function::<(u32, u32), u32>("extract")).to_string();
    assert!(text.contains("2 arguments instead of 3"), "{text}");
    assert!(
        text.contains("function `extract` wants (.u32 a, .u32 b, .u32 c)"),
        "{text}"
    );
    let text = usage(instance.function::<(u32, u32, u8), u32>("extract")).to_string();
    assert!(
        text.contains("argument 2 does not fit: `.u32 c` has 4 bytes, `u8` has 1"),
        "{text}"
    );
    let text = usage(instance.function::<(u32, u32, u32), ()>("extract")).to_string();
    assert!(text.contains("0 results instead of 1"), "{text}");
    assert!(text.contains("function `extract` gives (.u32 d)"), "{text}");
    let text = usage(instance.function::<(u32,), f32>("same")).to_string();
    assert!(text.contains("`.f32 a` is not `u32`"), "{text}");
}

#[test]
fn grids_and_blocks_out_of_range() {
    let text = "
.version 7.0
.target sm_70
.address_size 64
.entry any() { ret; }
.entry most() .maxntid 16, 4 { ret; }
.entry exact() .reqntid 32, 2 { ret; }
.entry shared() { .shared .b8 tile[1024]; ret; }
";
    let instance = instance(text, EngineConfig::default());
    let launch =
        |name: &str, launch: Launch| instance.kernel(name).unwrap().launch(launch, args![]);
    for wrong in [
        Launch::grid(0),
        Launch::grid((1, 0)),
        Launch::grid((1, 1, 65536)),
        Launch::grid(0x8000_0000),
        Launch::grid(1).block(0),
        Launch::grid(1).block(1025),
        Launch::grid(1).block((1, 1, 65)),
        Launch::grid(1).block((32, 33)),
    ] {
        let error = usage(launch("any", wrong));
        assert!(matches!(error, Usage::Dimensions { .. }), "{error}");
    }
    launch("any", Launch::grid((2, 2, 2)).block((16, 4, 16))).unwrap();
    launch("most", Launch::grid(1).block(64)).unwrap();
    let text = usage(launch("most", Launch::grid(1).block(65))).to_string();
    assert!(text.contains("`.maxntid` allows 64 threads"), "{text}");
    launch("exact", Launch::grid(1).block((32, 2))).unwrap();
    let text = usage(launch("exact", Launch::grid(1).block(64))).to_string();
    assert!(
        text.contains("`.reqntid` wants a block of (32, 2, 1), not (64, 1, 1)"),
        "{text}"
    );
    launch("shared", Launch::grid(1).shared(226 * 1024)).unwrap();
    let error = usage(launch("shared", Launch::grid(1).shared(226 * 1024 + 1)));
    assert!(
        matches!(error, Usage::SharedMemory { fixed: 1024, .. }),
        "{error}"
    );
}

#[test]
fn clusters_that_do_not_fit() {
    let text = "
.version 9.0
.target sm_90
.address_size 64
.entry any() { ret; }
.entry exact() .reqnctapercluster 2, 2 { ret; }
.entry told() .explicitcluster { ret; }
.entry most() .maxclusterrank 4 { ret; }
.entry open() .reqnctapercluster 0 { ret; }
.entry whole() .reqntid 32 .reqnctapercluster 3 .blocksareclusters { ret; }
.entry huge() .reqnctapercluster 4, 4, 2 { ret; }
.entry overflow() .reqnctapercluster 65536, 65536, 65536 { ret; }
";
    let instance = instance(text, EngineConfig::default());
    let launch =
        |name: &str, launch: Launch| instance.kernel(name).unwrap().launch(launch, args![]);
    let said = |name: &str, wrong: Launch, words: &str| {
        let error = usage(launch(name, wrong));
        assert!(matches!(error, Usage::Dimensions { .. }), "{error}");
        assert!(error.to_string().contains(words), "{error}");
    };
    let blocks = |name, wanted: Launch| launch(name, wanted).unwrap().blocks;
    assert_eq!(blocks("any", Launch::grid((4, 2)).cluster((2, 2))), 8);
    assert_eq!(blocks("any", Launch::grid(16).cluster(16)), 16);
    said("any", Launch::grid(0).cluster(2), "out of range");
    said(
        "any",
        Launch::grid(17).cluster(17),
        "has 17 blocks: from 1 to 16",
    );
    said("any", Launch::grid(4).cluster(0), "has 0 blocks");
    said("any", Launch::grid(4).cluster((2, 0)), "has 0 blocks");
    let odd = "a grid of (3, 1, 1) cannot be divided into clusters of (2, 1, 1)";
    said("any", Launch::grid(3).cluster(2), odd);
    said(
        "any",
        Launch::grid((2, 1)).cluster((1, 2)),
        "cannot be divided",
    );
    assert_eq!(blocks("exact", Launch::grid((2, 4))), 8);
    assert_eq!(blocks("exact", Launch::grid((2, 4)).cluster((2, 2))), 8);
    said("exact", Launch::grid((2, 3)), "cannot be divided");
    let other = "`.reqnctapercluster` wants a cluster of (2, 2, 1), not (4, 1, 1)";
    said("exact", Launch::grid((4, 4)).cluster(4), other);
    said(
        "told",
        Launch::grid(2),
        "`.explicitcluster` wants the launch to say",
    );
    assert_eq!(blocks("told", Launch::grid(2).cluster(1)), 2);
    assert_eq!(blocks("most", Launch::grid(8).cluster(4)), 8);
    let many = "`.maxclusterrank` allows 4 blocks in a cluster, not 8";
    said("most", Launch::grid(8).cluster(8), many);
    assert_eq!(blocks("open", Launch::grid(5)), 5);
    assert_eq!(blocks("open", Launch::grid(6).cluster(2)), 6);
    assert_eq!(blocks("whole", Launch::grid(5).block(32)), 15);
    said("whole", Launch::grid(0x4000_0000).block(32), "out of range");
    said(
        "huge",
        Launch::grid((4, 4, 2)),
        "has 32 blocks: from 1 to 16",
    );
    said("overflow", Launch::grid(1), "from 1 to 16");
}

#[test]
fn what_is_unsupported_is_refused_when_it_is_asked_for() {
    let text = "
.version 7.0
.target sm_70
.address_size 64
.func helper()
{
    .reg .f32 %f<2>;
    movmatrix.sync.aligned.m8n8.trans.b16 %f1, %f0;
    ret;
}
.entry direct()
{
    wgmma.fence.sync.aligned;
    wgmma.wait_group.sync.aligned 0;
    ret;
}
.entry through()
{
    call helper;
    ret;
}
.entry fine() { ret; }
";
    let module = Module::parse(text).unwrap();
    for kind in ENGINES {
        let program = Engine::new(EngineConfig::default().kind(kind))
            .compile(&module)
            .unwrap();
        let instance = program.instantiate(&device()).unwrap();
        instance
            .kernel("fine")
            .unwrap()
            .launch(Launch::grid(1), args![])
            .unwrap();
        let Err(Error::Unsupported(direct)) = instance.kernel("direct") else {
            panic!("supported")
        };
        assert_eq!(direct.wanted_by, "kernel `direct`");
        let lines: Vec<u32> = direct
            .missing
            .iter()
            .map(|m| m.at.as_ref().unwrap().1.line)
            .collect();
        assert_eq!(lines, [13, 14]);
        assert!(direct.to_string().contains("wgmma.fence"), "{direct}");
        let Err(Error::Unsupported(through)) = instance.kernel("through") else {
            panic!("supported")
        };
        assert_eq!(
            through.missing[0].what,
            "movmatrix.sync.aligned.m8n8.trans.b16"
        );
    }
}

#[test]
fn wrong_texts_are_diagnostics() {
    let text = ".version 7.0\n.target sm_70\n.entry k() {\n add.u32 %r1, %r2;\n frob.u32;\n}\n";
    let Err(Error::Diagnostics(diagnostics)) = Module::parse_named("wrong.ptx", text) else {
        panic!("accepted")
    };
    assert!(diagnostics.has_errors());
    let text = diagnostics.to_string();
    assert!(text.contains("wrong.ptx:4"), "{text}");
    assert!(text.contains("wrong.ptx:5"), "{text}");
}

#[test]
fn a_setting_that_cranelift_does_not_know() {
    let module = Module::parse(SCALE).unwrap();
    let engine = Engine::new(EngineConfig::default().setting("no_such_setting", "1"));
    let error = usage(engine.compile(&module));
    assert!(error.to_string().contains("no_such_setting"), "{error}");
}
