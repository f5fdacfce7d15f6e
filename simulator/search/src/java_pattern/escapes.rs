//! What is after a backslash.

use super::classes::{LINE_ENDS, of_escape, of_property};
use super::translation::{Atom, Escape, Parser, Translated};
use super::{CASE_INSENSITIVE, UNICODE_CHAR_CLASS};

impl Parser<'_> {
    /// Reads an escape after its backslash.
    pub(super) fn escape(&mut self, in_class: bool) -> Translated<Escape> {
        let Some(c) = self.peek() else {
            return self.fail("Unexpected internal error");
        };
        if let Some(content) = of_escape(c.to_ascii_lowercase(), self.has(UNICODE_CHAR_CLASS)) {
            self.at += 1;
            return Ok(Escape::Class(content.to_owned(), c.is_ascii_uppercase()));
        }
        let char = |code: u32| char::from_u32(code).map(Escape::Char);
        self.at += 1;
        let escape = match c {
            '0' => char(self.octal()?),
            'a' => char(7),
            'e' => char(27),
            'f' => char(12),
            'n' => char(10),
            'r' => char(13),
            't' => char(9),
            'c' => match self.peek() {
                None => return self.fail_before("Illegal control escape sequence"),
                Some(control) => {
                    self.at += 1;
                    char(u32::from(control) ^ 64)
                }
            },
            'u' => char(self.digits(4, "Illegal Unicode escape sequence")?),
            'x' => char(self.hexadecimal()?),
            'p' | 'P' => Some(Escape::Class(self.property()?, c == 'P')),
            '1'..='9' if !in_class => Some(self.reference(c)),
            'k' if !in_class => {
                if !self.takes('<') {
                    return self.fail("\\k is not followed by '<' for named capturing group");
                }
                let name = self.name()?;
                if !self.names.contains(&name) {
                    return self.fail_before(&format!("named capturing group <{name}> does not exist"));
                }
                self.is_unbounded = true;
                Some(self.referred(&format!("k<{name}>")))
            }
            'A' | 'b' | 'B' | 'G' | 'z' if !in_class => Some(Escape::Other(format!("\\{c}"), Atom::Assertion)),
            'Z' if !in_class => Some(Escape::Other(self.last_line_end().to_owned(), Atom::Assertion)),
            'R' if !in_class => {
                let ends = format!(r"(?:\r\n|[\x0B\x0C{LINE_ENDS}])");
                Some(Escape::Other(ends, Atom::Group))
            }
            'X' if !in_class => {
                self.is_unbounded = true;
                Some(Escape::Other(r"(?>\P{M}\p{M}*|\p{M}+)".to_owned(), Atom::Group))
            }
            'N' => return self.fail("Illegal character name escape sequence"),
            c if c.is_ascii_alphanumeric() => None,
            c => Some(Escape::Char(c)),
        };
        match escape {
            Some(escape) => Ok(escape),
            None => self.fail_before("Illegal/unsupported escape sequence"),
        }
    }

    /// Reads a reference to a group. There is no match without the group.
    fn reference(&mut self, first: char) -> Escape {
        let mut group = first.to_digit(10).unwrap_or_default() as usize;
        while let Some(digit) = self.peek().and_then(|c| c.to_digit(10)) {
            let longer = group * 10 + digit as usize;
            if longer > self.groups {
                break;
            }
            group = longer;
            self.at += 1;
        }
        self.is_unbounded = true;
        match group <= self.groups {
            true => self.referred(&group.to_string()),
            false => Escape::Other("(?!)".to_owned(), Atom::Assertion),
        }
    }

    fn referred(&self, name: &str) -> Escape {
        let ignores_case = self.flags & CASE_INSENSITIVE != 0;
        let text = format!(r"(?{}:\{name})", if ignores_case { "i" } else { "" });
        Escape::Other(text, Atom::Group)
    }

    /// Reads up to three octal digits.
    fn octal(&mut self) -> Translated<u32> {
        let digit = |parser: &Parser| parser.peek().and_then(|c| c.to_digit(8));
        let Some(mut code) = digit(self) else {
            return self.fail("Illegal octal escape sequence");
        };
        let most = if code <= 3 { 3 } else { 2 };
        self.at += 1;
        for _ in 1..most {
            let Some(next) = digit(self) else { break };
            code = code * 8 + next;
            self.at += 1;
        }
        Ok(code)
    }

    /// Reads hexadecimal digits.
    fn digits(&mut self, count: usize, problem: &str) -> Translated<u32> {
        let mut code = 0;
        for _ in 0..count {
            match self.peek().and_then(|c| c.to_digit(16)) {
                None => return self.fail(problem),
                Some(digit) => code = code * 16 + digit,
            }
            self.at += 1;
        }
        Ok(code)
    }

    fn hexadecimal(&mut self) -> Translated<u32> {
        const PROBLEM: &str = "Illegal hexadecimal escape sequence";
        if self.peek() != Some('{') {
            return self.digits(2, PROBLEM);
        }
        self.at += 1;
        let mut code = 0u32;
        while let Some(digit) = self.peek().and_then(|c| c.to_digit(16)) {
            code = code.saturating_mul(16).saturating_add(digit);
            if code > 0x10_FFFF {
                return self.fail("Hexadecimal codepoint is too big");
            }
            self.at += 1;
        }
        match self.takes('}') {
            true => Ok(code),
            false => self.fail("Unclosed hexadecimal escape sequence"),
        }
    }

    /// Reads the property after `\p`. Returns the content of its class.
    fn property(&mut self) -> Translated<String> {
        let name = if self.takes('{') {
            let rest = self.pattern.get(self.at..).unwrap_or_default();
            let Some(length) = rest.iter().position(|c| *c == '}') else {
                return Err(self.error("Unclosed character family", Some(self.pattern.len())));
            };
            let name: String = rest.iter().take(length).collect();
            self.at += length + 1;
            if name.is_empty() {
                return self.fail_before("Empty character family");
            }
            name
        } else {
            let name = self.peek().unwrap_or_default();
            self.at += 1;
            name.to_string()
        };
        match of_property(&name) {
            Some(content) => Ok(content),
            None => self.fail_before(&format!("Unknown character property name {{{name}}}")),
        }
    }
}
