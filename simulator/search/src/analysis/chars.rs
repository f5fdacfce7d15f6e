//! Character filters, which change the text before it is tokenized.
//!
//! Guarantees: every offset of the filtered text maps to an offset of the original text, on a character boundary.
//! Source: Lucene 4.10's `MappingCharFilter`, `HTMLStripCharFilter` and `PatternReplaceCharFilter`.

use std::sync::Arc;

use regex::Regex;

use super::entities::entity as named;

/// Elements that are replaced by a line break. The tags of all others are removed.
const BLOCKS: [&str; 24] = [
    "address",
    "article",
    "blockquote",
    "body",
    "br",
    "dd",
    "div",
    "dl",
    "dt",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "html",
    "li",
    "ol",
    "p",
    "table",
    "tr",
    "ul",
];

/// A change to the text before it is tokenized.
#[derive(Clone, Debug)]
pub(super) enum CharFilter {
    /// Replaces strings, the longest match first.
    Mapping(Arc<[(String, String)]>),
    /// Removes tags, except these, and comments, and decodes entities.
    HtmlStrip(Vec<String>),
    PatternReplace(Arc<Regex>, String),
}

/// A filtered text and its offset corrections.
pub(super) struct FilteredText {
    pub(super) text: String,
    /// Offsets of the filtered text, each with the difference to the original offset from there on.
    shifts: Vec<(usize, isize)>,
}

impl FilteredText {
    /// Returns the offset in the original text.
    pub(super) fn correct_offset(&self, offset: usize, text: &str) -> usize {
        let at = self.shifts.partition_point(|(from, _)| *from <= offset);
        let shift = at
            .checked_sub(1)
            .and_then(|at| self.shifts.get(at))
            .map_or(0, |(_, shift)| *shift);
        let mut original = offset.saturating_add_signed(shift).min(text.len());
        while !text.is_char_boundary(original) {
            original -= 1;
        }
        original
    }
}

/// Builds a filtered text from left to right.
#[derive(Default)]
struct Builder {
    text: String,
    shifts: Vec<(usize, isize)>,
    shift: isize,
}

impl Builder {
    /// Replaces `length` bytes by `new`.
    fn replace(&mut self, length: usize, new: &str) {
        self.text.push_str(new);
        let signed = |number: usize| isize::try_from(number).unwrap_or(isize::MAX);
        self.shift += signed(length) - signed(new.len());
        if length != new.len() {
            self.shifts.push((self.text.len(), self.shift));
        }
    }

    fn finish(self) -> FilteredText {
        FilteredText {
            text: self.text,
            shifts: self.shifts,
        }
    }
}

impl CharFilter {
    pub(super) fn apply(&self, text: &str) -> FilteredText {
        match self {
            CharFilter::Mapping(rules) => mapped(text, rules),
            CharFilter::HtmlStrip(kept) => stripped(text, kept),
            CharFilter::PatternReplace(pattern, replacement) => replaced(text, pattern, replacement),
        }
    }
}

fn mapped(text: &str, rules: &[(String, String)]) -> FilteredText {
    let mut builder = Builder::default();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let rule = rules
            .iter()
            .filter(|(from, _)| !from.is_empty() && rest.starts_with(from.as_str()))
            .max_by_key(|(from, _)| from.len());
        let length = match rule {
            Some((from, to)) => {
                builder.replace(from.len(), to);
                from.len()
            }
            None => {
                builder.text.push(c);
                c.len_utf8()
            }
        };
        rest = rest.get(length..).unwrap_or("");
    }
    builder.finish()
}

fn replaced(text: &str, pattern: &Regex, replacement: &str) -> FilteredText {
    let mut builder = Builder::default();
    let mut done = 0;
    for found in pattern.captures_iter(text) {
        let Some(whole) = found.get(0) else { continue };
        builder.text.push_str(text.get(done..whole.start()).unwrap_or(""));
        let mut new = String::new();
        found.expand(replacement, &mut new);
        builder.replace(whole.len(), &new);
        done = whole.end();
    }
    builder.text.push_str(text.get(done..).unwrap_or(""));
    builder.finish()
}

fn stripped(text: &str, kept: &[String]) -> FilteredText {
    let mut builder = Builder::default();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let markup = match c {
            '<' => tag(rest, kept),
            '&' => entity(rest),
            ']' if rest.starts_with("]]>") => Some((3, '\0')),
            _ => None,
        };
        let length = match markup {
            Some((length, new)) => {
                builder.replace(length, new.encode_utf8(&mut [0; 4]).trim_matches('\0'));
                length
            }
            None => {
                builder.text.push(c);
                c.len_utf8()
            }
        };
        rest = rest.get(length..).unwrap_or("");
    }
    builder.finish()
}

/// Returns the length of the markup at the start of `text` and its replacement; `\0` is no replacement.
fn tag(text: &str, kept: &[String]) -> Option<(usize, char)> {
    const DATA: &str = "<![CDATA[";
    if text.starts_with(DATA) {
        return Some((DATA.len(), '\0'));
    }
    if let Some(comment) = text.strip_prefix("<!--") {
        return comment.find("-->").map(|at| (at + 7, '\0'));
    }
    let inside = text.strip_prefix('<')?;
    let name = inside.strip_prefix(['/', '!', '?']).unwrap_or(inside);
    let length = name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len());
    let name = name.get(..length)?.to_ascii_lowercase();
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    if kept.contains(&name) {
        return None;
    }
    let Some(end) = text.find('>').map(|at| at + 1) else {
        return Some((text.len(), '\0'));
    };
    if matches!(name.as_str(), "script" | "style") && !inside.starts_with('/') {
        let close = format!("</{name}");
        let lower = text.to_ascii_lowercase();
        let closing = lower.find(&close)?;
        return Some((closing + lower.get(closing..)?.find('>')? + 1, '\n'));
    }
    Some((end, if BLOCKS.contains(&name.as_str()) { '\n' } else { '\0' }))
}

/// Returns the length of the entity at the start of `text`, and its character.
fn entity(text: &str) -> Option<(usize, char)> {
    let inside = text.strip_prefix('&')?;
    let end = inside.find(';').filter(|end| *end <= 10)?;
    let name = inside.get(..end)?;
    let c = match name.strip_prefix('#') {
        // A space, not a non-breaking one.
        None if name == "nbsp" => ' ',
        None => named(name)?,
        Some(digits) => {
            let code = match digits.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => digits.parse().ok()?,
            };
            char::from_u32(code).filter(|c| *c != '\0')?
        }
    };
    Some((end + 2, c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("<p>a&nbsp;<b>c</b> &lt;d&#62;", "\na c <d>")]
    #[case("1 < 2 <!-- x --> & y", "1 < 2  & y")]
    #[case("a<script>var x;</script>b", "a\nb")]
    fn html_strip_removes_tags_and_decodes_entities(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(CharFilter::HtmlStrip(vec![]).apply(text).text, expected);
    }

    #[test]
    fn offsets_after_a_replacement_are_corrected() {
        let rules = [
            ("ph".to_owned(), "f".to_owned()),
            (":)".to_owned(), "_happy_".to_owned()),
        ];
        let text = "phone :) x";
        let changed = CharFilter::Mapping(rules.into()).apply(text);
        assert_eq!(changed.text, "fone _happy_ x");
        assert_eq!(changed.correct_offset(0, text), 0);
        assert_eq!(changed.correct_offset(4, text), 5);
        assert_eq!(changed.correct_offset(13, text), 9);
    }
}
