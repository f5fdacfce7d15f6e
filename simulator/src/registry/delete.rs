//! Deleting objects, at once or gracefully, one or a collection.
//!
//! Source: v1.2's generic delete. A pod that runs on a node is given its grace period; every other object goes at once. A namespace goes
//! when it has no finalizers left.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::{
    ListOptions, Registry, RequestBody, RequestInfo, Response, admission,
    get::{encode_list, object, parse},
    select::Selection,
};
use crate::{
    api::{Object, Status, meta},
    clock::stamp,
    compat::go_quote,
    store::{Expected, Record, StoreError, Write},
};

/// The versions in which v1.2 reads delete options.
const OPTIONS_VERSIONS: [&str; 2] = ["v1", "extensions/v1beta1"];

/// What became of an object.
enum Outcome {
    /// It is to go when its time is over.
    Pending(Arc<Record>),
    /// It is gone; this was its last state.
    Gone(Arc<Record>),
}

/// What graceful deletion comes to.
enum Grace {
    /// The object goes at once, as it is.
    Now,
    /// It is on its way and stays as it is.
    AsItIs,
    /// It is marked as on its way, with this many seconds left.
    Marked(i64),
}

impl Registry {
    /// Deletes an object.
    pub async fn delete(&self, request: &RequestInfo, body: Option<&RequestBody>) -> Result<Response, Status> {
        if request.subresource.is_some() {
            return Err(Status::method_not_allowed());
        }
        let mut seconds = match body {
            Some(body) if request.resource.plural != "services" => self.grace_period(request, body)?,
            _ => None,
        };
        admission::namespace_exists(self, request).await?;
        let record = match request.resource.plural.as_str() {
            "namespaces" => self.delete_namespace(request).await?,
            _ => match self.delete_record(request, &mut seconds).await? {
                Outcome::Pending(record) | Outcome::Gone(record) => record,
            },
        };
        if self.profile.delete_returns_object() && answers_itself(&request.resource.plural) {
            return Ok(Response::ok(record.bytes_in(&request.resource).clone()));
        }
        Ok(Response::status(&Status::success()))
    }

    /// The grace period that a body of delete options asks for, in seconds.
    fn grace_period(&self, request: &RequestInfo, body: &RequestBody) -> Result<Option<i64>, Status> {
        if body.bytes.is_empty() {
            return Ok(None);
        }
        let scheme = self.scheme();
        let options = scheme
            .kind("v1", "DeleteOptions")
            .ok_or_else(|| Status::internal("there are no DeleteOptions"))?;
        let (version, options) = scheme
            .decode_versioned(options, &request.resource, &body.bytes, body.syntax)
            .map_err(|refusal| self.client_error(400, refusal.message))?;
        let own = version == request.resource.group_version() && !self.profile.has_delete_options_bug();
        if !own && !OPTIONS_VERSIONS.contains(&version.as_str()) {
            let text = format!(
                "no kind \"DeleteOptions\" is registered for version {}",
                go_quote(&version)
            );
            return Err(self.client_error(400, text));
        }
        Ok(options.get("gracePeriodSeconds").and_then(Value::as_i64))
    }

    /// Deletes every selected object of a collection. The grace period of the first that has one is that of all after it, as in v1.2.
    pub async fn delete_collection(
        &self,
        request: &RequestInfo,
        options: &ListOptions,
        body: Option<&RequestBody>,
    ) -> Result<Response, Status> {
        admission::namespace_exists(self, request).await?;
        let selection = Selection::parse(request, options, self.profile)?;
        let mut seconds = body.map_or(Ok(None), |body| self.grace_period(request, body))?;
        self.check_list_version(request, options)?;
        let mut listing = self.listing(request).await?;
        listing.records.retain(|r| selection.matches(r));
        for record in &listing.records {
            let one = RequestInfo {
                namespace: request.resource.namespaced.then(|| record.key().namespace.to_string()),
                name: Some(record.key().name.to_string()),
                ..request.clone()
            };
            match self.delete_record(&one, &mut seconds).await {
                Err(gone) if gone.code == 404 => {}
                other => drop(other?),
            }
        }
        if self.profile.delete_returns_object() {
            return Ok(Response::ok(encode_list(
                request,
                Some(listing.revision),
                None,
                &listing.records,
            )));
        }
        Ok(Response::status(&Status::success()))
    }

    /// Deletes one object in `seconds`, or in its own time, which is then written there.
    async fn delete_record(&self, request: &RequestInfo, seconds: &mut Option<i64>) -> Result<Outcome, Status> {
        loop {
            let old = self.record(request).await?;
            let mut object = object(&old)?;
            let grace = if request.resource.plural == "pods" {
                grace(&mut object, seconds, self.clock.now())
            } else {
                Grace::Now
            };
            let last = match grace {
                Grace::AsItIs => return Ok(Outcome::Pending(old)),
                Grace::Now => old,
                Grace::Marked(left) => match self.write(request, object, &old).await? {
                    Some(marked) if left > 0 => return Ok(Outcome::Pending(marked)),
                    Some(marked) => marked,
                    None => continue,
                },
            };
            match self
                .store
                .commit(last.key(), Expected::At(last.revision()), Write::Remove)
                .await
            {
                Ok(_) => {
                    if request.resource.plural == "services" {
                        self.services.forget(&parse(last.bytes())?);
                    }
                    self.delete_endpoints(request).await?;
                    return Ok(Outcome::Gone(last));
                }
                Err(StoreError::Stale { .. } | StoreError::Missing(_)) => continue,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// A service takes the endpoints of its name with it.
    async fn delete_endpoints(&self, request: &RequestInfo) -> Result<(), Status> {
        let Some(resource) = self
            .scheme()
            .resource("", "v1", "endpoints")
            .filter(|_| request.resource.plural == "services")
            .cloned()
        else {
            return Ok(());
        };
        match Box::pin(self.delete_record(
            &RequestInfo {
                resource,
                ..request.clone()
            },
            &mut None,
        ))
        .await
        {
            Err(gone) if gone.code == 404 => Ok(()),
            other => other.map(drop),
        }
    }

    /// The first delete of a namespace ends it; one when no finalizer is left removes it.
    async fn delete_namespace(&self, request: &RequestInfo) -> Result<Arc<Record>, Status> {
        let name = request.name.as_deref().unwrap_or_default();
        if name == super::DEFAULT_NAMESPACE {
            return Err(Status::forbidden(
                "",
                "namespaces",
                name,
                "this namespace may not be deleted",
            ));
        }
        let old = self.record(request).await?;
        let object = parse(old.bytes())?;
        if meta::text(&object, "metadata.deletionTimestamp").is_empty() {
            let now = self.clock.stamp();
            return self
                .modify(request, |namespace| {
                    meta::set(namespace, "deletionTimestamp", &now);
                    meta::child(namespace, "status").insert("phase".into(), "Terminating".into());
                    Ok(())
                })
                .await;
        }
        if meta::lookup(&object, "spec.finalizers")
            .and_then(Value::as_array)
            .is_some_and(|f| !f.is_empty())
        {
            let why = "The system is ensuring all content is removed from this namespace.  Upon completion, this namespace will automatically be purged by the system.";
            return Err(Status::conflict("", "namespaces", name, why));
        }
        match self.delete_record(request, &mut None).await? {
            Outcome::Pending(record) | Outcome::Gone(record) => Ok(record),
        }
    }
}

/// Whether DELETE answers with the object itself where the profile lets it.
fn answers_itself(plural: &str) -> bool {
    matches!(
        plural,
        "pods"
            | "namespaces"
            | "persistentvolumes"
            | "persistentvolumeclaims"
            | "podtemplates"
            | "resourcequotas"
            | "serviceaccounts"
    )
}

/// Decides how a pod goes, and marks it so; `asked` becomes the period that it is given.
fn grace(pod: &mut Object, asked: &mut Option<i64>, now: Timestamp) -> Grace {
    let number = |path: &str| meta::lookup(pod, path).and_then(Value::as_i64);
    let set = number("metadata.deletionGracePeriodSeconds");
    if let Ok(end) = meta::text(pod, "metadata.deletionTimestamp").parse::<Timestamp>() {
        return match (set, *asked) {
            (None, _) => Grace::Now,
            (Some(set), None) => {
                *asked = Some(set);
                Grace::AsItIs
            }
            (Some(set), Some(asked)) if asked > set => Grace::AsItIs,
            (Some(set), Some(asked)) => {
                mark(pod, later(end, asked - set), asked);
                Grace::Marked(asked)
            }
        };
    }
    let finished = matches!(meta::text(pod, "status.phase"), "Failed" | "Succeeded");
    let unbound = meta::text(pod, "spec.nodeName").is_empty();
    let seconds = if finished || unbound {
        0
    } else {
        asked.or(number("spec.terminationGracePeriodSeconds")).unwrap_or(0)
    };
    *asked = Some(seconds);
    mark(pod, later(now, seconds), seconds);
    Grace::Marked(seconds)
}

fn later(from: Timestamp, seconds: i64) -> Timestamp {
    from.saturating_add(SignedDuration::from_secs(seconds)).unwrap_or(from)
}

fn mark(pod: &mut Object, end: Timestamp, seconds: i64) {
    meta::set(pod, "deletionTimestamp", &stamp(end));
    meta::metadata(pod).insert("deletionGracePeriodSeconds".into(), seconds.into());
}
