//! In which order hits come.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::error::{Result, SearchError};
use crate::find::geo_sort::{GeoSettings, GeoSort};
use crate::find::{SearchRequest, Searched};
use crate::index::{Ordinals, SegmentView, Values, nested_docs, outer_docs};
use crate::mapping::{Field, Kind, Mapping, TIMESTAMP, TYPE, UID, sortable, unsortable};
use crate::query::{Context, check_nested};
use crate::score::Scorer;
use crate::script::{Script, SegmentScript};

/// One criterion of the order.
#[derive(Clone, Debug)]
pub(crate) struct SortSpec {
    pub(crate) field: String,
    pub(crate) descending: bool,
    missing: Missing,
    mode: Option<String>,
    /// Type of a field that is not mapped.
    unmapped: Option<String>,
    ignore_unmapped: bool,
    /// Path of the nested objects whose values count. Default: those that the field is part of.
    nested_path: Option<String>,
    /// What makes the value, in the place of a field.
    script: Option<Script>,
    /// The points from which the field's points are measured.
    geo: Option<GeoSort>,
    /// Which of these count.
    pub(super) nested_filter: Option<Value>,
}

/// Where documents without a value go.
#[derive(Clone, Debug, PartialEq)]
enum Missing {
    Last,
    First,
    As(String),
}

impl SortSpec {
    fn of(field: &str, descending: Option<bool>) -> SortSpec {
        SortSpec {
            field: field.to_owned(),
            descending: descending.unwrap_or(field == "_score"),
            missing: Missing::Last,
            mode: None,
            unmapped: None,
            ignore_unmapped: false,
            nested_path: None,
            script: None,
            geo: None,
            nested_filter: None,
        }
    }
}

fn direction(field: &str, text: &str) -> Result<bool> {
    match text {
        "asc" => Ok(false),
        "desc" => Ok(true),
        _ => Err(SearchError::illegal(format!("sort direction [{field}] not supported"))),
    }
}

/// The order of a parameter `sort=field:desc,other`, and the search source that stands for it.
///
/// A direction that is not known drops its field.
pub(super) fn parse_sort_text(text: &str) -> (Vec<SortSpec>, Value) {
    let (mut specs, mut shown) = (Vec::new(), Vec::new());
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (field, order) = part
            .rsplit_once(':')
            .map_or((part, None), |(field, order)| (field, Some(order)));
        match order {
            None => {
                specs.push(SortSpec::of(field, None));
                shown.push(json!({field: {}}));
            }
            Some("asc" | "desc") => {
                specs.push(SortSpec::of(field, Some(order == Some("desc"))));
                shown.push(json!({field: {"order": order}}));
            }
            Some(_) => {}
        }
    }
    (specs, shown.into())
}

/// The order that a body says.
pub(crate) fn parse_sort(value: &Value) -> Result<Vec<SortSpec>> {
    match value {
        Value::Array(items) => items
            .iter()
            .map(parse_sort)
            .collect::<Result<Vec<_>>>()
            .map(|all| all.into_iter().flatten().collect()),
        Value::String(field) => Ok(vec![SortSpec::of(field, None)]),
        Value::Object(fields) => fields
            .iter()
            .map(|(field, settings)| parse_one(field, settings))
            .collect(),
        _ => Err(SearchError::illegal(
            "malformed sort format, either start with array, object, or an actual string",
        )),
    }
}

fn parse_one(field: &str, settings: &Value) -> Result<SortSpec> {
    if let ("_geo_distance", Value::Object(settings)) = (field, settings) {
        let wanted = GeoSettings::parse(settings)?;
        return Ok(SortSpec {
            mode: wanted.mode,
            geo: Some(wanted.geo),
            nested_path: wanted.nested_path,
            nested_filter: wanted.nested_filter,
            ..SortSpec::of(&wanted.field, Some(wanted.descending))
        });
    }
    match settings {
        Value::String(order) => Ok(SortSpec::of(field, Some(direction(field, order)?))),
        Value::Object(settings) => {
            let mut spec = SortSpec::of(field, None);
            if field == "_script" {
                spec.script = Some(Script::parse(&Value::Object(settings.clone()))?);
            }
            for (key, value) in settings {
                match (key.as_str(), value.as_str()) {
                    // A direction that does not exist is none here, unlike in the short form.
                    ("order", Some(order)) => spec.descending = direction(field, order).unwrap_or(spec.descending),
                    ("reverse", _) => spec.descending = crate::mapping::truth(value),
                    ("missing", Some("_last")) => spec.missing = Missing::Last,
                    ("missing", Some("_first")) => spec.missing = Missing::First,
                    ("missing", _) => {
                        spec.missing = Missing::As(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
                    }
                    ("mode", Some(mode @ ("min" | "max" | "sum" | "avg"))) => spec.mode = Some(mode.to_owned()),
                    ("mode", Some(mode)) => return Err(SearchError::illegal(format!("Illegal sort_mode {mode}"))),
                    ("ignore_unmapped", _) => spec.ignore_unmapped = crate::mapping::truth(value),
                    ("unmapped_type", Some(kind)) => spec.unmapped = Some(kind.to_owned()),
                    ("script" | "lang" | "params" | "type", _) if field == "_script" => {}
                    ("nested_path", Some(path)) => spec.nested_path = Some(path.to_owned()),
                    ("nested_filter", _) => spec.nested_filter = Some(value.clone()),
                    (other, _) => {
                        return Err(SearchError::illegal(format!("sort option [{other}] not supported")));
                    }
                }
            }
            Ok(spec)
        }
        other => Err(SearchError::illegal(format!(
            "sort direction [{field}] not supported: {other}"
        ))),
    }
}

/// A value by which a hit is ordered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SortValue {
    Score(f32),
    Whole(i64),
    Floating(f64),
    Text(Option<String>),
}

impl SortValue {
    fn order(&self, other: &SortValue) -> Ordering {
        match (self, other) {
            (SortValue::Score(a), SortValue::Score(b)) => a.total_cmp(b),
            (SortValue::Whole(a), SortValue::Whole(b)) => a.cmp(b),
            (SortValue::Floating(a), SortValue::Floating(b)) => a.total_cmp(b),
            (SortValue::Text(a), SortValue::Text(b)) => a.cmp(b),
            // Indices can disagree about a field's kind.
            (SortValue::Whole(a), SortValue::Floating(b)) => (*a as f64).total_cmp(b),
            (SortValue::Floating(a), SortValue::Whole(b)) => a.total_cmp(&(*b as f64)),
            (a, b) => a.rank().cmp(&b.rank()),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            SortValue::Score(_) => 0,
            SortValue::Whole(_) | SortValue::Floating(_) => 1,
            SortValue::Text(_) => 2,
        }
    }

    /// The value as a hit shows it.
    pub(crate) fn json(&self) -> Value {
        match self {
            SortValue::Score(score) => crate::score::shown(*score),
            SortValue::Whole(number) => json!(number),
            SortValue::Floating(number) if number.is_finite() => json!(number),
            SortValue::Floating(number) => json!(if *number > 0.0 { "Infinity" } else { "-Infinity" }),
            SortValue::Text(text) => json!(text),
        }
    }
}

/// Which of two hits comes first by these criteria.
pub(super) fn compare(specs: &[SortSpec], a: &[SortValue], b: &[SortValue]) -> Ordering {
    for ((spec, a), b) in specs.iter().zip(a).zip(b) {
        // Where documents without a value go does not turn around with the order.
        let missing = match (a, b) {
            (SortValue::Text(a), SortValue::Text(b)) if a.is_none() != b.is_none() => {
                let after = a.is_none() != (spec.missing == Missing::First);
                Some(if after { Ordering::Greater } else { Ordering::Less })
            }
            _ => None,
        };
        let order = missing.unwrap_or_else(|| if spec.descending { b.order(a) } else { a.order(b) });
        if order != Ordering::Equal {
            return order;
        }
    }
    Ordering::Equal
}

enum Reader {
    Score,
    Script(SegmentScript),
    /// The number of a document in the shard, which is so much higher than in the segment.
    Document(i64),
    Numbers {
        values: Arc<Values>,
        floating: bool,
        missing: i64,
    },
    Geo(Arc<Values>, GeoSort),
    Terms(Arc<Ordinals>),
    /// Terms of the nested objects of each document.
    NestedTerms(Arc<Ordinals>, HashMap<u32, Vec<u32>>),
    Nothing(SortValue),
}

/// Reads the values of a segment's documents by which they are ordered.
pub(super) struct SortReader {
    readers: Vec<(Reader, bool, Option<String>)>,
}

impl SortReader {
    /// The reader of segment number `at` of a shard.
    pub(super) fn new(request: &SearchRequest, searched: &Searched, at: usize) -> Result<SortReader> {
        let mapping = &searched.index.mapping();
        let Some(view) = searched.view.segments.get(at) else {
            return Ok(SortReader { readers: vec![] });
        };
        let earlier = searched.view.segments.iter().take(at);
        let before = earlier.map(|view| i64::from(view.segment.max_doc())).sum();
        let filters = searched
            .sort_filters
            .iter()
            .map(Option::as_ref)
            .chain(std::iter::repeat(None));
        let readers = request
            .sort
            .iter()
            .zip(filters)
            .map(|(spec, filter)| {
                let mut reader = match spec.field.as_str() {
                    "_doc" => Reader::Document(before),
                    _ => reader(spec, &searched.index.name, mapping, view)?,
                };
                let path = spec.nested_path.as_deref().or_else(|| mapping.nested_path(&spec.field));
                if let Some(path) = path {
                    let budget = &request.budget;
                    let filter = filter.map(|filter| filter.scorer(at, view, budget)).transpose()?;
                    reader = joined(reader, view, path, filter)?;
                }
                Ok((reader, spec.descending, spec.mode.clone()))
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(SortReader { readers })
    }

    pub(super) fn read(&self, doc: u32, score: f32) -> Vec<SortValue> {
        self.readers
            .iter()
            .map(|(reader, descending, mode)| match reader {
                Reader::Score => SortValue::Score(score),
                Reader::Script(script) => SortValue::Floating(script.value(doc, score)),
                Reader::Document(first) => SortValue::Whole(i64::from(doc) + first),
                Reader::Nothing(value) => value.clone(),
                Reader::Numbers {
                    values,
                    floating,
                    missing,
                } => {
                    let own = values.of(doc);
                    let encoded = pick(own, *descending, mode.as_deref(), *floating).unwrap_or(*missing);
                    if *floating {
                        SortValue::Floating(unsortable(encoded))
                    } else {
                        SortValue::Whole(encoded)
                    }
                }
                Reader::Geo(values, geo) => {
                    SortValue::Floating(geo.value(values.of(doc), *descending, mode.as_deref()))
                }
                Reader::Terms(ordinals) => pick_term(ordinals, ordinals.of(doc), *descending, mode.as_deref()),
                Reader::NestedTerms(ordinals, own) => {
                    let own = own.get(&doc).map_or(&[][..], Vec::as_slice);
                    pick_term(ordinals, own, *descending, mode.as_deref())
                }
            })
            .collect()
    }
}

fn pick_term(ordinals: &Ordinals, own: &[u32], descending: bool, mode: Option<&str>) -> SortValue {
    let last = match mode {
        Some("max") => true,
        Some("min") => false,
        // Texts have no sum and no average.
        _ => descending,
    };
    let picked = if last { own.last() } else { own.first() };
    SortValue::Text(picked.map(|ordinal| ordinals.term(*ordinal).to_owned()))
}

/// A reader that gives whole documents the values of their nested objects that pass a filter.
fn joined(
    reader: Reader,
    view: &SegmentView,
    path: &str,
    mut filter: Option<Option<Box<dyn Scorer>>>,
) -> Result<Reader> {
    let segment = &view.segment;
    let whole = outer_docs(segment, None)?;
    let mut objects: HashMap<u32, Vec<u32>> = HashMap::new();
    for object in nested_docs(segment, path)?.iter() {
        let passes = match &mut filter {
            None => true,
            Some(None) => false,
            Some(Some(filter)) => filter.seek(object) == object,
        };
        if let (true, Some(owner)) = (passes, whole.next(object)) {
            objects.entry(owner).or_default().push(object);
            // A nested object that is a hit itself has its own values.
            objects.insert(object, vec![object]);
        }
    }
    Ok(match reader {
        Reader::Geo(values, geo) => {
            let of = |doc: u32| {
                let objects = objects.get(&doc).map_or(&[][..], Vec::as_slice);
                objects.iter().flat_map(|object| values.of(*object)).copied().collect()
            };
            Reader::Geo(Arc::new(Values::several((0..segment.max_doc()).map(of))), geo)
        }
        Reader::Numbers {
            values,
            floating,
            missing,
        } => {
            let of = |doc: u32| {
                let objects = objects.get(&doc).map_or(&[][..], Vec::as_slice);
                objects.iter().flat_map(|object| values.of(*object)).copied().collect()
            };
            Reader::Numbers {
                values: Arc::new(Values::several((0..segment.max_doc()).map(of))),
                floating,
                missing,
            }
        }
        Reader::Terms(ordinals) => {
            let terms = objects.into_iter().map(|(doc, objects)| {
                let mut own: Vec<u32> = objects
                    .iter()
                    .flat_map(|object| ordinals.of(*object))
                    .copied()
                    .collect();
                own.sort_unstable();
                (doc, own)
            });
            let terms = terms.collect();
            Reader::NestedTerms(ordinals, terms)
        }
        other => other,
    })
}

/// One number of several: the least in ascending order, the greatest in descending order, or as the mode says.
fn pick(values: &[i64], descending: bool, mode: Option<&str>, floating: bool) -> Option<i64> {
    let sum = || {
        if floating {
            values.iter().map(|value| unsortable(*value)).sum::<f64>()
        } else {
            values.iter().map(|value| *value as f64).sum()
        }
    };
    let encode = |number: f64| {
        if floating { sortable(number) } else { number as i64 }
    };
    match mode {
        _ if values.is_empty() => None,
        Some("min") => values.first().copied(),
        Some("max") => values.last().copied(),
        Some("sum") => Some(encode(sum())),
        // Java rounds the average of whole numbers half up.
        Some("avg") if !floating => Some((sum() / values.len() as f64 + 0.5).floor() as i64),
        Some("avg") => Some(encode(sum() / values.len() as f64)),
        _ if descending => values.last().copied(),
        _ => values.first().copied(),
    }
}

fn unmapped(spec: &SortSpec) -> Result<Kind> {
    match &spec.unmapped {
        Some(name) => {
            Kind::named(name).ok_or_else(|| SearchError::illegal(format!("No mapper found for type [{name}]")))
        }
        None if spec.ignore_unmapped => Ok(Kind::Long),
        None => {
            let reason = format!("No mapping found for [{}] in order to sort on", spec.field);
            Err(SearchError::search(reason))
        }
    }
}

/// Fails if a field of an order is not mapped, or what it is in is not nested.
pub(super) fn check_sort(specs: &[SortSpec], context: &Context<'_>) -> Result<()> {
    let mapping = context.mapping;
    for spec in specs {
        if let Some(path) = &spec.nested_path {
            check_nested(context, path)?;
        }
        if let Some(script) = &spec.script {
            script.mapped(mapping)?;
        } else if spec.geo.is_some() {
            let field = mapping.field(&spec.field);
            if field.is_none_or(|field| field.field_type.kind != Kind::GeoPoint) {
                return Err(GeoSettings::unmapped(&spec.field));
            }
        } else if !matches!(
            spec.field.as_str(),
            "_score" | "_doc" | "_type" | "_uid" | "_id" | "_index" | TIMESTAMP
        ) && mapping.field(&spec.field).is_none()
        {
            unmapped(spec)?;
        }
    }
    Ok(())
}

fn reader(spec: &SortSpec, index: &str, mapping: &Mapping, view: &SegmentView) -> Result<Reader> {
    if let Some(script) = &spec.script {
        return Ok(Reader::Script(script.mapped(mapping)?.of(&view.segment)?));
    }
    match spec.field.as_str() {
        "_score" => return Ok(Reader::Score),
        "_type" => return Ok(Reader::Terms(view.segment.ordinals(TYPE)?)),
        "_uid" => return Ok(Reader::Terms(view.segment.ordinals(UID)?)),
        "_index" => return Ok(Reader::Nothing(SortValue::Text(Some(index.to_owned())))),
        // Ids by themselves, and times of writing unless the mapping wants them, are not indexed.
        "_id" => return Ok(Reader::Nothing(absent(spec, Kind::String, None))),
        TIMESTAMP if mapping.exact_field(TIMESTAMP).is_none() => {
            return Ok(Reader::Nothing(absent(spec, Kind::Long, None)));
        }
        _ => {}
    }
    let Some(field) = mapping.field(&spec.field) else {
        return Ok(Reader::Nothing(absent(spec, unmapped(spec)?, None)));
    };
    let kind = field.field_type.kind;
    if let Some(geo) = &spec.geo {
        return Ok(Reader::Geo(view.segment.values(field.ordinal)?, geo.clone()));
    }
    if !kind.is_numeric() {
        return Ok(Reader::Terms(view.segment.ordinals(field.ordinal)?));
    }
    let missing = match absent(spec, kind, Some(field)) {
        SortValue::Floating(number) => sortable(number),
        SortValue::Whole(number) => number,
        _ => 0,
    };
    Ok(Reader::Numbers {
        values: view.segment.values(field.ordinal)?,
        floating: kind.is_floating(),
        missing,
    })
}

/// What a document without a value counts as.
fn absent(spec: &SortSpec, kind: Kind, field: Option<&Field>) -> SortValue {
    if let (Missing::As(text), Some(field)) = (&spec.missing, field)
        && let Ok(encoded) = field.field_type.encode_text(text)
    {
        return if kind.is_floating() {
            SortValue::Floating(unsortable(encoded))
        } else {
            SortValue::Whole(encoded)
        };
    }
    let high = (spec.missing == Missing::First) == spec.descending;
    match kind {
        _ if kind.is_floating() => SortValue::Floating(if high { f64::INFINITY } else { f64::NEG_INFINITY }),
        _ if kind.is_numeric() => SortValue::Whole(if high { i64::MAX } else { i64::MIN }),
        _ => SortValue::Text(None),
    }
}
