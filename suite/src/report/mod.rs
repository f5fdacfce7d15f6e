//! Reports: one stream of events, told to people and to programs.
//!
//! Promises: every report is made of the same events; pending and skipped are never shown as passed; a failure shows the
//! requirement, where it stands, what was expected and what came, and the request to repeat it with.
//!
//! Limits: JUnit and HTML are written when the run has ended.
//!
//! Source of its semantics: [`crate::trial::Event`]; JUnit XML as Jenkins reads it.

mod failure;
mod html;
mod json;
mod junit;
mod style;
mod summary;
mod terminal;

pub use failure::explain;
pub use html::Html;
pub use json::{JsonLines, listed};
pub use junit::Junit;
pub use style::Style;
pub use summary::{Count, Summary};
pub use terminal::Terminal;

use crate::trial::Event;

/// Somebody who is told of a run.
pub trait Report {
    /// Hears of an event.
    ///
    /// # Errors
    /// If what is to be written cannot be.
    fn receive(&mut self, event: &Event) -> std::io::Result<()>;
}
