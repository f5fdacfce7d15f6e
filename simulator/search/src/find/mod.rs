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

pub(crate) use execute::{Outcome, Searched, best_of, prepare_query, search};
pub(crate) use hits::render;
pub(crate) use request::{QuerySource, SearchRequest, operator};
pub(crate) use source::{SourceFilter, extract, names};
