//! Headers, URLs and queries without their secrets.

use super::document;
use super::forms;
use super::knowledge::{Knowledge, NESTED};
use super::names::{self, NameClass};
use crate::interaction::is_placeholder;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::borrow::Cow;

/// Whether a name has secret values, by default or by a rule of the user's.
fn is_secret(name: &str, own: bool, knowledge: &Knowledge<'_>) -> bool {
    own || (knowledge.rules.defaults && names::class(name) != NameClass::Plain)
}

/// The value of a header.
pub(super) fn header(name: &str, value: &str, knowledge: &mut Knowledge<'_>) -> String {
    let own = knowledge.rules.has_header(name);
    if names::is_trivial(false, value) || !is_secret(name, own, knowledge) {
        return match value.split_once('?').filter(|(path, _)| path.contains('/')) {
            Some(_) => url(value, knowledge),
            None => document::redact(value, knowledge, 0).unwrap_or_else(|| value.to_owned()),
        };
    }
    match name.to_ascii_lowercase().as_str() {
        "cookie" => value
            .split(';')
            .map(|pair| {
                let space = pair.len() - pair.trim_start().len();
                let (space, pair) = pair.split_at(space);
                format!("{space}{}", cookie(pair, knowledge))
            })
            .collect::<Vec<_>>()
            .join(";"),
        "set-cookie" => match value.split_once(';') {
            Some((pair, attributes)) => format!("{};{attributes}", cookie(pair, knowledge)),
            None => cookie(value, knowledge),
        },
        "authorization" | "proxy-authorization" => authorization(value, knowledge),
        _ => knowledge.known.placeholder(value, true),
    }
}

fn cookie(pair: &str, knowledge: &mut Knowledge<'_>) -> String {
    match pair.split_once('=') {
        Some((_, "")) => pair.to_owned(),
        None if pair.is_empty() => String::new(),
        Some((name, value)) => format!("{name}={}", knowledge.known.placeholder(value, true)),
        None => knowledge.known.placeholder(pair, true),
    }
}

/// The scheme stays, and a password is known as one beyond the pair that it came in.
fn authorization(value: &str, knowledge: &mut Knowledge<'_>) -> String {
    let Some((scheme, secret)) = value.split_once(' ') else {
        return knowledge.known.placeholder(value, true);
    };
    if scheme.eq_ignore_ascii_case("basic")
        && let Ok(pair) = STANDARD.decode(secret.trim())
        && let Some((_, password)) = String::from_utf8_lossy(&pair).split_once(':')
        && !is_placeholder(secret)
    {
        knowledge.known.number(password.as_bytes(), true);
    }
    format!("{scheme} {}", knowledge.known.placeholder(secret, true))
}

/// A URL, or its path and query.
pub(super) fn url(url: &str, knowledge: &mut Knowledge<'_>) -> String {
    let (url, fragment) = url
        .split_once('#')
        .map_or((url, None), |(url, fragment)| (url, Some(fragment)));
    let mut out = match url.split_once('?') {
        Some((path, query)) => format!("{}?{}", self::path(path, knowledge), self::query(query, knowledge)),
        None => path(url, knowledge).into_owned(),
    };
    if let Some(fragment) = fragment {
        // Some protocols of authorization answer with tokens there.
        out = format!("{out}#{}", self::query(fragment, knowledge));
    }
    forms::redact(&out, knowledge).unwrap_or(out)
}

/// A path: the values of parameters in its segments (`/a;name=value/b`) whose names are secret.
fn path<'a>(path: &'a str, knowledge: &mut Knowledge<'_>) -> Cow<'a, str> {
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
            Some((name, value)) if !value.is_empty() && is_secret(&decoded(name), false, knowledge) => {
                let value = decoded(value);
                out.push_str(&format!("{name}={}", knowledge.known.placeholder(&value, true)));
            }
            _ => out.push_str(parameter),
        }
        out.push_str(mark);
    }
    out.into()
}

/// A query or a form: the values of parameters whose names are secret, and secrets within the others.
pub(super) fn query(query: &str, knowledge: &mut Knowledge<'_>) -> String {
    // The name of the parameter whose value was a flag: commands are given a word at a time.
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
        let own = knowledge.rules.has_query(&plain);
        let named = is_secret(&plain, own, knowledge) && !names::is_trivial(false, &decoded);
        if named || follows {
            out.push(format!("{name}={}", knowledge.known.placeholder(&decoded, named)).into());
            continue;
        }
        if knowledge.rules.defaults
            && decoded.starts_with('-')
            && names::is_secret_in_text(decoded.trim_start_matches('-'))
        {
            flag = Some(name);
        }
        out.push(match parameter(&decoded, knowledge, 0) {
            Some(text) => format!("{name}={}", encoded(&text)).into(),
            None => Cow::Borrowed(pair),
        });
    }
    out.join("&")
}

/// The decoded value of a parameter without the secrets in it; none if there are none. It may be percent-encoded again.
fn parameter(value: &str, knowledge: &mut Knowledge<'_>, depth: usize) -> Option<String> {
    if let Some(found) = document::redact(value, knowledge, 0) {
        return Some(found);
    }
    let inner = decoded(value);
    let again = depth < NESTED && value.contains('%') && inner != value;
    let found = again.then(|| parameter(&inner, knowledge, depth + 1)).flatten()?;
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
