//! Routing: the endpoint of each path, and its methods.
//!
//! - The table is built once per scheme. Routing allocates only the request that it returns.
//! - A trailing slash is ignored, except at the root of a proxy.
//!
//! Source: `api_installer.go` of Kubernetes v1.2 and go-restful's curly router, as recorded (`discovery.har`,
//! `surface.har`).

mod endpoint;
mod methods;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use self::{
    endpoint::{Endpoint, NonResourcePath, ProxyRequest, Route},
    methods::{Methods, subresource_methods},
    table::{GroupVersion, Table},
};
