//! Types of the wire format, as data.
//!
//! - A type may contain itself, but only behind a pointer, in a list or in a map. Struct types are stored in
//!   [`Types`] and refer to each other by [`StructId`].
//! - Source of the semantics: `fixtures/kinds/README.md`, which describes the notation of types.

use std::sync::Arc;

use serde_json::Value;

use crate::api::Object;

/// Conditional default.
pub(super) type DefaultRule = fn(&mut Object);

/// Effect on an object of a conversion to v1.2's internal type and back. The error is that of a conversion that
/// fails.
pub(super) type InternalRule = fn(&mut Object) -> Result<(), &'static str>;

/// Type of a value on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FieldType {
    /// String.
    String {
        /// Name of the Go type, such as `Protocol`. `None` for plain `string`. In lists and maps, the decoder accepts
        /// null for a named type.
        name: Option<Box<str>>,
    },
    /// Integer of this many bits.
    Int(u8),
    /// Boolean.
    Bool,
    /// Bytes, in base64 on the wire.
    Bytes,
    /// Time, RFC 3339 with seconds.
    Time,
    /// Quantity, such as `500m` or `1Gi`.
    Quantity,
    /// Number or string: a port by number or name, a count or a percentage.
    IntOrString,
    /// Any JSON.
    Raw,
    /// Object with known fields.
    Struct(StructId),
    /// List.
    List(Box<Self>),
    /// Map with string keys.
    Map(Box<Self>),
    /// Optional value: absent differs from empty.
    Pointer(Box<Self>),
}

impl FieldType {
    /// Type without its pointers.
    pub(crate) fn pointee(&self) -> &Self {
        match self {
            Self::Pointer(inner) => inner.pointee(),
            other => other,
        }
    }

    /// Whether the value is optional: absent differs from empty.
    pub(super) fn is_pointer(&self) -> bool {
        matches!(self, Self::Pointer(_))
    }
}

/// Index of a struct type in [`Types`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StructId(u32);

/// Object type with known fields.
#[derive(Debug, Default)]
pub(crate) struct StructType {
    /// Name: `PodSpec`.
    pub name: Box<str>,
    /// Whether this is the type of a whole object, with `kind` and `apiVersion` before its other fields.
    pub is_object: bool,
    /// Fields in wire order, including those of embedded types in their places.
    pub fields: Vec<Field>,
    pub(super) default: Option<DefaultRule>,
    pub(super) internal: Option<InternalRule>,
    /// Whether this type or one in it may have a default.
    pub(super) has_defaults: bool,
    /// Whether this type or one in it may have an internal rule.
    pub(super) has_internal_rules: bool,
    /// Indexes into `fields`, sorted by name.
    by_name: Box<[u16]>,
}

/// Field of an object type.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    /// Name on the wire.
    pub name: Box<str>,
    /// Type of the value.
    pub field_type: FieldType,
    /// Whether an empty value is omitted.
    pub omit_empty: bool,
    /// Member by which a strategic merge patch identifies the items of a list.
    pub merge_key: Option<Arc<str>>,
    /// Default for an empty value.
    pub default: Option<Value>,
    /// Whether the field belongs to an embedded type.
    pub is_embedded: bool,
    /// Name in v1.2's internal type, if it differs. Empty if that type has no such field.
    pub internal_name: Option<Box<str>>,
}

impl StructType {
    pub(super) fn new(
        name: &str,
        is_object: bool,
        fields: Vec<Field>,
        default: Option<DefaultRule>,
        internal: Option<InternalRule>,
    ) -> Self {
        let mut by_name: Vec<u16> = (0..).take(fields.len()).collect();
        by_name.sort_by_key(|&at| &fields[usize::from(at)].name);
        Self {
            name: name.into(),
            is_object,
            fields,
            has_defaults: default.is_some(),
            has_internal_rules: internal.is_some(),
            default,
            internal,
            by_name: by_name.into(),
        }
    }

    /// Returns the field with this name, which is case-sensitive.
    pub(crate) fn field(&self, name: &str) -> Option<&Field> {
        self.by_name
            .binary_search_by(|&at| (*self.fields[usize::from(at)].name).cmp(name))
            .ok()
            .and_then(|at| self.fields.get(usize::from(self.by_name[at])))
    }

    /// Returns the field that has this name in v1.2's internal type.
    pub(super) fn internal_field(&self, name: &str) -> Option<&Field> {
        match self.field(name) {
            Some(field) if field.internal_name.is_none() => Some(field),
            _ => self
                .fields
                .iter()
                .find(|field| field.internal_name.as_deref() == Some(name)),
        }
    }

    /// Fields in the order of their values in a list: those of embedded types come last.
    pub(super) fn fields_of_list(&self) -> impl Iterator<Item = &Field> {
        let own = self.fields.iter().filter(|field| !field.is_embedded);
        own.chain(self.fields.iter().filter(|field| field.is_embedded))
    }
}

/// Struct types of some kinds. Cheap to clone and to extend: struct types are shared.
#[derive(Clone, Debug, Default)]
pub(crate) struct Types(Vec<Arc<StructType>>);

impl Types {
    /// Returns the struct type of `id`, which must be from these types.
    pub(super) fn get(&self, id: StructId) -> &StructType {
        &self.0[id.0 as usize]
    }

    /// Returns the struct type of a value, of what it points to or of the items of its list.
    pub(super) fn structure_in(&self, of: &FieldType) -> Option<&StructType> {
        match of {
            FieldType::Struct(id) => Some(self.get(*id)),
            FieldType::Pointer(inner) | FieldType::List(inner) => self.structure_in(inner),
            _ => None,
        }
    }

    /// Reserves the index of a struct type that is [`set`](Self::set) later, so that other types can refer to it.
    pub(super) fn reserve(&mut self) -> StructId {
        // A type that contains one whose rules are not known yet is taken to have some.
        self.0.push(Arc::new(StructType {
            has_defaults: true,
            has_internal_rules: true,
            ..StructType::default()
        }));
        StructId(u32::try_from(self.0.len() - 1).unwrap_or(u32::MAX))
    }

    pub(super) fn set(&mut self, id: StructId, mut made: StructType) {
        for field in &made.fields {
            let within = self.structure_in(&field.field_type);
            made.has_defaults |= field.default.is_some() || within.is_some_and(|of| of.has_defaults);
            made.has_internal_rules |= within.is_some_and(|of| of.has_internal_rules);
        }
        self.0[id.0 as usize] = Arc::new(made);
    }

    /// Returns the first struct type from index `first` that contains itself by value, and thus has no finite value.
    pub(super) fn infinite(&self, first: usize) -> Option<&StructType> {
        #[derive(Clone, Copy, PartialEq)]
        enum State {
            Unseen,
            Open,
            Finite,
        }
        fn visit(types: &Types, at: usize, states: &mut [State]) -> Option<usize> {
            match states[at] {
                State::Open => return Some(at),
                State::Finite => return None,
                State::Unseen => states[at] = State::Open,
            }
            for field in &types.0[at].fields {
                if let FieldType::Struct(inner) = field.field_type
                    && let Some(found) = visit(types, inner.0 as usize, states)
                {
                    return Some(found);
                }
            }
            states[at] = State::Finite;
            None
        }
        let mut states = vec![State::Unseen; self.0.len()];
        let found = (first..self.0.len()).find_map(|at| visit(self, at, &mut states))?;
        Some(&self.0[found])
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// Type of the wire format together with the types that it refers to, for lookups by field name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TypeRef<'t> {
    types: &'t Types,
    of: &'t FieldType,
}

/// Result of a lookup by field name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldRef<'t> {
    /// Type of the field.
    pub type_ref: TypeRef<'t>,
    /// Merge key, for a list whose items are merged. Other lists are replaced.
    pub merge_key: Option<&'t Arc<str>>,
}

impl<'t> TypeRef<'t> {
    pub(super) fn new(types: &'t Types, of: &'t FieldType) -> Self {
        Self {
            types,
            of: of.pointee(),
        }
    }

    /// Type without its pointers.
    pub(crate) fn field_type(self) -> &'t FieldType {
        self.of
    }

    /// Object type with known fields. `None` for any other type.
    pub(crate) fn struct_type(self) -> Option<&'t StructType> {
        match self.of {
            FieldType::Struct(id) => Some(self.types.get(*id)),
            _ => None,
        }
    }

    /// Returns `of`, a component of this type.
    pub(crate) fn inner(self, of: &'t FieldType) -> Self {
        Self::new(self.types, of)
    }

    /// Returns the field `name` of an object type, or the type of a map's values for any key.
    pub(crate) fn field(self, name: &str) -> Option<FieldRef<'t>> {
        let unmerged = |of| FieldRef {
            type_ref: self.inner(of),
            merge_key: None,
        };
        match self.of {
            FieldType::Struct(id) => {
                let of = self.types.get(*id);
                if of.is_object && matches!(name, "kind" | "apiVersion") {
                    return Some(unmerged(&FieldType::String { name: None }));
                }
                of.field(name).map(|field| FieldRef {
                    type_ref: self.inner(&field.field_type),
                    merge_key: field.merge_key.as_ref(),
                })
            }
            FieldType::Map(of) => Some(unmerged(of)),
            _ => None,
        }
    }

    /// Type of a list's items or a map's values.
    pub(crate) fn element(self) -> Option<Self> {
        match self.of {
            FieldType::List(of) | FieldType::Map(of) => Some(self.inner(of)),
            _ => None,
        }
    }
}
