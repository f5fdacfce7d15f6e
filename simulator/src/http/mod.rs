//! HTTP.
pub mod proxy;
