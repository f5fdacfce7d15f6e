//! What a write does that it is not to do.

use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use std::collections::BTreeMap;

use crate::{
    answer::replaced,
    mutant::Ask,
    proxy::{Mutator, Trouble},
    request::Asked,
};

/// A request that the proxy makes by itself, after a request that it alters.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Beside {
    pub(crate) method: String,
    /// Texts that are replaced in the path of the request.
    #[serde(default)]
    pub(crate) path_replace: BTreeMap<String, String>,
    /// The name in the body that was sent is the path's last segment.
    #[serde(default)]
    pub(crate) named: bool,
    /// Whose path it is, instead of that of the request.
    #[serde(default)]
    pub(crate) of: Option<Others>,
    /// The body; that which was sent, unless said.
    #[serde(default)]
    pub(crate) body: Option<Value>,
    #[serde(default)]
    pub(crate) content_type: Option<String>,
}

/// Other objects that were written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Others {
    /// The one of the same name in another namespace.
    Elsewhere,
    /// Those in the same collection.
    Neighbours,
    /// Those of the same collection whose names begin with the name of the request's object.
    Longer,
}

impl Mutator {
    /// Does beside a request what the mutant says, if the answer is one that it alters.
    pub(crate) async fn beside(&self, asked: &Asked, beside: &Beside) -> Result<(), Trouble> {
        let sent: Value = serde_json::from_slice(&asked.body).unwrap_or_default();
        let name = sent.pointer("/metadata/name").and_then(Value::as_str);
        let own = match name.filter(|_| beside.named) {
            Some(name) if asked.method == Method::POST => format!("{}/{name}", asked.path),
            Some(name) => {
                let (collection, _) = asked.path.rsplit_once('/').unwrap_or_default();
                format!("{collection}/{name}")
            }
            None => asked.path.clone(),
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
            None => asked.body.clone(),
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

    /// Does what a write is not to do.
    pub(crate) async fn spread(&self, asked: &Asked, ask: &Ask) -> Result<(), Trouble> {
        if let Some(patch) = &ask.neighbours {
            let of = match asked.method {
                Method::POST => format!("{}/", asked.path),
                _ => asked
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
            self.patch(asked.path.trim_end_matches("/scale"), patch).await?;
        }
        if !ask.again_with.is_empty() {
            let body = replaced(&asked.body, &ask.again_with);
            self.request(asked)?.body(body).send().await?;
        }
        if ask.deletes_all {
            for path in self.memory.paths() {
                self.client.delete(format!("{}{path}", self.upstream)).send().await?;
            }
        }
        Ok(())
    }

    async fn patch(&self, path: &str, patch: &Value) -> Result<(), Trouble> {
        let request = self.client.patch(format!("{}{path}", self.upstream));
        let request = request.header("content-type", "application/merge-patch+json");
        request.body(patch.to_string()).send().await?;
        Ok(())
    }

    /// Deletes what a creation has created.
    pub(crate) async fn lose(&self, asked: &Asked, body: &[u8]) -> Result<(), Trouble> {
        let object: Value = serde_json::from_slice(body).unwrap_or_default();
        if let Some(name) = object.pointer("/metadata/name").and_then(Value::as_str) {
            let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0});
            let request = self.client.delete(format!("{}{}/{name}", self.upstream, asked.path));
            request.body(options.to_string()).send().await?;
        }
        Ok(())
    }
}
