//! Adding and removing kinds while the server runs.
//!
//! Source: v1.2's third-party resources; what becomes of objects and watches when a kind is removed is that of newer Kubernetes.

use std::sync::Arc;

use super::state::Registry;
use crate::{
    api::{GroupResource, Status},
    scheme::{Kinds, LoadError, Resource},
    store::{Expected, Record, StoreError, Write},
};

impl Registry {
    /// Serves more kinds from now on.
    ///
    /// # Errors
    /// A file that does not make sense, or a kind that is there already; nothing is added then.
    pub(crate) fn add_kinds(&self, kinds: &Kinds) -> Result<(), LoadError> {
        let _changing = self.changing_kinds.lock();
        let scheme = self.scheme().with(kinds)?;
        self.scheme.store(Arc::new(scheme));
        Ok(())
    }

    /// No longer serves a resource, in any of its versions: removes its objects, then ends its watches.
    ///
    /// # Errors
    /// 404 if there is no such resource.
    pub(crate) async fn remove_kind(&self, group: &str, plural: &str) -> Result<(), Status> {
        let stored_as = self.stop_serving(group, plural)?;
        for record in self.store.list(&stored_as, None).records {
            self.remove(&record).await?;
        }
        self.hub.close(&stored_as);
        Ok(())
    }

    /// Removes an object that was created while its kind was removed; the error is that of a path that does not exist.
    pub(super) async fn require_served(&self, resource: &Arc<Resource>, created: &Record) -> Result<(), Status> {
        if self
            .scheme()
            .resources()
            .iter()
            .any(|served| Arc::ptr_eq(served, resource))
        {
            return Ok(());
        }
        self.remove(created).await?;
        Err(Status::no_such_path())
    }

    /// Removes an object, whatever its revision.
    async fn remove(&self, record: &Record) -> Result<(), Status> {
        let mut revision = record.revision();
        loop {
            match self
                .store
                .commit(record.key(), Expected::At(revision), Write::Remove)
                .await
            {
                Ok(_) | Err(StoreError::Missing(_)) => return Ok(()),
                Err(StoreError::Stale { actual, .. }) => revision = actual,
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn stop_serving(&self, group: &str, plural: &str) -> Result<GroupResource, Status> {
        let _changing = self.changing_kinds.lock();
        let scheme = self.scheme();
        let resource = scheme
            .resources()
            .iter()
            .find(|r| r.group == group && r.plural == plural)
            .ok_or_else(Status::no_such_path)?;
        self.scheme.store(Arc::new(scheme.without(resource.stored_as())));
        Ok(resource.stored_as().clone())
    }
}
