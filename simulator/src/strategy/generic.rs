//! The interface of a strategy. Its defaults are the generic behaviour, which a kind without a strategy of its own has.

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

/// What a kind does differently from others.
///
/// Objects are in the kind's storage version and in typed form, what is stored in canonical form. Validation reports every error, in v1.2's order; `group` is the group of the request, for kinds
/// that are served in several.
pub(crate) trait Strategy: Send + Sync {
    /// Sets the fields of a new object that a client cannot set. It has no UID and perhaps no name yet.
    fn prepare_for_create(&self, _object: &mut Object, _rng: &Rng) {}

    /// Sets the fields of a new object that depend on its name and UID.
    fn complete(&self, _object: &mut Object) {}

    /// Validates a new object.
    fn validate(&self, _object: &Cursor, _group: &str, _errors: &mut Errors) {}

    /// Brings a valid object into the form in which it is stored.
    fn canonicalize(&self, _object: &mut Object) {}

    /// Sets the status with which a valid new object is stored.
    fn set_initial_status(&self, _object: &mut Object) {}

    /// Keeps the fields that an update cannot change.
    fn prepare_for_update(&self, _new: &mut Object, _old: &Object) {}

    /// Keeps the fields that an update of the status cannot change.
    fn prepare_for_status_update(&self, new: &mut Object, old: &Object) {
        keep(new, old, "spec");
    }

    /// Keeps the fields that an update of the finalizers cannot change.
    fn prepare_for_finalizers_update(&self, new: &mut Object, old: &Object) {
        keep(new, old, "status");
    }

    /// Validates an update.
    fn validate_update(&self, _new: &Cursor, _old: &Cursor, _group: &str, _errors: &mut Errors) {}

    /// Validates an update of the status.
    fn validate_status_update(&self, _new: &Cursor, _old: &Cursor, _errors: &mut Errors) {}

    /// Validates an update of the finalizers.
    fn validate_finalizers(&self, _new: &Cursor, _old: &Cursor, _errors: &mut Errors) {}

    /// Whether an update is validated, by the kind's own rules alone, before its resource version is compared.
    fn validates_before_version(&self) -> bool {
        false
    }

    /// Allocates what the service network gives to an object that is created, or that takes the place of `old`.
    fn allocate(&self, _context: &Context, _object: &mut Object, _old: Option<&Object>) -> Result<Allocation, Status> {
        Ok(Allocation::default())
    }

    /// Frees what was allocated to a removed object.
    fn free(&self, _context: &Context, _object: &Object) {}

    /// What is allocated to an object, by the names of its claims.
    fn held(&self, _object: &Object) -> Vec<String> {
        Vec::new()
    }

    /// Whether objects have allocations.
    fn allocates(&self) -> bool {
        false
    }

    /// Takes what was allocated to an object that was stored before the start.
    fn restore(&self, _context: &Context, _object: &Object) {}

    /// Decides how an object is deleted, and marks it if it is not removed at once.
    ///
    /// `grace` is the requested grace period in seconds; it becomes the one that applies.
    fn before_delete(
        &self,
        _object: &mut Object,
        _grace: &mut Option<i64>,
        _now: Timestamp,
    ) -> Result<Deletion, Status> {
        Ok(Deletion::Remove)
    }

    /// The same for an object that is deleted with its collection.
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

    /// Whether DELETE returns the deleted object where the profile allows it.
    fn returns_deleted(&self) -> bool {
        false
    }

    /// The resource whose object of the same name is deleted with an object.
    fn dependent(&self) -> Option<ResourceName> {
        None
    }

    /// Strips an object for export. With `exact`, fields that belong to this cluster stay.
    fn export(&self, object: &mut Object, _exact: bool, rng: &Rng) -> Result<(), Status> {
        self.prepare_for_create(object, rng);
        Ok(())
    }

    /// How long an object is kept after its last change. Default: for ever.
    fn time_to_live(&self) -> Option<SignedDuration> {
        None
    }

    /// A part of the stored object that is not shown, and whose change is a change of the object.
    fn hidden_state(&self, _is_new: bool) -> &'static str {
        ""
    }

    /// The objects of a kind that is not stored but computed.
    fn computed(&self, _context: &Context) -> Option<Vec<Object>> {
        None
    }

    /// What POST does at `subresource`, or at the collection, if it does not create an object of the kind.
    fn action(&self, _subresource: Option<&str>) -> Option<&'static dyn Action> {
        None
    }

    /// The scale of an object.
    fn scale(&self) -> Option<&'static Scale> {
        None
    }

    /// Finds the servers to which the proxy sends a request for an object. Error: 404 if nothing can be proxied to an object of the kind.
    fn location<'a>(
        &'a self,
        _objects: &'a dyn Lookup,
        _object: ObjectId<'a>,
    ) -> BoxFuture<'a, Result<Location, Status>> {
        Box::pin(future::err(Status::no_such_path()))
    }

    /// Whether the query parameter `path`, at the root of the proxy, is the path of the request, where the profile allows it.
    fn has_proxy_path_parameter(&self) -> bool {
        false
    }

    /// Whether an update, too, passes the admission of new objects (limit ranges and quotas).
    fn is_admitted_on_update(&self) -> bool {
        false
    }

    /// Whether objects run as a service account.
    fn runs_as_service_account(&self) -> bool {
        false
    }

    /// Lets an object run as the account of this name, with the token in the secret `token` if there is one.
    fn run_as_service_account(&self, _object: &mut Object, _name: &str, _account: &Object, _token: Option<&str>) {}

    /// Whether limit ranges apply.
    fn has_limits(&self) -> bool {
        false
    }

    /// Applies the limits of one limit range, in `limits`: sets their defaults and returns what is out of bounds.
    fn apply_limits(&self, _object: &mut Object, _limits: &[Object]) -> Vec<String> {
        Vec::new()
    }

    /// The quantities of an object that a quota can limit.
    fn quota_resources(&self) -> &'static [&'static str] {
        &[]
    }

    /// What an object uses of them. Default: one of each.
    fn quota_usage(&self, _object: &Object) -> Usage {
        self.quota_resources().iter().map(|name| Usage::one(name)).sum()
    }

    /// Checks that an object specifies everything that a quota limits, in `limited`.
    fn check_quota_request(&self, _object: &Object, _limited: &Usage) -> Result<(), String> {
        Ok(())
    }

    /// Whether an object is in the scope of a quota.
    fn is_in_quota_scope(&self, _object: &Object, _scope: &str) -> bool {
        false
    }
}

/// The strategy of kinds without one of their own.
pub(super) struct Generic;

impl Strategy for Generic {}
