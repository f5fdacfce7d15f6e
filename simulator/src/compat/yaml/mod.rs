//! YAML reader and writer as in v1.2's libraries.
//!
//! - Guarantees: depth and the expansion of aliases are bounded; output has sorted keys.
//! - Source of the semantics: go-yaml v2 and ghodss/yaml of 2016: YAML 1.1 booleans, libyaml's error texts.

mod read;
mod resolve;
mod utf8;
mod write;

pub(crate) use read::{YamlError, to_value};
pub(crate) use write::from_value;
