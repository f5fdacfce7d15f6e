//! Paths of URLs: decoding, and the one clean spelling that each has.
//!
//! A path with an empty, `.` or `..` segment is answered with a redirect to its clean spelling. Escaped slashes separate like any other.
//! Source: Go's `net/http` (`ServeMux`) and `net/url`, which the recorded server stands on.

use std::borrow::Cow;

use stuntdouble_server::percent_decode;

/// A path as it was asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Asked<'a> {
    /// Clean, and decoded.
    Clean(Cow<'a, str>),
    /// The clean spelling, encoded again.
    Moved(String),
    /// No absolute path, or one whose escapes do not decode.
    Malformed,
}

/// Decodes the raw path of a URL.
pub(crate) fn asked(raw: &str) -> Asked<'_> {
    let Some(path) = percent_decode(raw, false).filter(|path| path.starts_with('/')) else {
        return Asked::Malformed;
    };
    if is_clean(&path) {
        Asked::Clean(path)
    } else {
        Asked::Moved(encode(&cleaned(&path)))
    }
}

fn is_clean(path: &str) -> bool {
    let bytes = path.as_bytes();
    // Every unclean path has a slash before another slash or before a dot; only then is it looked at by segment.
    !bytes.windows(2).any(|pair| matches!(pair, b"//" | b"/.")) || {
        let segments = path.strip_prefix('/').unwrap_or(path);
        let last = segments.split('/').count() - 1;
        segments
            .split('/')
            .enumerate()
            .all(|(i, s)| !matches!(s, "." | "..") && (!s.is_empty() || i == last))
    }
}

/// The path without empty, `.` and `..` segments; a slash at its end stays.
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

/// Percent-encodes what may not stand in the path of a URL.
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
    fn a_clean_path_is_taken_as_it_is(#[case] path: &str) {
        assert_eq!(asked(path), Asked::Clean(path.into()));
    }

    #[rstest]
    #[case("/api//v1", "/api/v1")]
    #[case("//", "/")]
    #[case("/api/./v1/", "/api/v1/")]
    #[case("/api/v2/../v1", "/api/v1")]
    #[case("/../..", "/")]
    #[case("/api/%2e%2e/x%20y", "/x%20y")]
    #[case("/a%2F%2Fb", "/a/b")]
    fn an_unclean_path_has_moved(#[case] path: &str, #[case] clean: &str) {
        assert_eq!(asked(path), Asked::Moved(clean.to_owned()));
    }

    #[test]
    fn escaped_slashes_separate() {
        assert_eq!(asked("/api%2Fv1"), Asked::Clean("/api/v1".into()));
    }

    #[rstest]
    #[case("/%zz")]
    #[case("/%")]
    #[case("*")]
    #[case("")]
    fn what_is_no_path_is_malformed(#[case] path: &str) {
        assert_eq!(asked(path), Asked::Malformed);
    }
}
