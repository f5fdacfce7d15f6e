//! Writing to a cassette while it is recorded.

use super::{CassetteWriter, End, Opening};
use crate::interaction::{Frame, Header, Headers, Interaction, Marks, Outcome, Payload, Request, Response};
use jiff::Timestamp;
use std::time::Duration;

#[test]
fn streams_that_are_open_at_once_keep_their_frames() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("session.yaml");
    let header = Header::new("2026-11-21T11:45:16Z".parse().expect("a time"));
    let mut writer = CassetteWriter::create(&path, &header, false).expect("a writer");
    let begun = |id, writer: &mut CassetteWriter| {
        let Interaction {
            started,
            wait,
            took,
            request,
            outcome,
            ..
        } = streaming(id);
        writer
            .append(Opening::new(id, started, &request), wait, took, &outcome, None)
            .expect("appended");
    };
    // Each begins while those before it are open.
    for round in 1..=58_u64 {
        for id in 1..=8.min(round) {
            match round - id {
                0 => begun(id, &mut writer),
                n @ 1..=50 => {
                    let frame = Frame {
                        at: Duration::from_millis(n - 1),
                        data: format!("{{\"of\":{id},\"n\":{}}}\n", n - 1).into(),
                    };
                    writer.frame(id, &frame).expect("appended");
                }
                _ => {}
            }
        }
    }
    for id in 1..=8 {
        let end = End {
            took: Duration::from_millis(50),
            trailers: Headers::default(),
            cut: None,
        };
        writer.end(id, &end).expect("ended");
    }
    writer.flush().expect("written");
    let cassette = super::read(&path).expect("a cassette");
    for interaction in &cassette.interactions {
        let frames = interaction.frames().expect("frames");
        let texts: Vec<String> = (0..50)
            .map(|n| format!("{{\"of\":{},\"n\":{n}}}\n", interaction.id))
            .collect();
        assert_eq!(
            frames.iter().map(|frame| &frame.data[..]).collect::<Vec<_>>(),
            texts.iter().map(|text| text.as_bytes()).collect::<Vec<_>>()
        );
        assert_eq!(interaction.took, Some(Duration::from_millis(50)));
    }
    assert_eq!(cassette.interactions.len(), 8);
}

fn streaming(id: u64) -> Interaction {
    Interaction {
        id,
        note: None,
        started: "2026-11-21T11:45:16Z".parse().expect("a time"),
        wait: Duration::ZERO,
        took: None,
        request: Request {
            method: "GET".into(),
            url: "/watch/x".into(),
            headers: Headers::default(),
            body: None,
            omitted: 0,
        },
        outcome: Outcome::Response(Response {
            status: 200,
            headers: Headers::default(),
            payload: Payload::Stream(Vec::new()),
            trailers: Headers::default(),
            cut: None,
        }),
        marks: Marks::default(),
    }
}

#[test]
fn a_cassette_is_never_replaced_by_accident_nor_readable_by_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("session.yaml");
    let header = Header::new(Timestamp::UNIX_EPOCH);
    let mode = || {
        use std::os::unix::fs::PermissionsExt;
        std::fs::metadata(&path).expect("a file").permissions().mode() & 0o777
    };
    drop(CassetteWriter::create(&path, &header, false).expect("a new file"));
    assert_eq!(mode(), 0o600);
    assert!(CassetteWriter::create(&path, &header, false).is_err());
    std::fs::write(&path, "something longer than a header".repeat(100)).expect("written");
    drop(CassetteWriter::create(&path, &header, true).expect("replaced"));
    let cassette = super::read(&path).expect("a cassette");
    super::write(&path, &cassette).expect("written");
    assert_eq!((mode(), super::read(&path).expect("a cassette")), (0o600, cassette));
    assert_eq!(
        std::fs::read_dir(folder.path()).expect("a folder").count(),
        1,
        "nothing is left beside it"
    );
}

#[test]
fn a_piece_is_written_the_same_whether_it_is_copied_or_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let header = Header::new(Timestamp::UNIX_EPOCH);
    let long = "x y".repeat(super::writer::MIN_DIRECT);
    let with = |begin: &str, end: &str| format!("{begin}{long}{end}");
    let texts = [
        with("", ""),
        with("", "\n"),
        with("", "\n\n"),
        with(" \t", " "),
        with("a\n", "\nb"),
        with("\u{fc}", "\n"),
        with("", "\u{1}"),
    ];
    for text in &texts {
        let written = |cut: usize, name: &str| {
            let path = folder.path().join(name);
            let mut writer = CassetteWriter::create(&path, &header, true).expect("a writer");
            let Interaction {
                started,
                request,
                outcome,
                ..
            } = streaming(1);
            let opening = Opening::new(1, started, &request);
            writer.begin(opening, Duration::ZERO, &outcome).expect("appended");
            let (begin, rest) = text.as_bytes().split_at(cut);
            writer.piece(1, Duration::ZERO, begin, rest).expect("appended");
            writer.end(1, &End::default()).expect("ended");
            writer.flush().expect("written");
            std::fs::read(&path).expect("a file")
        };
        let copied = written(text.len(), "copied");
        let cuts = [0, 1, 2, 3, 5].into_iter().filter(|cut| text.is_char_boundary(*cut));
        for cut in cuts {
            assert!(written(cut, "direct") == copied, "{:?}... cut at {cut}", &text[..8]);
        }
    }
}
