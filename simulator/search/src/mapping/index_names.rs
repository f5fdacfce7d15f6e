//! Names of fields in the index: `index_name`, and `path` of objects and fields.
//!
//! Source: `ContentPath` of Elasticsearch 1.5.

use serde_json::Value;

use super::{Node, ObjectNode};

impl ObjectNode {
    /// Returns the name in the index of the field at a dotted path: `index_name`, after the path unless the object
    /// above has the path type `just_name`.
    pub(super) fn index_name(&self, path: &str) -> String {
        let (above, last) = path.rsplit_once('.').unwrap_or(("", path));
        let own = self
            .field(path)
            .and_then(|field| field.field_type.setting("index_name"));
        let own = own.and_then(Value::as_str).unwrap_or(last);
        match above.is_empty() || self.omits_path(above) {
            true => own.to_owned(),
            false => format!("{above}.{own}"),
        }
    }

    /// Returns whether the names of the fields below a path are without it.
    fn omits_path(&self, path: &str) -> bool {
        let names: Vec<String> = path.split('.').map(str::to_owned).collect();
        match self.node(&names) {
            Some(Node::Object(object)) => object.path.is_some(),
            Some(Node::Field(field)) => field.field_type.setting("path").is_some(),
            None => false,
        }
    }
}
