//! The log search backend.

mod aggs;
mod analysis;
mod api;
mod cluster;
mod dates;
mod error;
mod find;
mod highlight;
mod http;
mod ids;
mod index;
mod mapping;
mod options;
mod pattern;
mod query;
mod score;
mod scroll;
mod syntax;
mod write;

pub use error::{Result, SearchError};
pub use http::SearchServer;
pub use options::{Clock, Limits, Options, Ticks};
