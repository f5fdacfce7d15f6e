//! Reports: one stream of events, for people and for programs.
//!
//! Guarantees: every report is made of the same events and has every trial; what was not played is never shown as
//! passed; a failure shows the requirement, its source, the difference, and the requests as curl lines.
//!
//! Limits: JUnit and HTML are written when the run has ended.
//!
//! Source of semantics: [`crate::trial::Event`]; JUnit XML as Jenkins reads it.

mod coverage;
mod failure;
mod html;
mod json;
mod junit;
mod results;
mod style;
mod summary;
mod terminal;

pub use coverage::coverage;
pub use failure::explain;
pub use html::Html;
pub use json::{JsonLines, listed};
pub use junit::Junit;
pub use results::{Results, ResultsError};
pub use style::Style;
pub use summary::{Conformance, Count, Score, Summary};
pub use terminal::Terminal;

use crate::trial::Event;

/// A report of a run.
pub trait Report {
    /// Takes an event in.
    ///
    /// # Errors
    /// If the report cannot be written.
    fn handle(&mut self, event: &Event) -> std::io::Result<()>;
}
