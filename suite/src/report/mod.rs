//! Reports: one stream of events, rendered for people and for programs.
//!
//! Guarantees:
//! - Every report is made from the same events and has every trial.
//! - A trial that was not run is never shown as passed.
//! - A failure shows the requirement, its source, the difference, and the requests as curl lines.
//!
//! Limits:
//! - All reports but the terminal and the JSON lines are written when the run has ended.
//!
//! Source: [`crate::trial::Event`]; JUnit XML as Jenkins and Ant read it.

mod at_end;
mod badge;
mod coverage;
mod document;
mod failure;
mod html;
mod json;
mod junit;
mod markdown;
mod provenance;
mod results;
mod style;
mod summary;
mod terminal;

pub use at_end::{AtEnd, Render};
pub use badge::{badge_endpoint, badge_svg};
pub use coverage::coverage;
pub use document::document;
pub use failure::explain;
pub use html::html;
pub use json::{JsonLines, listed};
pub use junit::junit;
pub use markdown::{Annotations, markdown};
pub use provenance::Provenance;
pub use results::{Results, ResultsError};
pub use style::Style;
pub use summary::{Conformance, Count, Score, Summary};
pub use terminal::Terminal;

use crate::trial::Event;

/// A report of a run.
pub trait Report {
    /// Handles an event of the run.
    ///
    /// # Errors
    /// The I/O error, if the report cannot be written.
    fn handle(&mut self, event: &Event) -> std::io::Result<()>;
}
