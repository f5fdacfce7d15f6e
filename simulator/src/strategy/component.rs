//! Components of the control plane and their health.

use serde_json::json;

use crate::api::Object;

/// Component of the control plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Component {
    /// Name, such as `scheduler`.
    pub name: String,
    /// Health message, or the error of the health check.
    pub health: Result<String, String>,
}

impl Component {
    /// Returns a component that reports `ok`.
    pub(crate) fn healthy(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            health: Ok("ok".to_owned()),
        }
    }

    /// Returns a component whose health port refuses connections.
    pub(crate) fn refused(name: &str, port: u16) -> Self {
        let why =
            format!("Get \"http://127.0.0.1:{port}/healthz\": dial tcp 127.0.0.1:{port}: connect: connection refused");
        Self {
            name: name.to_owned(),
            health: Err(why),
        }
    }

    /// Returns the component's `ComponentStatus`.
    pub(super) fn object(&self) -> Object {
        let (status, message) = match &self.health {
            Ok(message) => ("True", message),
            Err(error) => ("False", error),
        };
        let condition = json!({"type": "Healthy", "status": status, "message": message});
        Object::from_iter([
            (
                "metadata".to_owned(),
                json!({"name": self.name, "creationTimestamp": null}),
            ),
            ("conditions".to_owned(), json!([condition])),
        ])
    }
}
