//! `ci/fuzz.sh 60 search_query`
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../properties/search.rs"]
mod properties;

fuzz_target!(|input: &str| properties::query(input));
