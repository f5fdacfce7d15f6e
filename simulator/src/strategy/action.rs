//! What a POST does that does not create an object of the requested resource: it changes another object.

use super::resource_name::ResourceName;
use crate::{
    api::{Object, Status},
    profile::Profile,
};

/// Body of a POST that changes an object: a binding, a rollback.
pub(crate) trait Action: Send + Sync {
    /// Group version and kind of the body.
    fn body_kind(&self) -> (&'static str, &'static str);

    /// The resource whose object is changed. Default: that of the request.
    fn target(&self) -> Option<ResourceName> {
        None
    }

    /// Whether the action needs a namespace that is not being deleted.
    fn needs_live_namespace(&self) -> bool {
        false
    }

    /// Validates the body.
    fn validate(&self, body: &Object, profile: Profile) -> Result<(), Status>;

    /// The name of the object to change.
    fn name<'a>(&self, body: &'a Object) -> &'a str;

    /// Changes the object.
    fn apply(&self, body: &Object, object: &mut Object) -> Result<(), Status>;

    /// Code and `Status` of a success; without a `Status` the body is returned.
    fn response(&self, profile: Profile) -> (u16, Option<Status>);
}
