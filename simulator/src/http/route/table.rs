//! The routing table.

use std::sync::Arc;

use foldhash::{HashMap, HashMapExt};
use memchr::memchr_iter;

use super::{
    endpoint::{Endpoint, ProxyRequest, Route, non_resource_path},
    methods::{Methods, subresource_methods},
};
use crate::{
    registry::RequestInfo,
    scheme::{Resource, Scheme},
};

/// A resource and the methods of its paths.
struct Entry {
    resource: Arc<Resource>,
    everywhere: Methods,
    collection: Methods,
    object: Methods,
    watch: Methods,
}

/// A group version and its resources.
pub(crate) struct GroupVersion {
    /// Name of the group; empty for the core group.
    pub(crate) group: String,
    /// Version.
    pub(crate) version: String,
    /// Resources in the order of discovery.
    resources: Vec<Arc<Resource>>,
    entries: HashMap<String, Entry>,
}

impl GroupVersion {
    /// Returns its resources in the order of discovery.
    pub(crate) fn resources(&self) -> &[Arc<Resource>] {
        &self.resources
    }

    fn namespaced(&self, plural: &str) -> Option<&Entry> {
        self.entries.get(plural).filter(|entry| entry.resource.namespaced)
    }

    fn cluster_wide(&self, plural: &str) -> Option<&Entry> {
        self.entries.get(plural).filter(|entry| !entry.resource.namespaced)
    }
}

/// The routes of a scheme.
pub(crate) struct Table {
    scheme: Arc<Scheme>,
    versions: Vec<GroupVersion>,
    groups: Vec<String>,
}

impl Table {
    /// Creates the routes of `scheme`.
    pub(crate) fn new(scheme: Arc<Scheme>) -> Self {
        let mut versions: Vec<GroupVersion> = Vec::new();
        for resource in scheme.resources() {
            let entry = entry(resource);
            let (group, version) = (resource.group.as_str(), resource.version.as_str());
            let place = versions
                .iter()
                .position(|v| v.group == group && v.version == version)
                .unwrap_or_else(|| {
                    versions.push(GroupVersion {
                        group: group.to_owned(),
                        version: version.to_owned(),
                        resources: Vec::new(),
                        entries: HashMap::new(),
                    });
                    versions.len() - 1
                });
            versions[place].entries.insert(resource.plural.clone(), entry);
            versions[place].resources.push(resource.clone());
        }
        versions.sort_by(|a, b| (&a.group, &a.version).cmp(&(&b.group, &b.version)));
        let mut groups: Vec<String> = versions
            .iter()
            .map(|v| v.group.clone())
            .filter(|group| !group.is_empty())
            .collect();
        groups.dedup();
        Self {
            scheme,
            versions,
            groups,
        }
    }

    /// Returns the routed scheme.
    pub(crate) fn scheme(&self) -> &Arc<Scheme> {
        &self.scheme
    }

    /// Returns the group versions, ordered by group and version.
    pub(crate) fn versions(&self) -> &[GroupVersion] {
        &self.versions
    }

    /// Returns the named groups, in order.
    pub(crate) fn groups(&self) -> &[String] {
        &self.groups
    }

    /// Routes a normalized and decoded path.
    pub(crate) fn find(&self, path: &str) -> Route {
        // The longest routed path has eight segments: /apis/G/V/watch/namespaces/NS/RESOURCE/NAME.
        let mut segments = [""; 9];
        let mut count = 0;
        let inner = path.trim_matches('/');
        let mut push = |start: usize, end: usize| {
            if let (Some(slot), Some(segment)) = (segments.get_mut(count), inner.get(start..end)) {
                *slot = segment;
                count += 1;
            }
        };
        let mut start = 0;
        for at in memchr_iter(b'/', inner.as_bytes()) {
            push(start, at);
            start = at + 1;
        }
        push(start, inner.len());
        let segments = segments.get(..count).unwrap_or_default();
        let found = match *segments {
            ["api"] => Some((Endpoint::Versions, Methods::GET)),
            ["apis"] => Some((Endpoint::Groups, Methods::GET)),
            ["api", version, ref rest @ ..] => self.find_in_version("", version, rest, path),
            ["apis", group] => self
                .groups
                .iter()
                .position(|g| g == group)
                .map(|place| (Endpoint::Group(place), Methods::GET)),
            [
                "apis",
                "authorization.k8s.io",
                version @ ("v1" | "v1beta1"),
                "selfsubjectaccessreviews",
            ] => Some((Endpoint::AccessReview(version.to_owned()), Methods::POST)),
            ["apis", group, version, ref rest @ ..] if !group.is_empty() => {
                self.find_in_version(group, version, rest, path)
            }
            ["version"] => Some((Endpoint::Version, Methods::GET)),
            ["swaggerapi" | "openapi", ..] | ["swagger.json"] => {
                Some((Endpoint::Description(path.to_owned()), Methods::GET))
            }
            ["apis" | "version", ..] => None,
            _ => return Route::NonResource(non_resource_path(path)),
        };
        found
            .filter(|(_, methods)| *methods != Methods::NONE)
            .map_or(Route::Missing, |(endpoint, methods)| Route::Endpoint(endpoint, methods))
    }

    fn find_in_version(&self, group: &str, version: &str, rest: &[&str], path: &str) -> Option<(Endpoint, Methods)> {
        let place = self
            .versions
            .iter()
            .position(|v| v.group == group && v.version == version)?;
        if rest.is_empty() {
            return Some((Endpoint::Resources(place), Methods::GET));
        }
        let version = self.versions.get(place)?;
        match *rest {
            ["watch", "namespaces", namespace, plural] => watch(version.namespaced(plural)?, Some(namespace), None),
            ["watch", "namespaces", namespace, plural, name] => {
                watch(version.namespaced(plural)?, Some(namespace), Some(name))
            }
            ["watch", plural] => watch(version.entries.get(plural)?, None, None),
            ["watch", plural, name] => watch(version.cluster_wide(plural)?, None, Some(name)),
            ["proxy", "namespaces", namespace, plural, name, ..] => {
                proxy(version.namespaced(plural)?, namespace, name, path, 7, true)
            }
            ["proxy", plural, name, ..] => proxy(version.cluster_wide(plural)?, "", name, path, 5, true),
            ["namespaces", namespace, part] => match version.namespaced(part) {
                Some(entry) => Some((
                    Endpoint::Resource(request_info(entry, Some(namespace), None, None)),
                    entry.collection,
                )),
                None => subresource(version.cluster_wide("namespaces")?, None, namespace, part),
            },
            ["namespaces", namespace, plural, name] => {
                let entry = version.namespaced(plural)?;
                Some((
                    Endpoint::Resource(request_info(entry, Some(namespace), Some(name), None)),
                    entry.object,
                ))
            }
            ["namespaces", namespace, plural, name, "proxy", ..] => {
                proxy(version.namespaced(plural)?, namespace, name, path, 7, false)
            }
            ["namespaces", namespace, plural, name, part] => {
                subresource(version.namespaced(plural)?, Some(namespace), name, part)
            }
            [plural, name, "proxy", ..] => proxy(version.cluster_wide(plural)?, "", name, path, 5, false),
            [plural] => {
                let entry = version.entries.get(plural)?;
                Some((
                    Endpoint::Resource(request_info(entry, None, None, None)),
                    entry.everywhere,
                ))
            }
            [plural, name] => {
                let entry = version.cluster_wide(plural)?;
                Some((
                    Endpoint::Resource(request_info(entry, None, Some(name), None)),
                    entry.object,
                ))
            }
            [plural, name, part] => subresource(version.cluster_wide(plural)?, None, name, part),
            _ => None,
        }
    }
}

fn entry(resource: &Arc<Resource>) -> Entry {
    let set = |pairs: &[(&str, Methods)]| {
        pairs
            .iter()
            .filter(|(verb, _)| resource.has_verb(verb))
            .fold(Methods::NONE, |all, (_, m)| all.with(*m))
    };
    let collection = set(&[
        ("list", Methods::GET),
        ("create", Methods::POST),
        ("deletecollection", Methods::DELETE),
    ]);
    let everywhere = if resource.namespaced {
        set(&[("list", Methods::GET)])
    } else {
        collection
    };
    let object = set(&[
        ("get", Methods::GET),
        ("update", Methods::PUT),
        ("patch", Methods::PATCH),
        ("delete", Methods::DELETE),
    ]);
    Entry {
        resource: resource.clone(),
        everywhere,
        collection,
        object,
        watch: set(&[("watch", Methods::GET)]),
    }
}

fn request_info(entry: &Entry, namespace: Option<&str>, name: Option<&str>, part: Option<&str>) -> RequestInfo {
    RequestInfo {
        resource: entry.resource.clone(),
        namespace: namespace.map(str::to_owned),
        name: name.map(str::to_owned),
        subresource: part.map(str::to_owned),
    }
}

fn watch(entry: &Entry, namespace: Option<&str>, name: Option<&str>) -> Option<(Endpoint, Methods)> {
    Some((Endpoint::Watch(request_info(entry, namespace, name, None)), entry.watch))
}

fn subresource(entry: &Entry, namespace: Option<&str>, name: &str, part: &str) -> Option<(Endpoint, Methods)> {
    entry.resource.subresource(part)?;
    let request = request_info(entry, namespace, Some(name), Some(part));
    let endpoint = if matches!(part, "attach" | "exec" | "log" | "portforward") {
        Endpoint::Connect(request)
    } else {
        Endpoint::Resource(request)
    };
    Some((endpoint, subresource_methods(part)))
}

/// Returns a proxy endpoint whose root has `depth` segments.
fn proxy(
    entry: &Entry,
    namespace: &str,
    name: &str,
    path: &str,
    depth: usize,
    old: bool,
) -> Option<(Endpoint, Methods)> {
    entry.resource.subresource("proxy")?;
    let end = path.match_indices('/').nth(depth).map(|(end, _)| end);
    let (root, rest) = end.map_or((path, None), |end| (path.get(..end).unwrap_or(path), path.get(end..)));
    let request = ProxyRequest {
        resource: entry.resource.clone(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        path: rest.map(str::to_owned),
        root: root.to_owned(),
        old,
    };
    Some((Endpoint::Proxy(request), Methods::PROXY))
}
