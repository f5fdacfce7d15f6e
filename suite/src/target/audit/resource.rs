//! The resource of a path.

/// A collection, an object or a subresource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Resource {
    /// apiVersion, such as `v1` or `batch/v1`.
    pub(super) group_version: String,
    /// Plural name.
    pub(super) plural: String,
    /// Namespace; empty for a cluster-scoped resource and for a list of all namespaces.
    pub(super) namespace: String,
    /// Name; `None` for a collection.
    pub(super) name: Option<String>,
    /// Subresource.
    pub(super) subresource: Option<String>,
}

impl Resource {
    /// Parses a path; `None` for discovery, proxies and watch paths.
    pub(super) fn of(path: &str) -> Option<Self> {
        let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
        let (group_version, rest) = match segments.as_slice() {
            ["api", version, rest @ ..] => ((*version).to_owned(), rest),
            ["apis", group, version, rest @ ..] => (format!("{group}/{version}"), rest),
            _ => return None,
        };
        let (namespace, rest) = match rest {
            ["watch" | "proxy", ..] | [] => return None,
            ["namespaces", namespace, plural, rest @ ..] if !["status", "finalize"].contains(plural) => {
                (*namespace, [&[*plural], rest].concat())
            }
            rest => ("", rest.to_vec()),
        };
        let mut rest = rest.into_iter().map(str::to_owned);
        let plural = rest.next()?;
        let (name, subresource) = (rest.next(), rest.next());
        // Paths below a subresource are proxied.
        rest.next().is_none().then(|| Self {
            group_version,
            plural,
            namespace: namespace.to_owned(),
            name,
            subresource,
        })
    }

    /// Whether the path returns objects of the kind: no subresource, or the status.
    pub(super) fn is_of_objects(&self) -> bool {
        self.subresource.as_deref().is_none_or(|name| name == "status")
    }

    /// Returns the path of the collection in a namespace, or in all namespaces if the namespace is empty.
    pub(super) fn collection(&self, namespace: &str) -> String {
        let prefix = if self.group_version.contains('/') {
            "/apis"
        } else {
            "/api"
        };
        let namespace = match namespace {
            "" => String::new(),
            namespace => format!("/namespaces/{namespace}"),
        };
        format!("{prefix}/{}{namespace}/{}", self.group_version, self.plural)
    }

    /// Path of an object of the collection, or of the object itself.
    pub(super) fn path_of(&self, namespace: &str, name: &str) -> String {
        format!("{}/{name}", self.collection(namespace))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("/api/v1/pods", "v1", "pods", "", None, None)]
    #[case("/api/v1/namespaces/a", "v1", "namespaces", "", Some("a"), None)]
    #[case("/api/v1/namespaces/a/status", "v1", "namespaces", "", Some("a"), Some("status"))]
    #[case("/api/v1/namespaces/a/pods/b", "v1", "pods", "a", Some("b"), None)]
    #[case(
        "/apis/batch/v1/namespaces/a/jobs/b/status",
        "batch/v1",
        "jobs",
        "a",
        Some("b"),
        Some("status")
    )]
    fn a_path_names_a_resource(
        #[case] path: &str,
        #[case] group_version: &str,
        #[case] plural: &str,
        #[case] namespace: &str,
        #[case] name: Option<&str>,
        #[case] subresource: Option<&str>,
    ) {
        let resource = Resource::of(path).unwrap();
        assert_eq!(resource.group_version, group_version);
        assert_eq!(
            (resource.plural.as_str(), resource.namespace.as_str()),
            (plural, namespace)
        );
        assert_eq!(
            (resource.name.as_deref(), resource.subresource.as_deref()),
            (name, subresource)
        );
    }

    #[rstest]
    #[case("/api/v1")]
    #[case("/version")]
    #[case("/apis/batch")]
    #[case("/api/v1/proxy/nodes/a")]
    #[case("/api/v1/watch/pods")]
    #[case("/api/v1/namespaces/a/services/b/proxy/c")]
    fn other_paths_name_none(#[case] path: &str) {
        assert_eq!(Resource::of(path), None);
    }

    #[test]
    fn an_object_and_a_collection_have_a_path() {
        let jobs = Resource::of("/apis/batch/v1/jobs").unwrap();
        assert_eq!(jobs.path_of("a", "b"), "/apis/batch/v1/namespaces/a/jobs/b");
        assert_eq!(jobs.collection(""), "/apis/batch/v1/jobs");
        assert_eq!(
            Resource::of("/api/v1/namespaces").unwrap().path_of("", "a"),
            "/api/v1/namespaces/a"
        );
    }
}
