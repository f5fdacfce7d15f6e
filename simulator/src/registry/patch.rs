//! PATCH of objects and of their status.
//!
//! Source of the conflict rule: v1.2's `patchResource`. If another writer changes the object meanwhile, the patch is
//! applied to the changed object, unless both changed the same field to different values.

use super::{
    codec::parse,
    errors::conflict,
    request::{RequestInfo, Response, Subresource},
    state::Registry,
    update::response_body,
    write::MAX_ATTEMPTS,
};
use crate::{
    api::{Object, Status, meta},
    patch::{self, Language},
    scheme::{Resource, Syntax},
};

/// The object that the patch was first applied to, and the result.
struct FirstTry {
    original: Object,
    patched: Object,
    is_internal: bool,
}

impl Registry {
    /// Patches an object or one of its subresources.
    pub(crate) async fn patch(
        &self,
        request: &RequestInfo,
        language: Language,
        body: &[u8],
    ) -> Result<Response, Status> {
        if request.subresource.as_deref() == Some("scale") {
            return self.patch_scale(request, language, body).await;
        }
        let resource = &request.resource;
        let subresource = Subresource::of(request)?;
        let mut first: Option<FirstTry> = None;
        for _ in 0..MAX_ATTEMPTS {
            let old = self.record(request)?;
            let mut current = parse(old.bytes_in(resource))?;
            meta::set(&mut current, "selfLink", old.sent_self_link());
            let (patched, is_internal) = match &first {
                None => self.apply_patch(resource, language, &current, body)?,
                Some(first) => {
                    let rebased = patch::rebase(&first.original, &first.patched, &current, resource.type_ref());
                    (rebased.ok_or_else(|| conflict(request))?, first.is_internal)
                }
            };
            let expects_revision = meta::text(&patched, "metadata.resourceVersion") != old.revision().to_string();
            let mut object = patched.clone();
            if !is_internal {
                resource.default(&mut object);
            }
            let refusal = match self.update_object(request, subresource, object).await {
                Ok((record, _)) => return Ok(Response::ok(response_body(request, &record)?)),
                Err(error) if error.code != 409 => return Err(error),
                Err(error) => error,
            };
            if let Some(bug) = self.conflict_bug(resource, &current) {
                return Err(bug);
            }
            if expects_revision || self.record(request)?.revision() == old.revision() {
                return Err(refusal);
            }
            first.get_or_insert_with(|| FirstTry {
                original: resource.canonical(current),
                patched: resource.canonical(patched),
                is_internal,
            });
        }
        Err(conflict(request))
    }

    /// Error of v1.2 for a conflicting patch of a kind in a version other than the stored one: it compares the objects
    /// as another type.
    fn conflict_bug(&self, resource: &Resource, current: &Object) -> Option<Status> {
        let compared_as = resource.storage_version().type_ref();
        let missing = self
            .profile
            .has_patch_conflict_bug()
            .then(|| patch::missing_map(current, compared_as))??;
        Some(self.client_error(409, missing))
    }

    /// Applies the patch to `current`; the result is decoded but not defaulted. Also returns whether it was decoded
    /// as v1.2's internal version, which has no defaults.
    pub(super) fn apply_patch(
        &self,
        resource: &Resource,
        language: Language,
        current: &Object,
        patch: &[u8],
    ) -> Result<(Object, bool), Status> {
        let patched = patch::apply(language, current, patch, resource.type_ref(), self.profile)
            .map_err(|e| e.status(self.profile))?;
        let scheme = self.scheme();
        let decoded = if self.profile.has_internal_version_bug() {
            scheme.decode_internal(resource, &patched)
        } else {
            let object = scheme.decode_plain(resource, &patched, Syntax::Json);
            object.map(|object| (object, false))
        };
        decoded.map_err(|refusal| self.client_error(422, refusal.message))
    }
}
