//! Paths and queries in the form of the recorded server.
//!
//! - A path is kept decoded; [`escape`] encodes it again, so `%2F` in a request becomes `/`.
//! - [`join`] resolves `.`, `..` and empty segments.
//!
//! Source: Go's `net/url` and `path`, observed in the recorded proxy sessions.

use std::fmt::Write;

/// Decodes percent escapes. Returns `None` if one is malformed or the bytes are not UTF-8.
pub(crate) fn unescape(text: &str) -> Option<String> {
    let malformed = text.match_indices('%').any(|(at, _)| {
        !text
            .as_bytes()
            .get(at + 1..at + 3)
            .is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit))
    });
    if malformed {
        return None;
    }
    percent_encoding::percent_decode_str(text)
        .decode_utf8()
        .ok()
        .map(Into::into)
}

fn write_escaped(out: &mut String, text: &str, keep: fn(u8) -> bool) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) || keep(byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
}

/// Encodes a path.
pub(crate) fn escape(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    write_escaped(&mut out, path, |byte| b"$&+,/:;=@".contains(&byte));
    out
}

/// Joins two paths with a slash and resolves `.`, `..` and empty segments. The result has no trailing slash.
pub(crate) fn join(base: &str, path: &str) -> String {
    let rooted = if base.is_empty() { path } else { base }.starts_with('/');
    let mut kept: Vec<&str> = Vec::new();
    for segment in base.split('/').chain(path.split('/')) {
        match segment {
            "" | "." => {}
            ".." if kept.last().is_some_and(|last| *last != "..") => {
                kept.pop();
            }
            ".." if rooted => {}
            other => kept.push(other),
        }
    }
    format!("{}{}", if rooted { "/" } else { "" }, kept.join("/"))
}

/// Sorts a query by key and encodes it again, with `+` for a space. Drops malformed parameters.
pub(crate) fn normalize_query(query: &str) -> String {
    let mut pairs: Vec<(String, String)> = parameters(query).collect();
    pairs.sort_by(|a, b| a.0.cmp(&b.0));
    let mut out = String::with_capacity(query.len());
    for (key, value) in pairs {
        if !out.is_empty() {
            out.push('&');
        }
        for (part, end) in [(key, "="), (value, "")] {
            let words: Vec<String> = part
                .split(' ')
                .map(|word| {
                    let mut escaped = String::new();
                    write_escaped(&mut escaped, word, |_| false);
                    escaped
                })
                .collect();
            out.push_str(&words.join("+"));
            out.push_str(end);
        }
    }
    out
}

/// Returns the well-formed parameters of a query, decoded, in order.
pub(crate) fn parameters(query: &str) -> impl Iterator<Item = (String, String)> {
    query
        .split('&')
        .filter(|pair| !pair.is_empty() && !pair.contains(';'))
        .filter_map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((unescape(&key.replace('+', " "))?, unescape(&value.replace('+', " "))?))
        })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("", "", "")]
    #[case("", "echo", "echo")]
    #[case("/a/b", "/c", "/a/b/c")]
    #[case("/a/b/", "c/./d/../e//f/", "/a/b/c/e/f")]
    #[case("/a", "../../..", "/")]
    fn paths_are_joined_and_resolved(#[case] base: &str, #[case] path: &str, #[case] joined: &str) {
        assert_eq!(join(base, path), joined);
    }

    #[rstest]
    #[case("q=1&w=a%20b", "q=1&w=a+b")]
    #[case("w=a&q", "q=&w=a")]
    #[case("b=2&a=1&b=1", "a=1&b=2&b=1")]
    #[case("a=%zz&b=1", "b=1")]
    #[case("a=x*y%2F'", "a=x%2Ay%2F%27")]
    fn a_query_is_sorted_and_encoded_again(#[case] query: &str, #[case] written: &str) {
        assert_eq!(normalize_query(query), written);
    }

    #[test]
    fn allowed_reserved_characters_of_a_path_are_not_escaped() {
        assert_eq!(
            escape("/a b/c?d=e&f+g,h;i:j@k$l(m)é"),
            "/a%20b/c%3Fd=e&f+g,h;i:j@k$l%28m%29%C3%A9"
        );
        assert_eq!(unescape("/a%2Fb"), Some("/a/b".to_owned()));
        assert_eq!(unescape("/a%2"), None);
    }
}
