//! API vocabulary: statuses, field errors, selectors, quantities, object metadata.
//!
//! Everything here is a plain value: no I/O, no state, no clock.

pub(crate) mod field;
pub(crate) mod fields;
mod group_resource;
pub(crate) mod labels;
pub(crate) mod meta;
mod pairs;
pub(crate) mod quantity;
mod quote;
pub(crate) mod status;
pub(crate) mod tree;

pub(crate) use field::{FieldError, Path};
pub(crate) use group_resource::GroupResource;
pub(crate) use pairs::Pairs;
pub(crate) use quote::go_quote;
pub use status::Reason;
pub use status::Status;

/// Object of the API: a JSON tree whose maps keep their order.
pub(crate) type Object = serde_json::Map<String, serde_json::Value>;
