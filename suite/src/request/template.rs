//! Templates: `${a.name}` in values, `${x*70000}` for a repeated text, `#{backend.port}` for a number, and
//! `{namespace}` in paths.

use std::collections::BTreeMap;

use serde_json::Value;

/// A name in a template that has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the template name {0:?} has no value")]
pub struct UnboundName(pub String);

/// Values of template names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bindings(BTreeMap<String, String>);

impl Bindings {
    /// Binds a name.
    pub fn bind(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.0.insert(name.into(), value.into());
    }

    /// Binds one more name.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.bind(name, value);
        self
    }

    /// Returns the value of a name.
    ///
    /// # Errors
    /// If the name has no value.
    pub fn get(&self, name: &str) -> Result<&str, UnboundName> {
        self.0
            .get(name)
            .map(String::as_str)
            .ok_or_else(|| UnboundName(name.to_owned()))
    }

    /// Fills in `${name}` and `${text*times}` in a text.
    ///
    /// # Errors
    /// If a name has no value.
    pub fn fill(&self, text: &str) -> Result<String, UnboundName> {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            filled.push_str(before);
            let Some((name, after)) = after.split_once('}') else {
                filled.push_str("${");
                rest = after;
                continue;
            };
            match name.split_once('*').map(|(text, times)| (text, times.parse())) {
                Some((text, Ok(times))) => filled.push_str(&text.repeat(times)),
                _ => filled.push_str(self.get(name)?),
            }
            rest = after;
        }
        filled.push_str(rest);
        Ok(filled)
    }

    /// Fills in `${name}` in every text of a value. A text that is `#{name}` becomes a number.
    ///
    /// # Errors
    /// If a name has no value.
    pub fn fill_value(&self, value: &Value) -> Result<Value, UnboundName> {
        Ok(match value {
            Value::String(text) => match text.strip_prefix("#{").and_then(|text| text.strip_suffix('}')) {
                Some(name) => self
                    .get(name)?
                    .parse::<i64>()
                    .map_err(|_| UnboundName(name.to_owned()))?
                    .into(),
                None => Value::String(self.fill(text)?),
            },
            Value::Array(items) => Value::Array(
                items
                    .iter()
                    .map(|item| self.fill_value(item))
                    .collect::<Result<_, _>>()?,
            ),
            Value::Object(fields) => Value::Object(
                fields
                    .iter()
                    .map(|(k, v)| Ok((k.clone(), self.fill_value(v)?)))
                    .collect::<Result<_, _>>()?,
            ),
            other => other.clone(),
        })
    }

    /// Fills in `{name}` in a path template.
    ///
    /// # Errors
    /// If a name has no value.
    pub fn fill_path(&self, template: &str) -> Result<String, UnboundName> {
        let mut segments = Vec::new();
        for segment in template.split('/') {
            match segment.strip_prefix('{').and_then(|s| s.strip_suffix('}')) {
                Some(name) => segments.push(self.get(name)?.to_owned()),
                None => segments.push(segment.to_owned()),
            }
        }
        Ok(segments.join("/"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_is_repeated() {
        let bindings = Bindings::default();
        assert_eq!(bindings.fill("<${ab*3}>"), Ok("<ababab>".to_owned()));
        assert_eq!(bindings.fill("${ab*c}"), Err(UnboundName("ab*c".to_owned())));
    }

    #[test]
    fn names_are_filled_in_values_and_paths() {
        let bindings = Bindings::default()
            .with("a.name", "one")
            .with("namespace", "ns")
            .with("name", "one");
        assert_eq!(
            bindings.fill_value(&json!({"x": ["${a.name}-", 1]})),
            Ok(json!({"x": ["one-", 1]}))
        );
        assert_eq!(
            bindings.fill_path("/api/v1/namespaces/{namespace}/pods/{name}"),
            Ok("/api/v1/namespaces/ns/pods/one".into())
        );
    }

    #[test]
    fn a_number_is_filled_in_as_one() {
        let bindings = Bindings::default().with("port", "80").with("name", "web");
        assert_eq!(
            bindings.fill_value(&json!({"port": "#{port}"})),
            Ok(json!({"port": 80}))
        );
        assert_eq!(bindings.fill_value(&json!("#{name}")), Err(UnboundName("name".into())));
    }

    #[test]
    fn an_unbound_name_is_an_error_and_a_lone_dollar_is_not() {
        assert_eq!(Bindings::default().fill("${b.uid}"), Err(UnboundName("b.uid".into())));
        assert_eq!(Bindings::default().fill("${b.uid"), Ok("${b.uid".into()));
    }
}
