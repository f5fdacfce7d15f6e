//! The differences between the profiles are in `simulator/src/profile.rs` and in the README. The test compares their
//! numbers.

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
    // One method has two rows: the result of deleting an object, and of deleting a collection.
    let differences = methods.len() + 1;
    assert!(methods.contains(&"delete_returns_object"), "{methods:?}");
    assert_eq!(rows, differences, "{methods:#?}");
}
