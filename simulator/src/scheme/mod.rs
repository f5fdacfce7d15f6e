//! Kinds as data: decode, prune, default, validate, encode.

pub mod validate;
