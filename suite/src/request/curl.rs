//! A request as a line for a shell.

use super::Request;

impl Request {
    /// The curl line that asks the same of a server. Credentials are not in it.
    pub fn curl(&self, base: &str) -> String {
        let mut line = String::from("curl -sS -i");
        if self.method != http::Method::GET {
            line.push_str(&format!(" -X {}", self.method));
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
            line.push_str(&format!(" --data-binary {}", quoted(&String::from_utf8_lossy(body))));
        }
        line.push_str(&format!(
            " {}",
            quoted(&format!("{}{}", base.trim_end_matches('/'), self.target()))
        ));
        line
    }
}

/// A word in single quotes, as a POSIX shell reads it.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_shown_as_a_line_that_a_shell_takes() {
        let mut request =
            Request::new(http::Method::POST, "/api/v1/namespaces").with_body("application/json", r#"{"a":"it's"}"#);
        request.query.push(("pretty".into(), "true".into()));
        assert_eq!(
            request.curl("http://127.0.0.1:8080/"),
            r#"curl -sS -i -X POST -H 'Content-Type: application/json' --data-binary '{"a":"it'\''s"}' 'http://127.0.0.1:8080/api/v1/namespaces?pretty=true'"#
        );
    }
}
