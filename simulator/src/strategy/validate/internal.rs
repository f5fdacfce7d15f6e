//! The internal (version-less) form of the values that refusals show, and sameness of two such values.
//!
//! A refusal shows a value as v1.2 holds it, not as it was sent: fields in the internal order, fields that only the sent form leaves out,
//! Go's names where a field has no other, quantities in canonical notation. [`Shape`]s say so as data (`forms.rs`).
//! Promise: [`show`] and [`same`] read one table, so what is shown is what is compared.

use serde_json::{Map, Value};

use crate::api::quantity::Quantity;

/// The type of a value.
pub(crate) enum Shape {
    /// A string.
    Text,
    /// A whole number.
    Int,
    /// A truth value.
    Bool,
    /// A time.
    Time,
    /// A number or a string.
    IntOrText,
    /// An amount.
    Quantity,
    /// What may be missing, which is another thing than its zero.
    Optional(&'static Shape),
    /// A list.
    List(&'static Shape),
    /// A map from strings.
    Map(&'static Shape),
    /// A structure.
    Struct(&'static [Member]),
}

/// A field of a structure.
pub(crate) struct Member {
    /// The name in the sent form.
    pub(crate) sent: &'static str,
    /// The name that is shown.
    pub(crate) shown: &'static str,
    /// Whether a zero is left out.
    pub(crate) omit_empty: bool,
    /// The type.
    pub(crate) shape: Shape,
}

/// `value`, sent as `shape`, as a refusal shows it.
pub(crate) fn show(shape: &Shape, value: &Value) -> Value {
    match (shape, value) {
        (Shape::Optional(inner), value) if !value.is_null() => show(inner, value),
        (Shape::List(item), Value::Array(items)) => items.iter().map(|v| show(item, v)).collect(),
        (Shape::Map(item), Value::Object(entries)) => {
            let mut sorted: Vec<_> = entries.iter().collect();
            sorted.sort_by_key(|(key, _)| key.as_str());
            Value::Object(sorted.into_iter().map(|(k, v)| (k.clone(), show(item, v))).collect())
        }
        (Shape::Struct(members), value) => {
            let mut out = Map::new();
            for member in *members {
                let inner = value.get(member.sent).unwrap_or(&Value::Null);
                if !(member.omit_empty && is_empty(&member.shape, inner)) {
                    out.insert(member.shown.to_owned(), show(&member.shape, inner));
                }
            }
            Value::Object(out)
        }
        (Shape::Quantity, value) => amount(value).to_string().into(),
        (Shape::Text, Value::Null) => "".into(),
        (Shape::Int | Shape::IntOrText, Value::Null) => 0.into(),
        (Shape::Bool, Value::Null) => false.into(),
        (_, value) => value.clone(),
    }
}

/// Whether Go leaves such a value out of what it prints. A structure is never left out.
fn is_empty(shape: &Shape, value: &Value) -> bool {
    match (shape, value) {
        (Shape::Struct(_) | Shape::Time | Shape::IntOrText | Shape::Quantity, _) => false,
        (_, Value::Null) => true,
        (Shape::Optional(_), _) => false,
        (_, Value::Bool(b)) => !b,
        (_, Value::Number(n)) => n.as_i64() == Some(0),
        (_, Value::String(s)) => s.is_empty(),
        (_, Value::Array(a)) => a.is_empty(),
        (_, Value::Object(o)) => o.is_empty(),
    }
}

/// The quantity that `value` spells; zero if it spells none.
pub(crate) fn amount(value: &Value) -> Quantity {
    let text = match value {
        Value::String(text) => text.parse(),
        Value::Number(number) => number.to_string().parse(),
        _ => return Quantity::default(),
    };
    text.unwrap_or_default()
}

/// Whether two values of `shape` mean the same. Nothing and an empty list or map do, and so do equal amounts in different notations.
pub(crate) fn same(shape: &Shape, one: &Value, other: &Value) -> bool {
    match shape {
        Shape::Optional(inner) => one.is_null() == other.is_null() && same(inner, one, other),
        Shape::List(item) => {
            let (one, other) = (list(one), list(other));
            one.len() == other.len() && one.iter().zip(other).all(|(a, b)| same(item, a, b))
        }
        Shape::Map(item) => {
            let count = |v: &Value| v.as_object().map_or(0, Map::len);
            count(one) == count(other)
                && one
                    .as_object()
                    .into_iter()
                    .flatten()
                    .all(|(key, a)| other.get(key).is_some_and(|b| same(item, a, b)))
        }
        Shape::Struct(members) => members.iter().all(|m| {
            let field = |v: &'_ Value| v.get(m.sent).cloned().unwrap_or_default();
            same(&m.shape, &field(one), &field(other))
        }),
        Shape::Quantity => amount(one) == amount(other),
        Shape::Text | Shape::Int | Shape::Bool | Shape::Time | Shape::IntOrText => {
            show(shape, one) == show(shape, other)
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

    use super::super::forms;
    use super::*;

    #[test]
    fn a_template_shows_what_its_sent_form_leaves_out() {
        let sent = json!({"spec": {"hostNetwork": true, "imagePullSecrets": [{"name": "s"}], "containers": [{"image": "x", "name": "a",
            "env": [{"name": "E", "valueFrom": {"configMapKeyRef": {"key": "k", "name": "c"}}}],
            "resources": {"limits": {"memory": "1024Mi", "cpu": "1000m"}}}]}, "metadata": {"labels": {"b": "2", "a": "1"}}});
        let want = concat!(
            r#"{"metadata":{"creationTimestamp":null,"labels":{"a":"1","b":"2"}},"spec":{"volumes":null,"containers":[{"name":"a","image":"x","#,
            r#""env":[{"name":"E","valueFrom":{"configMapKeyRef":{"Name":"c","key":"k"}}}],"resources":{"limits":{"cpu":"1","memory":"1Gi"}},"imagePullPolicy":""}],"#,
            r#""serviceAccountName":"","securityContext":{"hostNetwork":true},"imagePullSecrets":[{"Name":"s"}]}}"#
        );
        assert_eq!(
            show(&forms::POD_TEMPLATE, &forms::with_internal_spec(&sent)).to_string(),
            want
        );
    }

    #[rstest]
    #[case(json!({}), json!({"volumes": []}), true)]
    #[case(json!({"nodeSelector": {}}), json!({}), true)]
    #[case(json!({"nodeName": ""}), json!({}), true)]
    #[case(json!({"activeDeadlineSeconds": 0}), json!({}), false)]
    #[case(json!({"securityContext": {}}), json!({"securityContext": {"runAsUser": 0}}), false)]
    #[case(json!({"containers": [{"resources": {"limits": {"cpu": "1"}}}]}), json!({"containers": [{"resources": {"limits": {"cpu": "1000m"}}}]}), true)]
    #[case(json!({"containers": [{"resources": {"limits": {"cpu": "1"}}}]}), json!({"containers": [{"resources": {"limits": {"cpu": "1001m"}}}]}), false)]
    #[case(json!({"containers": [{"livenessProbe": {"tcpSocket": {"port": 1}}}]}), json!({"containers": [{"livenessProbe": {"tcpSocket": {"port": "1"}}}]}), false)]
    fn sameness_is_of_meaning(#[case] one: Value, #[case] other: Value, #[case] want: bool) {
        assert_eq!(same(&forms::POD_SPEC, &one, &other), want);
        assert_eq!(same(&forms::POD_SPEC, &other, &one), want);
    }
}
