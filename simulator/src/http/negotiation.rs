//! Content negotiation: media types of requests and responses, and pretty-printing.
//!
//! - A path offers media types. [`accepts`] returns whether the client accepts any of them, and [`Format::negotiate`]
//!   selects one.
//! - They differ for `application/*`, as in the recorded server (`discovery.har`): for a path, the only matching
//!   range is `*/*`.
//!
//! Limits: JSON and YAML only.
//! Source: `pkg/apiserver/negotiate.go` of Kubernetes v1.2 and go-restful's route matching, as recorded.

use http::{HeaderMap, header};

use super::query::Query;
use crate::{
    api::{Reason, Status},
    patch::Language,
    profile::Profile,
    scheme::Syntax,
};

/// Media type of JSON.
pub(crate) const JSON: &str = "application/json";
/// Media type of YAML.
pub(crate) const YAML: &str = "application/yaml";
/// Media types offered by most paths.
pub(crate) const OBJECTS: &[&str] = &[JSON, YAML];
/// Media types offered by a watch.
pub(crate) const STREAMS: &[&str] = &[JSON];
/// Media types offered by a path whose output comes from another server.
pub(crate) const ANYTHING: &[&str] = &["*/*"];

/// Format of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// JSON without white space.
    Compact,
    /// JSON with an indentation of two spaces.
    Pretty,
    /// YAML.
    Yaml,
}

impl Format {
    /// Returns the media type.
    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Self::Compact | Self::Pretty => JSON,
            Self::Yaml => YAML,
        }
    }

    /// Selects the format for a client that sends `headers` and `query` from the media types `offered`.
    ///
    /// Error: [`NotAcceptable`] if the client accepts none of them.
    pub(crate) fn negotiate(
        headers: &HeaderMap,
        query: Query<'_>,
        offered: &[&'static str],
    ) -> Result<Self, NotAcceptable> {
        let accepted = header(headers, header::ACCEPT).filter(|accept| !matches!(*accept, "" | "*/*" | JSON));
        let (media_type, pretty) = match accepted {
            None => (JSON, None),
            Some(accept) => choose(accept, offered).ok_or_else(|| NotAcceptable {
                offered: offered.to_vec(),
            })?,
        };
        if media_type == YAML {
            return Ok(Self::Yaml);
        }
        Ok(if pretty.unwrap_or_else(|| prefers_pretty(headers, query)) {
            Self::Pretty
        } else {
            Self::Compact
        })
    }
}

/// The error of a client that accepts none of the offered media types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NotAcceptable {
    offered: Vec<&'static str>,
}

impl NotAcceptable {
    /// Returns the message of the error, which is always sent as indented JSON without kind and version
    /// (`discovery.har`).
    pub(crate) fn message(&self) -> String {
        format!(
            "only the following media types are accepted: {}",
            self.offered.join(", ")
        )
    }
}

/// Returns the first value of a header, if it is text.
pub(crate) fn header(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

/// Whether a client that sends `headers` accepts one of the offered media types by name, or `*/*`.
pub(crate) fn accepts(headers: &HeaderMap, offered: &[&str]) -> bool {
    match header(headers, header::ACCEPT).unwrap_or_default() {
        "" | "*/*" | JSON => true,
        accept => accept
            .split(',')
            .map(essence)
            .any(|range| range == "*/*" || offered.iter().any(|o| *o == "*/*" || *o == range)),
    }
}

/// Whether a client that sends `headers` names this media type in Accept.
pub(crate) fn names(headers: &HeaderMap, media_type: &str) -> bool {
    header(headers, header::ACCEPT)
        .unwrap_or_default()
        .split(',')
        .map(essence)
        .any(|range| range == media_type)
}

/// Returns a media type without its parameters.
fn essence(media_type: &str) -> &str {
    media_type.split(';').next().unwrap_or_default().trim()
}

/// Selects the best of `offered` for an Accept header. Also returns the header's `pretty` parameter, if any.
fn choose(accept: &str, offered: &[&'static str]) -> Option<(&'static str, Option<bool>)> {
    struct Clause<'a> {
        main: &'a str,
        sub: &'a str,
        quality: f32,
        pretty: Option<bool>,
    }
    let mut clauses: Vec<Clause<'_>> = accept
        .split(',')
        .filter_map(|part| {
            let mut fields = part.split(';').map(str::trim);
            let (main, sub) = match fields.next()? {
                "*" => ("*", "*"),
                range => range.split_once('/').filter(|(_, sub)| !sub.contains('/'))?,
            };
            let mut clause = Clause {
                main: main.trim(),
                sub: sub.trim(),
                quality: 1.0,
                pretty: None,
            };
            for (key, value) in fields.filter_map(|field| field.split_once('=')) {
                match key.trim() {
                    "q" => clause.quality = value.trim().parse().unwrap_or(0.0),
                    "pretty" => clause.pretty = Some(value.trim() == "1"),
                    _ => {}
                }
            }
            Some(clause)
        })
        .collect();
    clauses.sort_by(|a, b| {
        b.quality
            .total_cmp(&a.quality)
            .then((a.main == "*").cmp(&(b.main == "*")))
            .then((a.sub == "*").cmp(&(b.sub == "*")))
    });
    clauses.iter().find_map(|clause| {
        let fits = |offer: &&&'static str| {
            let (main, sub) = offer.split_once('/').unwrap_or((offer, ""));
            (clause.main == main && (clause.sub == sub || clause.sub == "*"))
                || (clause.main == "*" && clause.sub == "*")
        };
        Some((*offered.iter().find(fits)?, clause.pretty))
    })
}

/// Whether to pretty-print: if the query says so, or by default for browsers and command-line tools.
fn prefers_pretty(headers: &HeaderMap, query: Query<'_>) -> bool {
    query.pretty().unwrap_or_else(|| {
        let agent = header(headers, header::USER_AGENT).unwrap_or_default();
        ["curl", "Wget", "Mozilla/5.0"]
            .iter()
            .any(|known| agent.starts_with(known))
    })
}

/// Returns the syntax of a request's body.
///
/// Under the documented profile it is detected from the body unless Content-Type is YAML; otherwise Content-Type
/// determines it.
///
/// # Errors
/// 415 for a Content-Type that is neither JSON nor YAML.
pub(crate) fn syntax(headers: &HeaderMap, body: &[u8], profile: Profile) -> Result<Syntax, Status> {
    let declared = header(headers, header::CONTENT_TYPE).unwrap_or_default();
    let declared = if declared.is_empty() { JSON } else { essence(declared) };
    if declared.eq_ignore_ascii_case(YAML) {
        return Ok(Syntax::Yaml);
    }
    if profile.any_media_type() {
        return Ok(if looks_like_json(body) {
            Syntax::Json
        } else {
            Syntax::Yaml
        });
    }
    if declared.eq_ignore_ascii_case(JSON) {
        return Ok(Syntax::Json);
    }
    let text = format!(
        "the body of the request was in an unknown format - accepted media types include: {}",
        OBJECTS.join(", ")
    );
    Err(Status::new(Reason::UnsupportedMediaType, text))
}

/// Whether a body is JSON by its first character. An empty body is.
fn looks_like_json(body: &[u8]) -> bool {
    let body = body.trim_ascii_start();
    match body.first() {
        None | Some(b'{' | b'[' | b'"') => true,
        Some(_) => matches!(body.trim_ascii_end(), b"null" | b"true" | b"false"),
    }
}

/// Returns the patch type of Content-Type, or `None` for any other or no type.
pub(crate) fn patch_kind(headers: &HeaderMap) -> Option<Language> {
    header(headers, header::CONTENT_TYPE)?
        .split(',')
        .find_map(|each| match essence(each) {
            "application/json-patch+json" => Some(Language::Json),
            "application/merge-patch+json" => Some(Language::Merge),
            "application/strategic-merge-patch+json" => Some(Language::Strategic),
            _ => None,
        })
}

/// Checks that the client accepts one of the media types that a path offers.
///
/// # Errors
/// 406 if it accepts none.
pub(crate) fn check_accept(headers: &HeaderMap, offered: &[&str]) -> Result<(), Status> {
    if accepts(headers, offered) {
        Ok(())
    } else {
        Err(status_only(406))
    }
}

/// Checks the Content-Type of a request without a body, for a path that restricts it to `media_types`.
///
/// # Errors
/// 415 for any other.
pub(crate) fn check_content_type(headers: &HeaderMap, media_types: &[&str]) -> Result<(), Status> {
    let declared = header(headers, header::CONTENT_TYPE).unwrap_or_default();
    if declared.is_empty() || declared.split(',').map(essence).any(|each| media_types.contains(&each)) {
        Ok(())
    } else {
        Err(status_only(415))
    }
}

/// Returns the Status of a 406 or 415, which v1.2 sends without a reason.
pub(crate) fn status_only(code: u16) -> Status {
    let text = format!("the server responded with the status code {code} but did not return more information");
    Status {
        details: Some(Box::default()),
        ..Status::unexplained(code, text)
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use rstest::rstest;

    use super::*;

    fn headers(pairs: &[(header::HeaderName, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (name.clone(), HeaderValue::from_str(value).unwrap()))
            .collect()
    }

    fn accept(value: &str) -> HeaderMap {
        headers(&[(header::ACCEPT, value)])
    }

    #[rstest]
    #[case("", Some(Format::Compact), true)]
    #[case("*/*", Some(Format::Compact), true)]
    #[case("application/yaml", Some(Format::Yaml), true)]
    #[case("application/json;q=0.5,application/yaml", Some(Format::Yaml), true)]
    #[case("application/json, application/yaml", Some(Format::Compact), true)]
    #[case("text/plain, */*;q=0.1", Some(Format::Compact), true)]
    #[case("*/*, application/yaml", Some(Format::Yaml), true)]
    #[case("application/json; pretty=1", Some(Format::Pretty), true)]
    #[case("application/*", Some(Format::Compact), false)]
    #[case("text/html", None, false)]
    #[case("nonsense", None, false)]
    fn the_best_accepted_format_is_selected(#[case] value: &str, #[case] format: Option<Format>, #[case] taken: bool) {
        let headers = accept(value);
        assert_eq!(Format::negotiate(&headers, Query::default(), OBJECTS).ok(), format);
        assert_eq!(accepts(&headers, OBJECTS), taken);
    }

    #[test]
    fn a_watch_is_never_yaml() {
        let refusal = Format::negotiate(&accept("application/yaml"), Query::default(), STREAMS).unwrap_err();
        assert_eq!(
            refusal.message(),
            "only the following media types are accepted: application/json"
        );
    }

    #[rstest]
    #[case("curl/7.1", "", Format::Pretty)]
    #[case("Wget/1.2", "", Format::Pretty)]
    #[case("Mozilla/5.0 (X11)", "", Format::Pretty)]
    #[case("Mozilla/4.0", "", Format::Compact)]
    #[case("kubectl/v1.2.0", "", Format::Compact)]
    #[case("curl/7.1", "pretty=false", Format::Compact)]
    #[case("curl/7.1", "pretty", Format::Pretty)]
    #[case("kubectl/v1.2.0", "pretty=1", Format::Pretty)]
    fn browsers_and_tools_get_pretty_output(#[case] agent: &str, #[case] query: &str, #[case] expected: Format) {
        assert_eq!(
            Format::negotiate(&headers(&[(header::USER_AGENT, agent)]), Query::new(query), OBJECTS),
            Ok(expected)
        );
    }

    #[rstest]
    #[case("application/json", "a: b", Some(Syntax::Json), Some(Syntax::Yaml))]
    #[case("application/json; charset=utf-8", "{}", Some(Syntax::Json), Some(Syntax::Json))]
    #[case("application/yaml", "{}", Some(Syntax::Yaml), Some(Syntax::Yaml))]
    #[case("", " {", Some(Syntax::Json), Some(Syntax::Json))]
    #[case("", "", Some(Syntax::Json), Some(Syntax::Json))]
    #[case("text/plain", "null", None, Some(Syntax::Json))]
    #[case("text/plain", "a: b", None, Some(Syntax::Yaml))]
    #[case("application/vnd.kubernetes.protobuf", "{}", None, Some(Syntax::Json))]
    fn the_media_type_of_a_body_determines_its_syntax_only_under_kubernetes_1_2(
        #[case] declared: &str,
        #[case] body: &str,
        #[case] recorded: Option<Syntax>,
        #[case] documented: Option<Syntax>,
    ) {
        let headers = headers(&[(header::CONTENT_TYPE, declared)]);
        assert_eq!(syntax(&headers, body.as_bytes(), Profile::Kubernetes12).ok(), recorded);
        assert_eq!(syntax(&headers, body.as_bytes(), Profile::Documented).ok(), documented);
    }

    #[test]
    fn a_patch_has_one_of_three_types() {
        let kind = |value| patch_kind(&headers(&[(header::CONTENT_TYPE, value)]));
        assert_eq!(
            kind("application/merge-patch+json; charset=utf-8"),
            Some(Language::Merge)
        );
        assert_eq!(kind("application/json"), None);
        assert_eq!(patch_kind(&HeaderMap::new()), None);
    }
}
