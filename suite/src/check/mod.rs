//! Checks: what was expected of an answer against what came, as values and without a network.
//!
//! Promises: every check can fail; a mismatch says what it is about, what was expected and what came, and can show both
//! as a diff.
//!
//! Limits: nothing is sent here.
//!
//! Source of its semantics: the catalog; for the shape of a Status the recorded server.

mod answer;
mod content;
mod hits;
mod list;
mod stream;

use bytes::Bytes;
use serde_json::Value;
use similar::{ChangeTag, TextDiff};

pub use answer::{is_pretty, refusal, result_type, status_of_success};
pub use content::{contains, equal, pointer_presence, of_type, pretty, without};
pub use hits::hits;
pub use list::{items, resources};
pub use stream::{Notification, Progress, ExpectedEvent, WrittenObjects, judge};

/// What a server answered.
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
    /// A header as text, with what is no UTF-8 replaced.
    pub fn header(&self, name: &str) -> Option<String> {
        self.headers
            .get(name)
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
    }

    /// The body as text, with what is no UTF-8 replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// Something that is not as it was expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// What it is about.
    pub about: String,
    /// What was expected.
    pub expected: String,
    /// What came.
    pub actual: String,
}

impl Mismatch {
    /// A mismatch of two texts.
    pub fn new(about: impl Into<String>, expected: impl Into<String>, actual: impl Into<String>) -> Self {
        Self {
            about: about.into(),
            expected: expected.into(),
            actual: actual.into(),
        }
    }

    /// A mismatch of two values, laid out for reading.
    pub fn of_values(about: impl Into<String>, expected: &Value, actual: &Value) -> Self {
        Self::new(about, pretty(expected), pretty(actual))
    }

    /// The lines of the two, each with a mark: `-` for what was expected and is not there, `+` for what is there and was
    /// not expected, a space for what is as it should be. Long agreements are left out.
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
    fn a_diff_marks_what_is_missing_and_what_is_too_much() {
        let mismatch = Mismatch::of_values("object", &json!({"a": 1, "b": 2}), &json!({"a": 1, "b": 3}));
        let lines = mismatch.diff();
        assert!(lines.contains(&('-', "  \"b\": 2".to_owned())), "{lines:?}");
        assert!(lines.contains(&('+', "  \"b\": 3".to_owned())), "{lines:?}");
        assert!(lines.contains(&(' ', "  \"a\": 1,".to_owned())), "{lines:?}");
    }
}
