//! Buckets by term.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::values::{Shown, Source, field_of, plain, shown};
use super::{Aggregation, DocSet, Matches, Scope, bucket, refuse};
use crate::error::Result;
use crate::mapping::unsortable;

/// A term: text, or a number as the field encodes it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Key {
    Number(i64, bool),
    Text(Box<str>),
}

impl Key {
    fn order(&self, other: &Key) -> Ordering {
        self.cmp(other)
    }
}

enum By {
    Count,
    Term,
    Under(String, Option<String>),
}

struct Order {
    by: By,
    descending: bool,
}

fn orders(settings: &Value) -> Result<Vec<Order>> {
    let parse = |object: &Map<String, Value>| -> Result<Vec<Order>> {
        object
            .iter()
            .map(|(key, direction)| {
                let by = match key.as_str() {
                    "_count" => By::Count,
                    "_term" | "_key" => By::Term,
                    path => match path.split_once('.') {
                        Some((name, value)) => By::Under(name.to_owned(), Some(value.to_owned())),
                        None => By::Under(path.to_owned(), None),
                    },
                };
                match direction.as_str() {
                    Some("asc") => Ok(Order { by, descending: false }),
                    Some("desc") => Ok(Order { by, descending: true }),
                    _ => Err(refuse(format!("Unknown terms order direction [{direction}]"))),
                }
            })
            .collect()
    };
    match settings.get("order") {
        None => Ok(vec![Order {
            by: By::Count,
            descending: true,
        }]),
        Some(Value::Object(object)) => parse(object),
        Some(Value::Array(items)) => items
            .iter()
            .filter_map(Value::as_object)
            .map(parse)
            .collect::<Result<Vec<_>>>()
            .map(|all| all.into_iter().flatten().collect()),
        Some(other) => Err(refuse(format!("Unexpected terms order [{other}]"))),
    }
}

/// Which terms may have a bucket.
struct Allowed {
    include: Option<Names>,
    exclude: Option<Names>,
}

enum Names {
    Listed(HashSet<String>),
    Like(regex::Regex),
}

impl Names {
    fn parse(value: &Value) -> Result<Names> {
        let pattern = match value {
            Value::Array(items) => {
                return Ok(Names::Listed(
                    items
                        .iter()
                        .map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned))
                        .collect(),
                ));
            }
            Value::Object(object) => object.get("pattern").and_then(Value::as_str).unwrap_or(""),
            other => other.as_str().unwrap_or(""),
        };
        regex::RegexBuilder::new(&format!("^(?:{pattern})$"))
            .size_limit(1 << 20)
            .build()
            .map(Names::Like)
            .map_err(|error| refuse(error.to_string()))
    }

    fn has(&self, text: &str) -> bool {
        match self {
            Names::Listed(names) => names.contains(text),
            Names::Like(pattern) => pattern.is_match(text),
        }
    }
}

impl Allowed {
    fn accepts(&self, text: &str) -> bool {
        self.include.as_ref().is_none_or(|names| names.has(text))
            && !self.exclude.as_ref().is_some_and(|names| names.has(text))
    }
}

/// `terms`: a bucket for every term, the most frequent first.
pub(super) fn terms(scope: &Scope<'_>, aggregation: &Aggregation, matches: &Matches) -> Result<Value> {
    let settings = &aggregation.settings;
    let field = field_of(aggregation)?;
    let number = |key: &str, default: u64| {
        settings
            .get(key)
            .and_then(|value| value.as_u64().or_else(|| value.as_str()?.parse().ok()))
            .unwrap_or(default)
    };
    let size = match usize::try_from(number("size", 10)).unwrap_or(usize::MAX) {
        0 => usize::MAX,
        size => size,
    };
    let least = number("min_doc_count", 1);
    let allowed = Allowed {
        include: settings.get("include").map(Names::parse).transpose()?,
        exclude: settings.get("exclude").map(Names::parse).transpose()?,
    };
    let orders = orders(settings)?;
    let shown = shown(scope, aggregation);
    let mut counts: HashMap<Key, u64> = HashMap::new();
    for set in &matches.sets {
        count(scope, set, field, least == 0, &mut counts)?;
    }
    counts.retain(|key, count| *count >= least && allowed.accepts(&text(key, &shown)));
    let total: u64 = counts.values().sum();
    let nothing = Matches::default();
    let mut buckets: Vec<(Key, u64, Option<Value>)> =
        counts.into_iter().map(|(key, count)| (key, count, None)).collect();
    if orders.iter().any(|order| matches!(order.by, By::Under(..))) {
        // What orders the buckets has to be known of all of them.
        scope.spend(buckets.len())?;
        let groups = grouped(scope, matches, field, buckets.iter().map(|(key, ..)| key))?;
        for (key, _, under) in &mut buckets {
            let group = groups.get(key).unwrap_or(&nothing);
            *under = Some(bucket(scope, &aggregation.under, head(key, &shown), group)?);
        }
    }
    buckets.sort_by(|(a, a_count, a_under), (b, b_count, b_under)| {
        for order in &orders {
            let way = match &order.by {
                By::Count => a_count.cmp(b_count),
                By::Term => a.order(b),
                By::Under(name, value) => metric(a_under.as_ref(), name, value.as_deref()).total_cmp(&metric(
                    b_under.as_ref(),
                    name,
                    value.as_deref(),
                )),
            };
            let way = if order.descending { way.reverse() } else { way };
            if way != Ordering::Equal {
                return way;
            }
        }
        a.order(b)
    });
    buckets.truncate(size);
    scope.spend(buckets.len())?;
    let wanted = buckets
        .iter()
        .filter(|(_, _, under)| under.is_none() && !aggregation.under.is_empty());
    let groups = grouped(scope, matches, field, wanted.map(|(key, ..)| key))?;
    let kept: u64 = buckets.iter().map(|(_, count, _)| *count).sum();
    let buckets = buckets
        .into_iter()
        .map(|(key, count, under)| match under {
            Some(under) => Ok(under),
            None if aggregation.under.is_empty() => {
                let mut head = head(&key, &shown);
                head.insert("doc_count".to_owned(), json!(count));
                Ok(Value::Object(head))
            }
            None => bucket(
                scope,
                &aggregation.under,
                head(&key, &shown),
                groups.get(&key).unwrap_or(&nothing),
            ),
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(json!({"doc_count_error_upper_bound": 0, "sum_other_doc_count": total - kept, "buckets": buckets}))
}

fn metric(bucket: Option<&Value>, name: &str, value: Option<&str>) -> f64 {
    let Some(under) = bucket.and_then(|bucket| bucket.get(name)) else {
        return f64::NAN;
    };
    under
        .get(value.unwrap_or("value"))
        .or_else(|| under.get("doc_count"))
        .and_then(Value::as_f64)
        .unwrap_or(f64::NAN)
}

fn text(key: &Key, shown: &Shown) -> String {
    match key {
        Key::Text(text) => text.to_string(),
        Key::Number(encoded, floating) => {
            let number = if *floating {
                unsortable(*encoded)
            } else {
                *encoded as f64
            };
            shown.text(number).unwrap_or_else(|| plain(number).to_string())
        }
    }
}

fn head(key: &Key, shown: &Shown) -> Map<String, Value> {
    let mut head = Map::new();
    match key {
        Key::Text(text) => drop(head.insert("key".to_owned(), json!(text))),
        Key::Number(encoded, true) => drop(head.insert("key".to_owned(), json!(unsortable(*encoded)))),
        Key::Number(encoded, false) => {
            head.insert("key".to_owned(), json!(encoded));
            if let Some(text) = shown.text(*encoded as f64) {
                head.insert("key_as_string".to_owned(), json!(text));
            }
        }
    }
    head
}

fn count(scope: &Scope<'_>, set: &DocSet, field: &str, all: bool, counts: &mut HashMap<Key, u64>) -> Result<()> {
    match Source::of(scope, set, field)? {
        Source::Nothing => {}
        Source::Numbers { values, kind } => {
            for doc in &set.docs {
                for value in distinct(values.of(*doc)) {
                    *counts.entry(Key::Number(value, kind.is_floating())).or_default() += 1;
                }
            }
        }
        Source::Terms(terms) => {
            let mut here = vec![0u64; terms.len()];
            for doc in &set.docs {
                for ordinal in terms.of(*doc) {
                    if let Some(count) = here.get_mut(*ordinal as usize) {
                        *count += 1;
                    }
                }
            }
            for (ordinal, count) in (0u32..).zip(here).filter(|(_, count)| all || *count > 0) {
                *counts.entry(Key::Text(terms.term(ordinal).into())).or_default() += count;
            }
        }
    }
    Ok(())
}

fn distinct(values: &[i64]) -> impl Iterator<Item = i64> + '_ {
    values
        .iter()
        .enumerate()
        .filter(|(at, value)| *at == 0 || values.get(at - 1) != Some(value))
        .map(|(_, value)| *value)
}

/// The documents of each of these terms, found in one pass.
fn grouped<'a>(
    scope: &Scope<'_>,
    matches: &Matches,
    field: &str,
    keys: impl Iterator<Item = &'a Key>,
) -> Result<HashMap<Key, Matches>> {
    let mut groups: HashMap<Key, Matches> = keys.map(|key| (key.clone(), Matches::default())).collect();
    for set in &matches.sets {
        match Source::of(scope, set, field)? {
            Source::Nothing => {}
            Source::Numbers { values, kind } => {
                for (at, doc) in set.docs.iter().enumerate() {
                    for value in distinct(values.of(*doc)) {
                        if let Some(group) = groups.get_mut(&Key::Number(value, kind.is_floating())) {
                            group.push_doc(set, at);
                        }
                    }
                }
            }
            Source::Terms(terms) => {
                // The groups by ordinal, so that no text is compared for a document.
                let mut here: Vec<Option<Matches>> = vec![None; terms.len()];
                for key in groups.keys() {
                    if let Key::Text(text) = key
                        && let Some(slot) = terms.find(text).and_then(|ordinal| here.get_mut(ordinal as usize))
                    {
                        *slot = Some(Matches::default());
                    }
                }
                for (at, doc) in set.docs.iter().enumerate() {
                    for ordinal in terms.of(*doc) {
                        if let Some(Some(group)) = here.get_mut(*ordinal as usize) {
                            group.push_doc(set, at);
                        }
                    }
                }
                for (ordinal, found) in (0u32..).zip(here) {
                    if let Some(found) = found
                        && let Some(group) = groups.get_mut(&Key::Text(terms.term(ordinal).into()))
                    {
                        group.sets.extend(found.sets);
                    }
                }
            }
        }
    }
    Ok(groups)
}
