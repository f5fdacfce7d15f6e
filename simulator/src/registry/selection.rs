//! Which objects a list, a watch or a delete of a collection is about.

use serde_json::Value;

use crate::{
    api::{Object, Status, fields, labels, meta},
    profile::Profile,
    scheme::Resource,
    store::{INDEXED_FIELDS, Lookup, Record},
    watch::Interest,
};

use super::request::{ListOptions, RequestInfo};

/// A label selector and a field selector, parsed, and the collection that they select from.
pub(super) struct Selection {
    namespace: Option<Box<str>>,
    name: Option<Box<str>>,
    labels: labels::Selector,
    fields: fields::Selector,
    nothing: bool,
    /// Whether the namespace is the beginning of the selected ones' names.
    prefix: bool,
}

impl Selection {
    /// The selection of `options` at `at`; refused as the profile has it where a selector is malformed or has a field that is not selectable.
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
        let nothing =
            request.name.is_some() && request.resource.strategy.name_is_no_field && profile.has_name_field_bug();
        Ok(Self {
            namespace: request.namespace.as_deref().map(Into::into),
            name: request.name.as_deref().map(Into::into),
            labels,
            fields,
            nothing,
            prefix: false,
        })
    }

    /// Selects as v1.2's watch cache does, which matches keys by their beginning; whether that makes a difference.
    pub(super) fn widen(&mut self, request: &RequestInfo, profile: Profile) -> bool {
        self.prefix =
            profile.has_namespace_prefix_bug() && !request.resource.strategy.is_uncached && self.namespace.is_some();
        self.prefix
    }

    /// The one name that it selects, if it selects by name.
    pub(super) fn only(&self) -> Option<&str> {
        self.fields.required("metadata.name")
    }

    /// Where to look for the objects without visiting others, if there is such a place. A selection that is widened has none.
    pub(super) fn lookup(&self, namespaced: bool) -> Option<Lookup<'_>> {
        if self.prefix {
            return None;
        }
        let namespace = match (&self.namespace, namespaced) {
            (Some(namespace), _) => Some(&**namespace),
            (None, false) => Some(""),
            (None, true) => None,
        };
        if let (Some(namespace), Some(name)) = (namespace, self.one_name()) {
            return Some(Lookup::Name(namespace, name));
        }
        let mut fields = INDEXED_FIELDS.iter();
        fields.find_map(|field| Some(Lookup::Field(field, self.fields.required(field)?)))
    }

    /// What changes a watch of it has to be woken for.
    pub(super) fn interest(&self) -> Interest {
        if self.prefix {
            return Interest::All;
        }
        if let Some(name) = self.one_name() {
            return Interest::Name(self.namespace.clone(), name.into());
        }
        let mut fields = INDEXED_FIELDS.iter();
        if let Some((field, value)) = fields.find_map(|field| Some((*field, self.fields.required(field)?))) {
            return Interest::Field(field.into(), value.into());
        }
        self.namespace.clone().map_or(Interest::All, Interest::Namespace)
    }

    /// The name that objects must have, if there is one.
    fn one_name(&self) -> Option<&str> {
        self.name.as_deref().or(self.only())
    }

    /// Whether an object that is not stored has the selected labels.
    pub(super) fn matches_labels(&self, object: &Object) -> bool {
        let none = Object::new();
        let labels = meta::lookup(object, "metadata.labels").and_then(Value::as_object);
        self.labels.matches(labels.unwrap_or(&none))
    }

    /// Whether `record` is one of them.
    pub(super) fn matches(&self, record: &Record) -> bool {
        !self.nothing
            && self.namespace.as_deref().is_none_or(|n| {
                let namespace = &*record.key().namespace;
                *n == *namespace || self.prefix && namespace.starts_with(n)
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
