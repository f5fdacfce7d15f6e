//! What a cluster has unless its builder says otherwise.

use crate::registry::{Cidr, Component};

/// Where the endpoints of the service `kubernetes` say that the server is.
pub(super) const SECURE_PORT: u16 = 6443;

#[expect(clippy::expect_used, reason = "the text is a range")]
pub(super) fn default_range() -> Cidr {
    "10.0.0.0/24".parse().expect("a range")
}

/// The components that tell of their health: a bare server has nothing but its store.
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
