//! What was said in a trial, as an HTTP archive (HAR 1.2). Its clock begins with the trial: at the beginning of 1970.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::target::Exchange;
use crate::trial::Outcome;

/// The archive of one trial. Credentials are not in it.
pub fn har(outcome: &Outcome, base: &str) -> Value {
    let entries: Vec<Value> = outcome.exchanges.iter().map(|exchange| entry(exchange, base)).collect();
    json!({"log": {
        "version": "1.2",
        "creator": {"name": "stuntdouble", "version": env!("CARGO_PKG_VERSION")},
        "comment": format!("{}: {}", outcome.trial.row.id, outcome.verdict.as_str()),
        "entries": entries,
    }})
}

fn started(at: Duration) -> String {
    let time = SignedDuration::try_from(at).ok().and_then(|at| Timestamp::UNIX_EPOCH.checked_add(at).ok());
    format!("{:.3}", time.unwrap_or(Timestamp::UNIX_EPOCH))
}

fn entry(exchange: &Exchange, base: &str) -> Value {
    let (request, answer) = (&exchange.request, &exchange.answer);
    let header = |name: &str, value: &Option<String>| value.as_ref().map(|value| json!({"name": name, "value": value}));
    let sent: Vec<Value> = [header("Accept", &request.accept), header("Content-Type", &request.content_type)].into_iter().flatten().collect();
    let came: Vec<Value> = header("Content-Type", &answer.content_type).into_iter().collect();
    let query: Vec<Value> = request.query.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
    let took = exchange.took.as_secs_f64() * 1000.0;
    let mut asked = json!({
        "method": request.method.as_str(), "url": format!("{base}{}", request.target()), "httpVersion": "HTTP/1.1",
        "cookies": [], "headers": sent, "queryString": query, "headersSize": -1,
        "bodySize": request.body.as_ref().map_or(0, bytes::Bytes::len),
    });
    if let (Some(body), Value::Object(asked)) = (&request.body, &mut asked) {
        let post = json!({"mimeType": request.content_type.clone().unwrap_or_default(), "text": String::from_utf8_lossy(body)});
        asked.insert("postData".to_owned(), post);
    }
    json!({
        "startedDateTime": started(exchange.at),
        "time": took,
        "request": asked,
        "response": {
            "status": answer.status, "statusText": "", "httpVersion": "HTTP/1.1", "cookies": [], "headers": came,
            "content": {"size": answer.body.len(), "mimeType": answer.content_type.clone().unwrap_or_default(), "text": answer.text()},
            "redirectURL": "", "headersSize": -1, "bodySize": answer.body.len(),
        },
        "cache": {}, "timings": {"send": 0, "wait": took, "receive": 0},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_counted_from_the_beginning_of_the_trial() {
        assert_eq!(started(Duration::from_millis(61_250)), "1970-01-01T00:01:01.250Z");
    }
}
