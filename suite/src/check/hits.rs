//! Checks the result of a log query against the expected one.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Answer, Mismatch, clipped};
use crate::catalog::{Found, LogLine};

/// Maximum relative error of a score.
const PRECISION: f64 = 1e-4;

/// Checks the response to a query. `stored` has the documents by id, `named` maps an index to its name on the target,
/// and `size` is the requested number of hits.
pub fn hits(
    wanted: Option<&Found>,
    size: usize,
    stored: &BTreeMap<String, LogLine>,
    named: &dyn Fn(&str) -> String,
    answer: &Answer,
) -> Vec<Mismatch> {
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let Some(wanted) = wanted else {
        let refused = answer.status == 400 && body.get("status") == Some(&400.into()) && body.get("error").is_some();
        return if refused {
            Vec::new()
        } else {
            vec![Mismatch::new(
                "answer",
                "400 with the fields error and status",
                shown(answer, &body),
            )]
        };
    };
    let Some(hits) = body
        .pointer("/hits/hits")
        .and_then(Value::as_array)
        .filter(|_| answer.status == 200)
    else {
        return vec![Mismatch::new("answer", "200 with hits", shown(answer, &body))];
    };
    let mut found = Vec::new();
    let total = body.pointer("/hits/total").and_then(Value::as_u64);
    if total != Some(wanted.total) {
        found.push(Mismatch::new(
            "hits.total",
            wanted.total.to_string(),
            total.map_or_else(|| "none".to_owned(), |total| total.to_string()),
        ));
    }
    let failed = body.pointer("/_shards/failed").and_then(Value::as_u64);
    if failed.is_none_or(|failed| (failed > 0) != wanted.partly) {
        let expected = if wanted.partly {
            "more than 0: an index refuses the query"
        } else {
            "none"
        };
        found.push(Mismatch::new(
            "_shards.failed",
            expected,
            body.get("_shards").cloned().unwrap_or_default().to_string(),
        ));
    }
    let due = wanted.total.min(size as u64) as usize;
    if hits.len() != due {
        found.push(Mismatch::new(
            "hits",
            format!("{due} hits"),
            format!("{} hits", hits.len()),
        ));
    }
    found.extend(search_result(&body));
    found.extend(unlike_stored(hits, stored, named));
    found.extend(scored(
        wanted,
        hits,
        body.pointer("/hits/max_score").and_then(Value::as_f64),
    ));
    found
}

/// Checks the response of a search for contradictions between its counts and scores.
pub fn search_result(body: &Value) -> Option<Mismatch> {
    let hits = body.pointer("/hits/hits").and_then(Value::as_array)?;
    let number = |pointer: &str| body.pointer(pointer).and_then(Value::as_u64);
    let (took, total) = (number("/took"), number("/hits/total"));
    let [all, successful, failed] = ["total", "successful", "failed"].map(|name| number(&format!("/_shards/{name}")));
    if took.is_none() || body.get("timed_out").is_none_or(|timed_out| !timed_out.is_boolean()) {
        let actual = format!("{:?} {:?}", body.get("took"), body.get("timed_out"));
        return Some(Mismatch::new(
            "took and timed_out",
            "milliseconds and a boolean",
            actual,
        ));
    }
    // Unassigned shards count in the total only.
    let counted = |all: u64, (good, bad): (u64, u64)| good + bad <= all && (hits.is_empty() || good > 0);
    if !all
        .zip(successful.zip(failed))
        .is_some_and(|(all, both)| counted(all, both))
    {
        let actual = body.get("_shards").cloned().unwrap_or_default().to_string();
        return Some(Mismatch::new(
            "_shards",
            "successful shards, and no more than in total",
            actual,
        ));
    }
    if total.is_none_or(|total| total < hits.len() as u64) {
        let actual = format!("{total:?} of {} hits", hits.len());
        return Some(Mismatch::new("hits.total", "at least the number of hits", actual));
    }
    let named = |hit: &Value| {
        let has = |name| hit.get(name).is_some_and(Value::is_string);
        has("_index") && has("_type") && has("_id")
    };
    if !hits.iter().all(named) {
        return Some(Mismatch::new(
            "hits",
            "every hit has _index, _type and _id",
            "a hit without one of them",
        ));
    }
    // A sorted search may have no scores.
    if hits.is_empty() || hits.iter().any(|hit| hit.get("sort").is_some()) {
        return None;
    }
    let scores: Vec<Option<f64>> = hits
        .iter()
        .map(|hit| hit.get("_score").and_then(Value::as_f64))
        .collect();
    let best = body.pointer("/hits/max_score").and_then(Value::as_f64);
    let descending = scores.windows(2).all(|pair| pair.first() >= pair.last());
    let fine = scores.iter().all(Option::is_some) && descending && best >= scores.first().copied().flatten();
    let actual = format!("{best:?} {scores:?}");
    (!fine).then(|| {
        Mismatch::new(
            "scores",
            "none above hits.max_score, in descending order",
            clipped(&actual),
        )
    })
}

/// Checks the hits of a search against the query parameters `size`, `from`, `search_type` and `sort`, their indices
/// against the dates of the records, and the best score against the hits.
pub fn search_hits(body: &Value, query: &[(String, String)]) -> Option<Mismatch> {
    let hits = body.pointer("/hits/hits").and_then(Value::as_array)?;
    let parameter = |name: &str| {
        query
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    };
    let total = body.pointer("/hits/total").and_then(Value::as_u64)?;
    let number = |name, default| parameter(name).map_or(Some(default), |value| value.parse::<u64>().ok());
    let size = match parameter("search_type") {
        Some("count") => 0,
        _ => number("size", 10)?,
    };
    let due = size.min(total.saturating_sub(number("from", 0)?));
    if hits.len() as u64 != due {
        let actual = format!("{} hits", hits.len());
        return Some(Mismatch::new("hits", format!("{due} of {total} hits"), actual));
    }
    if let Some(hit) = hits.iter().find(|hit| !is_of_its_day(hit)) {
        let time = hit.pointer("/_source/@timestamp").cloned().unwrap_or_default();
        let actual = format!("{} in {}", time, hit.get("_index").cloned().unwrap_or_default());
        return Some(Mismatch::new("hit", "a record in the index of its day", actual));
    }
    let score = |pointer: &str| body.pointer(pointer).and_then(Value::as_f64);
    let (best, first) = (score("/hits/max_score"), score("/hits/hits/0/_score"));
    let is_best_first = ["from", "sort", "source"].iter().all(|name| parameter(name).is_none());
    if is_best_first && first.is_some() && best != first {
        let (expected, actual) = (format!("{first:?}, the score of the first hit"), format!("{best:?}"));
        return Some(Mismatch::new("hits.max_score", expected, actual));
    }
    let sort = parameter("sort")?.split(',').next()?;
    let is_descending = sort.ends_with(":desc");
    let values: Vec<f64> = hits
        .iter()
        .filter_map(|hit| hit.pointer("/sort/0").and_then(Value::as_f64))
        .collect();
    let ordered = |pair: &[f64]| match pair {
        [one, two] if is_descending => one >= two,
        [one, two] => one <= two,
        _ => true,
    };
    let fine = values.windows(2).all(ordered);
    (!fine).then(|| {
        Mismatch::new(
            "order of the hits",
            format!("sort values in the order {sort}"),
            clipped(&format!("{values:?}")),
        )
    })
}

/// Whether a record is in the daily index of its time, which is UTC, or in no daily index. Those of the collector have
/// a time with an offset.
fn is_of_its_day(hit: &Value) -> bool {
    let text = |pointer: &str| hit.pointer(pointer).and_then(Value::as_str);
    let Some(time) = text("/_source/@timestamp") else {
        return true;
    };
    let day = text("/_index").and_then(|index| index.strip_prefix("logstash-"));
    match time.parse::<jiff::Timestamp>() {
        Ok(time) => day.is_none_or(|day| time.strftime("%Y.%m.%d").to_string() == day),
        Err(_) => text("/_type") != Some("fluentd"),
    }
}

/// Returns the first hit that differs from the stored document.
fn unlike_stored(
    hits: &[Value],
    stored: &BTreeMap<String, LogLine>,
    named: &dyn Fn(&str) -> String,
) -> Option<Mismatch> {
    let text = |hit: &Value, field: &str| hit.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    hits.iter().find_map(|hit| {
        let line = stored.get(&text(hit, "_id"));
        let same = line.is_some_and(|line| {
            named(&line.index) == text(hit, "_index")
                && line.doc_type == text(hit, "_type")
                && hit.get("_source") == Some(&line.source)
        });
        let expected = line.map_or_else(
            || "a stored document".to_owned(),
            |line| format!("{} {} {}", named(&line.index), line.doc_type, line.source),
        );
        let is_ours = line.is_some_and(|line| named(&line.index) == text(hit, "_index"));
        let actual = if is_ours {
            hit.to_string()
        } else {
            "a document that this run did not store".to_owned()
        };
        (!same).then(|| Mismatch::new(format!("hit {}", text(hit, "_id")), expected, actual))
    })
}

/// Formats a response for a report, without hits, which may be log lines of others.
fn shown(answer: &Answer, body: &Value) -> String {
    let fields: Vec<&String> = body.as_object().into_iter().flatten().map(|(name, _)| name).collect();
    let error = body
        .get("error")
        .map_or_else(|| format!("fields: {fields:?}"), Value::to_string);
    clipped(&format!("{}\n{error}", answer.status))
}

/// Checks the documents that were found, their scores and their order.
fn scored(wanted: &Found, hits: &[Value], max_score: Option<f64>) -> Vec<Mismatch> {
    let near = |a: f64, b: f64| (a - b).abs() <= PRECISION * a.abs().max(b.abs()).max(1e-9);
    let id = |hit: &Value| hit.get("_id").and_then(Value::as_str).unwrap_or_default().to_owned();
    let scores: Vec<(String, f64)> = hits
        .iter()
        .map(|hit| (id(hit), hit.get("_score").and_then(Value::as_f64).unwrap_or_default()))
        .collect();
    let by_id: BTreeMap<&str, f64> = scores.iter().map(|(id, score)| (id.as_str(), *score)).collect();
    let mut found = Vec::new();
    if let Some(ids) = &wanted.ids
        && !ids.iter().map(String::as_str).eq(by_id.keys().copied())
    {
        let lines = |ids: &mut dyn Iterator<Item = &str>| ids.map(|id| format!("{id}\n")).collect::<String>();
        found.push(Mismatch::new(
            "documents",
            lines(&mut ids.iter().map(String::as_str)),
            lines(&mut by_id.keys().copied()),
        ));
    }
    for (id, score) in &wanted.scores {
        let actual = by_id.get(id.as_str());
        if !actual.is_some_and(|actual| near(*actual, *score)) {
            found.push(Mismatch::new(
                format!("score of {id}"),
                score.to_string(),
                actual.map_or_else(|| "no such hit".to_owned(), f64::to_string),
            ));
            break;
        }
    }
    if let Some(best) = wanted.max_score
        && !max_score.is_some_and(|actual| near(actual, best))
    {
        found.push(Mismatch::new(
            "hits.max_score",
            best.to_string(),
            format!("{max_score:?}"),
        ));
    }
    if let Some(pair) = scores
        .windows(2)
        .find(|pair| matches!(pair, [(_, one), (_, two)] if one < two))
    {
        found.push(Mismatch::new(
            "order of the hits",
            "descending scores",
            format!("{pair:?}"),
        ));
    }
    found
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn stored() -> BTreeMap<String, LogLine> {
        let line = |id: &str| LogLine {
            index: "i".into(),
            doc_type: "t".into(),
            id: id.into(),
            source: json!({"log": id}),
        };
        BTreeMap::from(["1", "2"].map(|id| (id.to_owned(), line(id))))
    }

    fn wanted() -> Found {
        let scores = BTreeMap::from([("1".to_owned(), 1.5), ("2".to_owned(), 0.5)]);
        Found {
            total: 2,
            ids: Some(scores.keys().cloned().collect()),
            scores,
            max_score: Some(1.5),
            partly: false,
        }
    }

    fn answer(change: impl Fn(&mut Value)) -> Answer {
        let hit = |id: &str, score: f64| {
            json!({"_index": "i", "_type": "t", "_id": id, "_score": score,
                   "_source": {"log": id}})
        };
        let mut body = json!({
            "took": 1, "timed_out": false, "_shards": {"total": 1, "successful": 1, "failed": 0},
            "hits": {"total": 2, "max_score": 1.5, "hits": [hit("1", 1.5), hit("2", 0.5)]}
        });
        change(&mut body);
        Answer {
            status: 200,
            body: body.to_string().into(),
            ..Answer::default()
        }
    }

    #[test]
    fn the_expected_result_passes() {
        assert_eq!(
            hits(Some(&wanted()), 10, &stored(), &str::to_owned, &answer(|_| {})),
            []
        );
    }

    #[rstest]
    #[case::total("/hits/total", json!(3))]
    #[case::shards("/_shards/failed", json!(1))]
    #[case::fewer("/hits/hits", json!([]))]
    #[case::source("/hits/hits/0/_source/log", json!("x"))]
    #[case::index("/hits/hits/0/_index", json!("x"))]
    #[case::id("/hits/hits/0/_id", json!("2"))]
    #[case::score("/hits/hits/1/_score", json!(0.6))]
    #[case::order("/hits/hits/1/_score", json!(9.0))]
    #[case::max("/hits/max_score", json!(2.0))]
    #[case::took("/took", json!(-1))]
    #[case::shards_sum("/_shards/successful", json!(0))]
    #[case::worse_than_a_hit("/hits/max_score", json!(1.0))]
    #[case::nameless("/hits/hits/1/_type", json!(null))]
    fn differences_are_found(#[case] pointer: &str, #[case] value: Value) {
        let altered = answer(|body| *body.pointer_mut(pointer).unwrap() = value.clone());
        assert_ne!(hits(Some(&wanted()), 10, &stored(), &str::to_owned, &altered), []);
    }

    fn sorted(indices_and_times: &[(&str, i64)]) -> Value {
        let hit = |(day, time): &(&str, i64)| {
            let timestamp = jiff::Timestamp::from_second(*time).unwrap();
            json!({"_index": format!("logstash-{day}"), "sort": [time * 1000], "_source": {"@timestamp": timestamp.to_string()}})
        };
        json!({"hits": {"total": 5, "hits": indices_and_times.iter().map(hit).collect::<Vec<_>>()}})
    }

    const FIRST: (&str, i64) = ("1970.01.01", 86_399);
    const SECOND: (&str, i64) = ("1970.01.02", 86_400);

    #[rstest]
    #[case::ascending(&[("size", "2"), ("sort", "time:asc")], &[FIRST, SECOND], true)]
    #[case::ascending_by_default(&[("size", "2"), ("sort", "time")], &[SECOND, FIRST], false)]
    #[case::descending(&[("size", "2"), ("sort", "time:desc")], &[SECOND, FIRST], true)]
    #[case::not_descending(&[("size", "2"), ("sort", "time:desc")], &[FIRST, SECOND], false)]
    #[case::in_no_order(&[("size", "2")], &[SECOND, FIRST], true)]
    #[case::too_few(&[("size", "3")], &[FIRST, SECOND], false)]
    #[case::too_many(&[("size", "1")], &[FIRST, SECOND], false)]
    #[case::the_last_ones(&[("from", "3")], &[FIRST, SECOND], true)]
    #[case::fewer_than_by_default(&[], &[FIRST, SECOND], false)]
    #[case::counted(&[("search_type", "count")], &[], true)]
    #[case::of_another_day(&[("size", "1")], &[("1970.01.02", 86_399)], false)]
    fn the_hits_are_those_that_were_requested(
        #[case] query: &[(&str, &str)],
        #[case] hits: &[(&str, i64)],
        #[case] fine: bool,
    ) {
        let query: Vec<(String, String)> = query
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect();
        assert_eq!(search_hits(&sorted(hits), &query).is_none(), fine);
    }

    #[rstest]
    #[case::of_the_collector("fluentd", false)]
    #[case::of_others("logs", true)]
    fn a_record_of_the_collector_has_a_time_with_an_offset(#[case] doc_type: &str, #[case] fine: bool) {
        let hit = json!({"_index": "logstash-1970.01.01", "_type": doc_type, "_source": {"@timestamp": "1970-01-01T00:00:00"}});
        assert_eq!(is_of_its_day(&hit), fine);
    }

    #[rstest]
    #[case(1.5, &[], true)]
    #[case::above_all_hits(2.5, &[], false)]
    #[case::of_an_earlier_hit(2.5, &[("from", "1")], true)]
    fn the_best_score_is_that_of_the_first_hit(#[case] best: f64, #[case] query: &[(&str, &str)], #[case] fine: bool) {
        let query: Vec<(String, String)> = query
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect();
        let total = 1 + query.len();
        let body = json!({"hits": {"total": total, "max_score": best, "hits": [{"_score": 1.5}]}});
        assert_eq!(search_hits(&body, &query).is_none(), fine);
    }

    #[test]
    fn a_refusal_has_error_and_status() {
        let refused = |status, body: Value| Answer {
            status,
            body: body.to_string().into(),
            ..Answer::default()
        };
        assert_eq!(
            hits(
                None,
                10,
                &stored(),
                &str::to_owned,
                &refused(400, json!({"error": "no", "status": 400}))
            ),
            []
        );
        assert_ne!(
            hits(None, 10, &stored(), &str::to_owned, &refused(200, json!({"hits": {}}))),
            []
        );
        assert_ne!(
            hits(
                None,
                10,
                &stored(),
                &str::to_owned,
                &refused(400, json!({"error": "no"}))
            ),
            []
        );
    }
}
