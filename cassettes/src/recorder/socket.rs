//! Upgraded connections, passed on and recorded both ways.

use super::pending::PendingInteraction;
use crate::interaction::{Data, Message, Sender};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};

const BUFFER: usize = 16 << 10;

/// Passes bytes both ways until both sides have ended.
pub(super) async fn relay(near: OnUpgrade, far: OnUpgrade, interaction: PendingInteraction) {
    let interaction = Mutex::new(interaction);
    let cut = match tokio::join!(near, far) {
        (Ok(near), Ok(far)) => {
            let (near_read, near_write) = split(TokioIo::new(near));
            let (far_read, far_write) = split(TokioIo::new(far));
            let there = pass(near_read, far_write, Sender::Client, &interaction);
            let back = pass(far_read, near_write, Sender::Server, &interaction);
            let (there, back) = tokio::join!(there, back);
            there.or(back)
        }
        (Err(error), _) | (_, Err(error)) => Some(error.to_string()),
    };
    interaction.lock().end(cut.as_deref());
}

/// Passes one direction on; bytes are recorded before they are passed on.
async fn pass(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    sender: Sender,
    interaction: &Mutex<PendingInteraction>,
) -> Option<String> {
    let mut frames = interaction.lock().frames();
    let mut buffer = vec![0; BUFFER];
    let cut = loop {
        let bytes = match from.read(&mut buffer).await {
            Ok(0) => break None,
            Ok(count) => buffer.get(..count).unwrap_or_default(),
            Err(error) => break Some(error.to_string()),
        };
        record(&mut interaction.lock(), sender, frames.read(bytes));
        let passed = async {
            to.write_all(bytes).await?;
            to.flush().await
        };
        if let Err(error) = passed.await {
            break Some(error.to_string());
        }
    };
    record(&mut interaction.lock(), sender, frames.finish());
    // The other side may be closed already.
    let _ = to.shutdown().await;
    cut
}

fn record(interaction: &mut PendingInteraction, from: Sender, messages: Vec<Data>) {
    let at = interaction.elapsed();
    messages
        .into_iter()
        .for_each(|data| interaction.message(&Message { at, from, data }));
}
