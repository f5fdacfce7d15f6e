//! Redaction of headers, URLs and queries.

use super::context::{MAX_NESTING, RedactionContext};
use super::document;
use super::forms;
use super::names::{self, NameClass};
use crate::interaction::is_placeholder;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::borrow::Cow;

/// Whether a name has secret values, by default or because the user added it.
fn is_secret(name: &str, own: bool, context: &RedactionContext<'_>) -> bool {
    own || (context.rules.defaults && names::class(name) != NameClass::Plain)
}

/// Redacts the value of a header.
pub(super) fn header(name: &str, value: &str, context: &mut RedactionContext<'_>) -> String {
    let own = context.rules.has_header(name);
    if names::is_trivial(false, value) || !is_secret(name, own, context) {
        return match value.split_once('?').filter(|(path, _)| path.contains('/')) {
            Some(_) => url(value, context),
            None => document::redact(value, context, 0).unwrap_or_else(|| value.to_owned()),
        };
    }
    match name.to_ascii_lowercase().as_str() {
        "cookie" => value
            .split(';')
            .map(|pair| {
                let space = pair.len() - pair.trim_start().len();
                let (space, pair) = pair.split_at(space);
                format!("{space}{}", cookie(pair, context))
            })
            .collect::<Vec<_>>()
            .join(";"),
        "set-cookie" => match value.split_once(';') {
            Some((pair, attributes)) => format!("{};{attributes}", cookie(pair, context)),
            None => cookie(value, context),
        },
        "authorization" | "proxy-authorization" => authorization(value, context),
        _ => context.secrets.placeholder(value, true),
    }
}

fn cookie(pair: &str, context: &mut RedactionContext<'_>) -> String {
    match pair.split_once('=') {
        Some((_, "")) => pair.to_owned(),
        None if pair.is_empty() => String::new(),
        Some((name, value)) => format!("{name}={}", context.secrets.placeholder(value, true)),
        None => context.secrets.placeholder(pair, true),
    }
}

/// Redacts the value of `Authorization`, except the scheme. The password of `Basic` is learned as a secret of its own.
fn authorization(value: &str, context: &mut RedactionContext<'_>) -> String {
    let Some((scheme, secret)) = value.split_once(' ') else {
        return context.secrets.placeholder(value, true);
    };
    if scheme.eq_ignore_ascii_case("basic")
        && let Ok(pair) = STANDARD.decode(secret.trim())
        && let Some((_, password)) = String::from_utf8_lossy(&pair).split_once(':')
        && !is_placeholder(secret)
    {
        context.secrets.number(password.as_bytes(), true);
    }
    format!("{scheme} {}", context.secrets.placeholder(secret, true))
}

/// Redacts a URL, or path and query.
pub(super) fn url(url: &str, context: &mut RedactionContext<'_>) -> String {
    let (url, fragment) = url
        .split_once('#')
        .map_or((url, None), |(url, fragment)| (url, Some(fragment)));
    let mut out = match url.split_once('?') {
        Some((path, query)) => format!("{}?{}", self::path(path, context), self::query(query, context)),
        None => path(url, context).into_owned(),
    };
    if let Some(fragment) = fragment {
        // Some authorization protocols return tokens in the fragment.
        out = format!("{out}#{}", self::query(fragment, context));
    }
    forms::redact(&out, context).unwrap_or(out)
}

/// Redacts the values of secret parameters in the segments of a path (`/a;name=value/b`).
fn path<'a>(path: &'a str, context: &mut RedactionContext<'_>) -> Cow<'a, str> {
    if !path.contains(';') {
        return Cow::Borrowed(path);
    }
    let mut out = String::with_capacity(path.len());
    for (n, piece) in path.split_inclusive([';', '/']).enumerate() {
        let (parameter, mark) = match piece.strip_suffix([';', '/']) {
            Some(parameter) => piece.split_at(parameter.len()),
            None => (piece, ""),
        };
        match parameter.split_once('=').filter(|_| n > 0 && out.ends_with(';')) {
            Some((name, value)) if !value.is_empty() && is_secret(&decoded(name), false, context) => {
                let value = decoded(value);
                out.push_str(&format!("{name}={}", context.secrets.placeholder(&value, true)));
            }
            _ => out.push_str(parameter),
        }
        out.push_str(mark);
    }
    out.into()
}

/// Redacts a query or form: parameters with secret names, and secrets in other values.
pub(super) fn query(query: &str, context: &mut RedactionContext<'_>) -> String {
    // The parameter whose last value was a flag: `exec` has one parameter per word of the command.
    let mut flag: Option<&str> = None;
    let mut out = Vec::new();
    for pair in query.split('&') {
        let Some((name, value)) = pair.split_once('=').filter(|(_, value)| !value.is_empty()) else {
            out.push(Cow::Borrowed(pair));
            continue;
        };
        let decoded = decoded(value);
        let follows = std::mem::take(&mut flag) == Some(name) && !decoded.starts_with('-');
        let plain = self::decoded(name);
        let own = context.rules.has_query(&plain);
        let named = is_secret(&plain, own, context) && !names::is_trivial(false, &decoded);
        if named || follows {
            out.push(format!("{name}={}", context.secrets.placeholder(&decoded, named)).into());
            continue;
        }
        if context.rules.defaults
            && decoded.starts_with('-')
            && names::is_secret_in_text(decoded.trim_start_matches('-'))
        {
            flag = Some(name);
        }
        out.push(match parameter(&decoded, context, 0) {
            Some(text) => format!("{name}={}", encoded(&text)).into(),
            None => Cow::Borrowed(pair),
        });
    }
    out.join("&")
}

/// Redacts the decoded value of a parameter, which may be percent-encoded twice. Returns none if it has no secret.
fn parameter(value: &str, context: &mut RedactionContext<'_>, depth: usize) -> Option<String> {
    if let Some(found) = document::redact(value, context, 0) {
        return Some(found);
    }
    let inner = decoded(value);
    let again = depth < MAX_NESTING && value.contains('%') && inner != value;
    let found = again.then(|| parameter(&inner, context, depth + 1)).flatten()?;
    Some(encoded(&found))
}

fn encoded(text: &str) -> String {
    let code: String = url::form_urlencoded::byte_serialize(text.as_bytes()).collect();
    code.replace("%7E", "~")
}

fn decoded(value: &str) -> String {
    url::form_urlencoded::parse(format!("v={value}").as_bytes())
        .next()
        .map_or_else(|| value.to_owned(), |(_, decoded)| decoded.into_owned())
}
