//! A request on its way to the server, and the changes of it.

use bytes::Bytes;
use serde_json::Value;

use crate::{
    alter::{alter, alter_leaf, first_requirement, shift},
    answer::replaced,
    mutant::Ask,
    proxy::Trouble,
};

/// A request on its way to the server.
pub(crate) struct Asked {
    pub(crate) method: http::Method,
    pub(crate) path: String,
    pub(crate) query: Vec<(String, String)>,
    /// The query as it was sent, and as it was read.
    pub(crate) sent: (Option<String>, Vec<(String, String)>),
    pub(crate) headers: http::HeaderMap,
    pub(crate) body: Bytes,
}

impl Asked {
    /// Its URL on a server.
    pub(crate) fn url(&self, upstream: &str) -> Result<url::Url, Trouble> {
        let mut url = url::Url::parse(&format!("{upstream}{}", self.path))?;
        if self.query == self.sent.1 {
            url.set_query(self.sent.0.as_deref());
        } else if !self.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&self.query);
        }
        Ok(url)
    }
}

/// Keeps the first of several headers of one name.
pub(crate) fn one_of_each(headers: &mut http::HeaderMap) {
    let names: Vec<http::HeaderName> = headers.keys().cloned().collect();
    for name in names {
        if let Some(first) = headers.get(&name).cloned() {
            headers.insert(name, first);
        }
    }
}

/// Changes a request before the server is asked.
pub(crate) fn altered(asked: &mut Asked, ask: &Ask, stars: Vec<String>) -> Result<(), Trouble> {
    asked
        .query
        .retain(|(name, _)| !ask.without.contains(name) && !ask.query.contains_key(name));
    asked.query.extend(ask.query.clone());
    for (name, value) in &ask.default {
        if !asked.query.iter().any(|(other, _)| other == name) {
            asked.query.push((name.clone(), value.clone()));
        }
    }
    if ask.query_reversed {
        asked.query.reverse();
    }
    if let Some(text) = &mut asked.sent.0 {
        for (from, to) in &ask.query_text {
            *text = text.replace(from.as_str(), to);
        }
    }
    for (name, value) in &mut asked.query {
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
        let names: Vec<String> = asked.query.iter().map(|(name, _)| name.clone()).collect();
        let mut index = 0;
        asked.query.retain(|(name, _)| {
            index += 1;
            !names[index..].contains(name)
        });
    }
    if ask.one_of_a_header {
        one_of_each(&mut asked.headers);
    }
    for name in &ask.without {
        asked.headers.remove(name.as_str());
    }
    if let Some(pattern) = &ask.path {
        let mut stars = stars.into_iter();
        let segments = pattern.split('/').map(|segment| match segment {
            "*" => stars.next().unwrap_or_default(),
            segment => segment.to_owned(),
        });
        asked.path = segments.collect::<Vec<_>>().join("/");
    }
    other_path(asked, ask);
    if let Some(other) = &ask.method {
        asked.method = other.parse()?;
        asked.body = Bytes::new();
    }
    if ask.no_body {
        asked.body = Bytes::new();
    }
    if let Some(content_type) = &ask.content_type {
        asked.headers.insert("content-type", content_type.parse()?);
    }
    asked.body.truncate(ask.body_truncate.unwrap_or(usize::MAX));
    if ask.body_as_text {
        asked.body = String::from_utf8_lossy(&asked.body).into_owned().into();
    }
    if !ask.body_replace.is_empty() {
        asked.body = replaced(&asked.body, &ask.body_replace);
    }
    let alters_body = !ask.body_set.is_empty()
        || !ask.body_remove.is_empty()
        || !ask.body_shift.is_empty()
        || ask.body_leaf.is_some();
    if let Some(mut value) = serde_json::from_slice::<Value>(&asked.body)
        .ok()
        .filter(|_| alters_body)
    {
        alter(&mut value, &ask.body_set, &ask.body_remove);
        shift(&mut value, &ask.body_shift);
        if let Some(leaf) = &ask.body_leaf {
            alter_leaf(&mut value, leaf);
        }
        asked.body = value.to_string().into();
    }
    Ok(())
}

/// Asks for another path.
fn other_path(asked: &mut Asked, ask: &Ask) {
    if ask.no_query {
        asked.query.clear();
    }
    let mut segments: Vec<&str> = asked.path.split('/').collect();
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
    asked.path = path;
}
