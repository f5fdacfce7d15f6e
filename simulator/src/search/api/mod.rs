//! The handlers: what each path does.

pub(crate) mod search;
