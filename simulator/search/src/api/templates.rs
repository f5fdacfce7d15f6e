//! The index template APIs.

use serde_json::{Map, Value};

use crate::cluster::{Block, Template};
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::json;
use crate::pattern;
use crate::rest::{Answer, RestRequest};
use crate::shared::Shared;

/// Maximum number of templates.
const MAX_TEMPLATES: usize = 1_000;

/// `PUT|POST /_template/name`.
pub(crate) fn put(shared: &Shared, request: &RestRequest, name: &str) -> Result<Answer> {
    json::derivable(request.body_or_source())?;
    let undefined = |error: SearchError| SearchError::illegal("failed to parse template source").caused_by(error);
    let mut body = request.json().map_err(undefined)?.unwrap_or_default();
    request.check_duration("master_timeout")?;
    request.integer("order")?;
    for key in ["order", "template"] {
        if let (Some(given), Some(body)) = (request.param(key), body.as_object_mut()) {
            body.entry(key).or_insert_with(|| given.into());
        }
    }
    let template = Template::parse(&body)?;
    shared.cluster.check_blocks(&[], Block::Metadata)?;
    check(name, &template.pattern)?;
    let mut templates = shared.cluster.templates.write();
    if request.flag("create") && templates.contains_key(name) {
        return Err(SearchError::new(
            400,
            Exception::IndexTemplateAlreadyExists,
            format!("index_template [{name}] already exists"),
        ));
    }
    if templates.len() >= MAX_TEMPLATES {
        return Err(SearchError::illegal(format!(
            "at most {MAX_TEMPLATES} index templates are supported"
        )));
    }
    templates.insert(name.to_owned(), template);
    drop(templates);
    shared.cluster.metadata_changed()?;
    Ok(Answer::acknowledged(true))
}

/// Fails for an invalid name or pattern of a template.
fn check(name: &str, pattern: &str) -> Result<()> {
    let invalid = |what: &str, text: &str| {
        if text.contains(' ') {
            return Some(format!("{what} must not contain a space"));
        }
        let sign = [',', '#'].into_iter().find(|sign| text.contains(*sign));
        let sign = sign.map(|sign| format!("{what} must not contain a '{sign}'"));
        sign.or_else(|| text.starts_with('_').then(|| format!("{what} must not start with '_'")))
    };
    let is_lower = name.to_lowercase() == name;
    let cause = invalid("name", name)
        .or_else(|| (!is_lower).then(|| "name must be lower cased".to_owned()))
        .or_else(|| invalid("template", pattern))
        .or_else(|| {
            let is_illegal = |sign: char| r#"\/?"<>|"#.contains(sign);
            let characters = r#"[\, /, *, ?, ", <, >, |,  , ,]"#;
            let cause = || format!("template must not container the following characters {characters}");
            pattern.contains(is_illegal).then(cause)
        });
    match cause {
        None => Ok(()),
        Some(cause) => Err(SearchError::new(
            400,
            Exception::InvalidIndexTemplate,
            format!("index_template [{name}] invalid, cause [{cause}]"),
        )),
    }
}

/// `GET /_template[/name]`.
pub(crate) fn get(shared: &Shared, request: &RestRequest, wanted: Option<&str>) -> Result<Answer> {
    request.check_duration("master_timeout")?;
    shared.cluster.check_blocks(&[], Block::Metadata)?;
    let templates = shared.cluster.templates.read();
    let is_flat = request.flag_or("flat_settings", true);
    let response: Map<String, Value> = templates
        .iter()
        .filter(|(name, _)| wanted.is_none_or(|wanted| wanted.split(',').any(|wanted| pattern::matches(wanted, name))))
        .map(|(name, template)| (name.clone(), template.describe(is_flat)))
        .collect();
    let missing = response.is_empty() && wanted.is_some();
    Ok(Answer::json(if missing { 404 } else { 200 }, response.into()))
}

/// `HEAD /_template/name`.
pub(crate) fn exists(shared: &Shared, wanted: &str) -> Result<Answer> {
    shared.cluster.check_blocks(&[], Block::Metadata)?;
    let templates = shared.cluster.templates.read();
    let mut names = templates.keys();
    Ok(Answer::exists(names.any(|name| {
        wanted.split(',').any(|wanted| pattern::matches(wanted, name))
    })))
}

/// `DELETE /_template/name`.
pub(crate) fn delete(shared: &Shared, request: &RestRequest, wanted: &str) -> Result<Answer> {
    request.check_duration("master_timeout")?;
    shared.cluster.check_blocks(&[], Block::Metadata)?;
    let mut found = false;
    shared.cluster.templates.write().retain(|name, _| {
        let removed = pattern::matches(wanted, name);
        found |= removed;
        !removed
    });
    if !found && wanted != "*" {
        return Err(SearchError::new(
            404,
            Exception::IndexTemplateMissing,
            format!("index_template [{wanted}] missing"),
        ));
    }
    shared.cluster.metadata_changed()?;
    Ok(Answer::acknowledged(true))
}
