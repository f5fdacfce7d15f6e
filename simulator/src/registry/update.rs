//! Changing objects: replace and patch, of the whole or of a sub-resource.
//!
//! Promises: a change is made to the very version that it was computed from; what does not change anything is not written.

use std::sync::Arc;

use bytes::Bytes;

use super::{
    Registry, RequestBody, RequestInfo, Response, admission,
    get::{not_found, object, parse},
    scale, strategy, version,
    watch::version,
};
use crate::{
    api::{Object, Status, meta},
    patch::Language,
    store::{Expected, Record, StoreError, Write},
    strategy::{allocation::Allocation, validate},
};

/// How often a change that others overtake is computed anew.
const TRIES: usize = 100;

/// What is replaced of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subresource {
    /// Everything but the status.
    Main,
    /// The status.
    Status,
    /// A namespace's finalizers.
    Finalize,
}

impl Subresource {
    pub(super) fn of(request: &RequestInfo) -> Result<Self, Status> {
        match request.subresource.as_deref() {
            None => Ok(Self::Main),
            Some("status") => Ok(Self::Status),
            Some("finalize") => Ok(Self::Finalize),
            Some(_) => Err(Status::method_not_allowed()),
        }
    }
}

impl Registry {
    /// Replaces an object, or a part of it.
    pub async fn update(&self, request: &RequestInfo, body: &RequestBody) -> Result<Response, Status> {
        if request.subresource.as_deref() == Some("scale") {
            return scale::update(self, request, body).await;
        }
        let subresource = Subresource::of(request)?;
        let mut object = self.decode(&request.resource, body)?;
        request.resource.default(&mut object);
        let (record, created) = self.update_object(request, subresource, object).await?;
        let code = if created { self.profile.created_code() } else { 200 };
        Ok(Response {
            code,
            body: self.shown(request, &record)?,
        })
    }

    /// The record as the answer at `at` shows it: a sub-resource's says its own path.
    fn shown(&self, request: &RequestInfo, record: &Record) -> Result<Bytes, Status> {
        let bytes = record.bytes_in(&request.resource);
        let Some(subresource) = &request.subresource else {
            return Ok(bytes.clone());
        };
        let mut object = parse(bytes)?;
        let path = format!("{}/{subresource}", meta::text(&object, "metadata.selfLink"));
        meta::set(&mut object, "selfLink", &path);
        Ok(request.resource.encode(&object))
    }

    /// Replaces `part` of the object that `at` names by that of `object`, decoded and defaulted in `at`'s version; whether that created it.
    pub(super) async fn update_object(
        &self,
        request: &RequestInfo,
        subresource: Subresource,
        object: Object,
    ) -> Result<(Arc<Record>, bool), Status> {
        same_name(request, &object)?;
        let mut object = request.resource.convert(request.resource.storage_version(), object);
        same_namespace(request, &object)?;
        let namespace = request.namespace.as_deref().filter(|_| request.resource.namespaced);
        meta::set(&mut object, "namespace", namespace.unwrap_or_default());
        admission::admit_update(self, request, &mut object).await?;
        for _ in 0..TRIES {
            let Some(old) = self.store.get(&self.key(request)?).await? else {
                return self.create_by_update(request, subresource, object).await;
            };
            match self.update_once(request, subresource, object.clone(), &old).await? {
                Some(record) => return Ok((record, false)),
                None => continue,
            }
        }
        Err(conflict(request))
    }

    async fn create_by_update(
        &self,
        request: &RequestInfo,
        subresource: Subresource,
        object: Object,
    ) -> Result<(Arc<Record>, bool), Status> {
        let strategy = &request.resource.strategy;
        let creates =
            strategy.create_on_update || strategy.create_on_status_update && subresource == Subresource::Status;
        if request.resource.plural != "services" || creates {
            self.requested_version(&object)?;
        }
        if !creates {
            return Err(not_found(request));
        }
        Ok((self.create_admitted(request, subresource, false, object).await?, true))
    }

    /// The version that a replacement asks to be made to; 0 for whichever is there.
    pub(super) fn requested_version(&self, object: &Object) -> Result<u64, Status> {
        version(meta::text(object, "metadata.resourceVersion")).map_err(|text| self.client_error(400, text))
    }

    /// One try; `None` where another writer came first and the change is not bound to a version.
    async fn update_once(
        &self,
        request: &RequestInfo,
        subresource: Subresource,
        mut new: Object,
        old: &Arc<Record>,
    ) -> Result<Option<Arc<Record>>, Status> {
        let stored = request.resource.storage_version();
        let existing = parse(old.bytes())?;
        // A service is judged, and gets its ports, before its version is looked at.
        let allocated = if stored.plural == "services" && subresource == Subresource::Main {
            copy_system_fields(&mut new, &existing);
            new = validated(request, subresource, new, &existing)?;
            self.services.allocate(stored, &mut new, Some(&existing))?
        } else {
            Allocation::default()
        };
        let written = self.update_version(request, subresource, new, old, &existing).await;
        match written {
            Ok(Some(_)) => self.services.commit(&allocated),
            _ => self.services.release(&allocated),
        }
        written
    }

    async fn update_version(
        &self,
        request: &RequestInfo,
        subresource: Subresource,
        mut new: Object,
        old: &Arc<Record>,
        existing: &Object,
    ) -> Result<Option<Arc<Record>>, Status> {
        let stored = request.resource.storage_version();
        let asked = self.requested_version(&new)?;
        let unconditional =
            asked == 0 && (request.resource.strategy.unconditional_update || subresource != Subresource::Main);
        if asked != 0 && asked != old.revision() {
            return Err(conflict(request));
        }
        if unconditional {
            meta::set(&mut new, "resourceVersion", &old.revision().to_string());
        }
        strategy::prepare_update(stored, subresource, &mut new, existing);
        copy_system_fields(&mut new, existing);
        let mut new = validated(request, subresource, new, existing)?;
        strategy::canonicalize(stored, &mut new);
        match self.write(request, new, old).await {
            Ok(None) if !unconditional => Err(conflict(request)),
            other => other,
        }
    }

    /// Writes `new` in place of `old` unless they are the same; `None` where `old` is no longer what is there.
    pub(super) async fn write(
        &self,
        request: &RequestInfo,
        new: Object,
        old: &Arc<Record>,
    ) -> Result<Option<Arc<Record>>, Status> {
        let stored = request.resource.storage_version();
        let hidden = strategy::hidden(stored, &new).to_owned();
        let mortal = strategy::has_lifetime(stored).then(|| new.clone());
        let mut draft = self.draft(request, new)?.with_hidden(&hidden);
        if old.is_same_as(&draft) {
            return Ok(Some(old.clone()));
        }
        if let Some(mut object) = mortal {
            self.limit_life(stored, &mut object);
            draft = self.draft(request, object)?.with_hidden(&hidden);
            if self.profile.has_event_watch_bug() {
                draft = draft.present_as_modified();
            }
        }
        match self
            .store
            .commit(old.key(), Expected::At(old.revision()), Write::Put(draft))
            .await
        {
            Ok(change) => Ok(change.after),
            Err(StoreError::Stale { .. } | StoreError::Missing(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Changes the object that `at` names by `change`, computed anew as often as other writers come first.
    pub(super) async fn modify(
        &self,
        request: &RequestInfo,
        mut change: impl FnMut(&mut Object) -> Result<(), Status>,
    ) -> Result<Arc<Record>, Status> {
        for _ in 0..TRIES {
            let old = self.record(request).await?;
            let mut object = object(&old)?;
            change(&mut object)?;
            if let Some(record) = self.write(request, object, &old).await? {
                return Ok(record);
            }
        }
        Err(conflict(request))
    }

    /// Patches an object, or a part of it.
    pub async fn patch(&self, request: &RequestInfo, language: Language, body: &[u8]) -> Result<Response, Status> {
        if request.subresource.as_deref() == Some("scale") {
            return scale::patch(self, request, language, body).await;
        }
        let subresource = Subresource::of(request)?;
        for _ in 0..TRIES {
            let old = self.record(request).await?;
            let mut current = parse(old.bytes_in(&request.resource))?;
            meta::set(&mut current, "selfLink", old.given_link());
            let mut object = self.apply(&request.resource, language, &current, body)?;
            request.resource.default(&mut object);
            let bound = meta::text(&object, "metadata.resourceVersion") != old.revision().to_string();
            match self.update_object(request, subresource, object).await {
                Err(conflict)
                    if conflict.code == 409 && !bound && self.record(request).await?.revision() != old.revision() =>
                {
                    continue;
                }
                other => return Ok(Response::ok(self.shown(request, &other?.0)?)),
            }
        }
        Err(conflict(request))
    }
}

/// `new` in its canonical form, if it may take the place of `existing`.
fn validated(
    request: &RequestInfo,
    subresource: Subresource,
    new: Object,
    existing: &Object,
) -> Result<Object, Status> {
    let stored = request.resource.storage_version();
    let new = stored.canonical(new);
    let errors = match subresource {
        Subresource::Main => validate::update(&stored.kind, &request.resource.group, &new, existing),
        Subresource::Status => validate::update_status(&stored.kind, &request.resource.group, &new, existing),
        Subresource::Finalize => validate::finalize(&new, existing),
    };
    if errors.is_empty() {
        return Ok(new);
    }
    Err(Status::invalid(
        version::invalid_group(&request.resource),
        &request.resource.kind,
        meta::text(&new, "metadata.name"),
        &errors,
    ))
}

/// What v1.2 takes over from the old object where the new one leaves it out or changes it without effect.
fn copy_system_fields(new: &mut Object, old: &Object) {
    let old = meta::lookup(old, "metadata")
        .and_then(serde_json::Value::as_object)
        .cloned()
        .unwrap_or_default();
    let new = meta::metadata(new);
    for (field, always) in [
        ("uid", false),
        ("creationTimestamp", true),
        ("deletionTimestamp", true),
        ("deletionGracePeriodSeconds", false),
    ] {
        if let Some(value) = old.get(field)
            && (always || new.get(field).is_none_or(|v| v.is_null() || *v == ""))
        {
            new.insert(field.to_owned(), value.clone());
        }
    }
}

pub(super) fn same_name(request: &RequestInfo, object: &Object) -> Result<(), Status> {
    let (given, asked) = (
        meta::text(object, "metadata.name"),
        request.name.as_deref().unwrap_or_default(),
    );
    if given == asked {
        return Ok(());
    }
    if given.is_empty() && !request.resource.namespaced {
        return Err(Status::bad_request("Name parameter required."));
    }
    Err(Status::bad_request(format!(
        "the name of the object ({given}) does not match the name on the URL ({asked})"
    )))
}

/// Whether `object` is of the namespace that `at` names, or says none. What is in none may say any.
pub(super) fn same_namespace(request: &RequestInfo, object: &Object) -> Result<(), Status> {
    let (given, asked) = (
        meta::text(object, "metadata.namespace"),
        request.namespace.as_deref().unwrap_or_default(),
    );
    if !request.resource.namespaced || given.is_empty() || given == asked {
        return Ok(());
    }
    Err(Status::bad_request(format!(
        "the namespace of the object ({given}) does not match the namespace on the request ({asked})"
    )))
}

pub(super) fn conflict(request: &RequestInfo) -> Status {
    let (group, plural) = version::error_resource(&request.resource);
    let why = "the object has been modified; please apply your changes to the latest version and try again";
    Status::conflict(group, plural, request.name.as_deref().unwrap_or_default(), why)
}
