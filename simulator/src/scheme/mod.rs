//! Kinds as data: decode, prune, default, validate, encode.
//!
//! Promises: a body becomes an object in its one canonical form, or a refusal in the reference's words; no body brings the server down.
//! Limits: kinds are those of `fixtures/kinds`; nesting is at most 1,000 deep in JSON and 200 in YAML.
//! Source of semantics: `fixtures/kinds` for what the kinds are; Kubernetes v1.2 and the recordings for how they are read and written.

mod body;
mod by_version;
mod canonical;
mod codec;
mod conversion;
mod cursor;
mod default;
pub mod encode;
mod internal;
mod kinds;
mod load;
mod mismatch;
mod object;
#[cfg(test)]
mod recordings;
mod resource;
mod scalar;
pub(crate) mod scan;
#[cfg(test)]
mod tests;
pub mod time;
mod type_meta;
pub mod types;
pub mod yaml;

pub use body::Syntax;
pub(crate) use by_version::ByVersion;
pub use conversion::Conversion;
pub use kinds::Scheme;
pub use load::{LoadError, Strategy};
pub use resource::Resource;
pub use scan::check as check_json;
pub use types::{FieldRef, FieldType, StructType, TypeRef};
