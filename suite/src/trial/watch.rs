//! A trial of a watch: compares the events that it streams while objects change.

use std::pin::Pin;
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::Value;
use tokio::time::Instant as Deadline;

use super::environment::Environment;
use super::environment_error::EnvironmentError;
use super::transcript::{Before, Transcript};
use super::verify;
use crate::catalog::profile::ExpectedStatus;
use crate::catalog::{Level, Profile};
use crate::check::{Answer, Mismatch, Notification, Progress, StreamRules, WrittenObjects, compare_events};
use crate::request::{Media, Request};
use crate::target::{Stream, TargetError};

/// Status, and code of an ERROR event, for a version that is too old.
const GONE: u16 = 410;
/// Time limit for the response head before the actions start.
const HEAD_TIMEOUT: Duration = Duration::from_millis(500);
/// Time limit for an expected event while no other arrives. If the actions took longer (on a busy machine), their
/// duration.
const EVENT_TIMEOUT: Duration = Duration::from_secs(5);
/// Time limit for all expected events.
const TOTAL_TIMEOUT: Duration = Duration::from_secs(20);
/// Number of events up to which each is compared on arrival, and the pause between comparisons after that.
const FEW_EVENTS: usize = 20;
const COMPARE_INTERVAL: Duration = Duration::from_millis(100);
/// How long a complete stream is watched for unexpected events.
const EXTRA_EVENTS_TIMEOUT: Duration = Duration::from_millis(30);
/// How much earlier and later than its `timeoutSeconds` a watch may end.
const EARLY_TOLERANCE: Duration = Duration::from_millis(100);
const LATE_TOLERANCE: Duration = Duration::from_secs(4);

/// Result of a watch.
pub(super) struct Watched {
    /// Mismatches of the stream.
    pub(super) found: Vec<Mismatch>,
    /// Response head of the stream.
    pub(super) answer: Answer,
    /// The target no longer keeps the start version of the watch, or has ended a watch that fell behind the writes of
    /// other clients.
    pub(super) history_expired: bool,
}

/// Watches while the case's actions run, and compares the events with the expected ones.
pub(super) async fn watch(
    environment: &Environment<'_>,
    profile: Profile,
    request: &Request,
) -> Result<Watched, EnvironmentError> {
    let data = &environment.case().data;
    let versions = |letter: &String| (letter.clone(), environment.versions(letter).len());
    let before: Before = data.given.keys().map(versions).collect();
    let written_before = environment.written();
    let asked = Instant::now();
    let mut acting = std::pin::pin!(act(environment));
    let mut opening = std::pin::pin!(open(environment, request));
    let mut acted = false;
    // Some servers send the response head only with the first event.
    let mut stream = match tokio::time::timeout(HEAD_TIMEOUT, &mut opening).await {
        Ok(stream) => stream?,
        Err(_) => {
            acting.as_mut().await?;
            acted = true;
            opening.await?
        }
    };
    let seconds = data.query.get("timeoutSeconds").and_then(|text| text.parse().ok());
    let mut watcher = Watcher {
        environment,
        profile,
        before,
        written_before,
        received: Vec::new(),
        asked,
        timeout: seconds.map(Duration::from_secs),
        was_ended: false,
    };
    let expected = verify::expected_status(environment.case(), profile)?;
    let mut found = if expected.accepts(stream.status) {
        watcher.events(&mut stream, acting.as_mut(), acted).await?
    } else {
        vec![refusal(expected, &mut stream).await]
    };
    if stream.status == 200 {
        found.extend(media(&stream, profile));
        found.extend(layout(&stream, request));
    }
    let error =
        |n: &Notification| n.event == "ERROR" && n.object.get("code").and_then(Value::as_u64) == Some(u64::from(GONE));
    let fell_behind = watcher.was_ended && !environment.target().is_own();
    let history_expired = stream.status == GONE || watcher.received.iter().any(error) || fell_behind;
    Ok(Watched {
        found,
        answer: head(&stream, Bytes::new()),
        history_expired,
    })
}

async fn open(environment: &Environment<'_>, request: &Request) -> Result<Stream, TargetError> {
    match &environment.case().data.socket {
        Some(wanted) => environment.target().open_socket(request, wanted).await,
        None => environment.target().open(request).await,
    }
}

async fn act(environment: &Environment<'_>) -> Result<(), EnvironmentError> {
    for action in &environment.case().data.during {
        environment.act(action).await?;
    }
    Ok(())
}

fn head(stream: &Stream, body: Bytes) -> Answer {
    Answer {
        status: stream.status,
        content_type: stream.content_type.clone(),
        headers: stream.headers.clone(),
        body,
    }
}

/// Returns the mismatch of a stream whose status is not the expected one.
async fn refusal(expected: ExpectedStatus, stream: &mut Stream) -> Mismatch {
    let body = match tokio::time::timeout(EVENT_TIMEOUT, stream.next()).await {
        Ok(Ok(Some(value))) => value.to_string(),
        _ => String::new(),
    };
    verify::status(expected, &head(stream, Bytes::from(body)))
}

/// Checks the media type of a stream.
fn media(stream: &Stream, profile: Profile) -> Option<Mismatch> {
    let came = stream.content_type.as_deref();
    match (profile.watch_media(), came) {
        (None, None) => None,
        (Some(_), Some(came)) if Media::of(came) == Some(Media::Json) => None,
        (wanted, _) => Some(Mismatch::new(
            "content type",
            wanted.unwrap_or("none"),
            came.unwrap_or("none"),
        )),
    }
}

/// Checks the layout of a stream, which clients read line by line.
fn layout(stream: &Stream, request: &Request) -> Option<Mismatch> {
    let compact = !request.query.iter().any(|(name, _)| name == "pretty");
    let wrong = compact && !stream.is_of_lines();
    wrong.then(|| Mismatch::new("layout of the stream", "one line per item", "another layout").at(Level::Should))
}

struct Watcher<'a> {
    environment: &'a Environment<'a>,
    profile: Profile,
    before: Before,
    written_before: WrittenObjects,
    received: Vec<Notification>,
    asked: Instant,
    timeout: Option<Duration>,
    /// Whether the stream ended before all expected events.
    was_ended: bool,
}

impl Watcher<'_> {
    /// Returns the mismatches of the events that arrive while the actions run.
    async fn events(
        &mut self,
        stream: &mut Stream,
        mut acting: Pin<&mut impl Future<Output = Result<(), EnvironmentError>>>,
        mut acted: bool,
    ) -> Result<Vec<Mismatch>, EnvironmentError> {
        let ends = self.environment.case().data.expect.ends;
        let prefix = self.environment.prefix();
        let mut deadline = Deadline::now() + EVENT_TIMEOUT + self.timeout.unwrap_or_default();
        let mut limit = Deadline::now() + TOTAL_TIMEOUT + self.timeout.unwrap_or_default();
        let mut event_timeout = EVENT_TIMEOUT;
        let mut unfinished = None;
        let mut extended = false;
        let mut has_news = true;
        let mut complete = false;
        let mut compared = Instant::now();
        loop {
            // Many events may arrive at once. Comparing after each would take too long.
            if has_news && (self.received.len() < FEW_EVENTS || compared.elapsed() > COMPARE_INTERVAL) {
                has_news = false;
                compared = Instant::now();
                unfinished = match self.progress(!acted)? {
                    Progress::Wrong(found) => return Ok(found),
                    Progress::Complete => {
                        if acted && !ends && !complete {
                            complete = true;
                            deadline = Deadline::now() + EXTRA_EVENTS_TIMEOUT;
                        }
                        None
                    }
                    Progress::Unfinished(mismatch) => Some(mismatch),
                };
            }
            // Biased, so that received events count even if comparing took longer than the deadline.
            tokio::select! {
                biased;
                done = acting.as_mut(), if !acted => {
                    done?;
                    acted = true;
                    has_news = true;
                    event_timeout = EVENT_TIMEOUT.max(self.asked.elapsed()).min(TOTAL_TIMEOUT);
                    deadline = deadline.max(Deadline::now() + event_timeout);
                    limit = limit.max(Deadline::now() + TOTAL_TIMEOUT);
                }
                item = stream.next() => match item {
                    Err(error) if error.is_of_answer() => {
                        return Ok(vec![Mismatch::new("stream", "complete items", error.to_string())]);
                    }
                    Err(error) => return Err(error.into()),
                    Ok(Some(item)) => {
                        let notification = match Notification::read(&item) {
                            Ok(notification) => notification,
                            Err(mismatch) => return Ok(vec![mismatch]),
                        };
                        if !complete {
                            deadline = deadline.max(Deadline::now() + event_timeout).min(limit);
                        }
                        if notification.concerns(&prefix) {
                            self.received.push(notification);
                            has_news = true;
                        }
                    }
                    Ok(None) if complete => return Ok(Vec::new()),
                    Ok(None) => return Ok(self.ended(unfinished)),
                },
                () = tokio::time::sleep(COMPARE_INTERVAL), if has_news => {}
                // Requests have a separate time limit.
                () = tokio::time::sleep_until(deadline), if acted => {
                    if complete {
                        return Ok(Vec::new());
                    }
                    if let Some(extra) = self.environment.extra_wait_once(&mut extended).await {
                        deadline = Deadline::now() + extra;
                        limit = limit.max(deadline);
                        continue;
                    }
                    let never = || {
                        let actual = format!("still open after {} s", self.asked.elapsed().as_secs());
                        Mismatch::new("stream", "to be closed by the server", actual)
                    };
                    return Ok(vec![unfinished.unwrap_or_else(never)]);
                }
            }
        }
    }

    fn progress(&self, writing: bool) -> Result<Progress, EnvironmentError> {
        let case = self.environment.case();
        let of_one = case.operation.streams && case.operation.path.ends_with("{name}");
        let silent = of_one && !self.profile.watch_of_one_object_works(&case.kind.name);
        let descriptions = case
            .data
            .expect
            .events
            .as_deref()
            .filter(|_| !silent)
            .unwrap_or_default();
        let transcript = Transcript {
            environment: self.environment,
            before: &self.before,
            profile: self.profile,
        };
        let rules = StreamRules {
            writing,
            lags: self.profile.watch_may_lag(),
            modified_first: self.profile.watch_may_begin_with_modified(&case.kind.name),
        };
        Ok(compare_events(
            &self.environment.prefix(),
            &transcript.events(descriptions)?,
            &self.received,
            &self.environment.written(),
            &self.written_before,
            rules,
        ))
    }

    /// Returns the mismatches of a stream that has ended.
    fn ended(&mut self, unfinished: Option<Mismatch>) -> Vec<Mismatch> {
        if let Some(mut mismatch) = unfinished {
            self.was_ended = true;
            mismatch.actual.push_str("(the stream ended)\n");
            return vec![mismatch];
        }
        let lasted = self.asked.elapsed();
        let actual = format!("closed after {} ms", lasted.as_millis());
        match self.timeout {
            Some(timeout) if lasted + EARLY_TOLERANCE < timeout => {
                vec![Mismatch::new(
                    "stream",
                    format!("to stay open for {} ms", timeout.as_millis()),
                    actual,
                )]
            }
            Some(timeout) if lasted > timeout + LATE_TOLERANCE => {
                let expected = format!("to be closed by the server after {} ms", timeout.as_millis());
                vec![Mismatch::new("stream", expected, actual).at(Level::Should)]
            }
            Some(_) => Vec::new(),
            None => vec![Mismatch::new("stream", "to stay open", "closed by the server")],
        }
    }
}
