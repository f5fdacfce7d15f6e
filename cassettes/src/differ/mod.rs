//! What differs between two responses, and between two cassettes.
//!
//! Promises: requests are aligned in their order, whatever values were made up anew in them; volatile values are bound,
//! one to one throughout; each difference has a grade; a page of HTML needs nothing but itself.
//! Limits: frames are compared one by one in their order; bodies that are not text are compared, not shown.
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

/// What kind of difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Grade {
    /// Another status, media type or header that the response hangs on, or no response.
    Status,
    /// Other keys, another number of items or frames, another type.
    Shape,
    /// Another value in a body.
    Value,
    /// Another wording of a message, or another layout of the same body.
    Text,
    /// Another header that the response does not hang on.
    Header,
    /// Much later or earlier.
    Timing,
}

impl Grade {
    /// All grades, the gravest first.
    pub const ALL: [Self; 6] = [
        Self::Status,
        Self::Shape,
        Self::Value,
        Self::Text,
        Self::Header,
        Self::Timing,
    ];

    /// Its name in a report.
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
    /// What kind.
    pub grade: Grade,
    /// Where and what.
    pub text: String,
}

impl Finding {
    /// A difference of a grade.
    pub fn new(grade: Grade, text: impl Into<String>) -> Self {
        Self {
            grade,
            text: text.into(),
        }
    }
}
