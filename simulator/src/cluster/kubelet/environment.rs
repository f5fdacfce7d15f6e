//! Environment variables of containers, and expansion of references to them.
//!
//! Source: `pkg/kubelet` (`makeEnvironmentVariables`), `pkg/kubelet/envvars` and `third_party/golang/expansion` of
//! Kubernetes v1.2.

use std::collections::BTreeMap;

use serde_json::Value;

use super::sources::Sources;
use crate::api::{Object, meta};

/// Variables, in the order in which they are set.
pub(super) type Variables = Vec<(String, String)>;

/// Returns the variables of a container: those of its spec, then those of the services that it does not set itself.
///
/// # Errors
/// Describes a missing object or key.
pub(super) fn variables(
    pod: &Object,
    container: &Value,
    address: &str,
    sources: &Sources,
) -> Result<Variables, String> {
    let namespace = meta::text(pod, "metadata.namespace");
    let mut of_services = service_variables(namespace, sources);
    let mut own: Variables = Vec::new();
    for variable in container["env"].as_array().into_iter().flatten() {
        let name = variable["name"].as_str().unwrap_or_default();
        let from = &variable["valueFrom"];
        let value = if let Some(field) = from.get("fieldRef") {
            field_value(pod, field["fieldPath"].as_str().unwrap_or_default(), address)?
        } else if let Some(reference) = from.get("configMapKeyRef") {
            let map = sources.config_map(namespace, reference["name"].as_str().unwrap_or_default())?;
            value_of(&map, reference, "ConfigMap", namespace)?
        } else if let Some(reference) = from.get("secretKeyRef") {
            let secret = sources.secret(namespace, reference["name"].as_str().unwrap_or_default())?;
            value_of(&secret, reference, "Secret", namespace)?
        } else {
            let text = variable["value"].as_str().unwrap_or_default();
            expand(text, |name| {
                let found = own.iter().rev().find(|(own, _)| own == name);
                found.map(|(_, value)| value).or_else(|| of_services.get(name)).cloned()
            })
        };
        of_services.remove(name);
        own.push((name.to_owned(), value));
    }
    own.extend(of_services);
    Ok(own)
}

fn value_of(
    data: &BTreeMap<String, Vec<u8>>,
    reference: &Value,
    kind: &str,
    namespace: &str,
) -> Result<String, String> {
    let text = |field: &str| reference[field].as_str().unwrap_or_default();
    let (key, name) = (text("key"), text("name"));
    let value = data
        .get(key)
        .ok_or_else(|| format!("Couldn't find key {key} in {kind} {namespace}/{name}"))?;
    Ok(String::from_utf8_lossy(value).into_owned())
}

/// Returns the value of a field of a pod, as in the downward API.
pub(super) fn field_value(pod: &Object, path: &str, address: &str) -> Result<String, String> {
    let pairs = |path: &str| {
        let map = meta::lookup(pod, path).and_then(Value::as_object);
        let mut lines: Vec<String> = map
            .into_iter()
            .flatten()
            .map(|(key, value)| format!("{key}={:?}\n", value.as_str().unwrap_or_default()))
            .collect();
        lines.sort();
        lines.concat()
    };
    Ok(match path {
        "metadata.name" | "metadata.namespace" => meta::text(pod, path).to_owned(),
        "metadata.labels" | "metadata.annotations" => pairs(path),
        "status.podIP" => address.to_owned(),
        _ => return Err(format!("Unsupported fieldPath: {path}")),
    })
}

/// Returns the variables of the services that a pod sees: those of its namespace, and the cluster's own.
fn service_variables(namespace: &str, sources: &Sources) -> BTreeMap<String, String> {
    let mut variables = BTreeMap::new();
    let text = |service: &Object, path: &str| meta::text(service, path).to_owned();
    for service in sources.services(namespace) {
        let address = text(&service, "spec.clusterIP");
        if address.is_empty() || address == "None" {
            continue;
        }
        let prefix = text(&service, "metadata.name").to_uppercase().replace('-', "_");
        let ports = meta::lookup(&service, "spec.ports").and_then(Value::as_array);
        for (at, port) in ports.into_iter().flatten().enumerate() {
            let number = port["port"].as_u64().unwrap_or_default();
            let protocol = port["protocol"].as_str().unwrap_or("TCP");
            let url = format!("{}://{address}:{number}", protocol.to_lowercase());
            let mut set = |name: String, value: String| drop(variables.insert(name, value));
            if at == 0 {
                set(format!("{prefix}_SERVICE_HOST"), address.clone());
                set(format!("{prefix}_SERVICE_PORT"), number.to_string());
                set(format!("{prefix}_PORT"), url.clone());
            }
            if let Some(name) = port["name"].as_str().filter(|name| !name.is_empty()) {
                let name = name.to_uppercase().replace('-', "_");
                set(format!("{prefix}_SERVICE_PORT_{name}"), number.to_string());
            }
            let link = format!("{prefix}_PORT_{number}_{protocol}");
            set(link.clone(), url);
            set(format!("{link}_PROTO"), protocol.to_lowercase());
            set(format!("{link}_PORT"), number.to_string());
            set(format!("{link}_ADDR"), address.clone());
        }
    }
    variables
}

/// Replaces `$(NAME)` by `value(NAME)`, and `$$` by a dollar sign. References without a value are left as they are.
pub(super) fn expand(text: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let (before, after) = rest.split_at(at);
        expanded.push_str(before);
        let (found, taken) = match after.as_bytes().get(1) {
            Some(b'$') => ("$".to_owned(), 2),
            Some(b'(') => match after.find(')') {
                Some(end) => {
                    let reference = after.get(..=end).unwrap_or_default();
                    let name = after.get(2..end).unwrap_or_default();
                    (value(name).unwrap_or_else(|| reference.to_owned()), end + 1)
                }
                None => ("$(".to_owned(), 2),
            },
            _ => ("$".to_owned(), 1),
        };
        expanded.push_str(&found);
        rest = after.get(taken..).unwrap_or_default();
    }
    expanded.push_str(rest);
    expanded
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case("a$(X)b", "a1b")]
    #[case("$(Y) $$(X) $X $", "$(Y) $(X) $X $")]
    #[case("$(X$(X)", "$(X$(X)")]
    #[case("$$$(X)", "$1")]
    #[case("$(X", "$(X")]
    fn references_are_replaced(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(expand(text, |name| (name == "X").then(|| "1".to_owned())), expected);
    }

    #[test]
    fn fields_of_a_pod_are_converted_to_strings() {
        let pod = json!({"metadata": {"name": "p", "labels": {"b": "2", "a": "say \"x\""}}});
        let pod = pod.as_object().unwrap();
        let field = |path| field_value(pod, path, "10.244.1.3");
        assert_eq!(field("metadata.labels").unwrap(), "a=\"say \\\"x\\\"\"\nb=\"2\"\n");
        assert_eq!(field("status.podIP").unwrap(), "10.244.1.3");
        assert!(field("spec.nodeName").is_err());
    }
}
