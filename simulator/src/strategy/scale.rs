//! Scale subresource: a view of an object's replica count that can be updated.
//!
//! Source: v1.2's scale subresources, and `subresources` of the recordings.

use serde_json::{Value, json};

use super::{
    object::next_generation,
    resource_name::ResourceName,
    validate::{
        cursor::{Cursor, Errors},
        metadata,
        name::NameRule,
    },
};
use crate::{
    api::{FieldError, Object, Status, labels, meta},
    scheme::Resource,
};

/// Kind of a scale, in each of its groups.
pub(crate) const KIND: &str = "Scale";

/// Representation of the scaled object's selector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SelectorForm {
    /// As text. The object has a map of labels.
    Text,
    /// As a map and as text. The object has a map of labels.
    Labels,
    /// As text, and as a map if it has no expressions. The object has a label selector.
    LabelSelector,
}

/// Scale of a kind.
#[derive(Debug)]
pub(crate) struct Scale {
    /// Group and version of the scale.
    pub(super) group_version: &'static str,
    /// Scaled resource, if it is not that of the request.
    pub(super) target: Option<ResourceName>,
    pub(super) selector: SelectorForm,
}

impl Scale {
    /// Group and version of the scale.
    pub(crate) fn group_version(&self) -> &'static str {
        self.group_version
    }

    /// Scaled resource, if it is not that of the request.
    pub(crate) fn target(&self) -> Option<ResourceName> {
        self.target
    }

    /// Validates a scale of the kind `kind`.
    pub(crate) fn validate(&self, kind: &Resource, scale: &Object) -> Result<(), Status> {
        if let Err(why) = labels::Selector::parse(meta::text(scale, "status.targetSelector")) {
            return Err(Status::bad_request(format!(
                "{KIND} in version {:?} cannot be handled as a {KIND}: failed to parse target selector: {why}",
                kind.version
            )));
        }
        let errors = errors(scale);
        if errors.is_empty() {
            return Ok(());
        }
        Err(Status::invalid(
            &kind.group,
            &kind.kind,
            meta::text(scale, "metadata.name"),
            &errors,
        ))
    }

    /// Sets the replicas of `object` to those of `scale`.
    pub(crate) fn apply(&self, scale: &Object, object: &mut Object) {
        let replicas = |object: &Object| {
            meta::lookup(object, "spec.replicas")
                .and_then(Value::as_i64)
                .unwrap_or(0)
        };
        let wanted = replicas(scale);
        if replicas(object) != wanted {
            meta::child(object, "spec").insert("replicas".into(), wanted.into());
            let old = object.clone();
            next_generation(object, &old);
        }
    }

    /// Returns the scale, of the kind `kind`, of `object` at `path`.
    pub(crate) fn view(&self, kind: &Resource, path: &str, object: &Object) -> Object {
        let fields = ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"];
        let kept = fields
            .iter()
            .filter_map(|f| Some(((*f).to_owned(), meta::lookup(object, &format!("metadata.{f}"))?.clone())));
        let count = |path: &str| meta::lookup(object, path).cloned().unwrap_or_else(|| 0.into());
        let mut view = Object::from_iter([
            ("kind".to_owned(), kind.kind.clone().into()),
            ("apiVersion".to_owned(), self.group_version.into()),
            ("metadata".to_owned(), Value::Object(kept.collect())),
            ("spec".to_owned(), json!({"replicas": count("spec.replicas")})),
        ]);
        meta::set(&mut view, "selfLink", path);
        let mut status = Object::from_iter([("replicas".to_owned(), count("status.replicas"))]);
        let selector = meta::lookup(object, "spec.selector").cloned().unwrap_or_default();
        self.show_selector(selector, &mut status);
        view.insert("status".into(), Value::Object(status));
        view
    }

    fn show_selector(&self, selector: Value, status: &mut Object) {
        let selector = match self.selector {
            SelectorForm::Text => {
                let text = labels::Selector::from_map(selector.as_object().unwrap_or(&Object::new())).to_string();
                status.insert("selector".into(), text.into());
                return;
            }
            SelectorForm::Labels => json!({"matchLabels": selector}),
            SelectorForm::LabelSelector => selector,
        };
        if selector.get("matchExpressions").is_none()
            && let Some(labels) = selector.get("matchLabels")
        {
            status.insert("selector".into(), labels.clone());
        }
        if let Ok(parsed) = labels::Selector::from_label_selector(&selector) {
            status.insert("targetSelector".into(), parsed.to_string().into());
        }
    }
}

/// Validates an updated scale.
pub(super) fn errors(scale: &Object) -> Vec<FieldError> {
    let scale = Cursor::root(scale);
    Errors::of(|errors| {
        metadata::create(&scale.at("metadata"), true, NameRule::DnsSubdomain, errors);
        scale.at("spec.replicas").require_nonnegative(errors);
    })
}
