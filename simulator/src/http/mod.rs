//! HTTP.
pub mod credentials;
pub mod kubeconfig;
pub mod proxy;
pub mod spdy;
pub mod tls;
