//! Alterations of SPDY frames.
//!
//! The suite's client sends headers uncompressed, so the types of its streams can be read.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::{
    answer::replaced,
    proxy::ProxyError,
    socket::{Messages, REST},
};

/// Size of a frame header, in bytes.
const HEAD: usize = 8;
/// Flag of the last frame of a side on a stream.
const FIN: u8 = 1;
/// WebSocket channel of each stream type.
const CHANNELS: [(&str, u8); 5] = [("stdin", 0), ("stdout", 1), ("data", 1), ("stderr", 2), ("error", 3)];

/// Channels by stream id.
type Streams = Mutex<HashMap<u32, u8>>;

/// Relays the frames of a connection, altered on the way to the client.
pub(crate) async fn pass(
    client: impl AsyncRead + AsyncWrite,
    server: impl AsyncRead + AsyncWrite,
    messages: &Messages,
) -> Result<(), ProxyError> {
    let (mut from_client, mut to_client) = tokio::io::split(client);
    let (mut from_server, mut to_server) = tokio::io::split(server);
    let streams = Streams::default();
    let inwards = async {
        let (mut unread, mut count) = (Vec::new(), 0);
        while let Some(frame) = next(&mut from_client, &mut unread).await {
            opened(&frame, &streams);
            count += usize::from(is_data(&frame) && frame.len() > HEAD);
            let lost = is_data(&frame) && messages.is_lost(count) || ends(&frame) && messages.unended;
            let times = usize::from(!lost) + usize::from(messages.echoes && is_data(&frame) && !ends(&frame));
            for _ in 0..times {
                if to_server.write_all(&frame).await.is_err() {
                    // Data that the server sent before it closed is still to be relayed.
                    std::future::pending::<()>().await;
                }
            }
            to_server.flush().await?;
        }
        Ok::<(), ProxyError>(())
    };
    let outwards = async {
        let (mut unread, mut count) = (Vec::new(), 0);
        while let Some(frame) = next(&mut from_server, &mut unread).await {
            if messages.endless && (is_goaway(&frame) || ends(&frame) && frame.len() == HEAD) {
                continue;
            }
            for frame in altered(frame, messages, &streams, &mut count) {
                to_client.write_all(&frame).await?;
            }
            to_client.flush().await?;
            if messages.cut.is_some_and(|cut| count >= cut) {
                return Ok(());
            }
        }
        if messages.endless {
            std::future::pending::<()>().await;
        }
        Ok::<(), ProxyError>(())
    };
    tokio::select! {
        ended = inwards => ended?,
        ended = outwards => ended?,
    }
    to_client.shutdown().await?;
    let mut unread = tokio::io::sink();
    let _ = tokio::time::timeout(REST, tokio::io::copy(&mut from_client, &mut unread)).await;
    Ok(())
}

/// Reads the next frame.
async fn next(from: &mut (impl AsyncRead + Unpin), unread: &mut Vec<u8>) -> Option<Vec<u8>> {
    loop {
        if let Some([_, _, _, _, _, high, middle, low]) = unread.first_chunk::<HEAD>() {
            let length = HEAD + u32::from_be_bytes([0, *high, *middle, *low]) as usize;
            if unread.len() >= length {
                return Some(unread.drain(..length).collect());
            }
        }
        if from.read_buf(unread).await.ok()? == 0 {
            return None;
        }
    }
}

fn is_data(frame: &[u8]) -> bool {
    frame[0] & 0x80 == 0
}

fn is_goaway(frame: &[u8]) -> bool {
    !is_data(frame) && frame[3] == 7
}

/// Whether it is the last frame of a side on a stream.
fn ends(frame: &[u8]) -> bool {
    is_data(frame) && frame[4] & FIN != 0
}

fn number(bytes: &[u8]) -> u32 {
    u32::from_be_bytes([bytes[0] & 0x7f, bytes[1], bytes[2], bytes[3]])
}

/// Records the stream that a frame opens.
fn opened(frame: &[u8], streams: &Streams) {
    if is_data(frame) || frame[3] != 1 || frame.len() < HEAD + 4 {
        return;
    }
    let text = String::from_utf8_lossy(frame);
    let of = CHANNELS.iter().find(|(name, _)| text.contains(name));
    if let Some((_, channel)) = of {
        let mut streams = streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.insert(number(&frame[HEAD..]), *channel);
    }
}

/// Alters a frame of the server.
fn altered(mut frame: Vec<u8>, messages: &Messages, streams: &Streams, count: &mut usize) -> Vec<Vec<u8>> {
    if !is_data(&frame) || frame.len() == HEAD {
        return vec![frame];
    }
    let streams = streams.lock().unwrap_or_else(PoisonError::into_inner);
    let channel = streams.get(&number(&frame)).copied();
    if messages.channel.is_some_and(|one| Some(one) != channel) {
        return vec![frame];
    }
    *count += 1;
    if *count <= messages.after {
        return vec![frame];
    }
    let end = ends(&frame);
    let (head, payload) = frame.split_at_mut(HEAD);
    if let Some(other) = messages.to
        && let Some((id, _)) = streams.iter().find(|(_, channel)| **channel == other)
    {
        head[..4].copy_from_slice(&id.to_be_bytes());
    }
    let payload = &payload[..payload.len().saturating_sub(messages.shorten)];
    let payload = if messages.drop {
        Bytes::new()
    } else if messages.as_text || !messages.replace.is_empty() {
        replaced(payload, &messages.replace)
    } else {
        Bytes::copy_from_slice(payload)
    };
    let length = u32::try_from(payload.len()).unwrap_or_default().to_be_bytes();
    let mut whole = head.to_vec();
    whole[5..].copy_from_slice(&length[1..]);
    whole.extend_from_slice(&payload);
    let mut all = vec![whole.clone()];
    if messages.repeat && !end {
        all.push(whole);
    }
    all
}
