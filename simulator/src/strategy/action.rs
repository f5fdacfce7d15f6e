//! Actions: POSTs that do not create an object of the requested resource but change another object.

use super::resource_name::ResourceName;
use crate::{
    api::{Object, Status},
    profile::Profile,
};

/// Action of a POST: a binding, a rollback.
pub(crate) trait Action: Send + Sync {
    /// Group, version and kind of the body.
    fn body_kind(&self) -> (&'static str, &'static str);

    /// Resource of the changed object. Default: that of the request.
    fn target(&self) -> Option<ResourceName> {
        None
    }

    /// Whether the action needs a namespace that is not being deleted.
    fn needs_live_namespace(&self) -> bool {
        false
    }

    /// Validates the body.
    fn validate(&self, body: &Object, profile: Profile) -> Result<(), Status>;

    /// Name of the object to change.
    fn name<'a>(&self, body: &'a Object) -> &'a str;

    /// Applies the body to the object.
    fn apply(&self, body: &Object, object: &mut Object) -> Result<(), Status>;

    /// Code and `Status` of a success. Without a `Status` the response is the body.
    fn response(&self, profile: Profile) -> (u16, Option<Status>);
}
