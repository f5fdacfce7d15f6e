//! Classes in brackets: `[a-z&&[^b]]`.

use super::CASE_INSENSITIVE;
use super::translation::{Escape, Parser, Translated};

impl Parser<'_> {
    /// Reads a class after its opening bracket.
    pub(super) fn class(&mut self) -> Translated<()> {
        self.enter()?;
        self.made.push('[');
        if self.takes('^') {
            self.made.push('^');
        }
        let mut is_empty = true;
        loop {
            self.skip_comments();
            match self.peek() {
                None => return self.fail_before("Unclosed character class"),
                Some(']') if !is_empty => {
                    self.at += 1;
                    break;
                }
                Some('[') => {
                    self.at += 1;
                    self.class()?;
                }
                Some('&') if self.peek_after(1) == Some('&') => {
                    self.at += 2;
                    while self.takes('&') {}
                    self.skip_comments();
                    match self.peek() {
                        Some(']') if is_empty => return self.fail_before("Bad class syntax"),
                        Some(']') => {}
                        // The intersection with nothing before is what comes after.
                        _ if is_empty => continue,
                        _ => self.made.push_str("&&"),
                    }
                }
                Some(_) => self.range()?,
            }
            is_empty = false;
        }
        self.made.push(']');
        self.depth -= 1;
        Ok(())
    }

    /// Reads a character of a class, a range, or a class in it.
    fn range(&mut self) -> Translated<()> {
        let from = match self.class_char()? {
            Escape::Char(from) => from,
            Escape::Class(content, is_negated) => {
                self.push_class(&content, is_negated);
                return Ok(());
            }
            Escape::Other(..) => return self.fail_before("Illegal/unsupported escape sequence"),
        };
        if self.peek() != Some('-') || matches!(self.peek_after(1), Some('[' | ']')) {
            self.push_range(from, from);
            return Ok(());
        }
        self.at += 1;
        if self.peek().is_none() {
            return self.fail("Illegal character range");
        }
        match self.class_char()? {
            Escape::Char(to) if to >= from => {
                self.push_range(from, to);
                Ok(())
            }
            _ => self.fail_before("Illegal character range"),
        }
    }

    fn push_range(&mut self, from: char, to: char) {
        let mut push = |from: char, to: char| {
            let ends = format!(r"\x{{{:X}}}-\x{{{:X}}}", u32::from(from), u32::from(to));
            self.made.push_str(&ends);
        };
        push(from, to);
        if self.flags & CASE_INSENSITIVE != 0 {
            for (first, last) in [('a', 'z'), ('A', 'Z')] {
                let (first, last) = (from.max(first), to.min(last));
                if first <= last {
                    let other = |c: char| char::from(c as u8 ^ 32);
                    push(other(first), other(last));
                }
            }
        }
    }

    fn class_char(&mut self) -> Translated<Escape> {
        if self.takes('\\') {
            return self.escape(true);
        }
        let c = self.peek().unwrap_or_default();
        self.at += 1;
        Ok(Escape::Char(c))
    }
}
