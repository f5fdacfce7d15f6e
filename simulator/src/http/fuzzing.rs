//! Properties of parsers of client input, for the fuzz targets in `fuzz/` and the tests below.
//!
//! Every function accepts any input and terminates. It panics only if the property is violated.

#![allow(clippy::expect_used, reason = "a violated property panics")]

use bytes::Bytes;
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    sync::{mpsc, oneshot},
};

use super::{
    path::{self, NormalizedPath},
    protobuf,
    proxy::{link::Links, path as proxied},
    query::Query,
    spdy, streams,
};
use crate::{
    api::{fields, labels},
    cluster::container::{Attachment, Exit, Process},
    compat::{json_write, yaml},
    patch::{self, Language},
    profile::Profile,
    scheme::{Resource, Scheme, Syntax},
};

/// Returns the resource whose kind the input names, or the first one if it names none.
fn named<'a>(scheme: &'a Scheme, input: &[u8]) -> &'a Resource {
    let resources = scheme.resources().iter();
    let named = resources.filter(|resource| {
        let mut windows = input.windows(resource.kind.len());
        windows.any(|window| window == resource.kind.as_bytes())
    });
    let longest = named.max_by_key(|resource| resource.kind.len());
    longest.unwrap_or_else(|| scheme.resources().first().expect("a resource"))
}

/// Decodes a body. The result, encoded as JSON, must decode to the same object.
fn decode(scheme: &Scheme, resource: &Resource, body: &[u8], syntax: Syntax) {
    if let Ok(object) = scheme.decode(resource, body, syntax) {
        let written = json_write::compact(&Value::Object(object.clone()));
        let again = scheme
            .decode(resource, &written, Syntax::Json)
            .unwrap_or_else(|status| panic!("{}: {}", status.message, String::from_utf8_lossy(&written)));
        assert_eq!(
            again, object,
            "a {} decodes to another object after encoding",
            resource.kind
        );
    }
}

/// Decodes a JSON body.
pub fn json(body: &[u8]) {
    let scheme = Scheme::builtin();
    decode(&scheme, named(&scheme, body), body, Syntax::Json);
}

/// Whether a tag may be directly followed by a comma, at which the library panics. The simulator reports this panic
/// as an error of the body, but it would end a fuzz target.
fn has_tag_before_comma(body: &[u8]) -> bool {
    let tags = body.split(|byte| byte.is_ascii_whitespace());
    tags.into_iter().any(|word| {
        let tag = word.iter().position(|byte| *byte == b'!');
        tag.is_some_and(|at| word[at..].contains(&b','))
    })
}

/// Parses a YAML body. The parsed value can be written and parsed again.
pub fn yaml(body: &[u8]) {
    if has_tag_before_comma(body) {
        return;
    }
    let scheme = Scheme::builtin();
    decode(&scheme, named(&scheme, body), body, Syntax::Yaml);
    if let Ok(value) = yaml::to_value(body) {
        yaml::to_value(yaml::from_value(&value).as_bytes()).expect("written YAML parses");
    }
}

/// Decodes a protobuf body.
pub fn protobuf(body: &[u8]) {
    let scheme = Scheme::builtin();
    if let Ok(json) = protobuf::to_json(body, &scheme) {
        serde_json::from_slice::<Value>(&json).expect("valid JSON");
        decode(&scheme, named(&scheme, &json), &json, Syntax::Json);
    }
}

/// Parses label and field selectors. A written selector parses to the same selector; for fields, except for the order
/// of terms and unless a value has an equals sign, which only `==` can express.
pub fn selectors(text: &str) {
    if let Ok(selector) = text.parse::<labels::Selector>() {
        let written = selector.to_string();
        assert_eq!(written.parse(), Ok(selector), "{written}");
    }
    if let Ok(selector) = text.parse::<fields::Selector>() {
        let written = selector.to_string();
        if written.split(',').all(|term| term.matches('=').count() == 1) {
            assert!(written.parse::<fields::Selector>().is_ok(), "{written}");
        }
    }
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        // Only termination matters here, not the result.
        let _ = labels::Selector::from_label_selector(&value);
    }
}

/// Applies a patch in every patch type and profile. Input: the object, a zero byte, the patch.
pub fn patch(input: &[u8]) {
    let scheme = Scheme::builtin();
    let resource = named(&scheme, input);
    let mut halves = input.splitn(2, |byte| *byte == 0);
    let (object, patch) = (halves.next().unwrap_or_default(), halves.next().unwrap_or_default());
    let Ok(Value::Object(object)) = serde_json::from_slice(object) else {
        return;
    };
    for language in [Language::Json, Language::Merge, Language::Strategic] {
        for profile in [Profile::Documented, Profile::Kubernetes12] {
            if let Ok(patched) = patch::apply(language, &object, patch, resource.type_ref(), profile) {
                let patched: Value = serde_json::from_slice(&patched).expect("valid JSON");
                assert!(patched.is_object() || profile == Profile::Kubernetes12, "{patched}");
            }
        }
    }
}

/// Rewrites paths, queries and links, as the API and its proxy do.
pub fn paths(text: &str) {
    let clean = match path::normalize(text) {
        NormalizedPath::Malformed => None,
        NormalizedPath::Clean(clean) => Some(clean.into_owned()),
        NormalizedPath::Moved(moved) => match path::normalize(&moved) {
            NormalizedPath::Clean(clean) => Some(clean.into_owned()),
            other => panic!("{moved} is not normalized: {other:?}"),
        },
    };
    if let Some(clean) = clean {
        assert!(
            !clean.split('/').any(|segment| segment == ".."),
            "{clean} leads upwards"
        );
        assert_eq!(
            path::normalize(&path::encode(&clean)),
            NormalizedPath::Clean(clean.into())
        );
    }
    let joined = proxied::join("/proxy", text);
    assert!(joined.starts_with('/') && !joined.contains("//"), "{joined}");
    assert!(
        !joined.split('/').any(|segment| segment == ".."),
        "{joined} leads upwards"
    );
    assert_eq!(proxied::unescape(&proxied::escape(text)).as_deref(), Some(text));
    let query = proxied::normalize_query(text);
    assert_eq!(proxied::normalize_query(&query), query);
    let _ = (
        Query::new(text).timeout(Profile::Documented),
        Query::new(text).flag("watch", Profile::Documented),
    );
    let links = Links {
        prefix: "/proxy".to_owned(),
        host: "10.0.0.1:80".to_owned(),
    };
    if let Some(link) = links.rewrite(text) {
        assert!(
            link.starts_with('/') && !link.starts_with("//"),
            "{link} leads to another host"
        );
    }
}

/// Runs `work` on a new runtime.
fn run(work: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(work);
}

/// Returns a connection that receives `bytes` and then its end. Data sent on it is discarded.
fn connection(bytes: &[u8]) -> tokio::io::DuplexStream {
    let (near, far) = tokio::io::duplex(1 << 12);
    let (mut read, mut write) = tokio::io::split(near);
    let bytes = bytes.to_vec();
    tokio::spawn(async move {
        // The server may close the connection before it has read everything.
        let _ = write.write_all(&bytes).await;
        let _ = write.shutdown().await;
    });
    tokio::spawn(async move { while matches!(read.read_buf(&mut Vec::with_capacity(1 << 12)).await, Ok(1..)) {} });
    far
}

/// Serves a SPDY connection that receives these frames.
pub fn spdy_frames(input: &[u8]) {
    run(async {
        let mut session = spdy::Session::start(connection(input));
        while let Some(stream) = session.accept().await {
            tokio::spawn(async move {
                let spdy::Stream { mut reader, writer, .. } = stream;
                while let Some(bytes) = reader.read().await {
                    if writer.write(bytes).await.is_err() {
                        break;
                    }
                }
                let _ = writer.finish().await;
            });
        }
        session.close().await;
    });
}

/// Serves a WebSocket connection to a process. The first byte chooses the subprotocol, the rest are messages.
pub fn websocket_frames(input: &[u8]) {
    const PROTOCOLS: [&str; 5] = [
        "",
        "channel.k8s.io",
        "base64.channel.k8s.io",
        "v4.base64.channel.k8s.io",
        "v5.channel.k8s.io",
    ];
    let (first, rest) = input.split_first().unwrap_or((&0, &[]));
    let protocol = PROTOCOLS[usize::from(*first) % PROTOCOLS.len()];
    run(async {
        let ((stdin, mut input), (output, stdout), (errors, stderr), (resize, mut sizes), (_exit, exit)) = (
            mpsc::channel::<Bytes>(1),
            mpsc::channel(1),
            mpsc::channel(1),
            mpsc::channel(1),
            oneshot::channel::<Exit>(),
        );
        tokio::spawn(async move {
            while let Some(bytes) = input.recv().await {
                if output.send(bytes).await.is_err() {
                    break;
                }
            }
        });
        tokio::spawn(async move { while sizes.recv().await.is_some() {} });
        drop(errors);
        let wanted = Attachment {
            stdin: true,
            stdout: true,
            stderr: true,
            tty: false,
        };
        let process = Process {
            stdin,
            stdout,
            stderr,
            resize,
            exit,
        };
        // A connection that violates the protocol ends with an error.
        let _ = streams::run_websocket(connection(rest), protocol, wanted, Ok(process)).await;
    });
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    /// Calls a property with each seed of a target, complete and truncated.
    fn seeds(target: &str, property: impl Fn(&[u8])) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds").join(target);
        let mut inputs = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            property(&bytes);
            (1..8).for_each(|eighths| property(&bytes[..bytes.len() * eighths / 8]));
            inputs += 1;
        }
        assert!(inputs > 0, "{target} has no seeds");
    }

    fn text(property: fn(&str)) -> impl Fn(&[u8]) {
        move |bytes| property(&String::from_utf8_lossy(bytes))
    }

    #[rstest]
    #[case("json_body", json)]
    #[case("yaml_body", yaml)]
    #[case("protobuf_body", protobuf)]
    #[case("patches", patch)]
    #[case("spdy_frames", spdy_frames)]
    #[case("websocket_frames", websocket_frames)]
    #[case("selectors", text(selectors))]
    #[case("proxy_paths", text(paths))]
    fn a_property_holds_for_the_seeds(#[case] target: &str, #[case] property: impl Fn(&[u8])) {
        seeds(target, property);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

        #[test]
        fn any_text_is_a_path_or_none(input in "([a-z./%?#;:@=&+ ]|%2[fFeE]|\\PC){0,30}") {
            paths(&input);
        }

        #[test]
        fn any_text_is_a_selector_or_an_error(input in "([a-z.,/=!() ]| in | notin ){0,30}") {
            selectors(&input);
        }
    }
}
