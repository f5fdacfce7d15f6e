//! Record once, then replay.
//!
//! Guarantees:
//! - The first run records from the upstream. Later runs replay and need no upstream.
//! - A recording that ends with a panic is a valid cassette.

use crate::format::{self, FormatError};
use crate::recorder::{Recorder, RecorderError, RecorderOptions};
use crate::replayer::{Replayer, ReplayerOptions};
use crate::transport::TransportError;
use std::path::Path;

/// A session that is recorded when its cassette does not exist, and replayed when it does.
///
/// ```
/// use stuntdouble_cassettes::{Once, RecorderOptions, ReplayerOptions};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/sessions/kubernetes-1.2/namespaces.yaml").as_ref();
/// let record = RecorderOptions::new("http://127.0.0.1:8080");
/// let session = Once::start(path, record, ReplayerOptions::default()).await?;
/// // The client sends its requests to session.url().
/// assert!(!session.is_recording(), "the cassette exists");
/// session.stop().await;
/// # Ok(())
/// # }
/// ```
#[non_exhaustive]
pub enum Once {
    /// The cassette is being recorded.
    Recording(Recorder),
    /// The cassette is being replayed.
    Replaying(Replayer),
}

/// Errors of [`Once::start`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OnceError {
    /// The recorder could not be started.
    #[error(transparent)]
    Recorder(#[from] RecorderError),
    /// The cassette could not be read.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// The replayer could not be started.
    #[error(transparent)]
    Transport(#[from] TransportError),
}

impl Once {
    /// Replays the cassette at a path, or records it if there is none.
    ///
    /// # Errors
    /// If the cassette can be neither read nor written, the upstream is not a URL, or the address cannot be bound.
    pub async fn start(path: &Path, record: RecorderOptions, replay: ReplayerOptions) -> Result<Self, OnceError> {
        if !path.exists() {
            return Ok(Self::Recording(Recorder::start(record, path).await?));
        }
        Ok(Self::Replaying(Replayer::start(format::read(path)?, replay).await?))
    }

    /// The URL for the client.
    pub fn url(&self) -> String {
        match self {
            Self::Recording(recorder) => recorder.url(),
            Self::Replaying(replayer) => replayer.url(),
        }
    }

    /// Whether the session is being recorded.
    pub fn is_recording(&self) -> bool {
        matches!(self, Self::Recording(_))
    }

    /// Asserts that every recorded interaction was replayed and no other request was received.
    ///
    /// # Panics
    /// If the assertion fails. Never while recording.
    pub fn assert_all_played(&self) {
        if let Self::Replaying(replayer) = self {
            replayer.assert_all_played();
        }
    }

    /// Stops, and waits until every connection is closed and everything is recorded.
    pub async fn stop(self) {
        match self {
            Self::Recording(recorder) => {
                recorder.stop().await;
            }
            Self::Replaying(replayer) => replayer.stop().await,
        }
    }
}
