//! The health of the cluster's components, as `componentstatuses` tell it.
//!
//! Nothing of it is stored: it is asked for anew each time. A bare server has no controllers and no scheduler to ask.

use serde_json::{Value, json};

use super::{Registry, RequestInfo, Response};
use crate::api::{Object, Status};

/// A component that can be asked how it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// Its name: `scheduler`.
    pub name: String,
    /// What it says of itself; where it does not answer, why.
    pub health: Result<String, String>,
}

impl Component {
    /// A component that says `ok`.
    pub fn healthy(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            health: Ok("ok".to_owned()),
        }
    }

    /// A component that nothing listens for on `port`.
    pub fn refused(name: &str, port: u16) -> Self {
        let why =
            format!("Get \"http://127.0.0.1:{port}/healthz\": dial tcp 127.0.0.1:{port}: connect: connection refused");
        Self {
            name: name.to_owned(),
            health: Err(why),
        }
    }

    /// The object that tells of it.
    fn object(&self, request: &RequestInfo) -> Object {
        let (status, message) = match &self.health {
            Ok(said) => ("True", said),
            Err(why) => ("False", why),
        };
        let mut object = Object::new();
        object.insert("metadata".into(), json!({"name": self.name, "creationTimestamp": null}));
        object.insert(
            "conditions".into(),
            json!([{"type": "Healthy", "status": status, "message": message}]),
        );
        request.resource.set_self_link(&mut object);
        object
    }
}

impl Registry {
    /// One component's status.
    pub(super) fn component_status(&self, request: &RequestInfo) -> Result<Response, Status> {
        let name = request.name.as_deref().unwrap_or_default();
        match self.components.iter().find(|c| c.name == name) {
            Some(component) => Ok(Response::ok(self.encode(&request.resource, component.object(request)))),
            None => Err(self.client_error(404, format!("Component not found: {name}"))),
        }
    }

    /// Every component's status. Selectors select nothing here, as in v1.2.
    pub(super) fn component_statuses(&self, request: &RequestInfo) -> Result<Response, Status> {
        let items: Vec<Value> = self
            .components
            .iter()
            .map(|component| {
                let mut item = request.resource.canonical(component.object(request));
                item.shift_remove("kind");
                item.shift_remove("apiVersion");
                Value::Object(item)
            })
            .collect();
        let link = request.resource.collection_path(None);
        let list = json!({"kind": "ComponentStatusList", "apiVersion": request.resource.group_version(), "metadata": {"selfLink": link}, "items": items});
        Ok(Response::ok(list.to_string().into()))
    }
}
