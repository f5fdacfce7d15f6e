//! `cargo +nightly fuzz run redactor -- -max_total_time=60 -max_len=4096`
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../properties/cassettes.rs"]
mod properties;

fuzz_target!(|input: (&str, Vec<u16>)| properties::redactor(input.0, &input.1));
