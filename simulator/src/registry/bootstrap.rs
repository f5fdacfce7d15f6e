//! What a new cluster starts with: the namespace `default`, and the API server's own service and endpoints.

use serde_json::{Value, json};

use super::{Registry, RequestInfo, get::parse};
use crate::api::{Object, Status};

impl Registry {
    /// Creates what every cluster starts with, unless it is there already.
    pub async fn bootstrap(&self) -> Result<(), Status> {
        let labels = json!({"component": "apiserver", "provider": "kubernetes"});
        let (service_address, advertised) = (
            self.settings.service_range.at(1).to_string(),
            self.settings.advertise_address.to_string(),
        );
        let ports = json!([{"name": "https", "protocol": "TCP", "port": 443, "targetPort": 443}]);
        self.seed("namespaces", None, json!({"metadata": {"name": "default"}}))
            .await?;
        let service = json!({
            "metadata": {"name": "kubernetes", "labels": labels},
            "spec": {"ports": ports, "clusterIP": service_address, "type": "ClusterIP", "sessionAffinity": "None"},
        });
        self.seed("services", Some("default"), service).await?;
        let subsets = json!([{"addresses": [{"ip": advertised}], "ports": [{"name": "https", "port": self.settings.secure_port, "protocol": "TCP"}]}]);
        self.seed(
            "endpoints",
            Some("default"),
            json!({"metadata": {"name": "kubernetes"}, "subsets": subsets}),
        )
        .await
    }

    async fn seed(&self, plural: &str, namespace: Option<&str>, object: Value) -> Result<(), Status> {
        let (Some(resource), Value::Object(object)) = (self.scheme().resource("", "v1", plural).cloned(), object)
        else {
            return Err(Status::internal(format!("there is no core resource {plural}")));
        };
        let request = RequestInfo {
            resource,
            namespace: namespace.map(str::to_owned),
            name: None,
            subresource: None,
        };
        match self.create_from(&request, object).await {
            Ok(_) => Ok(()),
            Err(status) if status.code == 409 => Ok(()),
            Err(status) => Err(status),
        }
    }

    /// Creates an object of the cluster's own making as if it had been posted to `at`; the object as it was stored.
    pub async fn create_from(&self, request: &RequestInfo, mut object: Object) -> Result<Object, Status> {
        object.insert("kind".into(), request.resource.kind.clone().into());
        object.insert("apiVersion".into(), request.resource.group_version().into());
        let mut object = self.scheme().decode_value(&request.resource, Value::Object(object))?;
        request.resource.default(&mut object);
        parse(self.create_object(request, object).await?.bytes())
    }

    /// Sets the status of an object of a kind that is stored as it is shown; the object as it was stored.
    pub async fn set_status(&self, request: &RequestInfo, status: Value) -> Result<Object, Status> {
        let record = self
            .modify(request, |object| {
                object.insert("status".to_owned(), status.clone());
                *object = request.resource.canonical(std::mem::take(object));
                Ok(())
            })
            .await?;
        parse(record.bytes())
    }
}
