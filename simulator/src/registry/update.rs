//! Changing objects: replace and patch, of the whole or of a sub-resource.
//!
//! Promises: a change is made to the very version that it was computed from; what does not change anything is not written.

use std::sync::Arc;

use bytes::Bytes;

use super::{
    Address, Body, Registry, Reply, admission, face,
    read::{not_found, object, parse},
    scale,
    services::Allocation,
    strategy,
    watch::version,
};
use crate::{
    api::{Object, Status, meta},
    patch::Language,
    scheme::validate,
    store::{Expected, Record, StoreError, Write},
};

/// How often a change that others overtake is computed anew.
const TRIES: usize = 100;

/// What is replaced of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Everything but the status.
    Main,
    /// The status.
    Status,
    /// A namespace's finalizers.
    Finalize,
}

impl Part {
    fn of(at: &Address) -> Result<Self, Status> {
        match at.subresource.as_deref() {
            None => Ok(Self::Main),
            Some("status") => Ok(Self::Status),
            Some("finalize") => Ok(Self::Finalize),
            Some(_) => Err(Status::method_not_allowed()),
        }
    }
}

impl Registry {
    /// Replaces an object, or a part of it.
    pub async fn replace(&self, at: &Address, body: &Body) -> Result<Reply, Status> {
        if at.subresource.as_deref() == Some("scale") {
            return scale::replace(self, at, body).await;
        }
        let part = Part::of(at)?;
        let mut object = at.resource.decode(&body.bytes, body.syntax)?;
        at.resource.default(&mut object);
        let (record, created) = self.replace_object(at, part, object).await?;
        let code = if created { self.profile.created_code() } else { 200 };
        Ok(Reply {
            code,
            body: self.shown(at, &record)?,
        })
    }

    /// The record as the answer at `at` shows it: a sub-resource's says its own path.
    fn shown(&self, at: &Address, record: &Record) -> Result<Bytes, Status> {
        let bytes = face::face(at.resource).of(record);
        let Some(subresource) = &at.subresource else {
            return Ok(bytes.clone());
        };
        let mut object = parse(bytes)?;
        let path = format!("{}/{subresource}", meta::text(&object, "metadata.selfLink"));
        meta::set(&mut object, "selfLink", &path);
        Ok(at.resource.encode(&object))
    }

    /// Replaces `part` of the object that `at` names by that of `object`, decoded and defaulted in `at`'s version; whether that created it.
    pub(super) async fn replace_object(
        &self,
        at: &Address,
        part: Part,
        object: Object,
    ) -> Result<(Arc<Record>, bool), Status> {
        same_name(at, &object)?;
        let mut object = at.resource.convert(face::stored(at.resource), object);
        same_namespace(at, &object)?;
        let namespace = at.namespace.as_deref().filter(|_| at.resource.namespaced);
        meta::set(&mut object, "namespace", namespace.unwrap_or_default());
        admission::admit_update(self, at, &mut object).await?;
        for _ in 0..TRIES {
            let Some(old) = self.store.get(&self.key(at)?).await? else {
                return self.create_by_replace(at, part, object).await;
            };
            match self.replace_once(at, part, object.clone(), &old).await? {
                Some(record) => return Ok((record, false)),
                None => continue,
            }
        }
        Err(overtaken(at))
    }

    async fn create_by_replace(&self, at: &Address, part: Part, object: Object) -> Result<(Arc<Record>, bool), Status> {
        let strategy = &at.resource.strategy;
        let creates = strategy.create_on_update || strategy.create_on_status_update && part == Part::Status;
        if at.resource.plural != "services" || creates {
            self.asked_version(&object)?;
        }
        if !creates {
            return Err(not_found(at));
        }
        Ok((self.create_admitted(at, part, false, object).await?, true))
    }

    /// The version that a replacement asks to be made to; 0 for whichever is there.
    pub(super) fn asked_version(&self, object: &Object) -> Result<u64, Status> {
        version(meta::text(object, "metadata.resourceVersion")).map_err(|text| self.mistake(400, text))
    }

    /// One try; `None` where another writer came first and the change is not bound to a version.
    async fn replace_once(
        &self,
        at: &Address,
        part: Part,
        mut new: Object,
        old: &Arc<Record>,
    ) -> Result<Option<Arc<Record>>, Status> {
        let stored = face::stored(at.resource);
        let existing = parse(old.bytes())?;
        // A service is judged, and gets its ports, before its version is looked at.
        let allocated = if stored.plural == "services" && part == Part::Main {
            repair(&mut new, &existing);
            new = judged(at, part, new, &existing)?;
            self.services.allocate(stored, &mut new, Some(&existing))?
        } else {
            Allocation::default()
        };
        let written = self.replace_version(at, part, new, old, &existing).await;
        self.services.settle(&allocated, matches!(written, Ok(Some(_))));
        written
    }

    async fn replace_version(
        &self,
        at: &Address,
        part: Part,
        mut new: Object,
        old: &Arc<Record>,
        existing: &Object,
    ) -> Result<Option<Arc<Record>>, Status> {
        let stored = face::stored(at.resource);
        let asked = self.asked_version(&new)?;
        let unconditional = asked == 0 && (at.resource.strategy.unconditional_update || part != Part::Main);
        if asked != 0 && asked != old.revision() {
            return Err(overtaken(at));
        }
        if unconditional {
            meta::set(&mut new, "resourceVersion", &old.revision().to_string());
        }
        strategy::prepare_update(stored, part, &mut new, existing);
        repair(&mut new, existing);
        let mut new = judged(at, part, new, existing)?;
        strategy::canonicalize(stored, &mut new);
        match self.write(at, new, old).await {
            Ok(None) if !unconditional => Err(overtaken(at)),
            other => other,
        }
    }

    /// Writes `new` in place of `old` unless they are the same; `None` where `old` is no longer what is there.
    pub(super) async fn write(
        &self,
        at: &Address,
        new: Object,
        old: &Arc<Record>,
    ) -> Result<Option<Arc<Record>>, Status> {
        let draft = self.draft(at, new)?;
        if old.is_same_as(&draft) {
            return Ok(Some(old.clone()));
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
        at: &Address,
        mut change: impl FnMut(&mut Object) -> Result<(), Status>,
    ) -> Result<Arc<Record>, Status> {
        for _ in 0..TRIES {
            let old = self.record(at).await?;
            let mut object = object(&old)?;
            change(&mut object)?;
            if let Some(record) = self.write(at, object, &old).await? {
                return Ok(record);
            }
        }
        Err(overtaken(at))
    }

    /// Patches an object, or a part of it.
    pub async fn patch(&self, at: &Address, language: Language, body: &[u8]) -> Result<Reply, Status> {
        if at.subresource.as_deref() == Some("scale") {
            return scale::patch(self, at, language, body).await;
        }
        let part = Part::of(at)?;
        for _ in 0..TRIES {
            let old = self.record(at).await?;
            let mut current = parse(face::face(at.resource).of(&old))?;
            meta::set(&mut current, "selfLink", old.given_link());
            let mut object = self.apply(at.resource, language, &current, body)?;
            at.resource.default(&mut object);
            let bound = meta::text(&object, "metadata.resourceVersion") != old.revision().to_string();
            match self.replace_object(at, part, object).await {
                Err(conflict)
                    if conflict.code == 409 && !bound && self.record(at).await?.revision() != old.revision() =>
                {
                    continue;
                }
                other => return Ok(Reply::ok(self.shown(at, &other?.0)?)),
            }
        }
        Err(overtaken(at))
    }
}

/// `new` in its canonical form, if it may take the place of `existing`.
fn judged(at: &Address, part: Part, new: Object, existing: &Object) -> Result<Object, Status> {
    let stored = face::stored(at.resource);
    let new = stored.canonical(new);
    let errors = match part {
        Part::Main => validate::update(&stored.kind, &at.resource.group, &new, existing),
        Part::Status => validate::update_status(&stored.kind, &at.resource.group, &new, existing),
        Part::Finalize => validate::finalize(&new, existing),
    };
    if errors.is_empty() {
        return Ok(new);
    }
    Err(Status::invalid(
        face::invalid_group(at.resource),
        &at.resource.kind,
        meta::text(&new, "metadata.name"),
        &errors,
    ))
}

/// What v1.2 takes over from the old object where the new one leaves it out or changes it without effect.
fn repair(new: &mut Object, old: &Object) {
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

pub(super) fn same_name(at: &Address, object: &Object) -> Result<(), Status> {
    let (given, asked) = (
        meta::text(object, "metadata.name"),
        at.name.as_deref().unwrap_or_default(),
    );
    if given == asked {
        return Ok(());
    }
    Err(Status::bad_request(format!(
        "the name of the object ({given}) does not match the name on the URL ({asked})"
    )))
}

/// Whether `object` is of the namespace that `at` names, or says none. What is in none may say any.
pub(super) fn same_namespace(at: &Address, object: &Object) -> Result<(), Status> {
    let (given, asked) = (
        meta::text(object, "metadata.namespace"),
        at.namespace.as_deref().unwrap_or_default(),
    );
    if !at.resource.namespaced || given.is_empty() || given == asked {
        return Ok(());
    }
    Err(Status::bad_request(format!(
        "the namespace of the object ({given}) does not match the namespace on the request ({asked})"
    )))
}

pub(super) fn overtaken(at: &Address) -> Status {
    let (group, plural) = face::named(at.resource);
    let why = "the object has been modified; please apply your changes to the latest version and try again";
    Status::conflict(group, plural, at.name.as_deref().unwrap_or_default(), why)
}
