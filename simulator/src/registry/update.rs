//! Updates: PUT of an object, of its status or of its finalizers.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use super::{
    admission,
    codec::parse,
    errors::{conflict, not_found, require_name, require_namespace, require_valid},
    request::{RequestBody, RequestInfo, Response, Subresource},
    state::{Registry, strategy_of},
    write::MAX_ATTEMPTS,
};
use crate::{
    api::{Object, Status, meta},
    store::Record,
    strategy::{Allocation, Claims, validation},
};

impl Registry {
    /// Updates an object or one of its subresources.
    pub(crate) async fn update(&self, request: &RequestInfo, body: &RequestBody) -> Result<Response, Status> {
        if request.subresource.as_deref() == Some("scale") {
            return self.update_scale(request, body).await;
        }
        let subresource = Subresource::of(request)?;
        let object = self.decode(request, body)?;
        let (record, created) = self.update_object(request, subresource, object).await?;
        let code = if created { self.profile.created_code() } else { 200 };
        Ok(Response {
            code,
            body: response_body(request, &record)?,
        })
    }

    /// Updates `subresource` of an object to that of `object`, which is decoded and defaulted in the request's
    /// version. Also returns whether the object was created.
    pub(super) async fn update_object(
        &self,
        request: &RequestInfo,
        subresource: Subresource,
        object: Object,
    ) -> Result<(Arc<Record>, bool), Status> {
        let resource = &request.resource;
        require_name(request, &object)?;
        let mut object = resource.convert(resource.storage_version(), object);
        require_namespace(request, &object)?;
        let namespace = request.namespace.as_deref().filter(|_| resource.namespaced);
        meta::set(&mut object, "namespace", namespace.unwrap_or_default());
        admission::admit_update(self, request, &mut object).await?;
        for _ in 0..MAX_ATTEMPTS {
            let Some(old) = self.store.get(&self.key(request)?) else {
                return self.create_by_update(request, subresource, object).await;
            };
            if let Some(record) = self.update_once(request, subresource, object.clone(), &old).await? {
                return Ok((record, false));
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
        let rules = &request.resource.strategy;
        let creates = rules.create_on_update || rules.create_on_status_update && subresource == Subresource::Status;
        if creates || !strategy_of(&request.resource).validates_before_version() {
            self.expected_revision(&object)?;
        }
        if !creates {
            return Err(not_found(request));
        }
        Ok((self.create_admitted(request, subresource, false, object).await?, true))
    }

    /// Tries an update once. `None` if another writer was first and the update expects no revision.
    async fn update_once(
        &self,
        request: &RequestInfo,
        subresource: Subresource,
        mut new: Object,
        old: &Arc<Record>,
    ) -> Result<Option<Arc<Record>>, Status> {
        let strategy = strategy_of(&request.resource);
        let existing = parse(old.bytes())?;
        let allocation = if strategy.validates_before_version() && subresource == Subresource::Main {
            copy_system_fields(&mut new, &existing);
            new = validated(request, subresource, new, &existing)?;
            self.reload_claims();
            strategy.allocate(&self.context, &mut new, Some(&existing))?
        } else {
            Allocation::default()
        };
        let written = self
            .update_revision(request, subresource, new, (old, &existing), &allocation.claims())
            .await;
        match written {
            Ok(Some(_)) => self.context.allocator.commit(&allocation),
            _ => self.context.allocator.release(&allocation),
        }
        written
    }

    async fn update_revision(
        &self,
        request: &RequestInfo,
        subresource: Subresource,
        mut new: Object,
        (old, existing): (&Arc<Record>, &Object),
        claims: &Claims,
    ) -> Result<Option<Arc<Record>>, Status> {
        let resource = &request.resource;
        let strategy = strategy_of(resource);
        let expected = self.expected_revision(&new)?;
        let may_be_unconditional = resource.strategy.unconditional_update || subresource != Subresource::Main;
        let is_unconditional = expected == 0 && may_be_unconditional;
        if expected != 0 && expected != old.revision() {
            return Err(conflict(request));
        }
        if is_unconditional {
            meta::set(&mut new, "resourceVersion", &old.revision().to_string());
        }
        match subresource {
            Subresource::Main => strategy.prepare_for_update(&mut new, existing),
            Subresource::Status => strategy.prepare_for_status_update(&mut new, existing),
            Subresource::Finalize => strategy.prepare_for_finalizers_update(&mut new, existing),
        }
        copy_system_fields(&mut new, existing);
        let mut new = validated(request, subresource, new, existing)?;
        strategy.canonicalize(&mut new);
        match self.write(request, new, old, claims).await {
            Ok(None) if !is_unconditional => Err(conflict(request)),
            other => other,
        }
    }
}

/// Encodes the record for a response. The selfLink of a subresource ends with its name.
pub(super) fn response_body(request: &RequestInfo, record: &Record) -> Result<Bytes, Status> {
    let bytes = record.bytes_in(&request.resource);
    let Some(subresource) = &request.subresource else {
        return Ok(bytes.clone());
    };
    let mut object = parse(bytes)?;
    let path = format!("{}/{subresource}", meta::text(&object, "metadata.selfLink"));
    meta::set(&mut object, "selfLink", &path);
    Ok(request.resource.encode(&object))
}

/// Validates `new` as an update of `existing`. Returns it in typed form.
fn validated(
    request: &RequestInfo,
    subresource: Subresource,
    new: Object,
    existing: &Object,
) -> Result<Object, Status> {
    let resource = &request.resource;
    let strategy = strategy_of(resource);
    let new = resource.storage_version().typed(new);
    let errors = match subresource {
        Subresource::Main => validation::update(strategy, &resource.group, &new, existing),
        Subresource::Status => validation::update_status(strategy, &new, existing),
        Subresource::Finalize => validation::update_finalizers(strategy, &new, existing),
    };
    require_valid(resource, &new, &errors)?;
    Ok(new)
}

/// Copies the metadata that v1.2 takes from the old object, if the new one lacks it or may not change it.
fn copy_system_fields(new: &mut Object, old: &Object) {
    let Some(old) = meta::lookup(old, "metadata").and_then(Value::as_object) else {
        return;
    };
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
