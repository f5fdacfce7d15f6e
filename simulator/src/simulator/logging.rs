//! Settings of the log search service.

use super::Builder;
use crate::addons::{Retention, SearchUpstream};

impl Builder {
    /// The search cluster that the log search service reaches. Default: the server inside this process.
    pub fn search_upstream(mut self, upstream: SearchUpstream) -> Self {
        self.search_upstream = Some(upstream);
        self
    }

    /// Which indices of the log search server inside this process are removed when they are old or large. Default: none.
    pub fn log_retention(mut self, retention: Retention) -> Self {
        self.log_retention = Some(retention);
        self
    }
}
