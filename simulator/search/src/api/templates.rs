//! Index templates.

use serde_json::{Map, Value, json};

use crate::cluster::Template;
use crate::error::{Result, SearchError};
use crate::pattern;
use crate::rest::{Answer, RestRequest};
use crate::shared::Shared;

/// Most templates that are kept.
const MOST: usize = 1_000;

/// `PUT|POST /_template/name`.
pub(crate) fn put(shared: &Shared, request: &RestRequest, name: &str) -> Result<Answer> {
    let body = request
        .json()?
        .ok_or_else(|| SearchError::parse("the body of a template is missing"))?;
    let template = Template::parse(&body)?;
    let mut templates = shared.cluster.templates.write();
    if request.flag("create") && templates.contains_key(name) {
        return Err(SearchError::new(
            400,
            "IndexTemplateAlreadyExistsException",
            format!("index_template [{name}] already exists"),
        ));
    }
    if templates.len() >= MOST {
        return Err(SearchError::illegal(format!("there are {MOST} templates already")));
    }
    templates.insert(name.to_owned(), template);
    drop(templates);
    shared.cluster.changed();
    Ok(Answer::acknowledged())
}

/// `GET /_template[/name]`.
pub(crate) fn get(shared: &Shared, wanted: Option<&str>) -> Answer {
    let templates = shared.cluster.templates.read();
    let shown: Map<String, Value> = templates
        .iter()
        .filter(|(name, _)| wanted.is_none_or(|wanted| wanted.split(',').any(|wanted| pattern::matches(wanted, name))))
        .map(|(name, template)| (name.clone(), template.describe()))
        .collect();
    let missing = shown.is_empty() && wanted.is_some_and(|wanted| !wanted.contains('*'));
    Answer::json(if missing { 404 } else { 200 }, shown.into())
}

/// `HEAD /_template/name`.
pub(crate) fn exists(shared: &Shared, wanted: &str) -> Answer {
    Answer::exists(
        shared
            .cluster
            .templates
            .read()
            .keys()
            .any(|name| pattern::matches(wanted, name)),
    )
}

/// `DELETE /_template/name`.
pub(crate) fn delete(shared: &Shared, wanted: &str) -> Result<Answer> {
    let mut met = false;
    shared.cluster.templates.write().retain(|name, _| {
        let goes = pattern::matches(wanted, name);
        met |= goes;
        !goes
    });
    if !met && !wanted.contains('*') {
        return Err(SearchError::new(
            404,
            "IndexTemplateMissingException",
            format!("index_template [{wanted}] missing"),
        ));
    }
    shared.cluster.changed();
    Ok(Answer::ok(json!({"acknowledged": true})))
}
