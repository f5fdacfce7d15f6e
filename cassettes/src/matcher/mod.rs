//! Matching of live requests with recorded ones.
//!
//! Guarantees:
//! - Method, path, query and body are compared. The order of query parameters, selector terms and JSON keys is ignored.
//! - Values that a client generates anew each time match one another: UUIDs, times, its own ports, random names of the
//!   objects that it creates, and redacted secrets. They are returned as pairs, so that a session can bind them one to
//!   one.
//! - Nothing else may differ. A path differs only in redacted parts, so API groups, versions, resources and names are
//!   the recorded ones or were generated in an earlier request.
//!
//! Limit: a body that is not JSON matches only if it is equal, apart from redacted secrets.
//! Source: DESIGN.md, decision 9.

mod comparison;
mod request;
mod volatile;

pub(crate) use request::{MatchQuality, ParsedRequest, RequestMatch};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interaction::{Headers, Request};
    use rstest::rstest;

    fn parsed(method: &str, url: &str, body: &str) -> ParsedRequest {
        let body = (!body.is_empty()).then(|| body.to_owned().into());
        ParsedRequest::new(&Request {
            method: method.into(),
            url: url.into(),
            headers: Headers::default(),
            body,
            omitted: 0,
        })
    }

    #[rstest]
    #[case("/a?b=1&c=2", "", "/a?c=2&b=1", "", Some(MatchQuality::Same))]
    #[case("/a", r#"{"x":1,"y":"z"}"#, "/a", r#"{ "y":"z", "x":1 }"#, Some(MatchQuality::Same))]
    #[case("/a", r#"{"x":1}"#, "/a", r#"{"x":2}"#, None)]
    #[case(
        "/a?watch=true&resourceVersion=5",
        "",
        "/a?watch=true&resourceVersion=7",
        "",
        Some(MatchQuality::OtherWatch)
    )]
    #[case(
        "/a?watch=true",
        "",
        "/a?watch=true&resourceVersion=7",
        "",
        Some(MatchQuality::OtherWatch)
    )]
    #[case("/a?resourceVersion=5", "", "/a?resourceVersion=7", "", None)]
    #[case("/ns/suite-x8f2a/pods", "", "/ns/suite-91bbc/pods", "", None)]
    #[case("/apis/extensions/v1beta1/jobs", "", "/apis/extensions/v1beta2/jobs", "", None)]
    #[case("/api/v1/nodes/node1", "", "/api/v1/nodes/node2", "", None)]
    #[case(
        "/ns",
        r#"{"metadata":{"name":"suite-x8f2a","labels":{"of":"x8f2a"}}}"#,
        "/ns",
        r#"{"metadata":{"name":"suite-91bbc","labels":{"of":"91bbc"}}}"#,
        Some(MatchQuality::Volatile)
    )]
    #[case(
        "/ns",
        r#"{"metadata":{"name":"a","labels":{"of":"x8f2a"}}}"#,
        "/ns",
        r#"{"metadata":{"name":"a","labels":{"of":"91bbc"}}}"#,
        None
    )]
    #[case("/ns/a/pods", "", "/ns/b/pods", "", None)]
    #[case(
        "/a?fieldSelector=x%3D1,y%3D2",
        "",
        "/a?fieldSelector=y%3D2,x%3D1",
        "",
        Some(MatchQuality::Same)
    )]
    #[case(
        "/a?labelSelector=x+in+(b,a),y",
        "",
        "/a?labelSelector=y,x+in+(b,a)",
        "",
        Some(MatchQuality::Same)
    )]
    #[case("/a?labelSelector=x+in+(b,a),y", "", "/a?labelSelector=y,x+in+(b),a", "", None)]
    #[case("/a?token=redacted-1", "", "/a?token=s3cr3t%2Fx", "", Some(MatchQuality::Volatile))]
    #[case(
        "/a",
        r#"{"data":{"p":"cmVkYWN0ZWQtMQ=="}}"#,
        "/a",
        r#"{"data":{"p":"aHVudGVyMg=="}}"#,
        Some(MatchQuality::Volatile)
    )]
    #[case(
        "/a",
        "kind: Secret\ndata:\n  p: cmVkYWN0ZWQtMQ==\n  q: cmVkYWN0ZWQtMg==\n",
        "/a",
        "kind: Secret\ndata:\n  p: aHVudGVyMg==\n  q: eA==\n",
        Some(MatchQuality::Volatile)
    )]
    #[case(
        "/a",
        "kind: Secret\ndata:\n  p: cmVkYWN0ZWQtMQ==\n",
        "/a",
        "kind: Secret\ndata:\n  q: aHVudGVyMg==\n",
        None
    )]
    fn requests_match(
        #[case] url: &str,
        #[case] body: &str,
        #[case] live_url: &str,
        #[case] live_body: &str,
        #[case] expected: Option<MatchQuality>,
    ) {
        let (recorded, live) = (parsed("POST", url, body), parsed("POST", live_url, live_body));
        let found = recorded.matches(&live);
        assert_eq!(found.as_ref().map(|found| found.quality), expected);
        assert_eq!(recorded.differences(&live).is_empty(), expected.is_some());
        assert_eq!(
            recorded.hash_code() == live.hash_code(),
            expected == Some(MatchQuality::Same)
        );
        assert!(recorded.may_vary() || expected != Some(MatchQuality::Volatile));
    }
}
