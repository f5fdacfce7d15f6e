//! Texts of a server as reports show them: clipped, and without objects of others.
//!
//! Guarantees: of a list only the items of the run are shown, of any other object that is not the run's only its type,
//! and of a text that cannot be read nothing but its length, unless it is an error in plain text.

use serde_json::{Value, json};

use super::{Answer, pretty};

/// Prefix of every name of a run.
const OURS: &str = "sd-";
/// Longest text that is shown, in characters.
const LONGEST: usize = 4000;
/// Longest text of an answer of success that is no object.
const PLAIN: usize = 300;
/// What is shown in place of an object of others.
const HIDDEN: &str = "(not an object of this run)";

/// A text, cut to a length that a report can hold.
pub fn clipped(text: &str) -> String {
    clip(text, LONGEST)
}

fn clip(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}… ({} bytes)", text.get(..end).unwrap_or_default(), text.len()),
        None => text.to_owned(),
    }
}

/// Body of an answer as a report shows it.
pub fn shown_body(answer: &Answer) -> String {
    let text = answer.text();
    let value = serde_json::from_str::<Value>(&text).or_else(|_| serde_saphyr::from_str::<Value>(&text));
    match value {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => clipped(&pretty(&confined(&value))),
        // An error in plain text; what begins like JSON is an object that cannot be read.
        _ if answer.status >= 400 && !text.trim_start().starts_with(['{', '[']) => clip(&text, PLAIN),
        _ => format!("({} bytes that are no object)", text.len()),
    }
}

/// A value without objects of others, at whatever depth they are.
pub fn confined(value: &Value) -> Value {
    match value {
        Value::Array(elements) => elements.iter().map(confined).collect(),
        Value::Object(fields) => {
            if let Some(items) = value.get("items").and_then(Value::as_array) {
                return confined_list(fields, items);
            }
            if is_of_others(value) {
                return json!({"kind": text(value, "/kind"), "apiVersion": text(value, "/apiVersion"), "metadata": HIDDEN});
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

/// A part of a value as a report shows it: the part, or the confined value if it has objects of others.
pub(super) fn shown_part(whole: &Value, part: &Value) -> Value {
    let confined = confined(whole);
    if confined == *whole { part.clone() } else { confined }
}

/// Name of an object as a report shows it.
pub(super) fn shown_name(name: &str) -> &str {
    if name.starts_with(OURS) { name } else { "of others" }
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

/// Whether it is an object that the run did not make.
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
            {"metadata": {"name": "sd-x-a"}, "data": {"a": "bWluZQ=="}}, {"metadata": {"name": "db"}, "data": {"a": "aHVzaA=="}}]});
        let yaml = "kind: SecretList\nitems:\n- metadata: {name: db}\n  data: {a: aHVzaA==}\n";
        assert!(shown_body(&answer(200, &list.to_string())).contains("bWluZQ=="));
        for body in [list.to_string(), yaml.to_owned()] {
            assert!(!shown_body(&answer(200, &body)).contains("aHVzaA=="));
        }
        assert!(!shown_body(&answer(200, "not: [readable aHVzaA==")).contains("aHVzaA=="));
    }

    #[test]
    fn an_object_of_others_is_shown_by_its_type_and_an_error_whole() {
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
