//! What a resource does with an object: defaults, canonical form, encoding, conversion to another version.

use bytes::Bytes;

use super::{canonical, default, encode, resource::Resource};
use crate::api::Object;

impl Resource {
    /// Fills in what is not given.
    pub fn default(&self, object: &mut Object) {
        default::structure(self.types(), self.struct_type(), object);
        *object = self.canonical(std::mem::take(object));
    }

    /// The object in its one form: kind and version first, then its fields in the order of the type, maps sorted, the empty left out.
    pub fn canonical(&self, mut object: Object) -> Object {
        object.shift_remove("kind");
        object.shift_remove("apiVersion");
        canonical::structure(self.types(), self.struct_type(), &mut object);
        object.shift_insert(0, "kind".into(), self.kind.clone().into());
        object.shift_insert(1, "apiVersion".into(), self.group_version().into());
        object
    }

    /// The object as compact JSON, which begins with its kind and version.
    pub fn encode(&self, object: &Object) -> Bytes {
        let mut out = Vec::with_capacity(1024);
        out.extend_from_slice(self.head().as_bytes());
        let brace = out.len();
        encode::fields(object, &["kind", "apiVersion"], &mut out);
        if out.len() == brace + 2 {
            out.truncate(brace);
            out.push(b'}');
        } else if let Some(brace) = out.get_mut(brace) {
            *brace = b',';
        }
        out.into()
    }

    /// The object, which is of this version, in the version `to` of the same kind.
    ///
    /// Kinds of one name that are stored apart have what fields of the same names have.
    pub fn convert(&self, to: &Self, mut object: Object) -> Object {
        if !std::ptr::eq(self, to) && self.stored_as() == to.stored_as() {
            if let Some(storage) = self.storage() {
                storage.conversion.to_storage(&mut object);
                object = storage.resource.canonical(object);
            }
            if let Some(storage) = to.storage() {
                storage.conversion.from_storage(&mut object);
            }
        }
        to.canonical(object)
    }

    /// The bytes of an object in this version, from those in which it is stored.
    pub fn convert_stored(&self, stored: &[u8]) -> Bytes {
        let object = serde_json::from_slice(stored).unwrap_or_default();
        let mut object = self.storage_version().convert(self, object);
        self.set_self_link(&mut object);
        self.encode(&self.canonical(object))
    }
}
