//! Resource quotas: counts what a new object uses against what its namespace may use.
//!
//! A quota counts once its status says what is limited, as its controller makes it. Source: v1.2's ResourceQuota.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::of_namespace;
use crate::{
    api::{
        Object, Status, meta,
        quantity::{Format, Quantity},
        status::texts,
    },
    registry::{Registry, RequestInfo, get::parse},
    strategy::validate,
};

type Usage = BTreeMap<String, Quantity>;

/// What quotas can limit of pods.
const OF_PODS: [&str; 7] = [
    "cpu",
    "limits.cpu",
    "limits.memory",
    "memory",
    "pods",
    "requests.cpu",
    "requests.memory",
];

/// Admits a new object, or one in place of `old`, if the quotas of the namespace have room for it, and books what it uses.
pub(super) async fn admit(
    registry: &Registry,
    request: &RequestInfo,
    object: &Object,
    old: Option<&Object>,
) -> Result<(), Status> {
    let plural = request.resource.plural.as_str();
    let quotas = concerned(registry, request, object).await?;
    let before = old.map(|old| usage(plural, old)).unwrap_or_default();
    let change = less(usage(plural, object), &before);
    if change.values().all(|amount| amount.sign() == 0) {
        return Ok(());
    }
    for (_, quota) in &quotas {
        booked(request, object, quota, &change)?;
    }
    for (place, _) in &quotas {
        registry
            .modify(place, |quota| {
                let used = booked(request, object, quota, &change)?;
                let used = used.into_iter().map(|(k, v)| (k, Value::from(v.to_string()))).collect();
                meta::child(quota, "status").insert("used".into(), Value::Object(used));
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

/// Admits a pod in place of the one that is there.
pub(super) async fn admit_update(registry: &Registry, request: &RequestInfo, object: &Object) -> Result<(), Status> {
    if concerned(registry, request, object).await?.is_empty() {
        return Ok(());
    }
    let old = match registry.record(request).await {
        Ok(record) => parse(record.bytes())?,
        Err(missing) => return Err(refusal(request, object, &format!("Unable to get previous: {missing}"))),
    };
    admit(registry, request, object, Some(&old)).await
}

fn refusal(request: &RequestInfo, object: &Object, why: &str) -> Status {
    Status::forbidden(
        &request.resource.group,
        &request.resource.plural,
        super::name(object),
        why,
    )
}

/// The quotas that limit what `object` uses, which says all that they want to know and whose usage is known.
async fn concerned(
    registry: &Registry,
    request: &RequestInfo,
    object: &Object,
) -> Result<Vec<(RequestInfo, Object)>, Status> {
    let limitable = limitable(&request.resource.plural);
    let mut quotas = if limitable.is_empty() {
        Vec::new()
    } else {
        of_namespace(registry, request, "resourcequotas").await?
    };
    quotas.retain(|(_, quota)| {
        let limited = listed(quota, "status.hard");
        limited.keys().any(|k| limitable.contains(&k.as_str())) && in_scope(quota, &request.resource.plural, object)
    });
    for (_, quota) in &quotas {
        let (limited, used) = (listed(quota, "status.hard"), listed(quota, "status.used"));
        let name = meta::text(quota, "metadata.name");
        if request.resource.plural == "pods" {
            says_enough(object, &limited)
                .map_err(|why| refusal(request, object, &format!("Failed quota: {name}: {why}")))?;
        }
        if !limited.keys().all(|k| used.contains_key(k)) {
            return Err(refusal(request, object, &format!("Status unknown for quota: {name}")));
        }
    }
    Ok(quotas)
}

/// Whether the resources of every container of `pod` are sound, and name everything that is `limited`.
fn says_enough(pod: &Object, limited: &Usage) -> Result<(), String> {
    let faults = validate::container_resources(pod);
    if !faults.is_empty() {
        return Err(texts(&faults));
    }
    let missing: BTreeSet<&str> = containers(pod)
        .flat_map(|container| {
            let used = usage_of_containers(std::iter::once(container));
            limited
                .keys()
                .map(String::as_str)
                .filter(move |k| OF_PODS.contains(k) && *k != "pods" && !used.contains_key(*k))
        })
        .collect();
    if missing.is_empty() {
        Ok(())
    } else {
        Err(format!(
            "must specify {}",
            missing.into_iter().collect::<Vec<_>>().join(",")
        ))
    }
}

/// What is used of `quota` once `change` is booked, if it has room.
fn booked(request: &RequestInfo, object: &Object, quota: &Object, change: &Usage) -> Result<Usage, Status> {
    let (limited, before) = (listed(quota, "status.hard"), listed(quota, "status.used"));
    let mut asked = change.clone();
    asked.retain(|k, _| limited.contains_key(k));
    let mut used = before.clone();
    for (what, amount) in &asked {
        used.entry(what.clone())
            .and_modify(|u| *u = u.plus(*amount))
            .or_insert(*amount);
    }
    let over: Vec<&String> = used
        .iter()
        .filter(|(k, total)| limited.get(*k).is_some_and(|limit| *total > limit))
        .map(|(k, _)| k)
        .collect();
    if over.is_empty() {
        return Ok(used);
    }
    let show = |of: &Usage| {
        over.iter()
            .filter_map(|k| Some(format!("{k}={}", of.get(*k)?)))
            .collect::<Vec<_>>()
            .join(",")
    };
    let name = meta::text(quota, "metadata.name");
    Err(refusal(
        request,
        object,
        &format!(
            "Exceeded quota: {name}, requested: {}, used: {}, limited: {}",
            show(&asked),
            show(&before),
            show(&limited)
        ),
    ))
}

/// `usage` without `before`; below zero where there was more of something.
fn less(mut usage: Usage, before: &Usage) -> Usage {
    for (what, amount) in before {
        let left = usage.get(what).copied().unwrap_or_default().minus(*amount);
        usage.insert(what.clone(), left);
    }
    usage
}

fn listed(object: &Object, path: &str) -> Usage {
    let amounts = meta::lookup(object, path)
        .and_then(Value::as_object)
        .into_iter()
        .flatten();
    amounts
        .filter_map(|(k, v)| Some((k.clone(), v.as_str()?.parse().ok()?)))
        .collect()
}

/// What quotas can limit of a kind.
fn limitable(plural: &str) -> &'static [&'static str] {
    match plural {
        "pods" => &OF_PODS,
        "configmaps" => &["configmaps"],
        "persistentvolumeclaims" => &["persistentvolumeclaims"],
        "replicationcontrollers" => &["replicationcontrollers"],
        "resourcequotas" => &["resourcequotas"],
        "secrets" => &["secrets"],
        "services" => &["services"],
        _ => &[],
    }
}

fn containers(pod: &Object) -> impl Iterator<Item = &Value> + Clone {
    meta::lookup(pod, "spec.containers")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

/// What the objects of a namespace, by the plural of their kind, use of what a quota limits, each written as the quota's status has it.
pub(crate) fn total<'a>(quota: &Object, objects: impl Iterator<Item = (&'a str, &'a Object)>) -> Object {
    let hard = listed(quota, "spec.hard");
    let mut used: Usage = hard
        .keys()
        .map(|name| (name.clone(), Quantity::new(0, Format::DecimalSi)))
        .collect();
    let scoped = meta::lookup(quota, "spec.scopes").is_some();
    for (plural, object) in objects.filter(|(plural, object)| !scoped || in_scope(quota, plural, object)) {
        for (name, amount) in usage(plural, object) {
            used.entry(name).and_modify(|sum| *sum = sum.plus(amount));
        }
    }
    used.into_iter()
        .map(|(name, amount)| (name, amount.to_string().into()))
        .collect()
}

/// What an object of a kind uses. A pod that has ended uses nothing.
fn usage(plural: &str, object: &Object) -> Usage {
    if plural == "pods" {
        let ended = matches!(meta::text(object, "status.phase"), "Failed" | "Succeeded");
        return if ended {
            Usage::new()
        } else {
            with_one("pods", usage_of_containers(containers(object)))
        };
    }
    limitable(plural)
        .iter()
        .fold(Usage::new(), |used, what| with_one(what, used))
}

fn with_one(what: &str, mut used: Usage) -> Usage {
    used.insert(what.to_owned(), Quantity::new(1, Format::DecimalSi));
    used
}

fn usage_of_containers<'a>(containers: impl Iterator<Item = &'a Value> + Clone) -> Usage {
    let mut used = Usage::new();
    for (field, short) in [("requests", true), ("limits", false)] {
        let amounts = containers
            .clone()
            .filter_map(|c| c.get("resources")?.get(field)?.as_object())
            .flatten();
        for (name, amount) in amounts.filter(|(k, _)| matches!(k.as_str(), "cpu" | "memory")) {
            let Some(amount) = amount.as_str().and_then(|a| a.parse::<Quantity>().ok()) else {
                continue;
            };
            for key in [Some(format!("{field}.{name}")), short.then(|| name.clone())]
                .into_iter()
                .flatten()
            {
                used.entry(key).and_modify(|u| *u = u.plus(amount)).or_insert(amount);
            }
        }
    }
    used
}

/// Whether an object is of a quota's scopes; only pods are of any.
fn in_scope(quota: &Object, plural: &str, object: &Object) -> bool {
    let mut scopes = meta::lookup(quota, "spec.scopes")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    let bounded = || {
        meta::lookup(object, "spec.activeDeadlineSeconds")
            .and_then(Value::as_i64)
            .is_some_and(|seconds| seconds >= 0)
    };
    scopes.all(|scope| match scope {
        _ if plural != "pods" => false,
        "Terminating" => bounded(),
        "NotTerminating" => !bounded(),
        "BestEffort" => is_best_effort(object),
        "NotBestEffort" => !is_best_effort(object),
        _ => false,
    })
}

/// Whether some container of `pod` leaves open how much of something it wants.
fn is_best_effort(pod: &Object) -> bool {
    containers(pod).any(|container| {
        let resources = |field: &str| {
            container
                .get("resources")
                .and_then(|r| r.get(field))
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
        };
        let named = ["cpu", "memory"].into_iter().chain(
            resources("requests")
                .chain(resources("limits"))
                .map(|(name, _)| name.as_str()),
        );
        named.into_iter().any(|what| {
            let asked = resources("requests")
                .find(|(name, _)| *name == what)
                .and_then(|(_, amount)| amount.as_str()?.parse::<Quantity>().ok());
            asked.is_none_or(|amount| amount.value() == 0)
        })
    })
}
