//! Limits of limit ranges for pods: defaults and bounds of container resources.
//!
//! Source: v1.2's LimitRanger. Where v1.2 iterates over a map in random order, names are sorted here.

use serde_json::{Map, Value};

use crate::api::{
    Object, meta,
    quantity::{Format, Quantity},
};

/// Annotation that lists the defaults that were set.
const ANNOTATION: &str = "kubernetes.io/limit-ranger";

type Amounts = Map<String, Value>;

/// Largest amount whose thousandths fit into 64 bits.
const MAX_MILLI: i64 = i64::MAX / 1000;

/// Check of a resource: its name, the bound, the request and the limit. Returns the error, if any.
type Test<'a> = &'a dyn Fn(&str, Quantity, Option<Quantity>, Option<Quantity>) -> Option<String>;

/// Applies the limits of one limit range to a pod: sets defaults, and returns an error for each value out of bounds.
pub(super) fn apply(pod: &mut Object, limits: &[Object]) -> Vec<String> {
    complete(pod, limits);
    limits.iter().flat_map(|limit| check(pod, limit)).collect()
}

fn containers(pod: &Object) -> impl Iterator<Item = &Object> {
    meta::lookup(pod, "spec.containers")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_object)
}

fn amounts(holder: &Object, path: &str) -> Amounts {
    meta::lookup(holder, path)
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default()
}

/// Sets the defaults of values that containers do not specify.
fn complete(pod: &mut Object, limits: &[Object]) {
    let defaults = |field: &str| -> Amounts {
        limits
            .iter()
            .filter(|l| meta::text(l, "type") == "Container")
            .flat_map(|l| amounts(l, field))
            .collect()
    };
    let mut set = Vec::new();
    let list = meta::child(pod, "spec")
        .get_mut("containers")
        .and_then(Value::as_array_mut);
    for container in list.into_iter().flatten().filter_map(Value::as_object_mut) {
        let name = meta::text(container, "name").to_owned();
        for (field, word, given) in [
            ("requests", "request", defaults("defaultRequest")),
            ("limits", "limit", defaults("default")),
        ] {
            let held = amounts(container, &format!("resources.{field}"));
            let mut missing: Vec<_> = given.into_iter().filter(|(k, _)| !held.contains_key(k)).collect();
            missing.sort_by(|a, b| a.0.cmp(&b.0));
            if !missing.is_empty() {
                let names: Vec<&str> = missing.iter().map(|(k, _)| k.as_str()).collect();
                set.push(format!("{} {word} for container {name}", names.join(", ")));
                meta::child(meta::child(container, "resources"), field).extend(missing);
            }
        }
    }
    if !set.is_empty() {
        let annotations = meta::child(meta::metadata(pod), "annotations");
        annotations.insert(
            ANNOTATION.to_owned(),
            format!("LimitRanger plugin set: {}", set.join("; ")).into(),
        );
    }
}

/// Returns an error for each value of `pod` outside `limit`.
fn check(pod: &Object, limit: &Object) -> Vec<String> {
    let of = |container: &Object| {
        (
            amounts(container, "resources.requests"),
            amounts(container, "resources.limits"),
        )
    };
    match meta::text(limit, "type") {
        "Container" => containers(pod)
            .flat_map(|c| bounds(limit, "Container", &of(c)))
            .collect(),
        "Pod" => {
            let (requests, limits): (Vec<Amounts>, Vec<Amounts>) = containers(pod).map(of).unzip();
            bounds(limit, "Pod", &(sum(&requests), sum(&limits)))
        }
        _ => Vec::new(),
    }
}

/// Sums of the resources that every part has.
fn sum(parts: &[Amounts]) -> Amounts {
    let named = parts
        .first()
        .into_iter()
        .flat_map(Amounts::keys)
        .filter(|k| parts.iter().all(|p| p.contains_key(*k)));
    named
        .map(|name| {
            let all = parts.iter().filter_map(|p| quantity(p.get(name)?));
            let total = if name == "cpu" {
                Quantity::milli(wrapping_sum(all.map(Quantity::milli_value)), Format::DecimalSi)
            } else {
                Quantity::new(wrapping_sum(all.map(Quantity::value)), Format::DecimalSi)
            };
            (name.clone(), total.to_string().into())
        })
        .collect()
}

/// Sum that wraps around on overflow, as in v1.2.
fn wrapping_sum(values: impl Iterator<Item = i64>) -> i64 {
    values.fold(0, i64::wrapping_add)
}

fn quantity(value: &Value) -> Option<Quantity> {
    value.as_str()?.parse().ok()
}

/// Values that v1.2 compares: thousandths, or units if one of the amounts is too large for thousandths.
fn observed(request: Option<Quantity>, limit: Option<Quantity>, bound: Quantity) -> [Option<i64>; 2] {
    let fits = |amount: Quantity| amount.value() <= MAX_MILLI;
    let precise = [request, limit, Some(bound)].into_iter().flatten().all(fits);
    [request, limit].map(|amount| {
        amount.map(if precise {
            Quantity::milli_value
        } else {
            Quantity::value
        })
    })
}

fn bounds(limit: &Object, what: &str, (requests, limits): &(Amounts, Amounts)) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut each = |field: &str, test: Test<'_>| {
        let mut bounds: Vec<_> = amounts(limit, field).into_iter().collect();
        bounds.sort_by(|a, b| a.0.cmp(&b.0));
        for (name, bound) in bounds {
            if let Some(bound) = quantity(&bound) {
                wrong.extend(test(
                    &name,
                    bound,
                    requests.get(&name).and_then(quantity),
                    limits.get(&name).and_then(quantity),
                ));
            }
        }
    };
    each("min", &|name, min, request, limit| {
        let said = format!("Minimum {name} usage per {what} is {min}");
        match (request, limit) {
            (None, _) => Some(format!("{said}.  No request is specified.")),
            (Some(request), _) if request < min => Some(format!("{said}, but request is {request}.")),
            (_, Some(limit)) if limit < min => Some(format!("{said}, but limit is {limit}.")),
            _ => None,
        }
    });
    each("max", &|name, max, request, limit| {
        let said = format!("Maximum {name} usage per {what} is {max}");
        match (request, limit) {
            (_, None) => Some(format!("{said}.  No limit is specified.")),
            (_, Some(limit)) if limit > max => Some(format!("{said}, but limit is {limit}.")),
            (Some(request), _) if request > max => Some(format!("{said}, but request is {request}.")),
            _ => None,
        }
    });
    each("maxLimitRequestRatio", &|name, most, request, limit| {
        let said = format!("{name} max limit to request ratio per {what} is {most}");
        let [request, limit] = observed(request, limit, most);
        match (request, limit) {
            (None | Some(0), _) => Some(format!("{said}, but no request is specified or request is 0.")),
            (_, None | Some(0)) => Some(format!("{said}, but no limit is specified or limit is 0.")),
            (Some(request), Some(limit)) => {
                let ratio = limit as f64 / request as f64;
                let exceeded = match most.value() {
                    value if value > MAX_MILLI => ratio > value as f64,
                    _ => ratio * 1000.0 > most.milli_value() as f64,
                };
                exceeded.then(|| format!("{said}, but provided ratio is {ratio:.6}."))
            }
        }
    });
    wrong
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn pod(resource: &str, amounts: &[&str]) -> Object {
        let containers = amounts
            .iter()
            .map(|amount| json!({"resources": {"limits": {resource: amount}}}));
        Object::from_iter([("spec".to_owned(), json!({"containers": containers.collect::<Vec<_>>()}))])
    }

    #[rstest]
    #[case("memory", &["9223372036854775807", "1"], "-9223372036854775808")]
    #[case("cpu", &["1Ei"], "-9223372036854775808m")]
    #[case("cpu", &["1E", "1"], "3875820019684213736m")]
    #[case("cpu", &["500m", "1"], "1500m")]
    fn sums_of_extreme_limits_wrap_around(#[case] resource: &str, #[case] amounts: &[&str], #[case] want: &str) {
        let limits: Vec<Amounts> = containers(&pod(resource, amounts))
            .map(|container| super::amounts(container, "resources.limits"))
            .collect();
        assert_eq!(sum(&limits)[resource], want);
    }
}
