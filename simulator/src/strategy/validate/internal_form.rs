//! Internal form of values, as errors show them, and equality of two such values.
//!
//! - An error shows a value as v1.2 holds it, not as it was sent: fields in internal order, including those that only
//!   the v1 form omits, Go's names for fields without a JSON name, quantities in canonical notation. `internal_types.rs`
//!   describes the internal types as data.
//! - Guarantee: [`show`] and [`same`] use the same description, so that the values shown are the ones compared.

use serde_json::{Map, Value};

use crate::api::quantity::Quantity;

/// Internal type of a value.
pub(crate) enum InternalType {
    /// String.
    Text,
    /// Integer.
    Int,
    /// Boolean.
    Bool,
    /// Time.
    Time,
    /// Number or string.
    IntOrText,
    /// Quantity.
    Quantity,
    /// Optional value: absent differs from zero.
    Optional(&'static InternalType),
    /// List.
    List(&'static InternalType),
    /// Map with string keys.
    Map(&'static InternalType),
    /// Struct.
    Struct(&'static [Member]),
}

/// Field of a struct.
pub(crate) struct Member {
    /// Name in v1.
    pub(crate) sent: &'static str,
    /// Name in errors.
    pub(crate) shown: &'static str,
    /// Whether a zero value is omitted.
    pub(crate) omit_empty: bool,
    /// Type of the value.
    pub(crate) internal_type: InternalType,
}

/// Converts `value` to the form in which an error shows it.
pub(crate) fn show(internal_type: &InternalType, value: &Value) -> Value {
    match (internal_type, value) {
        (InternalType::Optional(inner), value) if !value.is_null() => show(inner, value),
        (InternalType::List(item), Value::Array(items)) => items.iter().map(|v| show(item, v)).collect(),
        (InternalType::Map(item), Value::Object(entries)) => {
            let mut sorted: Vec<_> = entries.iter().collect();
            sorted.sort_by_key(|(key, _)| key.as_str());
            Value::Object(sorted.into_iter().map(|(k, v)| (k.clone(), show(item, v))).collect())
        }
        (InternalType::Struct(members), value) => {
            let mut out = Map::new();
            for member in *members {
                let inner = value.get(member.sent).unwrap_or(&Value::Null);
                if !(member.omit_empty && is_empty(&member.internal_type, inner)) {
                    out.insert(member.shown.to_owned(), show(&member.internal_type, inner));
                }
            }
            Value::Object(out)
        }
        (InternalType::Quantity, value) => amount(value).to_string().into(),
        (InternalType::Text, Value::Null) => "".into(),
        (InternalType::Int | InternalType::IntOrText, Value::Null) => 0.into(),
        (InternalType::Bool, Value::Null) => false.into(),
        (_, value) => value.clone(),
    }
}

/// Whether Go's `omitempty` omits the value. A struct is never omitted.
fn is_empty(internal_type: &InternalType, value: &Value) -> bool {
    match (internal_type, value) {
        (InternalType::Struct(_) | InternalType::Time | InternalType::IntOrText | InternalType::Quantity, _) => false,
        (_, Value::Null) => true,
        (InternalType::Optional(_), _) => false,
        (_, Value::Bool(b)) => !b,
        (_, Value::Number(n)) => n.as_i64() == Some(0),
        (_, Value::String(s)) => s.is_empty(),
        (_, Value::Array(a)) => a.is_empty(),
        (_, Value::Object(o)) => o.is_empty(),
    }
}

/// Quantity of `value`. Zero if it does not parse.
pub(crate) fn amount(value: &Value) -> Quantity {
    let text = match value {
        Value::String(text) => text.parse(),
        Value::Number(number) => number.to_string().parse(),
        _ => return Quantity::default(),
    };
    text.unwrap_or_default()
}

/// Whether two values are equal. Null equals an empty list or map; equal quantities may have different notations.
pub(crate) fn same(internal_type: &InternalType, one: &Value, other: &Value) -> bool {
    match internal_type {
        InternalType::Optional(inner) => one.is_null() == other.is_null() && same(inner, one, other),
        InternalType::List(item) => {
            let (one, other) = (list(one), list(other));
            one.len() == other.len() && one.iter().zip(other).all(|(a, b)| same(item, a, b))
        }
        InternalType::Map(item) => {
            let count = |v: &Value| v.as_object().map_or(0, Map::len);
            count(one) == count(other)
                && one
                    .as_object()
                    .into_iter()
                    .flatten()
                    .all(|(key, a)| other.get(key).is_some_and(|b| same(item, a, b)))
        }
        InternalType::Struct(members) => members.iter().all(|m| {
            let field = |v: &'_ Value| v.get(m.sent).cloned().unwrap_or_default();
            same(&m.internal_type, &field(one), &field(other))
        }),
        InternalType::Quantity => amount(one) == amount(other),
        InternalType::Text | InternalType::Int | InternalType::Bool | InternalType::Time | InternalType::IntOrText => {
            show(internal_type, one) == show(internal_type, other)
        }
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::super::internal_types;
    use super::*;

    #[test]
    fn a_template_is_shown_in_internal_form() {
        let sent = json!({"spec": {"hostNetwork": true, "imagePullSecrets": [{"name": "s"}],
            "containers": [{"image": "x", "name": "a",
            "env": [{"name": "E", "valueFrom": {"configMapKeyRef": {"key": "k", "name": "c"}}}],
            "resources": {"limits": {"memory": "1024Mi", "cpu": "1000m"}}}]},
                "metadata": {"labels": {"b": "2", "a": "1"}}});
        let want = concat!(
            r#"{"metadata":{"creationTimestamp":null,"labels":{"a":"1","b":"2"}},"spec":{"volumes":null,"containers":[{"name":"a","image":"x","#,
            r#""env":[{"name":"E","valueFrom":{"configMapKeyRef":{"Name":"c","key":"k"}}}],"resources":{"limits":{"cpu":"1","memory":"1Gi"}},"imagePullPolicy":""}],"#,
            r#""serviceAccountName":"","securityContext":{"hostNetwork":true},"imagePullSecrets":[{"Name":"s"}]}}"#
        );
        assert_eq!(
            show(
                &internal_types::POD_TEMPLATE,
                &internal_types::with_internal_spec(&sent)
            )
            .to_string(),
            want
        );
    }

    #[rstest]
    #[case(json!({}), json!({"volumes": []}), true)]
    #[case(json!({"nodeSelector": {}}), json!({}), true)]
    #[case(json!({"nodeName": ""}), json!({}), true)]
    #[case(json!({"activeDeadlineSeconds": 0}), json!({}), false)]
    #[case(json!({"securityContext": {}}), json!({"securityContext": {"runAsUser": 0}}), false)]
    #[case(json!({"containers": [{"resources": {"limits": {"cpu": "1"}}}]}),
        json!({"containers": [{"resources": {"limits": {"cpu": "1000m"}}}]}), true)]
    #[case(json!({"containers": [{"resources": {"limits": {"cpu": "1"}}}]}),
        json!({"containers": [{"resources": {"limits": {"cpu": "1001m"}}}]}), false)]
    #[case(json!({"containers": [{"livenessProbe": {"tcpSocket": {"port": 1}}}]}),
        json!({"containers": [{"livenessProbe": {"tcpSocket": {"port": "1"}}}]}), false)]
    fn equality_ignores_notation(#[case] one: Value, #[case] other: Value, #[case] want: bool) {
        assert_eq!(same(&internal_types::POD_SPEC, &one, &other), want);
        assert_eq!(same(&internal_types::POD_SPEC, &other, &one), want);
    }
}
