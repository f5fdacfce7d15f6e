//! The query language: any text is a query or a refusal, in bounded time.
//!
//! `cargo +nightly fuzz run search_query -- -max_total_time=600 -max_len=512`
#![no_main]

use libfuzzer_sys::fuzz_target;
use stuntdouble_search::check_query;

fuzz_target!(|text: &str| {
    // Whether it is a query does not matter; that an answer comes does.
    let _ = check_query(text);
    let _ = check_query(&format!("f:/{text}/"));
});
