//! Snapshots: all objects of a cluster as text, to start another cluster from.
//!
//! - A snapshot is a stream of YAML documents, one per object, with UID, times and status.
//! - JSON and lists (such as the output of `kubectl get -o yaml`) load as well.
//! - Objects without a UID are created as a POST does.
//! - Limit: objects get new resource versions, in the order of the old ones.

use std::{
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
};

use serde_json::Value;

use super::{
    codec::stored_tree,
    request::RequestInfo,
    state::{Registry, strategy_of},
};
use crate::{
    api::{Object, Reason, Status, meta},
    compat::yaml,
    strategy::Claims,
};

/// All objects of a cluster.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
/// use serde_json::json;
/// use stuntdouble_simulator::{Simulator, Snapshot};
///
/// let first = Simulator::builder().bare(true).start().await?;
/// let config_maps = first.client().api("v1", "configmaps")?.in_namespace("default");
/// let made = config_maps.create(json!({"metadata": {"name": "settings"}})).await?;
/// let text = first.snapshot().await?.to_string();
///
/// let second = Simulator::builder().bare(true).snapshot(Snapshot::parse(&text)?).start().await?;
/// let found = second.client().api("v1", "configmaps")?.in_namespace("default").get("settings").await?;
/// assert_eq!(found["metadata"]["uid"], made["metadata"]["uid"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    objects: Vec<Object>,
}

/// Error of [`Snapshot::parse`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("document {number} of the snapshot: {problem}")]
pub struct SnapshotError {
    number: usize,
    problem: String,
}

impl Snapshot {
    /// Parses a stream of YAML documents.
    ///
    /// # Errors
    /// A document is not YAML, or neither an object nor a list of objects.
    pub fn parse(text: &str) -> Result<Self, SnapshotError> {
        let mut snapshot = Self::default();
        for (index, document) in documents(text).iter().enumerate() {
            let failed = |problem: String| SnapshotError {
                number: index + 1,
                problem,
            };
            match yaml::to_value(document.as_bytes()).map_err(|error| failed(error.to_string()))? {
                Value::Null => {}
                Value::Object(object) => snapshot.add(object).map_err(failed)?,
                _ => return Err(failed("not an object".to_owned())),
            }
        }
        Ok(snapshot)
    }

    /// Adds an object, or the objects of a list.
    ///
    /// # Errors
    /// Names what the object lacks.
    pub fn add(&mut self, mut object: Object) -> Result<(), String> {
        let text = |object: &Object, field: &str| meta::text(object, field).to_owned();
        let (kind, api_version) = (text(&object, "kind"), text(&object, "apiVersion"));
        let Some(of) = kind.strip_suffix("List").filter(|_| object.contains_key("items")) else {
            if kind.is_empty() || api_version.is_empty() || meta::text(&object, "metadata.name").is_empty() {
                return Err("an object must have a kind, an apiVersion and a name".to_owned());
            }
            self.objects.push(object);
            return Ok(());
        };
        let Some(Value::Array(items)) = object.remove("items") else {
            return Ok(());
        };
        for item in items {
            let Value::Object(mut item) = item else {
                return Err("an item is no object".to_owned());
            };
            if !of.is_empty() {
                item.entry("kind").or_insert_with(|| of.into());
                item.entry("apiVersion").or_insert_with(|| api_version.as_str().into());
            }
            self.add(item)?;
        }
        Ok(())
    }

    /// Hash of the objects.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.to_string().hash(&mut hasher);
        hasher.finish().max(1)
    }

    /// Returns the objects in loading order: first objects with a UID in the order of their last changes, then new
    /// objects, cluster-scoped ones first.
    fn in_order(mut self) -> Vec<Object> {
        self.objects.sort_by_key(|object| {
            let is_new = meta::text(object, "metadata.uid").is_empty();
            let version: u64 = meta::text(object, "metadata.resourceVersion")
                .parse()
                .unwrap_or_default();
            (is_new, version, !meta::text(object, "metadata.namespace").is_empty())
        });
        self.objects
    }
}

impl fmt::Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for object in &self.objects {
            write!(f, "---\n{}", yaml::from_value(&Value::Object(object.clone())))?;
        }
        Ok(())
    }
}

/// Splits a stream into its documents.
fn documents(text: &str) -> Vec<String> {
    let mut documents = vec![String::new()];
    for line in text.lines() {
        let marker = line
            .strip_prefix("---")
            .filter(|rest| rest.is_empty() || rest.starts_with([' ', '\t']));
        if let Some(rest) = marker {
            documents.push(rest.to_owned());
        }
        if let Some(document) = documents.last_mut().filter(|_| marker.is_none()) {
            document.push_str(line);
            document.push('\n');
        }
    }
    documents
}

impl Registry {
    /// Returns all stored objects.
    pub(crate) async fn snapshot(&self) -> Result<Snapshot, Status> {
        let mut objects = Vec::new();
        let scheme = self.scheme();
        for resource in scheme
            .resources()
            .iter()
            .filter(|resource| resource.is_storage_version())
        {
            for record in self.store.list(resource.stored_as(), None).records {
                let mut object = stored_tree(&record)?;
                meta::metadata(&mut object).shift_remove("selfLink");
                objects.push(object);
            }
        }
        Ok(Snapshot { objects })
    }

    /// Stores the objects of a snapshot. Objects that exist already are left unchanged.
    pub(crate) async fn load(&self, snapshot: Snapshot) -> Result<(), Status> {
        for object in snapshot.in_order() {
            let (kind, name) = (
                meta::text(&object, "kind").to_owned(),
                meta::text(&object, "metadata.name").to_owned(),
            );
            match self.load_object(object).await {
                Err(exists) if exists.reason == Reason::AlreadyExists => {}
                Err(status) => {
                    let message = format!("{kind} {name} of the snapshot: {}", status.message);
                    return Err(Status { message, ..status });
                }
                Ok(()) => {}
            }
        }
        Ok(())
    }

    async fn load_object(&self, object: Object) -> Result<(), Status> {
        let text = |path: &str| meta::text(&object, path).to_owned();
        let (kind, api_version) = (text("kind"), text("apiVersion"));
        let scheme = self.scheme();
        let resource = scheme.kind(&api_version, &kind).cloned();
        let resource =
            resource.ok_or_else(|| Status::bad_request(format!("there is no kind {kind} in {api_version}")))?;
        let namespace = text("metadata.namespace");
        let request = RequestInfo {
            namespace: resource.namespaced.then_some(namespace),
            name: None,
            subresource: None,
            resource: resource.clone(),
        };
        let is_new = text("metadata.uid").is_empty();
        let mut object = self.decode_tree(&resource, object)?;
        if is_new {
            meta::set(&mut object, "resourceVersion", "");
            return self.create_object(&request, object).await.map(drop);
        }
        meta::set(&mut object, "selfLink", "");
        let object = resource.convert(resource.storage_version(), object);
        let mut object = resource.storage_version().canonical(object);
        let strategy = strategy_of(&resource);
        strategy.canonicalize(&mut object);
        strategy.restore(&self.context, &object);
        let claims = Claims {
            taken: strategy.claim_names(&object),
            freed: Vec::new(),
        };
        if self.insert(&request, object.clone(), &claims).await?.is_none() {
            self.insert(&request, object, Claims::none()).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn names(snapshot: Snapshot) -> Vec<String> {
        let name = |object: &Object| meta::text(object, "metadata.name").to_owned();
        snapshot.in_order().iter().map(name).collect()
    }

    #[test]
    fn documents_lists_and_json_load() {
        let text = "kind: Secret\napiVersion: v1\nmetadata: {name: a}\n--- # the next\n\n---\nkind: \
            List\napiVersion: v1\nitems:\n- {kind: Secret, apiVersion: v1, metadata: {name: b}}\n---\n{\"kind\": \
            \"PodList\", \"apiVersion\": \"v1\", \"items\": [{\"metadata\": {\"name\": \"c\"}}]}\n";
        let snapshot = Snapshot::parse(text).unwrap();
        assert_eq!(snapshot.objects[2]["kind"], "Pod");
        assert_eq!(Snapshot::parse(&snapshot.to_string()).unwrap(), snapshot);
        assert_eq!(names(snapshot), ["a", "b", "c"]);
    }

    #[test]
    fn objects_load_in_the_order_of_their_changes_and_new_ones_after_their_namespaces() {
        let mut snapshot = Snapshot::default();
        for (kind, metadata) in [
            ("Pod", json!({"name": "new", "namespace": "its-namespace"})),
            ("Namespace", json!({"name": "its-namespace"})),
            ("Pod", json!({"name": "later", "uid": "u", "resourceVersion": "10"})),
            ("Pod", json!({"name": "sooner", "uid": "v", "resourceVersion": "9"})),
        ] {
            let object = json!({"kind": kind, "apiVersion": "v1", "metadata": metadata});
            snapshot.add(object.as_object().unwrap().clone()).unwrap();
        }
        assert_eq!(names(snapshot), ["sooner", "later", "its-namespace", "new"]);
    }

    #[rstest]
    #[case("[1]", "document 1 of the snapshot: not an object")]
    #[case(
        "---\nkind: Pod\n",
        "document 2 of the snapshot: an object must have a kind, an apiVersion and a name"
    )]
    fn invalid_documents_are_rejected(#[case] text: &str, #[case] problem: &str) {
        assert_eq!(Snapshot::parse(text).unwrap_err().to_string(), problem);
    }
}
