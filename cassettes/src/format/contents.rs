//! Table of contents of a cassette.

use crate::interaction::terminal::line;
use crate::interaction::{Cassette, Data, Interaction, Outcome, Payload, to_millis};

/// Formats the header of a cassette and one line per interaction.
pub(crate) fn contents(cassette: &Cassette) -> String {
    let header = &cassette.header;
    let mut out = String::new();
    let mut say = |label: &str, value: Option<&str>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            out.push_str(&format!("{label:<12}{}\n", line(value)));
        }
    };
    say("about", header.comment.as_deref());
    say("recorded", Some(&header.recorded.to_string()));
    say(
        "by",
        Some(&format!("{} {}", header.recorder.name, header.recorder.version)),
    );
    say("upstream", header.upstream.as_deref());
    say("version", header.upstream_version.as_deref());
    say("profile", header.profile.as_deref());
    say("redacted", Some(&header.redactions.join(", ")));
    say("holds", Some(&held(cassette)));
    out.push('\n');
    let start = cassette.interactions.first().map(|first| first.started);
    for interaction in &cassette.interactions {
        let since = start.map_or(0.0, |start| interaction.started.duration_since(start).as_secs_f64());
        let request = &interaction.request;
        let shown = format!(
            "{:>5}  {since:>9.3} s  {:<7} {:<4} {}  {}",
            interaction.id,
            request.method,
            status(interaction),
            request.url,
            rest(interaction)
        );
        out.push_str(line(&shown).trim_end());
        out.push('\n');
    }
    out
}

fn held(cassette: &Cassette) -> String {
    let all = &cassette.interactions;
    let count = |what: fn(&Interaction) -> bool| all.iter().filter(|each| what(each)).count();
    format!(
        "{} interactions, {} of them streams, {} upgraded, {} without a response",
        all.len(),
        count(|each| each.frames().is_some()),
        count(|each| each.messages().is_some()),
        count(|each| each.response().is_none())
    )
}

fn status(interaction: &Interaction) -> String {
    interaction
        .response()
        .map_or_else(|| "-".into(), |response| response.status.to_string())
}

fn rest(interaction: &Interaction) -> String {
    let mut parts = Vec::new();
    match &interaction.outcome {
        Outcome::Failure(failure) => parts.push(format!("[{}: {}]", failure.kind.name(), failure.text)),
        Outcome::Response(response) => {
            match &response.payload {
                Payload::Stream(frames) => parts.push(format!("[{} frames]", frames.len())),
                Payload::Messages(messages) => {
                    let content = |data: &Data| matches!(data, Data::Text(_) | Data::Binary(_));
                    let count = messages.iter().filter(|message| content(&message.data)).count();
                    parts.push(format!("[{count} messages]"));
                }
                Payload::Body(bytes) => parts.push(format!("[{} bytes]", bytes.len())),
            }
            if let Some(cut) = &response.cut {
                parts.push(format!("[cut short: {cut}]"));
            }
        }
    }
    match interaction.took {
        Some(took) => parts.push(format!("[{:.1} ms]", to_millis(took))),
        None => parts.push("[not ended]".into()),
    }
    parts.extend(interaction.note.clone());
    parts.join(" ")
}
