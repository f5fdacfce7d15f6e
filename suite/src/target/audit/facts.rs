//! Objects of a trial as seen in its responses.

use std::collections::BTreeMap;

use http::Method;
use serde_json::Value;

use super::resource::Resource;
use super::{MAX_VERSIONS, Moment, text_of};
use crate::check::{self, Mismatch, number};

/// Fields that depend on the path of the request.
const OF_THE_PATH: [&str; 2] = ["kind", "apiVersion"];

/// Plural name, namespace and name: an object that is served in two groups is one object.
type Key = (String, String, String);

/// Context of a response.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen<'a> {
    /// Method; `None` for an item of a list.
    pub(super) method: Option<&'a Method>,
    pub(super) sent: Moment,
    pub(super) answered: Moment,
    /// Whether it cannot come from a cache.
    pub(super) fresh: bool,
    /// Whether the request created this version: a write without a change creates none.
    pub(super) made: bool,
}

/// One version of an object.
#[derive(Debug)]
struct Version {
    answered: Moment,
    version: u64,
    /// Group version of the content: an object that is served in two groups has two contents.
    group_version: String,
    content: Value,
}

#[derive(Debug)]
struct KnownObject {
    uid: String,
    created: String,
    answered: Moment,
    versions: Vec<Version>,
    /// Whether its deletion was requested.
    deletion_requested: bool,
    /// Time at which its deletion succeeded.
    deleted: Option<Moment>,
}

/// Objects seen in responses.
#[derive(Debug, Default)]
pub(super) struct Facts {
    objects: BTreeMap<Key, KnownObject>,
    /// Versions of lists with the time of their response, by plural name.
    lists: BTreeMap<String, Vec<(Moment, u64)>>,
}

/// Whether a deletion of a resource deletes an object.
fn covers(deleted: &Resource, (plural, namespace, name): &Key) -> bool {
    let of_namespace = deleted.plural == "namespaces";
    if of_namespace && deleted.name.as_ref().is_none_or(|deleted| deleted == namespace) {
        return true;
    }
    deleted.plural == *plural
        && deleted.namespace == *namespace
        && deleted.name.as_ref().is_none_or(|deleted| deleted == name)
}

impl Facts {
    /// Records that a deletion is requested.
    pub(super) fn deletion_requested(&mut self, resource: &Resource) {
        let covered = self.objects.iter_mut().filter(|(key, _)| covers(resource, key));
        covered.for_each(|(_, known)| known.deletion_requested = true);
    }

    /// Records that a deletion of one object succeeded.
    pub(super) fn deleted(&mut self, resource: &Resource, answered: Moment) {
        let Some(name) = &resource.name else { return };
        let key = (resource.plural.clone(), resource.namespace.clone(), name.clone());
        if let Some(known) = self.objects.get_mut(&key) {
            known.deleted = Some(answered);
        }
    }

    /// Whether an object was seen.
    pub(super) fn has(&self, resource: &Resource, namespace: &str, name: &str) -> bool {
        self.known(resource, namespace, name).is_some()
    }

    fn known(&self, resource: &Resource, namespace: &str, name: &str) -> Option<&KnownObject> {
        let key = (resource.plural.clone(), namespace.to_owned(), name.to_owned());
        self.objects.get(&key)
    }

    /// Records the version of a list.
    pub(super) fn listed(&mut self, list: &Resource, version: &str, answered: Moment) {
        let versions = self.lists.entry(list.plural.clone()).or_default();
        versions.extend(number(version).map(|version| (answered, version)));
    }

    /// Checks that the version of a write is later than those of lists returned before: otherwise a watch from such a
    /// list would miss the write.
    fn not_later_than_lists(&self, resource: &Resource, object: &Value, seen: &Seen<'_>) -> Option<Mismatch> {
        let version = number(&text_of(object, "/metadata/resourceVersion"))?;
        let name = text_of(object, "/metadata/name");
        let lists = self.lists.get(&resource.plural)?.iter();
        let last = lists
            .filter(|(answered, _)| *answered <= seen.sent)
            .map(|(_, version)| *version)
            .max()?;
        (seen.made && version <= last).then(|| {
            let expected = format!("a version later than {last}, that of a list before the write");
            Mismatch::new(format!("version of {name}"), expected, version.to_string())
        })
    }

    /// Returns an existing object that a complete list lacks.
    pub(super) fn missing(&self, list: &Resource, sent: Moment, listed: &[(String, String)]) -> Option<Mismatch> {
        let lacks = |((plural, namespace, name), known): (&Key, &KnownObject)| {
            let expected = *plural == list.plural
                && (list.namespace.is_empty() || *namespace == list.namespace)
                && !known.deletion_requested
                && known.answered <= sent
                && !listed.iter().any(|(other, one)| other == namespace && one == name);
            expected.then(|| name.clone())
        };
        let name = self.objects.iter().find_map(lacks)?;
        Some(Mismatch::new(
            "items",
            format!("{name} is listed"),
            format!("{name} is not listed"),
        ))
    }

    /// Returns a mismatch if a read did not find an existing object.
    pub(super) fn lost(&self, resource: &Resource, sent: Moment) -> Option<Mismatch> {
        let name = resource.name.as_ref().filter(|_| resource.is_of_objects())?;
        let known = self.known(resource, &resource.namespace, name)?;
        let there = !known.deletion_requested && known.answered <= sent;
        there.then(|| Mismatch::new("status", format!("200: {name} was not deleted"), "404"))
    }

    /// Checks that no other object has the same uid or version.
    fn same_as_other(&self, key: &Key, object: &Value) -> Option<Mismatch> {
        let (uid, version) = (
            text_of(object, "/metadata/uid"),
            number(&text_of(object, "/metadata/resourceVersion")),
        );
        let others = self
            .objects
            .iter()
            .filter(|(other, _)| other.0 == key.0 && *other != key);
        others.into_iter().find_map(|((_, _, other), known)| {
            if known.uid == uid {
                return Some(Mismatch::new(
                    format!("uid of {}", key.2),
                    format!("different from that of {other}"),
                    uid.clone(),
                ));
            }
            let same = known.versions.iter().any(|known| Some(known.version) == version);
            let about = || format!("version of {}", key.2);
            same.then(|| {
                Mismatch::new(
                    about(),
                    format!("different from that of {other}"),
                    text_of(object, "/metadata/resourceVersion"),
                )
            })
        })
    }

    /// Returns the last version of the object of a path.
    pub(super) fn last(&self, resource: &Resource) -> Option<&Value> {
        let known = self.known(resource, &resource.namespace, resource.name.as_ref()?)?;
        let last = known.versions.iter().max_by_key(|known| known.version)?;
        Some(&last.content)
    }

    /// Returns an object that a deletion returned. It has the time of its deletion, but may have the version before.
    pub(super) fn before_deletion(&self, resource: &Resource, object: &Value) -> Value {
        let of = |field: &str| text_of(object, &format!("/metadata/{field}"));
        let known = self.known(resource, &of("namespace"), &of("name"));
        let version = number(&of("resourceVersion"));
        let is_before = |known: &Version| {
            Some(known.version) == version && known.content.pointer("/metadata/deletionTimestamp").is_none()
        };
        let mut object = object.clone();
        if known.is_some_and(|known| known.versions.iter().any(is_before))
            && let Some(Value::Object(metadata)) = object.get_mut("metadata")
        {
            metadata.remove("deletionTimestamp");
            metadata.remove("deletionGracePeriodSeconds");
        }
        object
    }

    /// Checks an object against earlier responses, and records it.
    pub(super) fn object(
        &mut self,
        resource: &Resource,
        namespace: &str,
        object: &Value,
        seen: &Seen<'_>,
    ) -> Vec<Mismatch> {
        let (name, uid) = (text_of(object, "/metadata/name"), text_of(object, "/metadata/uid"));
        let created = text_of(object, "/metadata/creationTimestamp");
        let key = (resource.plural.clone(), namespace.to_owned(), name.clone());
        let deletion_requested = object.pointer("/metadata/deletionTimestamp").is_some();
        let mut found = Vec::from_iter(self.same_as_other(&key, object));
        found.extend(self.not_later_than_lists(resource, object, seen));
        let Some(known) = self.objects.get_mut(&key).filter(|known| known.is_same(&uid, seen)) else {
            let mut known = KnownObject {
                uid,
                created,
                answered: seen.answered,
                versions: Vec::new(),
                deletion_requested,
                deleted: None,
            };
            known.remember(resource, object, seen);
            self.objects.insert(key, known);
            return found;
        };
        known.deletion_requested |= deletion_requested;
        for (field, expected, actual) in [
            ("uid", &known.uid, &uid),
            ("creationTimestamp", &known.created, &created),
        ] {
            if expected != actual {
                found.push(Mismatch::new(format!("{field} of {name}"), expected, actual));
            }
        }
        let gone = known.deleted.is_some_and(|deleted| deleted <= seen.sent);
        if gone && !deletion_requested && seen.fresh {
            found.push(Mismatch::new(&name, "absent: it was deleted", "present"));
        }
        found.extend(known.contradicts(resource, &name, object, seen));
        known.remember(resource, object, seen);
        found
    }
}

impl KnownObject {
    /// Whether a response can be about the same object. With another uid it is one created after a deletion.
    fn is_same(&self, uid: &str, seen: &Seen<'_>) -> bool {
        let creates = seen.method == Some(&Method::POST);
        self.uid == uid || !(self.deletion_requested || creates)
    }

    /// Checks a response against earlier ones.
    fn contradicts(&self, resource: &Resource, name: &str, object: &Value, seen: &Seen<'_>) -> Option<Mismatch> {
        let version = number(&text_of(object, "/metadata/resourceVersion"))?;
        let content = content(object);
        let of_group = || {
            self.versions
                .iter()
                .filter(|known| known.group_version == resource.group_version)
        };
        if let Some(same) = of_group().find(|known| known.version == version) {
            return check::equal(&format!("version {version} of {name}"), &same.content, &content);
        }
        let earlier = self.versions.iter().filter(|known| known.answered <= seen.sent);
        let last = earlier.max_by_key(|known| known.version)?;
        if version < last.version && seen.fresh {
            let expected = format!("{} or later: that version was returned before", last.version);
            return Some(Mismatch::new(
                format!("version of {name}"),
                expected,
                version.to_string(),
            ));
        }
        let before = of_group()
            .filter(|known| known.version < version)
            .max_by_key(|known| known.version)?;
        let reads = seen.method.is_none_or(|method| method == Method::GET);
        if reads && before.version == last.version && !check::changed(&before.content, &content) {
            let expected = format!("{}: it is the same", before.version);
            return Some(Mismatch::new(
                format!("version of {name}"),
                expected,
                version.to_string(),
            ));
        }
        untouched(resource, name, &before.content, &content, seen)
            .or_else(|| generation(resource, name, &before.content, &content, seen))
    }

    fn remember(&mut self, resource: &Resource, object: &Value, seen: &Seen<'_>) {
        let Some(version) = number(&text_of(object, "/metadata/resourceVersion")) else {
            return;
        };
        if self.versions.len() >= MAX_VERSIONS {
            self.versions.remove(0);
        }
        self.versions.push(Version {
            answered: seen.answered,
            version,
            group_version: resource.group_version.clone(),
            content: content(object),
        });
    }
}

/// Checks what a write must leave alone against the previous version: a deletion and a replacement of the status
/// everything but metadata and status, any other write the status.
fn untouched(resource: &Resource, name: &str, before: &Value, after: &Value, seen: &Seen<'_>) -> Option<Mismatch> {
    let deletes = seen.method == Some(&Method::DELETE);
    if !deletes && ![Some(&Method::PUT), Some(&Method::PATCH)].contains(&seen.method) {
        return None;
    }
    if deletes || resource.subresource.is_some() {
        let ours = |object: &Value| check::without(object, &["metadata", "status"]);
        return check::equal(&format!("{name} but for its status"), &ours(before), &ours(after));
    }
    let status = |object: &Value| object.get("status").cloned().unwrap_or_default();
    check::equal(&format!("status of {name}"), &status(before), &status(after))
}

/// Checks the generation returned by a write against the previous version. It can be missing: v1.2 takes the generation
/// of a replacement from the client if the spec is unchanged.
fn generation(resource: &Resource, name: &str, before: &Value, after: &Value, seen: &Seen<'_>) -> Option<Mismatch> {
    let of = |object: &Value| object.pointer("/metadata/generation").and_then(Value::as_i64);
    let (earlier, later) = (of(before)?, of(after)?);
    let writes = [Some(&Method::PUT), Some(&Method::PATCH)].contains(&seen.method);
    let new_spec = before.get("spec") != after.get("spec");
    let annotations = |object: &Value| object.pointer("/metadata/annotations").cloned();
    let same = !new_spec && annotations(before) == annotations(after);
    let expected = if writes && new_spec && later <= earlier {
        format!("more than {earlier}: the spec was changed")
    } else if writes && same && resource.subresource.is_some() && later > earlier {
        format!("{earlier}: the spec was not changed")
    } else {
        return None;
    };
    Some(Mismatch::new(
        format!("generation of {name}"),
        expected,
        later.to_string(),
    ))
}

/// Returns an object without fields that depend on the path of the request.
fn content(object: &Value) -> Value {
    let mut content = check::without(object, &OF_THE_PATH);
    if let Some(Value::Object(metadata)) = content.get_mut("metadata") {
        metadata.remove("selfLink");
    }
    content
}
