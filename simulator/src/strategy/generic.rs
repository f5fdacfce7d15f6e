//! Interface of strategies. Its default methods are the generic behaviour of kinds without a strategy.

use futures::future::{self, BoxFuture};
use jiff::{SignedDuration, Timestamp};

use super::{
    action::Action,
    allocation::Allocation,
    context::Context,
    deletion::Deletion,
    location::{Location, Lookup, ObjectId},
    object::keep,
    resource_name::ResourceName,
    scale::Scale,
    usage::Usage,
    validate::cursor::{Cursor, Errors},
};
use crate::{
    api::{Object, Status},
    rng::Rng,
};

/// Behaviour of a kind that differs from that of other kinds.
///
/// - Objects are in the kind's storage version and in typed form; stored objects are in canonical form.
/// - Validation reports every error, in v1.2's order. `group` is the group of the request, for kinds that are served
///   in several.
pub(crate) trait Strategy: Send + Sync {
    /// Sets the fields of a new object that a client cannot set. The object has no UID and possibly no name yet.
    fn prepare_for_create(&self, _object: &mut Object, _rng: &Rng) {}

    /// Sets the fields of a new object that depend on its name and UID.
    fn complete(&self, _object: &mut Object) {}

    /// Validates a new object.
    fn validate(&self, _object: &Cursor, _group: &str, _errors: &mut Errors) {}

    /// Converts a valid object to the form in which it is stored.
    fn canonicalize(&self, _object: &mut Object) {}

    /// Sets the initial status of a valid new object.
    fn set_initial_status(&self, _object: &mut Object) {}

    /// Copies from `old` the fields that an update cannot change.
    fn prepare_for_update(&self, _new: &mut Object, _old: &Object) {}

    /// Copies from `old` the fields that a status update cannot change.
    fn prepare_for_status_update(&self, new: &mut Object, old: &Object) {
        keep(new, old, "spec");
    }

    /// Copies from `old` the fields that an update of the finalizers cannot change.
    fn prepare_for_finalizers_update(&self, new: &mut Object, old: &Object) {
        keep(new, old, "status");
    }

    /// Validates an update.
    fn validate_update(&self, _new: &Cursor, _old: &Cursor, _group: &str, _errors: &mut Errors) {}

    /// Validates an update of the status.
    fn validate_status_update(&self, _new: &Cursor, _old: &Cursor, _errors: &mut Errors) {}

    /// Validates an update of the finalizers.
    fn validate_finalizers(&self, _new: &Cursor, _old: &Cursor, _errors: &mut Errors) {}

    /// Whether an update is validated (by the rules of the kind alone) before its resource version is compared.
    fn validates_before_version(&self) -> bool {
        false
    }

    /// Allocates cluster IP and node ports to an object that is created or replaces `old`.
    fn allocate(&self, _context: &Context, _object: &mut Object, _old: Option<&Object>) -> Result<Allocation, Status> {
        Ok(Allocation::default())
    }

    /// Frees the allocations of a removed object.
    fn free(&self, _context: &Context, _object: &Object) {}

    /// Claim names of an object's allocations.
    fn claim_names(&self, _object: &Object) -> Vec<String> {
        Vec::new()
    }

    /// Whether objects have allocations.
    fn allocates(&self) -> bool {
        false
    }

    /// Marks the allocations of an object as used. Called at startup for stored objects.
    fn restore(&self, _context: &Context, _object: &Object) {}

    /// Returns how an object is deleted, and marks it unless it is removed at once.
    ///
    /// `grace` is the requested grace period in seconds. It is set to the one that applies.
    fn before_delete(
        &self,
        _object: &mut Object,
        _grace: &mut Option<i64>,
        _now: Timestamp,
    ) -> Result<Deletion, Status> {
        Ok(Deletion::Remove)
    }

    /// Returns how an object is deleted that is deleted with its collection.
    fn before_delete_of_collection(
        &self,
        object: &mut Object,
        grace: &mut Option<i64>,
        now: Timestamp,
    ) -> Result<Deletion, Status> {
        self.before_delete(object, grace, now)
    }

    /// Whether the body of a DELETE is ignored.
    fn ignores_delete_options(&self) -> bool {
        false
    }

    /// Whether DELETE returns the deleted object, if the profile allows it.
    fn returns_deleted(&self) -> bool {
        false
    }

    /// Resource whose object of the same name is deleted along with an object.
    fn dependent(&self) -> Option<ResourceName> {
        None
    }

    /// Prepares an object for export. With `exact`, cluster-specific fields are kept.
    fn export(&self, object: &mut Object, _exact: bool, rng: &Rng) -> Result<(), Status> {
        self.prepare_for_create(object, rng);
        Ok(())
    }

    /// Time to live of an object after its last change. Default: unlimited.
    fn time_to_live(&self) -> Option<SignedDuration> {
        None
    }

    /// State that is stored but not shown. A write with other hidden state is a change.
    fn hidden_state(&self, _is_new: bool) -> &'static str {
        ""
    }

    /// Objects of a kind that is computed instead of stored.
    fn computed(&self, _context: &Context) -> Option<Vec<Object>> {
        None
    }

    /// Action of POST at `subresource`, or at the collection, if it does not create an object of the kind.
    fn action(&self, _subresource: Option<&str>) -> Option<&'static dyn Action> {
        None
    }

    /// Scale of the kind, if it has one.
    fn scale(&self) -> Option<&'static Scale> {
        None
    }

    /// Returns the servers to which the proxy sends a request for an object. 404 if the kind cannot be proxied.
    fn location<'a>(
        &'a self,
        _objects: &'a dyn Lookup,
        _object: ObjectId<'a>,
    ) -> BoxFuture<'a, Result<Location, Status>> {
        Box::pin(future::err(Status::no_such_path()))
    }

    /// Whether the query parameter `path`, at the root of the proxy, is the path of the request, if the profile
    /// allows it.
    fn has_proxy_path_parameter(&self) -> bool {
        false
    }

    /// Whether updates pass the admission of new objects (limit ranges and quotas).
    fn is_admitted_on_update(&self) -> bool {
        false
    }

    /// Whether objects run as a service account.
    fn runs_as_service_account(&self) -> bool {
        false
    }

    /// Sets the service account of an object, and mounts the token of the secret `token`, if there is one.
    fn run_as_service_account(&self, _object: &mut Object, _name: &str, _account: &Object, _token: Option<&str>) {}

    /// Whether limit ranges apply.
    fn has_limits(&self) -> bool {
        false
    }

    /// Applies `limits`, those of one limit range: sets their defaults and returns an error for each value out of
    /// bounds.
    fn apply_limits(&self, _object: &mut Object, _limits: &[Object]) -> Vec<String> {
        Vec::new()
    }

    /// Resources that a quota can limit for objects of the kind.
    fn quota_resources(&self) -> &'static [&'static str] {
        &[]
    }

    /// Usage of these resources by an object. Default: one of each.
    fn quota_usage(&self, _object: &Object) -> Usage {
        self.quota_resources().iter().map(|name| Usage::one(name)).sum()
    }

    /// Checks that an object specifies every resource in `limited`, those that a quota limits.
    fn check_quota_request(&self, _object: &Object, _limited: &Usage) -> Result<(), String> {
        Ok(())
    }

    /// Whether an object is in the scope of a quota.
    fn is_in_quota_scope(&self, _object: &Object, _scope: &str) -> bool {
        false
    }
}

/// Strategy of kinds without one of their own.
pub(super) struct Generic;

impl Strategy for Generic {}
