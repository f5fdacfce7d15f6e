//! Expected responses by the documents, where they differ from the recorded server.
//!
//! Source: DESIGN.md, "Two profiles".

use super::watch::{start, watching};
use crate::interaction::Interaction;
use serde_json::Value;
use std::borrow::Cow;

/// An expected response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Expected<'a> {
    /// The status. None for any client error.
    pub(super) status: Option<u16>,
    /// The body.
    pub(super) text: Cow<'a, str>,
    /// Whether a watch is judged by the objects at its end.
    pub(super) outcome: bool,
    /// The kind of the body, if nothing else of it is judged.
    pub(super) kind: Option<&'static str>,
}

/// A recorded response.
pub(super) fn recorded(status: u16, text: Cow<'_, str>) -> Expected<'_> {
    Expected {
        status: Some(status),
        text,
        outcome: false,
        kind: None,
    }
}

/// Returns what the documents expect. None if they do not say.
pub(super) fn documented<'a>(interaction: &Interaction, status: u16, text: Cow<'a, str>) -> Option<Expected<'a>> {
    let request = &interaction.request;
    let (method, path, query) = (request.method.as_str(), request.path(), request.query());
    let mut expected = recorded(status, text);
    if path.contains("/proxy") {
        // The query parameter `path` is the path to proxy to. The recorded server redirects instead.
        let names_path = query.split('&').any(|pair| pair.starts_with("path="));
        return (!names_path).then_some(expected);
    }
    let media_type_refused = status == 415 && method != "PATCH";
    let yaml_said_to_be_json = status == 400 && request.text().starts_with("kind:");
    if media_type_refused || status == 410 || yaml_said_to_be_json || query.contains("watch=maybe") {
        return None;
    }
    if watching(interaction) && status == 200 {
        match start(query) {
            Some(start) => expected.text = Cow::Owned(after(&expected.text, start)),
            None => expected.outcome = true,
        }
    }
    match (method, status) {
        ("POST" | "PUT", 201) => {
            expected.status = Some(200);
            if path.contains("/bindings") || path.ends_with("/binding") {
                expected.kind = Some("Binding");
            }
        }
        (_, 500) => expected.status = None,
        ("DELETE", 200) if !expected.text.replace(' ', "").contains(r#""kind":"Status""#) => {
            let status = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":200}"#;
            expected.text = Cow::Borrowed(status);
        }
        _ => {}
    }
    Some(expected)
}

/// The frames of changes after a version. The recorded server also sends the change of the version itself.
fn after(text: &str, start: u128) -> String {
    let later = |frame: &&str| {
        let frame: Value = serde_json::from_str(frame).unwrap_or_default();
        let version = frame
            .pointer("/object/metadata/resourceVersion")
            .and_then(Value::as_str);
        version
            .and_then(|version| version.parse::<u128>().ok())
            .is_none_or(|version| version > start)
    };
    text.lines()
        .filter(|frame| !frame.trim().is_empty())
        .filter(later)
        .flat_map(|frame| [frame, "\n"])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interaction::{Headers, Marks, Outcome, Payload, Request, Response};
    use jiff::Timestamp;
    use rstest::rstest;
    use std::time::Duration;

    fn asked(method: &str, url: &str) -> Interaction {
        let headers = Headers::default();
        Interaction {
            id: 1,
            note: None,
            started: Timestamp::UNIX_EPOCH,
            wait: Duration::ZERO,
            took: None,
            request: Request {
                method: method.into(),
                url: url.into(),
                headers: headers.clone(),
                body: None,
                omitted: 0,
            },
            outcome: Outcome::Response(Response {
                status: 200,
                headers,
                payload: Payload::Body("".into()),
                trailers: Headers::default(),
                cut: None,
            }),
            marks: Marks::default(),
        }
    }

    #[rstest]
    #[case("POST", "/api/v1/pods", 201, Some(Some(200)))]
    #[case("GET", "/api/v1/pods?labelSelector=x", 500, Some(None))]
    #[case("GET", "/api/v1/pods?watch=maybe", 200, None)]
    #[case("PUT", "/api/v1/pods/a", 415, None)]
    #[case("PATCH", "/api/v1/pods/a", 415, Some(Some(415)))]
    #[case("GET", "/api/v1/pods?watch=true&resourceVersion=5", 410, None)]
    #[case("GET", "/api/v1/proxy/nodes/a?path=b", 301, None)]
    fn the_documents_have_the_last_word(
        #[case] method: &str,
        #[case] url: &str,
        #[case] status: u16,
        #[case] expected: Option<Option<u16>>,
    ) {
        let found = documented(&asked(method, url), status, "{}".into()).map(|expected| expected.status);
        assert_eq!(found, expected);
    }

    #[test]
    fn a_watch_does_not_repeat_the_version_it_starts_from() {
        let frame = |version: u32| format!("{{\"object\":{{\"metadata\":{{\"resourceVersion\":\"{version}\"}}}}}}\n");
        let text = frame(5) + &frame(6);
        let found = documented(&asked("GET", "/api/v1/watch/pods?resourceVersion=5"), 200, text.into());
        assert_eq!(found.map(|expected| expected.text.into_owned()), Some(frame(6)));
    }
}
