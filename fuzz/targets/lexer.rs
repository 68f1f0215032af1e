//! Any bytes through the lexer.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ptxlift::fuzzing::text;

fuzz_target!(|bytes: &[u8]| text::lex(bytes));
