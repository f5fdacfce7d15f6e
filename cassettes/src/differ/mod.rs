//! Differences between two responses, and between two cassettes.
//!
//! Guarantees:
//! - Requests are aligned in order, regardless of volatile values, which are bound one to one in the whole session.
//! - Each difference has a grade.
//! - The HTML page is self-contained.
//!
//! Limits: frames are compared one by one in order; binary bodies are compared but not shown.
//! Source: DESIGN.md, decision 9.

mod align;
mod body;
mod compare;
mod html;
mod report;
mod session;

pub(crate) use body::body;
pub(crate) use compare::{Comparison, place, short};
pub(crate) use session::diff;
pub use session::{Diff, Row, Side};

/// Grade of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Grade {
    /// Another status, media type or judged header, or no response.
    Status,
    /// Other keys, another number of items or frames, another type.
    Shape,
    /// Another value in a body.
    Value,
    /// Another text of a message, or another layout of the same body.
    Text,
    /// Another value of any other header.
    Header,
    /// Much later or earlier.
    Timing,
}

impl Grade {
    /// All grades, most severe first.
    pub const ALL: [Self; 6] = [
        Self::Status,
        Self::Shape,
        Self::Value,
        Self::Text,
        Self::Header,
        Self::Timing,
    ];

    /// The name in a report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Shape => "shape",
            Self::Value => "value",
            Self::Text => "text",
            Self::Header => "header",
            Self::Timing => "timing",
        }
    }
}

/// A difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The grade.
    pub grade: Grade,
    /// Location and description.
    pub text: String,
}

impl Finding {
    /// A difference with a grade.
    pub fn new(grade: Grade, text: impl Into<String>) -> Self {
        Self {
            grade,
            text: text.into(),
        }
    }
}
