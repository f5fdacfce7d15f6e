//! Properties of the fuzz targets, with random inputs and the seeds in `fuzz/seeds`.

use std::path::Path;

use proptest::prelude::*;

/// Checks a property with each seed of a target.
fn seeds(target: &str, property: impl Fn(&str)) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds").join(target);
    let mut inputs = 0;
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let bytes = std::fs::read(entry.expect("an entry").path()).expect("an input");
        property(&String::from_utf8_lossy(&bytes));
        inputs += 1;
    }
    assert!(inputs > 0, "{target} has no seeds");
}

#[test]
fn the_properties_hold_for_the_kept_inputs() {
    seeds("cassette_reader", crate::fuzzed::cassette);
    seeds("har_reader", crate::fuzzed::har);
    seeds("redactor", |text| {
        (1..40).for_each(|step| crate::fuzzed::redactor(text, &[step, 2 * step, 5 * step]))
    });
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    /// A cassette with one line truncated or replaced.
    #[test]
    fn any_text_is_a_cassette_or_an_error(line in 0usize..12, text in "(\\PC|[-:{}\\[\\]|>'\"&*!#]){0,30}", keep in any::<bool>()) {
        let seed = include_str!("../../../fuzz/seeds/cassette_reader/one.yaml");
        let mut lines: Vec<String> = seed.lines().map(str::to_owned).collect();
        let at = line % lines.len();
        lines[at] = if keep { format!("{}{text}", lines[at]) } else { text };
        crate::fuzzed::cassette(&lines.join("\n"));
    }

    #[test]
    fn any_text_is_a_har_or_an_error(at in 0usize..600, text in "\\PC{0,8}") {
        let seed = include_str!("../../../fuzz/seeds/har_reader/one.har");
        let at = at % seed.len();
        if seed.is_char_boundary(at) {
            crate::fuzzed::har(&format!("{}{text}{}", &seed[..at], &seed[at..]));
        }
    }

    #[test]
    fn no_planted_secret_survives(around in "[a-z \"\\\\{}:,=\n']{0,40}", cuts in prop::collection::vec(any::<u16>(), 0..12)) {
        crate::fuzzed::redactor(&around, &cuts);
    }
}
