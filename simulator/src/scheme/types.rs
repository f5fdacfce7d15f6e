//! The types of the wire format, as data.
//!
//! A field's type is written as the reference writes it, in one line: `string`, `*int64`, `[]Container`, `map[string]string`, then
//! `?` where an empty value is left out, then ` by KEY` where a strategic merge patch tells list items apart by KEY, then ` = VALUE` for a default.
//! Source of semantics: `fixtures/kinds/README.md`.

use std::collections::HashMap;

use serde_json::Value;

use super::{default::DefaultRule, internal::InternalRule};

/// What a value on the wire is.
#[derive(Clone, Debug)]
pub enum Shape {
    /// Text. A `named` one is a type of its own, which the decoder lets be null inside lists and maps.
    Text {
        /// Whether the type has a name of its own (`Protocol`), rather than being plain `string`.
        named: bool,
    },
    /// A whole number of this many bits.
    Int(u8),
    /// True or false.
    Bool,
    /// Bytes, in base64 on the wire.
    Bytes,
    /// A point in time, RFC 3339 to the second.
    Time,
    /// An amount: `500m`, `1Gi`.
    Quantity,
    /// A number or a text: a port by number or name, a count or a percentage.
    IntOrString,
    /// Any JSON.
    Raw,
    /// An object with known fields.
    Struct(&'static Struct),
    /// A list.
    List(&'static Shape),
    /// A map from text.
    Map(&'static Shape),
    /// A value that may be absent, which is then not the same as empty.
    Pointer(&'static Shape),
}

/// An object type with known fields.
#[derive(Debug)]
pub struct Struct {
    /// The type's name: `PodSpec`.
    pub name: &'static str,
    /// Whether it is a whole object, which has a kind and a version before its other fields.
    pub top: bool,
    /// Its fields in wire order, those of embedded types in their places.
    pub fields: Vec<Field>,
    /// The default that no table can say.
    pub(super) default: Option<DefaultRule>,
    /// What passing through the reference's internal type does to it.
    pub(super) internal: Option<InternalRule>,
    index: HashMap<&'static str, usize>,
}

/// A field of an object type.
#[derive(Clone, Debug)]
pub struct Field {
    /// The name on the wire.
    pub name: &'static str,
    /// What it holds.
    pub shape: Shape,
    /// Whether an empty value is left out.
    pub omit_empty: bool,
    /// The item field by which a strategic merge patch tells items apart.
    pub merge_key: Option<&'static str>,
    /// What an empty value becomes.
    pub default: Option<Value>,
}

impl Struct {
    pub(super) fn new(
        name: &'static str,
        top: bool,
        fields: Vec<Field>,
        default: Option<DefaultRule>,
        internal: Option<InternalRule>,
    ) -> Self {
        let index = fields.iter().enumerate().map(|(at, field)| (field.name, at)).collect();
        Self {
            name,
            top,
            fields,
            default,
            internal,
            index,
        }
    }

    /// The field of that name; names are told apart by case.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.index.get(name).and_then(|&at| self.fields.get(at))
    }
}

impl Shape {
    /// The shape under any pointers.
    pub fn pointee(&self) -> &Self {
        match self {
            Self::Pointer(inner) => inner.pointee(),
            other => other,
        }
    }
}

/// A type of the wire format, to walk down by field names: what a strategic merge patch asks.
#[derive(Clone, Copy, Debug)]
pub struct TypeRef(&'static Shape);

/// What stands behind a field's name.
#[derive(Clone, Copy, Debug)]
pub struct FieldRef {
    /// The field's type.
    pub type_ref: TypeRef,
    /// The item field by which items of a list are told apart.
    pub merge_key: Option<&'static str>,
    /// `merge` for a list whose items are merged; lists without are replaced.
    pub patch_strategy: Option<&'static str>,
}

impl TypeRef {
    pub(super) fn new(shape: &'static Shape) -> Self {
        Self(shape.pointee())
    }

    /// What the type holds.
    pub fn shape(self) -> &'static Shape {
        self.0
    }

    /// The field `name` of an object type; every key of a map leads to the type of its values.
    pub fn field(self, name: &str) -> Option<FieldRef> {
        const TEXT: FieldRef = FieldRef {
            type_ref: TypeRef(&Shape::Text { named: false }),
            merge_key: None,
            patch_strategy: None,
        };
        match self.0 {
            Shape::Struct(of) if of.top && matches!(name, "kind" | "apiVersion") => Some(TEXT),
            Shape::Struct(of) => of.field(name).map(|f| FieldRef {
                type_ref: Self(f.shape.pointee()),
                merge_key: f.merge_key,
                patch_strategy: f.merge_key.map(|_| "merge"),
            }),
            Shape::Map(of) => Some(FieldRef {
                type_ref: Self(of.pointee()),
                merge_key: None,
                patch_strategy: None,
            }),
            _ => None,
        }
    }

    /// The type of a list's items, or of a map's values.
    pub fn element(self) -> Option<Self> {
        match self.0 {
            Shape::List(of) | Shape::Map(of) => Some(Self(of.pointee())),
            _ => None,
        }
    }

    /// Whether this is a list.
    pub fn is_list(self) -> bool {
        matches!(self.0, Shape::List(_))
    }

    /// Whether this is an object with known fields.
    pub fn is_struct(self) -> bool {
        matches!(self.0, Shape::Struct(_))
    }

    /// Whether this is a map with any keys.
    pub fn is_map(self) -> bool {
        matches!(self.0, Shape::Map(_))
    }
}
