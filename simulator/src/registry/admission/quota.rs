//! Resource quotas: limits of what the objects of a namespace use.
//!
//! - A quota takes effect once the quota controller has written its limits to its status.
//! - Source: v1.2's ResourceQuota.

use super::{forbidden, in_namespace, name};
use crate::{
    api::{
        Object, Status, meta,
        quantity::{Format, Quantity},
    },
    registry::{codec::parse, errors::require_valid, request::RequestInfo, state::Registry},
    strategy::{self, Strategy, Usage, resourcequota, validation},
};
use serde_json::Value;

/// Quota object and the request that addresses it.
type Quota = (RequestInfo, Object);

fn strategy_of(request: &RequestInfo) -> &'static dyn Strategy {
    strategy::of(request.resource.storage_version())
}

/// Admits a new object, or an update of `old`, if it fits in the quotas of its namespace. Adds its usage to them.
pub(super) async fn admit(
    registry: &Registry,
    request: &RequestInfo,
    object: &Object,
    old: Option<&Object>,
) -> Result<(), Status> {
    let quotas = matching(registry, request, object)?;
    if quotas.is_empty() {
        return Ok(());
    }
    let strategy = strategy_of(request);
    let before = old.map(|old| strategy.quota_usage(old)).unwrap_or_default();
    let change = strategy.quota_usage(object).without(&before);
    if change.is_zero() {
        return Ok(());
    }
    for (_, quota) in &quotas {
        charged(request, object, quota, &change)?;
    }
    for (place, _) in &quotas {
        registry
            .modify(place, |quota| {
                let used = charged(request, object, quota, &change)?;
                let before = quota.clone();
                meta::child(quota, "status").insert("used".into(), Value::Object(used.to_object()));
                validate(place, quota, &before).map_err(|invalid| {
                    let quota = meta::text(quota, "metadata.name");
                    let why = format!("Unable to update quota status: {quota} {}", invalid.message);
                    forbidden(request, name(object), &why)
                })?;
                if registry.profile.has_quota_metadata_bug() {
                    meta::metadata(quota)
                        .retain(|field, _| !matches!(field.as_str(), "labels" | "annotations" | "generateName"));
                }
                Ok(())
            })
            .await?;
    }
    Ok(())
}

/// Validates the status of a quota. Negative requests can make its usage negative.
fn validate(request: &RequestInfo, quota: &Object, before: &Object) -> Result<(), Status> {
    let errors = validation::update_status(strategy_of(request), quota, before);
    require_valid(&request.resource, quota, &errors)
}

/// Admits an update.
pub(super) async fn admit_update(registry: &Registry, request: &RequestInfo, object: &Object) -> Result<(), Status> {
    if matching(registry, request, object)?.is_empty() {
        return Ok(());
    }
    let old = match registry.record(request) {
        Ok(record) => parse(record.bytes())?,
        Err(missing) => {
            let why = format!("Unable to get previous: {missing}");
            return Err(forbidden(request, name(object), &why));
        }
    };
    admit(registry, request, object, Some(&old)).await
}

/// Returns the quotas that limit an object. Fails unless the object specifies every limited resource and the usage of
/// every quota is known.
fn matching(registry: &Registry, request: &RequestInfo, object: &Object) -> Result<Vec<Quota>, Status> {
    let strategy = strategy_of(request);
    let resources = strategy.quota_resources();
    if resources.is_empty() {
        return Ok(Vec::new());
    }
    let mut quotas = in_namespace(registry, request, resourcequota::RESOURCE)?;
    quotas.retain(|(_, quota)| {
        let limits = Usage::read(quota, "status.hard");
        limits.0.keys().any(|name| resources.contains(&name.as_str())) && is_in_scope(strategy, quota, object)
    });
    for (_, quota) in &quotas {
        let (limits, used) = (Usage::read(quota, "status.hard"), Usage::read(quota, "status.used"));
        let quota = meta::text(quota, "metadata.name");
        strategy
            .check_quota_request(object, &limits)
            .map_err(|why| forbidden(request, name(object), &format!("Failed quota: {quota}: {why}")))?;
        if !limits.0.keys().all(|name| used.0.contains_key(name)) {
            let why = format!("Status unknown for quota: {quota}");
            return Err(forbidden(request, name(object), &why));
        }
    }
    Ok(quotas)
}

fn is_in_scope(strategy: &dyn Strategy, quota: &Object, object: &Object) -> bool {
    meta::lookup(quota, "spec.scopes")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .all(|scope| strategy.is_in_quota_scope(object, scope))
}

/// Returns the usage of `quota` plus `change`. Fails if it exceeds the limits.
fn charged(request: &RequestInfo, object: &Object, quota: &Object, change: &Usage) -> Result<Usage, Status> {
    let (limits, before) = (Usage::read(quota, "status.hard"), Usage::read(quota, "status.used"));
    let mut requested = change.clone();
    requested.0.retain(|name, _| limits.0.contains_key(name));
    let used: Usage = [before.clone(), requested.clone()].into_iter().sum();
    let is_over = |(name, total): &(&String, &_)| limits.0.get(*name).is_some_and(|limit| *total > limit);
    let over: Vec<&String> = used.0.iter().filter(is_over).map(|(name, _)| name).collect();
    if over.is_empty() {
        return Ok(used);
    }
    let show = |usage: &Usage| {
        over.iter()
            .filter_map(|name| Some(format!("{name}={}", usage.0.get(*name)?)))
            .collect::<Vec<_>>()
            .join(",")
    };
    let why = format!(
        "Exceeded quota: {}, requested: {}, used: {}, limited: {}",
        meta::text(quota, "metadata.name"),
        show(&requested),
        show(&before),
        show(&limits)
    );
    Err(forbidden(request, name(object), &why))
}

/// Returns the total usage of `objects`, each with the plural of its kind, for the resources that `quota` limits.
pub(crate) fn total<'a>(quota: &Object, objects: impl Iterator<Item = (&'a str, &'a Object)>) -> Object {
    let zero = Quantity::new(0, Format::DecimalSi);
    let limits = Usage::read(quota, "spec.hard");
    let mut used = Usage(limits.0.keys().map(|name| (name.clone(), zero)).collect());
    for (plural, object) in objects {
        let Some(strategy) = strategy::counted_as(plural).filter(|s| is_in_scope(*s, quota, object)) else {
            continue;
        };
        for (name, amount) in strategy.quota_usage(object).0 {
            if limits.0.contains_key(&name) {
                used.add(&name, amount);
            }
        }
    }
    used.to_object()
}
