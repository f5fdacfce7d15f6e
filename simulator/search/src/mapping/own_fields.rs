//! Fields that a type has in its own way, though another type had a field of that name first.
//!
//! Guarantees: documents are indexed as their own type says; a name without a type is that of the first field.
//! Source: Elasticsearch 1.5's `MapperService.smartName`.

use std::sync::Arc;

use super::{Field, FieldOrdinal, Mapping, PARENT};

impl Mapping {
    /// The field of that full name, as documents of a type have it.
    pub(crate) fn field_of(&self, type_name: &str, name: &str) -> Option<&Field> {
        let own = self.own_fields.get(type_name).and_then(|own| own.get(name));
        own.or_else(|| self.fields.get(name))
    }

    /// A type and the name of one of its fields, if a name starts with a type.
    pub(crate) fn named_type<'a>(&self, name: &'a str) -> Option<(&'a str, &'a str)> {
        let (type_name, rest) = name.split_once('.')?;
        self.types.get(type_name)?.root.field(rest)?;
        Some((type_name, rest))
    }

    /// The mapping for searches of some types, whose fields come first.
    pub(crate) fn for_types(self: Arc<Mapping>, types: &[String]) -> Arc<Mapping> {
        if types.is_empty() || self.own_fields.is_empty() {
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
        }
        Arc::new(narrowed)
    }

    /// Adds a field that is not the first of its name. Fields of the same kind have the same place.
    pub(super) fn add_own_field(&mut self, type_name: &str, mut field: Field) {
        let others = self.own_fields.values().filter_map(|own| own.get(&field.name));
        let mut known = self.fields.get(&field.name).into_iter().chain(others);
        let same = known.find(|known| known.field_type.kind == field.field_type.kind);
        let place = same.map(|known| known.ordinal);
        field.ordinal = place.unwrap_or_else(|| self.next_place());
        self.put_own_field(type_name, field);
    }

    /// Puts a field of a type at its place.
    pub(super) fn put_own_field(&mut self, type_name: &str, field: Field) {
        let own = self.own_fields.entry(type_name.to_owned()).or_default();
        own.insert(field.name.clone(), field);
    }

    /// The place of a field that is new.
    pub(super) fn next_place(&mut self) -> FieldOrdinal {
        self.places = self.places.saturating_add(1);
        PARENT.saturating_add(self.places)
    }

    /// Number of fields.
    pub(super) fn field_count(&self) -> usize {
        let own: usize = self.own_fields.values().map(|own| own.len()).sum();
        self.fields.len() + own
    }

    /// Forgets a type, and the fields that no other type has.
    pub(crate) fn remove_type(&mut self, type_name: &str) -> bool {
        let Some(removed) = self.types.shift_remove(type_name) else {
            return false;
        };
        self.own_fields.remove(type_name);
        for (name, _) in removed.root.leaves() {
            let others: Vec<&String> = self
                .types
                .iter()
                .filter(|(_, other)| other.root.field(&name).is_some())
                .map(|(other, _)| other)
                .collect();
            let has_own = |other: &&String| self.own_fields.get(*other).is_some_and(|own| own.contains_key(&name));
            if !others.iter().all(has_own) {
                continue;
            }
            // The field that was there first is no more: the next one takes its name.
            let next = others
                .first()
                .and_then(|other| self.own_fields.get_mut(*other)?.remove(&name));
            match next {
                Some(field) => drop(self.fields.insert(name, field)),
                None => drop(self.fields.remove(&name)),
            }
        }
        self.own_fields.retain(|_, own| !own.is_empty());
        true
    }
}
