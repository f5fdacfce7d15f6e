//! The YAML files of an embedded folder.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use stuntdouble_fixtures::Dir;

use super::error::{CatalogError, malformed};

/// Reads a YAML text as a value.
pub(super) fn parse<T: DeserializeOwned>(path: &str, text: &str) -> Result<T, CatalogError> {
    serde_saphyr::from_str(text).map_err(|error| malformed(path, error))
}

/// Returns all YAML files below a folder, by path.
pub(super) fn yaml_files(dir: &Dir<'static>) -> BTreeMap<String, Cow<'static, str>> {
    let mut found = BTreeMap::new();
    for entry in dir.entries() {
        if let Some(folder) = entry.as_dir() {
            found.extend(yaml_files(folder));
        } else if let Some(file) = entry.as_file()
            && let (Some(path), Some(text)) = (file.path().to_str(), file.contents_utf8())
            && path.ends_with(".yaml")
        {
            found.insert(path.replace('\\', "/"), Cow::Borrowed(text));
        }
    }
    found
}
