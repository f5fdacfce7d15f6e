//! Ids, routing values and timestamps in documents: `_id.path`, `_routing.path` and `_timestamp.path`.
//!
//! Source: `MappingMetaData.parse` of Elasticsearch 1.5. It reads a document token by token, only as far as it needs.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::type_mapping::TypeMapping;
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::json;

/// Maximum number of objects around a value that is read: objects of documents are not nested deeper.
const MAX_LEVEL: usize = 20;

/// Id, routing value and timestamp of a document.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct DocumentMeta<'a> {
    pub(crate) id: Option<Cow<'a, str>>,
    pub(crate) routing: Option<Cow<'a, str>>,
    /// In milliseconds since 1970.
    pub(crate) timestamp: Option<i64>,
}

fn unextracted(error: SearchError) -> SearchError {
    let reason = "failed to parse doc to extract routing/timestamp/id";
    SearchError::new(400, Exception::ElasticsearchParse, reason).caused_by(error)
}

impl TypeMapping {
    fn path(&self, field: &str) -> Option<&str> {
        self.metadata(field)?.get("path")?.as_str()
    }

    /// Adds what a document contains at the paths of its type to what the request has.
    ///
    /// # Errors
    /// Malformed JSON before the last value, an id that is no value, another routing value than that of the request, or
    /// an invalid timestamp.
    pub(crate) fn completed<'a>(&self, mut meta: DocumentMeta<'a>, source: &[u8]) -> Result<DocumentMeta<'a>> {
        let times = &self.times.timestamp;
        let paths = [
            self.path("_id").filter(|_| meta.id.is_none()),
            self.path("_routing"),
            times.path().filter(|_| meta.timestamp.is_none()),
        ];
        if paths == [None; 3] {
            return Ok(meta);
        }
        json::derivable(source).map_err(unextracted)?;
        let mut reader = Reader::new(paths);
        if !reader.read(source) {
            // Malformed, or JSON that only Jackson accepts.
            let document = Value::Object(json::object(source).map_err(unextracted)?);
            reader = Reader::new(paths);
            reader.read(document.to_string().as_bytes());
        }
        let [id, routing, timestamp] = reader.wanted.map(|wanted| wanted?.found);
        if let Some(id) = id {
            if !id.is_value {
                let reason = "id field must be a value but was either an object or an array";
                return Err(SearchError::mapping(reason));
            }
            meta.id = id.text.map(Cow::Owned);
        }
        if self.path("_routing").is_some() {
            let own = routing.and_then(|found| found.text);
            if let Some(given) = meta.routing.as_deref().filter(|given| Some(*given) != own.as_deref()) {
                return Err(SearchError::mapping(format!(
                    "The provided routing value [{given}] doesn't match the routing key stored in the document: [{}]",
                    own.as_deref().unwrap_or("null")
                )));
            }
            meta.routing = own.map(Cow::Owned);
        }
        if let Some(text) = timestamp.and_then(|found| found.text) {
            meta.timestamp = Some(times.parse(&text).map_err(unextracted)?);
        }
        Ok(meta)
    }
}

/// The first token of a value.
struct Found {
    /// Its text, as Jackson has it. `None`: null.
    text: Option<String>,
    /// Whether it is neither null nor the start of an object or array.
    is_value: bool,
}

impl Found {
    fn new(raw: &str) -> Found {
        let text = match raw.chars().next() {
            Some('n') => None,
            Some('"') => serde_json::from_str(raw).ok(),
            Some(bracket @ ('{' | '[')) => Some(bracket.to_string()),
            _ => Some(raw.to_owned()),
        };
        Found {
            is_value: !raw.starts_with(['n', '{', '[']),
            text,
        }
    }
}

/// A value at a dotted path.
struct Wanted<'m> {
    names: Vec<&'m str>,
    /// Number of the names that lead to the current object.
    level: usize,
    found: Option<Found>,
}

/// Reads the values at some paths of a document.
struct Reader<'m> {
    wanted: [Option<Wanted<'m>>; 3],
}

impl<'m> Reader<'m> {
    fn new(paths: [Option<&'m str>; 3]) -> Reader<'m> {
        let wanted = |path: &'m str| Wanted {
            names: path.split('.').collect(),
            level: 0,
            found: None,
        };
        Reader {
            wanted: paths.map(|path| path.map(wanted)),
        }
    }

    fn is_done(&self) -> bool {
        self.wanted.iter().flatten().all(|wanted| wanted.found.is_some())
    }

    /// Reads an object to its end or to the last value. Returns whether it reached one of them.
    fn read(&mut self, object: &[u8]) -> bool {
        let read = serde_json::Deserializer::from_slice(object).deserialize_map(&mut *self);
        read.is_ok() || self.is_done()
    }

    /// Reads a member of the current object.
    fn member(&mut self, name: &str, raw: &str) {
        let mut entered = [false; 3];
        for (wanted, entered) in self.wanted.iter_mut().zip(&mut entered) {
            let Some(wanted) = wanted.as_mut().filter(|own| own.found.is_none()) else {
                continue;
            };
            match wanted.names.get(wanted.level..) {
                Some([only]) if *only == name => wanted.found = Some(Found::new(raw)),
                Some([first, ..]) if *first == name => *entered = wanted.level < MAX_LEVEL,
                _ => {}
            }
        }
        if entered != [false; 3] && raw.starts_with('{') {
            let step = |wanted: &mut [Option<Wanted<'m>>; 3], by: fn(usize) -> usize| {
                let inside = wanted.iter_mut().zip(entered).filter(|(_, entered)| *entered);
                inside
                    .filter_map(|(wanted, _)| wanted.as_mut())
                    .for_each(|own| own.level = by(own.level));
            };
            step(&mut self.wanted, |level| level + 1);
            self.read(raw.as_bytes());
            step(&mut self.wanted, |level| level - 1);
        }
    }
}

impl<'de> Visitor<'de> for &mut Reader<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> std::result::Result<(), A::Error> {
        while let Some((name, raw)) = members.next_entry::<String, &RawValue>()? {
            self.member(&name, raw.get());
            if self.is_done() {
                return Err(A::Error::custom("all values were found"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    fn mapping() -> TypeMapping {
        let mut mapping = TypeMapping::default();
        let definition = json!({"_id": {"path": "o.id"}, "_routing": {"path": "r"}});
        mapping.merge(&definition, false).unwrap();
        mapping
    }

    fn completed(routing: Option<&str>, document: &str) -> Result<DocumentMeta<'static>> {
        let given = DocumentMeta {
            routing: routing.map(|given| given.to_owned().into()),
            ..DocumentMeta::default()
        };
        mapping().completed(given, document.as_bytes())
    }

    #[rstest]
    #[case(r#"{"o": {"id": 1.50}, "r": "x"}"#, Some("1.50"), Some("x"))]
    #[case(r#"{"o": [{"id": 7}], "r": null}"#, None, None)]
    #[case(r#"{"o": {"id": "a"}, "o": {"id": "b"}, "r": [1]}"#, Some("a"), Some("["))]
    #[case(r#"{"o": {"id": true}, "r": {}, "x""#, Some("true"), Some("{"))]
    fn ids_and_routing_values_are_those_of_the_document(
        #[case] document: &str,
        #[case] id: Option<&str>,
        #[case] routing: Option<&str>,
    ) {
        let meta = completed(None, document).unwrap();
        assert_eq!((meta.id.as_deref(), meta.routing.as_deref()), (id, routing));
    }

    #[rstest]
    #[case(r#"{"o": {"id": ["a"]}}"#)]
    #[case(r#"{"o": {"id": null}}"#)]
    #[case(r#"{"o": {"id": 1}, "r""#)]
    fn an_id_that_is_no_value_is_an_error(#[case] document: &str) {
        assert!(completed(None, document).is_err());
    }

    #[test]
    fn objects_that_are_nested_too_deeply_are_not_read() {
        let path = vec!["a"; 100_000].join(".");
        let mut mapping = TypeMapping::default();
        mapping.merge(&json!({"_routing": {"path": path}}), false).unwrap();
        let document = format!("{}1{}", r#"{"a":"#.repeat(100_000), "}".repeat(100_000));
        let meta = mapping.completed(DocumentMeta::default(), document.as_bytes()).unwrap();
        assert_eq!(meta.routing, None);
    }

    #[test]
    fn the_routing_value_of_a_request_is_that_of_the_document() {
        let document = r#"{"r": "x"}"#;
        assert_eq!(completed(Some("x"), document).unwrap().routing.as_deref(), Some("x"));
        let error = completed(Some("y"), document).unwrap_err();
        assert!(error.reason.ends_with("document: [x]"));
    }
}
