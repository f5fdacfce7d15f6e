//! Regular expressions with the syntax of Java.
//!
//! Guarantees: a pattern that Java refuses is refused with Java's text; matching is bounded in steps.
//! Limits: no blocks of Unicode (`\p{InGreek}`), no canonical equivalence. A text that needs too many steps does not
//! match.
//!
//! Source: `java.util.regex.Pattern`; Elasticsearch 1.5's `Regex` for the names of flags.

mod classes;
mod escapes;
mod groups;
mod sets;
mod translation;

use fancy_regex::{Regex, RegexBuilder};
use serde_json::Value;

use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::json::{BODY, int};

/// Maximum size of a compiled pattern, in bytes.
const MAX_COMPILED: usize = 1 << 20;
/// Maximum number of instructions of a compiled pattern.
const MAX_INSTRUCTIONS: usize = 100_000;
/// Maximum number of steps back in a match.
const MAX_STEPS: usize = 100_000;

const UNIX_LINES: i32 = 1;
const CASE_INSENSITIVE: i32 = 2;
const COMMENTS: i32 = 4;
const MULTILINE: i32 = 8;
const LITERAL: i32 = 16;
const DOTALL: i32 = 32;
const UNICODE_CASE: i32 = 64;
const CANON_EQ: i32 = 128;
const UNICODE_CHAR_CLASS: i32 = 256;

const FLAGS: [(&str, i32); 9] = [
    ("CASE_INSENSITIVE", CASE_INSENSITIVE),
    ("MULTILINE", MULTILINE),
    ("DOTALL", DOTALL),
    ("UNICODE_CASE", UNICODE_CASE),
    ("CANON_EQ", CANON_EQ),
    ("UNIX_LINES", UNIX_LINES),
    ("LITERAL", LITERAL),
    ("COMMENTS", COMMENTS),
    ("UNICODE_CHAR_CLASS", UNICODE_CHAR_CLASS),
];

/// Reads the flags of a pattern: their names, separated by `|`, or their bits.
///
/// # Errors
/// A flag that does not exist.
pub(crate) fn flags(value: &Value) -> Result<i32> {
    if value.is_number() {
        let flags = int(value, BODY)?;
        let known = FLAGS.iter().fold(0, |all, (_, flag)| all | flag);
        return match flags & !known {
            0 => Ok(flags),
            _ => Err(SearchError::argument(format!("Unknown flag 0x{flags:x}"))),
        };
    }
    let names = value
        .as_str()
        .unwrap_or_default()
        .split('|')
        .map(|name| name.trim().to_uppercase());
    names.filter(|name| !name.is_empty()).try_fold(0, |all, name| {
        let unknown = || SearchError::illegal(format!("Unknown regex flag [{name}]"));
        let flag = FLAGS.iter().find(|(known, _)| *known == name);
        flag.map(|(_, flag)| all | flag).ok_or_else(unknown)
    })
}

/// A compiled pattern.
#[derive(Clone, Debug)]
pub(crate) struct JavaPattern(Regex);

impl JavaPattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// A pattern that is malformed or too large.
    pub(crate) fn new(pattern: &str, flags: i32) -> Result<JavaPattern> {
        JavaPattern::build(pattern, flags, |translated| translated)
    }

    /// Compiles a pattern of whole texts.
    ///
    /// # Errors
    /// As [`JavaPattern::new`].
    pub(crate) fn whole(pattern: &str, flags: i32) -> Result<JavaPattern> {
        JavaPattern::build(pattern, flags, |translated| format!(r"\A(?:{translated})\z"))
    }

    /// Compiles the pattern of one character.
    ///
    /// # Errors
    /// As [`JavaPattern::new`].
    pub(crate) fn literal(c: char) -> Result<JavaPattern> {
        JavaPattern::new(c.encode_utf8(&mut [0; 4]), LITERAL)
    }

    fn build(pattern: &str, flags: i32, finish: impl Fn(String) -> String) -> Result<JavaPattern> {
        let refused = |reason: String| SearchError::new(400, Exception::PatternSyntax, reason);
        let translated = translation::translate(pattern, flags).map_err(refused)?;
        RegexBuilder::new(&finish(translated))
            .delegate_size_limit(MAX_COMPILED)
            .max_prog_size(MAX_INSTRUCTIONS)
            .backtrack_limit(MAX_STEPS)
            .build()
            .map(JavaPattern)
            .map_err(|error| refused(format!("{error}\n{pattern}")))
    }

    /// Whether a part of the text matches.
    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text).unwrap_or(false)
    }

    /// Returns the matches, as their start and end in bytes.
    pub(crate) fn matches(&self, text: &str) -> impl Iterator<Item = (usize, usize)> {
        let find = |at| self.0.find_from_pos(text, at).ok().flatten();
        each_match(
            text,
            move |at| find(at).map(|found| (found.start(), found.end())),
            |found| *found,
        )
    }

    /// Returns the groups of the matches. The first is the whole match.
    pub(crate) fn groups(&self, text: &str) -> impl Iterator<Item = Vec<Option<(usize, usize)>>> {
        let find = |at| self.0.captures_from_pos(text, at).ok().flatten();
        let groups = move |at| -> Option<Vec<Option<(usize, usize)>>> {
            let found = find(at)?;
            let groups = found
                .iter()
                .map(|group| group.map(|group| (group.start(), group.end())));
            Some(groups.collect())
        };
        each_match(text, groups, |groups| {
            groups.first().copied().flatten().unwrap_or_default()
        })
    }

    /// Number of groups, without the whole match.
    pub(crate) fn group_count(&self) -> usize {
        self.0.captures_len() - 1
    }

    /// Returns the start and end of each match, and the text that replaces it. `$1` in `replacement` is a group.
    pub(crate) fn replacements(&self, text: &str, replacement: &str) -> impl Iterator<Item = (usize, usize, String)> {
        self.groups(text).filter_map(move |groups| {
            let (start, end) = groups.first().copied().flatten()?;
            Some((start, end, expanded(replacement, text, &groups)))
        })
    }

    /// Replaces the first matches, at most `most`.
    pub(crate) fn replaced(&self, text: &str, replacement: &str, most: usize) -> String {
        let mut made = String::new();
        let mut done = 0;
        for (start, end, new) in self.replacements(text, replacement).take(most) {
            made.push_str(text.get(done..start).unwrap_or(""));
            made.push_str(&new);
            done = end;
        }
        made + text.get(done..).unwrap_or("")
    }
}

/// Calls `find` for the places at which Java looks for the next match: the end of the last one, or after the next
/// character if that was empty.
fn each_match<M>(
    text: &str,
    find: impl Fn(usize) -> Option<M>,
    place: impl Fn(&M) -> (usize, usize),
) -> impl Iterator<Item = M> {
    let mut next = Some(0);
    std::iter::from_fn(move || {
        let found = find(next?)?;
        let (start, end) = place(&found);
        let skipped = text.get(end..).and_then(|rest| rest.chars().next());
        next = match start == end {
            false => Some(end),
            true => skipped.map(|c| end + c.len_utf8()),
        };
        Some(found)
    })
}

/// Returns the text that replaces a match.
fn expanded(replacement: &str, text: &str, groups: &[Option<(usize, usize)>]) -> String {
    let mut made = String::new();
    let mut chars = replacement.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek().and_then(|next| next.to_digit(10))) {
            ('$', Some(mut group)) => {
                chars.next();
                // More digits count while there are so many groups.
                while let Some(digit) = chars.peek().and_then(|next| next.to_digit(10)) {
                    let longer = group.saturating_mul(10).saturating_add(digit);
                    if longer as usize >= groups.len() {
                        break;
                    }
                    group = longer;
                    chars.next();
                }
                if let Some((start, end)) = groups.get(group as usize).copied().flatten() {
                    made.push_str(text.get(start..end).unwrap_or(""));
                }
            }
            ('\\', _) => made.extend(chars.next()),
            _ => made.push(c),
        }
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case("a.c", "abc", true)]
    #[case("a.c", "a\rc", false)]
    #[case("(?s)a.c", "a\nc", true)]
    #[case("(?s:a.)c", "a\nc", true)]
    #[case(r"\w+", "é", false)]
    #[case(r"(?U)\w+", "é", true)]
    #[case(r"[\w&&[^a]]+", "ab", false)]
    #[case(r"[^\d\s]+", "ab", true)]
    #[case(r"\p{Alpha}+\p{javaUpperCase}", "abÉ", true)]
    #[case(r"\p{L}\p{IsLatin}\PN", "abc", true)]
    #[case(r"\Qa.b\E+", "a.bb", true)]
    #[case(r"\Qa.b", "a.b", true)]
    #[case(r"(a)(?!\1)b", "ab", true)]
    #[case(r"(a)\1", "aa", true)]
    #[case(r"(a)\2", "aa", false)]
    #[case(r"(?<x>a)\k<x>", "aa", true)]
    #[case(r"a*+a", "aa", false)]
    #[case(r"(?>a|ab)c", "abc", false)]
    #[case(r"{2}a{2}{2}", "aa", true)]
    #[case(r"\x41\u0042\103\x{44}\cA", "AB\u{43}D\u{1}", false)]
    #[case(r"\x41\u0042\0103\x{44}\cA", "ABCD\u{1}", true)]
    #[case("a b # c", "a b # c", true)]
    #[case("(?x)a b # c", "ab", true)]
    #[case(r"[a&&b]|[]]|[-a]|[a-]|[&]", "-", true)]
    #[case("[[:alpha:]]", "b", false)]
    #[case(r"\<\-\_", "<-_", true)]
    #[case("", "", true)]
    fn patterns_match_whole_texts(#[case] pattern: &str, #[case] text: &str, #[case] expected: bool) {
        assert_eq!(JavaPattern::whole(pattern, 0).unwrap().is_match(text), expected);
    }

    #[test]
    fn look_around_finds_the_parts_of_a_name() {
        let pattern = r"([^\p{L}\d]+)|(?<=\D)(?=\d)|(?<=\d)(?=\D)|(?<=[\p{L}&&[^\p{Lu}]])(?=\p{Lu})";
        let pattern = JavaPattern::new(pattern, 0).unwrap();
        let found: Vec<_> = pattern.matches("FooBar2 x").collect();
        assert_eq!(found, [(3, 3), (6, 6), (7, 8)]);
    }

    #[test]
    fn an_empty_match_follows_another() {
        let pattern = JavaPattern::new(r"\.?", 0).unwrap();
        assert_eq!(pattern.replaced("a.b", "<$0>", usize::MAX), "<>a<.><>b<>");
    }

    #[rstest]
    #[case("a$", "a\n", 0, true)]
    #[case(r"a\z", "a\n", 0, false)]
    #[case("^b$", "a\nb\nc", 0, false)]
    #[case("^b$", "a\nb\nc", MULTILINE, true)]
    #[case("A[^B]", "aa", CASE_INSENSITIVE, true)]
    #[case("A[^B]", "ab", CASE_INSENSITIVE, false)]
    #[case("É", "é", CASE_INSENSITIVE, false)]
    #[case("É[È]", "éè", CASE_INSENSITIVE | UNICODE_CASE, true)]
    #[case(r"(a)(?i)\1", "aA", 0, true)]
    #[case("a(?=b)*c(?!d)+(?<=c){0}(?:(?=x))?", "ac", 0, true)]
    #[case("(?i)A(?-i)B", "ab", 0, false)]
    #[case("a.b", "a.b", LITERAL, true)]
    #[case("a.b", "axb", LITERAL, false)]
    #[case("a.b", "a\nb", DOTALL, true)]
    #[case("a.b", "a\rb", UNIX_LINES, true)]
    #[case("a b", "ab", COMMENTS, true)]
    #[case(
        r"(a)\1 # twice
            {2}",
        "aaa",
        COMMENTS,
        true
    )]
    #[case(
        r"(a)\1 # twice
            {2}",
        "aa",
        COMMENTS,
        false
    )]
    fn flags_change_the_meaning(#[case] pattern: &str, #[case] text: &str, #[case] flags: i32, #[case] expected: bool) {
        assert_eq!(JavaPattern::new(pattern, flags).unwrap().is_match(text), expected);
    }

    #[test]
    fn flags_have_names_and_bits() {
        assert_eq!(
            flags(&json!("dotall | CASE_INSENSITIVE")).unwrap(),
            DOTALL | CASE_INSENSITIVE
        );
        assert_eq!(flags(&json!(3)).unwrap(), 3);
        assert!(flags(&json!(512)).is_err() && flags(&json!("NONE")).is_err());
    }

    #[test]
    fn large_patterns_are_refused() {
        assert!(JavaPattern::new("(?:(?:a{1000}){1000}){1000}", 0).is_err());
    }

    #[test]
    fn many_steps_end_a_match() {
        let pattern = JavaPattern::new(r"(?:(a+)+)+(?!\1)$", 0).unwrap();
        assert!(!pattern.is_match(&("a".repeat(5_000) + "b")));
        let pattern = JavaPattern::new(r"(b)(?:(?:a{1000}\1){1000}\1){1000}", 0).unwrap();
        assert!(!pattern.is_match(&("b".to_owned() + &"a".repeat(5_000))));
    }

    #[test]
    fn a_replacement_has_groups() {
        let groups = [Some((0, 2)), Some((0, 1)), Some((1, 2))];
        assert_eq!(expanded(r"$2-$1\$$3$12", "ab", &groups), "b-a$a2");
    }
}
