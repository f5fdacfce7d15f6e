//! `cargo +nightly fuzz run search_query -- -max_total_time=60 -max_len=4096`
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../properties/search.rs"]
mod properties;

fuzz_target!(|input: &str| properties::query(input));
