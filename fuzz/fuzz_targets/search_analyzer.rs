//! The analyzers: terms are cut at character boundaries, in order, with rising positions.
//!
//! `cargo +nightly fuzz run search_analyzer -- -max_total_time=600 -max_len=4096`
#![no_main]

use libfuzzer_sys::fuzz_target;
use stuntdouble_search::Analyzer;

fuzz_target!(|text: &str| {
    for name in ["standard", "simple", "whitespace", "keyword", "stop", "pattern"] {
        let analyzer = Analyzer::named(name).expect("a built-in analyzer");
        let (mut end, mut next) = (0, 0);
        let after = analyzer.analyze(text, &mut |token| {
            assert!(token.start >= end && token.end >= token.start, "{name}: offsets fall");
            assert!(text.is_char_boundary(token.start) && text.is_char_boundary(token.end), "{name}: a character is cut");
            assert!(token.position >= next, "{name}: positions fall");
            (end, next) = (token.end, token.position + 1);
        });
        assert!(after >= next, "{name}: the end is before the last term");
    }
});
