//! Effects of v1.2's internal types.
//!
//! - v1.2 converts a decoded object to an internal type, and back for the response. If the two types differ, this
//!   changes the object or fails. Each such case is a function here, which a type names as its `@internal`.
//! - Source of the semantics: Kubernetes v1.2's conversion functions.

use serde_json::Value;

use super::types::{FieldType, InternalRule, StructType, Types};
use crate::api::{
    Object,
    meta::{child, member_mut, text},
};

/// Rule with this name.
pub(super) fn rule(name: &str) -> Option<InternalRule> {
    Some(match name {
        "external_ips" => external_ips,
        "rolling_update_parts" => rolling_update_parts,
        "service_account" => service_account,
        _ => return None,
    })
}

/// Applies the rules of the type `of` and of the types in it.
pub(super) fn structure(types: &Types, of: &StructType, object: &mut Object) -> Result<(), &'static str> {
    if let Some(rule) = of.internal {
        rule(object)?;
    }
    for field in &of.fields {
        if !types
            .structure_in(&field.field_type)
            .is_some_and(|of| of.has_internal_rules)
        {
            continue;
        }
        if let FieldType::Struct(id) = field.field_type {
            structure(types, types.get(id), child(object, &field.name))?;
        } else if let Some(given) = member_mut(object, &field.name) {
            value(types, &field.field_type, given)?;
        }
    }
    Ok(())
}

fn value(types: &Types, of: &FieldType, given: &mut Value) -> Result<(), &'static str> {
    match (of, given) {
        (FieldType::Pointer(inner), given) => value(types, inner, given),
        (FieldType::Struct(id), Value::Object(fields)) => structure(types, types.get(*id), fields),
        (FieldType::List(items), Value::Array(given)) => {
            given.iter_mut().try_for_each(|item| value(types, items, item))
        }
        _ => Ok(()),
    }
}

/// External addresses of a service have two names. The deprecated one takes precedence, and both are set.
fn external_ips(spec: &mut Object) -> Result<(), &'static str> {
    let given = |name: &str| {
        spec.get(name)
            .filter(|ips| ips.as_array().is_some_and(|ips| !ips.is_empty()))
            .cloned()
    };
    if let Some(ips) = given("deprecatedPublicIPs").or_else(|| given("externalIPs")) {
        spec.insert("externalIPs".into(), ips.clone());
        spec.insert("deprecatedPublicIPs".into(), ips);
    }
    Ok(())
}

/// Parameters of a rolling update have defaults. For any other strategy both must be set.
fn rolling_update_parts(strategy: &mut Object) -> Result<(), &'static str> {
    let rolling = matches!(text(strategy, "type"), "" | "RollingUpdate");
    let Some(Value::Object(parts)) = strategy.get("rollingUpdate") else {
        return Ok(());
    };
    let given = |name: &str| parts.get(name).is_some_and(|part| !part.is_null());
    if rolling || (given("maxUnavailable") && given("maxSurge")) {
        Ok(())
    } else {
        Err("expected pointer, but got nil")
    }
}

/// The service account of a pod has two names. The newer one takes precedence, and both are set.
fn service_account(spec: &mut Object) -> Result<(), &'static str> {
    let name = match text(spec, "serviceAccountName") {
        "" => text(spec, "serviceAccount").to_owned(),
        name => name.to_owned(),
    };
    for field in ["serviceAccountName", "serviceAccount"] {
        spec.insert(field.into(), name.clone().into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case("external_ips", json!({"externalIPs": ["1.1.1.1"]}),
        json!({"externalIPs": ["1.1.1.1"], "deprecatedPublicIPs": ["1.1.1.1"]}))]
    #[case("external_ips", json!({"externalIPs": ["1.1.1.1"], "deprecatedPublicIPs": ["2.2.2.2"]}),
        json!({"externalIPs": ["2.2.2.2"], "deprecatedPublicIPs": ["2.2.2.2"]}))]
    #[case("service_account", json!({"serviceAccount": "a"}),
        json!({"serviceAccountName": "a", "serviceAccount": "a"}))]
    #[case("service_account", json!({"serviceAccount": "a", "serviceAccountName": "b"}),
        json!({"serviceAccountName": "b", "serviceAccount": "b"}))]
    #[case("rolling_update_parts", json!({"rollingUpdate": {"maxSurge": 1}}),
        json!({"rollingUpdate": {"maxSurge": 1}}))]
    fn objects_are_changed_as_by_the_internal_type(#[case] name: &str, #[case] given: Value, #[case] kept: Value) {
        let mut object = given.as_object().unwrap().clone();
        rule(name).unwrap()(&mut object).unwrap();
        assert_eq!(Value::Object(object), kept);
    }

    #[test]
    fn parameters_of_another_strategy_must_be_complete() {
        let mut strategy = json!({"type": "Recreate", "rollingUpdate": {"maxSurge": 1}})
            .as_object()
            .unwrap()
            .clone();
        assert_eq!(
            rolling_update_parts(&mut strategy),
            Err("expected pointer, but got nil")
        );
    }
}
