//! Alterations of a stream of JSON values.

use std::collections::HashMap;

use bytes::Bytes;
use futures::StreamExt;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::{
    alter::{alter, alter_leaf, replace, shift},
    mutant::Stream,
    proxy::{Body, ProxyError},
    when::has,
};

/// Returns the altered body of a watch.
pub(crate) fn stream(mut answer: reqwest::Response, altered: Stream) -> Body {
    let (sender, receiver) = mpsc::channel(64);
    tokio::spawn(async move {
        let (mut unread, mut sent, mut held) = (Vec::new(), 0, None);
        let mut seen = Seen::default();
        let mut kept = Vec::new();
        let text = |item: &Value| {
            let text = if altered.indented {
                format!("{item:#}")
            } else {
                item.to_string()
            };
            if altered.unended { text } else { text + "\n" }
        };
        if let Some(first) = &altered.inject {
            drop(sender.send(Ok(text(first).into())).await);
        }
        'open: while altered.cut.is_none_or(|cut| sent < cut) {
            let chunk = tokio::select! {
                chunk = answer.chunk() => chunk,
                () = sender.closed() => return,
            };
            let Ok(Some(chunk)) = chunk else { break };
            unread.extend_from_slice(&chunk);
            let mut values = serde_json::Deserializer::from_slice(&unread).into_iter::<Value>();
            let mut whole = Vec::new();
            let mut read = 0;
            while let Some(Ok(value)) = values.next() {
                read = values.byte_offset();
                whole.push(value);
            }
            unread.drain(..read);
            for item in whole
                .into_iter()
                .flat_map(|item| altered_item(item, &altered, &mut seen))
            {
                let items = if altered.buffered {
                    kept.push(item);
                    continue;
                } else if altered.behind {
                    Vec::from_iter(held.replace(item))
                } else {
                    match (altered.swap, held.take()) {
                        (false, _) => vec![item],
                        (true, None) => {
                            held = Some(item);
                            continue;
                        }
                        (true, Some(first)) => vec![item, first],
                    }
                };
                for item in items {
                    let before = match (altered.array, sent) {
                        (false, _) => "",
                        (true, 0) => "[",
                        (true, _) => ",",
                    };
                    if altered.cut.is_some_and(|cut| sent >= cut)
                        || sender
                            .send(Ok(format!("{before}{}", text(&item)).into()))
                            .await
                            .is_err()
                    {
                        break 'open;
                    }
                    sent += 1;
                }
            }
        }
        for item in kept.iter().chain(&altered.append) {
            drop(sender.send(Ok(text(item).into())).await);
        }
        if altered.breaks_off {
            drop(sender.send(Err("the connection breaks off".into())).await);
        }
        if altered.endless {
            sender.closed().await;
        }
    });
    body(receiver)
}

/// Returns the body of a response as a stream.
pub(crate) fn live(mut answer: reqwest::Response, endless: bool) -> Body {
    let (sender, receiver) = mpsc::channel(64);
    tokio::spawn(async move {
        loop {
            let piece = tokio::select! {
                piece = answer.chunk() => piece,
                () = sender.closed() => return,
            };
            let Ok(Some(piece)) = piece else { break };
            if sender.send(Ok(piece)).await.is_err() {
                return;
            }
        }
        if endless {
            sender.closed().await;
        }
    });
    body(receiver)
}

/// Returns a body of the chunks that are sent to a channel.
fn body(mut receiver: mpsc::Receiver<Result<Bytes, ProxyError>>) -> Body {
    let frames =
        futures::stream::poll_fn(move |context| receiver.poll_recv(context)).map(|bytes| bytes.map(Frame::data));
    BodyExt::boxed(StreamBody::new(frames))
}

/// Items that have passed.
#[derive(Default)]
pub(crate) struct Seen {
    /// Last state of each object, by name.
    last: HashMap<String, Value>,
    /// Number of items that matched.
    count: usize,
}

/// Alters one item.
pub(crate) fn altered_item(mut item: Value, altered: &Stream, seen: &mut Seen) -> Vec<Value> {
    let event = item["type"].as_str().unwrap_or_default().to_owned();
    let name = item["object"]["metadata"]["name"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let previous = seen.last.insert(name, item["object"].clone());
    if !has(&item, &altered.only) {
        return vec![item];
    }
    seen.count += 1;
    if seen.count <= altered.skip {
        return Vec::new();
    }
    if seen.count <= altered.after || altered.every.is_some_and(|every| !seen.count.is_multiple_of(every)) {
        return vec![item];
    }
    if altered.drop.as_ref() == Some(&event) {
        return Vec::new();
    }
    let version = previous
        .as_ref()
        .map(|previous| previous["metadata"]["resourceVersion"].clone());
    if let Some(version) = version.filter(|_| altered.last_version) {
        item["object"]["metadata"]["resourceVersion"] = version;
    }
    if let Some(previous) = previous.filter(|_| altered.stale.as_ref() == Some(&event)) {
        item["object"] = previous;
    }
    if let Some(other) = altered.rename.get(&event) {
        item["type"] = other.as_str().into();
    }
    alter(&mut item, &altered.set, &altered.remove);
    shift(&mut item, &altered.shift);
    replace(&mut item, &altered.replace);
    if let Some(leaf) = &altered.leaf {
        alter_leaf(&mut item["object"], leaf);
    }
    if altered.repeat.as_ref() == Some(&event) {
        vec![item.clone(), item]
    } else {
        vec![item]
    }
}
