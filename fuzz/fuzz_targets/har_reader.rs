//! `cargo +nightly fuzz run har_reader -- -max_total_time=60 -max_len=4096`
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../properties/cassettes.rs"]
mod properties;

fuzz_target!(|text: &str| properties::har(text));
