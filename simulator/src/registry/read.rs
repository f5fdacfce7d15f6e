//! Reading one object, and listing.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};

use super::{Address, ListOptions, ReadOptions, Registry, Reply, export, face, scale, select::Selection};
use crate::{
    api::{Object, Status, meta},
    scheme::{Resource, validate::name},
    store::{Key, Listing, Record},
};

impl Registry {
    /// Reads one object.
    pub async fn get(&self, at: &Address, options: &ReadOptions) -> Result<Reply, Status> {
        match at.subresource.as_deref() {
            None if at.resource.plural == "componentstatuses" && options.export => Err(Status::bad_request(format!(
                "export of {:?} is not supported",
                at.resource.plural
            ))),
            None if at.resource.plural == "componentstatuses" => self.component_status(at),
            None => {
                let record = self.record(at).await?;
                let bytes = face::face(at.resource).of(&record).clone();
                if !options.export {
                    return Ok(Reply::ok(bytes));
                }
                let mut object = parse(&bytes)?;
                export::strip(at.resource, &mut object, options.exact, &self.chance)?;
                Ok(Reply::ok(self.encode(at.resource, object)))
            }
            Some("scale") => scale::read(self, at).await,
            Some(_) => Err(Status::method_not_allowed()),
        }
    }

    /// Lists the objects that are selected.
    pub async fn list(&self, at: &Address, options: &ListOptions) -> Result<Reply, Status> {
        if at.resource.plural == "componentstatuses" {
            return self.component_statuses(at);
        }
        if !options.resource_version.is_empty() {
            super::watch::version(&options.resource_version).map_err(|text| self.mistake(400, text))?;
        }
        let whole = options.label_selector.is_empty() && options.field_selector.is_empty();
        if whole && let Some(list) = self.listed.at(at, self.hub.latest()) {
            return Ok(Reply::ok(list));
        }
        let selection = Selection::parse(at, options, self.profile)?;
        let mut listing = self.listing(at).await?;
        let looked_up = selection
            .only()
            .filter(|_| at.resource.strategy.lists_by_name && at.namespace.is_some() == at.resource.namespaced);
        let version = looked_up
            .is_none_or(|name| listing.records.iter().any(|r| *r.key().name == *name))
            .then_some(listing.revision);
        listing.records.retain(|r| selection.sees(r));
        let list = encode_list(at, version, &listing.records);
        if whole {
            self.listed.keep(at, listing.revision, &list);
        }
        Ok(Reply::ok(list))
    }

    pub(super) async fn listing(&self, at: &Address) -> Result<Listing, Status> {
        Ok(self.store.list(table(at.resource), at.namespace.as_deref()).await?)
    }

    /// The object that `at` names.
    pub(super) async fn record(&self, at: &Address) -> Result<Arc<Record>, Status> {
        let key = self.key(at)?;
        self.store.get(&key).await?.ok_or_else(|| not_found(at))
    }

    /// Where the object that `at` names is stored.
    pub(super) fn key(&self, at: &Address) -> Result<Key, Status> {
        let name = at.name.as_deref().ok_or_else(Status::no_such_path)?;
        name::path_segment(name).map_err(|why| Status::bad_request(format!("Name parameter invalid: {why}.")))?;
        Ok(Key::new(
            table(at.resource),
            at.namespace.as_deref().unwrap_or_default(),
            name,
        ))
    }
}

/// The table of a resource: both faces of a kind share one.
pub(super) fn table(resource: &'static Resource) -> &'static str {
    &resource.plural
}

pub(super) fn not_found(at: &Address) -> Status {
    let (group, plural) = face::named(at.resource);
    Status::not_found(group, plural, at.name.as_deref().unwrap_or_default())
}

/// The tree of a stored object, with the selfLink that its writer gave it in place of its own.
pub(super) fn object(record: &Record) -> Result<Object, Status> {
    let mut object = parse(record.bytes())?;
    meta::set(&mut object, "selfLink", record.given_link());
    Ok(object)
}

/// The tree of a stored object.
pub(super) fn parse(bytes: &[u8]) -> Result<Object, Status> {
    serde_json::from_slice(bytes).map_err(|e| Status::internal(format!("a stored object does not parse: {e}")))
}

/// The list of `records`, at a version if it has one: their stored bytes side by side, without the kind and version that each would repeat.
pub(super) fn encode_list(at: &Address, version: Option<u64>, records: &[Arc<Record>]) -> Bytes {
    let face = face::face(at.resource);
    let skip = at.resource.head().len() + 1;
    let items = records.iter().map(|r| face.of(r).get(skip..).unwrap_or_default());
    let size: usize = items.clone().map(|i| i.len() + 2).sum();
    let mut out = BytesMut::with_capacity(size + 256);
    out.put_slice(
        format!(
            r#"{{"kind":"{}List","apiVersion":"{}","metadata":{{"selfLink":"{}"{}}}"#,
            at.resource.kind,
            at.resource.group_version(),
            face::collection(at.resource, at.namespace.as_deref()),
            version.map_or(String::new(), |v| format!(r#","resourceVersion":"{v}""#))
        )
        .as_bytes(),
    );
    if !records.is_empty() || !at.resource.strategy.omit_empty_items {
        out.put_slice(b",\"items\":[");
        for (n, item) in items.enumerate() {
            out.put_slice(if n == 0 { b"{" } else { b",{" });
            out.put_slice(item);
        }
        out.put_u8(b']');
    }
    out.put_u8(b'}');
    out.freeze()
}
