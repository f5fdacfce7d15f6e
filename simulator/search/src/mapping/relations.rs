//! Types with parents, and those whose documents need a routing value.

use super::Mapping;
use super::default_type::DEFAULT;
use super::flags::is_on;
use super::type_mapping::TypeMapping;

impl TypeMapping {
    /// Type of the parents of its documents.
    pub(crate) fn parent_type(&self) -> Option<&str> {
        self.metadata("_parent")?.get("type")?.as_str()
    }

    /// Returns whether its documents need a routing value.
    pub(crate) fn needs_routing(&self) -> bool {
        let required = self.metadata("_routing").and_then(|own| own.get("required"));
        self.parent_type().is_some() || required.is_some_and(is_on)
    }
}

impl Mapping {
    /// Returns the parent type of a type.
    pub(crate) fn parent_type(&self, type_name: &str) -> Option<&str> {
        self.types.get(type_name)?.parent_type()
    }

    /// Returns whether a type has parents.
    pub(crate) fn has_children(&self) -> bool {
        self.types
            .keys()
            .any(|name| name != DEFAULT && self.parent_type(name).is_some())
    }

    /// Returns whether documents of a type need a routing value.
    pub(crate) fn needs_routing(&self, type_name: &str) -> bool {
        self.types.get(type_name).is_some_and(TypeMapping::needs_routing)
    }
}
