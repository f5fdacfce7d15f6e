//! Replay of upgraded connections. Each message of the server is sent after the client's messages before it.

use super::pace::Pace;
use super::playback::{Playback, SelectedInteraction};
use super::response::live;
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

/// Maximum delay of a message of the server until the recorded messages of the client before it have arrived.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(10);

/// Sends the recorded messages of the server.
pub(super) async fn run(near: OnUpgrade, selected: SelectedInteraction, playback: Arc<Playback>, pace: Pace) {
    let Ok(upgraded) = near.await else { return };
    let io = TokioIo::new(upgraded);
    let (received, receiver) = watch::channel(0);
    let server = ServerSide {
        selected,
        playback,
        pace,
        receiver,
    };
    if server.selected.interaction.is_websocket() {
        let (sink, stream) = WebSocketStream::from_raw_socket(io, Role::Server, None).await.split();
        tokio::select! {
            () = server.send_messages(Frames(sink)) => {}
            () = count_messages(stream, received) => {}
        }
    } else {
        let (read, write) = tokio::io::split(io);
        tokio::select! {
            () = server.send_messages(Raw(write)) => {}
            () = count_bytes(read, received) => {}
        }
    }
}

/// Counts the client's messages until it disconnects.
async fn count_messages(mut stream: SplitStream<WebSocketStream<Io>>, received: watch::Sender<u64>) {
    while let Some(Ok(message)) = stream.next().await {
        match message {
            Wire::Text(_) | Wire::Binary(_) => received.send_modify(|count| *count += 1),
            Wire::Close(_) => break,
            Wire::Ping(_) | Wire::Pong(_) | Wire::Frame(_) => {}
        }
    }
    // The close frame must be answered, and there may be recorded messages after it.
    tokio::time::sleep(Duration::from_millis(50)).await;
}

/// Counts the client's bytes until it disconnects.
async fn count_bytes(mut read: ReadHalf<Io>, received: watch::Sender<u64>) {
    let mut buffer = vec![0; 16 << 10];
    while let Ok(count) = read.read(&mut buffer).await {
        if count == 0 {
            return std::future::pending().await;
        }
        received.send_modify(|all| *all += count as u64);
    }
}

struct ServerSide {
    selected: SelectedInteraction,
    playback: Arc<Playback>,
    pace: Pace,
    receiver: watch::Receiver<u64>,
}

impl ServerSide {
    async fn send_messages(mut self, mut sink: impl MessageSink) {
        let interaction = self.selected.interaction.clone();
        let mut expected = 0;
        let mut causes = self.playback.causes(&self.selected);
        for message in interaction.messages().unwrap_or_default() {
            if message.from == Sender::Client {
                expected += sink.size(&message.data);
                continue;
            }
            let Message { at, data, .. } = message;
            self.pace.due(*at).await;
            let _ = timeout(CLIENT_TIMEOUT, self.receiver.wait_for(|received| *received >= expected)).await;
            self.playback
                .wait_for_causes(&self.selected, *at, &mut causes, self.pace.hold)
                .await;
            if sink.send(data, &self.playback).await.is_err() {
                return;
            }
        }
        match interaction.took {
            Some(took) => self.pace.due(took).await,
            None if !self.pace.is_instant() => std::future::pending().await,
            None => {}
        }
        let _ = timeout(CLIENT_TIMEOUT, self.receiver.wait_for(|received| *received >= expected)).await;
        sink.close().await;
    }
}

/// Destination of the server's messages.
trait MessageSink {
    /// Amount by which a message of the client is counted: one message, or its bytes.
    fn size(&self, data: &Data) -> u64;
    async fn send(&mut self, data: &Data, playback: &Playback) -> Result<(), ()>;
    async fn close(self);
}

struct Frames(SplitSink<WebSocketStream<Io>, Wire>);

impl MessageSink for Frames {
    fn size(&self, data: &Data) -> u64 {
        u64::from(matches!(data, Data::Text(_) | Data::Binary(_)))
    }

    async fn send(&mut self, data: &Data, playback: &Playback) -> Result<(), ()> {
        let message = match data {
            Data::Text(text) => Wire::text(playback.live_body(text, false).into_owned()),
            Data::Binary(bytes) => Wire::Binary(live(bytes, false, playback)),
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
        // An error means that the client is already disconnected.
        let _ = self.0.close().await;
    }
}

struct Raw(WriteHalf<Io>);

impl MessageSink for Raw {
    fn size(&self, data: &Data) -> u64 {
        match data {
            Data::Binary(bytes) => bytes.len() as u64,
            _ => 0,
        }
    }

    async fn send(&mut self, data: &Data, _: &Playback) -> Result<(), ()> {
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
