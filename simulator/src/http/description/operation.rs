//! The operations of a group version, for all description formats.

use super::parameter::{
    ATTACH, COMMAND, LIST, LOG, NAME, NAMESPACE, PATH, PRETTY, PROXIED, Parameter, READ, VALIDATION,
};
use crate::{
    http::route::{GroupVersion, Methods},
    scheme::Resource,
};

pub(super) const ANY: &[&str] = &["*/*"];
pub(super) const OBJECTS: &[&str] = &["application/json", "application/yaml"];
pub(super) const STREAM: &[&str] = &["application/json"];
pub(super) const PATCHES: &[&str] = &[
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
];

/// An operation.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    pub(super) method: &'static str,
    /// Path with `{namespace}`, `{name}` and `{path}`.
    pub(super) path: String,
    /// First part of its id: `list`.
    pub(super) verb: String,
    /// Rest of its id, unique in the group version: `NamespacedPod`.
    pub(super) of: String,
    /// Its nickname in v1.2, which is not unique.
    pub(super) nickname: String,
    /// Action: `list`, `post`, `connect`, and so on.
    pub(super) action: &'static str,
    pub(super) parameters: Vec<Parameter>,
    /// Model of the request body.
    pub(super) body: Option<String>,
    /// Model of the response; `string` for none.
    pub(super) result: String,
    pub(super) consumes: &'static [&'static str],
    pub(super) produces: &'static [&'static str],
    /// Kind of its resource.
    pub(super) kind: String,
}

/// Collects the operations of one resource.
struct Writer<'a> {
    resource: &'a Resource,
    out: &'a mut Vec<Operation>,
}

/// Parameters, body and response of an operation.
struct Signature<'a> {
    parameters: &'a [Parameter],
    body: Option<String>,
    result: String,
    consumes: &'static [&'static str],
    produces: &'static [&'static str],
}

impl<'a> Signature<'a> {
    fn objects(parameters: &'a [Parameter], body: Option<String>, result: impl Into<String>) -> Self {
        Self {
            parameters,
            body,
            result: result.into(),
            consumes: ANY,
            produces: OBJECTS,
        }
    }

    fn connection(parameters: &'a [Parameter]) -> Self {
        Self {
            parameters,
            body: None,
            result: "string".to_owned(),
            consumes: ANY,
            produces: ANY,
        }
    }
}

const STATUS: &str = "unversioned.Status";

impl Writer<'_> {
    fn model(&self, kind: &str) -> String {
        format!("{}.{kind}", self.resource.version)
    }

    fn put(
        &mut self,
        method: &'static str,
        path: &str,
        (verb, of): (&str, String),
        action: &'static str,
        signature: Signature<'_>,
    ) {
        let segments = [("{namespace}", NAMESPACE), ("{name}", NAME), ("{path}", PATH)];
        let mut parameters = signature.parameters.to_vec();
        parameters.extend(
            segments
                .into_iter()
                .filter(|(text, _)| path.contains(text))
                .map(|(_, parameter)| parameter),
        );
        self.out.push(Operation {
            method,
            path: path.to_owned(),
            verb: verb.to_owned(),
            nickname: format!("{verb}{}", of.strip_suffix("WithPath").unwrap_or(&of)),
            of,
            action,
            parameters,
            body: signature.body,
            result: signature.result,
            consumes: signature.consumes,
            produces: signature.produces,
            kind: self.resource.kind.clone(),
        });
    }

    fn write(&mut self, base: &str) {
        let Resource {
            plural,
            kind,
            namespaced,
            ..
        } = self.resource;
        let has = |verb: &str| self.resource.has_verb(verb);
        let (can_list, can_create, can_clear, can_watch) =
            (has("list"), has("create"), has("deletecollection"), has("watch"));
        let (can_get, can_update, can_patch, can_delete) = (has("get"), has("update"), has("patch"), has("delete"));
        let (model, list) = (self.model(kind), self.model(&format!("{kind}List")));
        let of = format!("Namespaced{kind}");
        let within = if *namespaced { "/namespaces/{namespace}" } else { "" };
        let (collection, object) = (
            format!("{base}{within}/{plural}"),
            format!("{base}{within}/{plural}/{{name}}"),
        );
        let patch = || Signature {
            consumes: PATCHES,
            ..Signature::objects(
                &[PRETTY, VALIDATION],
                Some("unversioned.Patch".to_owned()),
                model.clone(),
            )
        };
        let stream = || Signature {
            produces: STREAM,
            ..Signature::objects(&LIST, None, "json.WatchEvent")
        };
        if *namespaced && can_list {
            self.put(
                "GET",
                &format!("{base}/{plural}"),
                ("list", kind.clone()),
                "list",
                Signature::objects(&LIST, None, list.clone()),
            );
        }
        if can_list {
            self.put(
                "GET",
                &collection,
                ("list", of.clone()),
                "list",
                Signature::objects(&LIST, None, list),
            );
        }
        if can_create {
            self.put(
                "POST",
                &collection,
                ("create", of.clone()),
                "post",
                Signature::objects(&[PRETTY, VALIDATION], Some(model.clone()), model.clone()),
            );
        }
        if can_clear {
            self.put(
                "DELETE",
                &collection,
                ("deletecollection", of.clone()),
                "deletecollection",
                Signature::objects(&LIST, None, STATUS),
            );
        }
        if can_get {
            // Only objects that can be created can be exported.
            let parameters = if can_create { &READ[..] } else { &[PRETTY] };
            self.put(
                "GET",
                &object,
                ("read", of.clone()),
                "get",
                Signature::objects(parameters, None, model.clone()),
            );
        }
        if can_update {
            self.put(
                "PUT",
                &object,
                ("replace", of.clone()),
                "put",
                Signature::objects(&[PRETTY, VALIDATION], Some(model.clone()), model.clone()),
            );
        }
        if can_delete {
            let options = can_clear.then(|| "v1.DeleteOptions".to_owned());
            self.put(
                "DELETE",
                &object,
                ("delete", of.clone()),
                "delete",
                Signature::objects(&[PRETTY], options, STATUS),
            );
        }
        if can_patch {
            self.put("PATCH", &object, ("patch", of.clone()), "patch", patch());
        }
        if can_watch {
            if *namespaced {
                self.put(
                    "GET",
                    &format!("{base}/watch/{plural}"),
                    ("watch", format!("{kind}List")),
                    "watchlist",
                    stream(),
                );
            }
            self.put(
                "GET",
                &format!("{base}/watch{within}/{plural}"),
                ("watch", format!("{of}List")),
                "watchlist",
                stream(),
            );
            self.put(
                "GET",
                &format!("{base}/watch{within}/{plural}/{{name}}"),
                ("watch", of),
                "watch",
                stream(),
            );
        }
        for (part, kind) in &self.resource.subresources {
            self.write_subresource(&object, part, kind);
        }
    }

    fn write_subresource(&mut self, object: &str, part: &str, kind: &str) {
        let mut letters = part.chars();
        let title: String = letters
            .next()
            .map(|first| first.to_ascii_uppercase())
            .into_iter()
            .chain(letters)
            .collect();
        let path = format!("{object}/{part}");
        let (model, pod) = (self.model(kind), self.resource.kind.clone());
        let of = format!("Namespaced{pod}{title}");
        let first = self.out.len();
        match part {
            "status" | "finalize" => self.put(
                "PUT",
                &path,
                ("replace", of),
                "put",
                Signature::objects(&[PRETTY], Some(model.clone()), model),
            ),
            "binding" | "rollback" => self.put(
                "POST",
                &path,
                ("create", of),
                "post",
                Signature::objects(&[PRETTY], Some(model.clone()), model),
            ),
            "scale" => {
                let patch = Signature {
                    consumes: PATCHES,
                    ..Signature::objects(&[PRETTY], Some("unversioned.Patch".to_owned()), model.clone())
                };
                self.put(
                    "GET",
                    &path,
                    ("read", of.clone()),
                    "get",
                    Signature::objects(&[PRETTY], None, model.clone()),
                );
                self.put(
                    "PUT",
                    &path,
                    ("replace", of.clone()),
                    "put",
                    Signature::objects(&[PRETTY], Some(model.clone()), model),
                );
                self.put("PATCH", &path, ("patch", of), "patch", patch);
            }
            // v1.2 declares the pod as the response, not the text.
            "log" => self.put(
                "GET",
                &path,
                ("read", of),
                "get",
                Signature::objects(&LOG, None, self.model(&pod)),
            ),
            "attach" | "exec" | "portforward" => {
                let mut parameters = if part == "portforward" {
                    Vec::new()
                } else {
                    ATTACH.to_vec()
                };
                if part == "exec" {
                    parameters.push(COMMAND);
                }
                for (method, word) in [("GET", "Get"), ("POST", "Post")] {
                    self.put(
                        method,
                        &path,
                        ("connect", format!("{word}Namespaced{pod}{title}")),
                        "connect",
                        Signature::connection(&parameters),
                    );
                }
            }
            "proxy" => self.write_proxy(object),
            _ => {}
        }
        if matches!(part, "scale" | "binding" | "rollback") {
            // v1.2 uses the kind of the body in these names.
            for operation in self.out.iter_mut().skip(first) {
                operation.nickname = format!("{}Namespaced{kind}{title}", operation.verb);
            }
        }
    }

    /// Adds both forms of the proxy, with and without a path.
    fn write_proxy(&mut self, object: &str) {
        let kind = self.resource.kind.clone();
        let base = "/api/v1";
        let old = object.replacen(base, &format!("{base}/proxy"), 1);
        for (method, word) in Methods::PROXIED {
            for (path, end) in [("", ""), ("/{path}", "WithPath")] {
                let of = format!("{word}Namespaced{kind}Proxy{end}");
                self.put(
                    method,
                    &format!("{object}/proxy{path}"),
                    ("connect", of),
                    "connect",
                    Signature::connection(&[PROXIED]),
                );
                self.put(
                    method,
                    &format!("{old}{path}"),
                    ("proxy", format!("{method}Namespaced{kind}{end}")),
                    "proxy",
                    Signature::connection(&[]),
                );
            }
        }
    }
}

/// Returns the root path of a group version.
pub(super) fn base(version: &GroupVersion) -> String {
    if version.group.is_empty() {
        format!("/api/{}", version.version)
    } else {
        format!("/apis/{}/{}", version.group, version.version)
    }
}

/// Returns the operations of a group version, in the order of its resources.
pub(super) fn operations(version: &GroupVersion) -> Vec<Operation> {
    let mut out = Vec::new();
    for resource in version.resources() {
        Writer {
            resource,
            out: &mut out,
        }
        .write(&base(version));
    }
    out
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use http::Method;

    use super::*;
    use crate::{
        http::route::{Route, Table},
        scheme::Scheme,
    };

    #[test]
    fn every_operation_is_served_and_has_a_unique_id() {
        let table = Table::new(Scheme::builtin());
        let mut count = 0;
        for version in table.versions() {
            let mut names = HashSet::new();
            for operation in operations(version) {
                let path = operation
                    .path
                    .replace("{namespace}", "a")
                    .replace("{name}", "b")
                    .replace("{path}", "c/d");
                let method: Method = operation.method.parse().unwrap();
                assert!(
                    matches!(table.find(&path), Route::Endpoint(_, methods) if methods.has(&method)),
                    "{method} {path}"
                );
                assert!(
                    names.insert(format!("{}{}", operation.verb, operation.of)),
                    "{}{}",
                    operation.verb,
                    operation.of
                );
                count += 1;
            }
        }
        // Those of v1.2, except the four of discovery.
        assert_eq!(count, 359);
    }
}
