//! Texts of a server in reports: clipped, and without objects of others.
//!
//! Guarantees:
//! - Of a list only the items of the run are shown, of any other object that is not of the run only its type.
//! - Of a text that cannot be parsed only the length is shown, unless it is a plain-text error.

use serde_json::{Value, json};

use super::{Answer, pretty};

/// Prefix of every name of a run.
const OURS: &str = "sd-";
/// Maximum length of a text, in characters.
const MAX_TEXT: usize = 4000;
/// Maximum length of a plain-text error, in characters.
const MAX_PLAIN_TEXT: usize = 300;
/// Placeholder for an object of others.
const HIDDEN: &str = "(not an object of this run)";

/// Clips a text for a report.
pub fn clipped(text: &str) -> String {
    clip(text, MAX_TEXT)
}

fn clip(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{}… ({} bytes)", text.get(..end).unwrap_or_default(), text.len()),
        None => text.to_owned(),
    }
}

/// Formats the body of a response for a report.
pub fn shown_body(answer: &Answer) -> String {
    let text = answer.text();
    let value = serde_json::from_str::<Value>(&text).or_else(|_| serde_saphyr::from_str::<Value>(&text));
    match value {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => clipped(&pretty(&confined(&value))),
        // A plain-text error. A text that starts like JSON is a malformed object.
        _ if answer.status >= 400 && !text.trim_start().starts_with(['{', '[']) => clip(&text, MAX_PLAIN_TEXT),
        _ => format!("({} bytes that are not an object)", text.len()),
    }
}

/// Removes objects of others from a value, at any depth.
pub fn confined(value: &Value) -> Value {
    match value {
        Value::Array(elements) => elements.iter().map(confined).collect(),
        Value::Object(fields) => {
            if let Some(items) = value.get("items").and_then(Value::as_array) {
                return confined_list(fields, items);
            }
            if is_of_others(value) {
                let (kind, version) = (text(value, "/kind"), text(value, "/apiVersion"));
                return json!({"kind": kind, "apiVersion": version, "metadata": HIDDEN});
            }
            if is_ours(value) {
                return value.clone();
            }
            let fields = fields.iter().map(|(name, field)| (name.clone(), confined(field)));
            Value::Object(fields.collect())
        }
        other => other.clone(),
    }
}

/// Returns a part of a value for a report, or the confined value if it has objects of others.
pub(super) fn shown_part(whole: &Value, part: &Value) -> Value {
    let confined = confined(whole);
    if confined == *whole { part.clone() } else { confined }
}

/// Returns the name of an object for a report.
pub(super) fn shown_name(name: &str) -> &str {
    if name.starts_with(OURS) { name } else { "(of others)" }
}

fn confined_list(fields: &serde_json::Map<String, Value>, items: &[Value]) -> Value {
    let mut shown: Vec<Value> = items.iter().filter(|item| is_ours(item)).cloned().collect();
    let others = items.len() - shown.len();
    if others > 0 {
        shown.push(format!("({others} items of others)").into());
    }
    let mut list = fields.clone();
    list.insert("items".to_owned(), shown.into());
    Value::Object(list)
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Whether it is an object that the run did not create.
fn is_of_others(value: &Value) -> bool {
    value.get("metadata").is_some_and(Value::is_object) && text(value, "/kind") != "Status" && !is_ours(value)
}

fn is_ours(object: &Value) -> bool {
    text(object, "/metadata/name").starts_with(OURS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, body: &str) -> Answer {
        Answer {
            status,
            body: body.to_owned().into(),
            ..Answer::default()
        }
    }

    #[test]
    fn items_of_others_are_not_shown_whatever_the_encoding() {
        let list = json!({"kind": "SecretList", "items": [
            {"metadata": {"name": "sd-x-a"}, "data": {"a": "bWluZQ=="}},
            {"metadata": {"name": "db"}, "data": {"a": "aHVzaA=="}}]});
        let yaml = "kind: SecretList\nitems:\n- metadata: {name: db}\n  data: {a: aHVzaA==}\n";
        assert!(shown_body(&answer(200, &list.to_string())).contains("bWluZQ=="));
        for body in [list.to_string(), yaml.to_owned()] {
            assert!(!shown_body(&answer(200, &body)).contains("aHVzaA=="));
        }
        assert!(!shown_body(&answer(200, "not: [readable aHVzaA==")).contains("aHVzaA=="));
    }

    #[test]
    fn of_an_object_of_others_only_the_type_is_shown() {
        let secret = json!({"kind": "Secret", "metadata": {"name": "db"}, "data": {"a": "aHVzaA=="}});
        let shown = shown_body(&answer(200, &secret.to_string()));
        assert!(shown.contains("Secret") && !shown.contains("db") && !shown.contains("aHVzaA=="));
        for around in [
            json!([secret]),
            json!({"type": "ADDED", "object": secret}),
            json!({"items": {"0": secret}}),
        ] {
            assert!(
                !shown_body(&answer(200, &around.to_string())).contains("aHVzaA=="),
                "{around}"
            );
        }
        assert!(!shown_body(&answer(500, &secret.to_string()[..60])).contains("aHVz"));
        let status = json!({"kind": "Status", "metadata": {}, "message": "no"});
        assert!(shown_body(&answer(404, &status.to_string())).contains("no"));
    }

    #[test]
    fn a_long_text_is_clipped() {
        assert!(clipped(&"x".repeat(9000)).len() < 4100);
    }
}
