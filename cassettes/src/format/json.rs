//! Layout of a JSON text, from which its bytes can be restored from its tree.
//!
//! Guarantee: [`Layout::of`] returns a layout only if the tree written in it is the same text.
//! Source: the encoders of Go, Python and serde, which differ in whitespace, escapes and the final line break.

use super::node::Node;

/// Whitespace between tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Space {
    /// None.
    Compact,
    /// A space after each colon and comma.
    Spaced,
    /// One line per value, indented by this many spaces per level.
    Lines(usize),
}

/// Optional escapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Escapes {
    /// None.
    Least,
    /// `<`, `>`, `&`, U+2028 and U+2029, as in Go. Backspace and form feed are `\u` escapes.
    Html,
    /// Every character that is not printable ASCII.
    Ascii,
}

/// Layout of a JSON text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    space: Space,
    escapes: Escapes,
    newline: bool,
}

impl Layout {
    /// Without whitespace, except an optional line break at the end.
    pub(super) fn compact(newline: bool) -> Self {
        Self {
            space: Space::Compact,
            escapes: Escapes::Least,
            newline,
        }
    }

    /// Returns the layout of a text and its tree. None if no layout restores the text.
    pub(super) fn of(text: &str) -> Option<(Self, Node<'_>)> {
        let node = Node::from_json(text)?;
        let newline = text.ends_with('\n');
        let spaces: &[Space] = match text.get(1..2) {
            Some("\n") => &[Space::Lines(2), Space::Lines(4)],
            _ => &[Space::Compact, Space::Spaced],
        };
        let escapes: &[Escapes] = if text.contains("\\u") {
            &[Escapes::Least, Escapes::Html, Escapes::Ascii]
        } else {
            &[Escapes::Least]
        };
        for &space in spaces {
            for &escapes in escapes {
                let layout = Self {
                    space,
                    escapes,
                    newline,
                };
                let mut same = Same { rest: text };
                if layout.write(&node, &mut same) && same.rest.is_empty() {
                    return Some((layout, node));
                }
            }
        }
        None
    }

    /// The words that describe it in a cassette.
    pub(super) fn words(self) -> String {
        let mut words = vec![match self.space {
            Space::Compact => "compact",
            Space::Spaced => "spaced",
            Space::Lines(4) => "lines-4",
            Space::Lines(_) => "lines",
        }];
        match self.escapes {
            Escapes::Least => {}
            Escapes::Html => words.push("html"),
            Escapes::Ascii => words.push("ascii"),
        }
        if self.newline {
            words.push("newline");
        }
        words.join(" ")
    }

    /// Parses [`Layout::words`].
    pub(super) fn from_words(words: &str) -> Option<Self> {
        let mut layout = Self::compact(false);
        for word in words.split_whitespace() {
            match word {
                "compact" => layout.space = Space::Compact,
                "spaced" => layout.space = Space::Spaced,
                "lines" => layout.space = Space::Lines(2),
                "lines-4" => layout.space = Space::Lines(4),
                "html" => layout.escapes = Escapes::Html,
                "ascii" => layout.escapes = Escapes::Ascii,
                "newline" => layout.newline = true,
                _ => return None,
            }
        }
        Some(layout)
    }

    /// Writes a tree in this layout.
    pub(super) fn text(self, node: &Node<'_>) -> String {
        let mut out = String::new();
        self.write(node, &mut out);
        out
    }

    fn write(self, node: &Node<'_>, sink: &mut impl Sink) -> bool {
        self.node(node, 0, sink) && (!self.newline || sink.put("\n"))
    }

    fn node(self, node: &Node<'_>, depth: usize, sink: &mut impl Sink) -> bool {
        match node {
            Node::Null => sink.put("null"),
            Node::Bool(true) => sink.put("true"),
            Node::Bool(false) => sink.put("false"),
            Node::Number(text) => sink.put(text),
            Node::String(text) => self.string(text, sink),
            Node::List(items) if items.is_empty() => sink.put("[]"),
            Node::Map(entries) if entries.is_empty() => sink.put("{}"),
            Node::List(items) => {
                sink.put("[")
                    && items
                        .iter()
                        .enumerate()
                        .all(|(n, item)| self.before(n, depth + 1, sink) && self.node(item, depth + 1, sink))
                    && self.close(depth, sink)
                    && sink.put("]")
            }
            Node::Map(entries) => {
                let colon = if self.space == Space::Compact { ":" } else { ": " };
                sink.put("{")
                    && entries.iter().enumerate().all(|(n, (key, value))| {
                        self.before(n, depth + 1, sink)
                            && self.string(key, sink)
                            && sink.put(colon)
                            && self.node(value, depth + 1, sink)
                    })
                    && self.close(depth, sink)
                    && sink.put("}")
            }
        }
    }

    fn before(self, nth: usize, depth: usize, sink: &mut impl Sink) -> bool {
        let comma = match self.space {
            Space::Spaced => ", ",
            Space::Compact | Space::Lines(_) => ",",
        };
        (nth == 0 || sink.put(comma)) && self.line(depth, sink)
    }

    fn close(self, depth: usize, sink: &mut impl Sink) -> bool {
        self.line(depth, sink)
    }

    fn line(self, depth: usize, sink: &mut impl Sink) -> bool {
        match self.space {
            Space::Lines(width) => sink.put("\n") && (0..depth * width).all(|_| sink.put(" ")),
            Space::Compact | Space::Spaced => true,
        }
    }

    fn string(self, text: &str, sink: &mut impl Sink) -> bool {
        if !sink.put("\"") {
            return false;
        }
        let plain = |byte: u8| byte >= b' ' && byte != b'"' && byte != b'\\' && byte.is_ascii();
        let html = |byte: u8| self.escapes == Escapes::Html && matches!(byte, b'<' | b'>' | b'&');
        if text.bytes().all(|byte| plain(byte) && byte != 0x7f && !html(byte)) {
            return sink.put(text) && sink.put("\"");
        }
        let mut run = 0;
        for (at, character) in text.char_indices() {
            let short = match character {
                '"' => "\\\"",
                '\\' => "\\\\",
                '\n' => "\\n",
                '\r' => "\\r",
                '\t' => "\\t",
                '\u{8}' if self.escapes != Escapes::Html => "\\b",
                '\u{c}' if self.escapes != Escapes::Html => "\\f",
                _ if self.by_number(character) => "",
                _ => continue,
            };
            if !sink.put(text.get(run..at).unwrap_or_default()) || !sink.put(short) {
                return false;
            }
            if short.is_empty() {
                let mut units = [0; 2];
                if !character
                    .encode_utf16(&mut units)
                    .iter()
                    .all(|unit| sink.put(&format!("\\u{unit:04x}")))
                {
                    return false;
                }
            }
            run = at + character.len_utf8();
        }
        sink.put(text.get(run..).unwrap_or_default()) && sink.put("\"")
    }

    fn by_number(self, character: char) -> bool {
        character < ' '
            || match self.escapes {
                Escapes::Least => false,
                Escapes::Html => matches!(character, '<' | '>' | '&' | '\u{2028}' | '\u{2029}'),
                Escapes::Ascii => character > '~',
            }
    }
}

/// Destination of text. Returns false to stop.
trait Sink {
    fn put(&mut self, text: &str) -> bool;
}

impl Sink for String {
    fn put(&mut self, text: &str) -> bool {
        self.push_str(text);
        true
    }
}

/// Compares the written text with an expected one.
struct Same<'a> {
    rest: &'a str,
}

impl Sink for Same<'_> {
    fn put(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("{\"a\":[1,2.50,{}],\"b\":\"x\"}", "compact")]
    #[case("{\"a\":\"\\u003cb\\u003e\"}\n", "compact html newline")]
    #[case("{\"a\": \"\\u00fc\", \"b\": [1, 2]}", "spaced ascii")]
    #[case("{\n  \"a\": [\n    1\n  ],\n  \"b\": {}\n}", "lines")]
    #[case("{\n    \"a\": 1\n}\n", "lines-4 newline")]
    fn a_layout_restores_the_text(#[case] text: &str, #[case] words: &str) {
        let (layout, node) = Layout::of(text).expect("a layout");
        assert_eq!(layout.words(), words);
        assert_eq!(Layout::from_words(words).expect("known words").text(&node), text);
    }

    #[rstest]
    #[case("{\"a\" :1}")]
    #[case("{\"a\":\"\\/\"}")]
    #[case("{\"a\":\"\\u0041\"}")]
    #[case("{\"a\":1, \"b\":2}")]
    fn a_text_without_a_layout_is_refused(#[case] text: &str) {
        assert!(Layout::of(text).is_none());
    }
}
