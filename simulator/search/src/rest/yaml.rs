//! Answers in YAML.
//!
//! Source: SnakeYAML's `Emitter` in block style, as Elasticsearch 1.5 configures it: texts are in double quotes, and
//! folded at 80 columns.

use serde_json::Value;

use crate::json::java_number;

/// Column after which a text is folded.
const WIDTH: usize = 80;

/// Prints JSON as YAML in block style.
pub(super) fn yaml_of(value: &Value) -> String {
    match value {
        Value::Object(object) if object.is_empty() => return "--- {}\n".to_owned(),
        Value::Array(items) if items.is_empty() => return "--- []\n".to_owned(),
        _ => {}
    }
    let mut text = String::from("---\n");
    write_yaml(value, 0, &mut text);
    text
}

fn write_yaml(value: &Value, level: usize, text: &mut String) {
    match value {
        Value::Object(object) if !object.is_empty() => {
            for (key, value) in object {
                text.extend(std::iter::repeat_n("  ", level));
                text.push_str(key);
                text.push(':');
                write_yaml_below(value, level, text);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                text.extend(std::iter::repeat_n("  ", level));
                text.push('-');
                let start = text.len();
                write_yaml_below(item, level, text);
                // The first entry of an object is on the line of its dash.
                if item.as_object().is_some_and(|object| !object.is_empty()) {
                    let indent = 1 + 2 * (level + 1);
                    text.replace_range(start..start + indent, " ");
                }
            }
        }
        leaf => {
            text.extend(std::iter::repeat_n("  ", level));
            write_scalar(leaf, level, text);
        }
    }
}

fn write_yaml_below(value: &Value, level: usize, text: &mut String) {
    let branch = match value {
        Value::Object(object) => !object.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    };
    if branch {
        text.push('\n');
        // A list is not indented below its key.
        let inner = if value.is_array() { level } else { level + 1 };
        write_yaml(value, inner, text);
    } else {
        text.push(' ');
        write_scalar(value, level, text);
    }
}

/// Prints a scalar and ends the line. Floating-point numbers are formatted as in Java.
fn write_scalar(value: &Value, level: usize, text: &mut String) {
    match value {
        Value::String(own) => write_text(own, 2 * (level + 1), text),
        Value::Number(number) if number.is_f64() => {
            text.push_str(&number.as_f64().map_or_else(|| number.to_string(), java_number));
        }
        other => text.push_str(&other.to_string()),
    }
    text.push('\n');
}

/// Prints a text in double quotes. Its further lines have an indent. It is folded at spaces and escapes.
fn write_text(own: &str, indent: usize, text: &mut String) {
    let line = text.rsplit('\n').next().unwrap_or_default();
    let mut column = line.chars().count() + 1;
    text.push('"');
    let chars: Vec<char> = own.chars().collect();
    // The characters from `start` on are not printed yet.
    let mut start = 0;
    let print = |range: std::ops::Range<usize>, text: &mut String| text.extend(chars.get(range).unwrap_or_default());
    for end in 0..=chars.len() {
        let next = chars.get(end).copied();
        if next.is_none_or(|next| matches!(next, '"' | '\\') || !(' '..='~').contains(&next)) {
            print(start..end, text);
            column += end - start;
            start = end;
            if let Some(next) = next {
                let escaped = escaped(next);
                column += escaped.chars().count();
                text.push_str(&escaped);
                start = end + 1;
            }
        }
        let is_place = next == Some(' ') || start >= end;
        let is_inside = 0 < end && end + 1 < chars.len();
        if is_inside && is_place && column + end.saturating_sub(start) > WIDTH {
            print(start..end, text);
            start = start.max(end);
            text.push_str("\\\n");
            text.extend(std::iter::repeat_n(' ', indent));
            column = indent;
            if chars.get(start) == Some(&' ') {
                text.push('\\');
                column += 1;
            }
        }
    }
    text.push('"');
}

/// Escapes a character that is not printed as it is in double quotes.
fn escaped(character: char) -> String {
    let short = match character {
        '"' | '\\' => Some(character),
        '\0' => Some('0'),
        '\u{7}' => Some('a'),
        '\u{8}' => Some('b'),
        '\t' => Some('t'),
        '\n' => Some('n'),
        '\u{b}' => Some('v'),
        '\u{c}' => Some('f'),
        '\r' => Some('r'),
        '\u{1b}' => Some('e'),
        '\u{85}' => Some('N'),
        '\u{a0}' => Some('_'),
        '\u{2028}' => Some('L'),
        '\u{2029}' => Some('P'),
        _ => None,
    };
    match (short, u32::from(character)) {
        (Some(short), _) => format!("\\{short}"),
        (None, code @ (0..=0x1f | 0x7f..=0x9f)) => format!("\\x{code:02x}"),
        (None, 0xfeff) => "\\ufeff".to_owned(),
        (None, code @ 0x1_0000..) => format!("\\U{code:08x}"),
        _ => character.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    // Recorded from Elasticsearch 1.5.2.
    #[rstest]
    #[case::at_a_space(
        "some words that are long enough to be folded somewhere near the eightieth column, I think so, really: yes",
        "some words that are long enough to be folded somewhere near the eightieth column,\\\n    \\ I think so, \
         really: yes"
    )]
    #[case::not_within_words(
        "nospaceslongnospaceslongnospaceslongnospaceslongnospaceslongnospaceslongnospaceslongnospaceslong end",
        "nospaceslongnospaceslongnospaceslongnospaceslongnospaceslongnospaceslongnospaceslongnospaceslong\\\n    \\ end"
    )]
    #[case::escapes("x\ny \u{1} ok \u{e9} \"", "x\\ny \\x01 ok \u{e9} \\\"")]
    fn long_texts_are_folded(#[case] own: &str, #[case] printed: &str) {
        let expected = format!("---\n_source:\n  a: \"{printed}\"\n");
        assert_eq!(yaml_of(&json!({"_source": {"a": own}})), expected);
    }

    #[test]
    fn a_large_number_is_formatted_as_in_java() {
        let value = json!({"a": 1e10, "b": 1.5, "c": 2.5e-5});
        assert_eq!(yaml_of(&value), "---\na: 1.0E10\nb: 1.5\nc: 2.5E-5\n");
    }
}
