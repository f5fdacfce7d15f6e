//! Secret values in commands and calls: password flags of certain programs, and `f('NAME', 'value')`.

use super::names;
use std::ops::Range;

/// A flag with a password in command lines that contain certain words.
struct PasswordFlag {
    word: &'static str,
    flag: &'static str,
    /// Whether the password can be the rest of the flag's word.
    attached: bool,
    /// Whether the password can be the next word.
    separate: bool,
}

const FLAGS: [PasswordFlag; 4] = [
    PasswordFlag {
        word: "sshpass",
        flag: " -p",
        attached: true,
        separate: true,
    },
    PasswordFlag {
        word: "login",
        flag: " -p",
        attached: false,
        separate: true,
    },
    PasswordFlag {
        word: "mysql",
        flag: " -p",
        attached: true,
        separate: false,
    },
    PasswordFlag {
        word: "redis-cli",
        flag: " -a",
        attached: false,
        separate: true,
    },
];

/// Words before the name in lines that set a variable.
const SETTERS: [&str; 8] = ["ENV", "ARG", "set", "set -x", "set -gx", "set -Ux", "setenv", "export"];

/// Whether the beginning of a line sets the variable that follows it.
pub(super) fn sets(before: &str) -> bool {
    SETTERS.contains(&before.trim())
}

/// Finds the secret values in the commands and calls of a text.
pub(super) fn values(text: &str) -> Vec<Range<usize>> {
    let mut found = calls(text);
    if FLAGS.iter().any(|flag| text.contains(flag.word)) {
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            found.extend(flags(line).map(|range| start + range.start..start + range.end));
            start += line.len();
        }
    }
    found
}

fn flags(line: &str) -> impl Iterator<Item = Range<usize>> {
    let of_program = FLAGS.iter().filter(|flag| line.contains(flag.word));
    of_program.flat_map(move |flag| {
        line.match_indices(flag.flag).filter_map(move |(at, _)| {
            let at = at + flag.flag.len();
            let rest = line.get(at..)?;
            let start = at + rest.len() - rest.trim_start().len();
            let fits = if start > at { flag.separate } else { flag.attached };
            let range = word(line, start)?;
            let port = range.len() <= 5 && line.get(range.clone())?.bytes().all(|byte| byte.is_ascii_digit());
            (fits && !port).then_some(range)
        })
    })
}

/// The word at a position, without its quotes.
fn word(line: &str, at: usize) -> Option<Range<usize>> {
    let rest = line.get(at..)?;
    let (start, end) = match rest.chars().next()? {
        quote @ ('"' | '\'') => (at + 1, rest.get(1..)?.find(quote)?),
        _ => (at, rest.find(char::is_whitespace).unwrap_or(rest.len())),
    };
    (end > 0).then_some(start..start + end)
}

/// The second arguments of calls whose first argument is a secret name.
fn calls(text: &str) -> Vec<Range<usize>> {
    let call = |(comma, _): (usize, &str)| {
        let first = text.get(..comma)?.trim_end();
        let quote = first.chars().next_back().filter(|c| matches!(c, '"' | '\''))?;
        let first = first.get(..first.len() - 1)?;
        let (before, name) = first.rsplit_once(quote)?;
        let named = before.trim_end().ends_with('(') && names::is_secret_in_text(name);
        let rest = text.get(comma + 1..)?;
        let start = comma + 1 + rest.len() - rest.trim_start().len();
        let quoted = text.get(start..)?.starts_with(['"', '\'']);
        (named && quoted).then(|| word(text, start)).flatten()
    };
    text.match_indices(',').filter_map(call).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("sshpass -p 'a b' ssh x", &["a b"])]
    #[case("sshpass -pabcd ssh -p 22 x", &["abcd"])]
    #[case("docker login -u joe -p abcdef r.example.com", &["abcdef"])]
    #[case("mysql -u root -pabc db", &["abc"])]
    #[case("mysql -p db", &[])]
    #[case("docker run -p 8080:80 x", &[])]
    #[case("redis-cli -a abc ping", &["abc"])]
    #[case("define('DB_PASSWORD', 'abc');", &["abc"])]
    #[case("setenv(\"API_TOKEN\",\"abc\", 1)", &["abc"])]
    #[case("f('name', 'abc'); [\"token\", \"abc\"]", &[])]
    fn values_are_found(#[case] text: &str, #[case] expected: &[&str]) {
        let found: Vec<&str> = values(text).into_iter().filter_map(|range| text.get(range)).collect();
        assert_eq!(found, expected);
    }
}
