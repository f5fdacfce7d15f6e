//! Kinds as data: decode, prune, default, validate, encode.
//!
//! Promises: a body becomes an object in its one canonical form, or a refusal in the reference's words; no body brings the server down.
//! Limits: kinds are those of `fixtures/kinds`; nesting is at most 1,000 deep in JSON and 200 in YAML.
//! Source of semantics: `fixtures/kinds` for what the kinds are; Kubernetes v1.2 and the recordings for how they are read and written.

mod body;
mod canonical;
mod codec;
mod convert;
mod cursor;
mod default;
pub mod encode;
mod internal;
mod kind;
mod load;
mod mismatch;
#[cfg(test)]
mod recordings;
mod scalar;
pub(crate) mod scan;
#[cfg(test)]
mod tests;
pub mod time;
mod top;
pub mod types;
pub mod yaml;

pub use body::Syntax;
pub use kind::{Resource, Scheme};
pub use load::{LoadError, Strategy};
pub use scan::check as check_json;
pub use types::{FieldRef, TypeRef};
