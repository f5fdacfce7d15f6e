//! Redaction of YAML.
//!
//! Guarantees: only redacted scalars change. If an alias is at a position of a secret, the anchored value is redacted.
//! Limits: a document is parsed as a whole; keys are kept.

use super::blocks::Block;
use super::context::RedactionContext;
use super::structure::{Secret, Structure, Verdict};
use super::text;
use crate::interaction::is_placeholder;
use granit_parser::{Event, Parser, ScalarStyle};
use std::collections::HashMap;
use std::ops::Range;

/// A scalar, its range including quotes, and its style.
#[derive(Clone, Debug)]
struct Scalar {
    range: Range<usize>,
    text: String,
    style: ScalarStyle,
    anchor: usize,
}

/// Verdict on a scalar.
#[derive(Clone, Copy, Debug)]
enum State {
    Open,
    Secret { secret: Secret },
    Deferred { secret: Secret },
}

/// Redacts a text. Returns none if it is not YAML with a mapping or sequence at its root.
pub(super) fn redact(text: &str, of_secret: bool, context: &mut RedactionContext<'_>, depth: usize) -> Option<String> {
    let scalars = scalars(text, of_secret, context, depth)?;
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    for (scalar, state) in scalars {
        let found = match state {
            State::Secret { secret } | State::Deferred { secret } => {
                Some(context.placeholder(scalar.text.trim_end_matches('\n'), secret))
            }
            State::Open => context.search(&scalar.text, depth),
        };
        if let Some(found) = found.filter(|found| *found != scalar.text) {
            let (range, indent) = match scalar.style {
                ScalarStyle::Literal | ScalarStyle::Folded => block(text, scalar.range)?,
                _ => (scalar.range, 0),
            };
            edits.push((range, written(&found, scalar.style, indent)));
        }
    }
    edits.sort_by_key(|(range, _)| range.start);
    let mut out = String::with_capacity(text.len());
    let mut end = 0;
    for (range, put) in edits {
        if range.start >= end {
            out.push_str(text.get(end..range.start)?);
            out.push_str(&put);
            end = range.end;
        }
    }
    out.push_str(text.get(end..)?);
    Some(if out.contains('#') {
        comments(&out, context)
    } else {
        out
    })
}

/// Redacts comments. Parts of scalars that look like comments were redacted before.
fn comments(text: &str, context: &mut RedactionContext<'_>) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let starts = |at: &usize| *at == 0 || line.as_bytes().get(at - 1).is_some_and(u8::is_ascii_whitespace);
        let start = line
            .match_indices('#')
            .map(|(at, _)| at + 1)
            .find(|at| starts(&(at - 1)));
        let (before, comment) = line.split_at(start.unwrap_or(line.len()));
        let content = comment.trim();
        let lead = comment.len() - comment.trim_start().len();
        let found = match content {
            "" => None,
            content => text::redact(content, context, &mut Block::default()),
        };
        out.push_str(before);
        match found {
            Some(found) => {
                out.push_str(comment.get(..lead).unwrap_or_default());
                out.push_str(&found);
                out.push_str(comment.get(lead + content.len()..).unwrap_or_default());
            }
            None => out.push_str(comment),
        }
    }
    out
}

/// Formats a text in the style of the scalar that it replaces. A placeholder needs no quotes.
fn written(text: &str, style: ScalarStyle, indent: usize) -> String {
    let plain = is_placeholder(text);
    let lines = |between: &str| {
        let between = format!("{between}{}", " ".repeat(indent));
        format!("{}\n", text.trim_end_matches('\n').replace('\n', &between))
    };
    match style {
        ScalarStyle::Plain if plain => text.to_owned(),
        ScalarStyle::SingleQuoted if plain => format!("'{text}'"),
        ScalarStyle::Literal => lines("\n"),
        ScalarStyle::Folded => lines("\n\n"),
        _ => serde_json::Value::from(text).to_string(),
    }
}

/// The range of a block scalar's content without trailing whitespace, and its indentation.
fn block(text: &str, range: Range<usize>) -> Option<(Range<usize>, usize)> {
    let start = text.get(..range.start)?.rfind('\n')? + 1;
    let space = text.get(start..range.start)?;
    let content = text.get(range.clone())?;
    let end = match content.rfind('\n') {
        Some(at) if content.get(at..)?.trim().is_empty() => range.start + at + 1,
        _ => range.end,
    };
    space.trim().is_empty().then_some((range.start..end, space.len()))
}

/// The scalars of a text, except keys, with verdicts.
///
/// A mapping that is open at the end of a body may go on, so that its kind may be missing. The same holds for a scalar
/// without an end of its line.
fn scalars(text: &str, of_secret: bool, context: &RedactionContext<'_>, depth: usize) -> Option<Vec<(Scalar, State)>> {
    let is_last = |at: usize| depth == 0 && at >= text.trim_end().len();
    let mut found: Vec<(Scalar, State)> = Vec::new();
    let mut anchors: HashMap<usize, usize> = HashMap::new();
    let mut structure = Structure::new(context.rules.clone(), of_secret);
    // For each open mapping, whether a key is next.
    let mut keys: Vec<bool> = Vec::new();
    let mut nested = false;
    for next in Parser::new_from_str(text) {
        let (event, span) = next.ok()?;
        let is_key = keys.last().copied().unwrap_or_default() && structure.in_list() == Some(false);
        let ended = matches!(event, Event::SequenceEnd | Event::MappingEnd);
        match event {
            Event::SequenceStart(..) | Event::MappingStart(..) if is_key => return None,
            Event::SequenceStart(..) | Event::MappingStart(..) => {
                let is_list = matches!(event, Event::SequenceStart(..));
                nested = true;
                keys.push(!is_list);
                if !structure.open(is_list) {
                    return None;
                }
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd if is_last(span.byte_range()?.end) => {
                structure.decide_at_end();
                decide(&mut structure, &mut found);
                break;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                keys.pop();
                structure.close();
            }
            Event::Scalar(value, ..) if is_key => structure.key(&value),
            Event::Scalar(value, style, anchor, _) => {
                let range = span.byte_range()?;
                let verdict = match is_last(range.end) && !text.ends_with('\n') {
                    true => structure.partial_scalar(),
                    false => structure.scalar(&value),
                };
                // As in JSON, a short number is a count.
                let number = style == ScalarStyle::Plain && value.len() < 6 && value.parse::<f64>().is_ok();
                let verdict = if number { Verdict::Open } else { verdict };
                let scalar = Scalar {
                    range,
                    text: value.into_owned(),
                    style,
                    anchor,
                };
                anchors.insert(anchor, found.len());
                let at = found.len() as u64;
                let state = match verdict {
                    Verdict::Secret(secret) if !scalar.text.is_empty() => State::Secret { secret },
                    Verdict::Undecided { secret, wait } if !scalar.text.is_empty() => {
                        structure.defer(wait, at);
                        State::Deferred { secret }
                    }
                    _ => State::Open,
                };
                found.push((scalar, state));
            }
            Event::Alias(_) if is_key => structure.key(""),
            Event::Alias(anchor) => {
                let verdict = structure.scalar("*");
                let anchored = anchors.get(&anchor).and_then(|at| found.get_mut(*at));
                match (anchored, verdict) {
                    (Some((scalar, state)), Verdict::Secret(secret) | Verdict::Undecided { secret, .. })
                        if scalar.anchor == anchor =>
                    {
                        *state = State::Secret { secret };
                    }
                    // The anchor of a mapping or sequence, whose scalars cannot be redacted afterwards.
                    (_, Verdict::Secret(_) | Verdict::Undecided { .. }) => return None,
                    _ => {}
                }
            }
            _ => continue,
        }
        decide(&mut structure, &mut found);
        // Keys and values alternate.
        if let Some(key) = keys.last_mut().filter(|_| structure.in_list() == Some(false)) {
            *key = ended || !is_key;
        }
    }
    nested.then_some(found)
}

/// Applies the decisions about deferred scalars.
fn decide(structure: &mut Structure, found: &mut [(Scalar, State)]) {
    for (at, is_secret) in structure.take_decided() {
        if let Some((_, state)) = usize::try_from(at).ok().and_then(|at| found.get_mut(at)) {
            *state = match *state {
                State::Deferred { secret } if is_secret => State::Secret { secret },
                State::Deferred { .. } => State::Open,
                other => other,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redactor::redaction::Redaction;
    use crate::redactor::secret_index::SecretIndex;
    use rstest::rstest;
    use std::sync::Arc;

    #[rstest]
    #[case("a: 1\npassword: abc # kept\n", "a: 1\npassword: redacted-1 # kept\n")]
    #[case("kind: Status\ncode: 406\n", "kind: Status\ncode: 406\n")]
    #[case(
        "a: 1\n# password: abc\nb: 2 # token=def\n",
        "a: 1\n# password: redacted-1\nb: 2 # token=redacted-2\n"
    )]
    #[case("password: 'abc'\nb: [x]\n", "password: 'redacted-1'\nb: [x]\n")]
    #[case("a: &x abc\npassword: *x\n", "a: &x redacted-1\npassword: *x\n")]
    #[case("credentials:\n  user: abc\n", "credentials:\n  user: redacted-1\n")]
    #[case("data:\n  a: YWJj\nkind: ConfigMap\n", "data:\n  a: YWJj\nkind: ConfigMap\n")]
    #[case("data:\n  a: YWJj\nkind: Secret\n", "data:\n  a: cmVkYWN0ZWQtMQ==\nkind: Secret\n")]
    #[case(
        "items:\n- data:\n    a: YWJj\nkind: ConfigMapList\n",
        "items:\n- data:\n    a: YWJj\nkind: ConfigMapList\n"
    )]
    #[case(
        "items:\n- data:\n    a: YWJj\nkind: SecretList\n",
        "items:\n- data:\n    a: cmVkYWN0ZWQtMQ==\nkind: SecretList\n"
    )]
    #[case(
        "env:\n  file: |\n    A=b\n    PASS=abc\n  c: d\n",
        "env:\n  file: |\n    A=b\n    PASS=redacted-1\n  c: d\n"
    )]
    #[case("secret_a: |\n  abc\n  def\nb: c\n", "secret_a: |\n  redacted-1\nb: c\n")]
    fn secrets_are_replaced_where_they_are(#[case] text: &str, #[case] expected: &str) {
        let (rules, mut secrets) = (Arc::new(Redaction::default()), SecretIndex::default());
        let mut context = RedactionContext {
            rules: &rules,
            secrets: &mut secrets,
            search: crate::redactor::document::redact,
        };
        assert_eq!(redact(text, false, &mut context, 0).as_deref(), Some(expected));
    }
}
