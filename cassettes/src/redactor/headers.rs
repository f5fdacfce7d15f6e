//! Headers, URLs and queries without their secrets.

use super::document;
use super::forms;
use super::knowledge::Knowledge;
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
        Some((path, query)) => format!("{path}?{}", self::query(query, knowledge)),
        None => url.to_owned(),
    };
    if let Some(fragment) = fragment {
        // Some protocols of authorization answer with tokens there.
        out = format!("{out}#{}", self::query(fragment, knowledge));
    }
    forms::redact(&out, knowledge).unwrap_or(out)
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
        out.push(match document::redact(&decoded, knowledge, 0) {
            Some(text) => {
                let code: String = url::form_urlencoded::byte_serialize(text.as_bytes()).collect();
                format!("{name}={}", code.replace("%7E", "~")).into()
            }
            None => Cow::Borrowed(pair),
        });
    }
    out.join("&")
}

fn decoded(value: &str) -> String {
    url::form_urlencoded::parse(format!("v={value}").as_bytes())
        .next()
        .map_or_else(|| value.to_owned(), |(_, decoded)| decoded.into_owned())
}
