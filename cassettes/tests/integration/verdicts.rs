//! The verifier's verdicts on altered responses are those of the reference's scoring.
//!
//! `tests/verdicts.txt` holds, for each session, profile and seed of the altering proxy, the verdicts of that scoring:
//! a letter for each interaction (`e` exact, `s` shape, `a` answer, `-` none). To run the scoring again, set
//! `STUNTDOUBLE_PARITY` to its script. Its verdicts are compared, and saved with `STUNTDOUBLE_BLESS=1`.

use crate::faulty_proxy::{FaultyProxy, LIMIT};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use stuntdouble_cassettes::{Cassette, Replayer, ReplayerOptions, Verifier};
use tokio::sync::Semaphore;

/// Sessions with streams take their recorded time. The others are altered more often.
const SEEDS: [(u64, u64); 3] = [(0, u64::MAX), (1, 4), (2, 9)];
const PROFILES: [&str; 2] = ["kubernetes-1.2", "documented"];

fn sessions() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sessions/kubernetes-1.2");
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("sessions")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    found.sort();
    found
}

fn table() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verdicts.txt")
}

fn letters(verdicts: impl Iterator<Item = (bool, bool, bool)>) -> String {
    verdicts
        .map(|verdict| match verdict {
            (_, _, true) => 'e',
            (_, true, _) => 's',
            (true, ..) => 'a',
            _ => '-',
        })
        .collect()
}

/// A replay of a session behind the faulty proxy.
async fn target(path: &Path, (seed, one_in): (u64, u64)) -> (Replayer, stuntdouble_cassettes::transport::Server) {
    let cassette = Cassette::open(path).expect("a cassette");
    let replayer = Replayer::start(cassette, ReplayerOptions::default())
        .await
        .expect("a replayer");
    let proxy = FaultyProxy::start(&replayer.url(), seed, one_in).await;
    (replayer, proxy)
}

async fn ours(path: &Path, profile: &str, seed: (u64, u64)) -> (String, String) {
    let (_replayer, proxy) = target(path, seed).await;
    let mut verifier = Verifier::new(format!("http://{}", proxy.address()));
    verifier.profile = Some(profile.to_owned());
    let report = verifier
        .verify(&Cassette::open(path).expect("a cassette"))
        .await
        .expect("a report");
    let all = report.verdicts.iter();
    (
        letters(all.map(|verdict| (verdict.answer, verdict.shape, verdict.exact))),
        report.to_text(),
    )
}

const SCORE: &str = r#"
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location("parity", sys.argv[1])
parity = importlib.util.module_from_spec(spec)
spec.loader.exec_module(parity)
out = ""
for entry, found in parity.Player(sys.argv[2], sys.argv[3]).session(json.load(open(sys.argv[4]))):
    if entry.get("_text_varies"): found = [f for f in found if f[0] != "text"]
    kinds = {k for k, _ in found}
    out += "e" if not kinds else "s" if not kinds & {"answer", "body"} else "a" if "answer" not in kinds else "-"
    for f in found: print(entry["request"]["method"], entry["request"]["url"], f, file=sys.stderr)
print(out)
"#;

async fn theirs(script: &str, path: &Path, profile: &str, seed: (u64, u64)) -> (String, String) {
    let (_replayer, proxy) = target(path, seed).await;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("session.har");
    std::fs::write(&file, Cassette::open(path).expect("a cassette").to_har()).expect("written");
    let mut command = tokio::process::Command::new("python3");
    command
        .args(["-c", SCORE, script, &format!("http://{}", proxy.address()), profile])
        .arg(&file);
    let output = command.output().await.expect("python3");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim().to_owned();
    (text(output.stdout), text(output.stderr))
}

#[tokio::test(flavor = "multi_thread")]
async fn bent_answers_get_the_verdicts_of_the_reference() {
    let script = std::env::var("STUNTDOUBLE_PARITY").ok();
    let only = std::env::var("STUNTDOUBLE_SESSION").ok();
    let known: BTreeMap<String, String> = std::fs::read_to_string(table())
        .unwrap_or_default()
        .lines()
        .filter_map(|line| {
            line.rsplit_once(' ')
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
        })
        .collect();
    // Some verdicts depend on the time of frames, which many parallel sessions would delay.
    let room = Arc::new(Semaphore::new(if script.is_some() { 5 } else { 10 }));
    let mut tasks = Vec::new();
    for path in sessions() {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        if only.as_ref().is_some_and(|only| !name.contains(only.as_str())) {
            continue;
        }
        for profile in PROFILES {
            for seed in SEEDS {
                let (path, room, script) = (path.clone(), room.clone(), script.clone());
                let key = format!("{name} {profile} {}", seed.0);
                let known = known.get(&key).cloned().unwrap_or_default();
                tasks.push(tokio::spawn(async move {
                    let _permit = room.acquire().await.expect("open");
                    let mut last = (String::new(), String::new());
                    // A busy machine can delay a frame too long, but hardly three times.
                    for _ in 0..3 {
                        let (found, shown) = ours(&path, profile, seed).await;
                        let (expected, reasons) = match &script {
                            Some(script) => theirs(script, &path, profile, seed).await,
                            None => (known.clone(), String::new()),
                        };
                        if found == expected {
                            return (key, expected, None);
                        }
                        last = (expected, format!("  ours   {found}\n{shown}\n{reasons}"));
                    }
                    (key, last.0, Some(last.1))
                }));
            }
        }
    }
    let mut wrong = Vec::new();
    let mut all = BTreeMap::new();
    let run = async {
        for task in tasks {
            let (key, expected, difference) = task.await.expect("no panic");
            if let Some(difference) = difference {
                wrong.push(format!("{key}\n  theirs {expected}\n{difference}"));
            }
            all.insert(key, expected);
        }
    };
    tokio::time::timeout(LIMIT, run).await.expect("in time");
    if script.is_some() && std::env::var("STUNTDOUBLE_BLESS").is_ok() {
        let lines: String = all
            .iter()
            .map(|(key, verdicts)| format!("{key} {verdicts}\n"))
            .collect();
        std::fs::write(table(), lines).expect("written");
    }
    let judged: usize = all.values().map(String::len).sum();
    assert!(only.is_some() || judged > 10_000, "only {judged} verdicts");
    assert!(
        wrong.is_empty(),
        "{} of {} sessions:\n{}",
        wrong.len(),
        all.len(),
        wrong.join("\n")
    );
}
