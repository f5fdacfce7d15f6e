//! Fields of a type that differ from the field of the same name in another type.
//!
//! Guarantees: documents are indexed by the mapping of their own type; a name without a type means the first field.
//! Source: Elasticsearch 1.5's `MapperService.smartName`.

use std::sync::Arc;

use super::{Field, FieldOrdinal, Mapping, ObjectNode, PARENT};

impl Mapping {
    /// Returns the field with this full name in documents of a type.
    pub(crate) fn field_of(&self, type_name: &str, name: &str) -> Option<&Field> {
        let own = self.type_fields.get(type_name).and_then(|own| own.get(name));
        own.or_else(|| self.fields.get(name))
    }

    /// Returns whether a type has the field with a full name.
    pub(crate) fn has_field(&self, type_name: &str, name: &str) -> bool {
        let Some(own) = self.types.get(type_name) else {
            return false;
        };
        // A field may have others below it, such as the latitude of a point.
        let ends = name.match_indices('.').map(|(at, _)| at).chain([name.len()]);
        let mut paths = ends.filter_map(|end| name.get(..end));
        name == "_all" || paths.any(|path| own.root.field(path).is_some())
    }

    /// Returns whether a path is an object of one of these types, or of any if there are none. A type is an object,
    /// too.
    pub(crate) fn is_object_of(&self, path: &str, types: &[String]) -> bool {
        let is_wanted = |name: &String| types.is_empty() || types.contains(name);
        let mut own = self.types.iter().filter(|(name, _)| is_wanted(name));
        own.any(|(name, own)| name == path || own.root.object(path).is_some())
    }

    /// Returns whether the objects at a path are nested: by the first of these types that has the path, or if there are
    /// none, by any. `None`: there is no such object.
    pub(crate) fn nests(&self, path: &str, types: &[String]) -> Option<bool> {
        if types.is_empty() || types == ["_all"] {
            return match self.is_nested(path) {
                true => Some(true),
                false => self.is_object(path).then_some(false),
            };
        }
        let mut objects = types.iter().filter_map(|name| self.types.get(name)?.root.object(path));
        objects.next().map(|object| object.nested)
    }

    /// Splits a name into a type and the full name of a field of that type, if the name starts with a type.
    pub(crate) fn named_type<'a>(&'a self, name: &'a str) -> Option<(&'a str, &'a str)> {
        let (type_name, rest) = name.split_once('.')?;
        let root = &self.types.get(type_name)?.root;
        let mut names = [rest, self.full_name(rest)].into_iter();
        let full = names.find(|name| root.field(name).is_some())?;
        Some((type_name, full))
    }

    /// Returns the full name of a field by this name, the name in the index, or a short name.
    pub(super) fn full_name<'a>(&'a self, name: &'a str) -> &'a str {
        if self.fields.contains_key(name) {
            return name;
        }
        let other = self.index_names.get(name).or_else(|| self.short_names.get(name));
        other.map_or(name, String::as_str)
    }

    /// Adds the names in the index of the fields of a type, and the fields that they are copied to.
    pub(super) fn add_names(&mut self, root: &ObjectNode) {
        for (name, node) in root.leaves() {
            for target in node.field_type.copy_targets() {
                let sources = self.copies.entry(target.to_owned()).or_default();
                if !sources.contains(&name) {
                    sources.push(name.clone());
                }
            }
            let own = root.index_name(&name);
            if own != name {
                self.index_names.entry(own).or_insert(name);
            }
        }
    }

    /// Returns the full names of the fields that are copied to a field.
    pub(crate) fn copied_to(&self, name: &str) -> &[String] {
        self.copies.get(name).map_or(&[], Vec::as_slice)
    }

    /// Returns the mapping for searches of some types, whose fields have precedence.
    pub(crate) fn for_types(self: Arc<Mapping>, types: &[String]) -> Arc<Mapping> {
        if types.is_empty() || self.type_fields.is_empty() && self.type_defaults.is_empty() {
            return self;
        }
        let mut narrowed = Mapping::clone(&self);
        for type_name in types.iter().rev() {
            let leaves = self.types.get(type_name).map(|own| own.root.leaves());
            for (name, _) in leaves.into_iter().flatten() {
                if let Some(field) = self.field_of(type_name, &name) {
                    narrowed.fields.insert(name, field.clone());
                }
            }
            narrowed.narrow_defaults(type_name);
        }
        Arc::new(narrowed)
    }

    /// Adds a field whose name is taken. Fields with the same name and type share an ordinal.
    pub(super) fn add_type_field(&mut self, type_name: &str, mut field: Field) {
        let others = self.type_fields.values().filter_map(|own| own.get(&field.name));
        let mut known = self.fields.get(&field.name).into_iter().chain(others);
        let same = known.find(|known| known.field_type.kind == field.field_type.kind);
        let ordinal = same.map(|known| known.ordinal);
        field.ordinal = ordinal.unwrap_or_else(|| self.next_ordinal());
        self.put_type_field(type_name, field);
    }

    /// Adds a field of a type that has its ordinal.
    pub(super) fn put_type_field(&mut self, type_name: &str, field: Field) {
        let own = self.type_fields.entry(type_name.to_owned()).or_default();
        own.insert(field.name.clone(), field);
    }

    /// Allocates the ordinal of a new field.
    pub(super) fn next_ordinal(&mut self) -> FieldOrdinal {
        self.ordinal_count = self.ordinal_count.saturating_add(1);
        PARENT.saturating_add(self.ordinal_count)
    }

    /// Number of fields.
    pub(super) fn field_count(&self) -> usize {
        let own: usize = self.type_fields.values().map(|own| own.len()).sum();
        self.fields.len() + own
    }

    /// Removes a type, and the fields that no other type has.
    pub(crate) fn remove_type(&mut self, type_name: &str) -> bool {
        let Some(removed) = self.types.shift_remove(type_name) else {
            return false;
        };
        self.type_fields.remove(type_name);
        self.set_type_defaults(type_name, None);
        for (name, _) in removed.root.leaves() {
            let others: Vec<&String> = self
                .types
                .iter()
                .filter(|(_, other)| other.root.field(&name).is_some())
                .map(|(other, _)| other)
                .collect();
            let has_own = |other: &&String| self.type_fields.get(*other).is_some_and(|own| own.contains_key(&name));
            if !others.iter().all(has_own) {
                continue;
            }
            // The first field with this name is removed, so the next one takes its name.
            let next = others
                .first()
                .and_then(|other| self.type_fields.get_mut(*other)?.remove(&name));
            match next {
                Some(field) => drop(self.fields.insert(name, field)),
                None => drop(self.fields.remove(&name)),
            }
        }
        self.type_fields.retain(|_, own| !own.is_empty());
        true
    }
}
