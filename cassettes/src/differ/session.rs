//! Comparison of two sessions, interaction by interaction.

use super::align::{Aligned, align};
use super::{Comparison, Finding, Grade, body};
use crate::bindings::Bindings;
use crate::interaction::{Cassette, Data, Interaction, Outcome, Payload, Request, Response, Sender, to_millis};
use serde_json::Value;
use std::time::Duration;

/// Headers that are ignored: they differ for each response, or depend on the body.
const IGNORED_HEADERS: [&str; 5] = [
    "date",
    "content-length",
    "transfer-encoding",
    "connection",
    "keep-alive",
];

/// Two times differ if one is at least this multiple of the other, and [`MIN_TIME_DIFFERENCE`] more.
const TIME_FACTOR: u32 = 3;
const MIN_TIME_DIFFERENCE: Duration = Duration::from_millis(250);

/// Differences between two cassettes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diff {
    /// The aligned interactions.
    pub rows: Vec<Row>,
}

/// An interaction of one cassette, aligned with that of the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The interaction of the first cassette, if any.
    pub a: Option<Side>,
    /// The interaction of the second cassette, if any.
    pub b: Option<Side>,
    /// The differences.
    pub findings: Vec<Finding>,
}

/// One side of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// Number of the interaction.
    pub id: u64,
    /// Method and URL.
    pub request: String,
    /// The formatted response. Bound volatile values are those of the second cassette.
    pub response: String,
}

impl Row {
    /// Whether it is in both cassettes and has no differences except in headers and timing.
    pub fn is_same(&self) -> bool {
        let slight = |finding: &Finding| matches!(finding.grade, Grade::Header | Grade::Timing);
        self.a.is_some() && self.b.is_some() && self.findings.iter().all(slight)
    }
}

/// Compares two cassettes. The first is the expected one.
pub(crate) fn diff(a: &Cassette, b: &Cassette) -> Diff {
    let aligned = align(&asked(a), &asked(b));
    let mut bound = Bindings::default();
    let mut rows = Vec::with_capacity(aligned.len());
    for place in aligned {
        rows.extend(match place {
            Aligned::Both(m, n) => {
                let pair = a.interactions.get(m).zip(b.interactions.get(n));
                pair.map(|(one, two)| both(one, two, &mut bound))
            }
            Aligned::OnlyA(m) => a.interactions.get(m).map(|one| Row {
                a: Some(side(one, &contents(one))),
                b: None,
                findings: vec![Finding::new(Grade::Status, "only in the first")],
            }),
            Aligned::OnlyB(n) => b.interactions.get(n).map(|two| Row {
                a: None,
                b: Some(side(two, &contents(two))),
                findings: vec![Finding::new(Grade::Status, "only in the second")],
            }),
        });
    }
    Diff { rows }
}

fn asked(cassette: &Cassette) -> Vec<&Request> {
    cassette
        .interactions
        .iter()
        .map(|interaction| &interaction.request)
        .collect()
}

fn both(one: &Interaction, two: &Interaction, bound: &mut Bindings) -> Row {
    let mut found = Vec::new();
    requests(one, two, bound, &mut found);
    let (mut there, here) = (contents(one), contents(two));
    match (&one.outcome, &two.outcome) {
        (Outcome::Response(a), Outcome::Response(b)) => {
            heads(a, b, bound, &mut found);
            if there.len() != here.len() {
                let text = format!("{} frames, and {} in the first", here.len(), there.len());
                found.push(Finding::new(Grade::Shape, text));
            }
            let asked = one.request.text();
            let mut comparison = Comparison::new(bound, &asked);
            let single = there.len() == 1 && here.len() == 1;
            for (n, (a, b)) in there.iter_mut().zip(&here).enumerate() {
                let path = if single { String::new() } else { format!("frame{n}") };
                let before = comparison.found.len();
                comparison.values(&path, a, b);
                let paths: Vec<&str> = comparison
                    .found
                    .iter()
                    .skip(before)
                    .filter_map(|finding| finding.text.split(": ").next())
                    .collect();
                copy_equal_values(&path, a, b, &paths);
            }
            found.append(&mut comparison.found);
        }
        (Outcome::Failure(a), Outcome::Failure(b)) if a.kind == b.kind => {}
        (a, b) => found.push(Finding::new(
            Grade::Status,
            format!("{}, and {} in the first", outcome(b), outcome(a)),
        )),
    }
    timing(one, two, &mut found);
    Row {
        a: Some(side(one, &there)),
        b: Some(side(two, &here)),
        findings: found,
    }
}

fn requests(one: &Interaction, two: &Interaction, bound: &mut Bindings, found: &mut Vec<Finding>) {
    let value = |interaction: &Interaction| {
        let request = &interaction.request;
        body(&request.text(), request.headers.media_type())
    };
    let mut comparison = Comparison::new(bound, "");
    comparison.values("request", &value(one), &value(two));
    found.append(&mut comparison.found);
}

fn heads(a: &Response, b: &Response, bound: &Bindings, found: &mut Vec<Finding>) {
    if a.status != b.status {
        found.push(Finding::new(
            Grade::Status,
            format!("status {}, and {} in the first", b.status, a.status),
        ));
    }
    let mut names: Vec<String> = a
        .headers
        .0
        .iter()
        .chain(&b.headers.0)
        .map(|(name, _)| name.to_ascii_lowercase())
        .collect();
    names.sort();
    names.dedup();
    for name in names.iter().filter(|name| !IGNORED_HEADERS.contains(&name.as_str())) {
        let values = |response: &Response| response.headers.all(name).collect::<Vec<_>>().join(", ");
        let (there, here) = (bound.text(&values(a)), values(b));
        if there != here {
            let grade = if name == "content-type" {
                Grade::Status
            } else {
                Grade::Header
            };
            found.push(Finding::new(
                grade,
                format!("{name} {here:?}, and {there:?} in the first"),
            ));
        }
    }
    if a.cut.is_some() != b.cut.is_some() {
        let shown = |response: &Response| response.cut.clone().unwrap_or_else(|| "whole".into());
        found.push(Finding::new(
            Grade::Status,
            format!("{}, and {} in the first", shown(b), shown(a)),
        ));
    }
}

fn timing(one: &Interaction, two: &Interaction, found: &mut Vec<Finding>) {
    let (Some(a), Some(b)) = (one.took, two.took) else {
        return;
    };
    if a.abs_diff(b) > MIN_TIME_DIFFERENCE && (a > b * TIME_FACTOR || b > a * TIME_FACTOR) {
        let text = format!("{:.1} ms, and {:.1} ms in the first", to_millis(b), to_millis(a));
        found.push(Finding::new(Grade::Timing, text));
    }
}

fn outcome(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Response(response) => format!("status {}", response.status),
        Outcome::Failure(failure) => format!("no response ({})", failure.kind.name()),
    }
}

/// The values of a response: its body, frames or messages.
fn contents(interaction: &Interaction) -> Vec<Value> {
    let Some(response) = interaction.response() else {
        return Vec::new();
    };
    let text = |bytes: &[u8]| match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => format!("{} bytes, the sum of which is {}", bytes.len(), sum(bytes)),
    };
    match &response.payload {
        Payload::Body(bytes) => vec![body(&text(bytes), response.headers.media_type())],
        Payload::Stream(frames) => frames.iter().map(|frame| body(&text(&frame.data), "")).collect(),
        Payload::Messages(messages) => {
            let from_server = messages.iter().filter(|message| message.from == Sender::Server);
            let said = from_server.filter_map(|message| match &message.data {
                Data::Text(text) => Some(body(text, "")),
                Data::Binary(bytes) => Some(body(&text(bytes), "")),
                Data::Ping(_) | Data::Pong(_) | Data::Close(_) => None,
            });
            said.collect()
        }
    }
}

/// FNV-1a hash, to distinguish binary bodies.
fn sum(bytes: &[u8]) -> String {
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    format!("{:016x}", bytes.iter().fold(0xcbf2_9ce4_8422_2325, step))
}

/// Replaces equal volatile values with those of the second cassette, so that only differences are shown.
fn copy_equal_values(path: &str, a: &mut Value, b: &Value, differing: &[&str]) {
    let own = if path.is_empty() { "body" } else { path };
    let within = |known: &&str| {
        let root = path.is_empty() || *known == own;
        root || known
            .strip_prefix(path)
            .is_some_and(|rest| rest.starts_with(['.', '[']))
    };
    if !differing.iter().any(within) {
        *a = b.clone();
        return;
    }
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            for (key, value) in a {
                if let Some(other) = b.get(key) {
                    copy_equal_values(&format!("{path}.{key}"), value, other, differing);
                }
            }
        }
        (Value::Array(a), Value::Array(b)) => {
            for (n, (value, other)) in a.iter_mut().zip(b).enumerate() {
                copy_equal_values(&format!("{path}[{n}]"), value, other, differing);
            }
        }
        _ => {}
    }
}

fn side(interaction: &Interaction, contents: &[Value]) -> Side {
    let request = &interaction.request;
    let mut response = outcome(&interaction.outcome);
    if let Some(media_type) = interaction
        .response()
        .and_then(|response| response.headers.get("content-type"))
    {
        response.push_str(&format!(" {media_type}"));
    }
    for value in contents {
        response.push('\n');
        match value {
            Value::String(text) => response.push_str(text.trim_end_matches('\n')),
            value => response.push_str(&format!("{value:#}")),
        }
    }
    response.push('\n');
    Side {
        id: interaction.id,
        request: format!("{} {}", request.method, request.url),
        response,
    }
}
