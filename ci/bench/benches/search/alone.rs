//! tantivy alone, with one index per day.

use std::ops::Bound;
use std::time::{Duration, Instant};

use serde_json::Value;
use tantivy::aggregation::AggregationCollector;
use tantivy::aggregation::agg_req::Aggregations;
use tantivy::collector::{Count, TopDocs};
use tantivy::query::{PhraseQuery, Query, RangeQuery, RegexQuery, TermQuery};
use tantivy::schema::{FAST, Field, INDEXED, IndexRecordOption, STORED, STRING, Schema, TEXT};
use tantivy::{DateTime, Index, IndexWriter, Searcher, TantivyDocument, Term};

use super::corpus::Line;
use super::share;

struct Fields {
    log: Field,
    stream: Field,
    tag: Field,
    all: Field,
    time: Field,
    id: Field,
    source: Field,
}

/// The indices of seven days.
pub(crate) struct Days {
    fields: Fields,
    searchers: Vec<Searcher>,
    /// Time that indexing took.
    pub(crate) took: Duration,
}

impl Days {
    pub(crate) fn new(threads: usize, lines: &[Line]) -> Days {
        let mut builder = Schema::builder();
        let fields = Fields {
            log: builder.add_text_field("log", TEXT),
            stream: builder.add_text_field("stream", TEXT),
            tag: builder.add_text_field("tag", TEXT),
            all: builder.add_text_field("_all", TEXT),
            time: builder.add_date_field("time", INDEXED | FAST),
            id: builder.add_text_field("_id", STRING),
            source: builder.add_bytes_field("_source", STORED),
        };
        let schema = builder.build();
        let began = Instant::now();
        let mut searchers = Vec::new();
        for lines in lines.chunk_by(|a, b| a.index == b.index) {
            let index = Index::create_in_ram(schema.clone());
            let mut writer: IndexWriter = index
                .writer_with_num_threads(threads, 50_000_000 * threads)
                .expect("no index writer");
            share(threads, lines, |part| {
                for line in part {
                    let value: Value = serde_json::from_str(&line.source).expect("JSON");
                    let mut document = TantivyDocument::default();
                    let mut text = |field: Field, key: &str| {
                        let value = value[key].as_str().unwrap_or("");
                        document.add_text(field, value);
                        document.add_text(fields.all, value);
                    };
                    text(fields.log, "log");
                    text(fields.stream, "stream");
                    text(fields.tag, "tag");
                    document.add_text(fields.all, value["@timestamp"].as_str().unwrap_or(""));
                    let time: jiff::Timestamp = value["@timestamp"]
                        .as_str()
                        .and_then(|text| text.parse().ok())
                        .expect("invalid time");
                    document.add_date(fields.time, DateTime::from_timestamp_millis(time.as_millisecond()));
                    document.add_text(fields.id, line.id());
                    document.add_bytes(fields.source, line.source.as_bytes());
                    writer.add_document(document).expect("cannot add a document");
                }
            });
            writer.commit().expect("commit failed");
            writer.wait_merging_threads().expect("merge failed");
            searchers.push(index.reader().expect("no index reader").searcher());
        }
        Days {
            fields,
            searchers,
            took: began.elapsed(),
        }
    }

    /// Searches all days. Returns the time and the number of documents.
    pub(crate) fn ask(&self, kind: &str, words: &[&str; 2], day: i64) -> (Duration, u64) {
        let log = |word: &str| Term::from_field_text(self.fields.log, word);
        let term = || TermQuery::new(log(words[0]), IndexRecordOption::WithFreqs);
        let query: Box<dyn Query> = match kind {
            "phrase" => Box::new(PhraseQuery::new(vec![log(words[0]), log(words[1])])),
            "wildcard" => Box::new(
                RegexQuery::from_pattern(&format!("{}.*", &words[0][..3]), self.fields.log).expect("invalid pattern"),
            ),
            "date range" => {
                let at = |day: i64, hour: i64| {
                    Term::from_field_date(
                        self.fields.time,
                        DateTime::from_timestamp_millis(1_434_931_200_000 + (day - 22) * 86_400_000 + hour * 3_600_000),
                    )
                };
                Box::new(RangeQuery::new(
                    Bound::Included(at(day, 6)),
                    Bound::Included(at(day + 1, 18)),
                ))
            }
            _ => Box::new(term()),
        };
        let began = Instant::now();
        let mut count = 0;
        if kind == "date histogram" {
            let wanted: Aggregations =
                serde_json::from_str(r#"{"h":{"date_histogram":{"field":"time","fixed_interval":"1h"}}}"#)
                    .expect("invalid aggregations");
            for searcher in &self.searchers {
                let collector = AggregationCollector::from_aggs(wanted.clone(), Default::default());
                let (answer, found) = searcher.search(&query, &(collector, Count)).expect("search failed");
                std::hint::black_box(serde_json::to_string(&answer).expect("JSON"));
                count += found;
            }
            return (began.elapsed(), count as u64);
        }
        let mut best = Vec::new();
        for (day, searcher) in self.searchers.iter().enumerate() {
            let (top, found) = searcher
                .search(&query, &(TopDocs::with_limit(10).order_by_score(), Count))
                .expect("search failed");
            best.extend(top.into_iter().map(|(score, address)| (score, day, address)));
            count += found;
        }
        best.sort_by(|a, b| b.0.total_cmp(&a.0));
        for (_, day, address) in best.iter().take(10) {
            let document: TantivyDocument = self.searchers[*day].doc(*address).expect("no such document");
            std::hint::black_box(document);
        }
        (began.elapsed(), count as u64)
    }
}
