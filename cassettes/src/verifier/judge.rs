//! Verdicts on responses.

use super::documented::{Expected, documented, recorded};
use super::player::LiveResponse;
use super::watch::{outcome, sort_initial_frames, start, watching};
use super::{DOCUMENTED, RECORDED, Verdict};
use crate::bindings::Bindings;
use crate::differ::{Comparison, Finding, Grade, body, short};
use crate::interaction::{Data, Interaction, Message, Outcome, Response, Sender, to_millis};
use serde_json::{Value, json};
use std::time::Duration;

/// Headers that affect the verdict.
const JUDGED_HEADERS: [&str; 4] = ["location", "www-authenticate", "set-cookie", "content-encoding"];

/// Headers that are ignored.
const IGNORED_HEADERS: [&str; 6] = [
    "content-type",
    "content-length",
    "date",
    "server",
    "connection",
    "transfer-encoding",
];

/// Maximum delay of a frame compared with its recorded time.
const MAX_DELAY: Duration = Duration::from_millis(1500);

/// Judges the responses of a session in order.
pub(super) struct Judge {
    profile: String,
    /// Whether recorded responses are replaced with those that the documents expect.
    translate: bool,
    pub(super) bound: Bindings,
}

impl Judge {
    pub(super) fn new(profile: &str, of_cassette: &str) -> Self {
        let translate = profile == DOCUMENTED && of_cassette != DOCUMENTED;
        Self {
            profile: profile.to_owned(),
            translate,
            bound: Bindings::default(),
        }
    }

    /// Whether an interaction applies to this profile.
    pub(super) fn concerns(&self, interaction: &Interaction) -> bool {
        interaction.marks.only.as_ref().is_none_or(|only| *only == self.profile)
    }

    pub(super) fn verdict(&mut self, interaction: &Interaction, got: &LiveResponse) -> Verdict {
        let mut found = match &interaction.outcome {
            Outcome::Response(response) => self.findings(interaction, response, got),
            Outcome::Failure(failure) if got.status != 0 && interaction.marks.unjudged.is_none() => {
                let text = format!("status {}, recorded no response ({})", got.status, failure.text);
                vec![Finding::new(Grade::Status, text)]
            }
            Outcome::Failure(_) => Vec::new(),
        };
        if interaction.marks.text_varies {
            found.retain(|finding| finding.grade != Grade::Text);
        }
        Verdict::new(interaction, found)
    }

    fn findings(&mut self, interaction: &Interaction, response: &Response, got: &LiveResponse) -> Vec<Finding> {
        let bytes = response.payload.bytes();
        let text = String::from_utf8_lossy(&bytes);
        let original = text.clone();
        let expected = match self.translate {
            true => documented(interaction, response.status, text),
            false => Some(recorded(response.status, text)),
        };
        let Some(expected) = expected else {
            // Not judged, but its bindings are needed later.
            let (there, here) = (body(&original, "application/json"), body(&got.text, "application/json"));
            Comparison::new(&mut self.bound, "").values("", &there, &here);
            return Vec::new();
        };
        if interaction.marks.unjudged.is_some() {
            return Vec::new();
        }
        let Some(status) = expected.status else {
            return judge_client_error(got);
        };
        let stream = watching(interaction) && response.status == 200;
        let media_type = match self.profile.as_str() {
            DOCUMENTED if stream => "application/json",
            RECORDED if stream => "",
            _ => response.headers.media_type(),
        };
        let mut found = Vec::new();
        if got.status != status {
            found.push(Finding::new(
                Grade::Status,
                format!("status {}, recorded {status}", got.status),
            ));
        }
        if got.media_type != media_type {
            let text = format!("media type {:?}, recorded {media_type:?}", got.media_type);
            found.push(Finding::new(Grade::Status, text));
        }
        self.headers(response, got, &mut found);
        timing(interaction, got, &mut found);
        let asked = interaction.request.text();
        let mut comparison = Comparison::new(&mut self.bound, &asked);
        if let Some(messages) = interaction.messages() {
            compare_messages(
                &mut comparison,
                messages,
                got,
                start(interaction.request.query()).is_none(),
            );
        } else if stream {
            compare_frames(
                &mut comparison,
                &expected,
                got,
                start(&interaction.request.url).is_none(),
            );
        } else {
            let deleted = self.profile == DOCUMENTED && interaction.request.method == "DELETE";
            compare_bodies(&mut comparison, &expected, got, media_type, deleted);
        }
        found.append(&mut comparison.found);
        found
    }

    fn headers(&self, response: &Response, got: &LiveResponse, found: &mut Vec<Finding>) {
        for name in JUDGED_HEADERS {
            let wanted = self.bound.text(response.headers.last(name).unwrap_or_default());
            let given = got.headers.last(name).unwrap_or_default();
            if wanted != given {
                found.push(Finding::new(
                    Grade::Status,
                    format!("{name} {given:?}, recorded {wanted:?}"),
                ));
            }
        }
        for (name, wanted) in &response.headers.0 {
            let known = |names: &[&str]| names.iter().any(|other| other.eq_ignore_ascii_case(name));
            if known(&JUDGED_HEADERS) || known(&IGNORED_HEADERS) || got.status == 0 {
                continue;
            }
            let given = got.headers.last(name);
            if given != Some(wanted.as_str()) {
                let given = given.unwrap_or("(none)");
                found.push(Finding::new(
                    Grade::Header,
                    format!("{name} {given:?}, recorded {wanted:?}"),
                ));
            }
        }
    }
}

/// Judges the response to a client error that the recorded server reports as an internal error: any 4xx `Status` is
/// right.
fn judge_client_error(got: &LiveResponse) -> Vec<Finding> {
    let kind = body(&got.text, &got.media_type);
    let is_status = kind.get("kind").and_then(Value::as_str) == Some("Status");
    if (400..500).contains(&got.status) && is_status {
        return Vec::new();
    }
    let shown = short(&Value::String(got.text.clone()));
    vec![Finding::new(
        Grade::Status,
        format!("status {}, wanted a 4xx Status: {shown}", got.status),
    )]
}

fn timing(interaction: &Interaction, got: &LiveResponse, found: &mut Vec<Finding>) {
    let took = interaction.took.unwrap_or_default();
    if let Some(first) = interaction.frames().and_then(|frames| frames.first()) {
        let came = got.first.unwrap_or(got.took);
        if first.at + MAX_DELAY < took && got.took > MAX_DELAY && came + Duration::from_millis(500) > got.took {
            found.push(Finding::new(
                Grade::Status,
                "frames were held back until the stream ended",
            ));
        } else if got.first.is_some() && came > first.at + MAX_DELAY {
            let text = format!(
                "the first frame came after {:.1} s, recorded {:.1} s",
                came.as_secs_f64(),
                first.at.as_secs_f64()
            );
            found.push(Finding::new(Grade::Status, text));
        }
    }
    if got.status != 0 && interaction.took.is_some() && got.took > took * 10 + Duration::from_secs(1) {
        let text = format!("took {:.0} ms, recorded {:.0} ms", to_millis(got.took), to_millis(took));
        found.push(Finding::new(Grade::Timing, text));
    }
}

fn compare_frames(comparison: &mut Comparison<'_>, expected: &Expected<'_>, got: &LiveResponse, from_now: bool) {
    let frames = |text: &str| -> Vec<Value> {
        text.lines()
            .filter(|line| !line.trim().is_empty())
            .map(|line| body(line, "application/json"))
            .collect()
    };
    let (mut there, mut here) = (frames(&expected.text), frames(&got.text));
    if expected.outcome {
        (there, here) = (outcome(&there), outcome(&here));
    } else if from_now {
        (there, here) = (sort_initial_frames(there), sort_initial_frames(here));
    }
    compare_lists(comparison, "frame", &there, &here);
}

fn compare_lists(comparison: &mut Comparison<'_>, what: &str, there: &[Value], here: &[Value]) {
    if there.len() != here.len() {
        let text = format!(
            "{} {what}s, recorded {}: {} for {}",
            here.len(),
            there.len(),
            types(here),
            types(there)
        );
        comparison.found.push(Finding::new(Grade::Shape, text));
    }
    for (n, (recorded, live)) in there.iter().zip(here).enumerate() {
        comparison.values(&format!("{what}{n}"), recorded, live);
    }
}

fn compare_messages(comparison: &mut Comparison<'_>, messages: &[Message], got: &LiveResponse, from_now: bool) {
    let contents = |messages: &[Message]| -> Vec<Value> {
        let from_server = messages.iter().filter(|message| message.from == Sender::Server);
        from_server.filter_map(|message| content(&message.data)).collect()
    };
    let (mut there, mut here) = (contents(messages), contents(&got.messages));
    if from_now {
        (there, here) = (sort_initial_frames(there), sort_initial_frames(here));
    }
    compare_lists(comparison, "message", &there, &here);
}

/// The compared content of a message. Pings and closes are not compared.
fn content(data: &Data) -> Option<Value> {
    match data {
        Data::Text(text) => Some(body(text, "application/json")),
        Data::Binary(bytes) => Some(match std::str::from_utf8(bytes) {
            Ok(text) => body(text, "application/json"),
            Err(_) => json!({ "bytes": bytes.to_vec() }),
        }),
        Data::Ping(_) | Data::Pong(_) | Data::Close(_) => None,
    }
}

fn compare_bodies(
    comparison: &mut Comparison<'_>,
    expected: &Expected<'_>,
    got: &LiveResponse,
    media_type: &str,
    documented_delete: bool,
) {
    let mut there = body(&expected.text, media_type);
    let mut here = body(&got.text, &got.media_type);
    if let Some(kind) = expected.kind {
        there = kind.into();
        if here.is_object() {
            here = here.get("kind").cloned().unwrap_or_default();
        }
    }
    let is = |value: &Value, key: &str, text: &str| value.get(key).and_then(Value::as_str) == Some(text);
    if documented_delete && is(&there, "status", "Success") && is(&here, "kind", "Status") {
        there = json!({"kind": "Status", "status": "Success"});
        here = json!({"kind": here.get("kind"), "status": here.get("status")});
    }
    comparison.values("", &there, &here);
    let lines = |text: &str| text.trim().contains('\n');
    if media_type == "application/json" && there.is_object() && lines(&expected.text) != lines(&got.text) {
        comparison
            .found
            .push(Finding::new(Grade::Text, "pretty-printed or not: not as recorded"));
    }
}

fn types(frames: &[Value]) -> String {
    let name = |frame: &Value| match frame {
        Value::Object(frame) => frame.get("type").and_then(Value::as_str).unwrap_or("none").to_owned(),
        other => short(other),
    };
    let mut names: Vec<String> = frames.iter().take(8).map(name).collect();
    if frames.len() > 8 {
        names.push("...".into());
    }
    if names.is_empty() {
        "none".into()
    } else {
        names.join(" ")
    }
}
