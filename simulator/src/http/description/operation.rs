//! The operations of a group version, as every form of description has them.

use crate::{
    http::route::{GroupVersion, Methods},
    scheme::Resource,
};

/// Where a parameter stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Path,
    Query,
}

/// A parameter but the body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) place: Place,
    /// `string`, `boolean` or `integer`.
    pub(super) kind: &'static str,
    pub(super) description: &'static str,
}

const fn query(name: &'static str, kind: &'static str, description: &'static str) -> Parameter {
    Parameter {
        name,
        place: Place::Query,
        kind,
        description,
    }
}

const fn segment(name: &'static str, description: &'static str) -> Parameter {
    Parameter {
        name,
        place: Place::Path,
        kind: "string",
        description,
    }
}

const PRETTY: Parameter = query("pretty", "string", "If 'true', then the output is pretty printed.");
const VALIDATION: Parameter = query(
    "fieldValidation",
    "string",
    "What becomes of fields that are not known: Ignore (the default), Warn or Strict, which refuses them.",
);
const LIST: [Parameter; 6] = [
    PRETTY,
    query(
        "labelSelector",
        "string",
        "A selector to restrict the list of returned objects by their labels. Defaults to everything.",
    ),
    query(
        "fieldSelector",
        "string",
        "A selector to restrict the list of returned objects by their fields. Defaults to everything.",
    ),
    query(
        "watch",
        "boolean",
        "Watch for changes to the described resources and return them as a stream of add, update, and remove notifications.",
    ),
    query(
        "resourceVersion",
        "string",
        "With watch, shows changes that occur after that version of a resource. Defaults to changes from the beginning of history.",
    ),
    query(
        "timeoutSeconds",
        "integer",
        "Timeout for the list or watch call, in seconds.",
    ),
];
const READ: [Parameter; 3] = [
    PRETTY,
    query("export", "boolean", "Strips what a user cannot specify."),
    query(
        "exact",
        "boolean",
        "With export, keeps what belongs to this cluster, such as the namespace.",
    ),
];
const ATTACH: [Parameter; 5] = [
    query(
        "stdin",
        "boolean",
        "Redirects the container's standard input. Defaults to false.",
    ),
    query(
        "stdout",
        "boolean",
        "Redirects the container's standard output. Defaults to true.",
    ),
    query(
        "stderr",
        "boolean",
        "Redirects the container's standard error. Defaults to true.",
    ),
    query(
        "tty",
        "boolean",
        "Allocates a terminal for the call. Defaults to false.",
    ),
    query("container", "string", "The container; needed where there are several."),
];
const COMMAND: Parameter = query("command", "string", "The command, word by word.");
const LOG: [Parameter; 9] = [
    PRETTY,
    query("container", "string", "The container; needed where there are several."),
    query("follow", "boolean", "Goes on as the log is written. Defaults to false."),
    query(
        "previous",
        "boolean",
        "The log of the container before this one. Defaults to false.",
    ),
    query(
        "sinceSeconds",
        "integer",
        "So many seconds back. Only one of sinceSeconds and sinceTime may be given.",
    ),
    query(
        "sinceTime",
        "string",
        "From this time on, RFC 3339. Only one of sinceSeconds and sinceTime may be given.",
    ),
    query(
        "timestamps",
        "boolean",
        "Begins each line with its time. Defaults to false.",
    ),
    query("tailLines", "integer", "So many lines from the end."),
    query("limitBytes", "integer", "So many bytes at most."),
];
const PROXIED: Parameter = query(
    "path",
    "string",
    "The part of the target's URL after its root: path, suffix and parameters.",
);
const NAMESPACE: Parameter = segment("namespace", "The namespace's name.");
const NAME: Parameter = segment("name", "The object's name.");
const PATH: Parameter = segment("path", "The path to the resource.");

pub(super) const ANY: &[&str] = &["*/*"];
pub(super) const OBJECTS: &[&str] = &["application/json", "application/yaml"];
pub(super) const STREAM: &[&str] = &["application/json"];
pub(super) const PATCHES: &[&str] = &[
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
];
const TEXT: &[&str] = &["text/plain"];

/// An operation.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    pub(super) method: &'static str,
    /// With `{namespace}`, `{name}` and `{path}`.
    pub(super) path: String,
    /// The first word of its name: `list`.
    pub(super) verb: String,
    /// The rest of its name, which no other operation of the group version has: `NamespacedPod`.
    pub(super) of: String,
    /// The name that v1.2 has for it, which others may have too.
    pub(super) nickname: String,
    /// What kind of operation it is, in one word.
    pub(super) action: &'static str,
    pub(super) parameters: Vec<Parameter>,
    /// The model of the body.
    pub(super) body: Option<String>,
    /// The model of the result; `string` for what is none.
    pub(super) result: String,
    pub(super) consumes: &'static [&'static str],
    pub(super) produces: &'static [&'static str],
    /// The kind that it is about.
    pub(super) kind: String,
}

/// Collects operations of one resource.
struct Writer<'a> {
    resource: &'a Resource,
    out: &'a mut Vec<Operation>,
}

/// What an operation takes and gives, beside its path.
struct Terms<'a> {
    parameters: &'a [Parameter],
    body: Option<String>,
    result: String,
    consumes: &'static [&'static str],
    produces: &'static [&'static str],
}

impl<'a> Terms<'a> {
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
        terms: Terms<'_>,
    ) {
        let segments = [("{namespace}", NAMESPACE), ("{name}", NAME), ("{path}", PATH)];
        let mut parameters = terms.parameters.to_vec();
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
            body: terms.body,
            result: terms.result,
            consumes: terms.consumes,
            produces: terms.produces,
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
        let patch = || Terms {
            consumes: PATCHES,
            ..Terms::objects(
                &[PRETTY, VALIDATION],
                Some("unversioned.Patch".to_owned()),
                model.clone(),
            )
        };
        let stream = || Terms {
            produces: STREAM,
            ..Terms::objects(&LIST, None, "json.WatchEvent")
        };
        if *namespaced && can_list {
            self.put(
                "GET",
                &format!("{base}/{plural}"),
                ("list", kind.clone()),
                "list",
                Terms::objects(&LIST, None, list.clone()),
            );
        }
        if can_list {
            self.put(
                "GET",
                &collection,
                ("list", of.clone()),
                "list",
                Terms::objects(&LIST, None, list),
            );
        }
        if can_create {
            self.put(
                "POST",
                &collection,
                ("create", of.clone()),
                "post",
                Terms::objects(&[PRETTY, VALIDATION], Some(model.clone()), model.clone()),
            );
        }
        if can_clear {
            self.put(
                "DELETE",
                &collection,
                ("deletecollection", of.clone()),
                "deletecollection",
                Terms::objects(&LIST, None, STATUS),
            );
        }
        if can_get {
            // What cannot be created need not be exported.
            let parameters = if can_create { &READ[..] } else { &[PRETTY] };
            self.put(
                "GET",
                &object,
                ("read", of.clone()),
                "get",
                Terms::objects(parameters, None, model.clone()),
            );
        }
        if can_update {
            self.put(
                "PUT",
                &object,
                ("replace", of.clone()),
                "put",
                Terms::objects(&[PRETTY, VALIDATION], Some(model.clone()), model.clone()),
            );
        }
        if can_delete {
            let options = can_clear.then(|| "v1.DeleteOptions".to_owned());
            self.put(
                "DELETE",
                &object,
                ("delete", of.clone()),
                "delete",
                Terms::objects(&[PRETTY], options, STATUS),
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
            self.write_part(&object, part, kind);
        }
    }

    fn write_part(&mut self, object: &str, part: &str, kind: &str) {
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
                Terms::objects(&[PRETTY], Some(model.clone()), model),
            ),
            "binding" | "rollback" => self.put(
                "POST",
                &path,
                ("create", of),
                "post",
                Terms::objects(&[PRETTY], Some(model.clone()), model),
            ),
            "scale" => {
                let patch = Terms {
                    consumes: PATCHES,
                    ..Terms::objects(&[PRETTY], Some("unversioned.Patch".to_owned()), model.clone())
                };
                self.put(
                    "GET",
                    &path,
                    ("read", of.clone()),
                    "get",
                    Terms::objects(&[PRETTY], None, model.clone()),
                );
                self.put(
                    "PUT",
                    &path,
                    ("replace", of.clone()),
                    "put",
                    Terms::objects(&[PRETTY], Some(model.clone()), model),
                );
                self.put("PATCH", &path, ("patch", of), "patch", patch);
            }
            "log" => self.put(
                "GET",
                &path,
                ("read", format!("Namespaced{pod}Log")),
                "get",
                Terms {
                    produces: TEXT,
                    ..Terms::objects(&LOG, None, "string")
                },
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
                        Terms::connection(&parameters),
                    );
                }
            }
            "proxy" => self.write_proxy(object),
            _ => {}
        }
        if matches!(part, "scale" | "binding" | "rollback") {
            // v1.2 names these after what is written, not after what it is written to.
            for operation in self.out.iter_mut().skip(first) {
                operation.nickname = format!("{}Namespaced{kind}{title}", operation.verb);
            }
        }
    }

    /// Both forms of the proxy, with a path and without.
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
                    Terms::connection(&[PROXIED]),
                );
                self.put(
                    method,
                    &format!("{old}{path}"),
                    ("proxy", format!("{method}Namespaced{kind}{end}")),
                    "proxy",
                    Terms::connection(&[]),
                );
            }
        }
    }
}

/// The path below which a group version stands.
pub(super) fn base(version: &GroupVersion) -> String {
    if version.group.is_empty() {
        format!("/api/{}", version.version)
    } else {
        format!("/apis/{}/{}", version.group, version.version)
    }
}

/// The operations of a group version, in the order of its resources.
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
    fn every_operation_is_served_and_has_a_name_of_its_own() {
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
                    matches!(table.find(&path), Route::Target(_, methods) if methods.has(&method)),
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
        // As many as v1.2 describes, but for the four that are discovery.
        assert_eq!(count, 359);
    }
}
