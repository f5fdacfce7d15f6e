//! A deliberate fault, as `fixtures/mutants/README.md` describes it.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use stuntdouble_suite::catalog::Profile;

use crate::{
    alter::Leaf,
    effects::Beside,
    socket::Messages,
    when::{When, has},
};

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Mutant {
    /// Its place among all, of which names are made.
    #[serde(skip)]
    pub(crate) number: usize,
    pub(crate) id: String,
    pub(crate) fault: String,
    #[serde(default)]
    pub(crate) profile: Profile,
    /// It is tried on a living cluster, with its add-ons.
    #[serde(default)]
    pub(crate) living: bool,
    /// It is tried on a simulator that nothing else uses.
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

/// What is changed before the server is asked.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(crate) struct Ask {
    pub(crate) without: Vec<String>,
    pub(crate) query: BTreeMap<String, String>,
    /// Query parameters that are set where they are missing.
    pub(crate) default: BTreeMap<String, String>,
    /// Texts that are replaced in the query as it was sent.
    pub(crate) query_text: BTreeMap<String, String>,
    /// The query parameters come in the opposite order.
    pub(crate) query_reversed: bool,
    /// Texts that are replaced in a query parameter.
    pub(crate) query_replace: BTreeMap<String, BTreeMap<String, String>>,
    /// Query parameters of which only the first requirement is kept.
    pub(crate) first_requirement: Vec<String>,
    /// What is added to the number in a query parameter.
    pub(crate) query_shift: BTreeMap<String, i64>,
    pub(crate) no_query: bool,
    pub(crate) path: Option<String>,
    /// The namespace in the path is left out.
    pub(crate) every_namespace: bool,
    /// What the end of the path is replaced by.
    pub(crate) path_end: BTreeMap<String, String>,
    /// The last segment of the path is left out.
    pub(crate) every_name: bool,
    pub(crate) method: Option<String>,
    pub(crate) content_type: Option<String>,
    pub(crate) body_set: BTreeMap<String, Value>,
    pub(crate) body_remove: Vec<String>,
    pub(crate) body_leaf: Option<Leaf>,
    pub(crate) no_body: bool,
    /// What is added to numbers in the body, or to numbers as strings.
    pub(crate) body_shift: BTreeMap<String, i64>,
    /// The body's bytes that are no UTF-8 are replaced.
    pub(crate) body_as_text: bool,
    /// Texts that are replaced in the body.
    pub(crate) body_replace: BTreeMap<String, String>,
    /// Only so many bytes of the body are sent.
    pub(crate) body_truncate: Option<usize>,
    /// Only the last of several parameters of one name is kept.
    pub(crate) last_of_a_name: bool,
    /// Only the first of several headers of one name is kept.
    pub(crate) one_of_a_header: bool,
    /// The write is undone after its answer.
    pub(crate) undo: bool,
    /// A GET is answered first, and the request is made so many milliseconds later.
    pub(crate) late: Option<u64>,
    /// The body is sent by PUT to this subresource, too.
    pub(crate) also: Option<String>,
    /// The request is made twice.
    pub(crate) twice: bool,
    /// What a creation has created is deleted again.
    pub(crate) lose: bool,
    /// The object of the same name in another namespace is asked for, if it was written.
    pub(crate) elsewhere: bool,
    /// A merge patch of the other objects in the collection.
    pub(crate) neighbours: Option<Value>,
    /// A merge patch of the object, after a write of its scale.
    pub(crate) then: Option<Value>,
    /// The request is made again, with texts replaced in its body.
    pub(crate) again_with: BTreeMap<String, String>,
    /// Every object that was written is deleted.
    pub(crate) deletes_all: bool,
    /// Texts that are replaced in the path.
    pub(crate) path_replace: BTreeMap<String, String>,
    /// What the proxy asks for by itself.
    pub(crate) besides: Vec<Beside>,
    /// Of a collection only the first object is deleted.
    pub(crate) deletes_one: bool,
}

/// What is changed in the answer.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(crate) struct Answer {
    pub(crate) status: Option<u16>,
    pub(crate) content_type: Option<String>,
    /// Only bodies with these values are altered, by JSON pointer; null for what they lack.
    pub(crate) only: BTreeMap<String, Value>,
    pub(crate) without_headers: Vec<String>,
    pub(crate) headers: BTreeMap<String, String>,
    /// Texts that are replaced in headers.
    pub(crate) header_replace: BTreeMap<String, BTreeMap<String, String>>,
    /// Only the first of several headers of one name is kept.
    pub(crate) one_of_a_header: bool,
    pub(crate) set: BTreeMap<String, Value>,
    pub(crate) remove: Vec<String>,
    /// What is added to numbers, or to numbers as strings.
    pub(crate) shift: BTreeMap<String, i64>,
    pub(crate) leaf: Option<Leaf>,
    /// Texts that are replaced in strings, by JSON pointer.
    pub(crate) replace: BTreeMap<String, BTreeMap<String, String>>,
    /// Texts that are replaced in the body as it is.
    pub(crate) body_replace: BTreeMap<String, String>,
    /// Items with these values are left out.
    pub(crate) drop_items_with: BTreeMap<String, Value>,
    /// Only so many bytes of the body are sent.
    pub(crate) truncate: Option<usize>,
    /// The body's bytes that are no UTF-8 are replaced.
    pub(crate) as_text: bool,
    pub(crate) drop_items: bool,
    pub(crate) drop_last_item: bool,
    pub(crate) repeat_items: bool,
    pub(crate) reverse_items: bool,
    /// The hits of a search are in reverse.
    pub(crate) reverse_hits: bool,
    /// The first hit of a search comes twice.
    pub(crate) repeat_hits: bool,
    /// Only so many items are kept.
    pub(crate) keep_items: Option<usize>,
    /// Only items of the first item's namespace are kept.
    pub(crate) of_one_namespace: bool,
    /// Objects are as they were before their last write.
    pub(crate) lag: bool,
    /// Deleted objects are still listed.
    pub(crate) undead: bool,
    /// Values are those of the object of that name which was deleted, by pointer.
    pub(crate) former: Vec<String>,
    pub(crate) one_line: bool,
    pub(crate) indent: bool,
    /// The answer to the previous equal request instead.
    pub(crate) stale: bool,
    /// What the body ends with.
    pub(crate) append: String,
    pub(crate) lines: Lines,
    pub(crate) text: Option<String>,
    /// Only a Status whose first cause is of a field that begins so is altered.
    pub(crate) cause: Option<String>,
    /// Success, with the object that was sent; for a patch the object as it is.
    pub(crate) accept: bool,
    /// What was sent is in the answer, by pointer.
    pub(crate) keep: Vec<String>,
    /// Keys that the last write took away are still there, by the pointer of the map.
    pub(crate) retains: Vec<String>,
}

/// What is changed in the lines of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(crate) struct Lines {
    /// How many of the first are left out.
    pub(crate) skip: usize,
    /// Only so many of the first are kept.
    pub(crate) first: Option<usize>,
    pub(crate) reverse: bool,
    /// The last has no end.
    pub(crate) unended: bool,
}

impl Answer {
    /// Whether a body is altered.
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

    /// Whether it changes the body.
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

    /// Whether it changes the body's value.
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

/// What is changed in a stream.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(crate) struct Stream {
    /// Only items with these values are altered.
    pub(crate) only: BTreeMap<String, Value>,
    /// Of those only each so many-th.
    pub(crate) every: Option<usize>,
    /// Of those only the ones after the first so many.
    pub(crate) after: usize,
    /// Of those the first so many are lost.
    pub(crate) skip: usize,
    /// Texts that are replaced in strings, by JSON pointer.
    pub(crate) replace: BTreeMap<String, BTreeMap<String, String>>,
    pub(crate) drop: Option<String>,
    pub(crate) repeat: Option<String>,
    pub(crate) rename: BTreeMap<String, String>,
    pub(crate) set: BTreeMap<String, Value>,
    pub(crate) remove: Vec<String>,
    pub(crate) shift: BTreeMap<String, i64>,
    pub(crate) leaf: Option<Leaf>,
    /// Items of this type have the object of the previous item of the same name.
    pub(crate) stale: Option<String>,
    /// The version of an item's object is that of the previous item of the same name.
    pub(crate) last_version: bool,
    /// An item that comes first.
    pub(crate) inject: Option<Value>,
    /// An item that comes last.
    pub(crate) append: Option<Value>,
    /// The items are those of an array.
    pub(crate) array: bool,
    /// Items have no end of line.
    pub(crate) unended: bool,
    /// Items are indented over several lines.
    pub(crate) indented: bool,
    /// The connection breaks off where the stream ends.
    pub(crate) breaks_off: bool,
    pub(crate) swap: bool,
    /// Items come when the stream ends.
    pub(crate) buffered: bool,
    /// An item comes when the next one does.
    pub(crate) behind: bool,
    pub(crate) endless: bool,
    pub(crate) cut: Option<usize>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/mutants")
}

/// Everything in the YAML files of a folder of `fixtures/mutants`, in the order of the files.
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

/// The mutants of a file that is not in the folder.
pub(crate) fn of_file(file: &str) -> Result<Vec<Mutant>, Box<dyn std::error::Error>> {
    Ok(serde_saphyr::from_str(&std::fs::read_to_string(file)?)?)
}

/// All mutants, in the order of their files.
pub(crate) fn all() -> Result<Vec<Mutant>, Box<dyn std::error::Error>> {
    let mut mutants: Vec<Mutant> = read("")?;
    mutants
        .iter_mut()
        .enumerate()
        .for_each(|(number, mutant)| mutant.number = number);
    Ok(mutants)
}
