//! Secret values in XML and HTML: texts of elements, and `value` next to an attribute with a secret name.

use super::names;
use crate::interaction::is_placeholder;
use std::ops::Range;

/// Attributes whose value is the name of the element's value.
const NAMING: [&str; 4] = ["name", "key", "id", "type"];

/// Finds the secret values in the elements of a text.
pub(super) fn values(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    if memchr::memmem::find(text.as_bytes(), b"</").is_some() {
        found.extend(elements(text));
    }
    if memchr::memchr(b'<', text.as_bytes()).is_some() {
        found.extend(attributes(text));
    }
    found.retain(|range| {
        text.get(range.clone())
            .is_some_and(|value| !names::is_trivial(false, value) && !is_placeholder(value))
    });
    found
}

/// The texts of elements with secret names.
fn elements(text: &str) -> Vec<Range<usize>> {
    let element = |(at, _): (usize, &str)| {
        let head = text.get(..at)?;
        let close = text.get(at + 2..)?;
        let name = close.get(..close.find('>')?)?.trim();
        let start = head.rfind('>')? + 1;
        let open = head.get(head.get(..start)?.rfind('<')? + 1..start)?;
        let named = open.starts_with(name) && names::is_secret_in_text(name);
        named.then_some(start..at)
    };
    text.match_indices("</").filter_map(element).collect()
}

/// The values of `value` in start tags with a secret name in another attribute.
fn attributes(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = text.get(at..).and_then(|rest| rest.find('<')).map(|start| at + start) {
        let rest = text.get(start..).unwrap_or_default();
        let tag = rest.get(..rest.find('>').unwrap_or(rest.len())).unwrap_or_default();
        let named = NAMING.iter().any(|naming| {
            attribute(tag, naming)
                .and_then(|range| tag.get(range))
                .is_some_and(names::is_secret_in_text)
        });
        if named && let Some(value) = attribute(tag, "value") {
            found.push(start + value.start..start + value.end);
        }
        at = start + 1;
    }
    found
}

/// The value of an attribute in a tag. The name is compared case-insensitively.
fn attribute(tag: &str, name: &str) -> Option<Range<usize>> {
    tag.match_indices('=').find_map(|(at, _)| {
        let key = tag.get(..at)?.trim_end();
        let begins = key.len().checked_sub(name.len())?;
        let is = key.get(begins..)?.eq_ignore_ascii_case(name) && key.get(..begins)?.ends_with(char::is_whitespace);
        let rest = tag.get(at + 1..)?;
        // Quotes are escaped in nested texts.
        let quote = ["\\\"", "\"", "'"].into_iter().find(|quote| rest.starts_with(quote))?;
        let start = at + 1 + quote.len();
        let end = tag.get(start..)?.find(quote)?;
        (is && end > 0).then_some(start..start + end)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("<db><password kind=\"x\">abc</password></db>", &["abc"])]
    #[case("<add key=\"Password\" value=\"abc\"/>", &["abc"])]
    #[case("<input value='abc' type='password'>", &["abc"])]
    #[case("<Add Value=\\\"abc\\\" Name=\\\"api_token\\\">", &["abc"])]
    #[case("<add key=\"colour\" value=\"abc\"/> <a>abc</a> 1 < 2", &[])]
    fn values_are_found(#[case] text: &str, #[case] expected: &[&str]) {
        let found: Vec<&str> = values(text).into_iter().filter_map(|range| text.get(range)).collect();
        assert_eq!(found, expected);
    }
}
