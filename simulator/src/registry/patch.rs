//! Applies a patch to what an answer shows.

use super::Registry;
use crate::{
    api::{Object, Status},
    patch::{self, Language},
    scheme::{Resource, Syntax},
};

impl Registry {
    /// `current`, an object of `resource`'s version, with the patch applied: decoded, not defaulted.
    pub(super) fn apply(
        &self,
        resource: &Resource,
        language: Language,
        current: &Object,
        patch: &[u8],
    ) -> Result<Object, Status> {
        let patched = patch::apply(language, current, patch, resource.type_ref(), self.profile)
            .map_err(|e| e.status(self.profile))?;
        self.scheme()
            .decode_plain(resource, &patched, Syntax::Json)
            .map_err(|refusal| self.client_error(422, refusal.message))
    }
}
