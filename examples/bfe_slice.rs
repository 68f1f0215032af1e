//! Calls a PTX device function natively, once for each element of a slice.
//!
//!     cargo run --release --example bfe_slice

use ptxlift::{Device, DeviceConfig, Engine, Error, Module};
use std::time::Instant;

const TEXT: &str = "
.version 7.0
.target sm_70
.address_size 64

.visible .func (.param .u32 field) extract(.param .u32 word, .param .u32 position, .param .u32 length)
{
    .reg .b32 %r<5>;
    ld.param.u32 %r1, [word];
    ld.param.u32 %r2, [position];
    ld.param.u32 %r3, [length];
    bfe.u32 %r4, %r1, %r2, %r3;
    st.param.u32 [field], %r4;
    ret;
}
";

fn main() -> Result<(), Error> {
    let module = Module::parse_named("extract.ptx", TEXT)?;
    let program = Engine::default().compile(&module)?;
    let device = Device::new(DeviceConfig::default())?;
    let instance = program.instantiate(&device)?;
    let extract = instance.function::<(u32, u32, u32), u32>("extract")?;

    let words: Vec<u32> = (0..1_000_000u32)
        .map(|i| i.wrapping_mul(0x9e37_79b9))
        .collect();

    let start = Instant::now();
    let fields: Vec<u32> = words
        .iter()
        .map(|&word| extract.call((word, 4, 8)))
        .collect::<Result<_, _>>()?;
    let checked = start.elapsed();
    for (word, field) in words.iter().zip(&fields) {
        assert_eq!(*field, (word >> 4) & 0xff);
    }
    println!(
        "call:    {} elements, {:.1} ns each",
        words.len(),
        nanoseconds(checked, words.len())
    );

    // `bfe` cannot go wrong, so that the bare native code is to be had, too.
    if let Some(pointer) = extract.pointer() {
        let start = Instant::now();
        // SAFETY: `extract` keeps the code alive.
        let again: Vec<u32> = words
            .iter()
            .map(|&word| unsafe { pointer(word, 4, 8) })
            .collect();
        let bare = start.elapsed();
        assert_eq!(again, fields);
        println!(
            "pointer: {} elements, {:.1} ns each",
            words.len(),
            nanoseconds(bare, words.len())
        );
    }
    println!("{:#010x} -> {:#04x}", words[1], fields[1]);
    Ok(())
}

fn nanoseconds(time: std::time::Duration, elements: usize) -> f64 {
    time.as_secs_f64() * 1e9 / elements as f64
}
