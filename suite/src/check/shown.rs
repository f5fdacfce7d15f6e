//! Texts of a server as reports show them: clipped, and without objects of others.
//!
//! Guarantees: of a list only the items of the run are shown, of any other object that is not the run's only type and
//! name, and of a text that cannot be read nothing but its length, unless it is an error.

use serde_json::{Value, json};

use super::{Answer, pretty};

/// Prefix of every name of a run.
const OURS: &str = "sd-";
/// Longest text that is shown, in characters.
const LONGEST: usize = 4000;
/// Longest text of an answer of success that is no object.
const PLAIN: usize = 300;

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
        _ if answer.status >= 400 => clip(&text, PLAIN),
        _ => format!("({} bytes that are no object)", text.len()),
    }
}

/// A value without objects of others.
pub fn confined(value: &Value) -> Value {
    let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    if let Some(items) = value.get("items").and_then(Value::as_array) {
        let ours: Vec<&Value> = items.iter().filter(|item| is_ours(item)).collect();
        let others = items.len() - ours.len();
        let mut list = json!({"kind": text("/kind"), "apiVersion": text("/apiVersion"), "metadata": value.get("metadata"), "items": ours});
        if others > 0 {
            list["items"] = json!([ours, format!("({others} items of others)")]);
        }
        return list;
    }
    match value.get("metadata") {
        Some(metadata) if metadata.is_object() && text("/kind") != "Status" && !is_ours(value) => {
            json!({"kind": text("/kind"), "apiVersion": text("/apiVersion"), "metadata": {"name": text("/metadata/name")}})
        }
        _ => value.clone(),
    }
}

fn is_ours(object: &Value) -> bool {
    let name = object.pointer("/metadata/name").and_then(Value::as_str);
    name.is_some_and(|name| name.starts_with(OURS))
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
    fn an_object_of_others_is_shown_by_its_name_and_an_error_whole() {
        let secret = json!({"kind": "Secret", "metadata": {"name": "db"}, "data": {"a": "aHVzaA=="}});
        let shown = shown_body(&answer(200, &secret.to_string()));
        assert!(shown.contains("db") && !shown.contains("aHVzaA=="));
        let status = json!({"kind": "Status", "metadata": {}, "message": "no"});
        assert!(shown_body(&answer(404, &status.to_string())).contains("no"));
    }

    #[test]
    fn a_long_text_is_clipped() {
        assert!(clipped(&"x".repeat(9000)).len() < 4100);
    }
}
