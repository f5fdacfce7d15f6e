//! Creating objects.

use std::sync::Arc;

use serde_json::Value;

use super::{
    Registry, RequestBody, RequestInfo, Response, admission, binding, rollback, strategy, update::Subresource, version,
    watch::version,
};
use crate::{
    api::{Object, Status, meta},
    scheme::{FieldType, Resource, TypeRef},
    store::{Draft, Expected, Pairs, Record, StoreError, Write},
    strategy::{allocation::Allocation, validate},
};

/// The longest a name is made from a prefix: 63 characters less the 5 that are appended.
const LONGEST_PREFIX: usize = 58;

impl Registry {
    /// Creates an object from a request's body; or does what a POST to a sub-resource does.
    pub async fn create(&self, request: &RequestInfo, body: &RequestBody) -> Result<Response, Status> {
        match (request.resource.plural.as_str(), request.subresource.as_deref()) {
            ("bindings", None) | ("pods", Some("binding")) => binding::bind(self, request, body).await,
            ("deployments", Some("rollback")) => rollback::roll_back(self, request, body).await,
            (_, None) => {
                let mut object = self.decode(&request.resource, body)?;
                request.resource.default(&mut object);
                let record = self.create_object(request, object).await?;
                Ok(Response {
                    code: self.profile.created_code(),
                    body: record.bytes_in(&request.resource).clone(),
                })
            }
            _ => Err(Status::method_not_allowed()),
        }
    }

    /// Creates `object`, decoded and defaulted in `at`'s version.
    pub(super) async fn create_object(&self, request: &RequestInfo, object: Object) -> Result<Arc<Record>, Status> {
        let mut object = request.resource.convert(request.resource.storage_version(), object);
        if request.resource.namespaced && meta::text(&object, "metadata.namespace").is_empty() {
            meta::set(
                &mut object,
                "namespace",
                request.namespace.as_deref().unwrap_or_default(),
            );
        }
        admission::admit_create(self, request, &mut object).await?;
        self.create_admitted(request, Subresource::Main, true, object).await
    }

    /// Creates `object`, of the stored version, without asking admission. One that comes by its status is allocated nothing; one that is `posted` has no version.
    pub(super) async fn create_admitted(
        &self,
        request: &RequestInfo,
        subresource: Subresource,
        posted: bool,
        mut object: Object,
    ) -> Result<Arc<Record>, Status> {
        let stored = request.resource.storage_version();
        if request.resource.namespaced {
            if meta::text(&object, "metadata.namespace") != request.namespace.as_deref().unwrap_or_default() {
                return Err(Status::bad_request(
                    "the namespace of the provided object does not match the namespace sent on the request",
                ));
            }
        } else {
            meta::set(&mut object, "namespace", "");
        }
        strategy::prepare_create(stored, &mut object, &self.rng);
        self.fill_system_fields(&mut object);
        strategy::complete(stored, &mut object);
        let mut object = stored.canonical(object);
        let errors = validate::create(&stored.kind, &request.resource.group, &object);
        let prefix_fails = errors.iter().any(|e| e.field.to_string() == "metadata.generateName");
        if prefix_fails && self.profile.has_generate_name_bug() && meta::text(&object, "metadata.generateName") == "-" {
            return Err(self
                .profile
                .panic(422, "metadata.generateName must not be a dash alone"));
        }
        if !errors.is_empty() {
            return Err(Status::invalid(
                version::invalid_group(&request.resource),
                &request.resource.kind,
                meta::text(&object, "metadata.name"),
                &errors,
            ));
        }
        strategy::canonicalize(stored, &mut object);
        strategy::set_initial_status(stored, &mut object);
        let allocated = if subresource == Subresource::Main {
            self.services.allocate(stored, &mut object, None)?
        } else {
            Allocation::default()
        };
        let versioned =
            posted && version(meta::text(&object, "metadata.resourceVersion")).is_ok_and(|version| version != 0);
        let inserted = match versioned {
            true => Err(self.client_error(400, "resourceVersion may not be set on objects to be created")),
            false => self.insert(request, object).await,
        };
        match inserted {
            Ok(_) => self.services.commit(&allocated),
            Err(_) => self.services.release(&allocated),
        }
        inserted
    }

    async fn insert(&self, request: &RequestInfo, object: Object) -> Result<Arc<Record>, Status> {
        let (group, plural) = version::error_resource(&request.resource);
        let name = meta::text(&object, "metadata.name").to_owned();
        let request = RequestInfo {
            name: Some(name.clone()),
            ..request.clone()
        };
        let key = self.key(&request)?;
        let mut object = object;
        self.limit_life(request.resource.storage_version(), &mut object);
        let draft = self.draft(&request, object)?;
        match self.store.commit(&key, Expected::Absent, Write::Put(draft)).await {
            Ok(change) => change
                .after
                .ok_or_else(|| Status::internal("a created object was not stored")),
            Err(StoreError::Exists(_)) => Err(Status::already_exists(group, plural, &name)),
            Err(error) => Err(error.into()),
        }
    }

    fn fill_system_fields(&self, object: &mut Object) {
        for field in ["selfLink", "deletionTimestamp"] {
            meta::set(object, field, "");
        }
        meta::metadata(object).shift_remove("deletionGracePeriodSeconds");
        meta::set(object, "creationTimestamp", &self.clock.stamp());
        meta::set(object, "uid", &self.rng.uid());
        let prefix = meta::text(object, "metadata.generateName").to_owned();
        if meta::text(object, "metadata.name").is_empty() && !prefix.is_empty() {
            let kept: String = prefix.chars().take(LONGEST_PREFIX).collect();
            meta::set(object, "name", &format!("{kept}{}", self.rng.name_suffix()));
        }
    }

    /// What is to be stored of `object`, which is of the stored version: its bytes, and what can be selected by.
    pub(super) fn draft(&self, request: &RequestInfo, mut object: Object) -> Result<Draft, Status> {
        let stored = request.resource.storage_version();
        meta::set(&mut object, "resourceVersion", "0");
        let given_link = meta::text(&object, "metadata.selfLink").into();
        stored.set_self_link(&mut object);
        let object = stored.canonical(object);
        let labels = meta::lookup(&object, "metadata.labels").and_then(Value::as_object);
        let labels: Pairs = labels
            .into_iter()
            .flatten()
            .map(|(k, v)| (k.as_str().into(), v.as_str().unwrap_or_default().into()))
            .collect();
        let mut fields: Vec<_> = stored
            .selectable()
            .iter()
            .map(|(label, path)| (label.as_str().into(), selectable(stored, &object, path).into()))
            .collect();
        fields.sort();
        Draft::new(stored.encode(&object), given_link, labels, fields.into())
            .ok_or_else(|| Status::internal("an object without metadata cannot be stored"))
    }

    /// Events live for an hour from their last change; when that ends stands in their metadata.
    pub(super) fn limit_life(&self, stored: &Resource, object: &mut Object) {
        if strategy::has_lifetime(stored) {
            let end = self
                .clock
                .now()
                .saturating_add(super::EVENT_LIFE)
                .unwrap_or(jiff::Timestamp::MAX);
            meta::set(object, "deletionTimestamp", &crate::clock::stamp(end));
        }
    }
}

/// The text of a field that objects can be selected by; where it is left out, that of its type's zero.
fn selectable(resource: &Resource, object: &Object, path: &str) -> String {
    match meta::lookup(object, path) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Bool(flag)) => flag.to_string(),
        Some(Value::Number(number)) => number.to_string(),
        _ => {
            let mut parts = path.split('.');
            let field = parts.try_fold(resource.type_ref(), |at, part| Some(at.field(part)?.type_ref));
            match field.map(TypeRef::field_type) {
                Some(FieldType::Bool) => "false".to_owned(),
                Some(FieldType::Int(_)) => "0".to_owned(),
                _ => String::new(),
            }
        }
    }
}
