//! Reports that are written when the run has ended.

use std::fmt;
use std::io::{Error, Result, Write};
use std::sync::Arc;

use super::{Provenance, Report, Summary};
use crate::trial::Event;

/// Renders the text of a report.
pub type Render = fn(&Summary, &Provenance) -> std::result::Result<String, String>;

/// Writes one of [`super::junit`], [`super::html`], [`super::document`], [`super::markdown`], [`super::badge_svg`] and
/// [`super::badge_endpoint`] when the run has ended.
pub struct AtEnd<W> {
    out: W,
    summary: Summary,
    provenance: Arc<Provenance>,
    render: Render,
}

impl<W> fmt::Debug for AtEnd<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AtEnd")
            .field("summary", &self.summary)
            .finish_non_exhaustive()
    }
}

impl<W: Write> AtEnd<W> {
    /// Creates a report that is written to `out`.
    pub fn new(out: W, provenance: Arc<Provenance>, render: Render) -> Self {
        Self {
            out,
            summary: Summary::default(),
            provenance,
            render,
        }
    }
}

impl<W: Write> Report for AtEnd<W> {
    fn handle(&mut self, event: &Event) -> Result<()> {
        self.summary.handle(event);
        if matches!(event, Event::Finished { .. }) {
            let text = (self.render)(&self.summary, &self.provenance).map_err(Error::other)?;
            self.out.write_all(text.as_bytes())?;
            self.out.flush()?;
        }
        Ok(())
    }
}
