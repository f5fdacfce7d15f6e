//! Resource quotas: counts what a new object uses against what its namespace may use.
//!
//! A quota counts once its status says what is limited, as its controller makes it. Source: v1.2's ResourceQuota.

use std::collections::BTreeMap;

use serde_json::Value;

use super::of_namespace;
use crate::{
    api::{
        Object, Status, meta,
        quantity::{Format, Quantity},
    },
    registry::{Address, Registry},
};

type Usage = BTreeMap<String, Quantity>;

/// Admits what the quotas of the namespace have room for, and books it.
pub(super) async fn admit(registry: &Registry, at: &Address, object: &Object) -> Result<(), Status> {
    let usage = usage(&at.resource.plural, object);
    if usage.is_empty() {
        return Ok(());
    }
    let name = meta::text(object, "metadata.name");
    let refuse = |why: String| Status::forbidden(&at.resource.group, &at.resource.plural, name, &why);
    for (place, quota) in of_namespace(registry, at, "resourcequotas").await? {
        if !in_scope(&quota, &at.resource.plural, object) {
            continue;
        }
        let limited = listed(&quota, "status.hard");
        let missing: Vec<&str> = limited.keys().filter(|k| must_be_given(&at.resource.plural, k) && !usage.contains_key(*k)).map(String::as_str).collect();
        if !missing.is_empty() {
            return Err(refuse(format!("Failed quota: {}: must specify {}", meta::text(&quota, "metadata.name"), missing.join(","))));
        }
        let asked: Usage = usage.iter().filter(|(k, _)| limited.contains_key(*k)).map(|(k, v)| (k.clone(), *v)).collect();
        if asked.is_empty() {
            continue;
        }
        let named = meta::text(&quota, "metadata.name").to_owned();
        registry
            .modify(&place, |quota| {
                let (hard, mut used) = (listed(quota, "status.hard"), listed(quota, "status.used"));
                let before = used.clone();
                let mut over = Vec::new();
                for (what, amount) in &asked {
                    let total = used.get(what).map_or(*amount, |u| u.plus(*amount));
                    if hard.get(what).is_some_and(|limit| total > *limit) {
                        over.push(what.clone());
                    }
                    used.insert(what.clone(), total);
                }
                if !over.is_empty() {
                    let show = |of: &Usage| {
                        over.iter().map(|k| format!("{k}={}", of.get(k).map_or("0".to_owned(), ToString::to_string))).collect::<Vec<_>>().join(",")
                    };
                    return Err(refuse(format!("Exceeded quota: {named}, requested: {}, used: {}, limited: {}", show(&asked), show(&before), show(&hard))));
                }
                let used = used.into_iter().map(|(k, v)| (k, Value::from(v.to_string()))).collect();
                meta::child(quota, "status").insert("used".into(), Value::Object(used));
                Ok(())
            })
            .await?;
    }
    Ok(())
}

fn listed(object: &Object, path: &str) -> Usage {
    let amounts = meta::lookup(object, path).and_then(Value::as_object).into_iter().flatten();
    amounts.filter_map(|(k, v)| Some((k.clone(), v.as_str()?.parse().ok()?))).collect()
}

/// What an object of a kind uses.
pub(in crate::registry) fn usage(plural: &str, object: &Object) -> Usage {
    let one = Quantity::new(1, Format::DecimalSi);
    let mut used = Usage::new();
    match plural {
        "services" | "replicationcontrollers" | "resourcequotas" | "secrets" | "configmaps" | "persistentvolumeclaims" => {
            used.insert(plural.to_owned(), one);
        }
        "pods" => {
            used.insert("pods".to_owned(), one);
            let containers = meta::lookup(object, "spec.containers").and_then(Value::as_array).into_iter().flatten();
            for (field, short) in [("requests", true), ("limits", false)] {
                let amounts = containers.clone().filter_map(|c| c.get("resources")?.get(field)?.as_object()).flatten();
                for (name, amount) in amounts.filter(|(k, _)| matches!(k.as_str(), "cpu" | "memory")) {
                    let Some(amount) = amount.as_str().and_then(|a| a.parse::<Quantity>().ok()) else { continue };
                    for key in [Some(format!("{field}.{name}")), short.then(|| name.clone())].into_iter().flatten() {
                        used.entry(key).and_modify(|u| *u = u.plus(amount)).or_insert(amount);
                    }
                }
            }
        }
        _ => {}
    }
    if plural == "services" {
        let kind = meta::text(object, "spec.type");
        let ports = meta::lookup(object, "spec.ports").and_then(Value::as_array).map_or(0, Vec::len);
        if kind == "LoadBalancer" {
            used.insert("services.loadbalancers".to_owned(), one);
        }
        if matches!(kind, "NodePort" | "LoadBalancer") {
            used.insert("services.nodeports".to_owned(), Quantity::new(i64::try_from(ports).unwrap_or(i64::MAX), Format::DecimalSi));
        }
    }
    used
}

/// Whether a quota on `what` makes every pod say how much it uses.
fn must_be_given(plural: &str, what: &str) -> bool {
    plural == "pods" && matches!(what, "cpu" | "memory" | "requests.cpu" | "requests.memory" | "limits.cpu" | "limits.memory")
}

/// Whether an object is of a quota's scopes.
fn in_scope(quota: &Object, plural: &str, object: &Object) -> bool {
    let scopes = meta::lookup(quota, "spec.scopes").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let bounded = meta::lookup(object, "spec.activeDeadlineSeconds").and_then(Value::as_i64).is_some();
    let containers = || meta::lookup(object, "spec.containers").and_then(Value::as_array).into_iter().flatten();
    let best_effort = || {
        containers()
            .all(|c| ["requests", "limits"].iter().all(|f| c.get("resources").and_then(|r| r.get(f)).and_then(Value::as_object).is_none_or(|m| m.is_empty())))
    };
    scopes.into_iter().all(|scope| match scope {
        _ if plural != "pods" => false,
        "Terminating" => bounded,
        "NotTerminating" => !bounded,
        "BestEffort" => best_effort(),
        "NotBestEffort" => !best_effort(),
        _ => false,
    })
}
