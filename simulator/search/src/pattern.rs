//! Wildcard patterns of names: `logstash-*`.

/// Returns whether `name` matches `pattern`, in which `*` matches any text.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(rest) = pieces.next().and_then(|head| name.strip_prefix(head)) else {
        return false;
    };
    let mut rest = rest;
    let mut pieces = pieces.peekable();
    if pieces.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return rest.ends_with(piece);
        }
        match rest.find(piece) {
            Some(at) => rest = rest.get(at + piece.len()..).unwrap_or(""),
            None => return false,
        }
    }
    true
}

/// Returns whether `name` matches one of the comma-separated patterns of `list`, or the list contains `_all`.
pub(crate) fn matches_any(list: &str, name: &str) -> bool {
    list.split(',')
        .any(|pattern| pattern == "_all" || matches(pattern, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("logstash-*", "logstash-2015.06.22", true)]
    #[case("*", "", true)]
    #[case("a*b*c", "axxbyyc", true)]
    #[case("a*b*c", "acb", false)]
    #[case("a", "ab", false)]
    #[case("*a", "ba", true)]
    #[case("ab*ba", "aba", false)]
    fn a_star_matches_any_text(#[case] pattern: &str, #[case] name: &str, #[case] expected: bool) {
        assert_eq!(matches(pattern, name), expected);
    }
}
