//! From a request's body to an object, and from an object to what is sent.
//!
//! Promises: kind and version are read first and checked; what is refused is refused in the reference's words.
//! Source of semantics: the recordings, and Kubernetes v1.2's serializer and codec.

use bytes::Bytes;
use serde_json::Value;

use super::{
    canonical, codec, convert, default, encode, internal,
    kind::{Resource, Scheme},
    mismatch,
    top::{self, TypeMeta},
    yaml,
};
use crate::api::{Object, Reason, Status};

/// The notation of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// JSON.
    Json,
    /// YAML, which JSON is too.
    Yaml,
}

/// Why a body is no object of the wanted kind.
#[derive(Debug, PartialEq)]
struct Refusal {
    /// The kind and version that the body is of, if it got so far as to say.
    of: Option<(String, String)>,
    problem: String,
}

impl Refusal {
    fn unrecognized(problem: impl Into<String>) -> Self {
        Self { of: None, problem: problem.into() }
    }
}

impl Resource {
    /// Reads an object of this kind from a request's body.
    pub fn decode(&self, body: &[u8], syntax: Syntax) -> Result<Object, Status> {
        self.read(body, syntax).map_err(|refusal| {
            Status::bad_request(match refusal.of {
                Some((kind, version)) => format!("{kind} in version {version:?} cannot be handled as a {}: {}", self.kind, refusal.problem),
                None => format!("the object provided is unrecognized (must be of type {}): {}", self.kind, refusal.problem),
            })
        })
    }

    /// Reads an object of this kind from a body whose refusal is the server's own words and code 500: options of a delete.
    pub fn decode_plain(&self, body: &[u8], syntax: Syntax) -> Result<Object, Status> {
        self.read(body, syntax).map_err(|refusal| Status::new(Reason::Unknown, refusal.problem))
    }

    /// Reads an object of this kind from a tree, such as a patch leaves; refusals as of [`Resource::decode_plain`].
    pub fn decode_value(&self, tree: Value) -> Result<Object, Status> {
        self.decode_plain(&encode::compact(&tree), Syntax::Json)
    }

    fn read(&self, original: &[u8], syntax: Syntax) -> Result<Object, Refusal> {
        let json;
        let body = match syntax {
            Syntax::Json => original,
            Syntax::Yaml => {
                json = encode::compact(&yaml::to_value(original).map_err(|e| Refusal::unrecognized(e.to_string()))?);
                &json
            }
        };
        let TypeMeta { api_version, kind } =
            top::type_meta(body).map_err(|e| Refusal::unrecognized(format!("couldn't get version/kind; json parse error: {e}")))?;
        let (group, version) = match api_version.split_once('/') {
            _ if api_version.is_empty() || api_version == "/" => (self.group.clone(), self.version.clone()),
            None => (String::new(), api_version),
            Some((_, rest)) if rest.contains('/') => return Err(Refusal::unrecognized(format!("unexpected GroupVersion string: {api_version}"))),
            Some((group, "")) if group == self.group => (self.group.clone(), self.version.clone()),
            Some((group, version)) => (group.to_owned(), version.to_owned()),
        };
        let kind = if kind.is_empty() { self.kind.clone() } else { kind };
        let refuse = |problem: String| Refusal { of: Some((kind.clone(), version.clone())), problem };
        if version.is_empty() {
            return Err(refuse(format!("Object 'apiVersion' is missing in '{}'", String::from_utf8_lossy(original))));
        }
        let group_version = if group.is_empty() { version.clone() } else { format!("{group}/{version}") };
        let scheme = Scheme::builtin();
        let of = if kind == self.kind && group_version == self.group_version() { Some(self) } else { scheme.kind(&group_version, &kind) };
        let Some(of) = of else {
            return Err(refuse(if scheme.is_registered(&group_version, &kind) {
                mismatch::refuse_unknown(&version, &kind, self)
            } else {
                format!("no kind {kind:?} is registered for version {group_version:?}")
            }));
        };
        let mut fields = codec::decode(body, of.structure()).map_err(&refuse)?;
        internal::structure(of.structure(), &mut fields).map_err(|problem| refuse(problem.to_owned()))?;
        let object = of.canonical(fields);
        if of.kind != self.kind {
            return mismatch::convert(of, self, &object).map(|object| self.canonical(object)).map_err(refuse);
        }
        Ok(of.convert(self, object))
    }

    /// Fills in what is not given.
    pub fn default(&self, object: &mut Object) {
        default::structure(self.structure(), object);
        *object = self.canonical(std::mem::take(object));
    }

    /// The object in its one form: kind and version first, then its fields in the order of the type, maps sorted, the empty left out.
    pub fn canonical(&self, object: Object) -> Object {
        let mut out = Object::with_capacity(5);
        out.insert("kind".into(), self.kind.clone().into());
        out.insert("apiVersion".into(), self.group_version().into());
        out.extend(canonical::structure(self.structure(), object));
        out
    }

    /// The object as compact JSON, which begins with its kind and version.
    pub fn encode(&self, object: &Object) -> Bytes {
        let mut out = Vec::with_capacity(1024);
        out.extend_from_slice(self.head().as_bytes());
        let rest: Object = object.iter().filter(|(key, _)| *key != "kind" && *key != "apiVersion").map(|(k, v)| (k.clone(), v.clone())).collect();
        let rest = encode::compact(&Value::Object(rest));
        if rest.len() > 2 {
            out.push(b',');
            out.extend_from_slice(rest.get(1..).unwrap_or_default());
        } else {
            out.push(b'}');
        }
        out.into()
    }

    /// The object as the kind `to` shows it, where both are faces of one thing.
    pub fn convert(&self, to: &Self, object: Object) -> Object {
        convert::convert(self, to, object)
    }
}
