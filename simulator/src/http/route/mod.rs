//! Routing: what each path names, and its methods.
//!
//! - The table is made once for a scheme. Routing allocates only the request that it returns.
//! - A slash at the end is ignored, except at the root of a proxy.
//!
//! Source: Kubernetes v1.2's `api_installer.go` and go-restful's curly router, as recorded (`discovery.har`, `surface.har`).

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
