//! Bindings: the assignment of a pod to a node.
//!
//! Source: v1.2's pod binding, and `subresources` of the recordings.

use serde_json::json;

use super::{
    action::Action,
    generic::Strategy,
    object::add_annotations,
    resource_name::ResourceName,
    validate::cursor::{Cursor, Errors},
};
use crate::{
    api::{FieldError, Object, Status, meta, status::texts},
    profile::Profile,
};

/// Strategy of bindings.
pub(super) struct BindingStrategy;

impl Strategy for BindingStrategy {
    fn action(&self, subresource: Option<&str>) -> Option<&'static dyn Action> {
        subresource.is_none().then_some(&Bind as &dyn Action)
    }
}

/// Action that assigns a pod to a node.
pub(super) struct Bind;

impl Action for Bind {
    fn body_kind(&self) -> (&'static str, &'static str) {
        ("v1", "Binding")
    }

    fn target(&self) -> Option<ResourceName> {
        Some(ResourceName::core("pods"))
    }

    fn needs_live_namespace(&self) -> bool {
        true
    }

    fn validate(&self, binding: &Object, profile: Profile) -> Result<(), Status> {
        let errors = errors(binding);
        if errors.is_empty() {
            return Ok(());
        }
        Err(profile.client_error(400, texts(&errors)))
    }

    fn name<'a>(&self, binding: &'a Object) -> &'a str {
        meta::text(binding, "metadata.name")
    }

    fn apply(&self, binding: &Object, pod: &mut Object) -> Result<(), Status> {
        let name = self.name(binding);
        let conflict = |why: String| Status::conflict("", "pods/binding", name, &why);
        if !meta::text(pod, "metadata.deletionTimestamp").is_empty() {
            return Err(conflict(format!(
                "pod {name} is being deleted, cannot be assigned to a host"
            )));
        }
        let node = meta::text(pod, "spec.nodeName");
        if !node.is_empty() {
            return Err(conflict(format!("pod {name} is already assigned to node {node:?}")));
        }
        meta::child(pod, "spec").insert("nodeName".into(), meta::text(binding, "target.name").into());
        add_annotations(pod, binding, "metadata.annotations");
        Ok(())
    }

    fn response(&self, profile: Profile) -> (u16, Option<Status>) {
        let code = profile.created_code();
        let status = (!profile.returns_binding()).then(|| Status::success().with_code(code));
        (code, status)
    }
}

/// Validates a binding.
pub(super) fn errors(binding: &Object) -> Vec<FieldError> {
    let binding = Cursor::root(binding);
    Errors::of(|errors| {
        let kind = binding.at("target.kind");
        if !["", "Node"].contains(&kind.text()) {
            errors.push(FieldError::not_supported(
                kind.path(),
                json!(kind.text()),
                &["Node", "<empty>"],
            ));
        }
        binding.at("target.name").require_text(errors);
    })
}
