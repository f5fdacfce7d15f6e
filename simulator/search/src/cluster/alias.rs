//! Aliases of indices.

use serde_json::{Map, Value, json};

use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::json::text_of;
use crate::ties::object_in_hash_order;

/// An alias of an index: optional filter and routing values.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Alias {
    pub(crate) filter: Option<Value>,
    pub(super) index_routing: Option<String>,
    pub(super) search_routing: Option<String>,
}

/// Returns the error for an alias with the name of an index.
pub(crate) fn same_as_index(index: &str, alias: &str) -> SearchError {
    let reason = format!("[{index}] Invalid alias name [{alias}], an index exists with the same name as the alias");
    SearchError::new(400, Exception::InvalidAliasName, reason)
}

/// Returns whether a value is a filter, and not an empty one.
fn is_filter(value: &&Value) -> bool {
    value.as_object().is_some_and(|filter| !filter.is_empty())
}

/// The definitions of a section `aliases`, read as Elasticsearch reads them: the parser of an alias without an object
/// goes on to the end of the next object, so that the next alias is lost.
///
/// # Errors
/// The last alias has no object.
pub(super) fn definitions(section: &Map<String, Value>) -> Result<Map<String, Value>> {
    let mut found = Map::new();
    let mut is_open = false;
    for (name, definition) in object_in_hash_order(section.clone()) {
        let is_lost = is_open;
        is_open = !definition.is_object();
        if !is_lost {
            found.insert(name, if is_open { json!({}) } else { definition });
        }
    }
    match is_open {
        true => Err(SearchError::illegal("No alias is specified")),
        false => Ok(found),
    }
}

impl Alias {
    pub(crate) fn parse(definition: &Value) -> Alias {
        let text = |key: &str| definition.get(key).map(text_of);
        Alias {
            filter: definition.get("filter").filter(is_filter).cloned(),
            index_routing: text("index_routing").or_else(|| text("routing")),
            search_routing: text("search_routing").or_else(|| text("routing")),
        }
    }

    pub(crate) fn describe(&self) -> Value {
        let mut definition = json!({});
        let parts = [
            ("filter", self.filter.clone()),
            ("index_routing", self.index_routing.clone().map(Value::from)),
            ("search_routing", self.search_routing.clone().map(Value::from)),
        ];
        for (key, value) in parts {
            if let Some(value) = value {
                definition[key] = value;
            }
        }
        definition
    }
}
