//! Writer of cassettes that are recorded, and of whole cassettes.
//!
//! Guarantees:
//! - When [`CassetteWriter::flush`] returns, everything appended was passed to the operating system, not necessarily to
//!   the disk.
//! - Streams of several interactions can be open at the same time.
//! - Memory is bounded by [`BUFFER`] and the data of one call.

use super::FormatError;
use super::document;
use super::document::{frame, header, message, opening, piece, piece_around_line, tail};
use crate::interaction::{Cassette, Frame, Header, Headers, Interaction, Marks, Message, Outcome, Payload, Request};
use jiff::Timestamp;
use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::NamedTempFile;

const BEGIN: &str = "---\n";
const ENDED: &str = "...\n";

/// Maximum size of the buffer in bytes.
const BUFFER: usize = 64 << 10;

/// A line of at least this length is written without being copied to the buffer.
pub(super) const MIN_DIRECT: usize = 32 << 10;

/// A longer body is written once. Later interactions with the same body refer to the first.
const MIN_SHARED: usize = 64 << 10;

/// A cassette that is being recorded.
#[derive(Debug)]
pub(crate) struct CassetteWriter {
    path: PathBuf,
    file: File,
    /// Bytes that are not in the file yet.
    buffer: Vec<u8>,
    /// The interaction whose document is the last one and not ended.
    open: Option<u64>,
    /// Whether writing has failed.
    stopped: bool,
}

/// End of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct End {
    /// Time from the request to the end.
    pub took: Duration,
    /// Trailer fields.
    pub trailers: Headers,
    /// Why the response is incomplete, if it is.
    pub cut: Option<String>,
}

impl CassetteWriter {
    /// Creates a file that only its owner can read, and writes the header. An existing file is an error unless
    /// `overwrite`.
    ///
    /// # Errors
    /// If the file exists, or cannot be written.
    pub(crate) fn create(path: &Path, of: &Header, overwrite: bool) -> Result<Self, FormatError> {
        let mut text = String::from(BEGIN);
        header(&mut text, of);
        text.push_str(ENDED);
        let fail = |source| FormatError::File {
            path: path.to_owned(),
            source,
        };
        let mut file = create_private(path, overwrite).map_err(fail)?;
        file.write_all(text.as_bytes()).map_err(fail)?;
        Ok(Self {
            path: path.to_owned(),
            file,
            buffer: Vec::new(),
            open: None,
            stopped: false,
        })
    }

    /// Path of the file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Appends an interaction. If its payload is a stream or messages and `took` is none, it stays open for
    /// [`CassetteWriter::frame`], [`CassetteWriter::message`] and [`CassetteWriter::end`]. `body_of` is the earlier
    /// interaction that has the same body, if it is not written again.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn append(
        &mut self,
        opening: Opening,
        wait: Duration,
        took: Option<Duration>,
        outcome: &Outcome,
        body_of: Option<u64>,
    ) -> Result<(), FormatError> {
        let Opening { id, mut text } = opening;
        let open = append_outcome(&mut text, wait, took, outcome, body_of);
        self.write(&text, None, open.then_some(id))
    }

    /// Appends a frame to the stream of an interaction.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn frame(&mut self, id: u64, of: &Frame) -> Result<(), FormatError> {
        let mut text = String::new();
        frame(&mut text, of);
        self.write(&text, Some((id, "stream:\n")), Some(id))
    }

    /// Appends an interaction whose body is written in pieces. It stays open for [`CassetteWriter::piece`] and
    /// [`CassetteWriter::end`].
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn begin(&mut self, opening: Opening, wait: Duration, outcome: &Outcome) -> Result<(), FormatError> {
        let Opening { id, mut text } = opening;
        document::outcome(&mut text, wait, None, outcome, None);
        text.push_str("pieces:\n");
        self.write(&text, None, Some(id))
    }

    /// Appends a piece, given in two parts, to the body of an interaction.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn piece(&mut self, id: u64, at: Duration, begin: &[u8], rest: &[u8]) -> Result<(), FormatError> {
        self.lead(Some((id, "pieces:\n")), Some(id))?;
        match piece_around_line(begin, rest, at).filter(|_| rest.len() >= MIN_DIRECT) {
            Some((before, line, after)) => {
                self.buffer.extend_from_slice(&before);
                self.flush()?;
                self.write_to_file(line)?;
                self.buffer.extend_from_slice(&after);
            }
            None if begin.is_empty() => piece(&mut self.buffer, at, rest),
            None => piece(&mut self.buffer, at, &[begin, rest].concat()),
        }
        self.flush_if_full()
    }

    /// Appends a message to an interaction with an upgraded connection.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn message(&mut self, id: u64, of: &Message) -> Result<(), FormatError> {
        let mut text = String::new();
        message(&mut text, of);
        self.write(&text, Some((id, "messages:\n")), Some(id))
    }

    /// Ends a stream, a body in pieces or an upgraded connection.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn end(&mut self, id: u64, end: &End) -> Result<(), FormatError> {
        let mut text = String::new();
        tail(&mut text, Some(end.took), &end.trailers, end.cut.as_deref());
        text.push_str(ENDED);
        self.write(&text, Some((id, "")), None)
    }

    /// Writes the buffer to the file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn flush(&mut self) -> Result<(), FormatError> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let result = self.write_to_file(&buffer);
        buffer.clear();
        self.buffer = buffer;
        result
    }

    fn write_to_file(&mut self, bytes: &[u8]) -> Result<(), FormatError> {
        self.file.write_all(bytes).map_err(|source| {
            // Later text would be read as part of the incomplete document.
            self.stopped = true;
            FormatError::File {
                path: self.path.clone(),
                source,
            }
        })
    }

    /// Appends text to the document of `within`, or as a document of its own. `open` is the interaction that stays
    /// open.
    fn write(&mut self, text: &str, within: Option<(u64, &str)>, open: Option<u64>) -> Result<(), FormatError> {
        self.lead(within, open)?;
        self.buffer.extend_from_slice(text.as_bytes());
        self.flush_if_full()
    }

    /// Appends the markers needed before a text. Arguments are as for [`CassetteWriter::write`].
    fn lead(&mut self, within: Option<(u64, &str)>, open: Option<u64>) -> Result<(), FormatError> {
        if self.stopped {
            return Err(FormatError::Stopped);
        }
        if self.open.is_some() && self.open != within.map(|(id, _)| id) {
            self.buffer.extend_from_slice(ENDED.as_bytes());
            self.open = None;
        }
        if let (Some((id, key)), None) = (within, self.open) {
            self.buffer.extend_from_slice(BEGIN.as_bytes());
            self.buffer
                .extend_from_slice(format!("stream_of: {id}\n{key}").as_bytes());
        }
        self.open = open;
        Ok(())
    }

    /// Writes the buffer to the file if it exceeds [`BUFFER`].
    fn flush_if_full(&mut self) -> Result<(), FormatError> {
        if self.buffer.len() > BUFFER {
            self.flush()
        } else {
            Ok(())
        }
    }
}

/// The beginning of an interaction's document, up to the end of the request.
#[derive(Clone, Debug)]
pub(crate) struct Opening {
    id: u64,
    text: String,
}

impl Opening {
    /// Formats the beginning of the document for a request.
    pub(crate) fn new(id: u64, started: Timestamp, request: &Request) -> Self {
        let mut text = String::with_capacity(1024);
        text.push_str(BEGIN);
        opening(&mut text, id, started, None, &Marks::default(), request);
        Self { id, text }
    }
}

/// Appends the outcome of a request. Returns whether the document stays open.
fn append_outcome(
    text: &mut String,
    wait: Duration,
    took: Option<Duration>,
    outcome: &Outcome,
    body_of: Option<u64>,
) -> bool {
    document::outcome(text, wait, took, outcome, body_of);
    let payload = match outcome {
        Outcome::Response(response) => Some(&response.payload),
        Outcome::Failure(_) => None,
    };
    match payload {
        Some(Payload::Stream(frames)) => frames.iter().for_each(|each| frame(text, each)),
        Some(Payload::Messages(messages)) => messages.iter().for_each(|each| message(text, each)),
        Some(Payload::Body(_)) | None => {}
    }
    let open = took.is_none() && !matches!(payload, Some(Payload::Body(_)) | None);
    if !open {
        end(text, took, outcome);
    }
    open
}

/// Appends the end of an interaction's document.
fn end(text: &mut String, took: Option<Duration>, outcome: &Outcome) {
    match outcome {
        Outcome::Response(response) => tail(text, took, &response.trailers, response.cut.as_deref()),
        Outcome::Failure(_) => tail(text, took, &Headers::default(), None),
    }
    text.push_str(ENDED);
}

/// The text of a cassette.
pub(crate) fn to_string(cassette: &Cassette) -> String {
    let mut text = String::from(BEGIN);
    header(&mut text, &cassette.header);
    text.push_str(ENDED);
    let mut bodies: HashMap<&[u8], u64> = HashMap::new();
    for interaction in &cassette.interactions {
        text.push_str(BEGIN);
        let Interaction {
            id,
            note,
            started,
            wait,
            took,
            request,
            outcome,
            marks,
        } = interaction;
        opening(&mut text, *id, *started, note.as_deref(), marks, request);
        let long_body = interaction.body().filter(|body| body.len() > MIN_SHARED);
        let body_of = long_body.and_then(|body| {
            let first = *bodies.entry(body).or_insert(*id);
            (first != *id).then_some(first)
        });
        if append_outcome(&mut text, *wait, *took, outcome, body_of) {
            end(&mut text, None, outcome);
        }
    }
    text
}

/// Creates a file that only its owner can read.
fn create_private(path: &Path, overwrite: bool) -> std::io::Result<File> {
    let mut options = File::options();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    if !overwrite {
        return options.create_new(true).open(path);
    }
    let file = options.create(true).truncate(true).open(path)?;
    #[cfg(unix)]
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    Ok(file)
}

/// Writes a cassette to a file that only its owner can read. The file is replaced as a whole or not at all.
///
/// # Errors
/// If the file cannot be written.
pub(crate) fn write(path: &Path, cassette: &Cassette) -> Result<(), FormatError> {
    replace(path, to_string(cassette).as_bytes())
}

/// Writes a temporary file in the same folder and renames it. Only its owner can read it.
///
/// # Errors
/// If the file cannot be written.
pub(crate) fn replace(path: &Path, content: &[u8]) -> Result<(), FormatError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let written = || {
        let mut file = NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
        file.write_all(content)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    };
    written().map_err(|source| FormatError::File {
        path: path.to_owned(),
        source,
    })
}
