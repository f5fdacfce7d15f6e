//! Container logs.
//!
//! Source: Kubernetes v1.2 (`PodLogOptions` and its validation, `pkg/kubelet/dockertools`): `container`, `follow`,
//! `previous`, `sinceSeconds`, `sinceTime`, `timestamps`, `tailLines`, `limitBytes`.

use bytes::{Bytes, BytesMut};
use futures::{Stream, StreamExt, stream};
use jiff::{SignedDuration, Timestamp};
use tokio::sync::broadcast::{self, error::RecvError};

use super::options::flag;
use crate::cluster::container::Line;
use crate::{
    api::{FieldError, Path, Status},
    http::query::Query,
    profile::Profile,
};

/// Options of a log request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LogOptions {
    /// Container name; empty for the only one.
    pub(crate) container: String,
    /// Whether to stream new lines.
    pub(crate) follow: bool,
    /// Whether to return the log of the previous container.
    pub(crate) previous: bool,
    /// Time of the first line.
    since: Option<Timestamp>,
    /// Whether lines have timestamps.
    timestamps: bool,
    /// Number of lines from the end.
    tail: Option<usize>,
    /// Maximum number of bytes.
    limit: Option<usize>,
}

impl LogOptions {
    /// Parses the query of a request for pod `name` at the time `now`.
    ///
    /// # Errors
    /// A malformed or out-of-range value.
    pub(crate) fn parse(query: Query<'_>, name: &str, now: Timestamp, profile: Profile) -> Result<Self, Status> {
        let number = |field: &str| query.integer(field, profile);
        let mut errors = Vec::new();
        let mut at_least = |field: &'static str, least: i64, detail: &str| -> Result<Option<usize>, Status> {
            let value = number(field)?;
            if value.is_some_and(|value| value < least) {
                errors.push(FieldError::invalid(&Path::new(field), value, detail));
            }
            Ok(value.and_then(|value| usize::try_from(value).ok()))
        };
        let tail = at_least("tailLines", 0, "must be greater than or equal to 0")?;
        let limit = at_least("limitBytes", 1, "must be greater than 0")?;
        let seconds = at_least("sinceSeconds", 1, "must be greater than 0")?;
        let time = query.get("sinceTime").filter(|time| !time.is_empty());
        let time = time
            .map(|time| {
                time.parse::<Timestamp>()
                    .map_err(|error| profile.client_error(400, format!("invalid time {time:?}: {error}")))
            })
            .transpose()?;
        if time.is_some() && seconds.is_some() {
            errors.push(FieldError::forbidden(
                &Path::default(),
                "at most one of `sinceTime` or `sinceSeconds` may be specified",
            ));
        }
        if !errors.is_empty() {
            return Err(Status::invalid("", "PodLogOptions", name, &errors));
        }
        let ago = |seconds: usize| {
            now.saturating_sub(SignedDuration::from_secs(i64::try_from(seconds).unwrap_or(i64::MAX)))
                .unwrap_or(Timestamp::MIN)
        };
        Ok(Self {
            container: query.get("container").unwrap_or_default().into_owned(),
            follow: flag(query, "follow", false, profile)?,
            previous: flag(query, "previous", false, profile)?,
            since: time.or_else(|| seconds.map(ago)),
            timestamps: flag(query, "timestamps", false, profile)?,
            tail,
            limit,
        })
    }

    fn write(&self, line: &Line) -> Bytes {
        if !self.timestamps {
            return line.text.clone();
        }
        let mut out = BytesMut::from(format!("{} ", line.at).as_bytes());
        out.extend_from_slice(&line.text);
        out.freeze()
    }
}

/// Streams the text of a log: past lines, then `live` ones.
pub(crate) fn text(
    options: LogOptions,
    past: Vec<Line>,
    live: broadcast::Receiver<Line>,
) -> impl Stream<Item = Bytes> + Send + 'static {
    let past: Vec<Line> = past
        .into_iter()
        .filter(|line| options.since.is_none_or(|since| line.at >= since))
        .collect();
    let skipped = options.tail.map_or(0, |tail| past.len().saturating_sub(tail));
    let live = if options.follow { Some(live) } else { None };
    let live = stream::unfold(live, |live| async {
        let mut live = live?;
        loop {
            match live.recv().await {
                Ok(line) => return Some((line, Some(live))),
                // A slow reader loses lines.
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return None,
            }
        }
    });
    let limit = options.limit.unwrap_or(usize::MAX);
    let lines = stream::iter(past.into_iter().skip(skipped))
        .chain(live)
        .map(move |line| options.write(&line));
    lines.scan(limit, |left, text| {
        let text = text.slice(..text.len().min(*left));
        *left -= text.len();
        std::future::ready(if text.is_empty() { None } else { Some(text) })
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::cluster::container::process::Output;

    const NOW: &str = "2016-03-17T00:00:10Z";

    fn line(second: i64) -> Line {
        let at = Timestamp::from_second(NOW.parse::<Timestamp>().unwrap().as_second() - 10 + second).unwrap();
        Line {
            at,
            output: Output::Stdout,
            text: format!("line {second}\n").into(),
        }
    }

    async fn read(query: &str) -> Result<String, Status> {
        let options = LogOptions::parse(Query::new(query), "p", NOW.parse().unwrap(), Profile::Documented)?;
        let (sender, live) = broadcast::channel(8);
        sender.send(line(11)).unwrap();
        drop(sender);
        let pieces: Vec<Bytes> = text(options, (0..10).map(line).collect(), live).collect().await;
        Ok(String::from_utf8(pieces.concat()).unwrap())
    }

    #[rstest]
    #[case("tailLines=2", "line 8\nline 9\n")]
    #[case("tailLines=0", "")]
    #[case("tailLines=1&follow=true", "line 9\nline 11\n")]
    #[case("sinceSeconds=2", "line 8\nline 9\n")]
    #[case("sinceTime=2016-03-17T00:00:09Z", "line 9\n")]
    #[case("limitBytes=10", "line 0\nlin")]
    #[case("tailLines=1&timestamps=true", "2016-03-17T00:00:09Z line 9\n")]
    #[case(
        "sinceSeconds=99999999999999",
        "line 0\nline 1\nline 2\nline 3\nline 4\nline 5\nline 6\nline 7\nline 8\nline 9\n"
    )]
    #[tokio::test]
    async fn the_requested_lines_are_returned(#[case] query: &str, #[case] text: &str) {
        assert_eq!(read(query).await.unwrap(), text);
    }

    #[rstest]
    #[case(
        "tailLines=-1",
        "PodLogOptions \"p\" is invalid: tailLines: Invalid value: -1: must be greater than or equal to 0"
    )]
    #[case(
        "limitBytes=0",
        "PodLogOptions \"p\" is invalid: limitBytes: Invalid value: 0: must be greater than 0"
    )]
    #[case("tailLines=x", "strconv.ParseInt: parsing \"x\": invalid syntax")]
    #[tokio::test]
    async fn an_out_of_range_value_is_rejected(#[case] query: &str, #[case] message: &str) {
        assert_eq!(read(query).await.unwrap_err().message, message);
    }
}
