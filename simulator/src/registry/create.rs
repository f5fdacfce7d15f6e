//! POST of an object.

use std::sync::Arc;

use super::{
    admission,
    errors::{conflict, generated_name_exists, require_valid},
    request::{RequestBody, RequestInfo, Response, Subresource},
    revision,
    state::{Registry, strategy_of},
    write::MAX_ATTEMPTS,
};
use crate::{
    api::{Object, Reason, Status, meta},
    store::Record,
    strategy::{Claims, validation},
};

/// Maximum length of a generateName prefix, in characters: a generated name has at most 63, its suffix 5.
const MAX_PREFIX_CHARS: usize = 58;

impl Registry {
    /// Creates an object from a request's body, or applies the body to a subresource.
    pub(crate) async fn create(&self, request: &RequestInfo, body: &RequestBody) -> Result<Response, Status> {
        if let Some(action) = strategy_of(&request.resource).action(request.subresource.as_deref()) {
            return self.act(action, request, body).await;
        }
        if request.subresource.is_some() {
            return Err(Status::method_not_allowed());
        }
        let object = self.decode(request, body)?;
        let record = self.create_object(request, object).await?;
        Ok(Response {
            code: self.profile.created_code(),
            body: record.bytes_in(&request.resource).clone(),
        })
    }

    /// Creates `object`, which is decoded and defaulted in the request's version.
    pub(super) async fn create_object(&self, request: &RequestInfo, object: Object) -> Result<Arc<Record>, Status> {
        let resource = &request.resource;
        let mut object = resource.convert(resource.storage_version(), object);
        if resource.namespaced && meta::text(&object, "metadata.namespace").is_empty() {
            meta::set(&mut object, "namespace", request.namespace());
        }
        admission::admit_create(self, request, &mut object).await?;
        let has_prefix = !meta::text(&object, "metadata.generateName").is_empty();
        match self.create_admitted(request, Subresource::Main, true, object).await {
            Err(exists) if exists.reason == Reason::AlreadyExists && has_prefix => Err(self.exists(request, exists)),
            other => other,
        }
    }

    /// Error of a POST with generateName whose name exists. v1.2 treats the name as generated even if the client set
    /// it.
    fn exists(&self, request: &RequestInfo, exists: Status) -> Status {
        if self.profile.has_name_conflict_bug() {
            generated_name_exists(&request.resource)
        } else {
            exists
        }
    }

    /// Creates `object`, which is in the storage version, after admission.
    ///
    /// - Nothing is allocated to an object that is created through its status subresource.
    /// - A `posted` object must not have a resourceVersion.
    pub(super) async fn create_admitted(
        &self,
        request: &RequestInfo,
        subresource: Subresource,
        posted: bool,
        mut object: Object,
    ) -> Result<Arc<Record>, Status> {
        let resource = &request.resource;
        let stored = resource.storage_version();
        let strategy = strategy_of(resource);
        if !resource.namespaced {
            meta::set(&mut object, "namespace", "");
        } else if meta::text(&object, "metadata.namespace") != request.namespace() {
            return Err(Status::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        strategy.prepare_for_create(&mut object, &self.context.rng);
        self.fill_system_fields(&mut object);
        strategy.complete(&mut object);
        let mut object = stored.typed(object);
        let errors = validation::create(strategy, resource.namespaced, &resource.group, &object);
        let prefix_fails = errors.iter().any(|e| e.field.to_string() == "metadata.generateName");
        if prefix_fails && self.profile.has_generate_name_bug() && meta::text(&object, "metadata.generateName") == "-" {
            return Err(self
                .profile
                .panic(422, "metadata.generateName must not be a dash alone"));
        }
        require_valid(resource, &object, &errors)?;
        strategy.canonicalize(&mut object);
        strategy.set_initial_status(&mut object);
        let has_version = revision::parse(meta::text(&object, "metadata.resourceVersion")).is_ok_and(|r| r != 0);
        let refusal = (posted && has_version)
            .then(|| self.client_error(400, "resourceVersion may not be set on objects to be created"));
        if subresource == Subresource::Main && strategy.allocates() {
            return self.insert_allocated(request, object, refusal).await;
        }
        if let Some(refusal) = refusal {
            return Err(refusal);
        }
        let inserted = self.insert(request, object, Claims::none()).await?;
        inserted.ok_or_else(|| conflict(request))
    }

    /// Allocates what `object` needs and stores it. Tries again if another process has claimed the same values. With
    /// `refusal`, only tries the allocation, then fails with `refusal`.
    async fn insert_allocated(
        &self,
        request: &RequestInfo,
        object: Object,
        refusal: Option<Status>,
    ) -> Result<Arc<Record>, Status> {
        let strategy = strategy_of(&request.resource);
        for _ in 0..MAX_ATTEMPTS {
            self.reload_claims();
            let mut object = object.clone();
            let allocation = strategy.allocate(&self.context, &mut object, None)?;
            let inserted = match &refusal {
                Some(refusal) => Err(refusal.clone()),
                None => self.insert(request, object, &allocation.claims()).await,
            };
            match &inserted {
                Ok(Some(_)) => self.context.allocator.commit(&allocation),
                _ => self.context.allocator.release(&allocation),
            }
            if let Some(record) = inserted? {
                return Ok(record);
            }
        }
        Err(conflict(request))
    }

    /// Updates the allocator with the claims of other processes.
    pub(super) fn reload_claims(&self) {
        if let Some(claims) = self.store.claims() {
            self.context.allocator.replace(&claims);
        }
    }

    fn fill_system_fields(&self, object: &mut Object) {
        for field in ["selfLink", "deletionTimestamp"] {
            meta::set(object, field, "");
        }
        meta::metadata(object).shift_remove("deletionGracePeriodSeconds");
        meta::set(object, "creationTimestamp", &self.clock.stamp());
        meta::set(object, "uid", &self.context.rng.uid());
        let prefix = meta::text(object, "metadata.generateName").to_owned();
        if meta::text(object, "metadata.name").is_empty() && !prefix.is_empty() {
            let kept: String = prefix.chars().take(MAX_PREFIX_CHARS).collect();
            meta::set(object, "name", &format!("{kept}{}", self.context.rng.name_suffix()));
        }
    }
}
