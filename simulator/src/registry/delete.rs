//! Deletion of one object or of a collection, at once or gracefully.
//!
//! Source: v1.2's generic delete.

use std::sync::Arc;

use serde_json::Value;

use super::{
    admission,
    codec::{parse, stored_tree},
    encoded_list::EncodedList,
    request::{ListOptions, RequestBody, RequestInfo, Response},
    selection::Selection,
    state::{Registry, strategy_of},
};
use crate::{
    api::Status,
    compat::go_quote,
    store::{Expected, Record, StoreError, Write},
    strategy::{Claims, DELETE_OPTIONS, Deletion},
};

/// Versions in which v1.2 reads delete options.
const OPTIONS_VERSIONS: [&str; 2] = ["v1", "extensions/v1beta1"];

impl Registry {
    /// Deletes an object.
    pub(crate) async fn delete(&self, request: &RequestInfo, body: Option<&RequestBody>) -> Result<Response, Status> {
        if request.subresource.is_some() {
            return Err(Status::method_not_allowed());
        }
        let strategy = strategy_of(&request.resource);
        let mut grace = match body {
            Some(body) if !strategy.ignores_delete_options() => self.grace_period(request, body)?,
            _ => None,
        };
        admission::namespace_exists(self, request)?;
        let record = self.delete_object(request, false, &mut grace).await?;
        if self.profile.delete_returns_object() && strategy.returns_deleted() {
            return Ok(Response::ok(record.bytes_in(&request.resource).clone()));
        }
        Ok(Response::status(&Status::success()))
    }

    /// Returns the grace period of delete options, in seconds.
    fn grace_period(&self, request: &RequestInfo, body: &RequestBody) -> Result<Option<i64>, Status> {
        if body.bytes.is_empty() {
            return Ok(None);
        }
        let kind = self.body_kind(DELETE_OPTIONS)?;
        let (version, options) = self
            .scheme()
            .decode_versioned(&kind, &request.resource, &body.bytes, body.syntax)
            .map_err(|refusal| self.client_error(400, refusal.message))?;
        let is_own = version == request.resource.group_version() && !self.profile.has_delete_options_bug();
        if !is_own && !OPTIONS_VERSIONS.contains(&version.as_str()) {
            let (kind, version) = (&kind.kind, go_quote(&version));
            let text = format!("no kind \"{kind}\" is registered for version {version}");
            return Err(self.client_error(400, text));
        }
        Ok(options.get("gracePeriodSeconds").and_then(Value::as_i64))
    }

    /// Deletes the selected objects of a collection. As in v1.2, the first grace period that applies is used for all
    /// later objects.
    pub(crate) async fn delete_collection(
        &self,
        request: &RequestInfo,
        options: &ListOptions,
        body: Option<&RequestBody>,
    ) -> Result<Response, Status> {
        admission::namespace_exists(self, request)?;
        let selection = Selection::parse(request, options, self.profile)?;
        let mut grace = body.map_or(Ok(None), |body| self.grace_period(request, body))?;
        self.check_list_version(request, options)?;
        let mut listing = self.listing(request);
        listing.records.retain(|r| selection.matches(r));
        for record in &listing.records {
            let one = RequestInfo {
                namespace: request.resource.namespaced.then(|| record.key().namespace.to_string()),
                ..request.with_name(&record.key().name)
            };
            match self.delete_object(&one, true, &mut grace).await {
                Err(gone) if gone.code == 404 => {}
                other => drop(other?),
            }
        }
        if self.profile.delete_returns_object() {
            let list = EncodedList::of(request, &listing.records, Some(listing.revision), None, self.profile);
            return Ok(Response::ok(list.body().clone()));
        }
        Ok(Response::status(&Status::success()))
    }

    /// Deletes one object with the grace period `grace`, or with its own, which is then written to `grace`. Returns
    /// its last state.
    async fn delete_object(
        &self,
        request: &RequestInfo,
        in_collection: bool,
        grace: &mut Option<i64>,
    ) -> Result<Arc<Record>, Status> {
        let strategy = strategy_of(&request.resource);
        loop {
            let old = self.record(request)?;
            let mut object = stored_tree(&old)?;
            let now = self.clock.now();
            let deletion = if in_collection {
                strategy.before_delete_of_collection(&mut object, grace, now)?
            } else {
                strategy.before_delete(&mut object, grace, now)?
            };
            let last = match deletion {
                Deletion::Pending => return Ok(old),
                Deletion::Remove => old,
                Deletion::Mark | Deletion::MarkAndRemove => {
                    match self.write(request, object, &old, Claims::none()).await? {
                        Some(marked) if deletion == Deletion::Mark => return Ok(marked),
                        Some(marked) => marked,
                        None => continue,
                    }
                }
            };
            let claims = Claims {
                taken: Vec::new(),
                freed: if strategy.allocates() {
                    strategy.claim_names(&parse(last.bytes())?)
                } else {
                    Vec::new()
                },
            };
            let removed = self
                .store
                .commit_claiming(last.key(), Expected::At(last.revision()), Write::Remove, &claims);
            match removed.await {
                Ok(_) => {
                    strategy.free(&self.context, &parse(last.bytes())?);
                    self.delete_dependent(request).await?;
                    return Ok(last);
                }
                Err(StoreError::Stale { .. } | StoreError::Missing(_)) => continue,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Deletes the object of another kind that has the same name and is deleted along with `request`'s.
    async fn delete_dependent(&self, request: &RequestInfo) -> Result<(), Status> {
        let Some(name) = strategy_of(&request.resource).dependent() else {
            return Ok(());
        };
        let dependent = RequestInfo {
            resource: self.named(name)?,
            ..request.clone()
        };
        match Box::pin(self.delete_object(&dependent, false, &mut None)).await {
            Err(gone) if gone.code == 404 => Ok(()),
            other => other.map(drop),
        }
    }
}
