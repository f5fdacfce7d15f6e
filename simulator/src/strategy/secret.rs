//! Secrets.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::generic::Strategy;
use super::resource_name::ResourceName;
use super::validate::cursor::{Cursor, Errors, IMMUTABLE};
use super::validate::name::{self, NameRule};
use super::validate::{go_json, metadata};
use crate::api::{FieldError, Object, Path, Status, meta};
use crate::rng::Rng;

/// Resource of secrets.
pub(crate) const RESOURCE: ResourceName = ResourceName::core("secrets");
/// Type of secrets that contain the token of a service account.
pub(crate) const ACCOUNT_TOKEN: &str = "kubernetes.io/service-account-token";

/// Maximum size of all values of an object together, in bytes.
const MAX_DATA_BYTES: usize = 1 << 20;
const ACCOUNT: &str = "kubernetes.io/service-account.name";

/// Strategy of secrets.
pub(super) struct SecretStrategy;

impl Strategy for SecretStrategy {
    fn validate(&self, secret: &Cursor, _: &str, errors: &mut Errors) {
        create_as(secret, secret.at("type").text(), errors);
    }

    /// The type is immutable and may be omitted.
    fn validate_update(&self, new: &Cursor, old: &Cursor, _: &str, errors: &mut Errors) {
        metadata::update(&new.at("metadata"), &old.at("metadata"), errors);
        let (now, before) = (new.at("type"), old.at("type").text());
        let kind = if now.text().is_empty() { before } else { now.text() };
        if kind != before {
            errors.push(now.invalid(kind, IMMUTABLE));
        }
        create_as(new, kind, errors);
    }

    fn export(&self, secret: &mut Object, exact: bool, _: &Rng) -> Result<(), Status> {
        let annotations = meta::lookup(secret, "metadata.annotations");
        let has_account = annotations.is_some_and(|all| all.get("kubernetes.io/service-account.uid").is_some());
        if exact || !(has_account || meta::text(secret, "type") == ACCOUNT_TOKEN) {
            return Ok(());
        }
        let why = "can not export service account secrets";
        let error = FieldError::invalid(&Path::new("type"), meta::text(secret, "type"), why);
        Err(Status::invalid(
            "",
            "Secret",
            meta::text(secret, "metadata.name"),
            &[error],
        ))
    }

    fn quota_resources(&self) -> &'static [&'static str] {
        &["secrets"]
    }
}

fn create_as(secret: &Cursor, kind: &str, errors: &mut Errors) {
    metadata::create(&secret.at("metadata"), true, NameRule::DnsSubdomain, errors);
    let data = secret.at("data");
    data_entries(&data, |value| bytes(value).len(), errors);
    match kind {
        ACCOUNT_TOKEN => {
            let notes = secret.at("metadata").at("annotations");
            Cursor::new(notes.path().key(ACCOUNT), notes.member(ACCOUNT)).require_text(errors);
        }
        "kubernetes.io/dockercfg" => json_under(&data, ".dockercfg", errors),
        "kubernetes.io/dockerconfigjson" => json_under(&data, ".dockerconfigjson", errors),
        // The paths of the next two errors contain a format verb, as in v1.2.
        "kubernetes.io/basic-auth" if ["username", "password"].iter().all(|key| data.member(key).is_none()) => {
            errors
                .extend(["username", "password"].map(|key| FieldError::required(&Path::new("data[%s]").key(key), "")));
        }
        "kubernetes.io/ssh-auth" if data.member("ssh-privatekey").is_none_or(|key| bytes(key).is_empty()) => {
            errors.push(FieldError::required(&Path::new("data[%s]").key("ssh-privatekey"), ""));
        }
        "kubernetes.io/tls" => {
            for key in ["tls.crt", "tls.key"]
                .into_iter()
                .filter(|key| data.member(key).is_none())
            {
                errors.push(FieldError::required(&data.path().key(key), ""));
            }
        }
        _ => {}
    }
}

/// Decodes `value` as base64.
fn bytes(value: &Value) -> Vec<u8> {
    STANDARD.decode(value.as_str().unwrap_or_default()).unwrap_or_default()
}

/// Requires a JSON object under `key` of the data at `data`. Errors do not show the value.
fn json_under(data: &Cursor, key: &str, errors: &mut Errors) {
    let path = data.path().key(key);
    match data.member(key) {
        None => errors.push(FieldError::required(&path, "")),
        Some(value) => {
            if let Err(why) = go_json::decode(&go_json::OBJECT, &bytes(value)) {
                errors.push(FieldError::invalid(&path, "<secret contents redacted>", why));
            }
        }
    }
}

/// Validates the keys of the data at `at`, and the size of its values.
pub(super) fn data_entries(at: &Cursor, size: fn(&Value) -> usize, errors: &mut Errors) {
    let mut total = 0;
    for (key, entry) in at.entries() {
        if let Err(want) = name::data_key(key) {
            errors.push(entry.invalid(key, want));
        }
        total += size(entry.value());
    }
    if total > MAX_DATA_BYTES {
        errors.push(FieldError::too_long(at.path(), "", MAX_DATA_BYTES));
    }
}
