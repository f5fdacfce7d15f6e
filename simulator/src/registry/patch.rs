//! Applies a patch to what an answer shows.

use serde_json::Value;

use super::{PatchKind, Registry};
use crate::{
    api::{Object, Status},
    patch::{self, Language},
    scheme::Resource,
};

impl Registry {
    /// `current`, an object of `resource`'s version as JSON, with the patch applied.
    pub(super) fn apply(&self, resource: &'static Resource, kind: PatchKind, current: &[u8], body: &[u8]) -> Result<Value, Status> {
        let original: Object = serde_json::from_slice(current).map_err(|e| Status::internal(format!("a stored object does not parse: {e}")))?;
        let language = match kind {
            PatchKind::Json => Language::Json,
            PatchKind::Merge => Language::Merge,
            PatchKind::Strategic => Language::Strategic,
        };
        patch::apply(language, &original, body, resource.type_ref(), self.profile).map(Value::Object).map_err(|error| error.status(self.profile))
    }
}
