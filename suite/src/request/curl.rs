//! A request as a curl command line.

use bytes::Bytes;

use super::Request;
use crate::catalog::Credential;

/// Maximum size of a body in the command line, in bytes.
const MAX_BODY_BYTES: usize = 4096;

impl Request {
    /// Returns the curl command line that sends this request to the server at `base`. With `unverified` it does not
    /// verify the certificate. Credentials are placeholders, and so is a body that is long or not text.
    pub fn curl(&self, base: &str, unverified: bool) -> String {
        let mut line = String::from("curl -sS -i");
        if unverified {
            line.push_str(" -k");
        }
        if self.method != http::Method::GET {
            line.push_str(&format!(" -X {}", self.method));
        }
        if let Some(credential) = self.credential {
            line.push_str(placeholder(credential));
        }
        if let Some(accept) = &self.accept {
            line.push_str(&format!(" -H {}", quoted(&format!("Accept: {accept}"))));
        }
        for (name, value) in &self.headers {
            line.push_str(&format!(" -H {}", quoted(&format!("{name}: {value}"))));
        }
        match (&self.content_type, &self.body) {
            (Some(content_type), _) => {
                line.push_str(&format!(" -H {}", quoted(&format!("Content-Type: {content_type}"))))
            }
            (None, Some(_)) => line.push_str(" -H 'Content-Type;'"),
            (None, None) => {}
        }
        if let Some(body) = &self.body {
            line.push_str(&format!(" --data-binary {}", data(body)));
        }
        line.push_str(&format!(
            " {}",
            quoted(&format!("{}{}", base.trim_end_matches('/'), self.target()))
        ));
        line
    }
}

/// Returns the placeholder of a credential. The invalid ones are not secret.
fn placeholder(credential: Credential) -> &'static str {
    match credential {
        Credential::Nobody => "",
        Credential::Basic => " -u \"$BASIC\"",
        Credential::BasicWrong => " -u nobody:no-such-password",
        Credential::Bearer => " -H \"Authorization: Bearer $TOKEN\"",
        Credential::BearerWrong => " -H 'Authorization: Bearer no-such-token'",
        Credential::Certificate => " --cert \"$CLIENT_CERT\" --key \"$CLIENT_KEY\"",
    }
}

/// Returns a body as an argument, or the name of a file to read it from.
fn data(body: &Bytes) -> String {
    match std::str::from_utf8(body) {
        Ok(text) if body.len() <= MAX_BODY_BYTES && !text.contains('\0') && !text.starts_with('@') => quoted(text),
        _ => quoted(&format!("@upload-of-{}-bytes", body.len())),
    }
}

/// Quotes a word for a POSIX shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_a_command_line_of_a_shell() {
        let mut request =
            Request::new(http::Method::POST, "/api/v1/namespaces").with_body("application/json", r#"{"a":"it's"}"#);
        request.query.push(("pretty".into(), "true".into()));
        assert_eq!(
            request.curl("http://127.0.0.1:8080/", false),
            concat!(
                r#"curl -sS -i -X POST -H 'Content-Type: application/json' --data-binary '{"a":"it'\''s"}'"#,
                " 'http://127.0.0.1:8080/api/v1/namespaces?pretty=true'"
            )
        );
    }

    #[test]
    fn credentials_and_uploads_are_placeholders() {
        let mut request = Request::new(http::Method::PUT, "/x").with_body("application/octet-stream", vec![0, 255, 1]);
        request.credential = Some(Credential::Bearer);
        assert_eq!(
            request.curl("https://h", true),
            concat!(
                r#"curl -sS -i -k -X PUT -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/octet-stream'"#,
                " --data-binary '@upload-of-3-bytes' 'https://h/x'"
            )
        );
    }
}
