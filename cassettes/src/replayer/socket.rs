//! Upgraded connections: each message of the server is sent after the client's messages that came before it.

use super::answer::live;
use super::script::{Pace, Script, Taken};
use crate::interaction::{Data, Message, Sender};
use bytes::Bytes;
use futures::stream::{SplitSink, SplitStream};
use futures::{SinkExt, StreamExt};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Error;
use tokio_tungstenite::tungstenite::protocol::frame::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::{Message as Wire, Role};

type Io = TokioIo<Upgraded>;

/// How long a client may keep a server waiting for what it said in the recording.
const CLIENT: Duration = Duration::from_secs(10);

/// Plays the server's part of an upgraded connection.
pub(super) async fn run(near: OnUpgrade, taken: Taken, script: Arc<Script>, pace: Pace) {
    let Ok(upgraded) = near.await else { return };
    let io = TokioIo::new(upgraded);
    let (heard, hearing) = watch::channel(0);
    let part = Part {
        taken,
        script,
        pace,
        hearing,
    };
    if part.taken.interaction.is_websocket() {
        let (sink, stream) = WebSocketStream::from_raw_socket(io, Role::Server, None).await.split();
        tokio::select! {
            () = part.speak(Frames(sink)) => {}
            () = hear_frames(stream, heard) => {}
        }
    } else {
        let (read, write) = tokio::io::split(io);
        tokio::select! {
            () = part.speak(Raw(write)) => {}
            () = hear_bytes(read, heard) => {}
        }
    }
}

/// Counts the client's messages until it goes away.
async fn hear_frames(mut stream: SplitStream<WebSocketStream<Io>>, heard: watch::Sender<u64>) {
    while let Some(Ok(message)) = stream.next().await {
        match message {
            Wire::Text(_) | Wire::Binary(_) => heard.send_modify(|count| *count += 1),
            Wire::Close(_) => break,
            Wire::Ping(_) | Wire::Pong(_) | Wire::Frame(_) => {}
        }
    }
    // The answer to a close is on its way, and the server may have more to say of it.
    tokio::time::sleep(Duration::from_millis(50)).await;
}

/// Counts the client's bytes until it goes away.
async fn hear_bytes(mut read: ReadHalf<Io>, heard: watch::Sender<u64>) {
    let mut buffer = vec![0; 16 << 10];
    while let Ok(count) = read.read(&mut buffer).await {
        if count == 0 {
            return std::future::pending().await;
        }
        heard.send_modify(|all| *all += count as u64);
    }
}

struct Part {
    taken: Taken,
    script: Arc<Script>,
    pace: Pace,
    hearing: watch::Receiver<u64>,
}

impl Part {
    async fn speak(mut self, mut mouth: impl Mouth) {
        let interaction = self.taken.interaction.clone();
        let mut expected = 0;
        for message in interaction.messages().unwrap_or_default() {
            if message.from == Sender::Client {
                expected += mouth.weight(&message.data);
                continue;
            }
            let Message { at, data, .. } = message;
            self.pace.due(*at).await;
            let _ = timeout(CLIENT, self.hearing.wait_for(|heard| *heard >= expected)).await;
            self.script.caused(&self.taken, *at, self.pace.hold).await;
            if mouth.say(data, &self.script).await.is_err() {
                return;
            }
        }
        match interaction.took {
            Some(took) => self.pace.due(took).await,
            None if !self.pace.is_instant() => std::future::pending().await,
            None => {}
        }
        let _ = timeout(CLIENT, self.hearing.wait_for(|heard| *heard >= expected)).await;
        mouth.close().await;
    }
}

/// How a side of a connection speaks.
trait Mouth {
    /// How much a message of the other side counts.
    fn weight(&self, data: &Data) -> u64;
    async fn say(&mut self, data: &Data, script: &Script) -> Result<(), ()>;
    async fn close(self);
}

struct Frames(SplitSink<WebSocketStream<Io>, Wire>);

impl Mouth for Frames {
    fn weight(&self, data: &Data) -> u64 {
        u64::from(matches!(data, Data::Text(_) | Data::Binary(_)))
    }

    async fn say(&mut self, data: &Data, script: &Script) -> Result<(), ()> {
        let message = match data {
            Data::Text(text) => Wire::text(script.live(text).into_owned()),
            Data::Binary(bytes) => Wire::Binary(live(bytes, script)),
            Data::Ping(bytes) => Wire::Ping(bytes.clone()),
            Data::Pong(_) => return Ok(()),
            Data::Close(close) => Wire::Close(close.clone().map(|(code, reason)| CloseFrame {
                code: code.into(),
                reason: reason.into(),
            })),
        };
        match self.0.send(message).await {
            Ok(()) | Err(Error::ConnectionClosed) => Ok(()),
            Err(_) => Err(()),
        }
    }

    async fn close(mut self) {
        // The client may have gone already.
        let _ = self.0.close().await;
    }
}

struct Raw(WriteHalf<Io>);

impl Mouth for Raw {
    fn weight(&self, data: &Data) -> u64 {
        match data {
            Data::Binary(bytes) => bytes.len() as u64,
            _ => 0,
        }
    }

    async fn say(&mut self, data: &Data, _: &Script) -> Result<(), ()> {
        let bytes = match data {
            Data::Binary(bytes) => bytes.clone(),
            Data::Text(text) => Bytes::from(text.clone()),
            Data::Close(_) => return self.0.shutdown().await.map_err(|_| ()),
            Data::Ping(_) | Data::Pong(_) => return Ok(()),
        };
        self.0.write_all(&bytes).await.map_err(|_| ())
    }

    async fn close(mut self) {
        let _ = self.0.shutdown().await;
    }
}
