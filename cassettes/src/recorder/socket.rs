//! Upgraded connections, passed on and recorded both ways.

use super::event::BodyEnd;
use super::exchange::Exchange;
use crate::interaction::{Data, Message, Sender};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};

const BUFFER: usize = 16 << 10;

/// Passes bytes both ways until both sides have ended.
pub(super) async fn relay(near: OnUpgrade, far: OnUpgrade, exchange: Exchange) {
    let exchange = Mutex::new(exchange);
    let cut = match tokio::join!(near, far) {
        (Ok(near), Ok(far)) => {
            let (near_read, near_write) = split(TokioIo::new(near));
            let (far_read, far_write) = split(TokioIo::new(far));
            let there = pass(near_read, far_write, Sender::Client, &exchange);
            let back = pass(far_read, near_write, Sender::Server, &exchange);
            let (there, back) = tokio::join!(there, back);
            there.or(back)
        }
        (Err(error), _) | (_, Err(error)) => Some(error.to_string()),
    };
    exchange.lock().end(BodyEnd {
        cut,
        ..BodyEnd::default()
    });
}

/// Passes one direction on; messages are sent to the thread that records before their last bytes are passed on.
async fn pass(
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
        let passed = async {
            to.write_all(bytes).await?;
            to.flush().await
        };
        if let Err(error) = passed.await {
            break Some(error.to_string());
        }
    };
    record(exchange, sender, frames.finish()).await;
    // The other side may be closed already.
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
        let permit = log.room(length).await;
        exchange.lock().message(Message { at, from, data }, permit);
    }
}
