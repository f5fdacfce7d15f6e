//! Reader of cassette files, including files whose end is missing after a crash.

use super::parse::{Continuation, Document, document, header};
use super::yaml;
use super::{FormatError, node::Node};
use crate::interaction::{Cassette, Header, Interaction, Outcome, Payload};
use std::collections::HashMap;
use std::io::BufRead;
use std::path::Path;

/// Reads a cassette from a file.
///
/// # Errors
/// If the file cannot be read, is not a cassette, has a newer format version, or is malformed before an incomplete end.
pub(crate) fn read(path: &Path) -> Result<Cassette, FormatError> {
    let file = |source| FormatError::File {
        path: path.to_owned(),
        source,
    };
    let reader = std::io::BufReader::new(std::fs::File::open(path).map_err(file)?);
    assemble(Documents::new(reader), file)
}

/// Reads a cassette from its text.
///
/// # Errors
/// As [`read`].
pub(crate) fn parse(text: &str) -> Result<Cassette, FormatError> {
    assemble(Documents::new(text.as_bytes()), |source| FormatError::File {
        path: "(text)".into(),
        source,
    })
}

fn assemble<R: BufRead>(
    mut documents: Documents<R>,
    file: impl Fn(std::io::Error) -> FormatError,
) -> Result<Cassette, FormatError> {
    let mut head: Option<Header> = None;
    let mut interactions: Vec<Interaction> = Vec::new();
    let mut at: HashMap<u64, usize> = HashMap::new();
    while let Some(chunk) = documents.next().map_err(&file)? {
        let malformed = |line: usize, what: String| FormatError::Malformed {
            line: chunk.line + line,
            what,
        };
        let (text, torn) = match chunk.ended {
            true => (chunk.text.as_str(), false),
            false => match complete_part(&chunk.text) {
                Some(text) => (text, text.len() < chunk.text.len()),
                None if head.is_some() => break,
                None => (chunk.text.as_str(), false),
            },
        };
        let tree = match yaml::read(text) {
            Ok(Node::Null) => continue,
            Ok(tree) => tree,
            Err((_, what)) if head.is_none() => return Err(FormatError::NotACassette(what)),
            Err(_) if torn => break,
            Err((line, what)) => return Err(malformed(line, what)),
        };
        if head.is_none() {
            head = Some(header(&tree)?);
            continue;
        }
        match document(&tree).map_err(|what| malformed(1, what))? {
            Document::Interaction(mut interaction, body_of) => {
                if let Some(of) = body_of {
                    let earlier = at.get(&of).and_then(|at| interactions.get(*at));
                    let body = earlier.and_then(Interaction::body).cloned().ok_or_else(|| {
                        malformed(
                            1,
                            format!("`body_of: {of}`, but no earlier interaction {of} has a body"),
                        )
                    })?;
                    if let Outcome::Response(response) = &mut interaction.outcome {
                        response.payload = Payload::Body(body);
                    }
                }
                if at.insert(interaction.id, interactions.len()).is_some() {
                    return Err(malformed(1, format!("a second interaction {}", interaction.id)));
                }
                interactions.push(*interaction);
            }
            Document::Continuation(more) => {
                let of = more.of;
                let whole = at.get(&of).and_then(|at| interactions.get_mut(*at));
                let whole =
                    whole.ok_or_else(|| malformed(1, format!("continuation of the unknown interaction {of}")))?;
                join(whole, more).map_err(|what| malformed(1, what))?;
            }
        }
    }
    interactions.sort_by_key(|interaction| interaction.id);
    let header = head.ok_or_else(|| FormatError::NotACassette("the file is empty".into()))?;
    Ok(Cassette { header, interactions })
}

fn join(whole: &mut Interaction, more: Continuation) -> Result<(), String> {
    let Outcome::Response(response) = &mut whole.outcome else {
        return Err(format!(
            "continuation of interaction {}, which has no response",
            more.of
        ));
    };
    match (&mut response.payload, more.payload) {
        (Payload::Stream(frames), Some(Payload::Stream(others))) => frames.extend(others),
        (Payload::Messages(messages), Some(Payload::Messages(others))) => messages.extend(others),
        (Payload::Body(body), Some(Payload::Body(other))) => *body = [&body[..], &other[..]].concat().into(),
        (_, None) => {}
        _ => {
            return Err(format!(
                "continuation of interaction {} with another kind of content",
                more.of
            ));
        }
    }
    whole.took = more.took.or(whole.took);
    if !more.trailers.0.is_empty() {
        response.trailers = more.trailers;
    }
    response.cut = more.cut.or(response.cut.take());
    Ok(())
}

/// The complete part of a document without an end marker. None if there is none.
fn complete_part(text: &str) -> Option<&str> {
    let lines = text.get(..text.rfind('\n')? + 1)?;
    let last = lines.trim_end_matches('\n').rsplit('\n').next()?;
    if last.starts_with("took_ms:") {
        return Some(lines);
    }
    let marker = ["\nstream:\n", "\nmessages:\n", "\npieces:\n"]
        .into_iter()
        .find_map(|key| Some(lines.find(key)? + key.len()))?;
    let frames = lines.get(marker..)?;
    // No other line of a frame has this indentation, so this is its last line.
    let end = match frames.rfind("\n    at_ms: ") {
        Some(at) => marker + at + 1 + frames.get(at + 1..)?.find('\n')? + 1,
        None => marker,
    };
    lines.get(..end)
}

/// The text of a document in the file.
struct Chunk {
    text: String,
    /// Number of the line before the first.
    line: usize,
    /// Whether it has an end marker.
    ended: bool,
}

/// Splits a YAML stream at its document markers. No line within a document is equal to one.
struct Documents<R> {
    reader: R,
    line: usize,
    /// Whether the end was reached. The file may have grown since then if it is being recorded.
    at_end: bool,
}

impl<R: BufRead> Documents<R> {
    fn new(reader: R) -> Self {
        Self {
            reader,
            line: 0,
            at_end: false,
        }
    }

    fn next(&mut self) -> std::io::Result<Option<Chunk>> {
        let mut chunk = Chunk {
            text: String::new(),
            line: self.line,
            ended: false,
        };
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            if self.at_end || self.reader.read_until(b'\n', &mut bytes)? == 0 {
                self.at_end = true;
                return Ok((!chunk.text.is_empty()).then_some(chunk));
            }
            self.line += 1;
            match bytes.as_slice() {
                b"---\n" | b"---\r\n" | b"...\n" | b"...\r\n" => {
                    if !chunk.text.trim().is_empty() {
                        chunk.ended = true;
                        return Ok(Some(chunk));
                    }
                    chunk.text.clear();
                    chunk.line = self.line;
                }
                line => match std::str::from_utf8(line) {
                    Ok(line) => chunk.text.push_str(line),
                    // An incomplete character is the end of an incomplete file.
                    Err(error) => {
                        let valid = line.get(..error.valid_up_to()).unwrap_or_default();
                        chunk.text.push_str(&String::from_utf8_lossy(valid));
                        if error.error_len().is_some() {
                            chunk.text.push('\u{fffd}');
                            chunk.text.push('\n');
                        }
                    }
                },
            }
        }
    }
}
