//! The record of a log line, in the format of bulk requests.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use bytes::Bytes;
use jiff::{Timestamp, tz::Offset};
use md5::{Digest, Md5};
use serde::Serialize;

use crate::cluster::container::{Line, Output};

/// Prefix of the names of the daily indices.
const INDEX_PREFIX: &str = "logstash";
/// Type of the documents.
const TYPE: &str = "fluentd";
/// First part of the tags.
const TAG_PREFIX: &str = "kubernetes";

#[derive(Serialize)]
struct Action<'a> {
    index: Address<'a>,
}

#[derive(Serialize)]
struct Address<'a> {
    #[serde(rename = "_index")]
    index: &'a str,
    #[serde(rename = "_type")]
    doc_type: &'a str,
    #[serde(rename = "_id")]
    id: &'a str,
}

#[derive(Serialize)]
struct Record<'a> {
    log: &'a str,
    stream: &'a str,
    tag: &'a str,
    #[serde(rename = "@timestamp")]
    timestamp: String,
}

/// The source of the lines of a container.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    /// `kubernetes.POD_NAMESPACE_CONTAINER`.
    pub(super) tag: String,
    /// Prefix of the ids of its lines.
    id: String,
}

impl Origin {
    /// Creates the origin of a container's lines; `instance` is unique for each container.
    pub(super) fn new(pod: &str, namespace: &str, container: &str, instance: &str) -> Self {
        let digest = Md5::digest(instance.as_bytes());
        Self {
            tag: format!("{TAG_PREFIX}.{pod}_{namespace}_{container}"),
            id: BASE64_URL_SAFE_NO_PAD.encode(digest.get(..9).unwrap_or_default()),
        }
    }

    /// Returns the bulk entry of the line at `position`. The id depends on the position, so that a line sent twice is
    /// stored once.
    pub(super) fn entry(&self, position: u64, line: &Line) -> Bytes {
        let (index, timestamp) = (index(line.at), timestamp(line.at));
        let text = String::from_utf8_lossy(&line.text);
        let action = Action {
            index: Address {
                index: &index,
                doc_type: TYPE,
                id: &format!("{}{position:08x}", self.id),
            },
        };
        let record = Record {
            log: &text,
            stream: match line.output {
                Output::Stdout => "stdout",
                Output::Stderr => "stderr",
            },
            tag: &self.tag,
            timestamp,
        };
        let mut entry = Vec::with_capacity(256 + text.len());
        // Writing to memory cannot fail.
        let _ = serde_json::to_writer(&mut entry, &action);
        entry.push(b'\n');
        let _ = serde_json::to_writer(&mut entry, &record);
        entry.push(b'\n');
        entry.into()
    }
}

/// Returns the index of the day: `logstash-2016.03.01`.
fn index(at: Timestamp) -> String {
    let day = Offset::UTC.to_datetime(at).date();
    format!("{INDEX_PREFIX}-{:04}.{:02}.{:02}", day.year(), day.month(), day.day())
}

/// Formats a time as ISO 8601 with milliseconds and offset: `2016-03-01T00:00:00.250+00:00`.
fn timestamp(at: Timestamp) -> String {
    let time = Offset::UTC.to_datetime(at);
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}+00:00",
        time.year(),
        time.month(),
        time.day(),
        time.hour(),
        time.minute(),
        time.second(),
        time.millisecond()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_the_documented_fields_and_the_index_of_its_day() {
        let origin = Origin::new("web-x7", "shop", "nginx", "uid/nginx/0");
        let line = Line {
            at: "2016-02-29T23:59:59.25Z".parse().unwrap(),
            output: Output::Stderr,
            text: "it's \"5\"\n".into(),
        };
        let entry = origin.entry(11, &line);
        let mut parts = entry.split(|byte| *byte == b'\n');
        let action: serde_json::Value = serde_json::from_slice(parts.next().unwrap()).unwrap();
        assert_eq!(action["index"]["_index"], "logstash-2016.02.29");
        assert_eq!(action["index"]["_type"], "fluentd");
        let record: serde_json::Value = serde_json::from_slice(parts.next().unwrap()).unwrap();
        let expected = serde_json::json!({
            "log": "it's \"5\"\n",
            "stream": "stderr",
            "tag": "kubernetes.web-x7_shop_nginx",
            "@timestamp": "2016-02-29T23:59:59.250+00:00",
        });
        assert_eq!(record, expected);
        assert_eq!(origin.entry(11, &line), entry);
        assert_ne!(origin.entry(12, &line), entry);
    }
}
