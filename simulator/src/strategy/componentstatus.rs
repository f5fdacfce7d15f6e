//! Component statuses: the health of the control plane.
//!
//! They are not stored: each request checks the components. A bare server has neither controllers nor a scheduler.

use super::{component::Component, context::Context, generic::Strategy};
use crate::api::Object;

/// Strategy of component statuses.
pub(super) struct ComponentStatusStrategy;

impl Strategy for ComponentStatusStrategy {
    fn computed(&self, context: &Context) -> Option<Vec<Object>> {
        Some(context.components.iter().map(Component::object).collect())
    }
}
