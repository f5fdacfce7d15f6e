//! Cassettes: any text is a cassette or an error, and what is read is written and read again without loss.
//!
//! `cargo +nightly fuzz run cassette_reader -- -max_total_time=60 -max_len=4096`
#![no_main]

use libfuzzer_sys::fuzz_target;
use stuntdouble_cassettes::Cassette;

fuzz_target!(|text: &str| {
    if let Ok(cassette) = Cassette::parse(text) {
        let again = Cassette::parse(&cassette.to_yaml()).expect("what was written can be read");
        assert_eq!(again.interactions.len(), cassette.interactions.len());
        let contents = cassette.contents();
        assert!(!contents.contains(|c: char| c.is_control() && c != '\n' && c != '\t'));
    }
});
