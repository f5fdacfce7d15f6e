//! Scale subresource: GET, PUT and PATCH.

use std::sync::Arc;

use super::{
    admission,
    codec::{encode, parse},
    errors::{conflict, require_name, require_namespace},
    request::{RequestBody, RequestInfo, Response},
    revision,
    state::{Registry, strategy_of},
};
use crate::{
    api::{Object, Status, meta},
    patch::Language,
    scheme::Resource,
    store::Record,
    strategy::{Scale, scale},
};

/// Request for a scale.
struct ScaleRequest {
    scale: &'static Scale,
    /// Kind of the scale.
    kind: Arc<Resource>,
    /// Request for the scaled object.
    target: RequestInfo,
    /// Plural of the scaled resource, for errors and links.
    plural: String,
    root: String,
}

impl ScaleRequest {
    /// Replaces a 404 by one that names the scale subresource.
    fn rename_not_found(&self, status: Status) -> Status {
        if status.code != 404 {
            return status;
        }
        Status::not_found(&self.kind.group, &format!("{}/scale", self.plural), self.target.name())
    }

    fn view(&self, object: &Object) -> Object {
        let [namespace, name] = ["metadata.namespace", "metadata.name"].map(|path| meta::text(object, path));
        let path = format!("{}/namespaces/{namespace}/{}/{name}/scale", self.root, self.plural);
        self.scale.view(&self.kind, &path, object)
    }

    fn response(&self, record: &Record) -> Result<Response, Status> {
        Ok(Response::ok(encode(&self.kind, self.view(&parse(record.bytes())?))))
    }
}

impl Registry {
    fn scaled(&self, request: &RequestInfo) -> Result<ScaleRequest, Status> {
        let scale = strategy_of(&request.resource)
            .scale()
            .ok_or_else(Status::no_such_path)?;
        let mut target = request.with_name(request.name());
        if let Some(name) = scale.target() {
            target.resource = self.named(name)?;
        }
        Ok(ScaleRequest {
            scale,
            kind: self.body_kind((scale.group_version(), scale::KIND))?,
            target,
            plural: request.resource.plural.clone(),
            root: request.resource.root_path(),
        })
    }

    /// Returns a scale.
    pub(super) fn get_scale(&self, request: &RequestInfo) -> Result<Response, Status> {
        let scaled = self.scaled(request)?;
        let record = self.record(&scaled.target).map_err(|s| scaled.rename_not_found(s))?;
        scaled.response(&record)
    }

    /// Updates a scale.
    pub(super) async fn update_scale(&self, request: &RequestInfo, body: &RequestBody) -> Result<Response, Status> {
        let scaled = self.scaled(request)?;
        let object = self.decode_body(&scaled.kind, body)?;
        self.write_scale(request, &scaled, &object).await
    }

    /// Patches a scale.
    pub(super) async fn patch_scale(
        &self,
        request: &RequestInfo,
        language: Language,
        body: &[u8],
    ) -> Result<Response, Status> {
        let scaled = self.scaled(request)?;
        let current = self.get_scale(request)?;
        let mut current = parse(&current.body)?;
        // v1.2 patches the scale before it sets its selfLink.
        meta::metadata(&mut current).shift_remove("selfLink");
        let (object, _) = self.apply_patch(&scaled.kind, language, &current, body)?;
        self.write_scale(request, &scaled, &object).await
    }

    async fn write_scale(
        &self,
        request: &RequestInfo,
        scaled: &ScaleRequest,
        new: &Object,
    ) -> Result<Response, Status> {
        require_name(request, new)?;
        require_namespace(request, new)?;
        admission::namespace_exists(self, request)?;
        scaled.scale.validate(&scaled.kind, new)?;
        self.record(&scaled.target).map_err(|s| scaled.rename_not_found(s))?;
        let expected = revision::parse(meta::text(new, "metadata.resourceVersion")).map_err(|why| {
            let resource = format!("{}/scale", scaled.plural);
            Status::conflict(&scaled.kind.group, &resource, request.name(), &why)
        })?;
        let record = self
            .modify(&scaled.target, |object| {
                let revision = meta::text(object, "metadata.resourceVersion");
                if expected != 0 && revision != expected.to_string() {
                    return Err(conflict(&scaled.target));
                }
                scaled.scale.apply(new, object);
                Ok(())
            })
            .await?;
        scaled.response(&record)
    }
}
