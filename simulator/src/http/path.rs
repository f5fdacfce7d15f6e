//! Decoding and normalization of URL paths.
//!
//! A path with an empty, `.` or `..` segment is redirected to its normal form. An escaped slash separates segments.
//! Source: Go's `net/http` (`ServeMux`) and `net/url`, which the recorded server uses.

use std::borrow::Cow;

use memchr::memchr_iter;
use stuntdouble_server::percent_decode;

/// The result of normalizing a path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NormalizedPath<'a> {
    /// A normal path, decoded.
    Clean(Cow<'a, str>),
    /// The normal form of another path, encoded.
    Moved(String),
    /// Not an absolute path, or a path with malformed escapes.
    Malformed,
}

/// Decodes and normalizes the raw path of a URL.
pub(crate) fn normalize(raw: &str) -> NormalizedPath<'_> {
    let Some(path) = percent_decode(raw, false).filter(|path| path.starts_with('/')) else {
        return NormalizedPath::Malformed;
    };
    if is_clean(&path) {
        NormalizedPath::Clean(path)
    } else {
        NormalizedPath::Moved(encode(&cleaned(&path)))
    }
}

fn is_clean(path: &str) -> bool {
    // Every path that is not normal has a slash before another slash or before a dot. Check segments only then.
    let bytes = path.as_bytes();
    let has_candidate = memchr_iter(b'/', bytes).any(|at| matches!(bytes.get(at + 1), Some(b'/' | b'.')));
    !has_candidate || {
        let segments = path.strip_prefix('/').unwrap_or(path);
        let last = segments.split('/').count() - 1;
        segments
            .split('/')
            .enumerate()
            .all(|(i, s)| !matches!(s, "." | "..") && (!s.is_empty() || i == last))
    }
}

/// Removes empty, `.` and `..` segments. A trailing slash is kept.
fn cleaned(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                kept.pop();
            }
            other => kept.push(other),
        }
    }
    let slash = if path.ends_with('/') && !kept.is_empty() {
        "/"
    } else {
        ""
    };
    format!("/{}{slash}", kept.join("/"))
}

/// Percent-encodes a path for a URL.
pub(crate) fn encode(path: &str) -> String {
    use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
    const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
        .remove(b'-')
        .remove(b'_')
        .remove(b'.')
        .remove(b'~')
        .remove(b'$')
        .remove(b'&')
        .remove(b'+')
        .remove(b',')
        .remove(b'/')
        .remove(b':')
        .remove(b';')
        .remove(b'=')
        .remove(b'@');
    utf8_percent_encode(path, RESERVED).to_string()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("/")]
    #[case("/api/v1/")]
    #[case("/api/v1/namespaces/.hidden")]
    #[case("/a/..b/c.")]
    fn a_normal_path_is_unchanged(#[case] path: &str) {
        assert_eq!(normalize(path), NormalizedPath::Clean(path.into()));
    }

    #[rstest]
    #[case("/api//v1", "/api/v1")]
    #[case("//", "/")]
    #[case("/api/./v1/", "/api/v1/")]
    #[case("/api/v2/../v1", "/api/v1")]
    #[case("/../..", "/")]
    #[case("/api/%2e%2e/x%20y", "/x%20y")]
    #[case("/a%2F%2Fb", "/a/b")]
    fn another_path_is_moved_to_its_normal_form(#[case] path: &str, #[case] clean: &str) {
        assert_eq!(normalize(path), NormalizedPath::Moved(clean.to_owned()));
    }

    #[test]
    fn an_escaped_slash_separates_segments() {
        assert_eq!(normalize("/api%2Fv1"), NormalizedPath::Clean("/api/v1".into()));
    }

    #[rstest]
    #[case("/%zz")]
    #[case("/%")]
    #[case("*")]
    #[case("")]
    fn an_invalid_path_is_malformed(#[case] path: &str) {
        assert_eq!(normalize(path), NormalizedPath::Malformed);
    }
}
