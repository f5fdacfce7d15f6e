//! Properties of the readers of upgraded connections, for the fuzz targets in `fuzz/` and the tests below.

use super::frames::{Frames, SpdyFrames, WebSocketFrames};
use crate::interaction::{Data, Headers, Message, Sender};
use crate::redactor::{Conversation, Redaction, Redactor};
use std::time::Duration;

/// Reads the messages of one direction from these pieces.
fn messages<'a>(mut frames: Frames, pieces: impl Iterator<Item = &'a [u8]>) -> Vec<Data> {
    let mut found: Vec<Data> = pieces.flat_map(|piece| frames.read(piece)).collect();
    found.extend(frames.finish());
    found
}

/// Checks that the same messages are read however the bytes of a connection are split, and that the redactor keeps
/// each.
pub fn frames(bytes: &[u8], cuts: &[u16]) {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| usize::from(*cut).min(bytes.len())).collect();
    cuts.extend([0, bytes.len()]);
    cuts.sort_unstable();
    let protocols: [fn() -> Frames; 2] = [
        || Frames::WebSocket(WebSocketFrames::default()),
        || Frames::Spdy(SpdyFrames::default()),
    ];
    let heads = [
        ("upgrade", "websocket"),
        ("sec-websocket-protocol", "channel.k8s.io"),
        ("sec-websocket-protocol", "base64.channel.k8s.io"),
        ("upgrade", "SPDY/3.1"),
    ];
    let redactor = Redactor::new(Redaction::default());
    for protocol in protocols {
        let pieces = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
        let whole = messages(protocol(), std::iter::once(bytes));
        assert_eq!(messages(protocol(), pieces), whole);
        for head in heads {
            let mut conversation = Conversation::new(&Headers(vec![(head.0.to_owned(), head.1.to_owned())]), "/exec");
            let mut count = 0;
            for data in whole.clone() {
                let (at, from) = (Duration::ZERO, Sender::Client);
                count += conversation.push(&redactor, &Message { at, from, data }).len();
            }
            count += conversation.finish(&redactor).len();
            assert_eq!(count, whole.len(), "{head:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::frames;

    #[test]
    fn messages_are_the_same_however_bytes_are_cut() {
        let bytes = include_bytes!("../../../fuzz/seeds/recorded_frames/websocket");
        for cut in 0..u16::try_from(bytes.len()).unwrap_or_default() {
            frames(bytes, &[cut, cut / 2]);
        }
    }
}
