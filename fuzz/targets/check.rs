//! Any bytes through everything that comes before an engine.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ptxlift::fuzzing::text;

fuzz_target!(|bytes: &[u8]| {
    text::check(bytes);
});
