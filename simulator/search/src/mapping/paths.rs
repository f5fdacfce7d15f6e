//! Ids and routing values that documents contain: `_id.path` and `_routing.path`.
//!
//! Source: `MappingMetaData.parse` and `RoutingFieldMapper` of Elasticsearch 1.5.

use serde_json::{Map, Value};

use super::Mapping;
use super::times::value_at;
use crate::error::{Result, SearchError};
use crate::json::java_text;

/// What a document contains at the paths of its type.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Extracted {
    pub(crate) id: Option<String>,
    pub(crate) routing: Option<String>,
}

impl Mapping {
    fn path(&self, type_name: &str, field: &str) -> Option<&str> {
        self.type_mapping(type_name)?.metadata(field)?.get("path")?.as_str()
    }

    /// Returns whether documents of a type contain their id or their routing value.
    pub(crate) fn extracts(&self, type_name: &str) -> bool {
        ["_id", "_routing"]
            .into_iter()
            .any(|field| self.path(type_name, field).is_some())
    }

    /// Returns the id and the routing value that a document contains.
    ///
    /// # Errors
    /// An array at the path of the id.
    pub(crate) fn extracted(&self, type_name: &str, document: &Map<String, Value>) -> Result<Extracted> {
        let id = self.path(type_name, "_id");
        let is_list = |path: &str| {
            let (first, below) = path.split_once('.').unwrap_or((path, ""));
            let mut names = below.split('.').filter(|name| !name.is_empty());
            let value = names.try_fold(document.get(first)?, |value, name| value.get(name));
            value.map(Value::is_array)
        };
        if id.and_then(is_list) == Some(true) {
            let reason = "id field must be a value but was either an object or an array";
            return Err(SearchError::mapping(reason));
        }
        let text = |path: &str| value_at(document, path).map(java_text);
        Ok(Extracted {
            id: id.and_then(text),
            routing: self.path(type_name, "_routing").and_then(text),
        })
    }

    /// Fails if a document contains another routing value than the request has.
    pub(crate) fn check_routing(
        &self,
        type_name: &str,
        document: &Map<String, Value>,
        routing: Option<&str>,
    ) -> Result<()> {
        let (Some(path), Some(routing)) = (self.path(type_name, "_routing"), routing) else {
            return Ok(());
        };
        let own = value_at(document, path).map(java_text);
        if own.as_deref() == Some(routing) {
            return Ok(());
        }
        let own = own.as_deref().unwrap_or("null");
        Err(SearchError::mapping(format!(
            "The provided routing value [{routing}] doesn't match the routing key stored in the document: [{own}]"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::Configuration;
    use rstest::rstest;
    use serde_json::json;

    fn mapping() -> Mapping {
        let mut mapping = Mapping::new(Configuration::default(), 100).unwrap();
        let definition = json!({"_id": {"path": "o.id"}, "_routing": {"path": "r"}});
        mapping.put("t", &definition, false).unwrap();
        mapping
    }

    #[rstest]
    #[case(json!({"o": {"id": 7}, "r": "x"}), Some("7"), Some("x"))]
    #[case(json!({"o": [{"id": 7}], "r": null}), None, None)]
    fn ids_and_routing_values_are_extracted(
        #[case] document: Value,
        #[case] id: Option<&str>,
        #[case] routing: Option<&str>,
    ) {
        let found = mapping().extracted("t", document.as_object().unwrap()).unwrap();
        assert_eq!((found.id.as_deref(), found.routing.as_deref()), (id, routing));
    }

    #[test]
    fn an_array_of_ids_is_an_error() {
        let document = json!({"o": {"id": ["a"]}});
        assert!(mapping().extracted("t", document.as_object().unwrap()).is_err());
    }

    #[test]
    fn the_routing_value_of_a_request_is_that_of_the_document() {
        let document = json!({"r": "x"});
        let check = |routing: Option<&str>| mapping().check_routing("t", document.as_object().unwrap(), routing);
        assert!(check(Some("x")).is_ok() && check(None).is_ok());
        assert!(check(Some("y")).unwrap_err().reason.ends_with("document: [x]"));
    }
}
