//! Settings of Cranelift's: none changes what a kernel computes.

use crate::instance;
use ptxlift::{Engine, EngineConfig, EngineKind, Launch, Module, args, cranelift_settings};

const SHA256: &str = include_str!("../kernels/sha256/kernel.ptx");

#[test]
fn no_setting_changes_the_result() {
    const N: u32 = 40;
    let messages: Vec<u32> = (0..16 * N).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
    let digests = |config: EngineConfig| {
        let instance = instance(SHA256, config.threads(1));
        let device = instance.device();
        let input = device.alloc_from(&messages).unwrap();
        let output = device.alloc_zeroed::<u32>(8 * N as usize).unwrap();
        let kernel = instance.kernel("sha256").unwrap();
        let args = args![&input, &output, N];
        kernel.launch(Launch::grid(1).block(64), args).unwrap();
        output.to_vec().unwrap()
    };
    let expected = digests(EngineConfig::default().kind(EngineKind::Interpreter));
    let mut tried = 0;
    for setting in cranelift_settings() {
        for value in &setting.values {
            let few = setting.values.len() <= 3 || ["0", "5", "12"].contains(&value.as_str());
            if few && *value != setting.default {
                let config = EngineConfig::default().setting(setting.name, value);
                assert_eq!(digests(config), expected, "{}={value}", setting.name);
                tried += 1;
            }
        }
    }
    assert!(tried > 12, "{tried}");
}

#[test]
fn settings_that_are_fixed_are_refused_with_the_reason() {
    let module = Module::parse(".version 8.0\n.target sm_80\n.entry k() { ret; }\n").unwrap();
    let mut refused = 0;
    for setting in cranelift_settings() {
        let Some(why) = setting.fixed else { continue };
        let config = EngineConfig::default().setting(setting.name, "true");
        let error = Engine::new(config).compile(&module).unwrap_err();
        let ptxlift::Error::Usage(_) = error else {
            panic!("{}: {error}", setting.name)
        };
        assert!(error.to_string().contains(why), "{error}");
        refused += 1;
    }
    assert!(refused > 12, "{refused}");
}
