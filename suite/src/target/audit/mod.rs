//! Checks of all responses of a trial against each other, independent of the case.
//!
//! Guarantees:
//! - Only objects of the trial are compared, by the prefix of their names.
//! - A response is compared with those received before its request was sent, so concurrent requests are no
//!   contradiction.
//!
//! Rules:
//! - A Status of failure is complete, and its details and message are those of its reason.
//! - Media type and layout are those that were requested.
//! - An object has its system fields, keeps uid and creation time, and has no null field.
//! - A creation, a replacement or a merge patch returns what was sent.
//! - One version has one content, in every response. A later version that is read has other content.
//! - Versions do not decrease, and a write is later than every list returned before it.
//! - A new spec has a new generation, a new status does not.
//! - A write of the status changes nothing else, and any other write does not change the status.
//! - A deletion returns the object as it was.
//! - A deleted object is absent, and any other object is listed.
//! - A scale has the metadata, the selector and the replicas of its object.
//!
//! Limits:
//! - Responses of up to [`MAX_RESPONSE_BYTES`], and the last [`MAX_VERSIONS`] versions of an object. Watches have their
//!   own checks.
//!
//! Source: the recorded server. The documentation says nothing about these rules, so every mismatch is a `should`.

mod facts;
mod failure;
mod form;
mod resource;
mod scale;
mod sent;

use std::collections::BTreeMap;

use http::Method;
use serde_json::Value;

use crate::catalog::Level;
use crate::check::{self, Answer, Mismatch, Named, is_compact, is_later, is_pretty, number};
use crate::request::{Media, Request, decode};
use facts::{Facts, Seen};
use resource::Resource;

/// Maximum size of a response that is checked, in bytes.
const MAX_RESPONSE_BYTES: usize = 1 << 20;
/// Maximum number of versions kept per object.
const MAX_VERSIONS: usize = 64;
/// Maximum number of mismatches kept.
const MAX_MISMATCHES: usize = 3;

/// Query parameters.
type Query = BTreeMap<String, String>;

/// Logical time: the number of responses received so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment(usize);

/// Checks of the responses of one trial, with the facts seen so far.
#[derive(Debug)]
pub(crate) struct Audit {
    stem: String,
    answers: usize,
    /// Whether the response to a write could not be parsed, so that there may be unknown objects.
    unread: bool,
    facts: Facts,
    mismatches: Vec<Mismatch>,
}

impl Audit {
    /// Creates an audit of the objects whose names have the prefix `stem`.
    pub(super) fn new(stem: impl Into<String>) -> Self {
        Self {
            stem: stem.into(),
            answers: 0,
            unread: false,
            facts: Facts::default(),
            mismatches: Vec::new(),
        }
    }

    /// Returns the mismatches so far.
    pub(super) fn mismatches(&self) -> Vec<Mismatch> {
        self.mismatches.clone()
    }

    /// Records that a request is about to be sent.
    pub(super) fn sent(&mut self, request: &Request) -> Moment {
        if request.method == Method::DELETE
            && let Some(resource) = Resource::of(path(request))
        {
            self.facts.deletion_requested(&resource);
        }
        Moment(self.answers)
    }

    /// Checks the response to a request that was sent at a time.
    pub(super) fn answered(&mut self, request: &Request, answer: &Answer, sent: Moment) {
        self.answers += 1;
        let Some(resource) = Resource::of(path(request)) else {
            return;
        };
        let query = query(request);
        let text = answer.text();
        let body = read(&text).filter(|_| answer.body.len() <= MAX_RESPONSE_BYTES);
        let Some((media, body)) = body.filter(|_| !query.contains_key("watch")) else {
            self.unread |= request.method != Method::GET && request.method != Method::DELETE;
            return;
        };
        let mut found = representation(&query, answer, &text, media);
        if answer.status >= 400 {
            if text_of(&body, "/kind") == "Status" {
                found.extend(check::error_status(answer.status, None, &Named::default(), &[], &body));
                found.extend(failure::form(answer.status, &resource, &body));
            }
            if answer.status == 404 && request.method == Method::GET {
                found.extend(self.facts.lost(&resource, sent));
                found.extend(form::not_found(&resource, &body));
            }
        } else if resource.is_of_objects() && !query.contains_key("export") {
            found.extend(self.of_success(request, &query, &resource, answer.status, &body, sent));
        } else if resource.subresource.as_deref() == Some("scale")
            && let Some(object) = self.facts.last(&resource)
        {
            found.extend(scale::differences(object, &body));
        }
        let request = format!("{} {}", request.method, request.target());
        for mut mismatch in found {
            if self.mismatches.len() < MAX_MISMATCHES {
                mismatch.about = format!("response to {request}, {}", mismatch.about);
                self.mismatches.push(mismatch.at(Level::Should));
            }
        }
    }

    /// Checks a successful response.
    fn of_success(
        &mut self,
        request: &Request,
        query: &Query,
        resource: &Resource,
        code: u16,
        body: &Value,
        sent: Moment,
    ) -> Vec<Mismatch> {
        let method = &request.method;
        let asks = |wanted: &str| query.contains_key(wanted);
        let items = body.get("items").filter(|_| resource.name.is_none());
        if method == Method::DELETE {
            let found = match items {
                Some(Value::Array(items)) => {
                    let before = |item| self.facts.before_deletion(resource, item);
                    let items: Vec<Value> = items.iter().map(before).collect();
                    self.of_list(resource, body, &items, sent, true, false)
                }
                _ if text_of(body, "/kind") == "Status" => check::status_of_success(code, body),
                _ => {
                    let before = self.facts.before_deletion(resource, body);
                    self.of_object(request, resource, &before, sent)
                }
            };
            self.facts.deleted(resource, Moment(self.answers));
            return found;
        }
        if let Some(Value::Array(items)) = items {
            // A list with resourceVersion may come from a cache.
            let fresh = !asks("resourceVersion");
            let whole = fresh && !asks("labelSelector") && !asks("fieldSelector");
            return self.of_list(resource, body, items, sent, fresh, whole);
        }
        if method == Method::POST && resource.name.is_some() {
            return Vec::new();
        }
        self.of_object(request, resource, body, sent)
    }

    /// Checks an object that a request returned.
    fn of_object(&mut self, request: &Request, resource: &Resource, body: &Value, sent: Moment) -> Vec<Mismatch> {
        let method = &request.method;
        let name = resource.name.clone().unwrap_or_else(|| text_of(body, "/metadata/name"));
        let has_uid = body.pointer("/metadata/uid").is_some();
        if !name.starts_with(&self.stem) || !(has_uid || self.facts.has(resource, &resource.namespace, &name)) {
            return Vec::new();
        }
        let seen = Seen {
            method: Some(method),
            sent,
            answered: Moment(self.answers),
            fresh: true,
            made: method == Method::POST || is_replaced(request, body),
        };
        let mut found = form::times(body);
        found.extend(form::of_path(resource, body));
        found.extend(form::null(body));
        found.extend(sent::kept(request, resource.subresource.is_some(), body));
        found.extend(self.facts.object(resource, &resource.namespace, body, &seen));
        found
    }

    /// Checks the items of a list.
    fn of_list(
        &mut self,
        resource: &Resource,
        list: &Value,
        items: &[Value],
        sent: Moment,
        fresh: bool,
        whole: bool,
    ) -> Vec<Mismatch> {
        let seen = Seen {
            method: None,
            sent,
            answered: Moment(self.answers),
            fresh,
            made: false,
        };
        let version = text_of(list, "/metadata/resourceVersion");
        let mut found = form::of_collection(resource, list);
        let own = items
            .iter()
            .filter(|item| text_of(item, "/metadata/name").starts_with(&self.stem));
        let mut listed = Vec::new();
        for item in own {
            let (namespace, name) = (text_of(item, "/metadata/namespace"), text_of(item, "/metadata/name"));
            if !self.unread && !self.facts.has(resource, &namespace, &name) {
                found.push(Mismatch::new(
                    "items",
                    "only objects that were created",
                    format!("{name}, which was not created"),
                ));
            }
            listed.push((namespace.clone(), name.clone()));
            if !resource.namespace.is_empty() && namespace != resource.namespace {
                let about = format!("namespace of item {name}");
                found.push(Mismatch::new(about, &resource.namespace, &namespace));
            }
            let link = text_of(item, "/metadata/selfLink");
            let expected = resource.path_of(&namespace, &name);
            if link != expected {
                found.push(Mismatch::new(format!("self link of item {name}"), expected, link));
            }
            for field in ["kind", "apiVersion"] {
                if let Some(value) = item.get(field) {
                    let about = format!("{field} of item {name}");
                    found.push(Mismatch::new(about, "absent", value.to_string()));
                }
            }
            let of_item = text_of(item, "/metadata/resourceVersion");
            if number(&of_item).is_some() && is_later(&of_item, &version) {
                let expected = format!("at most the version of the list, {version}");
                found.push(Mismatch::new(format!("version of item {name}"), expected, of_item));
            }
            found.extend(form::times(item));
            found.extend(form::null(item));
            found.extend(self.facts.object(resource, &namespace, item, &seen));
        }
        self.facts.listed(resource, &version, seen.answered);
        if whole {
            found.extend(self.facts.missing(resource, sent, &listed));
        }
        found
    }
}

/// Whether a replacement that names a version returned another version.
fn is_replaced(request: &Request, object: &Value) -> bool {
    let version = |object: &Value| number(&text_of(object, "/metadata/resourceVersion")).filter(|version| *version > 0);
    let sent = request.body.as_ref().and_then(|body| serde_json::from_slice(body).ok());
    let sent = sent.and_then(|sent| version(&sent));
    request.method == Method::PUT && sent.is_some() && sent != version(object)
}

/// Parses the body of a response. `None` if it is not an API object.
fn read(text: &str) -> Option<(Media, Value)> {
    let read = |media| decode(text, media).ok().filter(|value| value.get("kind").is_some());
    let media = if text.trim_start().starts_with('{') {
        Media::Json
    } else {
        Media::Yaml
    };
    Some((media, read(media)?))
}

/// Returns the path of a request, without the query.
fn path(request: &Request) -> &str {
    request.path.split('?').next().unwrap_or_default()
}

/// Returns the query parameters of a request.
fn query(request: &Request) -> Query {
    let target = request.target();
    let query = target.split_once('?').map_or("", |(_, query)| query);
    url::form_urlencoded::parse(query.as_bytes()).into_owned().collect()
}

/// Checks media type and layout.
fn representation(query: &Query, answer: &Answer, text: &str, media: Media) -> Vec<Mismatch> {
    let mut found = Vec::new();
    let content_type = answer.content_type.clone().unwrap_or_default();
    if Media::of(&content_type) != Some(media) {
        found.push(Mismatch::new(
            "content type",
            format!("that of {media:?}"),
            content_type,
        ));
    }
    if answer.is_cacheable() {
        found.push(Mismatch::new("cache-control", "no caching", "a cacheable response"));
    }
    match query.get("pretty").map(String::as_str) {
        Some("true") if media == Media::Json && !is_pretty(text) => {
            found.push(Mismatch::new("layout", "indented lines", "another layout"));
        }
        None | Some("false") if media == Media::Json && !is_compact(text) => {
            found.push(Mismatch::new("layout", "one line", "several lines"));
        }
        _ => {}
    }
    found
}

/// Returns the text at a pointer, or an empty one.
fn text_of(value: &Value, pointer: &str) -> String {
    let text = value.pointer(pointer).and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    const COLLECTION: &str = "/api/v1/namespaces/n/pods";
    const OBJECT: &str = "/api/v1/namespaces/n/pods/t-a";

    fn answer(status: u16, body: &Value) -> Answer {
        Answer {
            status,
            content_type: Some("application/json".to_owned()),
            body: body.to_string().into(),
            ..Answer::default()
        }
    }

    fn pod(version: u64) -> Value {
        json!({"kind": "Pod", "apiVersion": "v1", "spec": {"nodeName": "x"},
               "metadata": {"name": "t-a", "namespace": "n", "uid": "1", "resourceVersion": version.to_string(),
                            "generation": 1, "selfLink": OBJECT, "creationTimestamp": "2016-03-01T00:00:00Z"}})
    }

    fn list(version: u64, items: &[Value]) -> Value {
        let without_type = |item: &Value| check::without(item, &["kind", "apiVersion"]);
        let items: Vec<Value> = items.iter().map(without_type).collect();
        json!({"kind": "PodList", "apiVersion": "v1", "items": items,
               "metadata": {"resourceVersion": version.to_string(), "selfLink": COLLECTION}})
    }

    /// Returns the mismatches of consecutive responses.
    fn wrong(answers: &[(Method, &str, u16, Value)]) -> Vec<String> {
        let mut audit = Audit::new("t-");
        for (method, path, status, body) in answers {
            let request = Request::new(method.clone(), *path);
            let sent = audit.sent(&request);
            audit.answered(&request, &answer(*status, body), sent);
        }
        audit.mismatches().into_iter().map(|mismatch| mismatch.about).collect()
    }

    fn with(mut object: Value, pointer: &str, value: Value) -> Value {
        *object.pointer_mut(pointer).unwrap() = value;
        object
    }

    #[test]
    fn consistent_responses_pass() {
        let deleted = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 200});
        let found = wrong(&[
            (Method::POST, COLLECTION, 201, pod(3)),
            (Method::GET, OBJECT, 200, pod(3)),
            (Method::GET, COLLECTION, 200, list(4, &[pod(3)])),
            (Method::PATCH, OBJECT, 200, pod(5)),
            (Method::DELETE, OBJECT, 200, deleted),
            (Method::GET, COLLECTION, 200, list(6, &[])),
            (Method::POST, COLLECTION, 201, with(pod(7), "/metadata/uid", "2".into())),
        ]);
        assert_eq!(found, Vec::<String>::new());
    }

    #[test]
    fn details_of_not_found_have_the_resource() {
        let of = |kind: &str| {
            let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 404,
                                "message": format!("{kind} \"t-a\" not found"), "reason": "NotFound",
                                "details": {"name": "t-a", "kind": kind}});
            wrong(&[(Method::GET, OBJECT, 404, status)]).len()
        };
        assert_eq!((of("pods"), of("pod")), (0, 1));
    }

    #[rstest]
    #[case::other_content(with(pod(3), "/spec/nodeName", "y".into()), "version 3 of t-a")]
    #[case::other_uid(with(pod(4), "/metadata/uid", "2".into()), "uid of t-a")]
    #[case::went_back(pod(2), "version of t-a")]
    #[case::another_version(pod(4), "version of t-a")]
    #[case::fractions(with(pod(3), "/metadata/creationTimestamp", "2016-03-01T00:00:00.5Z".into()), "creationTimestamp")]
    fn a_read_that_contradicts_a_write_fails(#[case] read: Value, #[case] about: &str) {
        let found = wrong(&[
            (Method::POST, COLLECTION, 201, pod(3)),
            (Method::GET, OBJECT, 200, read),
        ]);
        assert!(found.iter().any(|found| found.contains(about)), "{found:?}");
    }

    #[rstest]
    #[case::lacks_an_object(list(4, &[]), "items")]
    #[case::has_a_later_object(list(2, &[pod(3)]), "version of item t-a")]
    #[case::has_another(list(4, &[pod(3), with(pod(4), "/metadata/name", "t-b".into())]), "items")]
    #[case::has_another_link(list(4, &[with(pod(3), "/metadata/selfLink", OBJECT[1..].into())]), "self link of item t-a")]
    fn a_list_that_contradicts_a_write_fails(#[case] list: Value, #[case] about: &str) {
        let found = wrong(&[
            (Method::POST, COLLECTION, 201, pod(3)),
            (Method::GET, COLLECTION, 200, list),
        ]);
        assert!(found.iter().any(|found| found.contains(about)), "{found:?}");
    }

    #[test]
    fn a_deleted_object_is_absent_unless_it_is_being_deleted() {
        let deleted = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 200});
        let after = |read: Value| {
            wrong(&[
                (Method::POST, COLLECTION, 201, pod(3)),
                (Method::DELETE, OBJECT, 200, deleted.clone()),
                (Method::GET, OBJECT, 200, read),
            ])
        };
        assert_eq!(after(pod(3)).len(), 1);
        let mut leaving = pod(4);
        leaving["metadata"]["deletionTimestamp"] = "2016-03-01T00:00:09Z".into();
        assert_eq!(after(leaving), Vec::<String>::new());
    }

    #[test]
    fn a_new_spec_has_a_new_generation_and_a_replaced_status_has_not() {
        let status = format!("{OBJECT}/status");
        let put = |path: &str, object: Value| {
            wrong(&[
                (Method::POST, COLLECTION, 201, pod(3)),
                (Method::PUT, path, 200, object),
            ])
        };
        let spec = with(pod(4), "/spec/nodeName", "y".into());
        assert_eq!(put(OBJECT, spec.clone()).len(), 1);
        assert_eq!(
            put(OBJECT, with(spec, "/metadata/generation", 2.into())),
            Vec::<String>::new()
        );
        let of_status = with(pod(4), "/metadata/selfLink", status.as_str().into());
        assert_eq!(put(&status, of_status.clone()), Vec::<String>::new());
        assert_eq!(put(&status, with(of_status, "/metadata/generation", 2.into())).len(), 1);
    }

    #[rstest]
    #[case::creation(Request::new(Method::POST, COLLECTION), 1)]
    #[case::replacement(Request::new(Method::PUT, OBJECT).with_body("json", pod(5).to_string()), 1)]
    #[case::replacement_that_changes_nothing(Request::new(Method::PUT, OBJECT).with_body("json", pod(8).to_string()), 0)]
    fn a_write_is_later_than_earlier_lists(#[case] write: Request, #[case] wrong: usize) {
        let mut audit = Audit::new("t-");
        audit.answered(&Request::get(COLLECTION), &answer(200, &list(9, &[])), Moment(0));
        audit.answered(&write, &answer(200, &pod(8)), Moment(1));
        assert_eq!(audit.mismatches().len(), wrong);
    }

    #[test]
    fn answers_to_concurrent_requests_do_not_contradict_each_other() {
        let mut audit = Audit::new("t-");
        let (read, write) = (Request::get(OBJECT), Request::new(Method::PUT, OBJECT));
        let (first, second) = (audit.sent(&read), audit.sent(&write));
        audit.answered(&write, &answer(200, &pod(5)), second);
        audit.answered(&read, &answer(200, &pod(3)), first);
        assert_eq!(audit.mismatches(), []);
    }

    #[test]
    fn a_status_of_failure_is_complete_and_has_the_requested_layout() {
        let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                            "message": "no", "reason": "NotFound", "code": 404});
        assert_eq!(
            wrong(&[(Method::GET, OBJECT, 404, status.clone())]),
            Vec::<String>::new()
        );
        let other = with(status.clone(), "/reason", "Gone".into());
        assert_eq!(wrong(&[(Method::GET, OBJECT, 404, other)]).len(), 1);
        let pretty = format!("{OBJECT}?pretty=true");
        assert_eq!(wrong(&[(Method::GET, &pretty, 404, status)]).len(), 1);
    }
}
