//! HTTP.
pub mod credentials;
pub mod kubeconfig;
pub mod proxy;
pub mod tls;
