//! Patterns: `*`, `?` and bracket expressions.

/// A character of a pattern. A quoted character is literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Letter {
    pub(crate) letter: char,
    pub(crate) quoted: bool,
}

/// Returns the characters of a text, all quoted or all unquoted.
pub(crate) fn letters(text: &str, quoted: bool) -> impl Iterator<Item = Letter> {
    text.chars().map(move |letter| Letter { letter, quoted })
}

/// Whether a pattern has an unquoted special character.
pub(crate) fn is_pattern(pattern: &[Letter]) -> bool {
    pattern.iter().any(|l| !l.quoted && matches!(l.letter, '*' | '?' | '['))
}

/// Whether a pattern matches the complete `text`. Takes at most `pattern.len() * text.len()` steps.
pub(crate) fn matches(pattern: &[Letter], text: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    let (mut at, mut from) = (0, 0);
    // Position of the last `*`, and the end of the text that it matches so far.
    let mut star: Option<(usize, usize)> = None;
    while from < text.len() {
        match one(pattern, at, text[from]) {
            Step::Star => {
                star = Some((at + 1, from));
                at += 1;
            }
            Step::Matches(next) => {
                at = next;
                from += 1;
            }
            Step::Differs => match star {
                Some((after, taken)) => {
                    star = Some((after, taken + 1));
                    at = after;
                    from = taken + 1;
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|l| !l.quoted && l.letter == '*')
}

enum Step {
    Star,
    /// The character matches; the pattern continues at this index.
    Matches(usize),
    Differs,
}

fn one(pattern: &[Letter], at: usize, letter: char) -> Step {
    let Some(first) = pattern.get(at) else {
        return Step::Differs;
    };
    let literal = |matched: bool| if matched { Step::Matches(at + 1) } else { Step::Differs };
    if first.quoted {
        return literal(first.letter == letter);
    }
    match first.letter {
        '*' => Step::Star,
        '?' => Step::Matches(at + 1),
        '[' => match bracket(pattern, at + 1, letter) {
            Some((true, next)) => Step::Matches(next),
            Some((false, _)) => Step::Differs,
            None => literal(letter == '['),
        },
        other => literal(other == letter),
    }
}

/// Returns whether a bracket expression matches `letter`, and the index after it; `None` if it is unterminated.
fn bracket(pattern: &[Letter], from: usize, letter: char) -> Option<(bool, usize)> {
    let negated = pattern
        .get(from)
        .is_some_and(|l| !l.quoted && matches!(l.letter, '!' | '^'));
    let start = from + usize::from(negated);
    let mut at = start;
    let mut found = false;
    loop {
        let first = pattern.get(at)?;
        if !first.quoted && first.letter == ']' && at > start {
            return Some((found != negated, at + 1));
        }
        if !first.quoted && first.letter == '[' && pattern.get(at + 1).is_some_and(|l| l.letter == ':') {
            let end = (at + 2..pattern.len())
                .find(|end| pattern[*end].letter == ':' && pattern.get(end + 1).is_some_and(|l| l.letter == ']'))?;
            let class: String = pattern[at + 2..end].iter().map(|l| l.letter).collect();
            found |= is_of_class(&class, letter);
            at = end + 2;
            continue;
        }
        let range = pattern
            .get(at + 1)
            .filter(|l| !l.quoted && l.letter == '-')
            .and(pattern.get(at + 2));
        match range {
            Some(last) if last.quoted || last.letter != ']' => {
                found |= (first.letter..=last.letter).contains(&letter);
                at += 3;
            }
            _ => {
                found |= first.letter == letter;
                at += 1;
            }
        }
    }
}

fn is_of_class(class: &str, letter: char) -> bool {
    match class {
        "alpha" => letter.is_alphabetic(),
        "digit" => letter.is_ascii_digit(),
        "alnum" => letter.is_alphanumeric(),
        "upper" => letter.is_uppercase(),
        "lower" => letter.is_lowercase(),
        "space" => letter.is_whitespace(),
        "blank" => matches!(letter, ' ' | '\t'),
        "punct" => letter.is_ascii_punctuation(),
        "xdigit" => letter.is_ascii_hexdigit(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("*", "", true)]
    #[case("a*c", "abbbc", true)]
    #[case("a*c", "abbb", false)]
    #[case("*.log", "x.log.log", true)]
    #[case("?", "", false)]
    #[case("[a-c]x", "bx", true)]
    #[case("[!a-c]x", "bx", false)]
    #[case("[]]", "]", true)]
    #[case("[[:digit:]]*", "7up", true)]
    #[case("[", "[", true)]
    #[case("a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false)]
    fn a_pattern_matches_the_complete_text(#[case] pattern: &str, #[case] text: &str, #[case] expected: bool) {
        let pattern: Vec<Letter> = letters(pattern, false).collect();
        assert_eq!(matches(&pattern, text), expected);
    }

    #[test]
    fn quoted_characters_are_literal() {
        let pattern: Vec<Letter> = letters("*", true).collect();
        assert!(matches(&pattern, "*") && !matches(&pattern, "x"));
    }
}
