//! Every recorded session is read and written unchanged, and is converted to HAR and back without loss.

use std::path::PathBuf;
use stuntdouble_cassettes::Cassette;

fn sessions() -> Vec<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("sessions");
    let mut found = Vec::new();
    for server in std::fs::read_dir(root).expect("sessions") {
        let folder = server.expect("an entry").path();
        if folder.is_dir() {
            let files = std::fs::read_dir(folder).expect("a folder");
            found.extend(files.map(|file| file.expect("a file").path()));
        }
    }
    found.sort();
    assert!(found.len() > 40, "only {} sessions", found.len());
    found
}

#[test]
fn every_session_is_written_unchanged() {
    for path in sessions() {
        let text = std::fs::read_to_string(&path).expect("text");
        let cassette = Cassette::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(!cassette.interactions.is_empty(), "{} is empty", path.display());
        assert!(cassette.to_yaml() == text, "{} is written otherwise", path.display());
    }
}

#[test]
fn every_session_survives_har() {
    for path in sessions() {
        let cassette = Cassette::open(&path).expect("a cassette");
        let back = Cassette::from_har(&cassette.to_har()).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for (before, after) in cassette.interactions.iter().zip(&back.interactions) {
            assert_eq!(before, after, "{}", path.display());
        }
        assert!(cassette == back, "{}", path.display());
    }
}
