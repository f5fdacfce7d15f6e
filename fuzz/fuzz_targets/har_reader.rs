//! `ci/fuzz.sh 60 har_reader`
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../properties/cassettes.rs"]
mod properties;

fuzz_target!(|text: &str| properties::har(text));
