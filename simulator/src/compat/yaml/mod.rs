//! YAML in and out, as the reference's library of 2016 has it.
//!
//! Promises: depth and what anchors unfold to are bounded; output has sorted keys.
//! Source of semantics: go-yaml v2 and ghodss/yaml of 2016: YAML 1.1's words for booleans, libyaml's error texts.

mod read;
mod resolve;
mod utf8;
mod write;

pub(crate) use read::{YamlError, to_value};
pub(crate) use write::from_value;
