//! Values that dynamic settings may have.
//!
//! Source: the validators of Elasticsearch 1.5.

use crate::durations::millis;
use crate::json::typed_number;
use crate::sizes::byte_size;

/// What values a dynamic setting may have.
#[derive(Clone, Copy)]
pub(crate) enum Rule {
    Any,
    Flag,
    Integer,
    /// An integer from 0 on.
    NonNegative,
    /// An integer from 1 on.
    Positive,
    /// An integer from 2 on.
    AtLeastTwo,
    /// An integer, at most the number of nodes.
    Nodes,
    Number,
    /// A number from 0 on.
    Ratio,
    /// A number from 2 on.
    RatioFromTwo,
    Time,
    /// A time from 0 on.
    Duration,
    Bytes,
    /// Bytes, or a percentage of the memory.
    Memory,
    Rebalance,
}

/// Returns the rule of a setting. A name in `rules` that ends with `*` stands for all that begin so.
pub(crate) fn rule_of(rules: &[(&str, Rule)], name: &str) -> Option<Rule> {
    let is_named = |pattern: &str| match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    };
    let found = rules.iter().find(|(pattern, _)| is_named(pattern));
    found.map(|(_, rule)| *rule)
}

fn is_size(text: &str) -> bool {
    let text = text.strip_prefix('-').unwrap_or(text);
    text.parse::<i64>().is_ok() || !text.ends_with(|c: char| c.is_ascii_digit()) && byte_size(text).is_some()
}

impl Rule {
    /// Returns why a setting cannot have a value. `nodes`: number of nodes.
    pub(crate) fn problem(self, name: &str, value: &str, nodes: usize) -> Option<String> {
        let must_be = |what: &str| format!("the value of the setting {name} must be {what}");
        let parsed = |is_parsed: bool, kind: &str| match is_parsed {
            true => Ok(()),
            false => Err(format!("cannot parse value [{value}] as {kind}")),
        };
        let integer = value.parse::<i32>().ok();
        let number: Option<f64> = typed_number(value.trim());
        let time = millis(value).ok();
        let is_integer = || parsed(integer.is_some(), "an integer");
        let is_number = || parsed(number.is_some(), "a double");
        let is_time = || parsed(time.is_some(), "time");
        let share = value.strip_suffix('%').and_then(|share| share.parse::<f64>().ok());
        let (form, fits, range) = match self {
            Rule::Any => return None,
            Rule::Flag => {
                let known = ["true", "false", "on", "off", "yes", "no", "1", "0"];
                (parsed(known.contains(&value), "a boolean"), true, "")
            }
            Rule::Integer => (is_integer(), true, ""),
            Rule::NonNegative => (is_integer(), integer >= Some(0), "a non negative integer"),
            Rule::Positive => (is_integer(), integer > Some(0), "a positive integer"),
            Rule::AtLeastTwo => (is_integer(), integer >= Some(2), ">= 2"),
            Rule::Nodes => {
                let count = i32::try_from(nodes).ok();
                (is_integer(), integer <= count, "at most the number of nodes")
            }
            Rule::Number => (is_number(), true, ""),
            Rule::Ratio => (is_number(), number >= Some(0.0), "a non negative double"),
            Rule::RatioFromTwo => (is_number(), number >= Some(2.0), ">= 2.0"),
            Rule::Time => (is_time(), true, ""),
            Rule::Duration => (is_time(), time >= Some(0), "a non negative time"),
            Rule::Bytes if is_size(value) => return None,
            Rule::Bytes => return Some(format!("Failed to parse [{value}]")),
            Rule::Memory => {
                let is_share = share.is_some_and(|share| (0.0..=100.0).contains(&share));
                (Ok(()), is_share || is_size(value), "a size or a percentage")
            }
            Rule::Rebalance => {
                let known = ["always", "indices_primaries_active", "indices_all_active"];
                let is_known = known.iter().any(|own| own.eq_ignore_ascii_case(value));
                (Ok(()), is_known, "a rule of rebalancing")
            }
        };
        form.err().or_else(|| (!fits).then(|| must_be(range)))
    }
}
