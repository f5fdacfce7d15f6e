//! The tree of a cassette's documents and JSON bodies. Numbers are kept as text.
//!
//! Guarantee: JSON that is read and written in its [`Layout`](super::json::Layout) is the same text, or is refused.
//! Limits: [`MAX_DEPTH`] levels; no duplicate keys in a JSON object.
//! Source: RFC 8259.

use std::borrow::Cow;
use std::collections::HashSet;

/// Maximum depth of a tree, below the limits of YAML readers.
pub(super) const MAX_DEPTH: usize = 100;

/// Maximum length of a key. YAML readers do not accept longer ones.
const MAX_KEY_LENGTH: usize = 500;

/// A value of a document.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node<'a> {
    Null,
    Bool(bool),
    Number(Cow<'a, str>),
    String(Cow<'a, str>),
    List(Vec<Node<'a>>),
    Map(Vec<(Cow<'a, str>, Node<'a>)>),
}

impl<'a> Node<'a> {
    /// The value of a key, if this is a map.
    pub(super) fn get(&self, key: &str) -> Option<&Node<'a>> {
        match self {
            Self::Map(entries) => entries.iter().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// The text, if this is a string.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The value, if this is a number.
    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Self::Number(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// Parses a JSON object or array. Returns none if the text is neither, or exceeds the limits.
    pub(super) fn from_json(text: &'a str) -> Option<Self> {
        let mut reader = Json { text, at: 0 };
        reader.space();
        if !matches!(reader.peek(), Some(b'{' | b'[')) {
            return None;
        }
        let node = reader.value(0)?;
        reader.space();
        (reader.at == text.len()).then_some(node)
    }
}

/// Whether a text is a JSON number.
pub(super) fn is_number(text: &str) -> bool {
    let mut reader = Json { text, at: 0 };
    reader.number().is_some() && reader.at == text.len()
}

struct Json<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Json<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\t' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek() == Some(byte)).then(|| self.at += 1)
    }

    fn word(&mut self, word: &str) -> Option<()> {
        self.text
            .get(self.at..)?
            .starts_with(word)
            .then(|| self.at += word.len())
    }

    fn value(&mut self, depth: usize) -> Option<Node<'a>> {
        if depth > MAX_DEPTH {
            return None;
        }
        match self.peek()? {
            b'{' => self.map(depth),
            b'[' => self.list(depth),
            b'"' => self.string().map(Node::String),
            b't' => self.word("true").map(|()| Node::Bool(true)),
            b'f' => self.word("false").map(|()| Node::Bool(false)),
            b'n' => self.word("null").map(|()| Node::Null),
            _ => self.number().map(|text| Node::Number(text.into())),
        }
    }

    fn list(&mut self, depth: usize) -> Option<Node<'a>> {
        self.take(b'[')?;
        let mut items = Vec::new();
        self.space();
        if self.take(b']').is_some() {
            return Some(Node::List(items));
        }
        loop {
            self.space();
            items.push(self.value(depth + 1)?);
            self.space();
            if self.take(b',').is_none() {
                self.take(b']')?;
                return Some(Node::List(items));
            }
        }
    }

    fn map(&mut self, depth: usize) -> Option<Node<'a>> {
        self.take(b'{')?;
        let mut entries = Vec::new();
        self.space();
        if self.take(b'}').is_some() {
            return Some(Node::Map(entries));
        }
        loop {
            self.space();
            let key = self.string().filter(|key| key.len() <= MAX_KEY_LENGTH)?;
            self.space();
            self.take(b':')?;
            self.space();
            entries.push((key, self.value(depth + 1)?));
            self.space();
            if self.take(b',').is_none() {
                self.take(b'}')?;
                return distinct(&entries).then_some(Node::Map(entries));
            }
        }
    }

    fn number(&mut self) -> Option<&'a str> {
        let start = self.at;
        let _ = self.take(b'-');
        if self.take(b'0').is_none() {
            self.digits()?;
        }
        if self.take(b'.').is_some() {
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        self.text.get(start..self.at)
    }

    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }

    fn string(&mut self) -> Option<Cow<'a, str>> {
        self.take(b'"')?;
        let start = self.at;
        let mut owned: Option<String> = None;
        let mut run = start;
        loop {
            match self.peek()? {
                b'"' => {
                    let rest = self.text.get(run..self.at)?;
                    self.at += 1;
                    return Some(match owned {
                        None => Cow::Borrowed(rest),
                        Some(mut text) => {
                            text.push_str(rest);
                            Cow::Owned(text)
                        }
                    });
                }
                b'\\' => {
                    let text = owned.get_or_insert_default();
                    text.push_str(self.text.get(run..self.at)?);
                    self.at += 1;
                    let character = self.escape()?;
                    owned.get_or_insert_default().push(character);
                    run = self.at;
                }
                0..=0x1f => return None,
                _ => self.at += 1,
            }
        }
    }

    fn escape(&mut self) -> Option<char> {
        let kind = self.peek()?;
        self.at += 1;
        Some(match kind {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let first = self.hex()?;
                if !(0xd800..0xe000).contains(&first) {
                    return char::from_u32(first);
                }
                self.word("\\u")?;
                let second = self.hex()?;
                if !(0xd800..0xdc00).contains(&first) || !(0xdc00..0xe000).contains(&second) {
                    return None;
                }
                char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00))?
            }
            _ => return None,
        })
    }

    fn hex(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        self.at += 4;
        u32::from_str_radix(digits, 16).ok()
    }
}

fn distinct(entries: &[(Cow<'_, str>, Node<'_>)]) -> bool {
    if entries.len() <= 12 {
        return entries
            .iter()
            .enumerate()
            .all(|(n, (key, _))| entries.iter().skip(n + 1).all(|(other, _)| other != key));
    }
    let mut seen = HashSet::with_capacity(entries.len());
    entries.iter().all(|(key, _)| seen.insert(key.as_ref()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("{", false)]
    #[case("{}", true)]
    #[case("[1, -0.5e+3, true, null, \"\\ud83d\\ude00\"]", true)]
    #[case("{\"a\":1,\"a\":2}", false)]
    #[case("[01]", false)]
    #[case("[\"\\ud800\"]", false)]
    #[case("\"text\"", false)]
    #[case("[1] x", false)]
    fn json_beyond_the_limits_is_refused(#[case] text: &str, #[case] taken: bool) {
        assert_eq!(Node::from_json(text).is_some(), taken);
    }

    #[test]
    fn json_that_is_too_deep_is_refused() {
        let deep = format!("{}{}", "[".repeat(150), "]".repeat(150));
        assert_eq!(Node::from_json(&deep), None);
    }
}
