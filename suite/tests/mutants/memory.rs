//! The objects that were written through a proxy.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use serde_json::Value;

use crate::request::ForwardedRequest;

/// An object, with every state that a write returned.
#[derive(Debug, Clone)]
struct KnownObject {
    path: String,
    states: Vec<Value>,
    deleted: bool,
}

/// Objects by uid.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    objects: Mutex<HashMap<String, KnownObject>>,
}

impl Memory {
    /// Records the result of a write.
    pub(crate) fn written(&self, forwarded: &ForwardedRequest, body: &[u8]) {
        let object: Value = serde_json::from_slice(body).unwrap_or_default();
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let (Some(uid), Some(name)) = (text("/metadata/uid"), text("/metadata/name")) else {
            return;
        };
        let path = match forwarded.method {
            http::Method::POST => format!("{}/{name}", forwarded.path.trim_end_matches('/')),
            http::Method::PUT | http::Method::PATCH => forwarded.path.trim_end_matches("/status").to_owned(),
            _ => return,
        };
        if path.ends_with("/scale") {
            return;
        }
        let mut state = object;
        if let Some(link) = state.pointer_mut("/metadata/selfLink") {
            *link = path.as_str().into();
        }
        let mut objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        let known = objects.entry(uid).or_insert(KnownObject {
            path,
            states: Vec::new(),
            deleted: false,
        });
        known.states.push(state);
    }

    /// Records the deletion of an object or a collection.
    pub(crate) fn deleted(&self, path: &str) {
        let mut objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        let inside = format!("{path}/");
        let below = objects
            .values_mut()
            .filter(|known| known.path == path || known.path.starts_with(&inside));
        below.for_each(|known| known.deleted = true);
    }

    /// Returns the deleted objects of a collection, as items of a list.
    pub(crate) fn undead(&self, collection: &str) -> Vec<Value> {
        let objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        let inside = format!("{collection}/");
        let deleted = objects
            .values()
            .filter(|known| known.deleted && known.path.starts_with(&inside));
        let mut items: Vec<Value> = deleted.filter_map(|known| known.states.last().cloned()).collect();
        for fields in items.iter_mut().filter_map(Value::as_object_mut) {
            fields.remove("kind");
            fields.remove("apiVersion");
        }
        items
    }

    /// Returns the paths of all objects.
    pub(crate) fn paths(&self) -> Vec<String> {
        let objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        objects.values().map(|known| known.path.clone()).collect()
    }

    /// Returns the state of an object before its last write, as a list item if `object` is one.
    pub(crate) fn previous(&self, object: &Value) -> Option<Value> {
        let uid = object.pointer("/metadata/uid")?.as_str()?;
        let objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        let mut previous = objects.get(uid)?.states.iter().rev().nth(1)?.clone();
        if let Value::Object(fields) = &mut previous
            && object.get("kind").is_none()
        {
            fields.remove("kind");
            fields.remove("apiVersion");
        }
        Some(previous)
    }

    /// Returns the last state of the deleted object with the same path.
    pub(crate) fn former(&self, object: &Value) -> Option<Value> {
        let uid = object.pointer("/metadata/uid")?.as_str()?;
        let objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        let path = &objects.get(uid)?.path;
        let mut others = objects.iter().filter(|(other, _)| *other != uid);
        let (_, known) = others.find(|(_, known)| known.deleted && known.path == *path)?;
        known.states.last().cloned()
    }

    /// Returns the path of the object of the same kind and name in another namespace, or of its subresource.
    pub(crate) fn elsewhere(&self, path: &str) -> Option<String> {
        let objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        let segments = |path: &str| path.split('/').map(str::to_owned).collect::<Vec<_>>();
        let wanted = segments(path);
        let place = wanted.iter().position(|segment| segment == "namespaces")? + 1;
        let mut others = objects.values().map(|known| segments(&known.path));
        let mut same = others.find(|other| {
            matches!(wanted.len().checked_sub(other.len()), Some(0 | 1))
                && other.get(place) != wanted.get(place)
                && (0..other.len()).all(|at| at == place || other[at] == wanted[at])
        })?;
        same.extend_from_slice(&wanted[same.len()..]);
        Some(same.join("/"))
    }

    /// Returns the paths of the other objects in the collection of an object.
    pub(crate) fn neighbours(&self, path: &str) -> Vec<String> {
        let objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        let collection = |path: &str| path.rsplit_once('/').map(|(collection, _)| collection.to_owned());
        let others = objects.values().map(|known| &known.path);
        others
            .filter(|other| *other != path && collection(other) == collection(path))
            .cloned()
            .collect()
    }
}
