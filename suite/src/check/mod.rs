//! Checks: comparisons of expected and actual values, without a network.
//!
//! Guarantees:
//! - A mismatch says what it is about, what was expected and what came, and shows both as a diff.
//!
//! Source: the catalog; the recorded server for the fields of a Status and of metadata.

mod answer;
mod content;
mod document;
mod history;
mod hits;
mod list;
mod metadata;
mod shown;
mod stream;

use std::io::Read;

use bytes::Bytes;
use serde_json::Value;
use similar::{ChangeTag, TextDiff};

pub use answer::{Named, error_status, is_compact, is_pretty, result_type, status_of_success};
pub use content::{changed, contains, differs, equal, of_type, pointer_presence, pretty, without};
pub use document::{addresses, description, version};
pub use history::{ObjectHistory, State, WatchStart, streamed};
pub use hits::{hits, search_hits, search_result};
pub use list::{items, namespaced, resources};
pub use metadata::{Identity, is_later, list_metadata, number, same_identity, system_fields};
pub use shown::{clipped, confined, shown_body};
pub use stream::{ExpectedEvent, Notification, Progress, StreamRules, WrittenObjects, compare_events};

use crate::catalog::Level;

/// Fields of an object that controllers may write. `secrets` are the tokens of a service account.
pub(crate) const WRITTEN_BY_OTHERS: [&str; 3] = ["metadata", "status", "secrets"];
/// Maximum size of a decoded body, in bytes.
const MAX_DECODED_BYTES: u64 = 16 << 20;

/// Response of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The Content-Type header.
    pub content_type: Option<String>,
    /// All headers.
    pub headers: http::HeaderMap,
    /// The body.
    pub body: Bytes,
}

impl Answer {
    /// Returns a header as text. Bytes that are not UTF-8 are replaced.
    pub fn header(&self, name: &str) -> Option<String> {
        let values = self.headers.get_all(name).iter();
        let texts: Vec<String> = values
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
            .collect();
        (!texts.is_empty()).then(|| texts.join(", "))
    }

    /// Whether the body has the content encoding of the headers: none, or gzip.
    pub fn is_encoded(&self) -> bool {
        match self.header("content-encoding").as_deref() {
            None | Some("identity") => true,
            Some("gzip") => self.body.is_empty() || flate2::read::GzDecoder::new(self.body.as_ref()).header().is_some(),
            Some(_) => false,
        }
    }

    /// Whether the headers allow caching without revalidation.
    pub fn is_cacheable(&self) -> bool {
        let control = self.header("cache-control").unwrap_or_default().to_lowercase();
        let mut directives = control.split(',').map(str::trim);
        let forbids = |directive: &str| ["no-store", "no-cache", "max-age=0"].contains(&directive);
        let allows = |directive: &str| directive == "public" || directive.starts_with("max-age=");
        !directives.clone().any(forbids) && directives.any(allows)
    }

    /// Returns the body as text, decoded if it is gzip. Bytes that are not UTF-8 are replaced.
    pub fn text(&self) -> String {
        let mut decoded = Vec::new();
        if self.header("content-encoding").as_deref() == Some("gzip") {
            let mut reader = flate2::read::GzDecoder::new(self.body.as_ref()).take(MAX_DECODED_BYTES);
            if reader.read_to_end(&mut decoded).is_ok() {
                return String::from_utf8_lossy(&decoded).into_owned();
            }
        }
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// A difference between an expected and an actual value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// Subject of the mismatch.
    pub about: String,
    /// Expected value.
    pub expected: String,
    /// Actual value.
    pub actual: String,
    /// Level of the expectation, if it is less binding than the case.
    pub level: Level,
}

impl Mismatch {
    /// Creates a mismatch of two texts.
    pub fn new(about: impl Into<String>, expected: impl Into<String>, actual: impl Into<String>) -> Self {
        Self {
            about: about.into(),
            expected: expected.into(),
            actual: actual.into(),
            level: Level::Must,
        }
    }

    /// Lowers the level to at most this one.
    pub fn at(mut self, level: Level) -> Self {
        self.level = self.level.max(level);
        self
    }

    /// Creates a mismatch of two values, shown as indented JSON.
    pub fn of_values(about: impl Into<String>, expected: &Value, actual: &Value) -> Self {
        Self::new(about, pretty(expected), pretty(actual))
    }

    /// Returns the lines of the diff with their marks: `-` for expected, `+` for actual, a space for both. Long common
    /// parts are left out.
    pub fn diff(&self) -> Vec<(char, String)> {
        let diff = TextDiff::from_lines(&self.expected, &self.actual);
        let mut lines = Vec::new();
        for (number, group) in diff.grouped_ops(2).iter().enumerate() {
            if number > 0 {
                lines.push((' ', "…".to_owned()));
            }
            for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
                let mark = match change.tag() {
                    ChangeTag::Delete => '-',
                    ChangeTag::Insert => '+',
                    ChangeTag::Equal => ' ',
                };
                lines.push((mark, change.value().trim_end_matches('\n').to_owned()));
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_content_encoding_of_a_body_is_checked() {
        let answer = |encoding: Option<&'static str>, body: &[u8]| {
            let named = encoding.map(|name| (http::header::CONTENT_ENCODING, http::HeaderValue::from_static(name)));
            Answer {
                headers: named.into_iter().collect(),
                body: Bytes::copy_from_slice(body),
                ..Answer::default()
            }
        };
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut encoder, b"{}").unwrap();
        assert!(answer(Some("gzip"), &encoder.finish().unwrap()).is_encoded());
        assert!(answer(None, b"{}").is_encoded());
        assert!(!answer(Some("gzip"), b"{}").is_encoded());
        assert!(!answer(Some("br"), b"{}").is_encoded());
    }

    #[rstest::rstest]
    #[case::kept("max-age=3600", true)]
    #[case::shared("Public", true)]
    #[case::none("", false)]
    #[case::asked_again("public, max-age=0", false)]
    #[case::not_kept("no-store, max-age=60", false)]
    fn cacheability_follows_the_cache_control_header(#[case] control: &'static str, #[case] kept: bool) {
        let value = http::HeaderValue::from_static(control);
        let answer = Answer {
            headers: [(http::header::CACHE_CONTROL, value)].into_iter().collect(),
            ..Answer::default()
        };
        assert_eq!(answer.is_cacheable(), kept);
    }

    #[test]
    fn a_diff_marks_missing_and_additional_lines() {
        let mismatch = Mismatch::of_values("object", &json!({"a": 1, "b": 2}), &json!({"a": 1, "b": 3}));
        let lines = mismatch.diff();
        assert!(lines.contains(&('-', "  \"b\": 2".to_owned())), "{lines:?}");
        assert!(lines.contains(&('+', "  \"b\": 3".to_owned())), "{lines:?}");
        assert!(lines.contains(&(' ', "  \"a\": 1,".to_owned())), "{lines:?}");
    }
}
