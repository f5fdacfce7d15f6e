//! Selection of the objects of a list, a watch or a delete of a collection.

use serde_json::Value;

use crate::{
    api::{Object, Status, fields, labels, meta},
    profile::Profile,
    scheme::Resource,
    store::{INDEXED_FIELDS, Lookup, Record},
    watch::WatchIndexKey,
};

use super::request::{ListOptions, RequestInfo};

/// Parsed selectors, and the collection that they select from.
pub(super) struct Selection {
    namespace: Option<Box<str>>,
    name: Option<Box<str>>,
    labels: labels::Selector,
    fields: fields::Selector,
    matches_nothing: bool,
    /// Whether objects match whose namespace starts with `namespace`.
    matches_namespace_prefix: bool,
}

impl Selection {
    /// Parses the selectors of `options`. Fails, as the profile requires, if a selector is malformed or has a field
    /// that is not selectable.
    pub(super) fn parse(request: &RequestInfo, options: &ListOptions, profile: Profile) -> Result<Self, Status> {
        let malformed = |text: String| profile.client_error(400, text);
        let labels = labels::Selector::parse(&options.label_selector).map_err(malformed)?;
        let fields = fields::Selector::parse(&options.field_selector).map_err(malformed)?;
        supported(&request.resource, &fields)?;
        if request.name.is_some() && !fields.is_everything() {
            return Err(Status::bad_request(
                "both a name and a field selector provided; please provide one or the other.",
            ));
        }
        let matches_nothing =
            request.name.is_some() && request.resource.strategy.name_is_no_field && profile.has_name_field_bug();
        Ok(Self {
            namespace: request.namespace.as_deref().map(Into::into),
            name: request.name.as_deref().map(Into::into),
            labels,
            fields,
            matches_nothing,
            matches_namespace_prefix: false,
        })
    }

    /// Matches keys by prefix as v1.2's watch cache does. Returns whether that selects other objects than before.
    pub(super) fn widen(&mut self, request: &RequestInfo, profile: Profile) -> bool {
        self.matches_namespace_prefix =
            profile.has_namespace_prefix_bug() && !request.resource.strategy.is_uncached && self.namespace.is_some();
        self.matches_namespace_prefix
    }

    /// Value that the field selector requires of `metadata.name`.
    pub(super) fn name_field(&self) -> Option<&str> {
        self.fields.required("metadata.name")
    }

    /// Lookup that finds the objects without visiting others. `None` if there is none, and after [`Self::widen`].
    pub(super) fn lookup(&self, namespaced: bool) -> Option<Lookup<'_>> {
        if self.matches_namespace_prefix {
            return None;
        }
        let namespace = match (&self.namespace, namespaced) {
            (Some(namespace), _) => Some(&**namespace),
            (None, false) => Some(""),
            (None, true) => None,
        };
        if let (Some(namespace), Some(name)) = (namespace, self.required_name()) {
            return Some(Lookup::Name(namespace, name));
        }
        let mut fields = INDEXED_FIELDS.iter();
        fields.find_map(|field| Some(Lookup::Field(field, self.fields.required(field)?)))
    }

    /// Filter of the changes that a watch of the selection must see.
    pub(super) fn index_key(&self) -> WatchIndexKey {
        if self.matches_namespace_prefix {
            return WatchIndexKey::All;
        }
        if let Some(name) = self.required_name() {
            return WatchIndexKey::Name(self.namespace.clone(), name.into());
        }
        let mut fields = INDEXED_FIELDS.iter();
        if let Some((field, value)) = fields.find_map(|field| Some((*field, self.fields.required(field)?))) {
            return WatchIndexKey::Field(field.into(), value.into());
        }
        self.namespace
            .clone()
            .map_or(WatchIndexKey::All, WatchIndexKey::Namespace)
    }

    /// Name that all selected objects have: that of the request, or of the field selector.
    fn required_name(&self) -> Option<&str> {
        self.name.as_deref().or(self.name_field())
    }

    /// Whether an object that is not stored has the selected labels.
    pub(super) fn matches_labels(&self, object: &Object) -> bool {
        let none = Object::new();
        let labels = meta::lookup(object, "metadata.labels").and_then(Value::as_object);
        self.labels.matches(labels.unwrap_or(&none))
    }

    /// Whether `record` is selected.
    pub(super) fn matches(&self, record: &Record) -> bool {
        !self.matches_nothing
            && self.namespace.as_deref().is_none_or(|n| {
                let namespace = &*record.key().namespace;
                *n == *namespace || self.matches_namespace_prefix && namespace.starts_with(n)
            })
            && self.name.as_deref().is_none_or(|n| *n == *record.key().name)
            && self.labels.matches(record.labels())
            && self.fields.matches(record.fields())
    }
}

fn supported(resource: &Resource, selector: &fields::Selector) -> Result<(), Status> {
    let known = |label: &str| resource.selectable().iter().any(|(name, _)| name == label);
    match selector.labels().find(|label| !known(label)) {
        Some(label) => Err(Status::bad_request(resource.unsupported_label(label))),
        None => Ok(()),
    }
}
