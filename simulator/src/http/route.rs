//! The grammar of paths: what each path names, and which methods it has.
//!
//! - Built once from the scheme's resources; finding a route allocates nothing but the address that it returns.
//! - A slash at the end means nothing, but at the root of a proxy.
//!
//! Source: Kubernetes v1.2's `api_installer.go` and go-restful's curly router, as recorded (`discovery.har`, `surface.har`).

use std::{collections::HashMap, sync::Arc};

use http::Method;

use crate::{
    registry::RequestInfo,
    scheme::{Resource, Scheme},
};

/// A set of methods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Methods(u8);

impl Methods {
    /// No method: the path does not exist.
    pub(crate) const NONE: Self = Self(0);
    /// Reading only.
    pub(crate) const GET: Self = Self(1);
    const PUT: Self = Self(2);
    const POST: Self = Self(4);
    const PATCH: Self = Self(8);
    const DELETE: Self = Self(16);
    const HEAD: Self = Self(32);
    const OPTIONS: Self = Self(64);
    /// What can be proxied.
    const PROXY: Self = Self(1 | 2 | 4 | 16 | 32 | 64);

    const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The methods that are proxied, with the words that operations are named by.
    pub(crate) const PROXIED: [(&'static str, &'static str); 6] = [
        ("GET", "Get"),
        ("PUT", "Put"),
        ("POST", "Post"),
        ("DELETE", "Delete"),
        ("HEAD", "Head"),
        ("OPTIONS", "Options"),
    ];

    /// What may be done by them, in the words of discovery.
    pub(crate) fn verbs(self) -> Vec<&'static str> {
        let words = [
            (Self::POST, "create"),
            (Self::DELETE, "delete"),
            (Self::GET, "get"),
            (Self::PATCH, "patch"),
            (Self::PUT, "update"),
        ];
        words
            .into_iter()
            .filter(|(method, _)| self.0 & method.0 != 0)
            .map(|(_, word)| word)
            .collect()
    }

    /// Whether `method` is among them.
    pub(crate) fn has(self, method: &Method) -> bool {
        let one = match *method {
            Method::GET => Self::GET,
            Method::PUT => Self::PUT,
            Method::POST => Self::POST,
            Method::PATCH => Self::PATCH,
            Method::DELETE => Self::DELETE,
            Method::HEAD => Self::HEAD,
            Method::OPTIONS => Self::OPTIONS,
            _ => Self::NONE,
        };
        self.0 & one.0 != 0
    }
}

/// A path outside the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Page {
    /// `/`, `/index.html`: the list of paths.
    Index,
    /// Any path that no other handler takes: the list of paths, as a 404.
    Unknown,
    /// `/healthz`, `/healthz/ping`.
    Health,
    /// `/metrics`.
    Metrics,
    /// `/resetMetrics`.
    ResetMetrics,
    /// `/logs/`.
    Logs,
    /// `/swagger-ui/`.
    SwaggerUi,
    /// `/ui/`: the dashboard, by redirect.
    Ui,
    /// A directory named without its slash.
    Directory(&'static str),
}

/// A path below a web service: what it names, and the methods that it has.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    /// `/version`.
    Version,
    /// `/swaggerapi`, `/swaggerapi/...`, `/openapi/...`, `/swagger.json`: the API described.
    Description(String),
    /// `/api`.
    Versions,
    /// `/apis`.
    Groups,
    /// `/apis/GROUP`: the group at this place.
    Group(usize),
    /// `/api/v1`, `/apis/GROUP/VERSION`: the group version at this place.
    Resources(usize),
    /// A collection, an object or a sub-resource.
    Resource(RequestInfo),
    /// A path under `/watch/`.
    Watch(RequestInfo),
    /// A sub-resource that is a connection to a container: attach, exec, log, portforward.
    Connect(RequestInfo),
    /// A service, a pod or a node, through the proxy.
    Proxy(ProxyAddress),
}

/// What is asked for through the proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyAddress {
    /// `services`, `pods` or `nodes`; a resource of another group is named with it.
    pub resource: String,
    /// The namespace; empty for nodes.
    pub namespace: String,
    /// The name, perhaps with a scheme before it and a port behind it: `https:NAME:PORT`.
    pub name: String,
    /// The decoded path behind the proxy's root, with its slash; `None` where not even that slash stands there.
    pub path: Option<String>,
    /// The decoded path of the proxy's root, without a slash at its end.
    pub root: String,
    /// Whether this is the older form, `/api/v1/proxy/...`
    pub old: bool,
}

/// Where a path leads.
#[derive(Clone, Debug)]
pub(crate) enum Route {
    /// Outside the API; any method.
    Page(Page),
    /// Below a web service.
    Target(Target, Methods),
    /// Below a web service, but nothing there.
    Missing,
}

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
    /// The group's name; empty for the core group.
    pub(crate) group: String,
    /// The version.
    pub(crate) version: String,
    /// Its resources, in the order of discovery.
    resources: Vec<Arc<Resource>>,
    entries: HashMap<String, Entry>,
}

impl GroupVersion {
    /// Its resources, in the order of discovery.
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

/// All paths.
pub(crate) struct Table {
    scheme: Arc<Scheme>,
    versions: Vec<GroupVersion>,
    groups: Vec<String>,
}

impl Table {
    /// The paths of the resources of `scheme`.
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

    /// The kinds whose paths these are.
    pub(crate) fn scheme(&self) -> &Arc<Scheme> {
        &self.scheme
    }

    /// The group versions, by group and version.
    pub(crate) fn versions(&self) -> &[GroupVersion] {
        &self.versions
    }

    /// The named groups, in order.
    pub(crate) fn groups(&self) -> &[String] {
        &self.groups
    }

    /// Where a clean and decoded path leads.
    pub(crate) fn find(&self, path: &str) -> Route {
        // The longest path with a meaning of its own has eight segments: /apis/G/V/watch/namespaces/NS/RESOURCE/NAME.
        let mut segments = [""; 9];
        let mut count = 0;
        for segment in path.trim_matches('/').split('/') {
            if let Some(slot) = segments.get_mut(count) {
                *slot = segment;
                count += 1;
            }
        }
        let segments = segments.get(..count).unwrap_or_default();
        let found = match *segments {
            ["api"] => Some((Target::Versions, Methods::GET)),
            ["apis"] => Some((Target::Groups, Methods::GET)),
            ["api", version, ref rest @ ..] => self.below("", version, rest, path),
            ["apis", group] => self
                .groups
                .iter()
                .position(|g| g == group)
                .map(|place| (Target::Group(place), Methods::GET)),
            ["apis", group, version, ref rest @ ..] if !group.is_empty() => self.below(group, version, rest, path),
            ["version"] => Some((Target::Version, Methods::GET)),
            ["swaggerapi" | "openapi", ..] | ["swagger.json"] => {
                Some((Target::Description(path.to_owned()), Methods::GET))
            }
            ["apis" | "version", ..] => None,
            _ => return Route::Page(page(path)),
        };
        found
            .filter(|(_, methods)| *methods != Methods::NONE)
            .map_or(Route::Missing, |(target, methods)| Route::Target(target, methods))
    }

    fn below(&self, group: &str, version: &str, rest: &[&str], path: &str) -> Option<(Target, Methods)> {
        let place = self
            .versions
            .iter()
            .position(|v| v.group == group && v.version == version)?;
        if rest.is_empty() {
            return Some((Target::Resources(place), Methods::GET));
        }
        let version = self.versions.get(place)?;
        match *rest {
            ["watch", "namespaces", namespace, plural] => watch(version.namespaced(plural)?, Some(namespace), None),
            ["watch", "namespaces", namespace, plural, name] => {
                watch(version.namespaced(plural)?, Some(namespace), Some(name))
            }
            ["watch", plural] => watch(version.entries.get(plural)?, None, None),
            ["watch", plural, name] => watch(version.cluster_wide(plural)?, None, Some(name)),
            [
                "proxy",
                "namespaces",
                namespace,
                plural @ ("services" | "pods"),
                name,
                ..,
            ] => proxy(version.namespaced(plural)?, namespace, name, path, 7, true),
            ["proxy", plural @ "nodes", name, ..] => proxy(version.cluster_wide(plural)?, "", name, path, 5, true),
            ["namespaces", namespace, part] => match version.namespaced(part) {
                Some(entry) => Some((
                    Target::Resource(address(entry, Some(namespace), None, None)),
                    entry.collection,
                )),
                None => below_object(version.cluster_wide("namespaces")?, None, namespace, part),
            },
            ["namespaces", namespace, plural, name] => {
                let entry = version.namespaced(plural)?;
                Some((
                    Target::Resource(address(entry, Some(namespace), Some(name), None)),
                    entry.object,
                ))
            }
            ["namespaces", namespace, plural, name, "proxy", ..] => {
                proxy(version.namespaced(plural)?, namespace, name, path, 7, false)
            }
            ["namespaces", namespace, plural, name, part] => {
                below_object(version.namespaced(plural)?, Some(namespace), name, part)
            }
            [plural, name, "proxy", ..] => proxy(version.cluster_wide(plural)?, "", name, path, 5, false),
            [plural] => {
                let entry = version.entries.get(plural)?;
                Some((Target::Resource(address(entry, None, None, None)), entry.everywhere))
            }
            [plural, name] => {
                let entry = version.cluster_wide(plural)?;
                Some((Target::Resource(address(entry, None, Some(name), None)), entry.object))
            }
            [plural, name, part] => below_object(version.cluster_wide(plural)?, None, name, part),
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

/// The methods of a sub-resource, by its name.
pub(crate) fn part_methods(part: &str) -> Methods {
    match part {
        "status" | "finalize" => Methods::PUT,
        "scale" => Methods::GET.with(Methods::PUT).with(Methods::PATCH),
        "binding" | "rollback" => Methods::POST,
        "log" => Methods::GET,
        "attach" | "exec" | "portforward" => Methods::GET.with(Methods::POST),
        _ => Methods::NONE,
    }
}

fn address(entry: &Entry, namespace: Option<&str>, name: Option<&str>, part: Option<&str>) -> RequestInfo {
    RequestInfo {
        resource: entry.resource.clone(),
        namespace: namespace.map(str::to_owned),
        name: name.map(str::to_owned),
        subresource: part.map(str::to_owned),
    }
}

fn watch(entry: &Entry, namespace: Option<&str>, name: Option<&str>) -> Option<(Target, Methods)> {
    Some((Target::Watch(address(entry, namespace, name, None)), entry.watch))
}

fn below_object(entry: &Entry, namespace: Option<&str>, name: &str, part: &str) -> Option<(Target, Methods)> {
    entry.resource.subresource(part)?;
    let address = address(entry, namespace, Some(name), Some(part));
    let target = if matches!(part, "attach" | "exec" | "log" | "portforward") {
        Target::Connect(address)
    } else {
        Target::Resource(address)
    };
    Some((target, part_methods(part)))
}

/// A proxy whose root has `depth` segments.
fn proxy(entry: &Entry, namespace: &str, name: &str, path: &str, depth: usize, old: bool) -> Option<(Target, Methods)> {
    entry.resource.subresource("proxy")?;
    let end = path.match_indices('/').nth(depth).map(|(end, _)| end);
    let (root, rest) = end.map_or((path, None), |end| (path.get(..end).unwrap_or(path), path.get(end..)));
    let address = ProxyAddress {
        resource: entry.resource.stored_as().to_string(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        path: rest.map(str::to_owned),
        root: root.to_owned(),
        old,
    };
    Some((Target::Proxy(address), Methods::PROXY))
}

fn page(path: &str) -> Page {
    match path {
        "/" | "/index.html" => Page::Index,
        "/healthz" | "/healthz/ping" => Page::Health,
        "/metrics" => Page::Metrics,
        "/resetMetrics" => Page::ResetMetrics,
        "/logs" => Page::Directory("/logs/"),
        "/ui" => Page::Directory("/ui/"),
        "/swagger-ui" => Page::Directory("/swagger-ui/"),
        _ if path.starts_with("/logs/") => Page::Logs,
        _ if path.starts_with("/ui/") => Page::Ui,
        _ if path.starts_with("/swagger-ui/") => Page::SwaggerUi,
        _ => Page::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use rstest::rstest;

    use super::*;

    static TABLE: LazyLock<Table> = LazyLock::new(|| Table::new(Scheme::builtin()));

    const ALL: [Method; 7] = [
        Method::GET,
        Method::PUT,
        Method::POST,
        Method::PATCH,
        Method::DELETE,
        Method::HEAD,
        Method::OPTIONS,
    ];

    /// What a path names, and its methods.
    fn shown(path: &str) -> (String, String) {
        let target = match TABLE.find(path) {
            Route::Page(page) => return (format!("{page:?}"), "any".into()),
            Route::Missing => return ("nothing".into(), String::new()),
            Route::Target(target, methods) => {
                let methods: Vec<&str> = ALL.iter().filter(|m| methods.has(m)).map(Method::as_str).collect();
                (target, methods.join(" "))
            }
        };
        let text = |a: &RequestInfo| {
            let parts = [
                a.namespace.as_deref(),
                Some(a.resource.plural.as_str()),
                a.name.as_deref(),
                a.subresource.as_deref(),
            ];
            let parts: Vec<&str> = parts.into_iter().map(|p| p.unwrap_or("-")).collect();
            parts.join(" ")
        };
        let name = match &target.0 {
            Target::Resource(a) => text(a),
            Target::Watch(a) => format!("watch {}", text(a)),
            Target::Connect(a) => format!("connect {}", text(a)),
            Target::Proxy(p) => format!(
                "proxy {} {} {} {:?} at {}",
                p.namespace, p.resource, p.name, p.path, p.root
            ),
            other => format!("{other:?}"),
        };
        (name, target.1)
    }

    #[rstest]
    #[case("/api", "Versions", "GET")]
    #[case("/api/v1/", "Resources(0)", "GET")]
    #[case("/apis", "Groups", "GET")]
    #[case("/apis/batch", "Group(1)", "GET")]
    #[case("/apis/extensions/v1beta1", "Resources(3)", "GET")]
    #[case("/version", "Version", "GET")]
    #[case("/api/v1/pods", "- pods - -", "GET")]
    #[case("/api/v1/namespaces/a/pods", "a pods - -", "GET POST DELETE")]
    #[case("/api/v1/namespaces/a/pods/b", "a pods b -", "GET PUT PATCH DELETE")]
    #[case("/api/v1/namespaces/a/pods/b/", "a pods b -", "GET PUT PATCH DELETE")]
    #[case("/api/v1/namespaces/a/pods/b/status", "a pods b status", "PUT")]
    #[case("/api/v1/namespaces/a/pods/b/binding", "a pods b binding", "POST")]
    #[case("/api/v1/namespaces/a/pods/b/attach", "connect a pods b attach", "GET POST")]
    #[case("/api/v1/namespaces/a/pods/b/log", "connect a pods b log", "GET")]
    #[case("/api/v1/namespaces/a/bindings", "a bindings - -", "POST")]
    #[case("/api/v1/namespaces/a/services", "a services - -", "GET POST")]
    #[case("/api/v1/namespaces", "- namespaces - -", "GET POST DELETE")]
    #[case("/api/v1/namespaces/pods", "- namespaces pods -", "GET PUT PATCH DELETE")]
    #[case("/api/v1/namespaces/a/status", "- namespaces a status", "PUT")]
    #[case("/api/v1/namespaces/a/finalize", "- namespaces a finalize", "PUT")]
    #[case("/api/v1/nodes/n", "- nodes n -", "GET PUT PATCH DELETE")]
    #[case("/api/v1/componentstatuses", "- componentstatuses - -", "GET")]
    #[case(
        "/apis/extensions/v1beta1/namespaces/a/deployments/d/scale",
        "a deployments d scale",
        "GET PUT PATCH"
    )]
    #[case(
        "/apis/extensions/v1beta1/namespaces/a/deployments/d/rollback",
        "a deployments d rollback",
        "POST"
    )]
    #[case(
        "/apis/extensions/v1beta1/namespaces/a/replicationcontrollers/d/scale",
        "a replicationcontrollers d scale",
        "GET PUT PATCH"
    )]
    #[case("/api/v1/watch/pods", "watch - pods - -", "GET")]
    #[case("/api/v1/watch/namespaces", "watch - namespaces - -", "GET")]
    #[case("/api/v1/watch/namespaces/a", "watch - namespaces a -", "GET")]
    #[case("/api/v1/watch/namespaces/a/pods", "watch a pods - -", "GET")]
    #[case("/apis/batch/v1/watch/namespaces/a/jobs/j", "watch a jobs j -", "GET")]
    #[case("/", "Index", "any")]
    #[case("/nope/at/all", "Unknown", "any")]
    #[case("/healthz/", "Unknown", "any")]
    #[case("/ui", "Directory(\"/ui/\")", "any")]
    fn a_path_names_one_thing(#[case] path: &str, #[case] name: &str, #[case] methods: &str) {
        assert_eq!(shown(path), (name.to_owned(), methods.to_owned()), "{path}");
    }

    #[rstest]
    #[case("/api/v2")]
    #[case("/api/v1/nope")]
    #[case("/api/v1/bindings")]
    #[case("/api/v1/pods/a")]
    #[case("/api/v1/namespaces/a/nodes")]
    #[case("/api/v1/namespaces/a/pods/b/nope")]
    #[case("/api/v1/namespaces/a/pods/b/status/more")]
    #[case("/api/v1/namespaces/a/pods/b/status/more/and/more/and/more")]
    #[case("/api/v1/watch")]
    #[case("/api/v1/watch/componentstatuses")]
    #[case("/api/v1/watch/pods/a")]
    #[case("/api/v1/proxy/namespaces/a/configmaps/b")]
    #[case("/api/v1/proxy/namespaces/a/services")]
    #[case("/apis/nope")]
    #[case("/apis/batch/v9")]
    #[case("/apis/extensions/v1beta1/namespaces/a/replicationcontrollers/d")]
    #[case("/version/more")]
    fn below_a_web_service_other_paths_are_missing(#[case] path: &str) {
        assert_eq!(shown(path).0, "nothing", "{path}");
    }

    #[rstest]
    #[case(
        "/api/v1/proxy/namespaces/a/services/s",
        "proxy a services s None at /api/v1/proxy/namespaces/a/services/s"
    )]
    #[case(
        "/api/v1/proxy/namespaces/a/services/s/",
        "proxy a services s Some(\"/\") at /api/v1/proxy/namespaces/a/services/s"
    )]
    #[case(
        "/api/v1/proxy/namespaces/a/pods/https:p:1/x/y/",
        "proxy a pods https:p:1 Some(\"/x/y/\") at /api/v1/proxy/namespaces/a/pods/https:p:1"
    )]
    #[case(
        "/api/v1/proxy/nodes/n/1/2/3/4/5/6",
        "proxy  nodes n Some(\"/1/2/3/4/5/6\") at /api/v1/proxy/nodes/n"
    )]
    #[case(
        "/api/v1/nodes/n/proxy/stats",
        "proxy  nodes n Some(\"/stats\") at /api/v1/nodes/n/proxy"
    )]
    #[case(
        "/api/v1/namespaces/a/services/s/proxy",
        "proxy a services s None at /api/v1/namespaces/a/services/s/proxy"
    )]
    #[case(
        "/api/v1/namespaces/a/pods/p/proxy/a b",
        "proxy a pods p Some(\"/a b\") at /api/v1/namespaces/a/pods/p/proxy"
    )]
    fn a_proxy_keeps_its_root_and_the_path_behind_it(#[case] path: &str, #[case] name: &str) {
        assert_eq!(
            shown(path),
            (name.to_owned(), "GET PUT POST DELETE HEAD OPTIONS".to_owned())
        );
    }
}
