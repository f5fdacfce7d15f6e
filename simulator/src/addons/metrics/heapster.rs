//! The metrics collector: Heapster's model API.

use std::{collections::BTreeSet, sync::Arc};

use futures::future::BoxFuture;
use hyper::{Request, Response, StatusCode};
use jiff::Timestamp;
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};
use url::form_urlencoded;

use super::{
    json as respond,
    samples::{Metric, Points, Samples, Source, sum},
};
use crate::{
    clock::stamp,
    cluster::network::{Backend, Body, full_body},
};

/// Root path of the model.
const MODEL: &str = "/api/v1/model";

/// The server of the metrics collector.
pub(in crate::addons) struct Heapster(Arc<Samples>);

/// The time range of a request.
struct Range {
    start: Timestamp,
    end: Timestamp,
}

impl Heapster {
    pub(in crate::addons) fn new(samples: Arc<Samples>) -> Self {
        Self(samples)
    }

    fn respond(&self, path: &str, query: &str) -> Response<Body> {
        if path == "/healthz" {
            return Response::new(full_body("ok"));
        }
        let parts: Option<Vec<String>> = path.strip_prefix(MODEL).map(|rest| {
            let parts = rest.split('/').filter(|part| !part.is_empty());
            parts
                .map(|part| percent_decode_str(part).decode_utf8_lossy().into_owned())
                .collect()
        });
        let parts = parts.unwrap_or_else(|| vec![String::new()]);
        let names: Vec<&str> = parts.iter().map(String::as_str).collect();
        match self.model(&names, &range(query)) {
            Some(value) => respond(StatusCode::OK, &value),
            None => respond(StatusCode::NOT_FOUND, &json!({"error": "no such entity or metric"})),
        }
    }

    /// Returns the model at a path, or `None` if there is nothing.
    fn model(&self, path: &[&str], range: &Range) -> Option<Value> {
        let names = |of: fn(&Source) -> &str, wanted: &dyn Fn(&Source) -> bool| {
            let sources = self.0.sources();
            let names: BTreeSet<String> = sources
                .iter()
                .filter(|source| wanted(source))
                .map(|source| of(source).to_owned())
                .collect();
            Some(json!(names))
        };
        let any = |_: &Source| true;
        match path {
            ["namespaces"] => names(|source| &source.namespace, &any),
            ["nodes"] => names(|source| &source.node, &any),
            ["namespaces", namespace, "pods"] => names(|source| &source.pod, &|source| source.namespace == *namespace),
            ["nodes", node, "pods"] => names(|source| &source.pod, &|source| source.node == *node),
            ["namespaces", namespace, "pod-list", pods, "metrics", metric @ ..] => {
                let metric = Metric::named(&metric.join("/"))?;
                let one = |pod: &str| {
                    let points = self
                        .0
                        .of(metric, |source| source.namespace == *namespace && source.pod == pod);
                    result(sum(points), range)
                };
                Some(json!({"items": pods.split(',').map(one).collect::<Vec<_>>()}))
            }
            ["metrics", metric @ ..] => self.metric(metric, range, any),
            ["nodes", node, "metrics", metric @ ..] => self.metric(metric, range, |source| source.node == *node),
            ["namespaces", namespace, "metrics", metric @ ..] => {
                self.metric(metric, range, |source| source.namespace == *namespace)
            }
            ["namespaces", namespace, "pods", pod, "metrics", metric @ ..] => self.metric(metric, range, |source| {
                source.namespace == *namespace && source.pod == *pod
            }),
            _ => None,
        }
    }

    /// Returns the metrics of an entity, or the values of one metric.
    fn metric(&self, name: &[&str], range: &Range, wanted: impl Fn(&Source) -> bool) -> Option<Value> {
        if name.is_empty() {
            let known = Metric::ALL
                .into_iter()
                .filter(|metric| !self.0.of(*metric, &wanted).is_empty());
            return Some(json!(known.map(Metric::name).collect::<Vec<_>>()));
        }
        let points = self.0.of(Metric::named(&name.join("/"))?, wanted);
        (!points.is_empty()).then(|| result(sum(points), range))
    }
}

fn range(query: &str) -> Range {
    let time = |name: &str| {
        let value = form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == name);
        value.and_then(|(_, value)| value.parse::<Timestamp>().ok())
    };
    Range {
        start: time("start").unwrap_or(Timestamp::MIN),
        end: time("end").unwrap_or(Timestamp::MAX),
    }
}

fn result(points: Points, range: &Range) -> Value {
    let latest = points.last().map(|(at, _)| stamp(*at));
    let within = points.iter().filter(|(at, _)| range.start <= *at && *at <= range.end);
    let metrics: Vec<Value> = within
        .map(|(at, value)| json!({"timestamp": stamp(*at), "value": value}))
        .collect();
    json!({"metrics": metrics, "latestTimestamp": latest.unwrap_or_else(|| "0001-01-01T00:00:00Z".to_owned())})
}

impl Backend for Heapster {
    fn answer(&self, request: Request<Body>) -> BoxFuture<'static, Response<Body>> {
        let response = self.respond(request.uri().path(), request.uri().query().unwrap_or_default());
        Box::pin(async move { response })
    }
}
