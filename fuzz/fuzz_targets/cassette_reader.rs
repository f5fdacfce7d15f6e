//! `ci/fuzz.sh 60 cassette_reader`
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../properties/cassettes.rs"]
mod properties;

fuzz_target!(|text: &str| properties::cassette(text));
