//! Kinds as data: decode, prune, default, validate, encode.
