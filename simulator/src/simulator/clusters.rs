//! Named copies of a cluster in the same process.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use futures::future::BoxFuture;
use parking_lot::Mutex;
use stuntdouble_server::Shutdown;
use tokio::sync::OnceCell;

use super::{Builder, start::Cluster};
use crate::{
    api::{Reason, Status},
    client::Client,
    http::{Clusters, Service},
};

/// Copies of the first cluster. Each is created at the first request for it.
pub(super) struct Forks {
    limit: usize,
    builder: Builder,
    client: Client,
    service: Weak<Service>,
    shutdown: Shutdown,
    by_name: Mutex<HashMap<String, Arc<OnceCell<Fork>>>>,
}

/// A copy. Dropping it stops its components and streams.
struct Fork(Cluster);

impl Drop for Fork {
    fn drop(&mut self) {
        self.0.shutdown.closing.cancel();
        self.0.shutdown.close.cancel();
    }
}

impl Forks {
    /// Allows up to `limit` copies of a cluster. They stop with it.
    pub(super) fn new(
        limit: usize,
        builder: Builder,
        client: Client,
        service: &Arc<Service>,
        shutdown: Shutdown,
    ) -> Self {
        Self {
            limit,
            builder,
            client,
            service: Arc::downgrade(service),
            shutdown,
            by_name: Mutex::default(),
        }
    }

    fn cell(&self, name: &str) -> Result<Arc<OnceCell<Fork>>, Status> {
        let mut by_name = self.by_name.lock();
        if let Some(cell) = by_name.get(name) {
            return Ok(cell.clone());
        }
        if by_name.len() >= self.limit {
            let text = format!("the limit of {} clusters is reached", self.limit);
            return Err(Status::new(Reason::Forbidden, text));
        }
        let cell = Arc::new(OnceCell::new());
        by_name.insert(name.to_owned(), cell.clone());
        Ok(cell)
    }

    async fn fork(&self) -> Result<Fork, Status> {
        let service = self.service.upgrade().ok_or_else(Status::no_such_path)?;
        let forked = self.builder.fork(&self.client, &service, self.shutdown.child()).await;
        forked
            .map(Fork)
            .map_err(|error| Status::internal_error(format!("the cluster cannot be copied: {error}")))
    }
}

impl Clusters for Forks {
    fn service<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Arc<Service>, Status>> {
        Box::pin(async move {
            if !is_name(name) {
                return Err(Status::no_such_path());
            }
            let cell = self.cell(name)?;
            Ok(cell.get_or_try_init(|| self.fork()).await?.0.service.clone())
        })
    }

    fn remove(&self, name: &str) -> bool {
        let removed = self.by_name.lock().remove(name);
        removed.is_some()
    }
}

/// Whether this is a valid cluster name: up to 63 lower-case letters, digits and dashes.
fn is_name(name: &str) -> bool {
    (1..=63).contains(&name.len()) && name.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-'))
}
