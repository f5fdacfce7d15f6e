//! Adding and removing kinds at run time.
//!
//! Source: v1.2's third-party resources. Objects and watches of a removed kind end as in newer Kubernetes.

use std::sync::Arc;

use super::state::Registry;
use crate::{
    api::{GroupResource, Status},
    scheme::{Kinds, LoadError, Resource},
    store::{Expected, Record, StoreError, Write},
};

impl Registry {
    /// Adds kinds to the served scheme.
    ///
    /// # Errors
    /// A file is invalid, or a kind exists already. No kind is added then.
    pub(crate) fn add_kinds(&self, kinds: &Kinds) -> Result<(), LoadError> {
        let _changing = self.changing_kinds.lock();
        let scheme = self.scheme().with(kinds)?;
        self.scheme.store(Arc::new(scheme));
        Ok(())
    }

    /// Removes a resource in all its versions: deletes its objects, then ends its watches.
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

    /// Removes an object whose kind was removed while it was created, and fails with the 404 of an unknown path.
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

    /// Deletes an object at whatever revision it has.
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
