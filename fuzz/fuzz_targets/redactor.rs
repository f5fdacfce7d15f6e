//! `ci/fuzz.sh 60 redactor`
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../properties/cassettes.rs"]
mod properties;

fuzz_target!(|input: (&str, Vec<u16>)| properties::redactor(input.0, &input.1));
