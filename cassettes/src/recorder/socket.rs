//! Upgraded connections, forwarded and recorded in both directions.

use super::event::BodyEnd;
use super::exchange::Exchange;
use crate::interaction::{Data, Message, Sender};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};

/// Size of a read buffer in bytes.
const BUFFER: usize = 16 << 10;

/// Forwards bytes in both directions until both sides have ended.
pub(super) async fn relay(near: OnUpgrade, far: OnUpgrade, exchange: Exchange) {
    let exchange = Mutex::new(exchange);
    let cut = match tokio::join!(near, far) {
        (Ok(near), Ok(far)) => {
            let (near_read, near_write) = split(TokioIo::new(near));
            let (far_read, far_write) = split(TokioIo::new(far));
            let to_server = forward(near_read, far_write, Sender::Client, &exchange);
            let to_client = forward(far_read, near_write, Sender::Server, &exchange);
            let (to_server, to_client) = tokio::join!(to_server, to_client);
            to_server.or(to_client)
        }
        (Err(error), _) | (_, Err(error)) => Some(error.to_string()),
    };
    exchange.lock().end(BodyEnd {
        cut,
        ..BodyEnd::default()
    });
}

/// Forwards one direction. A message is sent to the recording thread before its last bytes are forwarded. Returns the
/// error that ended the connection, if any.
async fn forward(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    sender: Sender,
    exchange: &Mutex<Exchange>,
) -> Option<String> {
    let mut frames = exchange.lock().frames();
    let mut buffer = vec![0; BUFFER];
    let cut = loop {
        let bytes = match from.read(&mut buffer).await {
            Ok(0) => break None,
            Ok(count) => buffer.get(..count).unwrap_or_default(),
            Err(error) => break Some(error.to_string()),
        };
        record(exchange, sender, frames.read(bytes)).await;
        let forwarded = async {
            to.write_all(bytes).await?;
            to.flush().await
        };
        if let Err(error) = forwarded.await {
            break Some(error.to_string());
        }
    };
    record(exchange, sender, frames.finish()).await;
    // An error means that the other side is closed already.
    let _ = to.shutdown().await;
    cut
}

async fn record(exchange: &Mutex<Exchange>, from: Sender, messages: Vec<Data>) {
    let at = exchange.lock().elapsed();
    for data in messages {
        let length = match &data {
            Data::Text(text) => text.len(),
            Data::Binary(bytes) | Data::Ping(bytes) | Data::Pong(bytes) => bytes.len(),
            Data::Close(_) => 0,
        };
        let log = exchange.lock().log();
        let permit = log.reserve(length).await;
        exchange.lock().message(Message { at, from, data }, permit);
    }
}
