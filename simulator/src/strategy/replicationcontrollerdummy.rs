//! Replication controllers of the group `extensions`, which only have a scale.

use super::{
    generic::Strategy,
    replicationcontroller,
    scale::{Scale, SelectorForm},
};

static SCALE: Scale = Scale {
    group_version: "extensions/v1beta1",
    target: Some(replicationcontroller::RESOURCE),
    selector: SelectorForm::Labels,
};

/// Strategy of replication controllers in `extensions`.
pub(super) struct ReplicationControllerDummyStrategy;

impl Strategy for ReplicationControllerDummyStrategy {
    fn scale(&self) -> Option<&'static Scale> {
        Some(&SCALE)
    }
}
