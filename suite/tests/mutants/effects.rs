//! Side effects of a write that a correct server does not have.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    alter::alter,
    answer::replaced,
    mutant::Ask,
    proxy::{Mutator, ProxyError},
    request::ForwardedRequest,
};

/// Maximum number of versions of an object that a write is undone in.
const MAX_CONFLICTS: usize = 100;

/// A request that the proxy sends in addition, after a request that it alters.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct ExtraRequest {
    pub(crate) method: String,
    /// Texts replaced in the path of the request.
    #[serde(default)]
    pub(crate) path_replace: BTreeMap<String, String>,
    /// Whether the last segment of the path is the name in the body.
    #[serde(default)]
    pub(crate) named: bool,
    /// Other objects to which it goes, instead of that of the request.
    #[serde(default)]
    pub(crate) of: Option<Others>,
    /// Body. Default: that of the request.
    #[serde(default)]
    pub(crate) body: Option<Value>,
    #[serde(default)]
    pub(crate) content_type: Option<String>,
}

/// Other objects that were written through the proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Others {
    /// The object of the same name in another namespace.
    Elsewhere,
    /// The objects of the same collection.
    Neighbours,
    /// The objects of the same collection whose names start with the name of the request's object.
    Longer,
}

impl Mutator {
    /// Sends an additional request.
    pub(crate) async fn send_extra(
        &self,
        forwarded: &ForwardedRequest,
        beside: &ExtraRequest,
    ) -> Result<(), ProxyError> {
        let sent: Value = serde_json::from_slice(&forwarded.body).unwrap_or_default();
        let name = sent.pointer("/metadata/name").and_then(Value::as_str);
        let own = match name.filter(|_| beside.named) {
            Some(name) if forwarded.method == Method::POST => format!("{}/{name}", forwarded.path),
            Some(name) => {
                let (collection, _) = forwarded.path.rsplit_once('/').unwrap_or_default();
                format!("{collection}/{name}")
            }
            None => forwarded.path.clone(),
        };
        let paths = match beside.of {
            None => vec![own],
            Some(Others::Elsewhere) => self.memory.elsewhere(&own).into_iter().collect(),
            Some(Others::Neighbours) => self.memory.neighbours(&own),
            Some(Others::Longer) => {
                let neighbours = self.memory.neighbours(&own).into_iter();
                neighbours.filter(|path| path.starts_with(&own)).collect()
            }
        };
        let body = match &beside.body {
            Some(body) => body.to_string().into(),
            None => forwarded.body.clone(),
        };
        for path in paths {
            let path = beside
                .path_replace
                .iter()
                .fold(path, |path, (from, to)| path.replace(from.as_str(), to));
            let method: Method = beside.method.parse()?;
            let request = self.client.request(method, format!("{}{path}", self.upstream));
            let content_type = beside.content_type.as_deref().unwrap_or("application/json");
            request
                .header("content-type", content_type)
                .body(body.clone())
                .send()
                .await?;
        }
        Ok(())
    }

    /// Applies the side effects of a write.
    pub(crate) async fn spread(&self, forwarded: &ForwardedRequest, ask: &Ask) -> Result<(), ProxyError> {
        if let Some(patch) = &ask.neighbours {
            let of = match forwarded.method {
                Method::POST => format!("{}/", forwarded.path),
                _ => forwarded
                    .path
                    .trim_end_matches("/scale")
                    .trim_end_matches("/status")
                    .to_owned(),
            };
            for path in self.memory.neighbours(&of) {
                self.patch(&path, patch).await?;
            }
        }
        if let Some(patch) = &ask.then {
            self.patch(forwarded.path.trim_end_matches("/scale"), patch).await?;
        }
        if !ask.again_with.is_empty() {
            let body = replaced(&forwarded.body, &ask.again_with);
            self.request(forwarded)?.body(body).send().await?;
        }
        if ask.deletes_all {
            for path in self.memory.paths() {
                self.client.delete(format!("{}{path}", self.upstream)).send().await?;
            }
        }
        Ok(())
    }

    async fn patch(&self, path: &str, patch: &Value) -> Result<(), ProxyError> {
        let request = self.client.patch(format!("{}{path}", self.upstream));
        let request = request.header("content-type", "application/merge-patch+json");
        request.body(patch.to_string()).send().await?;
        Ok(())
    }

    /// Returns the object that a request is about to write.
    pub(crate) async fn current(&self, forwarded: &ForwardedRequest) -> Result<Bytes, ProxyError> {
        let mut url = forwarded.url(&self.upstream)?;
        // A status is read with its object.
        if let Some(path) = url.path().strip_suffix("/status").map(str::to_owned) {
            url.set_path(&path);
        }
        Ok(self.client.get(url).send().await?.bytes().await?)
    }

    /// Undoes a write. Controllers may change the object meanwhile: what is undone is then its latest version.
    pub(crate) async fn undo(
        &self,
        forwarded: &ForwardedRequest,
        before: &[u8],
        written: &Bytes,
    ) -> Result<(), ProxyError> {
        let mut object: Value = serde_json::from_slice(before)?;
        let mut url = forwarded.url(&self.upstream)?;
        url.set_query(None);
        let mut latest = written.clone();
        for _ in 0..MAX_CONFLICTS {
            // Services are replaced only with their version.
            let latest_object: Value = serde_json::from_slice(&latest).unwrap_or_default();
            let pointer = "/metadata/resourceVersion".to_owned();
            match latest_object.pointer(&pointer) {
                Some(version) => alter(&mut object, &BTreeMap::from([(pointer, version.clone())]), &[]),
                None => alter(&mut object, &BTreeMap::new(), &[pointer]),
            }
            let put = self.client.put(url.clone()).header("content-type", "application/json");
            if put.body(object.to_string()).send().await?.status() != StatusCode::CONFLICT {
                return Ok(());
            }
            latest = self.current(forwarded).await?;
        }
        Err(format!(
            "{} changed {MAX_CONFLICTS} times while a write was undone",
            forwarded.path
        )
        .into())
    }

    /// Deletes a created object.
    pub(crate) async fn lose(&self, forwarded: &ForwardedRequest, body: &[u8]) -> Result<(), ProxyError> {
        let object: Value = serde_json::from_slice(body).unwrap_or_default();
        if let Some(name) = object.pointer("/metadata/name").and_then(Value::as_str) {
            let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0});
            let request = self
                .client
                .delete(format!("{}{}/{name}", self.upstream, forwarded.path));
            request.body(options.to_string()).send().await?;
        }
        Ok(())
    }
}
