//! `ci/fuzz.sh 60 search_analyzer`
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../properties/search.rs"]
mod properties;

fuzz_target!(|input: &str| properties::analyzer(input));
