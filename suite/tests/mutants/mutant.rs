//! A deliberate fault. `fixtures/mutants/README.md` describes the format.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use stuntdouble_suite::catalog::Profile;

use crate::{
    alter::Leaf,
    effects::ExtraRequest,
    socket::Messages,
    when::{When, has},
};

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Mutant {
    /// Position among all mutants, used in names.
    #[serde(skip)]
    pub(crate) number: usize,
    pub(crate) id: String,
    pub(crate) fault: String,
    #[serde(default)]
    pub(crate) profile: Profile,
    /// Whether it is tested on a full cluster with add-ons.
    #[serde(default)]
    pub(crate) living: bool,
    /// Whether it is tested on a separate simulator.
    #[serde(default)]
    pub(crate) alone: bool,
    pub(crate) when: When,
    #[serde(default)]
    pub(crate) ask: Ask,
    #[serde(default)]
    pub(crate) answer: Answer,
    #[serde(default)]
    pub(crate) stream: Stream,
    #[serde(default)]
    pub(crate) messages: Messages,
    pub(crate) caught_by: Vec<String>,
}

/// Changes of the request.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(crate) struct Ask {
    pub(crate) without: Vec<String>,
    pub(crate) query: BTreeMap<String, String>,
    /// Query parameters that are set if they are missing.
    pub(crate) default: BTreeMap<String, String>,
    /// Texts replaced in the raw query.
    pub(crate) query_text: BTreeMap<String, String>,
    /// Whether the query parameters are reversed.
    pub(crate) query_reversed: bool,
    /// Texts replaced in a query parameter.
    pub(crate) query_replace: BTreeMap<String, BTreeMap<String, String>>,
    /// Query parameters (selectors) of which only the first requirement is kept.
    pub(crate) first_requirement: Vec<String>,
    /// Numbers added to the numbers in query parameters.
    pub(crate) query_shift: BTreeMap<String, i64>,
    pub(crate) no_query: bool,
    pub(crate) path: Option<String>,
    /// Whether the namespace is removed from the path.
    pub(crate) every_namespace: bool,
    /// Replacements of the end of the path.
    pub(crate) path_end: BTreeMap<String, String>,
    /// Whether the last segment of the path is removed.
    pub(crate) every_name: bool,
    pub(crate) method: Option<String>,
    pub(crate) content_type: Option<String>,
    pub(crate) body_set: BTreeMap<String, Value>,
    pub(crate) body_remove: Vec<String>,
    pub(crate) body_leaf: Option<Leaf>,
    pub(crate) no_body: bool,
    /// Numbers added to numbers, or to strings of digits, in the body.
    pub(crate) body_shift: BTreeMap<String, i64>,
    /// Whether bytes of the body that are not UTF-8 are replaced.
    pub(crate) body_as_text: bool,
    /// Texts replaced in the body.
    pub(crate) body_replace: BTreeMap<String, String>,
    /// Maximum number of bytes of the body that are sent.
    pub(crate) body_truncate: Option<usize>,
    /// Whether only the last of several parameters with one name is kept.
    pub(crate) last_of_a_name: bool,
    /// Whether only the first of several headers with one name is kept.
    pub(crate) one_of_a_header: bool,
    /// Whether the write is undone after its response.
    pub(crate) undo: bool,
    /// The response is that of a GET; the request is sent after this many milliseconds.
    pub(crate) late: Option<u64>,
    /// Subresource to which the body is also sent by PUT.
    pub(crate) also: Option<String>,
    /// Whether the request is sent twice.
    pub(crate) twice: bool,
    /// Whether a created object is deleted at once.
    pub(crate) lose: bool,
    /// Whether the request goes to the object of the same name in another namespace, if one was written.
    pub(crate) elsewhere: bool,
    /// Merge patch applied to the other objects of the collection.
    pub(crate) neighbours: Option<Value>,
    /// Merge patch applied to the object after a write of its scale.
    pub(crate) then: Option<Value>,
    /// Texts replaced in the body when the request is sent a second time.
    pub(crate) again_with: BTreeMap<String, String>,
    /// Whether every object that was written is deleted.
    pub(crate) deletes_all: bool,
    /// Texts replaced in the path.
    pub(crate) path_replace: BTreeMap<String, String>,
    /// Additional requests that the proxy sends.
    pub(crate) besides: Vec<ExtraRequest>,
    /// Whether only the first object of a collection is deleted.
    pub(crate) deletes_one: bool,
}

/// Changes of the response.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(crate) struct Answer {
    pub(crate) status: Option<u16>,
    pub(crate) content_type: Option<String>,
    /// Only bodies with these values are altered, by JSON pointer; null means absent.
    pub(crate) only: BTreeMap<String, Value>,
    pub(crate) without_headers: Vec<String>,
    pub(crate) headers: BTreeMap<String, String>,
    /// Texts replaced in headers.
    pub(crate) header_replace: BTreeMap<String, BTreeMap<String, String>>,
    /// Whether only the first of several headers with one name is kept.
    pub(crate) one_of_a_header: bool,
    pub(crate) set: BTreeMap<String, Value>,
    pub(crate) remove: Vec<String>,
    /// Numbers added to numbers, or to strings of digits.
    pub(crate) shift: BTreeMap<String, i64>,
    pub(crate) leaf: Option<Leaf>,
    /// Texts replaced in strings, by JSON pointer.
    pub(crate) replace: BTreeMap<String, BTreeMap<String, String>>,
    /// Texts replaced in the raw body.
    pub(crate) body_replace: BTreeMap<String, String>,
    /// Items with these values are removed.
    pub(crate) drop_items_with: BTreeMap<String, Value>,
    /// Maximum number of bytes of the body that are sent.
    pub(crate) truncate: Option<usize>,
    /// Whether bytes of the body that are not UTF-8 are replaced.
    pub(crate) as_text: bool,
    pub(crate) drop_items: bool,
    pub(crate) drop_last_item: bool,
    pub(crate) repeat_items: bool,
    pub(crate) reverse_items: bool,
    /// Whether the hits of a search are reversed.
    pub(crate) reverse_hits: bool,
    /// Whether the first hit of a search is repeated.
    pub(crate) repeat_hits: bool,
    /// Maximum number of items that are kept.
    pub(crate) keep_items: Option<usize>,
    /// Whether only items of the first item's namespace are kept.
    pub(crate) of_one_namespace: bool,
    /// Whether objects are returned as they were before their last write.
    pub(crate) lag: bool,
    /// Whether deleted objects are still listed.
    pub(crate) undead: bool,
    /// Pointers of values that are those of the deleted object of the same name.
    pub(crate) former: Vec<String>,
    pub(crate) one_line: bool,
    pub(crate) indent: bool,
    /// Whether the response is that to the previous equal request.
    pub(crate) stale: bool,
    /// Text appended to the body.
    pub(crate) append: String,
    pub(crate) lines: Lines,
    pub(crate) text: Option<String>,
    /// Only a Status whose first cause has a field with this prefix is altered.
    pub(crate) cause: Option<String>,
    /// Whether the response is a success with the object that was sent; for a patch, with the current object.
    pub(crate) accept: bool,
    /// Pointers of values that are copied from the request.
    pub(crate) keep: Vec<String>,
    /// Pointers of maps that keep the keys removed by the last write.
    pub(crate) retains: Vec<String>,
}

/// Changes of the lines of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(crate) struct Lines {
    /// Number of lines removed at the start.
    pub(crate) skip: usize,
    /// Maximum number of lines that are kept.
    pub(crate) first: Option<usize>,
    pub(crate) reverse: bool,
    /// Whether the last line has no line feed.
    pub(crate) unended: bool,
}

impl Answer {
    /// Whether this body is altered.
    pub(crate) fn has(&self, body: &[u8]) -> bool {
        if self.only.is_empty() && self.cause.is_none() {
            return true;
        }
        let value: Value = serde_json::from_slice(body).unwrap_or_default();
        let cause = value.pointer("/details/causes/0/field").and_then(Value::as_str);
        has(&value, &self.only)
            && self
                .cause
                .as_deref()
                .is_none_or(|wanted| cause.is_some_and(|cause| cause.starts_with(wanted)))
    }

    /// Whether the body is altered.
    pub(crate) fn is_of_body(&self) -> bool {
        self.alters_value()
            || self.one_line
            || self.indent
            || !self.body_replace.is_empty()
            || !self.append.is_empty()
            || self.lines != Lines::default()
            || self.truncate.is_some()
            || self.text.is_some()
            || self.as_text
            || self.stale
    }

    /// Whether the JSON value of the body is altered.
    pub(crate) fn alters_value(&self) -> bool {
        !self.set.is_empty()
            || !self.remove.is_empty()
            || !self.shift.is_empty()
            || self.leaf.is_some()
            || !self.replace.is_empty()
            || !self.retains.is_empty()
            || !self.drop_items_with.is_empty()
            || self.drop_items
            || self.drop_last_item
            || self.repeat_items
            || self.reverse_items
            || self.reverse_hits
            || self.repeat_hits
            || self.keep_items.is_some()
            || self.of_one_namespace
            || self.lag
            || self.undead
            || !self.former.is_empty()
    }
}

/// Changes of a stream.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(crate) struct Stream {
    /// Only items with these values are altered, by JSON pointer.
    pub(crate) only: BTreeMap<String, Value>,
    /// Only every nth of them.
    pub(crate) every: Option<usize>,
    /// Only those after the first n of them.
    pub(crate) after: usize,
    /// Number of them dropped at the start.
    pub(crate) skip: usize,
    /// Texts replaced in strings, by JSON pointer.
    pub(crate) replace: BTreeMap<String, BTreeMap<String, String>>,
    pub(crate) drop: Option<String>,
    pub(crate) repeat: Option<String>,
    pub(crate) rename: BTreeMap<String, String>,
    pub(crate) set: BTreeMap<String, Value>,
    pub(crate) remove: Vec<String>,
    pub(crate) shift: BTreeMap<String, i64>,
    pub(crate) leaf: Option<Leaf>,
    /// Items of this type have the previous state of the object.
    pub(crate) stale: Option<String>,
    /// Whether an item has the resource version of the previous item of the same object.
    pub(crate) last_version: bool,
    /// Item inserted at the start.
    pub(crate) inject: Option<Value>,
    /// Item appended at the end.
    pub(crate) append: Option<Value>,
    /// Whether the items are sent as one JSON array.
    pub(crate) array: bool,
    /// Whether items have no line feed.
    pub(crate) unended: bool,
    /// Whether items are indented over several lines.
    pub(crate) indented: bool,
    /// Whether the connection is aborted at the end of the stream.
    pub(crate) breaks_off: bool,
    pub(crate) swap: bool,
    /// Whether all items are sent at the end of the stream.
    pub(crate) buffered: bool,
    /// Whether an item is held back until the next one.
    pub(crate) behind: bool,
    pub(crate) endless: bool,
    pub(crate) cut: Option<usize>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/mutants")
}

/// Reads the YAML files of a folder of `fixtures/mutants`, in the order of their names.
pub(crate) fn read<T: DeserializeOwned>(below: &str) -> Result<Vec<T>, Box<dyn std::error::Error>> {
    let mut files: Vec<_> = std::fs::read_dir(folder().join(below))?
        .collect::<Result<Vec<_>, _>>()?
        .into_iter()
        .map(|entry| entry.path())
        .collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    let mut all = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file)?;
        let some: Vec<T> = serde_saphyr::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))?;
        all.extend(some);
    }
    Ok(all)
}

/// Reads the mutants of a file outside `fixtures/mutants`.
pub(crate) fn of_file(file: &str) -> Result<Vec<Mutant>, Box<dyn std::error::Error>> {
    Ok(serde_saphyr::from_str(&std::fs::read_to_string(file)?)?)
}

/// Reads all mutants, in the order of their files.
pub(crate) fn all() -> Result<Vec<Mutant>, Box<dyn std::error::Error>> {
    let mut mutants: Vec<Mutant> = read("")?;
    mutants
        .iter_mut()
        .enumerate()
        .for_each(|(number, mutant)| mutant.number = number);
    Ok(mutants)
}
