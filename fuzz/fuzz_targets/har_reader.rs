//! HAR: any text is a HAR or an error, and what is read is exported and imported again without loss.
//!
//! `cargo +nightly fuzz run har_reader -- -max_total_time=60 -max_len=4096`
#![no_main]

use libfuzzer_sys::fuzz_target;
use stuntdouble_cassettes::Cassette;

fuzz_target!(|text: &str| {
    if let Ok(cassette) = Cassette::from_har(text) {
        let again = Cassette::from_har(&cassette.to_har()).expect("what was exported can be imported");
        assert_eq!(again.interactions.len(), cassette.interactions.len());
    }
});
