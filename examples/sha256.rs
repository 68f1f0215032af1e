//! Hashes many messages with a CUDA kernel, and compares with the `sha2` crate.
//!
//!     cargo run --release --example sha256
//!
//! The kernel compresses one 64-byte block a thread, from the standard initial state. Messages of up to 55 bytes are one
//! block when they are padded as the standard says.

use ptxlift::{Device, DeviceConfig, Engine, Error, Launch, Module, args};
use sha2::{Digest, Sha256};

const TEXT: &str = include_str!("../tests/kernels/sha256/kernel.ptx");

fn main() -> Result<(), Error> {
    let messages: Vec<String> = (0..100_000)
        .map(|i| format!("message number {i}"))
        .collect();
    let blocks: Vec<[u8; 64]> = messages.iter().map(|m| pad(m.as_bytes())).collect();

    let module = Module::parse_named("sha256.ptx", TEXT)?;
    let program = Engine::default().compile(&module)?;
    let device = Device::new(DeviceConfig::default())?;
    let instance = program.instantiate(&device)?;

    let n = messages.len() as u32;
    let input = device.alloc_from(&blocks)?.read_only();
    let output = device.alloc_zeroed::<[u32; 8]>(messages.len())?;
    let report = instance.kernel("sha256")?.launch(
        Launch::grid(n.div_ceil(256)).block(256),
        args![&input, &output, n],
    )?;

    for (message, state) in messages.iter().zip(output.to_vec()?) {
        let digest: Vec<u8> = state.iter().flat_map(|word| word.to_be_bytes()).collect();
        assert_eq!(digest[..], Sha256::digest(message)[..], "{message}");
    }
    println!(
        "{n} messages hashed in {:.1?} on {} threads (compiled in {:.1?}), all as the sha2 crate says",
        report.run_time, report.workers, report.compile_time
    );
    Ok(())
}

/// FIPS 180-4, "Padding the Message": a one bit, zeros, the length in bits.
fn pad(message: &[u8]) -> [u8; 64] {
    let mut block = [0; 64];
    block[..message.len()].copy_from_slice(message);
    block[message.len()] = 0x80;
    block[56..].copy_from_slice(&(message.len() as u64 * 8).to_be_bytes());
    block
}
