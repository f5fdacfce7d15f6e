//! Settings of facets, as their parsers read them.

use serde_json::{Map, Value};

use crate::error::Result;
use crate::json::{is_scalar, java_text};
use crate::script::Script;

/// Calls `read` with each setting that is a string, a number or a boolean, in their order. The items of a list are read
/// one after another, as if each were the value of the setting.
pub(super) fn scalars<'a>(
    settings: &'a Map<String, Value>,
    mut read: impl FnMut(&'a str, &'a Value) -> Result<()>,
) -> Result<()> {
    for (key, value) in settings {
        let items = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        for item in items.iter().filter(|item| is_scalar(item)) {
            read(key, item)?;
        }
    }
    Ok(())
}

/// Returns the texts of the scalars of a list.
pub(super) fn texts(list: &Value) -> impl Iterator<Item = String> {
    let items = list.as_array().into_iter().flatten();
    items.filter(|item| is_scalar(item)).map(java_text)
}

/// Parses the script of the first of some settings, if there is one. Its language and parameters are settings, too.
///
/// # Errors
/// A script in another language, or one that is not an expression.
pub(super) fn script(settings: &Map<String, Value>, keys: &[&str]) -> Result<Option<Script>> {
    let mut texts = keys.iter().filter_map(|key| settings.get(*key));
    let Some(text) = texts.find(|text| is_scalar(text)) else {
        return Ok(None);
    };
    let mut own = Map::from_iter([("script".to_owned(), java_text(text).into())]);
    for key in ["lang", "params"] {
        own.extend(settings.get(key).map(|value| (key.to_owned(), value.clone())));
    }
    Script::parse(&own.into())
}
