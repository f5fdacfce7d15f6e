//! The reports that `stuntdouble conformance` writes.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};

use super::CommandError;
use crate::report::{
    Annotations, AtEnd, JsonLines, Provenance, Render, Report, Style, Terminal, badge_endpoint, badge_svg, document,
    html, junit, markdown,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    Text,
    Json,
}

/// Options that choose reports.
#[derive(Debug, Args)]
pub(super) struct Reports {
    /// Format of standard output: text, or json (one object per line)
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(super) format: Format,

    /// Write a JUnit XML report
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,

    /// Write an HTML report
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Write a JSON report, one object per line
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Write the summary as one JSON document: versions, options, results by level, group, operation and statement
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,

    /// Write the summary as Markdown
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,

    /// Write a badge: SVG, or JSON for a shields.io endpoint if FILE ends in .json
    #[arg(long, value_name = "FILE")]
    badge: Option<PathBuf>,
}

/// Reports for a GitHub workflow.
#[derive(Debug, Default)]
struct Workflow {
    /// File to append Markdown to.
    summary: Option<OsString>,
    annotations: bool,
}

impl Workflow {
    /// Reads the environment variables of a GitHub workflow. Default: no reports.
    fn from_environment() -> Self {
        let runs = std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true");
        Self {
            summary: std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| runs && !path.is_empty()),
            annotations: runs,
        }
    }
}

impl Reports {
    /// Creates the files of the reports.
    pub(super) fn create(&self, provenance: Provenance) -> Result<Vec<Box<dyn Report>>, CommandError> {
        let provenance = Arc::new(provenance);
        let out = std::io::stdout();
        let coloured = out.is_terminal() && std::env::var_os("NO_COLOR").is_none();
        let progress = std::io::stderr().is_terminal().then(std::io::stderr);
        let workflow = Workflow::from_environment();
        let mut reports: Vec<Box<dyn Report>> = vec![match self.format {
            Format::Text => Box::new(Terminal::new(out, progress, Style { coloured })),
            Format::Json => Box::new(JsonLines::new(out, Arc::clone(&provenance))),
        }];
        let is_json = |path: &Path| path.extension().is_some_and(|extension| extension == "json");
        let badge: Render = if self.badge.as_deref().is_some_and(is_json) {
            badge_endpoint
        } else {
            badge_svg
        };
        let at_end: [(&Option<PathBuf>, Render); 5] = [
            (&self.junit, junit),
            (&self.html, html),
            (&self.summary, document),
            (&self.markdown, markdown),
            (&self.badge, badge),
        ];
        for (path, render) in at_end {
            if let Some(path) = path {
                reports.push(Box::new(AtEnd::new(create(path)?, Arc::clone(&provenance), render)));
            }
        }
        if let Some(path) = &self.json {
            reports.push(Box::new(JsonLines::new(create(path)?, Arc::clone(&provenance))));
        }
        if let Some(path) = workflow.summary {
            let path = Path::new(&path);
            let file = OpenOptions::new().append(true).create(true).open(path);
            let file = file.map_err(|error| CommandError::usage(format!("{}: {error}", path.display())))?;
            reports.push(Box::new(AtEnd::new(BufWriter::new(file), provenance, markdown)));
        }
        if workflow.annotations && self.format == Format::Text {
            reports.push(Box::new(Annotations::new(std::io::stdout())));
        }
        Ok(reports)
    }
}

/// Returns the options that are set, for reports.
pub(super) fn set_options(options: &[(&str, String)]) -> BTreeMap<String, String> {
    let set = options
        .iter()
        .filter(|(_, value)| !value.is_empty() && value != "false");
    set.map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

fn create(path: &Path) -> Result<BufWriter<File>, CommandError> {
    File::create(path)
        .map(BufWriter::new)
        .map_err(|error| CommandError::usage(format!("{}: {error}", path.display())))
}
