//! Human-readable sizes and times: `7.3kb`, `1.2s`.
//!
//! Source: `ByteSizeValue` and `TimeValue` of Elasticsearch 1.5, which truncate after the first decimal.

use serde_json::{Map, Value};

use crate::sizes::{size, with_decimal};

/// Formats a time in milliseconds.
pub(super) fn time(millis: u64) -> String {
    match millis {
        0 => "0s".to_owned(),
        1..1_000 => format!("{millis}ms"),
        1_000..60_000 => with_decimal(millis as f64 / 1e3, "s"),
        60_000..3_600_000 => with_decimal(millis as f64 / 6e4, "m"),
        3_600_000..86_400_000 => with_decimal(millis as f64 / 3.6e6, "h"),
        _ => with_decimal(millis as f64 / 8.64e7, "d"),
    }
}

/// Formats a number.
type Format = fn(u64) -> String;

/// Returns the name and the format of the human-readable member for `name` in `section`.
fn human_member(section: &str, name: &str) -> Option<(String, Format)> {
    match (section, name) {
        ("get" | "percolate", "time_in_millis") => return Some(("get_time".to_owned(), time)),
        (_, "fixed_bit_set_memory_in_bytes") => return Some(("fixed_bit_set".to_owned(), size)),
        ("percolate", "memory_size_in_bytes") => return None,
        _ => {}
    }
    match name.strip_suffix("_in_bytes") {
        Some(stem) => Some((stem.to_owned(), size)),
        None => name
            .strip_suffix("_in_millis")
            .map(|stem| (stem.to_owned(), time as Format)),
    }
}

/// Adds human-readable sizes and times to statistics, each before its number, as `human=true` does.
pub(super) fn add_texts(value: &mut Value) {
    add_below("", value);
}

fn add_below(section: &str, value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| add_below(section, item)),
        Value::Object(members) => {
            let mut with_texts = Map::new();
            for (name, mut value) in std::mem::take(members) {
                if let (Some(number), Some((text, format))) = (value.as_u64(), human_member(section, &name)) {
                    with_texts.entry(text).or_insert_with(|| format(number).into());
                }
                add_below(&name, &mut value);
                with_texts.insert(name, value);
            }
            *members = with_texts;
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case(0, "0s")]
    #[case(215, "215ms")]
    #[case(1_250, "1.2s")]
    #[case(64_432, "1m")]
    fn times_have_one_decimal(#[case] millis: u64, #[case] expected: &str) {
        assert_eq!(time(millis), expected);
    }

    #[test]
    fn texts_are_added_before_their_numbers() {
        let mut value =
            json!({"get": {"time_in_millis": 3}, "store": {"size_in_bytes": 10, "throttle_time_in_millis": 0}});
        add_texts(&mut value);
        let expected = concat!(
            r#"{"get":{"get_time":"3ms","time_in_millis":3},"#,
            r#""store":{"size":"10b","size_in_bytes":10,"throttle_time":"0s","throttle_time_in_millis":0}}"#,
        );
        assert_eq!(value.to_string(), expected);
    }
}
