//! The setting `include_in_all` of an object: the default of its members, shown with them.
//!
//! Source: `ObjectMapper.putMapper` and `AllFieldMapper.IncludeInAll` of Elasticsearch 1.5.

use super::Kind;
use super::tree::{FieldNode, Node, ObjectNode};

impl FieldNode {
    /// Sets whether the field is in `_all`, unless it has a setting for that or cannot have one.
    pub(super) fn default_include_in_all(&mut self, included: Option<bool>) {
        let field = &mut self.field_type;
        let has_none = matches!(
            field.kind,
            Kind::Boolean | Kind::Binary | Kind::Completion | Kind::GeoPoint
        );
        if let Some(included) = included
            && !has_none
            && field.setting("include_in_all").is_none()
        {
            field.set_in_all(included);
        }
    }
}

impl ObjectNode {
    /// Sets whether the fields are in `_all`, unless they or an object around them have a setting for that.
    pub(super) fn default_include_in_all(&mut self, included: Option<bool>) {
        self.include_in_all = self.include_in_all.or(included);
        for member in self.properties.values_mut() {
            member.default_include_in_all(included);
        }
    }
}

impl Node {
    /// As for fields and objects.
    pub(super) fn default_include_in_all(&mut self, included: Option<bool>) {
        match self {
            Node::Field(field) => field.default_include_in_all(included),
            Node::Object(object) => object.default_include_in_all(included),
        }
    }
}
