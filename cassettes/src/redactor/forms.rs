//! Redaction by form: JSON web tokens, private keys, keys of well-known services, `Bearer`, user info in URLs.

use super::context::RedactionContext;
use super::structure::Secret;
use super::words::automaton;
use crate::interaction::is_placeholder;
use aho_corasick::AhoCorasick;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use regex::{Captures, Regex, bytes};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

/// Prefix of the WebSocket subprotocol that contains a token.
const BEARER_PROTOCOL: &str = "base64url.bearer.authorization.k8s.io.";

/// Base64 of `-----BEGIN`.
const PEM: &str = "LS0tLS1CRUdJTi";

/// Forms of secrets. The first group, or the whole match if there is none, is secret.
const FORMS: [&str; 11] = [
    r"eyJ[A-Za-z0-9_-]{5,}(?:\.[A-Za-z0-9_-]*){2,4}",
    r"(?i)\b(?:bearer|basic)[ +]+([A-Za-z0-9._~+/-]{8,}=*)",
    r"-{4,5} ?BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)? ?-{4,5}[\s\S]*?(?:-{4,5} ?END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)? ?-{4,5}|$)",
    r"(?:^|[^A-Za-z0-9])((?:AKIA|ASIA)[A-Z0-9]{16})(?:$|[^A-Za-z0-9])",
    r"gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|glpat-[A-Za-z0-9_-]{16,}|npm_[A-Za-z0-9]{30,}",
    r"xox[a-z]-[A-Za-z0-9-]{8,}|xapp-[A-Za-z0-9-]{16,}",
    r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|AIza[A-Za-z0-9_-]{35}|hvs\.[A-Za-z0-9_-]{20,}|dop_v1_[a-f0-9]{32,}",
    r#"://[^/\s:@"'<>]*:([^\s/"'<>]+)@"#,
    r#"://([A-Za-z0-9_.~%+-]{16,})(?::[^\s/"'<>@]*)?@"#,
    r"base64url\.bearer\.authorization\.k8s\.io\.([A-Za-z0-9_-]+)",
    r"LS0tLS1CRUdJTi[A-Za-z0-9+/]{20,}(?:(?:\\?[rn]|\s)+[A-Za-z0-9+/]{16,})*=*",
];

/// User info of a URL without its end. Ports are digits, and addresses of IPv6 are in brackets.
const OPEN_USER_INFO: &str = r#"://[^/\s:@"'<>\[]*:([^\s/@"'<>]*[^\s/@"'<>0-9][^\s/@"'<>]*)$"#;

/// Every form contains at least one of these.
pub(super) const MARKS: [&str; 23] = [
    "eyj",
    "bearer",
    "basic",
    "private key",
    "akia",
    "asia",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "npm_",
    "xox",
    "xapp-",
    "k_live_",
    "k_test_",
    "aiza",
    "://",
    "ls0tls1",
    "hvs.",
    "dop_v1_",
];

static MARKED: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| automaton(&MARKS));

static COMPILED: LazyLock<Vec<Regex>> =
    LazyLock::new(|| FORMS.iter().filter_map(|form| Regex::new(form).ok()).collect());

static OPEN: LazyLock<Option<bytes::Regex>> = LazyLock::new(|| bytes::Regex::new(OPEN_USER_INFO).ok());

/// Whether a text may contain a form.
pub(super) fn is_marked(text: &[u8]) -> bool {
    MARKED.as_ref().is_none_or(|marks| marks.is_match(text))
}

/// Start of the password at the end of a text that may be cut within the user info of a URL.
pub(super) fn open_user_info(bytes: &[u8]) -> Option<usize> {
    let found = OPEN.as_ref()?.captures(bytes)?;
    Some(found.get(1)?.start())
}

/// Redacts forms and known secrets in a text. Returns none if there are none.
pub(super) fn redact(text: &str, context: &mut RedactionContext<'_>) -> Option<String> {
    let mut out = Cow::Borrowed(text);
    if context.rules.defaults && is_marked(text.as_bytes()) {
        replace(&mut out, &COMPILED, context);
    }
    let patterns = &context.rules.clone().patterns;
    replace(&mut out, patterns, context);
    if let Some(text) = context.secrets.text(&out) {
        out = Cow::Owned(text);
    }
    match out {
        Cow::Borrowed(_) => None,
        Cow::Owned(out) => Some(out),
    }
}

/// Start of an incomplete private key, or incomplete base64 of PEM, at the end of a text.
pub(super) fn unfinished(bytes: &[u8]) -> Option<usize> {
    let is_open = |at: &usize| {
        let rest = bytes.get(*at..).unwrap_or_default();
        let end = memchr::memmem::find(rest, b"--END ")
            .or_else(|| memchr::memmem::find(rest, b"-- END "))
            .and_then(|end| rest.get(end..));
        end.is_none_or(|end| !end.contains(&b'\n'))
    };
    let begun = [&b"-----BEGIN "[..], b"---- BEGIN "];
    let found = begun
        .iter()
        .filter_map(|begun| memchr::memmem::rfind(bytes, begun).filter(is_open))
        .min();
    let is_base64 = |at: &usize| {
        let rest = bytes.get(*at..).unwrap_or_default();
        rest.iter()
            .all(|byte| byte.is_ascii_alphanumeric() || byte.is_ascii_whitespace() || b"+/".contains(byte))
    };
    let encoded = || memchr::memmem::rfind(bytes, PEM.as_bytes()).filter(is_base64);
    found.or_else(encoded)
}

fn replace(text: &mut Cow<'_, str>, forms: &[Regex], context: &mut RedactionContext<'_>) {
    for form in forms {
        let replaced = form.replace_all(text, |found: &Captures<'_>| replaced(found, context));
        if let Cow::Owned(replaced) = replaced {
            *text = Cow::Owned(replaced);
        }
    }
}

fn replaced(found: &Captures<'_>, context: &mut RedactionContext<'_>) -> String {
    let Some(whole) = found.get(0) else {
        return String::new();
    };
    let secret = found.get(1).unwrap_or(whole);
    let range = secret.start() - whole.start()..secret.end() - whole.start();
    let placeholder = placeholder(whole.as_str(), range.clone(), context);
    let text = whole.as_str();
    format!(
        "{}{placeholder}{}",
        text.get(..range.start).unwrap_or_default(),
        text.get(range.end..).unwrap_or_default()
    )
}

fn placeholder(whole: &str, range: Range<usize>, context: &mut RedactionContext<'_>) -> String {
    let secret = whole.get(range).unwrap_or_default();
    if is_placeholder(secret) || (secret.starts_with(PEM) && !is_private_key(secret)) {
        return secret.to_owned();
    }
    if secret.starts_with(PEM) {
        return context.placeholder(secret, Secret::Data);
    }
    // A credential is searched for in other spellings as well.
    if whole.starts_with(BEARER_PROTOCOL)
        && let Ok(token) = URL_SAFE_NO_PAD.decode(secret)
    {
        context.secrets.number(&token, true);
    }
    if whole
        .get(..5)
        .is_some_and(|scheme| scheme.eq_ignore_ascii_case("basic"))
        && let Ok(pair) = STANDARD.decode(secret)
        && let Some((_, password)) = String::from_utf8_lossy(&pair).split_once(':')
    {
        context.secrets.number(password.as_bytes(), true);
    }
    context.secrets.placeholder(secret, true)
}

/// Whether base64 is the beginning of a private key in PEM.
fn is_private_key(base64: &str) -> bool {
    let head = base64.get(..base64.len().min(80) / 4 * 4).unwrap_or_default();
    STANDARD
        .decode(head)
        .map_or(true, |text| memchr::memmem::find(&text, b"PRIVATE KEY").is_some())
}
