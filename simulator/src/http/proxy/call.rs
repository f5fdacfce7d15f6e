//! A proxied request's path, taken apart.
//!
//! Two forms lead to the same servers: the old one, `/api/v1/proxy/.../NAME/PATH`, and the new one, `/api/v1/.../NAME/proxy/PATH`.
//! Source: the two texts, and the recorded proxy sessions.

use hyper::{Method, Request, header};

use super::{path, resolve::Resource};
use crate::profile::Profile;

/// Which of the two forms a path has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `/api/v1/proxy/...`: the query is sorted and written anew.
    Old,
    /// `.../proxy`: the query passes as it is.
    New,
}

/// What a path asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The form of the path.
    pub form: Form,
    /// What kind of thing is asked.
    pub resource: Resource,
    /// Its namespace; empty for a node.
    pub namespace: String,
    /// Its name, with scheme and port where they are given.
    pub id: String,
    /// The path to ask for, decoded, with its leading slash; empty where the request's path ends with the name and no slash.
    pub path: String,
}

impl Call {
    /// Takes apart a path as it stands in the request; `None` where it is no path of the proxy.
    pub fn parse(raw: &str) -> Option<Self> {
        let decoded = path::unescape(raw)?;
        let segments: Vec<&str> = decoded.trim_matches('/').split('/').collect();
        let (form, resource, namespace, id, rest) = match segments.as_slice() {
            ["api", "v1", "proxy", "namespaces", namespace, resource @ ("services" | "pods"), id, rest @ ..] => (Form::Old, resource, *namespace, id, rest),
            ["api", "v1", "proxy", resource @ "nodes", id, rest @ ..] => (Form::Old, resource, "", id, rest),
            ["api", "v1", "namespaces", namespace, resource @ ("services" | "pods"), id, "proxy", rest @ ..] => (Form::New, resource, *namespace, id, rest),
            ["api", "v1", resource @ "nodes", id, "proxy", rest @ ..] => (Form::New, resource, "", id, rest),
            _ => return None,
        };
        let mut path = rest.iter().fold(String::new(), |path, segment| format!("{path}/{segment}"));
        if decoded.ends_with('/') && !path.ends_with('/') {
            path.push('/');
        }
        Some(Self { form, resource: Resource::named(resource)?, namespace: namespace.to_owned(), id: (*id).to_owned(), path })
    }

    /// What stands before the path to ask for: where links have to lead.
    pub fn prefix(&self) -> String {
        let Self { namespace, id, .. } = self;
        let object = match self.resource {
            Resource::Service => format!("namespaces/{namespace}/services/{id}"),
            Resource::Pod => format!("namespaces/{namespace}/pods/{id}"),
            Resource::Node => format!("nodes/{id}"),
        };
        match self.form {
            Form::Old => format!("/api/v1/proxy/{object}"),
            Form::New => format!("/api/v1/{object}/proxy"),
        }
    }

    /// The path and query to ask for.
    ///
    /// At the root of a service proxy of the new form, the query parameter `path` is the path (with its own query) where the profile says so; what else
    /// stands in the query follows.
    pub fn asks_for(&self, query: &str, profile: Profile) -> (String, String) {
        let at_root = matches!(self.path.as_str(), "" | "/") && self.form == Form::New && self.resource == Resource::Service;
        if at_root && profile.proxy_path_parameter() {
            let is_path = |pair: &&str| pair.split('=').next() == Some("path");
            let asked = path::parameters(query).find(|(key, _)| key == "path").map(|(_, value)| value);
            if let Some(asked) = asked.filter(|asked| !asked.is_empty()) {
                let (path, own) = asked.split_once('?').unwrap_or((&asked, ""));
                let own: Vec<&str> = own.split('&').chain(query.split('&').filter(|pair| !is_path(pair))).filter(|pair| !pair.is_empty()).collect();
                let slash = if path.ends_with('/') { "/" } else { "" };
                let path = format!("{}{slash}", path::join("/", &path::unescape(path).unwrap_or_else(|| path.to_owned())));
                return (if path == "//" { "/".to_owned() } else { path }, own.join("&"));
            }
        }
        let query = if self.form == Form::Old { path::normalize_query(query) } else { query.to_owned() };
        (self.path.clone(), query)
    }
}

/// Whether the proxy takes requests of this method.
pub fn takes(method: &Method) -> bool {
    [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::DELETE, Method::OPTIONS].contains(method)
}

/// Whether a request asks to speak another protocol from here on.
pub fn is_upgrade<B>(request: &Request<B>) -> bool {
    request.headers().get_all(header::CONNECTION).iter().any(|value| value.to_str().is_ok_and(|value| value.to_ascii_lowercase().contains("upgrade")))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("/api/v1/proxy/namespaces/a/services/web", "/api/v1/proxy/namespaces/a/services/web", "")]
    #[case("/api/v1/proxy/namespaces/a/services/https:web:80/", "/api/v1/proxy/namespaces/a/services/https:web:80", "/")]
    #[case("/api/v1/proxy/namespaces/a/pods/p/echo/a%2Fb/c", "/api/v1/proxy/namespaces/a/pods/p", "/echo/a/b/c")]
    #[case("/api/v1/namespaces/a/services/web/proxy/x/", "/api/v1/namespaces/a/services/web/proxy", "/x/")]
    #[case("/api/v1/nodes/n:1/proxy", "/api/v1/nodes/n:1/proxy", "")]
    #[case("/api/v1/proxy/nodes/n/logs", "/api/v1/proxy/nodes/n", "/logs")]
    fn both_forms_are_taken_apart(#[case] raw: &str, #[case] prefix: &str, #[case] path: &str) {
        let call = Call::parse(raw).unwrap();
        assert_eq!((call.prefix().as_str(), call.path.as_str()), (prefix, path));
    }

    #[rstest]
    #[case("/api/v1/namespaces/a/services/web")]
    #[case("/api/v1/proxy/namespaces/a/configmaps/x/echo")]
    #[case("/api/v1/proxy/nodes")]
    #[case("/apis/batch/v1/namespaces/a/services/web/proxy")]
    fn other_paths_are_none_of_the_proxy(#[case] raw: &str) {
        assert_eq!(Call::parse(raw), None);
    }

    #[rstest]
    #[case("/api/v1/namespaces/a/services/w/proxy", "path=/echo", Profile::Kubernetes12, "", "path=/echo")]
    #[case("/api/v1/namespaces/a/services/w/proxy", "path=/echo", Profile::Documented, "/echo", "")]
    #[case("/api/v1/namespaces/a/services/w/proxy", "path=_search%3Fq%3Da%26size%3D1&pretty=true", Profile::Documented, "/_search", "q=a&size=1&pretty=true")]
    #[case("/api/v1/namespaces/a/services/w/proxy/", "x=1&path=a/b/", Profile::Documented, "/a/b/", "x=1")]
    #[case("/api/v1/namespaces/a/services/w/proxy", "path=/", Profile::Documented, "/", "")]
    #[case("/api/v1/namespaces/a/services/w/proxy/sub", "path=/echo", Profile::Documented, "/sub", "path=/echo")]
    #[case("/api/v1/namespaces/a/pods/p/proxy", "path=/echo", Profile::Documented, "", "path=/echo")]
    #[case("/api/v1/namespaces/a/pods/p/proxy/e", "w=a%20b&q", Profile::Documented, "/e", "w=a%20b&q")]
    #[case("/api/v1/proxy/namespaces/a/pods/p/e", "w=a%20b&q", Profile::Documented, "/e", "q=&w=a+b")]
    fn the_query_says_what_to_ask_for(#[case] raw: &str, #[case] query: &str, #[case] profile: Profile, #[case] path: &str, #[case] asked: &str) {
        assert_eq!(Call::parse(raw).unwrap().asks_for(query, profile), (path.to_owned(), asked.to_owned()));
    }
}
