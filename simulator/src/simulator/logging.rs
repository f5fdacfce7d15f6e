//! Settings of the log search service.

use std::sync::Arc;

use stuntdouble_search::{Options, SearchServer};
use stuntdouble_server::Shutdown;

use super::{Builder, StartError, start::blocking};
use crate::addons::{Retention, Search, SearchUpstream};

/// Directory of the log search service's indices in the data directory.
const FOLDER: &str = "search";

impl Builder {
    /// Search cluster that replaces the log search service's server. Default: none.
    pub fn search_upstream(mut self, upstream: SearchUpstream) -> Self {
        self.search_upstream = Some(upstream);
        self
    }

    /// Retention of the log search service's indices by age or size. Default: unlimited.
    pub fn log_retention(mut self, retention: Retention) -> Self {
        self.log_retention = Some(retention);
        self
    }

    /// Returns the log search backend. A server inside this process uses the cluster's clock, and closes its files
    /// when `shutdown` begins.
    pub(super) async fn search(&self, shutdown: &Shutdown) -> Result<Search, StartError> {
        if let Some(upstream) = &self.search_upstream {
            return Ok(Search::Upstream(upstream.clone()));
        }
        let clock = self.clock.clone();
        let options = Options {
            clock: Arc::new(move || clock.now()),
            retention: self.log_retention.clone(),
            ..Options::default()
        };
        let Some(directory) = &self.data_dir else {
            return Ok(Search::Inside(SearchServer::new(options)));
        };
        let directory = directory.join(FOLDER);
        let server = blocking(move || SearchServer::open(options, directory)).await?;
        let (closing, closed) = (shutdown.closing.clone(), server.clone());
        shutdown.tasks.spawn(async move {
            closing.cancelled().await;
            // Errors are ignored: the translogs have what could be written.
            let _ = blocking(move || closed.close()).await;
        });
        Ok(Search::Inside(server))
    }
}
