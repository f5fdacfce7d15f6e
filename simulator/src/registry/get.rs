//! Reading one object, and listing.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};

use super::{
    GetOptions, ListOptions, Registry, RequestInfo, Response, export,
    page::{self, Page},
    scale,
    select::Selection,
    version,
};
use crate::{
    api::{Object, Reason, Status, meta},
    store::{Key, Listing, Record},
    strategy::validate::name,
};

impl Registry {
    /// Reads one object.
    pub async fn get(&self, request: &RequestInfo, options: &GetOptions) -> Result<Response, Status> {
        match request.subresource.as_deref() {
            None if request.resource.plural == "componentstatuses" && options.export => Err(Status::bad_request(
                format!("export of {:?} is not supported", request.resource.plural),
            )),
            None if request.resource.plural == "componentstatuses" => self.component_status(request),
            None => {
                let record = self.record(request).await?;
                let bytes = record.bytes_in(&request.resource).clone();
                if !options.export {
                    return Ok(Response::ok(bytes));
                }
                let mut object = parse(&bytes)?;
                export::strip(&request.resource, &mut object, options.exact, &self.rng)?;
                Ok(Response::ok(self.encode(&request.resource, object)))
            }
            Some("scale") => scale::get(self, request).await,
            Some(_) => Err(Status::method_not_allowed()),
        }
    }

    /// Lists the objects that are selected.
    pub async fn list(&self, request: &RequestInfo, options: &ListOptions) -> Result<Response, Status> {
        if request.resource.plural == "componentstatuses" {
            return self.component_statuses(request);
        }
        let position = page::Position::parse(&options.continue_token)?;
        let selective = !options.label_selector.is_empty() || !options.field_selector.is_empty();
        let paged = position.is_some() || options.limit > 0;
        let whole = !selective && !paged && options.resource_version.is_empty();
        if whole && let Some(list) = self.list_cache.at(request, self.hub.latest()) {
            return Ok(Response::ok(list));
        }
        let mut selection = Selection::parse(request, options, self.profile)?;
        self.check_list_version(request, options)?;
        let mut listing = if options.resource_version.is_empty() || !selection.widen(request, self.profile) {
            self.listing(request).await?
        } else {
            self.store.list(request.resource.stored_as(), None).await?
        };
        let looked_up = selection.only().filter(|_| {
            request.resource.strategy.lists_by_name && request.namespace.is_some() == request.resource.namespaced
        });
        let version = looked_up
            .is_none_or(|name| listing.records.iter().any(|r| *r.key().name == *name))
            .then_some(listing.revision);
        listing.records.retain(|r| selection.matches(r));
        let version = position.as_ref().map(|position| position.revision).or(version);
        let page = if paged {
            let revision = version.unwrap_or(listing.revision);
            page::cut(
                &mut listing.records,
                position.as_ref(),
                options.limit,
                revision,
                selective,
            )
        } else {
            None
        };
        let list = encode_list(request, version, page.as_ref(), &listing.records);
        if whole {
            self.list_cache.keep(request, listing.revision, &list);
        }
        Ok(Response::ok(list))
    }

    /// Checks the version that a list is to be at least of. A version of the future is an error; v1.2 waits for it.
    pub(super) fn check_list_version(&self, request: &RequestInfo, options: &ListOptions) -> Result<(), Status> {
        if request.resource.strategy.is_uncached {
            return Ok(());
        }
        let asked = super::watch::version(&options.resource_version).map_err(|text| self.client_error(400, text))?;
        let latest = self.hub.latest();
        if asked > latest {
            let text = format!("resource version {asked} is in the future: the latest is {latest}");
            return Err(Status::new(Reason::Gone, text));
        }
        Ok(())
    }

    pub(super) async fn listing(&self, request: &RequestInfo) -> Result<Listing, Status> {
        Ok(self
            .store
            .list(request.resource.stored_as(), request.namespace.as_deref())
            .await?)
    }

    /// The object that `at` names.
    pub(crate) async fn record(&self, request: &RequestInfo) -> Result<Arc<Record>, Status> {
        let key = self.key(request)?;
        self.store.get(&key).await?.ok_or_else(|| not_found(request))
    }

    /// Where the object that `at` names is stored.
    pub(super) fn key(&self, request: &RequestInfo) -> Result<Key, Status> {
        let name = request.name.as_deref().ok_or_else(Status::no_such_path)?;
        name::path_segment(name).map_err(|why| Status::bad_request(format!("Name parameter invalid: {why}.")))?;
        Ok(Key::new(
            request.resource.stored_as(),
            request.namespace.as_deref().unwrap_or_default(),
            name,
        ))
    }
}

pub(super) fn not_found(request: &RequestInfo) -> Status {
    let (group, plural) = version::error_resource(&request.resource);
    Status::not_found(group, plural, request.name.as_deref().unwrap_or_default())
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
/// `page` is its place in a list that continues.
pub(super) fn encode_list(
    request: &RequestInfo,
    version: Option<u64>,
    page: Option<&Page>,
    records: &[Arc<Record>],
) -> Bytes {
    let mut metadata = version.map_or(String::new(), |v| format!(r#","resourceVersion":"{v}""#));
    if let Some(page) = page {
        metadata.push_str(&format!(r#","continue":"{}""#, page.token));
        if let Some(remaining) = page.remaining {
            metadata.push_str(&format!(r#","remainingItemCount":{remaining}"#));
        }
    }
    let skip = request.resource.head().len() + 1;
    let items = records
        .iter()
        .map(|r| r.bytes_in(&request.resource).get(skip..).unwrap_or_default());
    let size: usize = items.clone().map(|i| i.len() + 2).sum();
    let mut out = BytesMut::with_capacity(size + 256);
    out.put_slice(
        format!(
            r#"{{"kind":"{}List","apiVersion":"{}","metadata":{{"selfLink":"{}"{}}}"#,
            request.resource.kind,
            request.resource.group_version(),
            request.resource.collection_path(request.namespace.as_deref()),
            metadata
        )
        .as_bytes(),
    );
    if !records.is_empty() || !request.resource.strategy.omit_empty_items {
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
