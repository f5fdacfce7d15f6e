//! The text of a cassette cannot control a terminal, and files are replaced as a whole.

use std::path::Path;
use stuntdouble_cassettes::{Cassette, Redaction, Replayer, ReplayerOptions, Verifier};

/// Clears the screen, moves up a line, and changes the text direction.
const HOSTILE: &str = r"\e[2J\e]0;x\a\r\u202e\u009b1A";

fn cassette(answer: &str) -> Cassette {
    let text = format!(
        "cassette: 1\nrecorded: 2026-11-21T11:45:16Z\nupstream: \"http://a{HOSTILE}\"\ncomment: \"{HOSTILE}\"\nprofile: \"{HOSTILE}\"\nredactions: [\"{HOSTILE}\"]\n---\n\
         id: 1\nnote: \"{HOSTILE}\"\nstarted: 2026-11-21T11:45:16Z\nrequest: {{method: GET, url: /a}}\n\
         response: {{status: 200, headers: [x-a: \"{HOSTILE}{answer}\"], text: \"{HOSTILE}{answer}\"}}\n...\n---\n\
         id: 2\nstarted: 2026-11-21T11:45:16Z\nrequest: {{method: \"G{HOSTILE}\", url: \"/b{HOSTILE}\"}}\n\
         error: {{kind: closed, text: \"{HOSTILE}{answer}\"}}\n...\n"
    );
    Cassette::parse(&text).expect("a cassette")
}

fn assert_harmless(text: &str) {
    let hostile = |c: char| (c.is_control() && !matches!(c, '\n' | '\t')) || c == '\u{202e}';
    assert!(!text.contains(hostile), "{text:?}");
    assert!(text.contains("\\u{1b}[2J"), "{text:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_text_of_a_cassette_cannot_control_a_terminal() {
    let (one, two) = (cassette("one"), cassette("two"));
    assert_harmless(&one.contents());
    assert_harmless(&one.diff(&two).to_text());
    let mut first = one.clone();
    first.interactions.truncate(1);
    let replayer = Replayer::start(two, ReplayerOptions::default())
        .await
        .expect("a replayer");
    let report = Verifier::new(replayer.url()).verify(&first).await.expect("a report");
    assert!(!report.is_exact());
    assert_harmless(&report.to_text());
}

fn files(folder: &Path) -> usize {
    std::fs::read_dir(folder).expect("a folder").count()
}

#[cfg(unix)]
#[test]
fn a_cassette_is_written_beside_its_place_and_then_put_there() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a folder");
    let (path, link) = (folder.path().join("session.yaml"), folder.path().join("before.yaml"));
    let mut cassette = cassette("Authorization: Bearer s3cret-token-1");
    std::fs::write(&path, cassette.to_yaml()).expect("written");
    std::fs::hard_link(&path, &link).expect("a link");
    cassette.redact(Redaction::default());
    cassette.save(&path).expect("saved");
    let (now, before) = (std::fs::read_to_string(&path), std::fs::read_to_string(&link));
    assert!(!now.expect("text").contains("s3cret-token-1"));
    assert!(
        before.expect("text").contains("s3cret-token-1"),
        "the old file was not written into"
    );
    cassette.save_har(&folder.path().join("session.har")).expect("saved");
    for name in ["session.yaml", "session.har"] {
        let mode = std::fs::metadata(folder.path().join(name))
            .expect("a file")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    assert_eq!(files(folder.path()), 3, "nothing else is left");
    // If a file cannot be replaced, the old one is kept.
    assert!(cassette.save(&folder.path().join("none/session.yaml")).is_err());
    assert_eq!(files(folder.path()), 3);
}
