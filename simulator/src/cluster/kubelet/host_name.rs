//! Host names and hosts files of pods.
//!
//! Source: `GeneratePodHostNameAndDomain` and `ensureHostsFile` of Kubernetes v1.2 (`pkg/kubelet`).

use serde_json::Value;

use crate::{
    api::{Object, meta},
    cluster::Node,
};

/// The annotation with a host name that replaces the pod's name.
const HOST_NAME: &str = "pod.beta.kubernetes.io/hostname";
/// The annotation with the subdomain of the pod: the name of a headless service.
const SUBDOMAIN: &str = "pod.beta.kubernetes.io/subdomain";
/// Maximum length of a host name.
const MAX_HOST_NAME_LENGTH: usize = 63;

/// A host name.
pub(super) struct HostName {
    /// The name without its domain.
    pub(super) label: String,
    /// The domain; empty if there is none.
    domain: String,
}

impl HostName {
    /// Returns the name of a pod with its own network.
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
            label: name
                .get(..MAX_HOST_NAME_LENGTH)
                .unwrap_or(name)
                .trim_end_matches('-')
                .to_owned(),
            domain: domain.unwrap_or_default(),
        }
    }

    /// Returns the name of a pod on its node's network.
    pub(super) fn of_node(node: &Node) -> Self {
        Self {
            label: node.name.clone(),
            domain: String::new(),
        }
    }

    /// Returns the hosts file of a pod with this name and address.
    pub(super) fn hosts(&self, address: &str) -> String {
        let Self { label, domain } = self;
        let names = match domain.as_str() {
            "" => label.clone(),
            domain => format!("{label}.{domain}\t{label}"),
        };
        format!(
            "# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n\
             fe00::0\tip6-localnet\n\
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
    fn the_host_name_is_that_of_the_annotation_or_the_pod() {
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
