//! The rule by name: which names of headers, parameters, keys, variables and flags have secret values.
//!
//! One rule for all of them. Case and the marks between words do not matter: `X-Auth-Token`, `auth_token` and
//! `authToken` are one name. What is deliberately kept: values of names that say where a secret is or how it is used
//! (`secretName`, `tokenExpirationSeconds`, `password_file`), booleans and counts.

/// Words that make a name secret anywhere in it.
const WORDS: [&str; 10] = [
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "credential",
    "apikey",
    "accesskey",
    "sessionid",
    "jwt",
];

/// Whole names that are secret.
const WHOLE: [&str; 15] = [
    "authorization",
    "proxyauthorization",
    "cookie",
    "setcookie",
    "auth",
    "pwd",
    "pass",
    "sig",
    "signature",
    "code",
    "sshkey",
    "clientkey",
    "dockercfg",
    "dockerconfigjson",
    "identityfile",
];

/// Ends of names that are secret.
const ENDS: [&str; 7] = [
    "signature",
    "keydata",
    "sshkey",
    "signingkey",
    "encryptionkey",
    "masterkey",
    "secretkey",
];

/// Ends of names that speak of a secret and do not hold it.
const KEPT: [&str; 32] = [
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
    "selector",
];

/// Names that are too short or too common to be secret in running text.
const NOT_IN_TEXT: [&str; 4] = ["code", "sig", "auth", "signature"];

/// Class of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NameClass {
    /// Nothing.
    Plain,
    /// It is secret.
    Secret,
    /// It is secret if it is a text; an object refers to a secret (`secret: {secretName: …}`).
    Reference,
}

/// The class of a name.
pub(super) fn class(name: &str) -> NameClass {
    if name.len() < 3 || matches!(name, "PWD" | "OLDPWD") {
        return NameClass::Plain;
    }
    let plain = normal(name);
    if !is_secret(name, &plain) {
        return NameClass::Plain;
    }
    if ["secret", "secrets", "token"].iter().any(|end| plain.ends_with(end)) {
        return NameClass::Reference;
    }
    NameClass::Secret
}

/// Whether a name has secret values in running text, such as `name=value` in a line of a log.
pub(super) fn is_secret_in_text(name: &str) -> bool {
    class(name) != NameClass::Plain && !NOT_IN_TEXT.contains(&normal(name).as_str())
}

/// Whether a value can be no secret: a boolean, nothing, or the count of a plural.
pub(super) fn is_trivial(plural: bool, value: &str) -> bool {
    let count = || plural && value.len() <= 6 && value.bytes().all(|byte| byte.is_ascii_digit());
    let words = ["", "true", "false", "null", "none", "nil", "yes", "no", "-"];
    words.iter().any(|word| value.eq_ignore_ascii_case(word)) || count()
}

fn normal(name: &str) -> String {
    name.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

fn is_secret(name: &str, plain: &str) -> bool {
    let private_key = || {
        plain
            .find("private")
            .is_some_and(|at| plain.get(at..).is_some_and(|rest| rest.contains("key")))
    };
    let worded = WORDS.iter().any(|word| plain.contains(word)) || private_key();
    if worded {
        return !KEPT.iter().any(|end| plain.ends_with(end));
    }
    WHOLE.contains(&plain) || ENDS.iter().any(|end| plain.ends_with(end)) || has_last_word(name, plain)
}

/// Whether the last word of several is `pass`, `pwd` or `sig`.
fn has_last_word(name: &str, plain: &str) -> bool {
    ["pass", "pwd", "sig"].iter().any(|word| {
        let Some(at) = name.len().checked_sub(word.len()).filter(|at| *at > 0) else {
            return false;
        };
        let before = name.as_bytes().get(at - 1).copied().unwrap_or_default();
        let capital = name.as_bytes().get(at).is_some_and(u8::is_ascii_uppercase);
        plain.ends_with(word) && (!before.is_ascii_alphanumeric() || (capital && before.is_ascii_lowercase()))
    })
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
    #[case("PWD", false)]
    #[case("key", false)]
    #[case("kind", false)]
    fn a_name_has_secret_values(#[case] name: &str, #[case] secret: bool) {
        assert_eq!(class(name) != NameClass::Plain, secret);
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
