//! Two cassettes of one session differ only in changed values, not in volatile ones.

use rstest::rstest;
use std::path::Path;
use stuntdouble_cassettes::{Cassette, Grade, Outcome};

fn text() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("sessions/kubernetes-1.2/life-services.yaml");
    std::fs::read_to_string(path).expect("a session")
}

fn cassette(text: &str) -> Cassette {
    Cassette::parse(text).expect("a cassette")
}

fn grades(changed: &Cassette) -> Vec<Grade> {
    let diff = cassette(&text()).diff(changed);
    diff.counts()
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(grade, _)| grade)
        .collect()
}

#[test]
fn a_cassette_does_not_differ_from_itself() {
    let same = cassette(&text()).diff(&cassette(&text()));
    assert!(same.is_same());
    assert!(same.summary().starts_with("0 of "), "{}", same.summary());
}

#[test]
fn volatile_values_do_not_differ() {
    let other = text()
        .replace("-11f1-", "-22e2-")
        .replace("2026-11-21T", "2015-06-26T")
        .replace("10.0.0.216", "10.0.0.16");
    assert_ne!(other, text());
    let other = cassette(&text()).diff(&cassette(&other));
    assert!(other.is_same(), "{}", other.to_text());
}

#[rstest]
#[case("    kind: ServiceList\n", "    kind: ServiceLost\n", &[Grade::Value])]
#[case("    kind: ServiceList\n", "    kinds: ServiceList\n", &[Grade::Shape])]
#[case("    kind: ServiceList\n", "    kind: 1\n", &[Grade::Shape])]
#[case("  status: 404", "  status: 410", &[Grade::Status])]
#[case("not found", "nowhere to be seen", &[Grade::Text])]
fn a_change_has_its_grade(#[case] from: &str, #[case] to: &str, #[case] expected: &[Grade]) {
    assert!(text().contains(from), "{from:?} is not in the session");
    assert_eq!(grades(&cassette(&text().replacen(from, to, 1))), expected);
}

#[test]
fn headers_and_frames_and_absences_are_found() {
    let mut changed = cassette(&text());
    if let Outcome::Response(answer) = &mut changed.interactions[3].outcome {
        answer.headers.0.push(("X-New".into(), "1".into()));
    }
    assert_eq!(grades(&changed), [Grade::Header]);
    let gone = changed.interactions.remove(10);
    let diff = cassette(&text()).diff(&changed);
    let alone: Vec<u64> = diff
        .rows
        .iter()
        .filter(|row| row.b.is_none())
        .filter_map(|row| Some(row.a.as_ref()?.id))
        .collect();
    assert_eq!(alone, [gone.id]);
    assert!(!diff.is_same());
}

#[test]
fn a_page_is_self_contained_and_escaped() {
    let changed = text().replace("not found", "<script>alert(1)</script> & \\\"more\\\"");
    let diff = cassette(&text()).diff(&cassette(&changed));
    let page = diff.to_html("a<b", "c");
    assert!(!page.contains("<script"), "a script came through");
    assert!(page.contains("&lt;script&gt;") && page.contains("a&lt;b"));
    assert!(!page.contains("http://") && !page.contains("https://") && !page.contains("src="));
    assert!(page.contains("<td class=\"gone\">") && page.contains("<td class=\"come\">"));
    assert_eq!(diff.to_json()["same"], false);
    assert!(diff.to_text().contains("text: .message"), "{}", diff.to_text());
}
