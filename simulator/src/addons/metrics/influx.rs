//! The time-series database: InfluxDB's `/query` over the samples.
//!
//! Supported: `SHOW DATABASES`, `SHOW MEASUREMENTS`, and `SELECT` of the value or of a function of it, with
//! conditions on time and tags, grouped by
//! time and tags.

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

use futures::future::BoxFuture;
use hyper::{Request, Response, StatusCode};
use jiff::{SignedDuration, Timestamp};
use regex::{Captures, Regex};
use serde_json::{Value, json};
use url::form_urlencoded;

use super::{
    json as respond,
    samples::{Metric, Samples, Source},
};
use crate::{
    clock::{Clock, stamp},
    cluster::network::{Backend, Body, full_body},
};

/// Name of the database.
const DATABASE: &str = "k8s";
/// Tags of the series.
const TAGS: [&str; 3] = ["namespace_name", "nodename", "pod_name"];

#[expect(clippy::expect_used, reason = "the expression is valid, as a test verifies")]
static SELECT: LazyLock<Regex> = LazyLock::new(|| {
    let function = r#"(?:(?<function>\w+)\(\s*"?value"?\s*\)|"?value"?)"#;
    let parts = concat!(
        r"(?:\s+WHERE\s+(?<conditions>.+?))?",
        r"(?:\s+GROUP BY\s+(?<groups>.+?))?(?:\s+FILL\(\w+\))?",
        r"(?:\s+ORDER BY time\s*(?<order>ASC|DESC)?)?(?:\s+LIMIT\s+(?<limit>\d+))?\s*;?\s*$",
    );
    Regex::new(&format!(
        r#"(?is)^\s*SELECT\s+{function}\s+FROM\s+"?(?<measurement>[^"\s]+)"?{parts}"#
    ))
    .expect("a valid regular expression")
});

/// The server of the time-series database.
pub(in crate::addons) struct Influx {
    samples: Arc<Samples>,
    clock: Clock,
}

/// A `SELECT` statement.
struct Select<'a> {
    metric: Option<Metric>,
    measurement: &'a str,
    function: Option<String>,
    after: Timestamp,
    before: Timestamp,
    tags: Vec<(String, String)>,
    interval: Option<i64>,
    by: Vec<&'static str>,
    descending: bool,
    limit: usize,
}

impl Influx {
    pub(in crate::addons) fn new(samples: Arc<Samples>, clock: Clock) -> Self {
        Self { samples, clock }
    }

    fn respond(&self, path: &str, query: &str) -> Response<Body> {
        let parameter = |name: &str| form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == name);
        match path {
            "/ping" => {
                let mut response = Response::new(full_body(""));
                *response.status_mut() = StatusCode::NO_CONTENT;
                response
            }
            "/query" => {
                let query = parameter("q").map(|(_, q)| q.into_owned()).unwrap_or_default();
                let milliseconds = parameter("epoch").is_some_and(|(_, epoch)| epoch == "ms");
                match self.query(&query, milliseconds) {
                    Ok(series) => respond(StatusCode::OK, &json!({"results": [series]})),
                    Err(why) => respond(
                        StatusCode::BAD_REQUEST,
                        &json!({"error": format!("error parsing query: {why}")}),
                    ),
                }
            }
            _ => {
                let mut response = Response::new(full_body("404 page not found\n"));
                *response.status_mut() = StatusCode::NOT_FOUND;
                response
            }
        }
    }

    /// Returns the result of a query.
    fn query(&self, query: &str, milliseconds: bool) -> Result<Value, String> {
        let words = query
            .trim()
            .trim_end_matches(';')
            .split_whitespace()
            .map(str::to_uppercase);
        match words.collect::<Vec<_>>().join(" ").as_str() {
            "" => return Err("found EOF, expected a query".to_owned()),
            "SHOW DATABASES" => return Ok(table("databases", "name", &[DATABASE])),
            "SHOW MEASUREMENTS" => {
                let known = Metric::ALL
                    .into_iter()
                    .filter(|metric| !self.samples.of(*metric, |_| true).is_empty());
                let names: Vec<&str> = known.map(Metric::name).collect();
                return Ok(if names.is_empty() {
                    json!({})
                } else {
                    table("measurements", "name", &names)
                });
            }
            _ => {}
        }
        let parts = SELECT.captures(query).ok_or_else(|| {
            format!("unsupported query {query:?}: use SELECT of a value, SHOW DATABASES or SHOW MEASUREMENTS")
        })?;
        Ok(self.select(&self.parse(&parts)?, milliseconds))
    }

    fn parse<'a>(&self, parts: &'a Captures<'_>) -> Result<Select<'a>, String> {
        let text = |name: &str| parts.name(name).map(|part| part.as_str());
        let measurement = text("measurement").unwrap_or_default();
        let mut select = Select {
            metric: Metric::named(measurement),
            measurement,
            function: text("function").map(str::to_lowercase),
            after: Timestamp::MIN,
            before: Timestamp::MAX,
            tags: Vec::new(),
            interval: None,
            by: Vec::new(),
            descending: text("order").is_some_and(|order| order.eq_ignore_ascii_case("desc")),
            limit: text("limit").and_then(|limit| limit.parse().ok()).unwrap_or(usize::MAX),
        };
        if let Some(function) = &select.function
            && !matches!(
                function.as_str(),
                "mean" | "sum" | "max" | "min" | "last" | "first" | "count"
            )
        {
            return Err(format!("undefined function {function}()"));
        }
        for condition in text("conditions").into_iter().flat_map(split_and) {
            self.condition(&mut select, condition.trim())?;
        }
        for group in text("groups").into_iter().flat_map(|groups| groups.split(',')) {
            let group = group.trim().trim_matches('"');
            if let Some(interval) = group.strip_prefix("time(").and_then(|rest| rest.strip_suffix(')')) {
                select.interval = Some(duration(interval)?.as_millis().try_into().unwrap_or(i64::MAX).max(1));
            } else if group == "*" {
                select.by.extend(TAGS);
            } else {
                select.by.extend(TAGS.into_iter().filter(|tag| *tag == group));
            }
        }
        Ok(select)
    }

    fn condition(&self, select: &mut Select<'_>, condition: &str) -> Result<(), String> {
        let unknown = || format!("unsupported condition {condition:?}");
        let at = condition.find(['<', '>', '=']).ok_or_else(unknown)?;
        let (name, rest) = condition.split_at(at);
        let value = rest.trim_start_matches(['<', '>', '=']);
        let operator = rest.get(..rest.len() - value.len()).unwrap_or_default();
        let (name, value) = (name.trim().trim_matches('"'), value.trim());
        if name.eq_ignore_ascii_case("time") {
            let time = self.time(value)?;
            if operator.starts_with('>') {
                select.after = time;
            } else {
                select.before = time;
            }
        } else if operator == "=" {
            select.tags.push((name.to_owned(), value.trim_matches('\'').to_owned()));
        } else {
            return Err(unknown());
        }
        Ok(())
    }

    /// Parses `now() - 1h`, a quoted time, or milliseconds (`1456790400000ms`).
    fn time(&self, text: &str) -> Result<Timestamp, String> {
        let wrong = || format!("invalid time {text:?}");
        if let Some(rest) = text.to_lowercase().strip_prefix("now()") {
            let rest = rest.trim();
            if rest.is_empty() {
                return Ok(self.clock.now());
            }
            let back = duration(rest.strip_prefix('-').ok_or_else(wrong)?.trim())?;
            return self.clock.now().checked_sub(back).map_err(|_| wrong());
        }
        if let Some(milliseconds) = text.strip_suffix("ms").and_then(|number| number.parse().ok()) {
            return Timestamp::from_millisecond(milliseconds).map_err(|_| wrong());
        }
        let text = text.trim_matches('\'').replacen(' ', "T", 1);
        text.parse()
            .or_else(|_| format!("{text}Z").parse())
            .map_err(|_| wrong())
    }

    fn select(&self, select: &Select<'_>, milliseconds: bool) -> Value {
        let Some(metric) = select.metric else { return json!({}) };
        let wanted = |source: &Source| select.tags.iter().all(|(name, value)| tag(source, name) == Some(value));
        let mut groups: BTreeMap<Vec<String>, BTreeMap<i64, Vec<i64>>> = BTreeMap::new();
        for (source, points) in self.samples.of(metric, wanted) {
            let key = select
                .by
                .iter()
                .map(|name| tag(&source, name).cloned().unwrap_or_default())
                .collect();
            let group = groups.entry(key).or_default();
            for (at, value) in points {
                if select.after <= at && at <= select.before {
                    let time = at.as_millisecond();
                    let time = select
                        .interval
                        .map_or(time, |interval| time - time.rem_euclid(interval));
                    group.entry(time).or_default().push(value);
                }
            }
        }
        let column = select.function.as_deref().unwrap_or("value");
        let mut series = Vec::new();
        for (key, points) in groups.into_iter().filter(|(_, points)| !points.is_empty()) {
            let mut values: Vec<Value> = Vec::new();
            if select.function.is_some() && select.interval.is_none() {
                let first = points.keys().next().copied().unwrap_or_default();
                let all: Vec<i64> = points.into_values().flatten().collect();
                values.push(json!([time(first, milliseconds), apply(column, &all)]));
            } else {
                for (at, all) in points {
                    match select.function {
                        Some(_) => values.push(json!([time(at, milliseconds), apply(column, &all)])),
                        None => values.extend(all.iter().map(|value| json!([time(at, milliseconds), value]))),
                    }
                }
            }
            if select.descending {
                values.reverse();
            }
            values.truncate(select.limit);
            let mut one = json!({"name": select.measurement, "columns": ["time", column], "values": values});
            if !select.by.is_empty() {
                one["tags"] = select
                    .by
                    .iter()
                    .copied()
                    .zip(key)
                    .collect::<BTreeMap<_, _>>()
                    .into_iter()
                    .collect();
            }
            series.push(one);
        }
        if series.is_empty() {
            json!({})
        } else {
            json!({"series": series})
        }
    }
}

fn table(name: &str, column: &str, values: &[&str]) -> Value {
    let values: Vec<Value> = values.iter().map(|value| json!([value])).collect();
    json!({"series": [{"name": name, "columns": [column], "values": values}]})
}

fn tag<'a>(source: &'a Source, name: &str) -> Option<&'a String> {
    match name {
        "namespace_name" => Some(&source.namespace),
        "nodename" => Some(&source.node),
        "pod_name" => Some(&source.pod),
        _ => None,
    }
}

/// Splits conditions at `AND`.
fn split_and(conditions: &str) -> Vec<&str> {
    let upper = conditions.to_ascii_uppercase();
    let (mut parts, mut start) = (Vec::new(), 0);
    for (at, joint) in upper.match_indices(" AND ") {
        parts.extend(conditions.get(start..at));
        start = at + joint.len();
    }
    parts.extend(conditions.get(start..));
    parts
}

/// Parses `90s`, `5m`, `1h`, `2d`.
fn duration(text: &str) -> Result<SignedDuration, String> {
    let wrong = || format!("invalid duration {text:?}");
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        "w" => 604_800,
        _ => return Err(wrong()),
    };
    let number: i64 = number.parse().map_err(|_| wrong())?;
    number
        .checked_mul(seconds)
        .map(SignedDuration::from_secs)
        .ok_or_else(wrong)
}

fn time(at: i64, milliseconds: bool) -> Value {
    if milliseconds {
        return at.into();
    }
    stamp(Timestamp::from_millisecond(at).unwrap_or_default()).into()
}

fn apply(function: &str, values: &[i64]) -> Value {
    let sum: i64 = values.iter().sum();
    match function {
        "count" => values.len().into(),
        "sum" => sum.into(),
        "max" => values.iter().max().copied().into(),
        "min" => values.iter().min().copied().into(),
        "first" => values.first().copied().into(),
        "last" => values.last().copied().into(),
        #[expect(clippy::cast_precision_loss, reason = "a mean is a fraction")]
        _ => json!(sum as f64 / values.len().max(1) as f64),
    }
}

impl Backend for Influx {
    fn answer(&self, request: Request<Body>) -> BoxFuture<'static, Response<Body>> {
        let response = self.respond(request.uri().path(), request.uri().query().unwrap_or_default());
        Box::pin(async move { response })
    }
}
