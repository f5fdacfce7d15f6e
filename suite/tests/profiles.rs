//! What differs between the profiles stands in the simulator's code and in the README, and nowhere else: the two agree in number.

#![expect(clippy::unwrap_used, reason = "a test may panic, also in what its tests share")]

use std::path::Path;

fn text(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)).unwrap()
}

#[test]
fn every_difference_in_the_code_is_a_row_of_the_readme() {
    let readme = text("README.md");
    let table = readme.split("| matter | documented | kubernetes-1.2 |").nth(1).unwrap();
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|')).count();
    let code = text("simulator/src/profile.rs");
    let methods: Vec<&str> = code
        .lines()
        .filter_map(|line| line.strip_prefix("    pub(crate) fn ")?.split('(').next())
        .collect();
    // What a deletion answers is two rows: of one object, and of a collection.
    let differences = methods.len() + 1;
    assert!(methods.contains(&"delete_returns_object"), "{methods:?}");
    assert_eq!(rows, differences, "{methods:#?}");
}
