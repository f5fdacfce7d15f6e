//! Secrets in blocks of lines within plain text: printed data of a Secret, and values that start on the line after
//! their name.
//!
//! Source: YAML block mappings and scalars; JSON printed on several lines.

use super::names;
use crate::interaction::is_placeholder;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::ops::Range;

/// The block of the last line of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Block {
    /// No block.
    #[default]
    None,
    /// Entries of `data`, which are secret if they are base64, or of `stringData`, which are always secret.
    Data { indent: usize, all: bool },
    /// A secret block scalar, and whether it is an entry of such data.
    Value {
        indent: usize,
        within: Option<(usize, bool)>,
    },
    /// The name of a variable whose value is secret.
    Name,
    /// A secret name whose value may be on the next line.
    Next { indent: usize },
    /// An element whose text is secret.
    Element,
}

impl Block {
    /// Finds the secret values in a text that follows the last one.
    pub(super) fn values(&mut self, text: &str) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let cut = !line.ends_with('\n');
            self.line(line.trim_end_matches(['\n', '\r']), start, cut, &mut found);
            start += line.len();
        }
        found.retain(|range| !text.get(range.clone()).is_none_or(is_placeholder));
        found
    }

    /// Finds the secret values in a line. `cut` is whether its end is missing.
    fn line(&mut self, line: &str, start: usize, cut: bool, found: &mut Vec<Range<usize>>) {
        let content = line.trim();
        let indent = line.len() - line.trim_start().len();
        if content.is_empty() {
            return;
        }
        if let Self::Value { indent: outer, within } = *self {
            if indent > outer {
                found.push(start + indent..start + indent + content.len());
                return;
            }
            *self = within.map_or(Self::None, |(indent, all)| Self::Data { indent, all });
        }
        if let Self::Next { indent: outer } = *self
            && indent > outer
            && !content.contains(": ")
            && !content.ends_with(':')
            && !content.starts_with("- ")
        {
            found.push(start + indent..start + indent + content.len());
            *self = Self::Value {
                indent: outer,
                within: None,
            };
            return;
        }
        if *self == Self::Element && !content.starts_with('<') {
            found.push(start + indent..start + indent + content.len());
            return;
        }
        let named = *self == Self::Name;
        let inside = match *self {
            Self::Data { indent: outer, all } if indent > outer => Some((outer, all)),
            _ => None,
        };
        *self = inside.map_or(Self::None, |(indent, all)| Self::Data { indent, all });
        if content.strip_prefix('<').is_some_and(opens_secret) {
            *self = Self::Element;
        }
        let Some((key, value)) = content.split_once(':') else {
            return;
        };
        let key = key.trim_start_matches("- ").trim().trim_matches(['"', '\'']);
        let value = value.trim();
        let place =
            start + indent + content.len() - content.split_once(':').map_or("", |(_, rest)| rest).trim_start().len();
        let opens = is_block_scalar(value);
        match inside {
            Some(within) if opens => {
                *self = Self::Value {
                    indent,
                    within: Some(within),
                }
            }
            Some((_, all)) => found.extend(entry(value, place, all, cut)),
            None if matches!(key, "data" | "binaryData" | "stringData") => {
                let all = key == "stringData";
                match value {
                    "" | "{" => *self = Self::Data { indent, all },
                    flow => found.extend(flow_entries(flow, place, all, cut)),
                }
            }
            None if matches!(key, "name" | "key") => {
                let name = value.trim_end_matches(',').trim_matches(['"', '\'']);
                if names::is_secret_in_text(name) {
                    *self = Self::Name;
                }
            }
            None if named && key == "value" => found.extend(entry(value, place, true, cut)),
            None if opens && names::is_secret_in_text(key) => *self = Self::Value { indent, within: None },
            None if value.is_empty() && names::is_secret_in_text(key) => *self = Self::Next { indent },
            None => {}
        }
    }
}

/// Whether the text after `<` is a complete start tag of an element with a secret name.
fn opens_secret(tag: &str) -> bool {
    let whole = tag.strip_suffix('>').filter(|tag| !tag.contains(['<', '>']));
    let name = whole.and_then(|tag| tag.split_whitespace().next());
    name.is_some_and(|name| !name.ends_with('/') && names::is_secret_in_text(name))
}

fn is_block_scalar(value: &str) -> bool {
    let indicator = value.split_whitespace().next().unwrap_or_default();
    indicator.len() <= 3
        && indicator.starts_with(['|', '>'])
        && indicator.bytes().skip(1).all(|byte| b"+-0123456789".contains(&byte))
}

/// The range of the value of an entry of data, if it is secret.
fn entry(value: &str, place: usize, all: bool, cut: bool) -> Option<Range<usize>> {
    let bare = value.trim_end_matches(',').trim_end_matches('}').trim_end();
    let (at, bare) = match bare.strip_prefix(['"', '\'']) {
        Some(within) => (1, within.trim_end_matches(['"', '\''])),
        None => (0, bare),
    };
    let secret = (all || is_base64(bare, cut)) && !bare.is_empty();
    secret.then_some(place + at..place + at + bare.len())
}

/// The secret values of a flow mapping, `{a: x, b: y}`.
fn flow_entries(flow: &str, place: usize, all: bool, cut: bool) -> Vec<Range<usize>> {
    let Some(within) = flow.strip_prefix('{') else {
        return Vec::new();
    };
    let mut at = place + 1;
    let mut found = Vec::new();
    for pair in within.split_inclusive([',', '}']) {
        if let Some((key, value)) = pair.split_once(':') {
            let space = value.len() - value.trim_start().len();
            found.extend(entry(value.trim(), at + key.len() + 1 + space, all, cut));
        }
        at += pair.len();
    }
    found
}

/// Whether a word is base64, or the beginning of it if it is cut, and not a natural word, number or name.
fn is_base64(text: &str, cut: bool) -> bool {
    let kinds = [
        text.bytes().any(|byte| byte.is_ascii_lowercase()),
        text.bytes().any(|byte| byte.is_ascii_uppercase()),
        text.bytes().any(|byte| byte.is_ascii_digit()),
        text.bytes().any(|byte| b"+/=".contains(&byte)),
    ];
    let begins = || {
        let mut bare = text.trim_end_matches('=').bytes();
        bare.all(|byte| byte.is_ascii_alphanumeric() || b"+/".contains(&byte))
    };
    text.len() >= 4
        && kinds.into_iter().filter(|kind| *kind).count() >= 2
        && (STANDARD.decode(text).is_ok() || (cut && begins()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("$ kubectl get\ndata:\n  a: UzNjcmV0\n  b: debug\nkind: Secret\nc: UzNjcmV0\n", &["UzNjcmV0"])]
    #[case("x\n  \"data\": {\n    \"a\": \"UzNjcmV0\",\n    \"b\": \"UzNjcmVU\"\n  },\n  \"c\": \"UzNjcmV0\"\n", &["UzNjcmV0", "UzNjcmVU"])]
    #[case("data:\n  a: UzNjcmV", &["UzNjcmV"])]
    #[case("data:\n  a: UzNjcmV\n", &[])]
    #[case("stringData:\n  a: some words\n", &["some words"])]
    #[case("stringData:\n  a: |\n    one\n    two\n  b: c\nd: e\n", &["one", "two", "c"])]
    #[case("data: {a: UzNjcmV0, b: UzNjcmVU}\n", &["UzNjcmV0", "UzNjcmVU"])]
    #[case("env:\n- name: DB_TOKEN\n  value: abc\n- name: A\n  value: b\n", &["abc"])]
    #[case("password: |-\n  one\nnext: two\n", &["one"])]
    #[case("password:\n  one\nnext: two\n", &["one"])]
    #[case("<password>\n  one\n</password>\n<b>\ntwo\n</b>\n", &["one"])]
    #[case("password:\n  length: 3\n", &[])]
    #[case("data:\n  level: info\n  port: \"8080\"\n", &[])]
    fn values_of_blocks_are_found(#[case] text: &str, #[case] expected: &[&str]) {
        let found = Block::default().values(text);
        let found: Vec<&str> = found.into_iter().filter_map(|range| text.get(range)).collect();
        assert_eq!(found, expected);
        let (mut block, mut cut) = (Block::default(), Vec::new());
        for line in text.split_inclusive('\n') {
            cut.extend(block.values(line).into_iter().filter_map(|range| line.get(range)));
        }
        assert_eq!(cut, expected, "line by line");
    }
}
