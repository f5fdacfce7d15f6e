//! Values in plain text after secret names: `PASSWORD=x`, `token: x`, `--password x`, `<password>x</password>`,
//! `?sig=x`, and blocks of lines under a name.
//!
//! Source: the syntax of YAML, .env, properties, INI and TOML files, of command lines, URLs and XML elements.

use super::commands;
use super::markup;
use super::names::{self, NameClass};
use crate::interaction::is_placeholder;
use std::ops::Range;

/// Flags whose value is `user:password`.
const USER_FLAGS: [&str; 3] = ["-u", "--user", "--proxy-user"];

/// Quotes of values, multi-line ones first.
const QUOTES: [&str; 6] = ["\"\"\"", "'''", "\\\"", "\"", "'", "`"];

/// Finds the values after secret names, in order.
pub(super) fn values(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let bytes = text.as_bytes();
    for at in memchr::memchr3_iter(b'=', b':', b' ', bytes) {
        if found.last().is_some_and(|last| at < last.end) {
            continue;
        }
        let value = match bytes.get(at) {
            Some(b' ') => after_space(text, at),
            _ => after_name(text, at),
        };
        found.extend(value.filter(|range| {
            let value = text.get(range.clone()).unwrap_or_default();
            let reference = value.starts_with("${") || value.starts_with("$(") || value.starts_with("{{");
            !(names::is_trivial(false, value) || is_placeholder(value) || reference)
        }));
    }
    found.extend(markup::values(text));
    found.extend(commands::values(text));
    found.sort_by_key(|range| range.start);
    found
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_.-".contains(&byte)
}

/// Start of the name that ends at a position.
fn name_start(bytes: &[u8], end: usize) -> usize {
    let head = bytes.get(..end).unwrap_or_default();
    head.iter().rposition(|byte| !is_name(*byte)).map_or(0, |at| at + 1)
}

/// The part of a line before a position.
fn line_before(text: &str, at: usize) -> Option<&str> {
    text.get(..at)?.rsplit('\n').next()
}

/// Whether a name is the first word of its line, or follows a word that sets a variable, or `login USER` as in a
/// .netrc.
fn leads(text: &str, start: usize) -> bool {
    let before = text.get(..start).unwrap_or_default().trim_end_matches([' ', '\t']);
    let login = before.rsplit_once(' ').is_some_and(|(head, _)| head.ends_with("login"));
    let line = before.rsplit('\n').next().unwrap_or_default();
    line.is_empty() || login || commands::sets(line)
}

/// The value after a space: of a flag (`--token x`), quoted (`password 'x'`), or at the end of a line of a
/// configuration (`requirepass x`).
fn after_space(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let start = name_start(bytes, at);
    let name = text.get(start..at)?;
    let beside = bytes.get(at + 1).copied()?;
    let word = |byte: u8| byte.is_ascii_whitespace();
    if let Some(plain) = name.strip_prefix("--").or_else(|| name.strip_prefix('-')) {
        if USER_FLAGS.contains(&name) {
            let pair = value_at(text, at + 1, &word)?;
            let colon = text.get(pair.clone())?.find(':')?;
            return (pair.start + colon + 1 < pair.end).then_some(pair.start + colon + 1..pair.end);
        }
        let secret = names::is_secret_in_text(plain) && beside != b'-';
        return secret.then(|| value_at(text, at + 1, &word)).flatten();
    }
    let quoted = matches!(beside, b'"' | b'\'' | b'`');
    if !(quoted || leads(text, start)) || !names::is_secret_in_text(name) {
        return None;
    }
    if quoted {
        // In `secrets "x" not found` the value is the name of an object.
        return (names::class(name) == NameClass::Secret)
            .then(|| value_at(text, at + 1, &word))
            .flatten();
    }
    let range = value_at(text, at + 1, &word)?;
    let value = text.get(range.clone())?;
    let rest = text.get(range.end..)?.lines().next().unwrap_or_default();
    let mixed = |value: &str| {
        let upper = value.bytes().skip(1).any(|byte| byte.is_ascii_uppercase());
        upper && value.bytes().any(|byte| byte.is_ascii_lowercase())
    };
    let no_word = value.bytes().any(|byte| !byte.is_ascii_alphabetic()) || mixed(value);
    let odd = (no_word && !value.ends_with([':', '.', ','])) || commands::sets(line_before(text, start)?);
    (value.len() >= 8 && odd && rest.trim().is_empty()).then_some(range)
}

/// The value after `name=` or `name:` at a position.
fn after_name(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let colon = bytes.get(at) == Some(&b':');
    let beside = bytes.get(at + 1).copied().unwrap_or(b'\n');
    let mut end = at;
    let is_operator = |byte: Option<&u8>| {
        matches!(byte, Some(b' ' | b'\t')) || (!colon && matches!(byte, Some(b':' | b'+' | b'?' | b'=')))
    };
    while end > 0 && is_operator(bytes.get(end - 1)) {
        end -= 1;
    }
    while end > 0 && matches!(bytes.get(end - 1), Some(b'"' | b'\'' | b'\\' | b']' | b')')) {
        end -= 1;
    }
    let start = name_start(bytes, end);
    let whole = text.get(start..end)?;
    let name = match colon {
        true => whole.rsplit('.').next()?,
        false => whole,
    };
    if beside == b'=' || names::class(name) == NameClass::Plain {
        return None;
    }
    let before = text.get(..start)?;
    let rest = text.get(at + 1..)?;
    if colon && (beside == b':' || rest.starts_with("//") || before.ends_with('/')) {
        return None;
    }
    let line = line_before(text, start)?.trim();
    let leads = matches!(line, "" | "export" | "set" | "-" | "\"" | "'" | "$");
    let query = before.ends_with(['?', '&']) || before.ends_with("&amp;");
    if !(query || (leads && !colon) || names::is_secret_in_text(name)) {
        return None;
    }
    let spaced = colon || end < at || beside == b' ';
    let mut value = at + 1;
    while matches!(bytes.get(value), Some(b' ' | b'\t' | b'>')) {
        value += 1;
    }
    if let Some(comment) = text.get(value..)?.strip_prefix("/*").and_then(|rest| rest.find("*/")) {
        value += comment + 4;
        value += text.get(value..)?.len() - text.get(value..)?.trim_start().len();
    }
    value += scheme(name, text.get(value..)?);
    let range = match () {
        () if query => value_at(text, value, &|byte| {
            byte.is_ascii_whitespace() || b"&#\"'<>\\`".contains(&byte)
        }),
        () if leads && spaced => value_at(text, value, &|byte| byte == b'\n' || byte == b'\r')
            .map(|range| range.start..continued(text, range.end)),
        () if leads => value_at(text, value, &|byte| byte == b'\n' || byte == b'\r').map(|range| {
            let end = range.start + words(text.get(range.clone()).unwrap_or_default());
            range.start..if end == range.end { continued(text, end) } else { end }
        }),
        () if whole.starts_with('-') => value_at(text, value, &|byte| byte.is_ascii_whitespace()),
        () => value_at(text, value, &|byte| {
            byte.is_ascii_whitespace() || b",;&}\"'<".contains(&byte)
        }),
    }?;
    let number = range.len() <= 5 && text.get(range.clone())?.bytes().all(|byte| byte.is_ascii_digit());
    let port = colon && beside.is_ascii_digit();
    (!(number && (port || !names::is_secret_in_text(name)))).then_some(range)
}

/// Length of the scheme in `Authorization: Bearer x`, which is kept.
fn scheme(name: &str, value: &str) -> usize {
    let Some((scheme, secret)) = value.split_once(' ') else {
        return 0;
    };
    let known = ["bearer", "basic"]
        .iter()
        .any(|known| scheme.eq_ignore_ascii_case(known));
    let word = scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let follows = secret.starts_with(|c: char| c.is_ascii_alphanumeric());
    let any = name.to_ascii_lowercase().ends_with("authorization") && word && follows;
    if known || any { scheme.len() + 1 } else { 0 }
}

/// Length of an unquoted value: up to the next flag or `name=`.
fn words(value: &str) -> usize {
    let ends = |at: &usize| {
        let rest = value.get(*at..).unwrap_or_default().trim_start();
        let word = rest.split_whitespace().next().unwrap_or_default();
        let named = word
            .split_once('=')
            .is_some_and(|(name, _)| !name.is_empty() && name.bytes().all(is_name));
        rest.starts_with('-') || named
    };
    let gaps = value.match_indices([' ', '\t']).map(|(at, _)| at);
    let length = gaps.into_iter().find(ends).unwrap_or(value.len());
    value.get(..length).unwrap_or_default().trim_end().len()
}

/// End of a value whose line may continue on the next one.
fn continued(text: &str, end: usize) -> usize {
    let mut end = end;
    while text.get(..end).is_some_and(|head| head.ends_with('\\')) {
        let Some(next) = text
            .get(end..)
            .and_then(|rest| rest.strip_prefix('\n').or(rest.strip_prefix("\r\n")))
        else {
            break;
        };
        let start = text.len() - next.len();
        end = start + next.find(['\n', '\r']).unwrap_or(next.len());
    }
    end
}

/// The value at a position: within its quotes, or up to its end.
fn value_at(text: &str, at: usize, ends: &dyn Fn(u8) -> bool) -> Option<Range<usize>> {
    let rest = text.get(at..)?;
    for quote in QUOTES {
        if let Some(within) = rest.strip_prefix(quote) {
            let start = at + quote.len();
            let end = closing(within, quote).unwrap_or_else(|| within.find('\n').unwrap_or(within.len()));
            return (end > 0).then_some(start..start + end);
        }
    }
    let length = rest.bytes().position(ends).unwrap_or(rest.len());
    let length = rest.get(..length)?.trim_end().len();
    (length > 0).then_some(at..at + length)
}

/// Position of the closing quote that is not escaped by a backslash.
fn closing(within: &str, quote: &str) -> Option<usize> {
    let escaped = |at: usize| {
        let head = within.get(..at).unwrap_or_default();
        quote != "'" && head.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
    };
    within.match_indices(quote).map(|(at, _)| at).find(|at| !escaped(*at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("PASSWORD=hunter2 next", &["hunter2 next"])]
    #[case("PASSWORD=a b USER=c", &["a b"])]
    #[case("TOKEN=abc ./run --now", &["abc ./run"])]
    #[case("export DB_PASS='a b;c'", &["a b;c"])]
    #[case("db.password = my long one \nother", &["my long one"])]
    #[case("db.password=one\\\n  two\nother", &["one\\\n  two"])]
    #[case("run --token abc --password=d;e -v", &["abc", "d;e"])]
    #[case("run --token --v", &[])]
    #[case("curl -u joe:s3cret http://x", &["s3cret"])]
    #[case("{\\\"token\\\": \\\"abc\\\"}", &["abc"])]
    #[case("say \"password\": \"a\\\"b\" now", &["a\\\"b"])]
    #[case("level=info secret_key=abc,x=y", &["abc"])]
    #[case("curl -H 'Authorization: Bearer abc' x", &["abc"])]
    #[case("see https://x/y?sv=1&sig=abc&code=de#f", &["abc", "de"])]
    #[case("$config['password'] = 'abc';", &["abc"])]
    #[case("password := \"abc\"", &["abc"])]
    #[case("{password => 'abc'}", &["abc"])]
    #[case("password = \"\"\"a\nb\"\"\"", &["a\nb"])]
    #[case("<db><password kind=\"x\">abc</password></db>", &["abc"])]
    #[case("ENV API_TOKEN s3cret-1", &["s3cret-1"])]
    #[case("ENV API_TOKEN lettersonly", &["lettersonly"])]
    #[case("requirepass lettersOnly", &["lettersOnly"])]
    #[case("x\nset -x API_TOKEN s3cret-1\n", &["s3cret-1"])]
    #[case("{\"password\" : /* why */ \"abc\"}", &["abc"])]
    #[case("curl -H 'Authorization: token abc' x", &["abc"])]
    #[case("sshpass -p abc ssh", &["abc"])]
    #[case("machine h login joe password s3cret-1", &["s3cret-1"])]
    #[case("requirepass s3cret-1\n", &["s3cret-1"])]
    #[case("auth = abc", &["abc"])]
    #[case("Password reset requested", &[])]
    #[case("secrets \"default-token\" not found", &[])]
    #[case("spec.volumes[0].secret.secretName: Required value", &[])]
    #[case("dial tcp secrets.example.com:443: refused", &[])]
    #[case("quay.io/token-service:v1", &[])]
    #[case("rpc error: code = Unknown", &[])]
    #[case("code=137", &[])]
    #[case("PASSWORD=${OTHER}", &[])]
    #[case("password: true", &[])]
    fn values_are_found_by_their_names(#[case] text: &str, #[case] expected: &[&str]) {
        let found: Vec<&str> = values(text).into_iter().filter_map(|range| text.get(range)).collect();
        assert_eq!(found, expected);
    }
}
