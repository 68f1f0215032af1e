//! Any bytes through the parser and the printer.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ptxlift::fuzzing::text;

fuzz_target!(|bytes: &[u8]| text::parse(bytes));
