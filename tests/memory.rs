//! Code is freed with the last handle. Alone in its process, so that nobody else maps memory.

use ptxlift::{Device, DeviceConfig, Engine, EngineConfig, Launch, Module, args};

/// Stretches of memory that can be executed and belong to no file.
fn executable_mappings() -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    maps.lines()
        .filter(|line| {
            let mut fields = line.split_whitespace().skip(1);
            let executable = fields.next().is_some_and(|flags| flags.contains('x'));
            executable && fields.nth(3).is_none()
        })
        .count()
}

#[test]
#[cfg(target_os = "linux")]
fn native_code_is_unmapped_with_the_last_handle() {
    let text = include_str!("kernels/bitmix/kernel.ptx");
    let module = Module::parse(text).unwrap();
    let device = Device::new(DeviceConfig::default()).unwrap();
    let engine = Engine::new(EngineConfig::default().threads(2));
    let before = executable_mappings();
    let kernels: Vec<_> = (0..20)
        .map(|_| {
            let program = engine.compile(&module).unwrap();
            program
                .instantiate(&device)
                .unwrap()
                .kernel("bitmix")
                .unwrap()
        })
        .collect();
    assert!(executable_mappings() > before);
    let buffer = device.alloc_zeroed::<u32>(1000).unwrap();
    for kernel in &kernels {
        let launch = Launch::grid(4).block(250);
        kernel
            .launch(launch, args![&buffer, &buffer, 1000u32])
            .unwrap();
    }
    drop(kernels);
    assert_eq!(executable_mappings(), before);
}
