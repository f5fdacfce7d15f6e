//! The vocabulary of the API: statuses, field errors, selectors, quantities, object metadata.
//!
//! Everything here is a plain value: no I/O, no state, no clock.

pub mod field;
pub mod fields;
mod group_resource;
pub mod labels;
pub mod meta;
pub mod quantity;
mod quote;
pub mod status;

pub use field::{FieldError, FieldErrorKind, Path};
pub use group_resource::GroupResource;
pub(crate) use quote::go_quote;
pub use status::{Reason, Status};

/// An object as the API exchanges it: a JSON tree whose maps keep their order.
pub type Object = serde_json::Map<String, serde_json::Value>;
