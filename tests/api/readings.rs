//! Modules by the text of the PTX ISA, and as NVIDIA's tools read them.

use crate::{ENGINES, device};
use ptxlift::{Engine, EngineConfig, Module, ModuleConfig, Reading};

/// `tests/vectors/README.md` has both results of each.
const TEXT: &str = "
.version 8.7
.target sm_90
.address_size 64
.func (.reg .u32 d) sum(.reg .u32 a, .reg .u32 b) { vadd.u32.u32.u32.sat d, a, b; ret; }
.func (.reg .u64 d) field(.reg .u64 a, .reg .u32 b, .reg .u32 c) { bfe.u64 d, a, b, c; ret; }
.func (.reg .u32 d) place(.reg .u32 a, .reg .u32 b, .reg .s32 c) { fns.b32 d, a, b, c; ret; }
.func (.reg .u32 d) half(.reg .b32 a)
{
    .reg .b16 h;
    cvt.rm.ftz.f16.f32 h, a;
    cvt.u32.u16 d, h;
    ret;
}
";

#[test]
fn the_same_text_in_two_ways() {
    let read = |reading| {
        let config = ModuleConfig::default().name("both.ptx").reading(reading);
        Module::parse_with(TEXT, config).unwrap_or_else(|e| panic!("{e}"))
    };
    assert_eq!(Module::parse(TEXT).unwrap().reading(), Reading::Text);
    for (reading, sum, field, place, half) in [
        (Reading::Text, 0xffff_ffff, 0x007e_babe, u32::MAX, 0x8000),
        (Reading::Nvidia, 0x7e80_7e7f, 0, 0, 0x8001),
    ] {
        let module = read(reading);
        assert_eq!(module.reading(), reading);
        assert_eq!(module.source().name(), "both.ptx");
        for kind in ENGINES {
            let engine = Engine::new(EngineConfig::default().kind(kind));
            let program = engine.compile(&module).unwrap();
            let instance = program.instantiate(&device()).unwrap();
            let function = instance.function::<(u32, u32), u32>("sum").unwrap();
            assert_eq!(function.call((0x7f7f_7f7f, 0xff00_ff00)).unwrap(), sum);
            let function = instance.function::<(u64, u32, u32), u64>("field").unwrap();
            let found = function.call((0xdead_beef_cafe_babe, 0x100, 0x17));
            assert_eq!(found.unwrap(), field);
            let function = instance.function::<(u32, u32, i32), u32>("place").unwrap();
            assert_eq!(function.call((0x100, 0x1a, i32::MIN)).unwrap(), place);
            let function = instance.function::<(u32,), u32>("half").unwrap();
            assert_eq!(function.call((0x8000_0001,)).unwrap(), half);
        }
    }
}
