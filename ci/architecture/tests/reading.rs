//! Tests of the reader: dependencies, literals and cycles.

#![expect(clippy::unwrap_used, reason = "a test may panic, and so may its helpers")]

use std::fs;

use rstest::rstest;
use stuntdouble_architecture::Crate;

/// Reads a crate of these files.
fn read_crate(files: &[(&str, &str)]) -> Crate {
    let folder = tempfile::tempdir().unwrap();
    for (file, text) in files {
        let path = folder.path().join("src").join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    Crate::read(folder.path()).unwrap()
}

fn dependencies(files: &[(&str, &str)]) -> Vec<String> {
    let graph = read_crate(files).graph();
    graph
        .dependencies()
        .map(|(from, to, _)| format!("{from} {to}"))
        .collect()
}

#[rstest]
#[case::single("use crate::b::B;", true)]
#[case::group("use crate::{a::A, b::{B as C}};", true)]
#[case::path("fn f() -> u8 { crate::b::f() }", true)]
#[case::parent("use super::b::B;", true)]
#[case::re_exported("use crate::B;", true)]
#[case::glob("use crate::*;\nfn f(_: B) {}", true)]
#[case::in_a_macro("fn f() { println!(\"{}\", crate::b::f()); }", true)]
#[case::after_tests("#[cfg(test)]\nmod tests { }\nuse crate::b::B;", true)]
#[case::in_tests("#[cfg(test)]\nmod tests { use crate::b::B; }", false)]
#[case::imported_for_tests("#[cfg(test)]\nuse crate::b::B;", false)]
#[case::in_a_comment("// crate::b::B\n/// [`crate::b::B`]\nstruct S;", false)]
#[case::of_its_own("struct B;\nfn f(_: B) {}", false)]
fn a_name_is_a_dependency_on_the_file_that_defines_it(#[case] a: &str, #[case] is_dependency: bool) {
    let root = "mod a;\nmod b;\npub use b::B;";
    let b = "pub struct B;\npub fn f() -> u8 { 1 }";
    let found = dependencies(&[("lib.rs", root), ("a/mod.rs", a), ("b.rs", b)]);
    assert_eq!(found.contains(&"a/mod.rs b.rs".to_owned()), is_dependency, "{found:?}");
}

#[test]
fn files_that_only_tests_declare_are_ignored() {
    let found = read_crate(&[
        ("lib.rs", "#[cfg(test)]\nmod tests;\nmod a;"),
        ("tests.rs", "use crate::a::A;"),
        ("a.rs", "pub struct A;"),
    ]);
    let files: Vec<&str> = found.modules().map(|module| module.file.as_str()).collect();
    assert_eq!(files, ["lib.rs", "a.rs"]);
}

#[test]
fn literals_are_read_without_comments_attributes_and_tests() {
    let found = read_crate(&[(
        "lib.rs",
        "// \"pods\"\n#[doc = \"pods\"]\nconst A: &str = \"pods\";\nfn f() { print!(\"x\", \"Pod\"); }\n\
         #[cfg(test)]\nmod tests {\nconst A: &str = \"pods\";\n}",
    )]);
    let literals = &found.modules().next().unwrap().literals;
    let literals: Vec<(usize, &str)> = literals.iter().map(|l| (l.line, l.text.as_str())).collect();
    assert_eq!(literals, [(3, "pods"), (4, "x"), (4, "Pod")]);
}

#[test]
fn a_cycle_shows_its_files_and_names() {
    let found = read_crate(&[
        ("lib.rs", "mod a;\nmod b;\nmod c;\nmod d;"),
        ("a.rs", "use crate::b::B;\npub struct A;"),
        ("b.rs", "use crate::c::C;\npub struct B;"),
        ("c.rs", "use crate::a::A;\npub struct C;"),
        ("d.rs", "use crate::a::A;\npub struct D;"),
    ]);
    let cycles = found.graph().cycles(2);
    assert_eq!(
        cycles,
        [
            "3 files depend on one another:\n  a.rs -> b.rs (crate::b::B)\n  b.rs -> c.rs (crate::c::C)\n  \
             c.rs -> a.rs (crate::a::A)"
        ]
    );
    assert!(found.graph().cycles(3).is_empty());
}
