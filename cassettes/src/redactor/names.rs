//! Rules by name: which names of headers, parameters, keys, variables and flags have secret values.
//!
//! The same rules apply to all of them. Case and separators are ignored: `X-Auth-Token`, `auth_token` and `authToken`
//! are the same name. Kept deliberately: values of names that describe the location or use of a secret (`secretName`,
//! `tokenExpirationSeconds`, `password_file`), booleans and counts.

use super::words::automaton;
use aho_corasick::AhoCorasick;
use std::sync::LazyLock;

/// Words that make a name secret wherever they occur in it.
const WORDS: [&str; 14] = [
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "credential",
    "apikey",
    "accesskey",
    "authkey",
    "accountkey",
    "sessionid",
    "sessid",
    "jwt",
];

static WORD: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| automaton(&WORDS));

/// Parts required by the other rules: a name without any of these and of [`WORDS`] is not secret.
const PARTS: [&str; 13] = [
    "private",
    "key",
    "auth",
    "pass",
    "pwd",
    "pw",
    "sig",
    "code",
    "bearer",
    "cookie",
    "docker",
    "fromliteral",
    "identityfile",
];

static PART: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| automaton(&[&WORDS[..], &PARTS].concat()));

/// Whole names that are secret.
const WHOLE: [&str; 16] = [
    "auth",
    "pwd",
    "pass",
    "sig",
    "code",
    "bearer",
    "sshkey",
    "clientkey",
    "dockercfg",
    "dockerconfigjson",
    "identityfile",
    "authcode",
    "authorizationcode",
    "devicecode",
    "verificationcode",
    "fromliteral",
];

/// Suffixes of secret names.
const ENDS: [&str; 13] = [
    "authorization",
    "cookie",
    "cookies",
    "signature",
    "keydata",
    "sshkey",
    "signingkey",
    "encryptionkey",
    "masterkey",
    "sharedkey",
    "requirepass",
    "masterauth",
    "registryauth",
];

/// Last words of secret names of several words.
const LAST_WORDS: [&str; 5] = ["pass", "pwd", "pw", "sig", "auth"];

/// Last words of names that describe a secret but do not contain it.
const KEPT: [&str; 33] = [
    "name",
    "names",
    "namespace",
    "ref",
    "refs",
    "path",
    "paths",
    "file",
    "files",
    "dir",
    "url",
    "uri",
    "endpoint",
    "kind",
    "type",
    "seconds",
    "expiry",
    "expiration",
    "ttl",
    "length",
    "size",
    "count",
    "limit",
    "policy",
    "mode",
    "enabled",
    "required",
    "version",
    "audience",
    "audiences",
    "review",
    "reviews",
    "selector",
];

/// Names that are too short or too common to be secret in plain text.
const NOT_IN_TEXT: [&str; 4] = ["code", "sig", "auth", "signature"];

/// Class of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NameClass {
    /// Not secret.
    Plain,
    /// Secret.
    Secret,
    /// Secret if the value is a text. An object is a reference to a secret (`secret: {secretName: …}`).
    Reference,
}

/// Classifies a name.
pub(super) fn class(name: &str) -> NameClass {
    if name.len() < 3 {
        return NameClass::Plain;
    }
    let plain = normal(name);
    if !is_secret(name, &plain) {
        return NameClass::Plain;
    }
    if plain.ends_with("secret") || plain.ends_with("secrets") || plain == "serviceaccounttoken" {
        return NameClass::Reference;
    }
    NameClass::Secret
}

/// Whether a name has secret values in plain text, such as `name=value` in a log line.
pub(super) fn is_secret_in_text(name: &str) -> bool {
    class(name) != NameClass::Plain && !NOT_IN_TEXT.contains(&normal(name).as_str())
}

/// Whether a value cannot be secret: a boolean, empty, or a count for a plural name.
pub(super) fn is_trivial(plural: bool, value: &str) -> bool {
    let count = || plural && value.len() <= 6 && value.bytes().all(|byte| byte.is_ascii_digit());
    let words = ["", "true", "false", "null", "none", "nil", "yes", "no", "-"];
    words.iter().any(|word| value.eq_ignore_ascii_case(word)) || count()
}

fn normal(name: &str) -> String {
    if name.is_ascii() {
        let mut plain = String::with_capacity(name.len());
        plain.extend(
            name.chars()
                .filter(char::is_ascii_alphanumeric)
                .map(|c| c.to_ascii_lowercase()),
        );
        return plain;
    }
    name.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

fn is_secret(name: &str, plain: &str) -> bool {
    if PART.as_ref().is_some_and(|parts| !parts.is_match(plain)) {
        return false;
    }
    let private_key = || {
        plain
            .find("private")
            .is_some_and(|at| plain.get(at..).is_some_and(|rest| rest.contains("key")))
    };
    let last = last_word(name);
    let has_word = WORD.as_ref().is_none_or(|words| words.is_match(plain));
    if has_word || private_key() {
        return !is_kept(plain, &last.to_ascii_lowercase());
    }
    let several = last.len() < plain.len();
    WHOLE.contains(&plain)
        || ENDS.iter().any(|end| plain.ends_with(end))
        || (several && LAST_WORDS.iter().any(|word| last.eq_ignore_ascii_case(word)))
}

/// Whether a name with the word of a secret only describes one, by its last word or, in a lowercase name, by the rest
/// after the word.
fn is_kept(plain: &str, last: &str) -> bool {
    let joined = |end: &&str| {
        let before = plain.strip_suffix(*end).unwrap_or_default();
        let before = before.strip_suffix('s').unwrap_or(before);
        WORDS.iter().any(|word| before.ends_with(word))
    };
    KEPT.contains(&last) || KEPT.iter().any(joined)
}

/// The last word of a name, after a separator or from a capital letter.
fn last_word(name: &str) -> &str {
    let bytes = name.as_bytes();
    let starts = |at: &usize| match (at.checked_sub(1).and_then(|at| bytes.get(at)), bytes.get(*at)) {
        (Some(before), _) if !before.is_ascii_alphanumeric() => true,
        (Some(before), Some(first)) => first.is_ascii_uppercase() && !before.is_ascii_uppercase(),
        _ => false,
    };
    let start = (1..bytes.len()).rev().find(starts).unwrap_or_default();
    name.get(start..).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("Authorization", true)]
    #[case("X-Auth-Token", true)]
    #[case("DB_PASSWORD_FILE", false)]
    #[case("DB_PASSWORD", true)]
    #[case("dbPass", true)]
    #[case("smtp_pass", true)]
    #[case("compass", false)]
    #[case("bypass", false)]
    #[case("secretName", false)]
    #[case("AWS_SECRET_ACCESS_KEY", true)]
    #[case("aws-access-key-id", true)]
    #[case("privateRsaKey", true)]
    #[case("client-key-data", true)]
    #[case("certificate-authority-data", false)]
    #[case("jwt", true)]
    #[case("JSESSIONID", true)]
    #[case("sessionAffinity", false)]
    #[case("X-Amz-Signature", true)]
    #[case("pwd", true)]
    #[case("PWD", true)]
    #[case("TOKEN_PROFILE", true)]
    #[case("tokenfile", false)]
    #[case("X-Registry-Auth", true)]
    #[case("X-Original-Authorization", true)]
    #[case("basicAuth", true)]
    #[case("PHPSESSID", true)]
    #[case("oauth", false)]
    #[case("exitCode", false)]
    #[case("tokenURL", false)]
    #[case("DB_PW", true)]
    #[case("key", false)]
    #[case("kind", false)]
    fn a_name_has_secret_values(#[case] name: &str, #[case] secret: bool) {
        assert_eq!(class(name) != NameClass::Plain, secret);
    }

    #[test]
    fn every_rule_needs_a_part() {
        let rules = WHOLE.iter().chain(&ENDS).chain(&LAST_WORDS);
        for rule in rules {
            assert!(PARTS.iter().chain(&WORDS).any(|part| rule.contains(part)), "{rule}");
        }
    }

    #[rstest]
    #[case(true, "10", true)]
    #[case(false, "10", false)]
    #[case(true, "1234567", false)]
    #[case(false, "False", true)]
    fn counts_and_booleans_are_kept(#[case] plural: bool, #[case] value: &str, #[case] trivial: bool) {
        assert_eq!(is_trivial(plural, value), trivial);
    }
}
