//! A request to the server, and its alterations.

use bytes::Bytes;
use serde_json::Value;

use crate::{
    alter::{alter, alter_leaf, first_requirement, shift},
    answer::replaced,
    mutant::Ask,
    proxy::ProxyError,
};

/// A request to the server.
pub(crate) struct ForwardedRequest {
    pub(crate) method: http::Method,
    pub(crate) path: String,
    pub(crate) query: Vec<(String, String)>,
    /// The raw query, and its parsed form.
    pub(crate) sent: (Option<String>, Vec<(String, String)>),
    pub(crate) headers: http::HeaderMap,
    pub(crate) body: Bytes,
}

impl ForwardedRequest {
    /// Returns its URL on a server.
    pub(crate) fn url(&self, upstream: &str) -> Result<url::Url, ProxyError> {
        let mut url = url::Url::parse(&format!("{upstream}{}", self.path))?;
        if self.query == self.sent.1 {
            url.set_query(self.sent.0.as_deref());
        } else if !self.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&self.query);
        }
        Ok(url)
    }
}

/// Keeps the first of several headers with one name.
pub(crate) fn one_of_each(headers: &mut http::HeaderMap) {
    let names: Vec<http::HeaderName> = headers.keys().cloned().collect();
    for name in names {
        if let Some(first) = headers.get(&name).cloned() {
            headers.insert(name, first);
        }
    }
}

/// Alters a request.
pub(crate) fn altered(forwarded: &mut ForwardedRequest, ask: &Ask, stars: Vec<String>) -> Result<(), ProxyError> {
    forwarded
        .query
        .retain(|(name, _)| !ask.without.contains(name) && !ask.query.contains_key(name));
    forwarded.query.extend(ask.query.clone());
    for (name, value) in &ask.default {
        if !forwarded.query.iter().any(|(other, _)| other == name) {
            forwarded.query.push((name.clone(), value.clone()));
        }
    }
    if ask.query_reversed {
        forwarded.query.reverse();
    }
    if let Some(text) = &mut forwarded.sent.0 {
        for (from, to) in &ask.query_text {
            *text = text.replace(from.as_str(), to);
        }
    }
    for (name, value) in &mut forwarded.query {
        for (from, to) in ask.query_replace.get(name).into_iter().flatten() {
            *value = value.replace(from, to);
        }
        if ask.first_requirement.contains(name) {
            *value = first_requirement(value);
        }
        if let (Some(by), Ok(number)) = (ask.query_shift.get(name), value.parse::<i64>()) {
            *value = (number + by).to_string();
        }
    }
    if ask.last_of_a_name {
        let names: Vec<String> = forwarded.query.iter().map(|(name, _)| name.clone()).collect();
        let mut index = 0;
        forwarded.query.retain(|(name, _)| {
            index += 1;
            !names[index..].contains(name)
        });
    }
    if ask.one_of_a_header {
        one_of_each(&mut forwarded.headers);
    }
    for name in &ask.without {
        forwarded.headers.remove(name.as_str());
    }
    if let Some(pattern) = &ask.path {
        let mut stars = stars.into_iter();
        let segments = pattern.split('/').map(|segment| match segment {
            "*" => stars.next().unwrap_or_default(),
            segment => segment.to_owned(),
        });
        forwarded.path = segments.collect::<Vec<_>>().join("/");
    }
    other_path(forwarded, ask);
    if let Some(other) = &ask.method {
        forwarded.method = other.parse()?;
        forwarded.body = Bytes::new();
    }
    if ask.no_body {
        forwarded.body = Bytes::new();
    }
    if let Some(content_type) = &ask.content_type {
        forwarded.headers.insert("content-type", content_type.parse()?);
    }
    forwarded.body.truncate(ask.body_truncate.unwrap_or(usize::MAX));
    if ask.body_as_text {
        forwarded.body = String::from_utf8_lossy(&forwarded.body).into_owned().into();
    }
    if !ask.body_replace.is_empty() {
        forwarded.body = replaced(&forwarded.body, &ask.body_replace);
    }
    let alters_body = !ask.body_set.is_empty()
        || !ask.body_remove.is_empty()
        || !ask.body_shift.is_empty()
        || ask.body_leaf.is_some();
    if let Some(mut value) = serde_json::from_slice::<Value>(&forwarded.body)
        .ok()
        .filter(|_| alters_body)
    {
        alter(&mut value, &ask.body_set, &ask.body_remove);
        shift(&mut value, &ask.body_shift);
        if let Some(leaf) = &ask.body_leaf {
            alter_leaf(&mut value, leaf);
        }
        forwarded.body = value.to_string().into();
    }
    Ok(())
}

/// Alters the path.
fn other_path(forwarded: &mut ForwardedRequest, ask: &Ask) {
    if ask.no_query {
        forwarded.query.clear();
    }
    let mut segments: Vec<&str> = forwarded.path.split('/').collect();
    if ask.every_name {
        segments.pop();
    }
    if let Some(index) = segments
        .iter()
        .position(|segment| *segment == "namespaces")
        .filter(|_| ask.every_namespace)
    {
        segments.drain(index..index + 2);
    }
    let mut path = segments.join("/");
    for (from, to) in &ask.path_replace {
        path = path.replace(from.as_str(), to);
    }
    for (from, to) in &ask.path_end {
        if let Some(rest) = path.strip_suffix(from.as_str()) {
            path = format!("{rest}{to}");
        }
    }
    forwarded.path = path;
}
