//! Defaults, forms, encoding and conversion of a resource's objects.

use bytes::Bytes;

use super::{
    canonical::{self, Form},
    default,
    resource::Resource,
};
use crate::{api::Object, compat::json_write};

impl Resource {
    /// Sets the defaults of an object and converts it to typed form.
    pub(crate) fn default(&self, object: &mut Object) {
        default::structure(self.types(), self.struct_type(), object);
        *object = self.typed(std::mem::take(object));
    }

    /// Converts an object to canonical form: kind and version first, then its fields in the order of the type, maps
    /// sorted, empty values omitted.
    pub(crate) fn canonical(&self, object: Object) -> Object {
        self.in_form(object, Form::Canonical)
    }

    /// Converts an object to typed form: canonical, except that empty lists and maps are kept.
    pub(crate) fn typed(&self, object: Object) -> Object {
        self.in_form(object, Form::Typed)
    }

    fn in_form(&self, mut object: Object, form: Form) -> Object {
        let head = [("kind", &*self.kind), ("apiVersion", self.group_version())];
        canonical::structure(self.types(), self.struct_type(), &mut object, form, &head);
        object
    }

    /// Encodes an object as compact JSON, kind and version first.
    pub(crate) fn encode(&self, object: &Object) -> Bytes {
        let mut out = Vec::with_capacity(1024);
        out.extend_from_slice(self.head().as_bytes());
        let brace = out.len();
        json_write::fields(object, &["kind", "apiVersion"], &mut out);
        if out.len() == brace + 2 {
            out.truncate(brace);
            out.push(b'}');
        } else if let Some(brace) = out.get_mut(brace) {
            *brace = b',';
        }
        out.into()
    }

    /// Converts an object of this version to the version `to` of the same kind, in typed form.
    ///
    /// Between kinds that only share their name, it keeps the fields that both have.
    pub(crate) fn convert(&self, to: &Self, mut object: Object) -> Object {
        if !std::ptr::eq(self, to) && self.stored_as() == to.stored_as() {
            if let Some(storage) = self.storage() {
                storage.conversion.to_storage(&mut object);
                object = storage.resource.typed(object);
            }
            if let Some(storage) = to.storage() {
                storage.conversion.convert_from_storage(&mut object);
            }
        }
        to.typed(object)
    }

    /// Converts an encoded object of the storage version to this one.
    pub(crate) fn convert_stored(&self, stored: &[u8]) -> Bytes {
        let object = serde_json::from_slice(stored).unwrap_or_default();
        let mut object = self.storage_version().convert(self, object);
        self.set_self_link(&mut object);
        self.encode(&self.canonical(object))
    }
}
