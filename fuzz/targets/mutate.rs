//! PTX changed by its tokens and statements; what is still legal runs in both engines.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_crossover, fuzz_mutator, fuzz_target, fuzzer_mutate};
use ptxlift::fuzzing::{launch, mutate, text};

fuzz_target!(|bytes: &[u8]| -> Corpus {
    match text::check(bytes) {
        Some(module) => {
            launch::run(&module);
            Corpus::Keep
        }
        // What is refused is the matter of `check`; kept here, it would crowd out what runs.
        None => Corpus::Reject,
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let changed = text::of_bytes(&data[..size]).and_then(|t| mutate::mutate(t, max_size, seed));
    match changed.filter(|text| !seed.is_multiple_of(16) && !text.is_empty()) {
        Some(text) => {
            data[..text.len()].copy_from_slice(text.as_bytes());
            text.len()
        }
        None => fuzzer_mutate(data, size, max_size),
    }
});

fuzz_crossover!(|one: &[u8], other: &[u8], out: &mut [u8], seed: u32| {
    let crossed = text::of_bytes(one)
        .zip(text::of_bytes(other))
        .and_then(|(one, other)| mutate::cross(one, other, out.len(), seed))
        .unwrap_or_default();
    out[..crossed.len()].copy_from_slice(crossed.as_bytes());
    crossed.len()
});
