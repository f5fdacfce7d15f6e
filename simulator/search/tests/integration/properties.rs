//! Properties of the fuzz targets, with random inputs and with the seeds in `fuzz/seeds`.

use std::path::Path;

use proptest::prelude::*;

/// Checks a property with each seed of a target.
fn seeds(target: &str, property: impl Fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/seeds")
        .join(target);
    let mut inputs = 0;
    for entry in std::fs::read_dir(folder).expect("fuzz/seeds must have a folder per target") {
        property(&std::fs::read(entry.expect("readable folder").path()).expect("readable seed"));
        inputs += 1;
    }
    assert!(inputs > 0, "{target} has no seeds");
}

#[test]
fn the_properties_hold_for_the_seeds() {
    let text = |property: fn(&str)| move |bytes: &[u8]| property(&String::from_utf8_lossy(bytes));
    seeds("search_query", text(crate::fuzzed::query));
    seeds("search_analyzer", text(crate::fuzzed::analyzer));
    seeds("bulk_body", crate::fuzzed::bulk);
    seeds("search_body", crate::fuzzed::search);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn any_text_is_a_query_or_an_error(text in "(\\PC|[\"()\\[\\]{}:*?~^/+ -]|AND|OR|NOT|TO){0,60}") {
        crate::fuzzed::query(&text);
    }

    #[test]
    fn any_text_is_analyzed(text in "\\PC{0,80}") {
        crate::fuzzed::analyzer(&text);
    }

    #[test]
    fn any_bytes_are_a_bulk_body_or_an_error(
        body in prop::collection::vec(
            prop::sample::select(vec![
                &b"{\"index\":{}}\n"[..],
                &b"{\"create\":{\"_id\":\"1\"}}\n"[..],
                &b"{\"delete\":{\"_id\":\"1\"}}\n"[..],
                &b"{\"update\":{\"_id\":\"1\"}}\n"[..],
                &b"{\"log\":\"x\",\"n\":1}\n"[..],
                &b"{\"doc\":{\"log\":[1,{}]}}\n"[..],
                &b"{\"n\":\"\xff\n"[..],
                &b"\n"[..],
                &b"[[[{"[..],
            ]),
            0..8,
        )
    ) {
        crate::fuzzed::bulk(&body.concat());
    }
}
