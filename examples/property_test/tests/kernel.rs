//! Properties of the kernel, on the CPU.

use morton::{BLOCK, PTX};
use proptest::prelude::*;
use ptxlift::{
    Device, DeviceConfig, Engine, EngineKind, Error, FaultKind, Instance, Launch, Module, args,
};
use std::sync::LazyLock;

/// Compiled once for all cases.
static INSTANCE: LazyLock<Instance> = LazyLock::new(|| {
    let module = Module::parse_named("kernel.ptx", PTX).unwrap_or_else(|e| panic!("{e}"));
    let device = Device::new(DeviceConfig::default()).unwrap();
    let program = Engine::default().compile(&module).unwrap();
    program.instantiate(&device).unwrap()
});

const ENGINES: [EngineKind; 2] = [EngineKind::Native, EngineKind::Interpreter];

/// The definition, a bit at a time.
fn morton(x: u32, y: u32) -> u32 {
    (0..16).fold(0, |code, bit| {
        code | ((x >> bit & 1) << (2 * bit)) | ((y >> bit & 1) << (2 * bit + 1))
    })
}

proptest! {
    #[test]
    fn codes_are_as_defined(x: u16, y: u16) {
        let encode = INSTANCE.function::<(u32, u32), u32>("encode").unwrap();
        prop_assert_eq!(encode.call((x.into(), y.into())).unwrap(), morton(x.into(), y.into()));
    }

    #[test]
    fn decoding_undoes_encoding(code: u32) {
        let encode = INSTANCE.function::<(u32, u32), u32>("encode").unwrap();
        let decode = INSTANCE.function::<(u32,), (u32, u32)>("decode").unwrap();
        let point = decode.call((code,)).unwrap();
        prop_assert_eq!(encode.call(point).unwrap(), code);
    }

    #[test]
    fn the_kernel_encodes_all_points_and_no_more(
        points in prop::collection::vec(any::<[u16; 2]>(), 1..500),
        blocks_too_many in 0u32..3,
    ) {
        let points: Vec<[u32; 2]> = points.iter().map(|p| p.map(u32::from)).collect();
        let n = points.len() as u32;
        let device = INSTANCE.device();
        let input = device.alloc_from(&points).unwrap().read_only();
        // The buffer ends where the codes do: a thread too many would fault.
        let codes = device.alloc_zeroed::<u32>(points.len()).unwrap();
        for engine in ENGINES {
            codes.write(&vec![0xdead_beef; points.len()]).unwrap();
            let launch = Launch::grid(n.div_ceil(BLOCK) + blocks_too_many).block(BLOCK).engine(engine);
            INSTANCE.kernel("encode_all").unwrap().launch(launch, args![&input, &codes, n]).unwrap();
            let expected: Vec<u32> = points.iter().map(|&[x, y]| morton(x, y)).collect();
            prop_assert_eq!(codes.to_vec().unwrap(), expected);
        }
    }
}

#[test]
fn a_length_that_is_too_large_is_found_out() {
    let device = INSTANCE.device();
    let points = device.alloc_zeroed::<[u32; 2]>(100).unwrap().read_only();
    let codes = device.alloc_zeroed::<u32>(100).unwrap();
    for engine in ENGINES {
        let kernel = INSTANCE.kernel("encode_all").unwrap();
        let launch = Launch::grid(1).block(BLOCK).engine(engine);
        let Err(Error::Fault(fault)) = kernel.launch(launch, args![&points, &codes, 101u32]) else {
            panic!("{engine:?} reads past the end");
        };
        assert_eq!(fault.kind, FaultKind::OutOfBounds);
        assert_eq!(fault.instruction, "ld.global.v2.u32 {%r1, %r2}, [%rd0]");
        assert_eq!(fault.thread, [100, 0, 0]);
    }
}
