//! Defaults of the builder.

use crate::registry::{Cidr, Component};

/// Port of the server in the endpoints of the service `kubernetes`.
pub(super) const SECURE_PORT: u16 = 6443;

#[expect(clippy::expect_used, reason = "the literal is a valid range")]
pub(super) fn default_range() -> Cidr {
    "10.0.0.0/24".parse().expect("a valid range")
}

/// Returns the components with a health status: a bare server has only its store.
pub(super) fn components(bare: bool) -> Vec<Component> {
    let part = |name, port| {
        if bare {
            Component::refused(name, port)
        } else {
            Component::healthy(name)
        }
    };
    let store = Component {
        name: "etcd-0".to_owned(),
        health: Ok(r#"{"health":"true"}"#.to_owned()),
    };
    vec![part("controller-manager", 10252), part("scheduler", 10251), store]
}
