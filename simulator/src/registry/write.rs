//! Writes to the store.
//!
//! - A change is committed only to the revision that it was computed from. A write that changes nothing is not
//!   stored.
//! - Each write of an expiring object renews its lifetime.

use std::sync::Arc;

use jiff::Timestamp;

use super::{
    codec::{draft, stored_tree},
    errors::{already_exists, conflict, not_found},
    request::RequestInfo,
    state::{Registry, strategy_of},
};
use crate::{
    api::{Object, Status, meta},
    scheme::Resource,
    store::{Expected, Key, Record, StoreError, Write},
    strategy::{Claims, validate::name},
};

/// Returns the name of the request's object. Fails if there is none or it is not a path segment.
fn name_of(request: &RequestInfo) -> Result<&str, Status> {
    let name = request.name.as_deref().ok_or_else(Status::no_such_path)?;
    name::path_segment(name).map_err(|why| Status::bad_request(format!("Name parameter invalid: {why}.")))?;
    Ok(name)
}

/// Maximum number of attempts of a write with concurrent writers.
pub(super) const MAX_ATTEMPTS: usize = 100;

impl Registry {
    /// Store key of the request's object.
    pub(super) fn key(&self, request: &RequestInfo) -> Result<Key, Status> {
        let name = name_of(request)?;
        Ok(Key::new(request.resource.stored_as(), request.namespace(), name))
    }

    /// Record of the request's object.
    pub(crate) fn record(&self, request: &RequestInfo) -> Result<Arc<Record>, Status> {
        let name = name_of(request)?;
        let found = self
            .store
            .named(request.resource.stored_as(), request.namespace(), name);
        found.ok_or_else(|| not_found(request))
    }

    /// Expiration time of an object that is written now.
    fn expiry_of(&self, resource: &Resource) -> Option<Timestamp> {
        let life = strategy_of(resource).time_to_live()?;
        Some(self.clock.now().saturating_add(life).unwrap_or(Timestamp::MAX))
    }

    /// Returns whether reads wait for other processes: [`Registry::sync`].
    pub(crate) fn reads_wait(&self) -> bool {
        self.store.sync().is_some()
    }

    /// Waits until reads show every write acknowledged before the call, by any process over the same store.
    pub(crate) async fn sync(&self) -> Result<(), Status> {
        match self.store.sync() {
            Some(synced) => Ok(synced.await?),
            None => Ok(()),
        }
    }

    /// Stores a new object, which is in the storage version. `None` if another object has one of the claims.
    pub(super) async fn insert(
        &self,
        request: &RequestInfo,
        object: Object,
        claims: &Claims,
    ) -> Result<Option<Arc<Record>>, Status> {
        let name = meta::text(&object, "metadata.name").to_owned();
        let key = self.key(&request.with_name(&name))?;
        let expiry = self.expiry_of(&request.resource);
        let draft = draft(&request.resource, object, true, expiry)?;
        let stored = self
            .store
            .commit_claiming(&key, Expected::Absent, Write::Put(draft), claims);
        match stored.await {
            Ok(change) => {
                let record = change
                    .after
                    .ok_or_else(|| Status::internal("a created object was not stored"))?;
                self.expiry.schedule(&record, expiry);
                self.require_served(&request.resource, &record).await?;
                Ok(Some(record))
            }
            Err(StoreError::Claimed(_)) => Ok(None),
            Err(StoreError::Exists(_)) => Err(already_exists(&request.resource, &name)),
            Err(error) => Err(error.into()),
        }
    }

    /// Stores `new` in place of `old` unless they are equal. `None` if `old` is not the current record, or another
    /// object has one of the claims.
    pub(super) async fn write(
        &self,
        request: &RequestInfo,
        new: Object,
        old: &Arc<Record>,
        claims: &Claims,
    ) -> Result<Option<Arc<Record>>, Status> {
        let resource = &request.resource;
        let expiry = self.expiry_of(resource);
        let draft = match expiry {
            None => draft(resource, new, false, None)?,
            Some(_) => {
                let shown = meta::text(&new, "metadata.deletionTimestamp").parse().ok();
                let unchanged = draft(resource, new.clone(), false, shown)?;
                if old.is_same_as(&unchanged) {
                    return Ok(Some(old.clone()));
                }
                let draft = draft(resource, new, false, expiry)?;
                if self.profile.has_event_watch_bug() {
                    draft.with_modified_initial_event()
                } else {
                    draft
                }
            }
        };
        if expiry.is_none() && old.is_same_as(&draft) {
            return Ok(Some(old.clone()));
        }
        let stored = self
            .store
            .commit_claiming(old.key(), Expected::At(old.revision()), Write::Put(draft), claims);
        match stored.await {
            Ok(change) => {
                if let Some(record) = &change.after {
                    self.expiry.schedule(record, expiry);
                }
                Ok(change.after)
            }
            Err(StoreError::Stale { .. } | StoreError::Missing(_) | StoreError::Claimed(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Applies `change` to the request's object, again after each concurrent write.
    pub(super) async fn modify(
        &self,
        request: &RequestInfo,
        mut change: impl FnMut(&mut Object) -> Result<(), Status>,
    ) -> Result<Arc<Record>, Status> {
        for _ in 0..MAX_ATTEMPTS {
            let old = self.record(request)?;
            let mut object = stored_tree(&old)?;
            change(&mut object)?;
            if let Some(record) = self.write(request, object, &old, Claims::none()).await? {
                return Ok(record);
            }
        }
        Err(conflict(request))
    }
}
