//! Colours, where they are wanted.

use anstyle::{AnsiColor, Style as Ansi};

/// Whether text is coloured, and how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Style {
    /// Whether it is.
    pub coloured: bool,
}

impl Style {
    /// What went well.
    pub fn good(self, text: &str) -> String {
        self.paint(AnsiColor::Green.on_default(), text)
    }

    /// What went wrong.
    pub fn bad(self, text: &str) -> String {
        self.paint(AnsiColor::Red.on_default(), text)
    }

    /// What is open.
    pub fn open(self, text: &str) -> String {
        self.paint(AnsiColor::Yellow.on_default(), text)
    }

    /// What is beside the point.
    pub fn faint(self, text: &str) -> String {
        self.paint(Ansi::new().dimmed(), text)
    }

    /// What is the point.
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
    fn nothing_is_coloured_unless_it_is_wanted() {
        assert_eq!(Style::default().bad("x"), "x");
        assert!(Style { coloured: true }.bad("x").contains("\u{1b}["));
    }
}
