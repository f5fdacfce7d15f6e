//! Syntax check of POSIX (egrep) regular expressions.
//!
//! - Guarantee: linear time in the length of the text.
//! - Limit: the size of nested repetitions is not bounded.
//! - Source: the syntax of Go's `regexp.CompilePOSIX`: no Perl classes, no groups with flags, no back-references.

/// Maximum count of a repetition.
const MAX_REPETITIONS: u32 = 1000;
const CLASSES: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "word",
    "xdigit",
];

/// Whether `pattern` is well formed.
pub(crate) fn is_valid(pattern: &str) -> bool {
    let last_class_end = pattern.rfind(":]").map(|at| pattern.len() - at);
    Pattern {
        rest: pattern,
        last_class_end,
    }
    .parse()
    .is_some()
}

/// Remaining pattern.
#[derive(Clone, Copy)]
struct Pattern<'a> {
    rest: &'a str,
    /// Distance of the last `:]` from the pattern's end.
    last_class_end: Option<usize>,
}

impl Pattern<'_> {
    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let next = chars.next()?;
        self.rest = chars.as_str();
        Some(next)
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    /// Parses to the end. `None` if the pattern is malformed.
    fn parse(&mut self) -> Option<()> {
        let mut open = 0_u32;
        // Whether there is an operand for a repetition operator.
        let mut operand = false;
        while let Some(c) = self.next() {
            operand = match c {
                '(' => {
                    open += 1;
                    false
                }
                ')' => {
                    open = open.checked_sub(1)?;
                    true
                }
                '|' => false,
                '*' | '+' | '?' => operand.then_some(true)?,
                '{' => self.repetition(operand)?,
                '[' => self.class()?,
                '\\' => self.escape().map(|_| true)?,
                _ => true,
            };
        }
        (open == 0).then_some(())
    }

    /// Parses the rest of a repetition after its brace: `3}`, `3,}` or `3,5}`. Otherwise the brace is a literal.
    fn repetition(&mut self, operand: bool) -> Option<bool> {
        let mut ahead = *self;
        let Some((least, most)) = ahead.counts() else {
            return Some(true);
        };
        *self = ahead;
        let valid = least <= MAX_REPETITIONS && most.is_none_or(|most| most <= MAX_REPETITIONS && least <= most);
        (operand && valid).then_some(true)
    }

    fn counts(&mut self) -> Option<(u32, Option<u32>)> {
        let least = self.number()?;
        match self.next()? {
            '}' => Some((least, Some(least))),
            ',' if self.peek() == Some('}') => self.next().map(|_| (least, None)),
            ',' => {
                let most = self.number()?;
                (self.next()? == '}').then_some((least, Some(most)))
            }
            _ => None,
        }
    }

    fn number(&mut self) -> Option<u32> {
        let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest;
        let plain = !digits.is_empty() && (digits.len() == 1 || !digits.starts_with('0'));
        plain.then(|| digits.parse().unwrap_or(u32::MAX))
    }

    /// Parses an escape after its backslash. Returns the escaped character.
    fn escape(&mut self) -> Option<char> {
        match self.next()? {
            // A single digit would be a back-reference.
            first @ '1'..='7' if self.peek().is_some_and(|c| c.is_digit(8)) => self.octal(first),
            '0' => self.octal('0'),
            'x' => self.hexadecimal(),
            'a' => Some('\u{7}'),
            'f' => Some('\u{c}'),
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            'v' => Some('\u{b}'),
            c => (c.is_ascii() && !c.is_ascii_alphanumeric()).then_some(c),
        }
    }

    fn octal(&mut self, first: char) -> Option<char> {
        let mut code = first.to_digit(8)?;
        for _ in 0..2 {
            let Some(digit) = self.peek().and_then(|c| c.to_digit(8)) else {
                break;
            };
            code = code * 8 + digit;
            self.next();
        }
        char::from_u32(code)
    }

    fn hexadecimal(&mut self) -> Option<char> {
        let first = self.next()?;
        if first != '{' {
            return char::from_u32(first.to_digit(16)? * 16 + self.next()?.to_digit(16)?);
        }
        let mut code = self.next()?.to_digit(16)?;
        loop {
            match self.next()? {
                '}' => return char::from_u32(code),
                c => code = code * 16 + c.to_digit(16)?,
            }
            if code > u32::from(char::MAX) {
                return None;
            }
        }
    }

    /// Parses a bracket expression after its bracket.
    fn class(&mut self) -> Option<bool> {
        if self.peek() == Some('^') {
            self.next();
        }
        let mut first = true;
        loop {
            match self.next()? {
                ']' if !first => return Some(true),
                '[' if self.rest.starts_with(':') && self.last_class_end.is_some_and(|end| self.rest.len() > end) => {
                    self.named_class()?
                }
                // A dash is literal only at either end.
                '-' if !first && self.peek().is_some_and(|c| c != ']') => return None,
                c => {
                    let low = if c == '\\' { self.escape()? } else { c };
                    self.range(low)?;
                }
            }
            first = false;
        }
    }

    /// Parses `:alpha:]`.
    fn named_class(&mut self) -> Option<()> {
        let (name, rest) = self.rest.strip_prefix(':')?.split_once(":]")?;
        self.rest = rest;
        CLASSES.contains(&name.strip_prefix('^').unwrap_or(name)).then_some(())
    }

    /// Parses the rest of a range that starts with `low`, if there is one.
    fn range(&mut self, low: char) -> Option<()> {
        let Some(after) = self
            .rest
            .strip_prefix('-')
            .filter(|after| !after.is_empty() && !after.starts_with(']'))
        else {
            return Some(());
        };
        self.rest = after;
        let high = match self.next()? {
            '\\' => self.escape()?,
            c => c,
        };
        (low <= high).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(&["", "/", "/a.*b", "/(a|b)+", "/a**", "/a{2,3}", "/a{2}", "/a{2,}", "/a{", "/a{x}", "/a{,3}", "/a{01}",
        "^/$", "(|a)", "a|", "/ü", "/]", "/}"])]
    #[case(&["/[a-z0-9_.-]+", "/[-a]", "/[]a]", "/[^]]", "/[[:alpha:]]", "/[[:^alpha:]x]", "/[a[]", "/[[:a]",
        "/[\\]]"])]
    #[case(&["/\\.", "/\\x41", "/\\x{1F600}", "/\\101", "/\\0", "/\\n"])]
    fn well_formed(#[case] patterns: &[&str]) {
        for pattern in patterns {
            assert!(is_valid(pattern), "{pattern}");
        }
    }

    #[rstest]
    #[case(&["*", "/(", "/)", "(?:a)", "a|*", "(*)", "{1}", "/a{1001}", "/a{3,2}", "/a{99999999999}"])]
    #[case(&["/[", "/[a", "/[]", "/[z-a]", "/[a-b-c]", "/[[:nope:]]"])]
    #[case(&["/\\d", "/\\w", "/\\", "/\\1", "/\\8", "/\\xZ", "/\\x{}", "/\\x{110000}"])]
    fn malformed(#[case] patterns: &[&str]) {
        for pattern in patterns {
            assert!(!is_valid(pattern), "{pattern}");
        }
    }

    #[test]
    fn a_hostile_pattern_takes_linear_time() {
        assert!(!is_valid(&"[:".repeat(500_000)));
        assert!(is_valid(&"{".repeat(500_000)));
        assert!(is_valid(&"{1".repeat(500_000)));
    }
}
