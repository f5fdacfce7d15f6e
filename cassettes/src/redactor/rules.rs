//! What is secret.

use super::known::Known;
use crate::interaction::is_placeholder;
use aho_corasick::{AhoCorasick, packed};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use regex::{Captures, Regex};
use std::borrow::Cow;
use std::sync::LazyLock;

/// A rule cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RulesError {
    /// A pattern is no regular expression.
    #[error("the pattern {pattern:?}: {source}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        source: Box<regex::Error>,
    },
}

/// What is secret: by header, query parameter, JSON path, key, pattern, and by being it.
#[derive(Clone, Debug)]
pub struct Rules {
    headers: Vec<String>,
    query: Vec<String>,
    pub(super) paths: Vec<Vec<String>>,
    patterns: Vec<Regex>,
    pub(super) literals: Vec<String>,
    pub(super) defaults: bool,
}

const HEADERS: [&str; 8] = [
    "authorization",
    "proxy-authorization",
    "cookie",
    "set-cookie",
    "x-auth-token",
    "x-api-key",
    "x-amz-security-token",
    "x-remote-user-secret",
];

/// Keys, parameters and names of variables whose values are secret, without the marks between their words.
const KEYS: [&str; 22] = [
    "token",
    "accesstoken",
    "refreshtoken",
    "idtoken",
    "identitytoken",
    "bearertoken",
    "authtoken",
    "authorization",
    "password",
    "passwd",
    "passphrase",
    "secret",
    "clientsecret",
    "secretkey",
    "secretaccesskey",
    "apikey",
    "privatekey",
    "clientkey",
    "clientkeydata",
    "sshkey",
    "dockercfg",
    "dockerconfigjson",
];

/// The ends of such names.
const ENDS: [&str; 5] = ["password", "token", "secret", "apikey", "privatekey"];

/// Patterns of which the first group, or else the whole, is secret.
const PATTERNS: [&str; 6] = [
    r"eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]+",
    r"(?i)\b(?:bearer|basic)[ +]+([A-Za-z0-9._~+/-]{8,}=*)",
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----",
    r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    r#"://[^/\s:@"']+:([^@\s/"']+)@"#,
    r"base64url\.bearer\.authorization\.k8s\.io\.([A-Za-z0-9_-]+)",
];

static DEFAULTS: LazyLock<Vec<Regex>> =
    LazyLock::new(|| PATTERNS.iter().filter_map(|pattern| Regex::new(pattern).ok()).collect());

/// What some default rule finds a secret by, in the spellings that are in use; without any of them in a text no default
/// rule can find anything in it. Cheap to look for, which is done in every byte that passes.
static HINTS: LazyLock<Hints> = LazyLock::new(|| {
    let words = [
        "secret",
        "token",
        "passw",
        "passphrase",
        "key",
        "dockerc",
        "authorization",
        "bearer",
        "basic",
    ];
    let titled = |word: &str| {
        word.chars()
            .take(1)
            .map(|c| c.to_ascii_uppercase())
            .chain(word.chars().skip(1))
            .collect()
    };
    let spelled = words
        .iter()
        .flat_map(|word| [word.to_string(), titled(word), word.to_ascii_uppercase()]);
    let marks = ["eyJ", "-----BEGIN", "AKIA", "ASIA", "://"].map(str::to_owned);
    let all: Vec<String> = spelled.chain(marks).collect();
    Hints {
        packed: packed::Searcher::new(&all),
        any: AhoCorasick::new(&all).ok(),
    }
});

/// Finds many words at once, with vector instructions where the machine has them.
struct Hints {
    packed: Option<packed::Searcher>,
    any: Option<AhoCorasick>,
}

impl Hints {
    fn any_in(&self, text: &[u8]) -> bool {
        match (&self.packed, &self.any) {
            (Some(packed), _) => packed.find(text).is_some(),
            (None, Some(any)) => any.is_match(text),
            (None, None) => true,
        }
    }
}

impl Default for Rules {
    /// Credentials in headers, queries and bodies, and the data of Secrets.
    fn default() -> Self {
        Self {
            headers: HEADERS.iter().map(|name| name.to_string()).collect(),
            query: Vec::new(),
            paths: Vec::new(),
            patterns: Vec::new(),
            literals: Vec::new(),
            defaults: true,
        }
    }
}

impl Rules {
    /// Nothing is secret.
    pub fn none() -> Self {
        Self {
            headers: Vec::new(),
            query: Vec::new(),
            paths: Vec::new(),
            patterns: Vec::new(),
            literals: Vec::new(),
            defaults: false,
        }
    }

    /// The values of this header are secret too.
    pub fn header_named(mut self, name: &str) -> Self {
        self.headers.push(name.to_ascii_lowercase());
        self
    }

    /// The values of this query parameter are secret too.
    pub fn query_named(mut self, name: &str) -> Self {
        self.query.push(name.to_owned());
        self
    }

    /// The values at this path of JSON or YAML bodies are secret too: keys and numbers between dots, `*` for any one,
    /// `**` for any number of them, such as `spec.**.apiToken`.
    pub fn path(mut self, path: &str) -> Self {
        self.paths.push(path.split('.').map(str::to_owned).collect());
        self
    }

    /// What this pattern matches, or its first group, is secret too.
    ///
    /// # Errors
    /// If it is no regular expression.
    pub fn pattern(mut self, pattern: &str) -> Result<Self, RulesError> {
        let wrong = |source| RulesError::Pattern {
            pattern: pattern.to_owned(),
            source: Box::new(source),
        };
        self.patterns.push(Regex::new(pattern).map_err(wrong)?);
        Ok(self)
    }

    /// This very text is secret.
    pub fn literal(mut self, secret: &str) -> Self {
        if !secret.is_empty() {
            self.literals.push(secret.to_owned());
        }
        self
    }

    /// Whether nothing is secret.
    pub fn is_none(&self) -> bool {
        let own = [
            self.headers.is_empty(),
            self.query.is_empty(),
            self.paths.is_empty(),
            self.patterns.is_empty(),
        ];
        !self.defaults && self.literals.is_empty() && own.into_iter().all(|empty| empty)
    }

    pub(super) fn describe(&self) -> Vec<String> {
        let mut out = Vec::new();
        if self.defaults {
            out.push("credentials".to_owned());
            out.push("data of Secrets".to_owned());
        }
        let own = self
            .headers
            .iter()
            .filter(|name| !(self.defaults && HEADERS.contains(&name.as_str())));
        out.extend(own.map(|name| format!("header {name}")));
        out.extend(self.query.iter().map(|name| format!("query {name}")));
        out.extend(self.paths.iter().map(|path| format!("path {}", path.join("."))));
        out.extend(self.patterns.iter().map(|pattern| format!("pattern {pattern}")));
        if !self.literals.is_empty() {
            out.push(format!("{} given secrets", self.literals.len()));
        }
        out
    }

    /// Whether there are no rules for bodies but the default ones.
    pub(super) fn only_default(&self) -> bool {
        self.defaults && self.paths.is_empty() && self.patterns.is_empty() && self.query.is_empty()
    }

    /// Whether a default rule could find anything in a text.
    pub(super) fn hinted(&self, text: &[u8]) -> bool {
        self.defaults && HINTS.any_in(text)
    }

    /// Whether the value of a key is secret by the key's name.
    pub(super) fn is_secret_key(&self, key: &str) -> bool {
        if !self.defaults {
            return false;
        }
        let plain: String = key
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .map(|c| c.to_ascii_lowercase())
            .collect();
        KEYS.contains(&plain.as_str()) || ENDS.iter().any(|end| plain.ends_with(end))
    }

    pub(super) fn header<'t>(&self, name: &str, value: &'t str, known: &mut Known) -> Cow<'t, str> {
        if value.is_empty() || !self.headers.iter().any(|rule| rule.eq_ignore_ascii_case(name)) {
            return Cow::Borrowed(value);
        }
        let lower = name.to_ascii_lowercase();
        match lower.as_str() {
            "cookie" => Cow::Owned(
                value
                    .split("; ")
                    .map(|pair| cookie(pair, known))
                    .collect::<Vec<_>>()
                    .join("; "),
            ),
            "set-cookie" => {
                let (pair, attributes) = value
                    .split_once(';')
                    .map_or((value, None), |(pair, rest)| (pair, Some(rest)));
                let pair = cookie(pair, known);
                Cow::Owned(attributes.map_or_else(|| pair.clone(), |rest| format!("{pair};{rest}")))
            }
            "authorization" | "proxy-authorization" => Cow::Owned(authorization(value, known)),
            _ => Cow::Owned(known.placeholder(value, true)),
        }
    }

    /// A query or a form: the values of parameters that are secret by rule or name.
    pub(super) fn query(&self, query: &str, known: &mut Known) -> String {
        let pair = |pair: &str| match pair.split_once('=') {
            Some((name, value))
                if !value.is_empty() && (self.query.iter().any(|own| own == name) || self.is_secret_key(name)) =>
            {
                let decoded = url::form_urlencoded::parse(format!("v={value}").as_bytes())
                    .next()
                    .map_or_else(|| value.to_owned(), |(_, decoded)| decoded.into_owned());
                format!("{name}={}", known.placeholder(&decoded, true))
            }
            _ => pair.to_owned(),
        };
        query.split('&').map(pair).collect::<Vec<_>>().join("&")
    }

    /// What patterns find in a text.
    pub(super) fn patterns<'t>(&self, text: Cow<'t, str>, hinted: bool, known: &mut Known) -> Cow<'t, str> {
        let defaults: &[Regex] = if hinted { DEFAULTS.as_slice() } else { &[] };
        let mut out = text;
        for pattern in defaults.iter().chain(&self.patterns) {
            let replaced = pattern.replace_all(&out, |found: &Captures<'_>| replaced(found, known));
            if let Cow::Owned(replaced) = replaced {
                out = Cow::Owned(replaced);
            }
        }
        out
    }
}

fn replaced(found: &Captures<'_>, known: &mut Known) -> String {
    let Some(whole) = found.get(0) else {
        return String::new();
    };
    let secret = found.get(1).unwrap_or(whole);
    let (before, after) = (secret.start() - whole.start(), secret.end() - whole.start());
    let text = whole.as_str();
    let placeholder = match is_placeholder(secret.as_str()) {
        true => secret.as_str().to_owned(),
        false => known.placeholder(secret.as_str(), true),
    };
    format!(
        "{}{placeholder}{}",
        text.get(..before).unwrap_or_default(),
        text.get(after..).unwrap_or_default()
    )
}

fn cookie(pair: &str, known: &mut Known) -> String {
    match pair.split_once('=') {
        Some((name, value)) if !value.is_empty() => {
            format!("{name}={}", known.placeholder(value, true))
        }
        Some(_) => pair.to_owned(),
        None => known.placeholder(pair, true),
    }
}

/// The scheme stays, and a password is known as one beyond the pair that it came in.
fn authorization(value: &str, known: &mut Known) -> String {
    let Some((scheme, secret)) = value.split_once(' ') else {
        return known.placeholder(value, true);
    };
    if scheme.eq_ignore_ascii_case("basic")
        && let Ok(pair) = STANDARD.decode(secret.trim())
        && let Some((_, password)) = String::from_utf8_lossy(&pair).split_once(':')
        && !is_placeholder(secret)
    {
        known.number(password.as_bytes(), true);
    }
    format!("{scheme} {}", known.placeholder(secret, true))
}
