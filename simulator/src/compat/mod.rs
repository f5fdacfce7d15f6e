//! Imitation of Go and of libraries that Kubernetes v1.2 uses, where its responses depend on them.
//!
//! - Functions are named after what they imitate: [`go_quote`] for `%q`, [`go_value`] for `%v`, [`strconv::atoi`] for
//!   `strconv.Atoi`.
//! - Nothing here depends on kinds, profiles or HTTP.
//!
//! Source of the semantics: Go, and the libraries named in each file.

mod fmt;
mod json;
pub(crate) mod json_cursor;
pub(crate) mod json_patch;
pub(crate) mod json_scan;
pub(crate) mod json_write;
pub(crate) mod scalar;
pub(crate) mod strconv;
pub(crate) mod time;
pub(crate) mod yaml;

pub(crate) use crate::api::go_quote;
pub(crate) use fmt::{go_list, go_map, go_time_quote, go_value};
pub(crate) use json::{escape_html, json_kind, json_string};
