//! Settings of the log search service.

use std::sync::Arc;

use stuntdouble_search::{Options, SearchServer};
use stuntdouble_server::Shutdown;

use super::{Builder, StartError, start::blocking};
use crate::addons::{Retention, Search, SearchUpstream};

/// Folder of the log search service's indices in the data directory.
const FOLDER: &str = "search";

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

    /// The log search backend. A server inside this process, on the cluster's clock, closes its files when `shutdown` begins.
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
            // What could not be written is in the translogs, as far as they could be.
            let _ = blocking(move || closed.close()).await;
        });
        Ok(Search::Inside(server))
    }
}
