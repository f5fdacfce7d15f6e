//! `ci/fuzz.sh 60 bulk_body`
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../properties/search.rs"]
mod properties;

fuzz_target!(|input: &[u8]| properties::bulk(input));
