//! GET of one object and of lists.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{
    codec::{encode, parse},
    encoded_list::EncodedList,
    page,
    request::{GetOptions, ListOptions, RequestInfo, Response},
    revision,
    selection::Selection,
    state::{Registry, strategy_of},
};
use crate::{
    api::{Object, Reason, Status, meta},
    store::Listing,
};

impl Registry {
    /// Returns one object.
    pub(crate) fn get(&self, request: &RequestInfo, options: &GetOptions) -> Result<Response, Status> {
        match request.subresource.as_deref() {
            None => {}
            Some("scale") => return self.get_scale(request),
            Some(_) => return Err(Status::method_not_allowed()),
        }
        if let Some(objects) = strategy_of(&request.resource).computed(&self.context) {
            return self.get_computed(request, options, objects);
        }
        let record = self.record(request)?;
        let bytes = record.bytes_in(&request.resource);
        if options.export {
            return Ok(Response::ok(self.export(request, bytes, options.exact)?));
        }
        Ok(Response::ok(bytes.clone()))
    }

    /// Removes the fields that a user cannot set.
    fn export(&self, request: &RequestInfo, bytes: &[u8], exact: bool) -> Result<Bytes, Status> {
        let mut object = parse(bytes)?;
        let is_generated = !meta::text(&object, "metadata.generateName").is_empty();
        for field in ["uid", "resourceVersion", "creationTimestamp", "deletionTimestamp"] {
            meta::set(&mut object, field, "");
        }
        if !exact {
            meta::set(&mut object, "namespace", "");
            if is_generated {
                meta::set(&mut object, "name", "");
            }
        }
        strategy_of(&request.resource).export(&mut object, exact, &self.context.rng)?;
        request.resource.set_self_link(&mut object);
        Ok(encode(&request.resource, object))
    }

    fn get_computed(
        &self,
        request: &RequestInfo,
        options: &GetOptions,
        objects: Vec<Object>,
    ) -> Result<Response, Status> {
        let resource = &request.resource;
        if options.export {
            let why = format!("export of {:?} is not supported", resource.plural);
            return Err(Status::bad_request(why));
        }
        let name = request.name();
        let found = objects.into_iter().find(|o| meta::text(o, "metadata.name") == name);
        let mut object = found.ok_or_else(|| self.client_error(404, format!("Component not found: {name}")))?;
        resource.set_self_link(&mut object);
        Ok(Response::ok(encode(resource, object)))
    }

    /// Encodes a list of computed objects.
    fn list_computed(&self, request: &RequestInfo, objects: Vec<Object>) -> Response {
        let resource = &request.resource;
        let items = objects.into_iter().map(|mut object| {
            resource.set_self_link(&mut object);
            let mut item = resource.canonical(object);
            item.shift_remove("kind");
            item.shift_remove("apiVersion");
            Value::Object(item)
        });
        let list = json!({
            "kind": format!("{}List", resource.kind),
            "apiVersion": resource.group_version(),
            "metadata": {"selfLink": resource.collection_path(None)},
            "items": items.collect::<Vec<_>>(),
        });
        Response::ok(list.to_string().into())
    }

    /// Lists the selected objects.
    pub(crate) async fn list(&self, request: &RequestInfo, options: &ListOptions) -> Result<Response, Status> {
        if let Some(mut objects) = strategy_of(&request.resource).computed(&self.context) {
            let selection = Selection::parse(request, options, self.profile)?;
            objects.retain(|object| self.profile.ignores_component_labels() || selection.matches_labels(object));
            return Ok(self.list_computed(request, objects));
        }
        let has_selectors = !options.label_selector.is_empty() || !options.field_selector.is_empty();
        let position = page::Position::parse(&options.continue_token)?;
        let is_paged = position.is_some() || options.limit > 0;
        let is_whole = !is_paged && options.resource_version.is_empty();
        if is_whole && let Some(list) = self.cached_list(request, options) {
            return Ok(Response::ok(list));
        }
        let mut selection = Selection::parse(request, options, self.profile)?;
        self.check_list_version(request, options)?;
        let is_cached = !options.resource_version.is_empty() && !request.resource.strategy.is_uncached;
        let is_widened = !options.resource_version.is_empty() && selection.widen(request, self.profile);
        let mut listing = if is_cached && self.hub.lags() {
            let revision = revision::parse(&options.resource_version).unwrap_or(0);
            self.hub.cached(request.resource.stored_as(), revision).await
        } else if is_widened {
            self.store.list(request.resource.stored_as(), None)
        } else {
            self.candidates(request, &selection)
        };
        let name = selection.name_field().filter(|_| {
            request.resource.strategy.lists_by_name && request.namespace.is_some() == request.resource.namespaced
        });
        let revision = name
            .is_none_or(|name| listing.records.iter().any(|r| *r.key().name == *name))
            .then_some(listing.revision);
        listing.records.retain(|r| selection.matches(r));
        let revision = position.as_ref().map(|position| position.revision).or(revision);
        let page = if is_paged {
            let (first, records) = (revision.unwrap_or(listing.revision), &mut listing.records);
            page::truncate(records, position.as_ref(), options.limit, first, has_selectors)
        } else {
            None
        };
        let list = EncodedList::of(request, &listing.records, revision, page.as_ref(), self.profile);
        let body = list.body().clone();
        if is_whole && revision.is_some() {
            self.list_cache.insert(request, options, listing.revision, list);
        }
        Ok(Response::ok(body))
    }

    /// Returns the cached list of a request, if no object of its kind has changed since it was encoded.
    fn cached_list(&self, request: &RequestInfo, options: &ListOptions) -> Option<Bytes> {
        // Read before the kind's last revision: a change in between then makes the cached list invalid instead of
        // stale.
        let revision = self.hub.latest();
        let changed = self.hub.latest_of(request.resource.stored_as());
        self.list_cache.get(request, options, changed, revision)
    }

    /// Checks the minimum version of a list. A future version is an error here; v1.2 waits for it.
    pub(super) fn check_list_version(&self, request: &RequestInfo, options: &ListOptions) -> Result<(), Status> {
        if request.resource.strategy.is_uncached {
            return Ok(());
        }
        let wanted = revision::parse(&options.resource_version).map_err(|text| self.client_error(400, text))?;
        let latest = self.hub.latest();
        if wanted > latest {
            let text = format!("resource version {wanted} is in the future: the latest is {latest}");
            return Err(Status::new(Reason::Gone, text));
        }
        Ok(())
    }

    /// Returns the objects that the selection may match: the result of its lookup, or all objects of the request.
    pub(super) fn candidates(&self, request: &RequestInfo, selection: &Selection) -> Listing {
        match selection.lookup(request.resource.namespaced) {
            Some(lookup) => self.store.find(request.resource.stored_as(), lookup),
            None => self.listing(request),
        }
    }

    pub(super) fn listing(&self, request: &RequestInfo) -> Listing {
        self.store
            .list(request.resource.stored_as(), request.namespace.as_deref())
    }
}
