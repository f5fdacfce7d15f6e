//! Objects as trees, for clients inside the process: reads do not copy the bytes, writes do not encode JSON first.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::{
    codec::parse,
    request::{ListOptions, RequestInfo, Subresource},
    selection::Selection,
    state::Registry,
};
use crate::{
    api::{Object, Reason, Status},
    scheme::Resource,
    store::{Listing, Record},
    watch::{Start, WatchFilter, Watcher},
};

impl Registry {
    /// Returns a resource by its path.
    pub(crate) fn resource(&self, group: &str, version: &str, plural: &str) -> Option<Arc<Resource>> {
        self.scheme().resource(group, version, plural).cloned()
    }

    /// Returns the random suffix of a generated name, five characters.
    pub(crate) fn name_suffix(&self) -> String {
        self.context.rng.name_suffix()
    }

    /// Returns the object of a record in the version that `resource` serves.
    pub(crate) fn converted(&self, resource: &Arc<Resource>, record: &Record) -> Object {
        parse(record.bytes_in(resource)).unwrap_or_default()
    }

    /// Returns the selected objects.
    pub(crate) fn records(&self, request: &RequestInfo, options: &ListOptions) -> Result<Listing, Status> {
        let selection = Selection::parse(request, options, self.profile)?;
        let mut listing = self.candidates(request, &selection);
        listing.records.retain(|record| selection.matches(record));
        Ok(listing)
    }

    /// Watches changes of the selected objects after `revision`.
    pub(crate) fn changes(
        &self,
        request: &RequestInfo,
        options: &ListOptions,
        revision: u64,
    ) -> Result<Watcher, Status> {
        let selection = Selection::parse(request, options, self.profile)?;
        let filter = WatchFilter {
            index_key: selection.index_key(),
            matches: Box::new(move |record| selection.matches(record)),
            version: request.resource.clone(),
            after: revision,
        };
        self.hub
            .watch(
                request.resource.stored_as(),
                Start::After(revision),
                filter,
                CancellationToken::new(),
            )
            .map_err(|old| Status::new(Reason::Gone, old.to_string()))
    }

    /// Creates `object` as a POST does.
    pub(crate) async fn create_tree(&self, request: &RequestInfo, object: Object) -> Result<Arc<Record>, Status> {
        self.create_object(request, self.decode_tree(&request.resource, object)?)
            .await
    }

    /// Replaces an object or a subresource as a PUT does.
    pub(crate) async fn update_tree(&self, request: &RequestInfo, object: Object) -> Result<Arc<Record>, Status> {
        let subresource = Subresource::of(request)?;
        let object = self.decode_tree(&request.resource, object)?;
        Ok(self.update_object(request, subresource, object).await?.0)
    }
}
