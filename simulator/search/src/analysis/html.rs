//! The `html_strip` character filter: removes tags and comments, and decodes entities.
//!
//! Source: Lucene 4.10's `HTMLStripCharFilter`.

use super::entities::entity;
use super::filtered_text::{Builder, FilteredText};

/// Elements whose tags are removed. The tags of all others are replaced by a line break.
const INLINE: [&str; 31] = [
    "a", "abbr", "acronym", "b", "basefont", "bdo", "big", "cite", "code", "dfn", "em", "font", "i", "img", "input",
    "kbd", "label", "q", "s", "samp", "select", "small", "span", "strike", "strong", "sub", "sup", "textarea", "tt",
    "u", "var",
];
/// Entities that are also known in upper case.
const UPPER: [&str; 6] = ["AMP", "COPY", "GT", "LT", "QUOT", "REG"];
const DATA: &str = "<![CDATA[";

/// Returns the text without markup. The tags of the elements `kept` remain.
pub(super) fn stripped(text: &str, kept: &[String]) -> FilteredText {
    let mut builder = Builder::default();
    // Where the last processing instruction ends.
    let last = text.rfind("?>").unwrap_or(0);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some(data) = data(rest) {
            builder.replace(DATA.len(), "");
            builder.keep(data);
            rest = rest.get(DATA.len() + data.len()..).unwrap_or("");
            if let Some(after) = rest.strip_prefix("]]>") {
                builder.replace(3, "");
                rest = after;
            }
            continue;
        }
        let markup = match c {
            '<' if rest.starts_with("<?") && text.len() - rest.len() > last => None,
            '<' => markup(rest, kept),
            '&' => reference(rest).map(|(length, c)| (length, Some(c))),
            _ => None,
        };
        let length = match markup {
            Some((length, new)) => {
                builder.replace(length, &new.map(String::from).unwrap_or_default());
                length
            }
            None => {
                builder.keep(c.encode_utf8(&mut [0; 4]));
                c.len_utf8()
            }
        };
        rest = rest.get(length..).unwrap_or("");
    }
    builder.finish()
}

/// Returns the text of a CDATA section at the start of `text`.
fn data(text: &str) -> Option<&str> {
    let start = text.get(..DATA.len())?;
    let inside = text.get(DATA.len()..).filter(|_| start.eq_ignore_ascii_case(DATA))?;
    inside.get(..inside.find("]]>").unwrap_or(inside.len()))
}

/// Returns the length of the markup at the start of `text`, and its replacement.
fn markup(text: &str, kept: &[String]) -> Option<(usize, Option<char>)> {
    if let Some(comment) = text.strip_prefix("<!--") {
        return Some((comment.find("-->").map_or(text.len(), |at| at + 7), None));
    }
    if text.starts_with("<?") {
        return text.find("?>").map(|at| (at + 2, None));
    }
    let inside = text.strip_prefix('<')?;
    let end = inside.find(['<', '>']);
    let is_closed = end.is_some_and(|end| inside.get(end..).is_some_and(|rest| rest.starts_with('>')));
    let end = end.unwrap_or(inside.len());
    let tag = inside.get(..end)?;
    if tag.starts_with('!') {
        return is_closed.then_some((end + 2, None));
    }
    let tag = tag.trim_start();
    let (is_end, tag) = tag
        .strip_prefix('/')
        .map_or((false, tag), |tag| (true, tag.trim_start()));
    let length = tag.find(|c: char| !c.is_alphanumeric() && !"-_.:".contains(c));
    let (name, after) = tag.split_at_checked(length.unwrap_or(tag.len()))?;
    let name = name.to_lowercase();
    let is_name = name.starts_with(char::is_alphabetic) && !kept.contains(&name);
    let is_tag = after.is_empty() || after.starts_with(char::is_whitespace) || after.trim_end() == "/";
    if !is_name || !is_tag {
        return None;
    }
    if !is_closed {
        // A name at the end of the text.
        return (after.is_empty() && end == inside.len()).then_some((text.len(), None));
    }
    if matches!(name.as_str(), "script" | "style") && !is_end && !tag.ends_with('/') {
        return Some(raw_element(text, &name));
    }
    let new = if INLINE.contains(&name.as_str()) {
        None
    } else {
        Some('\n')
    };
    Some((end + 2, new))
}

/// Returns the length of an element without markup inside at the start of `text`, and its replacement.
fn raw_element(text: &str, name: &str) -> (usize, Option<char>) {
    let mut ends = text.match_indices("</").filter_map(|(at, opening)| {
        let start = at + opening.len();
        let end = start + name.len();
        let own = text.get(start..end).filter(|own| own.eq_ignore_ascii_case(name));
        let rest = own.and_then(|_| text.get(end..))?;
        let space = rest.len() - rest.trim_start().len();
        rest.trim_start().starts_with('>').then_some(end + space + 1)
    });
    ends.next().map_or((text.len(), None), |end| (end, Some('\n')))
}

/// Returns the length of the character reference at the start of `text`, and its character. At the end of the text, it
/// needs no semicolon.
fn reference(text: &str) -> Option<(usize, char)> {
    let inside = text.strip_prefix('&')?;
    let length = inside.find(|c: char| !c.is_ascii_alphanumeric() && c != '#');
    let (name, after) = inside.split_at_checked(length.unwrap_or(inside.len()))?;
    let semicolon = usize::from(after.starts_with(';'));
    if semicolon == 0 && !after.is_empty() {
        return None;
    }
    let c = match name.strip_prefix('#') {
        // A space, not a non-breaking one.
        None if name == "nbsp" => ' ',
        None if UPPER.contains(&name) => entity(&name.to_lowercase())?,
        None if name == "apos" => '\'',
        None => entity(name)?,
        Some(digits) => {
            let code = match digits.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => digits.parse().ok()?,
            };
            char::from_u32(code)?
        }
    };
    Some((1 + name.len() + semicolon, c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("<p>a&nbsp;<b>c</b> &lt;d&#62;", "\na c <d>")]
    #[case("1 < 2 <!-- x --> & y", "1 < 2  & y")]
    #[case("a<script>var x;</script>b", "a\nb")]
    #[case("a<script>b", "a")]
    #[case("<td x=1>c < b>d<b c<i>e", "\nc d<b ce")]
    #[case("<![CDATA[a<b]]>c]]>", "a<bc]]>")]
    #[case("<a href='x>y'>z</a><?p?><!DOCTYPE html>", "y'>z")]
    #[case("&eacute;&COPY;&alpha;&none;&copy &copy", "é©α&none;&copy ©")]
    #[case("a<b/c><1><b", "a<b/c><1>")]
    fn markup_is_removed(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(stripped(text, &[]).text, expected);
    }

    #[test]
    fn kept_elements_keep_their_tags() {
        assert_eq!(stripped("<b>x</b><i>y</i>", &["b".to_owned()]).text, "<b>x</b>y");
    }
}
