//! Applies a patch to what an answer shows.

use serde_json::Value;

use super::{PatchKind, Registry};
use crate::{api::Status, patch, scheme::Resource};

impl Registry {
    /// `current`, an object of `resource`'s version as JSON, with the patch applied.
    pub(super) fn apply(&self, resource: &'static Resource, kind: PatchKind, current: &[u8], body: &[u8]) -> Result<Value, Status> {
        let original: Value = serde_json::from_slice(current).map_err(|e| Status::internal(format!("a stored object does not parse: {e}")))?;
        let patched = match kind {
            PatchKind::Json => patch::json::apply(&original, body, self.profile),
            PatchKind::Merge => patch::merge::apply(&original, body),
            PatchKind::Strategic => patch::strategic::apply(&original, body, resource.type_ref()),
        };
        patched.map_err(|error| error.status(self.profile))
    }
}
