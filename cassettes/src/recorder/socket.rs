//! Upgraded connections, passed on and recorded both ways.

use super::entry::Entry;
use super::frames::Frames;
use crate::interaction::{Data, Message, Sender};
use bytes::Bytes;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};

const BUFFER: usize = 16 << 10;

/// Passes bytes both ways until both sides have ended.
pub(super) async fn relay(near: OnUpgrade, far: OnUpgrade, entry: Entry) {
    let entry = Mutex::new(entry);
    let cut = match tokio::join!(near, far) {
        (Ok(near), Ok(far)) => {
            let (near_read, near_write) = split(TokioIo::new(near));
            let (far_read, far_write) = split(TokioIo::new(far));
            let there = pass(near_read, far_write, Sender::Client, &entry);
            let back = pass(far_read, near_write, Sender::Server, &entry);
            let (there, back) = tokio::join!(there, back);
            there.or(back)
        }
        (Err(error), _) | (_, Err(error)) => Some(error.to_string()),
    };
    entry.lock().end(cut.as_deref());
}

/// Passes one direction on; bytes are recorded before they are passed on.
async fn pass(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    sender: Sender,
    entry: &Mutex<Entry>,
) -> Option<String> {
    let websocket = entry.lock().is_websocket();
    let mut frames = Frames::default();
    let mut buffer = vec![0; BUFFER];
    let cut = loop {
        let bytes = match from.read(&mut buffer).await {
            Ok(0) => break None,
            Ok(count) => buffer.get(..count).unwrap_or_default(),
            Err(error) => break Some(error.to_string()),
        };
        record(&mut entry.lock(), sender, bytes, websocket.then_some(&mut frames));
        let passed = async {
            to.write_all(bytes).await?;
            to.flush().await
        };
        if let Err(error) = passed.await {
            break Some(error.to_string());
        }
    };
    if !websocket {
        let mut entry = entry.lock();
        let at = entry.elapsed();
        entry.message(&Message {
            at,
            from: sender,
            data: Data::Close(None),
        });
    }
    // The other side may be closed already.
    let _ = to.shutdown().await;
    cut
}

fn record(entry: &mut Entry, from: Sender, bytes: &[u8], frames: Option<&mut Frames>) {
    let at = entry.elapsed();
    let found = match frames {
        Some(frames) => frames.read(bytes),
        None => vec![Data::Binary(Bytes::copy_from_slice(bytes))],
    };
    found
        .into_iter()
        .for_each(|data| entry.message(&Message { at, from, data }));
}
