//! Objects that the cluster creates itself, and startup from a store.

use super::{
    codec::parse,
    request::RequestInfo,
    state::{Registry, strategy_of},
};
use crate::{
    api::{Object, Reason, Status, meta},
    strategy::initial_objects,
};

impl Registry {
    /// Creates the objects that every cluster has, unless they exist.
    pub(crate) async fn bootstrap(&self) -> Result<(), Status> {
        let settings = &self.settings;
        let service_address = settings.service_range.at(1);
        for (name, namespace, object) in
            initial_objects(service_address, settings.advertise_address, settings.secure_port)
        {
            let request = RequestInfo {
                resource: self.named(name)?,
                namespace: namespace.map(str::to_owned),
                name: None,
                subresource: None,
            };
            let key = self.key(&request.with_name(meta::text(&object, "metadata.name")))?;
            if self.store.get(&key).is_none() {
                match self.create_from(&request, object).await {
                    // Another process over the same store created it first.
                    Err(exists) if exists.reason == Reason::AlreadyExists => {}
                    other => drop(other?),
                }
            }
        }
        Ok(())
    }

    /// Rebuilds state that is derived from the stored objects and not stored itself: allocations and expirations.
    pub(crate) async fn restore(&self) -> Result<(), Status> {
        for resource in self.scheme().resources().iter().filter(|r| r.is_storage_version()) {
            let strategy = strategy_of(resource);
            let expires = strategy.time_to_live().is_some();
            if !expires && !strategy.allocates() {
                continue;
            }
            for record in self.store.list(resource.stored_as(), None).records {
                let object = parse(record.bytes())?;
                strategy.restore(&self.context, &object);
                if expires {
                    let end = meta::text(&object, "metadata.deletionTimestamp").parse().ok();
                    self.expiry.schedule(&record, end);
                }
            }
        }
        Ok(())
    }

    /// Whether a write may wait for I/O outside this process.
    pub(crate) fn writes_wait(&self) -> bool {
        self.store.commits_wait()
    }

    /// Closes the store after every acknowledged write is durable. Later writes fail.
    pub(crate) async fn close(&self) -> Result<(), Status> {
        Ok(self.store.close().await?)
    }

    /// Creates an object as a POST does. Returns it as stored.
    async fn create_from(&self, request: &RequestInfo, object: Object) -> Result<Object, Status> {
        let object = self.decode_tree(&request.resource, object)?;
        parse(self.create_object(request, object).await?.bytes())
    }
}
