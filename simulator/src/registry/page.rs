//! Paging of lists: limit and continue token.
//!
//! - A token contains the revision of the first page and the key of the last object. A watch from the version of any
//!   page misses no change.
//! - Pages after the first show the objects as of the time of their own request.
//! - Source: chunked lists of newer Kubernetes.

use std::sync::Arc;

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use crate::{
    api::Status,
    store::{Key, Record},
};

/// Paging metadata of a list that is not complete.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Page {
    /// Continue token.
    pub(super) token: String,
    /// Number of objects after this page. `None` with selectors, which may match fewer.
    pub(super) remaining: Option<usize>,
}

/// Position after a page: the contents of a continue token.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Position {
    /// Revision of the first page.
    pub(super) revision: u64,
    namespace: String,
    name: String,
}

impl Position {
    /// Decodes a continue token. An empty text is `None`.
    ///
    /// # Errors
    /// 400 for a text that is not a token.
    pub(super) fn parse(token: &str) -> Result<Option<Self>, Status> {
        if token.is_empty() {
            return Ok(None);
        }
        let decoded = BASE64_URL_SAFE_NO_PAD.decode(token).ok();
        let value: Option<Value> = decoded.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let position = value.and_then(|value| {
            let text = |field: &str| Some(value.get(field)?.as_str()?.to_owned());
            Some(Self {
                revision: value.get("rv")?.as_u64()?,
                namespace: text("namespace")?,
                name: text("name")?,
            })
        });
        position
            .map(Some)
            .ok_or_else(|| Status::bad_request("continue key is not valid: it is not a token of this server"))
    }

    fn is_before(&self, key: &Key) -> bool {
        (self.namespace.as_str(), self.name.as_str()) < (&*key.namespace, &*key.name)
    }

    fn token(revision: u64, key: &Key) -> String {
        let token = json!({"rv": revision, "namespace": key.namespace, "name": key.name});
        BASE64_URL_SAFE_NO_PAD.encode(token.to_string())
    }
}

/// Truncates the selected records of one kind to the page of `limit` objects (0: no limit) after `position`. Returns
/// the paging metadata if there are more.
pub(super) fn truncate(
    records: &mut Vec<Arc<Record>>,
    position: Option<&Position>,
    limit: usize,
    revision: u64,
    selective: bool,
) -> Option<Page> {
    records.sort_by(|a, b| a.key().cmp(b.key()));
    if let Some(position) = position {
        records.retain(|record| position.is_before(record.key()));
    }
    if limit == 0 || records.len() <= limit {
        return None;
    }
    let remaining = records.len() - limit;
    records.truncate(limit);
    Some(Page {
        token: Position::token(revision, records.last()?.key()),
        remaining: (!selective).then_some(remaining),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::GroupResource;

    #[test]
    fn a_token_is_the_position_after_its_key() {
        let pods: GroupResource = GroupResource::new("", "pods");
        let key = |namespace: &str, name: &str| Key::new(&pods, namespace, name);
        let position = Position::parse(&Position::token(7, &key("b", "m"))).unwrap().unwrap();
        assert_eq!(position.revision, 7);
        for (namespace, name, after) in [("a", "z", false), ("b", "m", false), ("b", "n", true), ("c", "a", true)] {
            assert_eq!(position.is_before(&key(namespace, name)), after, "{namespace}/{name}");
        }
        assert_eq!(Position::parse(""), Ok(None));
        for text in ["x", "e30", "%"] {
            assert_eq!(Position::parse(text).unwrap_err().code, 400, "{text}");
        }
    }
}
