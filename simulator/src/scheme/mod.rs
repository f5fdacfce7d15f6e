//! Kinds as data: decoding, defaults, conversion between versions and encoding of their objects.
//!
//! - `kinds.rs`: the [`Scheme`], an immutable value to which kinds can be added and from which they can be removed.
//!   `resource.rs`: one version of a kind. `types.rs`: the types of its fields.
//! - `load.rs`: loader of kinds from their files.
//! - `body.rs`: decoding of request bodies. `object.rs`: operations on objects.
//!
//! Guarantees: a body is decoded to an object in typed form, or rejected with v1.2's error text. No body causes a
//! panic or a stack overflow.
//!
//! Limits: nesting is at most 10,000 levels in JSON and 200 in YAML.
//!
//! Source of the semantics: `fixtures/kinds` for the kinds; Kubernetes v1.2 and the recordings for decoding and
//! encoding.

mod body;
mod by_version;
mod canonical;
mod codec;
mod conversion;
mod default;
mod internal;
mod kinds;
mod load;
mod mismatch;
mod object;
#[cfg(test)]
mod recordings;
mod resource;
#[cfg(test)]
mod tests;
mod type_meta;
pub(crate) mod types;

pub(crate) use body::Syntax;
pub(crate) use by_version::ByVersion;
pub use conversion::Conversion;
pub use kinds::Kinds;
pub(crate) use kinds::Scheme;
pub use load::LoadError;
pub(crate) use resource::Resource;
pub(crate) use types::{FieldType, StructType, TypeRef};
