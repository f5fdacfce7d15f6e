//! Kinds as data: how their objects are decoded, defaulted, converted between versions and encoded.
//!
//! - `kinds.rs` has the [`Scheme`], a value that kinds can be added to and removed from; `resource.rs` has one version of a kind; `types.rs` the types of its fields.
//! - `load.rs` reads kinds from their files.
//! - `body.rs` decodes request bodies, `object.rs` does the rest.
//!
//! Guarantees: a body is decoded to an object in canonical form, or refused with v1.2's error text; no body makes it panic or overflow the stack.
//! Limits: nesting is at most 10,000 deep in JSON and 200 in YAML.
//! Source of semantics: `fixtures/kinds` for the kinds; Kubernetes v1.2 and the recordings for decoding and encoding.

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
