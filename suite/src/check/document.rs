//! Checks of documents about the server: version, addresses, and API descriptions.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use http::Method;
use serde_json::Value;

use super::{Mismatch, clipped};
use crate::catalog::Operation;

/// Parameters of an operation that lists or watches, with their types.
const LIST: [(&str, &str); 6] = [
    ("pretty", "string"),
    ("labelSelector", "string"),
    ("fieldSelector", "string"),
    ("watch", "boolean"),
    ("resourceVersion", "string"),
    ("timeoutSeconds", "integer"),
];
/// Parameters of an operation that reads an object.
const READ: [(&str, &str); 3] = [("pretty", "string"), ("export", "boolean"), ("exact", "boolean")];
/// Parameters of any other operation.
const WRITE: [(&str, &str); 1] = [("pretty", "string")];
/// Field of the addresses in a document.
const ADDRESSES: &str = "serverAddressByClientCIDRs";

/// Checks the version of a server: its numbers are those of the release, and it has a commit.
pub fn version(body: &Value) -> Vec<Mismatch> {
    let text = |field| body.get(field).and_then(Value::as_str).unwrap_or_default();
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mut found = Vec::new();
    let minor = text("minor").trim_end_matches('+');
    for (field, fine) in [
        ("major", number(text("major"))),
        ("minor", number(minor)),
        ("gitCommit", !text("gitCommit").is_empty()),
        ("gitTreeState", !text("gitTreeState").is_empty()),
    ] {
        if !fine {
            let expected = if field.starts_with("git") {
                "a non-empty string"
            } else {
                "a number, as a string"
            };
            found.push(Mismatch::new(format!("/{field}"), expected, shown(body.get(field))));
        }
    }
    let release = format!("v{}.{minor}.", text("major"));
    if !text("gitVersion").starts_with(&release) {
        found.push(Mismatch::new(
            "/gitVersion",
            format!("{release}…"),
            shown(body.get("gitVersion")),
        ));
    }
    found
}

/// Checks the format of all server addresses in a document: client range and server address.
pub fn addresses(body: &Value) -> Vec<Mismatch> {
    match body {
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(name, value)| match name.as_str() {
                ADDRESSES => addresses_of(value),
                _ => addresses(value),
            })
            .collect(),
        Value::Array(items) => items.iter().flat_map(addresses).collect(),
        _ => Vec::new(),
    }
}

/// Checks one list of addresses. Null is an empty list.
fn addresses_of(list: &Value) -> Vec<Mismatch> {
    let fine = match list {
        Value::Null => true,
        Value::Array(entries) => entries.iter().all(|entry| {
            let text = |field| entry.get(field).and_then(Value::as_str).unwrap_or_default();
            is_range(text("clientCIDR")) && is_address(text("serverAddress"))
        }),
        _ => false,
    };
    let expected = "a list of clientCIDR (address/bits) and serverAddress (host:port)";
    (!fine)
        .then(|| Mismatch::new(ADDRESSES, expected, shown(Some(list))))
        .into_iter()
        .collect()
}

fn is_range(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else {
        return false;
    };
    let widest = match address.parse() {
        Ok(IpAddr::V4(_)) => 32,
        Ok(IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    bits.parse::<u8>().is_ok_and(|bits| bits <= widest)
}

fn is_address(text: &str) -> bool {
    // The port is optional.
    let host = match text.rsplit_once(':') {
        Some((host, port)) if port.parse::<u16>().is_ok() => host,
        _ => text,
    };
    !host.is_empty() && !host.contains(|c: char| c == '/' || c.is_whitespace())
}

/// Checks the description of a group and version (Swagger 1.2) against the documented operations below its path: each
/// is present with its parameters, body and result, and the types of these are described.
pub fn description(operations: &[Arc<Operation>], body: &Value) -> Vec<Mismatch> {
    let path = body.get("resourcePath").and_then(Value::as_str).unwrap_or_default();
    let below = format!("{path}/");
    let own = operations.iter().filter(|operation| operation.path.starts_with(&below));
    let replaced: BTreeSet<&str> = own
        .clone()
        .filter(|operation| operation.method == Method::PUT)
        .map(|operation| operation.path.as_str())
        .collect();
    own.flat_map(|operation| described(operation, replaced.contains(operation.path.as_str()), body))
        .collect()
}

/// Checks the description of an operation.
fn described(operation: &Operation, is_replaced: bool, body: &Value) -> Vec<Mismatch> {
    let all = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
    let is = |value: &Value, field, wanted: &str| value.get(field).and_then(Value::as_str) == Some(wanted);
    let request = operation.request();
    let found = all(body.get("apis"))
        .into_iter()
        .filter(|api| is(api, "path", &operation.path))
        .flat_map(|api| all(api.get("operations")))
        .find(|each| is(each, "method", operation.method.as_str()));
    let Some(found) = found else {
        return vec![Mismatch::new("operations", request, "operation not described")];
    };
    let mut wrong = Vec::new();
    let parameters = all(found.get("parameters"));
    let of = |place: &str| -> BTreeSet<String> {
        let those = parameters.iter().filter(|parameter| is(parameter, "paramType", place));
        let text = |parameter: &Value, field| {
            parameter
                .get(field)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        those
            .map(|parameter| match place {
                "path" => text(parameter, "name"),
                "body" => text(parameter, "type"),
                _ => format!("{}: {}", text(parameter, "name"), text(parameter, "type")),
            })
            .collect()
    };
    let mut compare = |about: &str, expected: BTreeSet<String>, actual: BTreeSet<String>| {
        if expected != actual {
            let lines = |set: BTreeSet<String>| Vec::from_iter(set).join("\n");
            wrong.push(Mismatch::new(
                format!("{about} of {request}"),
                lines(expected),
                lines(actual),
            ));
        }
    };
    let result = result(operation);
    if let Some(result) = &result {
        let actual = found.get("type").and_then(Value::as_str).unwrap_or_default();
        compare("type", [result.clone()].into(), [actual.to_owned()].into());
        let models = body.get("models");
        let wanted = named_by(result, models);
        let there = |name: &&String| models.is_some_and(|models| models.get(name.as_str()).is_some());
        let present = wanted.iter().filter(there).cloned().collect();
        compare("models", wanted, present);
    }
    let in_path = operation.path.split(['{', '}']).skip(1).step_by(2);
    compare(
        "parameters in the path",
        in_path.map(str::to_owned).collect(),
        of("path"),
    );
    // Proxy and stream operations have no common query parameters.
    if result.is_none() {
        return wrong;
    }
    let query = parameters_of(operation, is_replaced).iter();
    let query = query.map(|(name, kind)| format!("{name}: {kind}"));
    compare("parameters in the query", query.collect(), of("query"));
    let taken = match operation.method {
        Method::POST | Method::PUT => result,
        Method::PATCH => Some("unversioned.Patch".to_owned()),
        // The documentation has deletions without a body.
        Method::DELETE if !of("body").is_empty() => Some("v1.DeleteOptions".to_owned()),
        _ => None,
    };
    compare("body", taken.into_iter().collect(), of("body"));
    wrong
}

/// Returns a type and the types of its properties.
fn named_by(name: &str, models: Option<&Value>) -> BTreeSet<String> {
    let properties = models.and_then(|models| models.get(name)?.get("properties")?.as_object());
    let of_property = |property: &Value| {
        let reference = property.get("$ref").or_else(|| property.get("items")?.get("$ref"))?;
        reference.as_str().map(str::to_owned)
    };
    let named = properties
        .into_iter()
        .flat_map(|fields| fields.values())
        .filter_map(of_property);
    named.chain([name.to_owned()]).collect()
}

/// Returns the name of the result of an operation in a description.
fn result(operation: &Operation) -> Option<String> {
    if operation.streams {
        return Some("json.WatchEvent".to_owned());
    }
    let result = operation.result.as_ref()?;
    let version = match result.kind.as_str() {
        "Status" => "unversioned",
        _ => result.api_version.rsplit('/').next().unwrap_or_default(),
    };
    Some(format!("{version}.{}", result.kind))
}

/// Returns the query parameters of an operation. Objects that can be replaced can be exported.
fn parameters_of(operation: &Operation, is_replaced: bool) -> &'static [(&'static str, &'static str)] {
    let of_one = operation.path.ends_with("{name}");
    let lists = operation
        .result
        .as_ref()
        .is_some_and(|result| result.kind.ends_with("List"));
    let of_collection = operation.method == Method::DELETE && !of_one;
    if operation.streams || lists || of_collection {
        &LIST
    } else if operation.method == Method::GET && of_one && is_replaced {
        &READ
    } else {
        &WRITE
    }
}

fn shown(value: Option<&Value>) -> String {
    value.map_or_else(|| "absent".to_owned(), |value| clipped(&value.to_string()))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::catalog::{Catalog, Profile};

    #[rstest]
    #[case("1", "2", "v1.2.0", 0)]
    #[case("1", "2+", "v1.2.0-beta.1+0e4e78e", 0)]
    #[case("1", "2", "v1.20.0", 1)]
    #[case("2", "2", "v1.2.0", 1)]
    #[case("1", "two", "v1.two.0", 1)]
    #[case("", "2", "v1.2.0", 2)]
    fn a_version_agrees_with_its_release(
        #[case] major: &str,
        #[case] minor: &str,
        #[case] git: &str,
        #[case] wrong: usize,
    ) {
        let body =
            json!({"major": major, "minor": minor, "gitVersion": git, "gitCommit": "0e4e", "gitTreeState": "clean"});
        assert_eq!(version(&body).len(), wrong);
    }

    #[rstest]
    #[case(json!({ADDRESSES: null}), true)]
    #[case(json!({"groups": [{ADDRESSES: [{"clientCIDR": "0.0.0.0/0", "serverAddress": "10.0.0.1:443"}]}]}), true)]
    #[case(json!({ADDRESSES: [{"clientCIDR": "::/0", "serverAddress": "[::1]:443"}]}), true)]
    #[case(json!({ADDRESSES: [{"clientCIDR": "any", "serverAddress": "10.0.0.1:443"}]}), false)]
    #[case(json!({"groups": [{ADDRESSES: [{"clientCIDR": "0.0.0.0/33", "serverAddress": "10.0.0.1"}]}]}), false)]
    #[case(json!({ADDRESSES: [{"clientCIDR": "0.0.0.0/0", "serverAddress": ""}]}), false)]
    #[case(json!({ADDRESSES: [{"clientCIDR": "0.0.0.0/0", "serverAddress": ":443"}]}), false)]
    #[case(json!({ADDRESSES: "none"}), false)]
    fn addresses_are_checked(#[case] body: Value, #[case] fine: bool) {
        assert_eq!(addresses(&body).is_empty(), fine);
    }

    #[test]
    fn an_undescribed_operation_is_a_mismatch() {
        let operations = Catalog::embedded().unwrap().documented();
        let deletion = operations
            .iter()
            .find(|operation| operation.request() == "DELETE /apis/batch/v1/namespaces/{namespace}/jobs/{name}")
            .unwrap();
        let of = |parameters: Value| {
            let operation = json!({"method": "DELETE", "type": "unversioned.Status", "parameters": parameters});
            json!({"resourcePath": "/apis/batch/v1", "models": {"unversioned.Status": {}},
                   "apis": [{"path": deletion.path, "operations": [operation]}]})
        };
        let parameter = |place: &str, name: &str, kind: &str| json!({"paramType": place, "name": name, "type": kind});
        let whole = [
            parameter("path", "namespace", "string"),
            parameter("path", "name", "string"),
            parameter("query", "pretty", "string"),
            parameter("body", "body", "v1.DeleteOptions"),
        ];
        let one = std::slice::from_ref(deletion);
        assert_eq!(description(one, &of(json!(whole))), []);
        for missing in 0..3 {
            let mut parameters = whole.to_vec();
            parameters.remove(missing);
            assert_eq!(description(one, &of(json!(parameters))).len(), 1, "{missing}");
        }
        assert!(description(&operations, &of(json!(whole))).len() > 5);
        let cases = Catalog::embedded().unwrap();
        let describing = cases
            .cases(Profile::Documented)
            .filter(|case| !case.described.is_empty());
        assert_eq!(describing.count(), 4);
    }
}
