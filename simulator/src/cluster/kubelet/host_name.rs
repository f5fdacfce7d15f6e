//! The host name of a pod, and its hosts file.
//!
//! Source: `GeneratePodHostNameAndDomain` and `ensureHostsFile` of Kubernetes v1.2 (`pkg/kubelet`).

use serde_json::Value;

use crate::{
    api::{Object, meta},
    cluster::Node,
};

/// The annotation that says another host name than the pod's name.
const HOST_NAME: &str = "pod.beta.kubernetes.io/hostname";
/// The annotation that says which service's domain the host is in.
const SUBDOMAIN: &str = "pod.beta.kubernetes.io/subdomain";
/// Longest host name.
const LONGEST: usize = 63;

/// A host's name.
pub(super) struct HostName {
    /// The name without a domain.
    pub(super) label: String,
    /// The domain; empty if it has none.
    domain: String,
}

impl HostName {
    /// The name of a pod with a network of its own.
    pub(super) fn of(pod: &Object) -> Self {
        let annotation = |name: &str| {
            let annotations = meta::lookup(pod, "metadata.annotations")?;
            annotations
                .get(name)
                .and_then(Value::as_str)
                .filter(|value| !value.is_empty())
        };
        let name = annotation(HOST_NAME).unwrap_or_else(|| meta::text(pod, "metadata.name"));
        let domain = annotation(SUBDOMAIN).map(|subdomain| {
            let namespace = meta::text(pod, "metadata.namespace");
            format!("{subdomain}.{namespace}.svc.cluster.local")
        });
        Self {
            label: name.get(..LONGEST).unwrap_or(name).trim_end_matches('-').to_owned(),
            domain: domain.unwrap_or_default(),
        }
    }

    /// The name of a pod that uses its node's network.
    pub(super) fn of_node(node: &Node) -> Self {
        Self {
            label: node.name.clone(),
            domain: String::new(),
        }
    }

    /// The hosts file of a pod with this name and address.
    pub(super) fn hosts(&self, address: &str) -> String {
        let Self { label, domain } = self;
        let names = match domain.as_str() {
            "" => label.clone(),
            domain => format!("{label}.{domain}\t{label}"),
        };
        format!(
            "# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\nfe00::0\tip6-localnet\n\
             fe00::0\tip6-mcastprefix\nfe00::1\tip6-allnodes\nfe00::2\tip6-allrouters\n{address}\t{names}\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn name(metadata: Value) -> HostName {
        let pod = json!({"metadata": metadata});
        HostName::of(pod.as_object().unwrap())
    }

    #[test]
    fn a_pod_is_called_by_its_annotations_or_its_name() {
        let long = format!("{}-b", "a".repeat(62));
        let plain = name(json!({"name": long}));
        assert_eq!(plain.label, "a".repeat(62));
        assert!(
            plain
                .hosts("10.244.1.3")
                .ends_with(&format!("\n10.244.1.3\t{}\n", plain.label))
        );
        let annotations = json!({HOST_NAME: "first", SUBDOMAIN: "db"});
        let named = name(json!({"name": "p", "namespace": "n", "annotations": annotations}));
        assert_eq!(named.label, "first");
        let hosts = named.hosts("10.244.1.3");
        assert!(hosts.ends_with("\n10.244.1.3\tfirst.db.n.svc.cluster.local\tfirst\n"));
    }
}
