//! Colours of the terminal.

use anstyle::{AnsiColor, Style as Ansi};

/// Style of text for a terminal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Style {
    /// Whether text is coloured.
    pub coloured: bool,
}

impl Style {
    /// Success: green.
    pub fn good(self, text: &str) -> String {
        self.paint(AnsiColor::Green.on_default(), text)
    }

    /// Failure: red.
    pub fn bad(self, text: &str) -> String {
        self.paint(AnsiColor::Red.on_default(), text)
    }

    /// Neither passed nor failed: yellow.
    pub fn open(self, text: &str) -> String {
        self.paint(AnsiColor::Yellow.on_default(), text)
    }

    /// Secondary text: dimmed.
    pub fn faint(self, text: &str) -> String {
        self.paint(Ansi::new().dimmed(), text)
    }

    /// Emphasis: bold.
    pub fn strong(self, text: &str) -> String {
        self.paint(Ansi::new().bold(), text)
    }

    fn paint(self, style: Ansi, text: &str) -> String {
        if self.coloured {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_coloured_only_on_request() {
        assert_eq!(Style::default().bad("x"), "x");
        assert!(Style { coloured: true }.bad("x").contains("\u{1b}["));
    }
}
