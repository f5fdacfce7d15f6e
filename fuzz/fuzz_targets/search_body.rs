//! `ci/fuzz.sh 60 search_body`
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../properties/search.rs"]
mod properties;

fuzz_target!(|body: &[u8]| properties::search(body));
