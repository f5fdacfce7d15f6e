//! YAML writer.
//!
//! Source of the semantics: go-yaml v2 of 2016. It puts strings that would be read as another type in double quotes,
//! and leaves the style of other strings to libyaml.

use std::cmp::Ordering;

use libyaml_safer::{Emitter, Encoding, Event, MappingStyle, ScalarStyle, SequenceStyle};
use serde_json::Value;

use super::resolve::{Scalar, resolve};
use crate::compat::strconv::format_float;

/// Writes a tree as YAML with sorted keys, in v1.2's layout.
pub(crate) fn from_value(value: &Value) -> String {
    let mut out = Vec::new();
    // Writing a well-formed sequence of events to memory cannot fail; otherwise the text would be incomplete.
    let _ = document(value, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

fn document(value: &Value, out: &mut Vec<u8>) -> libyaml_safer::Result<()> {
    let mut emitter = Emitter::new();
    emitter.set_output_string(out);
    emitter.set_unicode(true);
    emitter.emit(Event::stream_start(Encoding::Utf8))?;
    emitter.emit(Event::document_start(None, &[], true))?;
    node(value, &mut emitter)?;
    emitter.emit(Event::document_end(true))?;
    emitter.emit(Event::stream_end())?;
    emitter.flush()
}

fn node(value: &Value, emitter: &mut Emitter<'_>) -> libyaml_safer::Result<()> {
    match value {
        Value::Null => plain("null", emitter),
        Value::Bool(value) => plain(if *value { "true" } else { "false" }, emitter),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => plain(&go_float(float), emitter),
            _ => plain(&number.to_string(), emitter),
        },
        Value::String(given) => text(given, emitter),
        Value::Array(items) => {
            emitter.emit(Event::sequence_start(None, None, true, SequenceStyle::Block))?;
            for item in items {
                node(item, emitter)?;
            }
            emitter.emit(Event::sequence_end())
        }
        Value::Object(entries) => {
            emitter.emit(Event::mapping_start(None, None, true, MappingStyle::Block))?;
            let mut entries: Vec<(&String, &Value)> = entries.iter().collect();
            entries.sort_by(|a, b| natural(a.0, b.0));
            for (key, value) in entries {
                text(key, emitter)?;
                node(value, emitter)?;
            }
            emitter.emit(Event::mapping_end())
        }
    }
}

/// Formats a float as go-yaml does.
pub(super) fn go_float(value: f64) -> String {
    if value.is_nan() {
        ".nan".to_owned()
    } else if value.is_infinite() {
        if value > 0.0 { ".inf" } else { "-.inf" }.to_owned()
    } else {
        format_float(value)
    }
}

fn plain(word: &str, emitter: &mut Emitter<'_>) -> libyaml_safer::Result<()> {
    emitter.emit(Event::scalar(None, None, word, true, true, ScalarStyle::Plain))
}

fn text(given: &str, emitter: &mut Emitter<'_>) -> libyaml_safer::Result<()> {
    let style = if resolve(given) != Scalar::Text || is_base_60(given) {
        ScalarStyle::DoubleQuoted
    } else if given.contains('\n') {
        ScalarStyle::Literal
    } else {
        ScalarStyle::Plain
    };
    emitter.emit(Event::scalar(None, None, given, true, true, style))
}

/// Whether other readers would read the text as a base-60 number, such as `12:30:45`.
fn is_base_60(given: &str) -> bool {
    let unsigned = given.strip_prefix(['+', '-']).unwrap_or(given);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let mut parts = whole.split(':');
    let digits = |text: &str| text.bytes().all(|c| c.is_ascii_digit() || c == b'_');
    let first = parts
        .next()
        .is_some_and(|first| first.starts_with(|c: char| c.is_ascii_digit()) && digits(first));
    let mut rest = parts.peekable();
    let sexagesimal = |part: &str| match part.as_bytes() {
        [one] => one.is_ascii_digit(),
        [ten, one] => (b'0'..=b'5').contains(ten) && one.is_ascii_digit(),
        _ => false,
    };
    first && rest.peek().is_some() && rest.all(sexagesimal) && digits(fraction)
}

/// Order of keys: letters after all other characters, runs of digits by value.
fn natural(left: &str, right: &str) -> Ordering {
    let (a, b): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let Some(at) = a.iter().zip(&b).position(|(a, b)| a != b) else {
        return a.len().cmp(&b.len());
    };
    let (Some(&one), Some(&other)) = (a.get(at), b.get(at)) else {
        return Ordering::Equal;
    };
    match (one.is_alphabetic(), other.is_alphabetic()) {
        (true, true) => return one.cmp(&other),
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    let run = |chars: &[char]| -> (i64, usize) {
        let digits = chars.iter().skip(at).map_while(|c| c.to_digit(10));
        digits.fold((0i64, 0), |(value, count), digit| {
            (value.wrapping_mul(10).wrapping_add(digit.into()), count + 1)
        })
    };
    run(&a).cmp(&run(&b)).then(one.cmp(&other))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case(json!({"b": 1, "a": [{"y": "n", "x": "6"}, "z"], "c": {}, "d": [], "e": null}),
        "a:\n- x: \"6\"\n  \"y\": \"n\"\n- z\nb: 1\nc: {}\nd: []\ne: null\n")]
    #[case(json!({"t": "2015-06-26T12:00:00Z", "p": "/api/v1"}), "p: /api/v1\nt: 2015-06-26T12:00:00Z\n")]
    #[case(json!({"a": "x: y", "b": "- z", "c": "two\nlines\n", "d": " lead"}),
        "a: 'x: y'\nb: '- z'\nc: |\n  two\n  lines\nd: ' lead'\n")]
    #[case(json!({"a": "12:30", "b": "1.5", "c": "", "d": "true"}), "a: \"12:30\"\nb: \"1.5\"\nc: \"\"\nd: \"true\"\n")]
    #[case(json!({"k10": 1, "k9": 2, "k-a": 3, "ka": 4}), "k-a: 3\nk9: 2\nk10: 1\nka: 4\n")]
    #[case(json!([]), "[]\n")]
    #[case(json!("x"), "x\n")]
    #[case(json!({"f": 1.5, "g": 1e21}), "f: 1.5\ng: 1e+21\n")]
    fn a_tree_is_written_in_the_recorded_layout(#[case] tree: Value, #[case] written: &str) {
        assert_eq!(from_value(&tree), written);
    }
}
