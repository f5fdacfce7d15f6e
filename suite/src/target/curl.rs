//! Requests to a target as curl command lines.

use http::header::ORIGIN;
use serde_json::Value;

use super::Target;
use super::socket::upgrade_headers;
use crate::catalog::{Credential, Socket};
use crate::check::confined;
use crate::request::Request;

/// A WebSocket key, with an arbitrary value.
const KEY: &str = "c3R1bnRkb3VibGUta2V5IQ==";

impl Target {
    /// Returns the curl command line of a request. Credentials and bodies with objects of others are placeholders.
    pub fn curl(&self, request: &Request) -> String {
        let mut shown = request.clone();
        shown.credential = shown.credential.or_else(|| self.presented());
        if shown.body.as_deref().is_some_and(is_stored_by_others) {
            shown.body = Some("(not an object of this run)".into());
        }
        let secure = self
            .credential_clients
            .as_ref()
            .filter(|_| request.credential.is_some());
        let base = secure.map_or(&self.base, |clients| &clients.base);
        let unverified = self
            .credential_clients
            .as_ref()
            .is_some_and(|clients| clients.credentials.insecure);
        shown.curl(base, unverified && base.starts_with("https:"))
    }

    /// Returns the curl command line that opens the same WebSocket.
    pub fn curl_upgrade(&self, request: &Request, wanted: &Socket) -> String {
        let mut shown = request.clone();
        let mut add = |name: http::HeaderName, value: &str| shown.headers.push((name.to_string(), value.to_owned()));
        for (name, value) in upgrade_headers(wanted, KEY) {
            add(name, &value);
        }
        if let (true, Some(origin)) = (wanted.origin, self.origin()) {
            add(ORIGIN, &String::from_utf8_lossy(origin.as_bytes()));
        }
        format!("{} --http1.1 --no-buffer", self.curl(&shown))
    }

    /// Returns the credential that the target's client sends with every request.
    fn presented(&self) -> Option<Credential> {
        let header = self.authorization.as_ref().map(http::HeaderValue::as_bytes);
        let certificate = || {
            let clients = self.credential_clients.as_ref()?;
            clients
                .credentials
                .identity
                .is_some()
                .then_some(Credential::Certificate)
        };
        match header {
            Some(value) if value.starts_with(b"Bearer ") => Some(Credential::Bearer),
            Some(_) => Some(Credential::Basic),
            None => certificate(),
        }
    }
}

/// Whether a body is a stored object that is not of the run.
fn is_stored_by_others(body: &[u8]) -> bool {
    if !std::str::from_utf8(body).is_ok_and(|text| text.contains("\"uid\"")) {
        return false;
    }
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    body.pointer("/metadata/uid").is_some() && confined(&body) != body
}
