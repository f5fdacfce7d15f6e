//! Text from cassettes and servers on a terminal.

/// A text in one line without characters that a terminal obeys: controls and changes of direction are escaped.
pub fn line(text: &str) -> String {
    let is_unsafe = |c: char| {
        c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\t' => out.push('\t'),
            c if is_unsafe(c) => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

/// A text of several lines, each as [`line()`] has it.
pub fn lines(text: &str) -> String {
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_escaped() {
        assert_eq!(line("a\u{1b}[2Jb\r\n\u{202e}ü"), "a\\u{1b}[2Jb\\r\\n\\u{202e}ü");
        assert_eq!(lines("a\nb\u{7}"), "a\nb\\u{7}");
    }
}
