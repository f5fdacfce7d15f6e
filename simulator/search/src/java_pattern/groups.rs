//! Groups of a pattern: `(a)`, `(?:a)`, `(?<name>a)`, look-around, and flags.

use super::translation::{Atom, Parser, Translated};
use super::{CANON_EQ, CASE_INSENSITIVE, COMMENTS, DOTALL, MULTILINE, UNICODE_CASE, UNICODE_CHAR_CLASS, UNIX_LINES};

impl Parser<'_> {
    /// Reads a group after its bracket. `None`: it only changes flags.
    pub(super) fn group(&mut self) -> Translated<Option<Atom>> {
        let flags = self.flags;
        let outer = (self.is_unbounded, self.has_length);
        let lengths = self.lengths;
        let mut atom = Atom::Group;
        let mut is_behind = false;
        if !self.takes('?') {
            self.groups += 1;
            self.made.push('(');
        } else {
            match (self.peek(), self.peek_after(1)) {
                (Some(kind @ (':' | '=' | '!' | '>')), _) => {
                    self.at += 1;
                    self.made.push_str(&format!("(?{kind}"));
                    if matches!(kind, '=' | '!') {
                        atom = Atom::Assertion;
                    }
                }
                (Some('<'), Some(kind @ ('=' | '!'))) => {
                    self.at += 2;
                    self.made.push_str(&format!("(?<{kind}"));
                    atom = Atom::Assertion;
                    is_behind = true;
                    (self.is_unbounded, self.has_length) = (false, false);
                }
                (Some('<'), _) => {
                    self.at += 1;
                    let name = self.name()?;
                    if self.names.contains(&name) {
                        return self.fail_before(&format!("Named capturing group <{name}> is already defined"));
                    }
                    self.groups += 1;
                    self.made.push_str(&format!("(?<{name}>"));
                    self.names.insert(name);
                }
                (Some('$' | '@'), _) => return self.fail("Unknown group type"),
                _ => {
                    self.inline_flags();
                    if self.takes(')') {
                        return Ok(None);
                    }
                    if !self.takes(':') {
                        return self.fail("Unknown inline modifier");
                    }
                    self.made.push_str("(?:");
                }
            }
        }
        self.alternatives()?;
        if is_behind && self.is_unbounded {
            return self.fail_before("Look-behind group does not have an obvious maximum length");
        }
        if atom == Atom::Assertion {
            (self.is_unbounded, self.has_length) = outer;
            self.lengths = lengths;
        }
        if !self.takes(')') {
            return self.fail("Unclosed group");
        }
        self.made.push(')');
        self.flags = flags;
        Ok(Some(match self.lengths == lengths {
            true => Atom::Assertion,
            false => atom,
        }))
    }

    /// Reads the name of a group and the sign after it.
    pub(super) fn name(&mut self) -> Translated<String> {
        if !self.peek().is_some_and(|c| c.is_ascii_alphabetic()) {
            return self.fail("capturing group name does not start with a Latin letter");
        }
        let mut name = String::new();
        while let Some(c) = self.peek().filter(char::is_ascii_alphanumeric) {
            name.push(c);
            self.at += 1;
        }
        match self.takes('>') {
            true => Ok(name),
            false => self.fail("named capturing group is missing trailing '>'"),
        }
    }

    /// Reads flags as `i-s`.
    fn inline_flags(&mut self) {
        let mut is_unset = false;
        while let Some(c) = self.peek() {
            let flag = match c {
                'i' => CASE_INSENSITIVE,
                'u' => UNICODE_CASE,
                'm' => MULTILINE,
                's' => DOTALL,
                'd' => UNIX_LINES,
                'x' => COMMENTS,
                'U' => UNICODE_CHAR_CLASS | UNICODE_CASE,
                'c' => CANON_EQ,
                '-' if !is_unset => 0,
                _ => break,
            };
            self.at += 1;
            is_unset |= c == '-';
            match is_unset {
                true => self.flags &= !flag,
                false => self.flags |= flag,
            }
        }
    }
}
