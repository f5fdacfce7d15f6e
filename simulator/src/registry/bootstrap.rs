//! Objects that the cluster itself creates.

use serde_json::Value;

use super::{codec::parse, request::RequestInfo, state::Registry};
use crate::{
    api::{Object, Status},
    strategy::initial_objects,
};

impl Registry {
    /// Creates the objects that every cluster has, unless they exist.
    pub async fn bootstrap(&self) -> Result<(), Status> {
        let settings = &self.settings;
        let service_address = settings.service_range.at(1);
        for (name, namespace, object) in
            initial_objects(service_address, settings.advertise_address, settings.secure_port)
        {
            let request = RequestInfo {
                resource: self.named(name)?,
                namespace: namespace.map(str::to_owned),
                name: None,
                subresource: None,
            };
            match self.create_from(&request, object).await {
                Err(status) if status.code != 409 => return Err(status),
                _ => {}
            }
        }
        Ok(())
    }

    /// Creates an object as if it had been posted; returns it as it was stored.
    pub async fn create_from(&self, request: &RequestInfo, object: Object) -> Result<Object, Status> {
        let object = self.decode_tree(&request.resource, object)?;
        parse(self.create_object(request, object).await?.bytes())
    }

    /// Sets the status of an object; returns it as it was stored.
    pub async fn set_status(&self, request: &RequestInfo, status: Value) -> Result<Object, Status> {
        let stored = request.resource.storage_version();
        let record = self
            .modify(request, |object| {
                object.insert("status".to_owned(), status.clone());
                *object = stored.canonical(std::mem::take(object));
                Ok(())
            })
            .await?;
        parse(record.bytes())
    }
}
