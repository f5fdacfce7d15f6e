//! Comparison of a recorded with a live body, with volatile values bound.
//!
//! Guarantees:
//! - A volatile value must have the form of the recorded one and agree with earlier bindings.
//! - Objects are compared key by key. Values that bind others are compared first, so that a body can use its own
//!   bindings.
//!
//! Source: DESIGN.md, decision 9, and the reference's verdicts.

use super::{Finding, Grade};
use crate::bindings::{Bindings, Kind};
use regex::Regex;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::sync::LazyLock;

/// Keys of the version of the server, which are not compared.
const VERSION_KEYS: [&str; 5] = ["gitVersion", "gitCommit", "gitTreeState", "major", "minor"];

const TIMES: [&str; 6] = [
    "creationTimestamp",
    "deletionTimestamp",
    "lastTransitionTime",
    "lastProbeTime",
    "lastHeartbeatTime",
    "startTime",
];

#[expect(
    clippy::expect_used,
    reason = "the patterns are constants, and a test uses each of them"
)]
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a valid pattern")
}

static UUID: LazyLock<Regex> =
    LazyLock::new(|| pattern("^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"));
static UUID_WITHIN: LazyLock<Regex> =
    LazyLock::new(|| pattern("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"));
static STAMP: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})$")
});
static LAST_OCTET: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\.(25[0-4]|2[0-4][0-9]|1?[0-9]?[0-9])$"));
static NUMBER: LazyLock<Regex> = LazyLock::new(|| pattern("[0-9]+"));
static GENERATE_NAME: LazyLock<Regex> = LazyLock::new(|| pattern(r#""generateName": ?"([^"]+)""#));

/// Comparison of the bodies of one response.
pub(crate) struct Comparison<'a> {
    /// Bindings, which are extended.
    pub bound: &'a mut Bindings,
    /// The body of the recorded request.
    pub asked: &'a str,
    /// Differences so far.
    pub found: Vec<Finding>,
}

impl<'a> Comparison<'a> {
    /// A comparison in a session.
    pub(crate) fn new(bound: &'a mut Bindings, asked: &'a str) -> Self {
        Self {
            bound,
            asked,
            found: Vec::new(),
        }
    }

    /// Compares two values at `path`.
    pub(crate) fn values(&mut self, path: &str, recorded: &Value, live: &Value) {
        self.at(path, recorded, live, None);
    }

    fn at(&mut self, path: &str, recorded: &Value, live: &Value, parent: Option<&Map<String, Value>>) {
        let key = path.rsplit('.').next().unwrap_or_default();
        if let (Value::String(there), Value::String(here)) = (recorded, live)
            && self.text_is_volatile(path, key, there, here, parent)
        {
            return;
        }
        if self.is_allocated(path, key, recorded, live) {
            return;
        }
        match (recorded, live) {
            (Value::Object(there), Value::Object(here)) => self.objects(path, there, here),
            (Value::Array(there), Value::Array(here)) => self.lists(path, there, here),
            _ => self.scalars(path, key, recorded, live),
        }
    }

    /// Compares versions, UIDs, times and names. Returns whether the pair is one of them.
    fn text_is_volatile(
        &mut self,
        path: &str,
        key: &str,
        there: &str,
        here: &str,
        parent: Option<&Map<String, Value>>,
    ) -> bool {
        if path.ends_with("metadata.resourceVersion") {
            let of_object = parent.is_some_and(|parent| parent.contains_key("uid"));
            let result = self.bound.version(there, here, of_object);
            self.hold(path, result);
        } else if key == "uid" && UUID.is_match(there) {
            let result = match UUID.is_match(here) {
                true => self.bound.bind(Kind::Uid, there, here),
                false => Err(format!("{here:?} is no UUID")),
            };
            self.hold(path, result);
        } else if VERSION_KEYS.contains(&key) {
            // There is nothing to compare it with.
        } else if TIMES.contains(&key) && STAMP.is_match(there) {
            let form = |text: &str| {
                text.chars()
                    .map(|c| if c.is_ascii_digit() { '0' } else { c })
                    .collect::<String>()
            };
            if form(there) != form(here) {
                self.hold(path, Err(format!("{here:?} is no time of the form of {there:?}")));
            }
        } else if key == "name" && there != here && UUID.is_match(there) && UUID.is_match(here) {
            let result = self.bound.bind(Kind::Uid, there, here);
            self.hold(path, result);
        } else if key == "name" && there != here && generated(there, here, parent) {
            let result = self.bound.bind(Kind::Name, there, here);
            self.hold(path, result);
        } else {
            return false;
        }
        true
    }

    /// Compares addresses and ports that the server allocated. Those that the client requested are compared exactly.
    fn is_allocated(&mut self, path: &str, key: &str, recorded: &Value, live: &Value) -> bool {
        let (kind, there, here, possible) = match (key, recorded, live) {
            ("clusterIP", Value::String(there), Value::String(here)) if !matches!(there.as_str(), "None" | "") => {
                let net = there.rsplit_once('.').map_or(there.as_str(), |(net, _)| net);
                let possible = here.strip_prefix(net).is_some_and(|rest| LAST_OCTET.is_match(rest));
                (Kind::ClusterIp, there.clone(), here.clone(), possible)
            }
            ("nodePort", Value::Number(there), Value::Number(here))
                if there.is_f64() == here.is_f64() && there.as_f64() != Some(0.0) =>
            {
                let possible = here.as_f64().is_some_and(|port| (30000.0..=32767.0).contains(&port));
                (Kind::NodePort, there.to_string(), here.to_string(), possible)
            }
            _ => return false,
        };
        if there == here || (self.bound.live(kind, &there).is_none() && self.asked.contains(&there)) {
            return false;
        }
        let result = match possible {
            true => self.bound.bind(kind, &there, &here),
            false => Err(format!("{} could not have been allocated", short(live))),
        };
        self.hold(path, result);
        true
    }

    fn objects(&mut self, path: &str, there: &Map<String, Value>, here: &Map<String, Value>) {
        if let (Some(Value::String(uid)), Some(Value::String(stamp))) = (here.get("uid"), here.get("creationTimestamp"))
        {
            let result = self.bound.check_creation(uid, stamp);
            self.hold(path, result);
        }
        let rank = |key: &str| match key {
            "metadata" => 0,
            "generateName" => 1,
            "selfLink" if there.contains_key("name") => 3,
            _ => 2,
        };
        let mut order: Vec<&String> = there.keys().collect();
        order.sort_by_key(|key| rank(key));
        for key in order {
            let Some(recorded) = there.get(key) else {
                continue;
            };
            match here.get(key) {
                Some(live) => self.at(&format!("{path}.{key}"), recorded, live, Some(there)),
                None => self.shape(format!("{path}.{key}: missing (recorded {})", short(recorded))),
            }
        }
        for (key, live) in here.iter().filter(|(key, _)| !there.contains_key(*key)) {
            self.shape(format!("{path}.{key}: not in the recording ({})", short(live)));
        }
    }

    fn lists(&mut self, path: &str, there: &[Value], here: &[Value]) {
        if there.len() != here.len() {
            self.shape(format!("{path}: {} items, recorded {}", here.len(), there.len()));
        }
        let (mut there, mut here): (Vec<&Value>, Vec<&Value>) = (there.iter().collect(), here.iter().collect());
        if there.len() == here.len() && is_unordered(&there, &here) {
            there.sort_by_key(|item| place(item));
            here.sort_by_key(|item| place(item));
        }
        for (n, (recorded, live)) in there.iter().zip(&here).enumerate() {
            self.at(&format!("{path}[{n}]"), recorded, live, None);
        }
    }

    fn scalars(&mut self, path: &str, key: &str, recorded: &Value, live: &Value) {
        if same(recorded, live) {
            return;
        }
        let mut wording = false;
        if let (Value::String(there), Value::String(here)) = (recorded, live) {
            if key == "message" && there.contains("resource version") {
                let bound = &*self.bound;
                let live = NUMBER.replace_all(there, |version: &regex::Captures<'_>| {
                    let version = version.get(0).map_or("", |version| version.as_str());
                    bound.version_of_object(version).unwrap_or_else(|| version.to_owned())
                });
                if live == here.as_str() {
                    return;
                }
            }
            if self.bound.text(there) == *here || self.masked(there) == self.masked(here) {
                return;
            }
            wording = !there.is_empty() && !here.is_empty() && (key == "message" || path.is_empty());
        }
        let path = if path.is_empty() { "body" } else { path };
        let text = format!("{path}: {}, recorded {}", short(live), short(recorded));
        let grade = match (recorded, live) {
            _ if wording => Grade::Text,
            _ if std::mem::discriminant(recorded) == std::mem::discriminant(live) => Grade::Value,
            _ => Grade::Shape,
        };
        self.found.push(Finding::new(grade, text));
    }

    /// Binds the generated name in the error message of a failed create.
    fn masked<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let Some(prefix) = GENERATE_NAME.captures(self.asked).and_then(|found| found.get(1)) else {
            return Cow::Borrowed(text);
        };
        let prefix = prefix.as_str();
        let text = UUID_WITHIN.replace_all(text, "UUID");
        match Regex::new(&format!(r"{}[a-z0-9]{{5}}\b", regex::escape(prefix))) {
            Ok(generated) => Cow::Owned(
                generated
                    .replace_all(&text, regex::NoExpand(&format!("{prefix}?????")))
                    .into_owned(),
            ),
            Err(_) => text,
        }
    }

    fn hold(&mut self, path: &str, result: Result<(), String>) {
        if let Err(wrong) = result {
            self.value(format!("{path}: {wrong}"));
        }
    }

    fn value(&mut self, text: String) {
        self.found.push(Finding::new(Grade::Value, text));
    }

    fn shape(&mut self, text: String) {
        self.found.push(Finding::new(Grade::Shape, text));
    }
}

/// Whether both names can be generated from the prefix next to the recorded one.
fn generated(there: &str, here: &str, parent: Option<&Map<String, Value>>) -> bool {
    let Some(Value::String(prefix)) = parent.and_then(|parent| parent.get("generateName")) else {
        return false;
    };
    !prefix.is_empty()
        && there.starts_with(prefix.as_str())
        && here.starts_with(prefix.as_str())
        && there.chars().count() == here.chars().count()
}

/// Whether the order of a list has no meaning: generated names, and components.
fn is_unordered(there: &[&Value], here: &[&Value]) -> bool {
    let metadata = |item: &&Value| item.get("metadata").is_some_and(Value::is_object);
    let free = |item: &&Value| {
        let text = |key: &str| {
            item.pointer(&format!("/metadata/{key}"))
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        !text("generateName").is_empty() || text("selfLink").contains("/componentstatuses/")
    };
    there.iter().chain(here).all(metadata) && there.iter().any(free)
}

/// Sort key of an object in a list whose order has no meaning.
pub(crate) fn place(item: &Value) -> (String, String, String) {
    let field = |key: &str| item.pointer(&format!("/metadata/{key}")).and_then(Value::as_str);
    let name = field("name").unwrap_or_default().to_owned();
    let namespace = field("namespace").unwrap_or_default().to_owned();
    match field("generateName") {
        Some("") => (namespace, String::new(), name),
        Some(prefix) => (namespace, prefix.to_owned(), String::new()),
        None => (namespace, name.clone(), name),
    }
}

/// Whether two scalars are equal in value and type: 1 is not 1.0.
fn same(recorded: &Value, live: &Value) -> bool {
    match (recorded, live) {
        (Value::Number(there), Value::Number(here)) => {
            there.is_f64() == here.is_f64() && (there == here || there.is_f64() && there.as_f64() == here.as_f64())
        }
        _ => recorded == live,
    }
}

/// Formats a value in one line.
pub(crate) fn short(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() < 160 {
        text
    } else {
        text.chars().take(157).collect::<String>() + "..."
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    fn grades(recorded: Value, live: Value) -> Vec<Grade> {
        let mut bound = Bindings::default();
        let mut comparison = Comparison::new(&mut bound, "");
        comparison.values("", &recorded, &live);
        comparison.found.iter().map(|finding| finding.grade).collect()
    }

    #[rstest]
    #[case(json!({"a": 1}), json!({"a": 1.0}), &[Grade::Value])]
    #[case(json!({"message": "a"}), json!({"message": "b"}), &[Grade::Text])]
    #[case(json!({"message": "a"}), json!({"message": ""}), &[Grade::Value])]
    #[case(json!("a"), json!("b"), &[Grade::Text])]
    #[case(json!({"a": 1}), json!({"b": 1}), &[Grade::Shape, Grade::Shape])]
    #[case(json!({"gitVersion": "v1"}), json!({"gitVersion": "v2"}), &[])]
    #[case(json!({"startTime": "2026-11-21T11:45:16Z"}), json!({"startTime": "2015-01-01T00:00:00Z"}), &[])]
    #[case(json!({"startTime": "2026-11-21T11:45:16Z"}), json!({"startTime": "yesterday"}), &[Grade::Value])]
    #[case(json!({"clusterIP": "10.0.0.7"}), json!({"clusterIP": "10.0.0.254"}), &[])]
    #[case(json!({"clusterIP": "10.0.0.7"}), json!({"clusterIP": "10.0.0.255"}), &[Grade::Value])]
    #[case(json!({"nodePort": 30001}), json!({"nodePort": 32767}), &[])]
    #[case(json!({"nodePort": 30001}), json!({"nodePort": 80}), &[Grade::Value])]
    #[case(json!({"generateName": "w-", "name": "w-abcde"}), json!({"generateName": "w-", "name": "w-fghij"}), &[])]
    #[case(json!({"generateName": "w-", "name": "w-abcde"}), json!({"generateName": "w-", "name": "w-fghijk"}), &[Grade::Value])]
    #[case(json!([1, 2]), json!([1]), &[Grade::Shape])]
    fn differences_are_graded(#[case] recorded: Value, #[case] live: Value, #[case] expected: &[Grade]) {
        assert_eq!(grades(recorded, live), expected);
    }

    #[test]
    fn a_self_link_is_compared_after_the_name_in_it() {
        let object = |name: &str| json!({"selfLink": format!("/pods/{name}"), "name": name, "generateName": "w-"});
        assert_eq!(grades(object("w-abcde"), object("w-fghij")), []);
    }

    #[test]
    fn a_refused_create_may_show_another_generated_name() {
        let mut bound = Bindings::default();
        let mut comparison = Comparison::new(&mut bound, r#"{"metadata": {"generateName": "web-"}}"#);
        comparison.values(
            "",
            &json!({"message": "pods \"web-abcde\" is bad"}),
            &json!({"message": "pods \"web-zzzzz\" is bad"}),
        );
        assert_eq!(comparison.found, []);
    }
}
