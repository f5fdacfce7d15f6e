//! A trial of a watch: what it tells while objects happen.

use std::time::{Duration, Instant};

use bytes::Bytes;

use super::transcript::{Before, transcript};
use super::verify;
use super::environment::{Environment, EnvironmentError};
use crate::catalog::{Profile, Case};
use crate::check::{Answer, Mismatch, Notification, Progress, judge};
use crate::request::{Media, Request};
use crate::target::Stream;

/// The status, and the code of an error in a stream, of a version that is too old.
const GONE: u16 = 410;
/// How long the head of a stream is waited for before objects begin to happen.
const HEAD: Duration = Duration::from_millis(500);
/// How long a notification that is due may take, while nothing else is told.
const EVENT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long it may take at all.
const LIMIT: Duration = Duration::from_secs(20);

/// What came of a watch.
pub(super) struct Watched {
    /// Everything that is not as the case expects.
    pub(super) found: Vec<Mismatch>,
    /// What was answered.
    pub(super) answer: Answer,
    /// Whether the target says that it has history_expired what happened since the version that the watch began at.
    pub(super) history_expired: bool,
}

/// Watches while objects happen, and judges what is told.
pub(super) async fn watch(
    environment: &Environment<'_>,
    case: &Case,
    profile: Profile,
    request: &Request,
) -> Result<Watched, EnvironmentError> {
    let before: Before = case
        .data
        .given
        .keys()
        .map(|letter| (letter.clone(), environment.versions(letter).len()))
        .collect();
    let asked = Instant::now();
    let mut acting = std::pin::pin!(act(environment, case));
    let mut opening = std::pin::pin!(environment.target().open(request));
    let mut acted = false;
    // A server may hold back the head until it has something to tell. Its request says from when on.
    let mut stream = match tokio::time::timeout(HEAD, &mut opening).await {
        Ok(stream) => stream?,
        Err(_) => {
            acting.as_mut().await?;
            acted = true;
            opening.await?
        }
    };
    let mut hearing = Hearing {
        environment,
        case,
        profile,
        before,
        received: Vec::new(),
        asked,
    };
    let found = hearing.head(&mut stream).await?;
    let mut found = match found {
        Some(found) => found,
        None => hearing.body(&mut stream, acting.as_mut(), acted).await?,
    };
    if stream.status == 200 {
        found.extend(media(&stream, profile));
    }
    let answer = Answer {
        status: stream.status,
        content_type: stream.content_type.clone(),
        headers: stream.headers.clone(),
        body: Bytes::new(),
    };
    let error = |n: &Notification| {
        n.event == "ERROR" && n.object.get("code").and_then(serde_json::Value::as_u64) == Some(u64::from(GONE))
    };
    let history_expired = stream.status == GONE || hearing.received.iter().any(error);
    Ok(Watched {
        found,
        answer,
        history_expired,
    })
}

async fn act(environment: &Environment<'_>, case: &Case) -> Result<(), EnvironmentError> {
    for action in &case.data.during {
        environment.act(action).await?;
    }
    Ok(())
}

/// The media type that a stream announces.
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

struct Hearing<'a> {
    environment: &'a Environment<'a>,
    case: &'a Case,
    profile: Profile,
    before: Before,
    received: Vec<Notification>,
    asked: Instant,
}

impl Hearing<'_> {
    /// What is wrong with the head, if anything.
    async fn head(&self, stream: &mut Stream) -> Result<Option<Vec<Mismatch>>, EnvironmentError> {
        let code = verify::expected_status(self.case, self.profile)?;
        if stream.status == code {
            return Ok(None);
        }
        let body = match tokio::time::timeout(EVENT_TIMEOUT, stream.next()).await {
            Ok(Ok(Some(value))) => value.to_string(),
            _ => String::new(),
        };
        let answer = Answer {
            status: stream.status,
            content_type: stream.content_type.clone(),
            headers: stream.headers.clone(),
            body: Bytes::from(body),
        };
        Ok(Some(vec![verify::status(code, &answer)]))
    }

    /// What is wrong with what is told, while objects happen.
    async fn body(
        &mut self,
        stream: &mut Stream,
        mut acting: std::pin::Pin<&mut impl Future<Output = Result<(), EnvironmentError>>>,
        mut acted: bool,
    ) -> Result<Vec<Mismatch>, EnvironmentError> {
        let ends = self.case.data.expect.ends;
        let timeout = self
            .case
            .data
            .query
            .get("timeoutSeconds")
            .and_then(|text| text.parse().ok())
            .map(Duration::from_secs);
        let mut deadline = tokio::time::Instant::now() + EVENT_TIMEOUT + timeout.unwrap_or_default();
        let prefix = self.environment.prefix();
        let mut unfinished = None;
        let mut news = true;
        let limit = tokio::time::Instant::now() + LIMIT + timeout.unwrap_or_default();
        loop {
            // There may be thousands of notifications of strangers between two of the trial's own.
            if std::mem::take(&mut news) {
                unfinished = match self.judged(!acted)? {
                    Progress::Wrong(found) => return Ok(found),
                    Progress::Complete if acted && !ends => return Ok(Vec::new()),
                    Progress::Complete => None,
                    Progress::Unfinished(mismatch) => Some(mismatch),
                };
            }
            tokio::select! {
                done = acting.as_mut(), if !acted => {
                    done?;
                    acted = true;
                    news = true;
                    deadline = deadline.max(tokio::time::Instant::now() + EVENT_TIMEOUT);
                }
                item = stream.next() => match item? {
                    Some(item) => {
                        let notification = match Notification::read(&item) {
                            Ok(notification) => notification,
                            Err(mismatch) => return Ok(vec![mismatch]),
                        };
                        deadline = deadline.max(tokio::time::Instant::now() + EVENT_TIMEOUT).min(limit);
                        if notification.concerns(&prefix) {
                            self.received.push(notification);
                            news = true;
                        }
                    }
                    None => return Ok(self.ended(unfinished, timeout)),
                },
                () = tokio::time::sleep_until(deadline) => {
                    let never = || Mismatch::new("stream", "to end by itself", format!("it goes on after {} s", self.asked.elapsed().as_secs()));
                    return Ok(vec![unfinished.unwrap_or_else(never)]);
                }
            }
        }
    }

    fn judged(&self, writing: bool) -> Result<Progress, EnvironmentError> {
        let of_one = self.case.operation.streams && self.case.operation.path.ends_with("{name}");
        let in_vain = of_one && !self.profile.watch_of_one_object_works(&self.case.kind.name);
        let events = self
            .case
            .data
            .expect
            .events
            .as_deref()
            .filter(|_| !in_vain)
            .unwrap_or_default();
        let told = transcript(self.environment, events, &self.before, self.profile)?;
        Ok(judge(
            &self.environment.prefix(),
            &told,
            &self.received,
            &self.environment.written(),
            writing,
        ))
    }

    /// What is wrong with a stream that has ended.
    fn ended(&self, unfinished: Option<Mismatch>, timeout: Option<Duration>) -> Vec<Mismatch> {
        if let Some(mut mismatch) = unfinished {
            mismatch.actual.push_str("(the stream ended)\n");
            return vec![mismatch];
        }
        let lasted = self.asked.elapsed();
        match timeout {
            Some(timeout) if lasted + Duration::from_millis(100) >= timeout => Vec::new(),
            Some(timeout) => vec![Mismatch::new(
                "stream",
                format!("to last {} ms", timeout.as_millis()),
                format!("it lasted {} ms", lasted.as_millis()),
            )],
            None => vec![Mismatch::new("stream", "to go on", "it ended")],
        }
    }
}
