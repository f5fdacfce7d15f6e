//! Action lines of bulk requests.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};

use crate::error::{Result, SearchError};
use crate::json::{self, java_text};

/// A string, or another plain value as text.
#[derive(Clone, Debug)]
pub(super) struct Text<'a>(pub(super) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Text<'a>, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Text<'de>;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a plain value")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> std::result::Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> std::result::Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
            fn visit_i64<E>(self, number: i64) -> std::result::Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(number.to_string())))
            }
            fn visit_u64<E>(self, number: u64) -> std::result::Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(number.to_string())))
            }
            fn visit_f64<E>(self, number: f64) -> std::result::Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(json::java_number(number))))
            }
            fn visit_bool<E>(self, truth: bool) -> std::result::Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(truth.to_string())))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

/// Metadata of an action.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Meta<'a> {
    #[serde(borrow, rename = "_index")]
    pub(super) index: Option<Text<'a>>,
    #[serde(borrow, rename = "_type")]
    pub(super) type_name: Option<Text<'a>>,
    #[serde(borrow, rename = "_id")]
    pub(super) id: Option<Text<'a>>,
    #[serde(borrow, rename = "_routing", alias = "routing")]
    pub(super) routing: Option<Text<'a>>,
    #[serde(borrow, rename = "_parent", alias = "parent")]
    pub(super) parent: Option<Text<'a>>,
    #[serde(borrow, rename = "_version", alias = "version")]
    pub(super) version: Option<Text<'a>>,
    #[serde(borrow, rename = "_version_type", alias = "_versionType", alias = "version_type")]
    #[serde(alias = "versionType")]
    pub(super) version_type: Option<Text<'a>>,
    #[serde(borrow, rename = "op_type", alias = "opType")]
    pub(super) op_type: Option<Text<'a>>,
    #[serde(borrow, rename = "_timestamp", alias = "timestamp")]
    pub(super) timestamp: Option<Text<'a>>,
    #[serde(rename = "_ttl", alias = "ttl")]
    pub(super) ttl: Option<Value>,
    #[serde(borrow, rename = "_retry_on_conflict", alias = "_retryOnConflict")]
    pub(super) retries: Option<Text<'a>>,
}

/// Adds the plain values of a member of an action. Returns whether the action goes on: the end of an inner object ends
/// it.
fn take_plain(key: &str, value: &Value, plain: &mut Map<String, Value>) -> bool {
    match value {
        Value::Object(inner) => {
            let _ends = inner.iter().all(|(key, value)| take_plain(key, value, plain));
            false
        }
        Value::Array(items) => items.iter().all(|item| take_plain(key, item, plain)),
        Value::Null => true,
        value => {
            plain.insert(key.to_owned(), value.clone());
            true
        }
    }
}

/// Parses an action line that has not the form of [`Line`], as Elasticsearch does: as a stream of plain values, which
/// may lack its last brace.
///
/// # Errors
/// A line that is no JSON, or has no action.
fn lenient(line: &[u8]) -> Result<Line<'static>> {
    let line = json::value(line).or_else(|error| json::value(&[line, b"}"].concat()).map_err(|_| error))?;
    let action = line.as_object().and_then(|line| line.iter().next());
    let Some((name, meta)) = action else {
        return Err(SearchError::null_pointer());
    };
    let mut plain = Map::new();
    take_plain("", meta, &mut plain);
    let value = |names: &[&str]| names.iter().filter_map(|name| plain.get(*name)).next_back();
    let text = |names: &[&str]| value(names).map(|value| Text(Cow::Owned(java_text(value))));
    Ok(Line {
        name: Cow::Owned(name.clone()),
        meta: Meta {
            index: text(&["_index"]),
            type_name: text(&["_type"]),
            id: text(&["_id"]),
            routing: text(&["_routing", "routing"]),
            parent: text(&["_parent", "parent"]),
            version: text(&["_version", "version"]),
            version_type: text(&["_version_type", "_versionType", "version_type", "versionType"]),
            op_type: text(&["op_type", "opType"]),
            timestamp: text(&["_timestamp", "timestamp"]),
            ttl: value(&["_ttl", "ttl"]).cloned(),
            retries: text(&["_retry_on_conflict", "_retryOnConflict"]),
        },
    })
}

/// Action line: its first entry. Further entries are ignored.
pub(super) struct Line<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) meta: Meta<'a>,
}

impl<'a> Line<'a> {
    /// Parses an action line.
    ///
    /// # Errors
    /// A line that is no JSON, or has no action.
    pub(super) fn parse(line: &'a [u8]) -> Result<Line<'a>> {
        serde_json::from_slice(line).or_else(|_| lenient(line))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Line<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Line<'a>, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Line<'de>;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an action")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Line<'de>, A::Error> {
                let Some(name) = map.next_key::<Text<'de>>()? else {
                    return Err(A::Error::custom("an action without a name"));
                };
                let meta = map.next_value()?;
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Line { name: name.0, meta })
            }
        }
        deserializer.deserialize_map(Reader)
    }
}
