//! Client and its verbs over one resource.

use std::{fmt, sync::Arc};

use serde_json::{Value, json};

use super::watch::Watch;
use crate::{
    api::{Object, Status, meta},
    clock::Clock,
    patch::Language,
    registry::{ListOptions, Registry, RequestBody, RequestInfo, Response},
    scheme::Syntax,
    store::Record,
};

/// Client of the API inside the process. Clones share their state.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
/// use serde_json::json;
/// use stuntdouble_simulator::Simulator;
///
/// let simulator = Simulator::builder().bare(true).start().await?;
/// let config_maps = simulator.client().api("v1", "configmaps")?.in_namespace("default");
/// config_maps.create(json!({"metadata": {"name": "settings"}, "data": {"color": "red"}})).await?;
/// assert_eq!(config_maps.get("settings").await?["data"]["color"], "red");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Client {
    registry: Arc<Registry>,
    clock: Clock,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

impl Client {
    pub(crate) fn new(registry: Arc<Registry>, clock: Clock) -> Self {
        Self { registry, clock }
    }

    /// Registry that the client reads and writes.
    pub(crate) fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Returns the verbs over a resource (such as `v1` and `pods`, or `extensions/v1beta1` and `deployments`) in all
    /// namespaces.
    ///
    /// # Errors
    /// `NotFound` if there is no such resource.
    pub fn api(&self, api_version: &str, plural: &str) -> Result<Api, Status> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let resource = self
            .registry
            .resource(group, version, plural)
            .ok_or_else(Status::no_such_path)?;
        Ok(Api {
            registry: self.registry.clone(),
            collection: RequestInfo {
                resource,
                namespace: None,
                name: None,
                subresource: None,
            },
        })
    }

    /// Returns every namespaced resource that can be deleted, in its storage version.
    pub(crate) fn namespaced(&self) -> Result<Vec<Api>, Status> {
        let scheme = self.registry.scheme();
        let resources = scheme
            .resources()
            .iter()
            .filter(|resource| resource.namespaced && resource.has_verb("delete") && resource.is_storage_version());
        resources
            .map(|resource| self.api(resource.group_version(), &resource.plural))
            .collect()
    }

    /// Returns the random suffix of a generated name, five characters.
    pub(crate) fn name_suffix(&self) -> String {
        self.registry.name_suffix()
    }

    /// Clock of the cluster.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }
}

/// Namespace and name of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// Namespace. Empty for cluster-scoped kinds.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
}

impl ObjectKey {
    /// Returns the key of `name` in `namespace`.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// Returns the key of an object.
    pub fn of(object: &Object) -> Self {
        Self::new(
            meta::text(object, "metadata.namespace"),
            meta::text(object, "metadata.name"),
        )
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            f.write_str(&self.name)
        } else {
            write!(f, "{}/{}", self.namespace, self.name)
        }
    }
}

/// Objects of a list and their revision.
#[derive(Clone, Debug)]
pub struct ObjectList {
    /// Revision to watch from.
    pub revision: u64,
    /// Objects in order of namespace and name.
    pub items: Vec<Arc<Object>>,
}

/// Verbs over one resource, in one namespace or in all.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
/// # use serde_json::json;
/// # let simulator = stuntdouble_simulator::Simulator::builder().bare(true).start().await?;
/// let pods = simulator.client().api("v1", "pods")?.in_namespace("default");
/// let mut pod = pods
///     .create(json!({"metadata": {"name": "web"}, "spec": {"containers": [{"name": "main", "image": "nginx:1.9"}]}}))
///     .await?;
/// pods.bind("web", "node-1").await?;
/// pods.patch("web", &json!({"metadata": {"labels": {"app": "web"}}})).await?;
///
/// // An update fails if the object has changed since it was read.
/// assert_eq!(pods.update(pod.as_ref().clone()).await.unwrap_err().code, 409);
/// pod = pods.get("web").await?;
/// assert_eq!(pod["spec"]["nodeName"], "node-1");
/// pods.delete("web", Some(0)).await?;
/// assert!(pods.list(&Default::default()).await?.items.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Api {
    pub(super) registry: Arc<Registry>,
    pub(super) collection: RequestInfo,
}

impl fmt::Debug for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api")
            .field("resource", &self.collection.resource.plural)
            .field("namespace", &self.collection.namespace)
            .finish_non_exhaustive()
    }
}

impl Api {
    /// Returns the same verbs in one namespace.
    pub fn in_namespace(&self, namespace: &str) -> Self {
        let mut api = self.clone();
        api.collection.namespace = api.collection.resource.namespaced.then(|| namespace.to_owned());
        api
    }

    /// Kind of the resource, such as `Pod`.
    pub fn kind(&self) -> String {
        self.collection.resource.kind.clone()
    }

    /// Group and version of the resource, such as `v1` or `extensions/v1beta1`.
    pub fn api_version(&self) -> &str {
        self.collection.resource.group_version()
    }

    /// Returns one object.
    ///
    /// # Errors
    /// `NotFound` if there is no object of that name.
    pub async fn get(&self, name: &str) -> Result<Arc<Object>, Status> {
        self.registry.sync().await?;
        Ok(self.tree(&*self.registry.record(&self.named(name, None))?))
    }

    /// Lists the selected objects.
    ///
    /// # Errors
    /// `BadRequest` if a selector is malformed.
    pub async fn list(&self, options: &ListOptions) -> Result<ObjectList, Status> {
        self.registry.sync().await?;
        let listing = self.registry.records(&self.collection, options)?;
        Ok(ObjectList {
            revision: listing.revision,
            items: listing.records.iter().map(|record| self.tree(record)).collect(),
        })
    }

    /// Watches changes of the selected objects after the version in `options`. Default: changes after the call.
    ///
    /// # Errors
    /// `Gone` if the history since that version is no longer kept: list again and watch from the list's revision.
    pub async fn watch(&self, options: &ListOptions) -> Result<Watch, Status> {
        self.registry.sync().await?;
        let revision = match options.resource_version.parse() {
            Ok(revision) => revision,
            Err(_) if options.resource_version.is_empty() => self.registry.records(&self.collection, options)?.revision,
            Err(error) => return Err(Status::bad_request(format!("resourceVersion: {error}"))),
        };
        let changes = self.registry.changes(&self.collection, options, revision)?;
        Ok(Watch::new(self.clone(), changes))
    }

    /// Creates an object.
    ///
    /// # Errors
    /// `AlreadyExists`, `Invalid`, or the error of admission control.
    pub async fn create(&self, object: Value) -> Result<Arc<Object>, Status> {
        let Value::Object(object) = object else {
            return Err(Status::bad_request("an object is a JSON map"));
        };
        self.registry.sync().await?;
        let record = self.registry.create_tree(&self.collection, object).await?;
        Ok(self.tree(&record))
    }

    /// Replaces an object. Its `resourceVersion` must be the current one.
    ///
    /// # Errors
    /// `Conflict` if the object has changed since it was read.
    pub async fn update(&self, object: Object) -> Result<Arc<Object>, Status> {
        self.replace(object, None).await
    }

    /// Replaces the status of an object. Its `resourceVersion` must be the current one.
    ///
    /// # Errors
    /// `Conflict` if the object has changed since it was read.
    pub async fn update_status(&self, object: Object) -> Result<Arc<Object>, Status> {
        self.replace(object, Some("status")).await
    }

    /// Replaces a subresource of an object, such as a namespace's `finalize`.
    ///
    /// # Errors
    /// `Conflict` if the object has changed since it was read.
    pub async fn update_subresource(&self, object: Object, subresource: &str) -> Result<Arc<Object>, Status> {
        self.replace(object, Some(subresource)).await
    }

    /// Applies a strategic merge patch.
    ///
    /// # Errors
    /// `NotFound`, or `Invalid` if the result is not valid.
    pub async fn patch(&self, name: &str, patch: &Value) -> Result<Arc<Object>, Status> {
        self.registry.sync().await?;
        let request = self.named(name, None);
        let response = self
            .registry
            .patch(&request, Language::Strategic, patch.to_string().as_bytes())
            .await?;
        parse(&response)
    }

    /// Deletes an object with a grace period in seconds. Default: that of the object.
    ///
    /// # Errors
    /// `NotFound` if there is no object of that name.
    pub async fn delete(&self, name: &str, grace_period: Option<i64>) -> Result<(), Status> {
        self.registry.sync().await?;
        let body = grace_period.map(|seconds| body(&json!({"gracePeriodSeconds": seconds})));
        self.registry
            .delete(&self.named(name, None), body.as_ref())
            .await
            .map(drop)
    }

    /// Binds a pod to a node.
    ///
    /// # Errors
    /// `Conflict` if the pod is bound already.
    pub async fn bind(&self, pod: &str, node: &str) -> Result<(), Status> {
        self.registry.sync().await?;
        let binding = json!({
            "kind": "Binding",
            "apiVersion": "v1",
            "metadata": {"name": pod, "namespace": self.collection.namespace},
            "target": {"kind": "Node", "name": node},
        });
        self.registry
            .create(&self.named(pod, Some("binding")), &body(&binding))
            .await
            .map(drop)
    }

    async fn replace(&self, object: Object, subresource: Option<&str>) -> Result<Arc<Object>, Status> {
        self.registry.sync().await?;
        let key = ObjectKey::of(&object);
        let mut request = self.named(&key.name, subresource);
        if request.namespace.is_none() && request.resource.namespaced {
            request.namespace = Some(key.namespace);
        }
        Ok(self.tree(&*self.registry.update_tree(&request, object).await?))
    }

    fn named(&self, name: &str, subresource: Option<&str>) -> RequestInfo {
        RequestInfo {
            name: Some(name.to_owned()),
            subresource: subresource.map(str::to_owned),
            ..self.collection.clone()
        }
    }

    /// Object of a record in the version that this client uses.
    pub(super) fn tree(&self, record: &Record) -> Arc<Object> {
        if self.collection.resource.is_storage_version() {
            record.object()
        } else {
            Arc::new(self.registry.converted(&self.collection.resource, record))
        }
    }
}

fn body(value: &Value) -> RequestBody {
    RequestBody {
        bytes: value.to_string().into(),
        syntax: Syntax::Json,
    }
}

fn parse(response: &Response) -> Result<Arc<Object>, Status> {
    serde_json::from_slice(&response.body)
        .map(Arc::new)
        .map_err(|error| Status::internal(format!("an answer does not parse: {error}")))
}
