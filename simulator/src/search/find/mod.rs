//! Searching: a request over several indices, their hits in one order.
//!
//! Promises: statistics and refusals are those of each index; hits of equal rank are in the order of their indices and of their arrival.
//! Limits: a window of hits, a number of buckets.
//! Source: Elasticsearch 1.5's query-then-fetch.

mod collect;
mod execute;
mod hits;
mod request;
mod sort;
mod source;

pub(crate) use collect::Candidate;
pub(crate) use execute::{Failure, Outcome, Searched, best_of, execute, prepare_query, search};
pub(crate) use hits::render;
pub(crate) use request::{QuerySource, SearchRequest, operator, string_settings};
pub(crate) use sort::{SortSpec, parse_sort};
pub(crate) use source::{SourceFilter, extract, names};
