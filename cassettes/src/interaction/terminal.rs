//! Escaping of text from cassettes and servers for a terminal.

/// Escapes line breaks, other control characters except tabs, and characters that change the text direction.
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

/// Escapes each line of a text as [`line()`] does.
pub fn lines(text: &str) -> String {
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(line("a\u{1b}[2Jb\r\n\u{202e}ü"), "a\\u{1b}[2Jb\\r\\n\\u{202e}ü");
        assert_eq!(lines("a\nb\u{7}"), "a\nb\\u{7}");
    }
}
