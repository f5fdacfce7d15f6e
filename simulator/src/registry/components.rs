//! The health of the cluster's components, as `componentstatuses` tell it.
//!
//! Nothing of it is stored: it is asked for anew each time. A bare server has no controllers and no scheduler to ask.

use serde_json::{Value, json};

use super::{Address, Registry, Reply, face};
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
    fn object(&self, at: &Address) -> Object {
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
        face::link(at.resource, &mut object);
        object
    }
}

impl Registry {
    /// One component's status.
    pub(super) fn component_status(&self, at: &Address) -> Result<Reply, Status> {
        let name = at.name.as_deref().unwrap_or_default();
        match self.components.iter().find(|c| c.name == name) {
            Some(component) => Ok(Reply::ok(self.encode(at.resource, component.object(at)))),
            None => Err(self.mistake(404, format!("Component not found: {name}"))),
        }
    }

    /// Every component's status. Selectors select nothing here, as in v1.2.
    pub(super) fn component_statuses(&self, at: &Address) -> Result<Reply, Status> {
        let items: Vec<Value> = self
            .components
            .iter()
            .map(|component| {
                let mut item = at.resource.canonical(component.object(at));
                item.shift_remove("kind");
                item.shift_remove("apiVersion");
                Value::Object(item)
            })
            .collect();
        let link = face::collection(at.resource, None);
        let list = json!({"kind": "ComponentStatusList", "apiVersion": at.resource.group_version(), "metadata": {"selfLink": link}, "items": items});
        Ok(Reply::ok(list.to_string().into()))
    }
}
