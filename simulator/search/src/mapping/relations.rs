//! Types with parents, and those whose documents need a routing value.

use super::Mapping;
use super::default_type::DEFAULT;
use super::flags::is_on;

impl Mapping {
    /// Returns the parent type of a type.
    pub(crate) fn parent_type(&self, type_name: &str) -> Option<&str> {
        self.types.get(type_name)?.metadata("_parent")?.get("type")?.as_str()
    }

    /// Returns whether a type has parents.
    pub(crate) fn has_children(&self) -> bool {
        self.types
            .keys()
            .any(|name| name != DEFAULT && self.parent_type(name).is_some())
    }

    /// Returns whether documents of a type need a routing value.
    pub(crate) fn needs_routing(&self, type_name: &str) -> bool {
        let routing = self.types.get(type_name).and_then(|own| own.metadata("_routing"));
        self.parent_type(type_name).is_some() || routing.and_then(|own| own.get("required")).is_some_and(is_on)
    }
}
