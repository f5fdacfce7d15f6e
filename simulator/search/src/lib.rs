//! Log search backend: an HTTP server that behaves like Elasticsearch 1.5.
//!
//! ```
//! use stuntdouble_search::{Options, SearchServer};
//!
//! # fn main() -> Result<(), stuntdouble_search::SearchError> {
//! let server = SearchServer::new(Options::default());
//! server.index("logstash-2015.06.26", "fluentd", None, br#"{"log": "connection refused"}"#)?;
//! server.refresh()?;
//! # Ok(())
//! # }
//! ```
//!
//! Guarantees:
//! - Totals, documents and scores are those of Lucene 4.10, with statistics per shard.
//! - Bad input is an error and never ends the server.
//! - The clock is injected.
//! - Memory and time are bounded ([`Limits`]).
//!
//! Limits:
//! - The index is in memory, and optionally also in a data directory ([`SearchServer::open`]).
//! - One process, however many nodes it reports.
//! - Scripts in the language `expression` only; no percolator.
//!
//! Source: the documented log queries; Elasticsearch 1.5 on Lucene 4.10 for everything else.

mod aggs;
mod analysis;
mod api;
mod budget;
mod check;
mod cluster;
mod dates;
mod durable;
mod durations;
mod error;
mod exception;
mod find;
mod highlight;
mod ids;
mod index;
mod java_pattern;
mod json;
mod mapping;
mod murmur;
mod mustache;
mod options;
mod pattern;
mod query;
mod rest;
mod routing;
mod score;
mod script;
mod scroll;
mod shared;
mod similarity;
mod sizes;
mod suggest;
mod syntax;
mod ties;
mod write;

pub use analysis::{Analyzer, Token};
pub use check::check_query;
pub use cluster::DataDirectorySummary;
pub use durable::DataDirectoryError;
pub use error::{Result, SearchError};
pub use exception::Exception;
pub use options::{Clock, Limits, Options, Retention, Ticks};
pub use rest::SearchServer;
