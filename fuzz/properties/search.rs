//! Properties of the search engine, for the fuzz targets and the tests of the crate.

use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use stuntdouble_search::{Analyzer, Options, SearchServer, check_query};

/// The query language: any text is a query or an error, in bounded time.
pub(crate) fn query(text: &str) {
    // Either result is fine; the check must end.
    let _ = check_query(text);
    let _ = check_query(&format!("f:/{text}/"));
}

/// The analyzers: terms end at character boundaries, in order, with rising positions.
pub(crate) fn analyzer(text: &str) {
    for name in ["standard", "simple", "whitespace", "keyword", "stop", "pattern"] {
        let analyzer = Analyzer::named(name).expect("not a built-in analyzer");
        let (mut end, mut next) = (0, 0);
        let after = analyzer.analyze(text, &mut |token| {
            assert!(
                token.start >= end && token.end >= token.start,
                "{name}: offsets decrease"
            );
            assert!(
                text.is_char_boundary(token.start) && text.is_char_boundary(token.end),
                "{name}: an offset is inside a character"
            );
            assert!(token.position >= next, "{name}: positions do not increase");
            (end, next) = (token.end, token.position + 1);
        });
        assert!(after >= next, "{name}: the end is before the last term");
    }
}

/// Sends requests one after the other. Each response must be JSON and not a 500.
fn check_responses(requests: &[(&str, &[u8])]) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("cannot start the runtime");
    runtime.block_on(async {
        let server = SearchServer::new(Options::default());
        for (target, body) in requests {
            let body = Full::new(bytes::Bytes::copy_from_slice(body));
            let request = Request::post(*target).body(body).expect("invalid request");
            let response = server.handle(request).await;
            let status = response.status();
            let text = response.into_body().collect().await.expect("no body").to_bytes();
            let body = serde_json::from_slice::<serde_json::Value>(&text).expect("the response is not JSON");
            // Elasticsearch responds with 500 to JSON that its parser cannot read, and to an action without a name.
            let error = body["error"].as_str().unwrap_or_default();
            let is_parse_error = ["JsonParseException[", "NumberFormatException[", "NullPointerException["]
                .iter()
                .any(|kind| error.starts_with(kind));
            assert!(status != StatusCode::INTERNAL_SERVER_ERROR || is_parse_error, "{error}");
        }
    });
}

/// Bulk bodies: any bytes get a JSON response that is not a 500.
pub(crate) fn bulk(body: &[u8]) {
    check_responses(&[("/logs/line/_bulk", body)]);
}

/// Search bodies: any bytes get a JSON response that is not a 500.
pub(crate) fn search(body: &[u8]) {
    let documents = concat!(
        "{\"index\":{\"_id\":\"1\"}}\n{\"log\":\"no such host\",\"n\":1,\"at\":\"2015-06-26T12:00:00Z\"}\n",
        "{\"index\":{\"_id\":\"2\"}}\n{\"log\":[\"an error\",\"x\"],\"n\":2.5,\"o\":{\"k\":true}}\n",
    );
    check_responses(&[
        ("/logs/line/_bulk?refresh=true", documents.as_bytes()),
        ("/logs/_search", body),
        ("/_msearch", &[&b"{\"index\":\"logs\"}\n"[..], body, b"\n"].concat()),
    ]);
}
