//! Readers of sort values from the columns of a segment.
//!
//! Source: Elasticsearch 1.5's `XFieldComparatorSource` and its modes of fields with several values.

use std::collections::HashMap;
use std::sync::Arc;

use crate::error::Result;
use crate::find::geo_sort::GeoSort;
use crate::find::sort::{Missing, SortSpec, SortValue, unmapped};
use crate::find::{SearchRequest, Searched};
use crate::index::{Ordinals, SegmentView, Values, nested_docs, outer_docs};
use crate::json::java_number;
use crate::mapping::{FieldType, Kind, Mapping, TYPE, UID, own_terms, sortable, unsortable};
use crate::query::MultiValueMode;
use crate::score::Scorer;
use crate::script::SegmentScript;

enum Reader {
    Score,
    /// A script, and whether its numbers are sorted as texts.
    Script(SegmentScript, bool),
    /// Document number in the shard. Holds the number of the segment's first document.
    Document(i64),
    Numbers {
        values: Arc<Values>,
        kind: Kind,
        missing: i64,
    },
    Geo(Arc<Values>, GeoSort),
    /// Terms, and the value of documents without one.
    Terms(Arc<Ordinals>, SortValue),
    /// Terms of the nested objects, by document.
    NestedTerms(Arc<Ordinals>, HashMap<u32, Vec<u32>>, SortValue),
    /// The same value for every document.
    Constant(SortValue),
}

/// Reader of the sort values of a segment's documents.
pub(super) struct SortReader {
    readers: Vec<(Reader, bool, Option<MultiValueMode>)>,
}

impl SortReader {
    /// Creates the reader of segment number `at` of a shard.
    pub(super) fn new(request: &SearchRequest, searched: &Searched, at: usize) -> Result<SortReader> {
        let mapping = &searched.mapping;
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
                let path = spec.nested_path_in(mapping);
                if let Some(path) = path {
                    let budget = &request.budget;
                    let filter = filter.map(|filter| filter.scorer(at, view, budget)).transpose()?;
                    reader = joined(reader, view, path, filter)?;
                }
                Ok((reader, spec.descending, spec.mode))
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(SortReader { readers })
    }

    pub(super) fn read(&self, doc: u32, score: f32) -> Vec<SortValue> {
        self.readers
            .iter()
            .map(|(reader, descending, mode)| match reader {
                Reader::Score => SortValue::Single(score),
                Reader::Script(script, true) => SortValue::Text(Some(java_number(script.value(doc)))),
                Reader::Script(script, false) => SortValue::Floating(script.value(doc)),
                Reader::Document(first) => SortValue::Whole(i64::from(doc) + first),
                Reader::Constant(value) => value.clone(),
                Reader::Numbers { values, kind, missing } => {
                    let own = values.of(doc);
                    let encoded = pick(own, *descending, *mode, kind.is_floating()).unwrap_or(*missing);
                    match kind {
                        Kind::Float => SortValue::Single(unsortable(encoded) as f32),
                        Kind::Double => SortValue::Floating(unsortable(encoded)),
                        _ => SortValue::Whole(encoded),
                    }
                }
                Reader::Geo(values, geo) => SortValue::Floating(geo.value(values.of(doc), *descending, *mode)),
                Reader::Terms(ordinals, missing) => {
                    pick_term(ordinals, ordinals.of(doc), *descending, *mode).unwrap_or_else(|| missing.clone())
                }
                Reader::NestedTerms(ordinals, own, missing) => {
                    let own = own.get(&doc).map_or(&[][..], Vec::as_slice);
                    pick_term(ordinals, own, *descending, *mode).unwrap_or_else(|| missing.clone())
                }
            })
            .collect()
    }
}

fn pick_term(ordinals: &Ordinals, own: &[u32], descending: bool, mode: Option<MultiValueMode>) -> Option<SortValue> {
    let last = match mode {
        Some(MultiValueMode::Max) => true,
        Some(MultiValueMode::Min) => false,
        // Strings have neither sum nor average.
        _ => descending,
    };
    let picked = if last { own.last() } else { own.first() };
    picked.map(|ordinal| SortValue::Text(Some(ordinals.term(*ordinal).to_owned())))
}

/// Wraps a reader: root documents get the values of their nested objects that pass a filter.
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
            // A nested object can be a hit itself (an inner hit) and then has its own values.
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
        Reader::Numbers { values, kind, missing } => {
            let of = |doc: u32| {
                let objects = objects.get(&doc).map_or(&[][..], Vec::as_slice);
                objects.iter().flat_map(|object| values.of(*object)).copied().collect()
            };
            Reader::Numbers {
                values: Arc::new(Values::several((0..segment.max_doc()).map(of))),
                kind,
                missing,
            }
        }
        Reader::Terms(ordinals, missing) => {
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
            Reader::NestedTerms(ordinals, terms, missing)
        }
        other => other,
    })
}

/// Selects one of several numbers by mode. Default: the minimum if ascending, the maximum if descending.
fn pick(values: &[i64], descending: bool, mode: Option<MultiValueMode>, floating: bool) -> Option<i64> {
    let decode = |value: &i64| if floating { unsortable(*value) } else { *value as f64 };
    let mode = mode.unwrap_or(MultiValueMode::of_order(descending));
    match mode {
        MultiValueMode::Min => values.first().copied(),
        MultiValueMode::Max => values.last().copied(),
        MultiValueMode::Sum | MultiValueMode::Avg => {
            let number = mode.select(values.iter().map(decode))?;
            Some(match mode {
                _ if floating => sortable(number),
                // Java's `Math.round` rounds half up.
                MultiValueMode::Avg => (number + 0.5).floor() as i64,
                _ => number as i64,
            })
        }
    }
}

fn reader(spec: &SortSpec, index: &str, mapping: &Mapping, view: &SegmentView) -> Result<Reader> {
    if let Some((script, by_text)) = &spec.script {
        return Ok(Reader::Script(script.mapped(mapping)?.of(&view.segment)?, *by_text));
    }
    match spec.field.as_str() {
        "_score" => return Ok(Reader::Score),
        "_index" => return Ok(Reader::Constant(SortValue::Text(Some(index.to_owned())))),
        // These are not indexed.
        "_id" | "_parent" => return Ok(Reader::Constant(absent(spec, Kind::String))),
        name => {
            if let Some(ordinal) = own_terms(name) {
                let missing = match ordinal {
                    TYPE | UID => SortValue::Text(None),
                    _ => absent(spec, Kind::String),
                };
                return Ok(Reader::Terms(view.segment.ordinals(ordinal)?, missing));
            }
        }
    }
    let Some(field) = mapping.field(&spec.field) else {
        return Ok(Reader::Constant(absent(spec, unmapped(spec)?)));
    };
    let kind = field.field_type.kind;
    if let Some(geo) = &spec.geo {
        return Ok(Reader::Geo(view.segment.values(field.ordinal)?, geo.clone()));
    }
    if !kind.is_numeric() {
        return Ok(Reader::Terms(view.segment.field_terms(field)?, absent(spec, kind)));
    }
    let missing = match absent(spec, kind) {
        SortValue::Floating(number) => sortable(number),
        SortValue::Whole(number) => number,
        _ => 0,
    };
    Ok(Reader::Numbers {
        values: view.segment.values(field.ordinal)?,
        kind,
        missing,
    })
}

/// Parses and encodes a number for fields of a kind. Integer kinds are parsed as long, floating-point kinds as double.
fn number_of(text: &str, kind: Kind) -> Result<i64> {
    let widest = if kind.is_floating() { Kind::Double } else { Kind::Long };
    FieldType::of(widest).encode_text(text)
}

/// Checks that `missing` of criteria on numeric fields is a number.
pub(super) fn check_missing(specs: &[SortSpec], mapping: &Mapping) -> Result<()> {
    for spec in specs {
        if let Some((script, _)) = &spec.script {
            script.mapped(mapping)?.without_score()?;
        }
        let field = mapping
            .field(&spec.field)
            .filter(|_| spec.geo.is_none() && spec.script.is_none());
        let kind = field.map(|field| field.field_type.kind);
        if let (Missing::As(text), Some(kind)) = (&spec.missing, kind.filter(|kind| kind.is_numeric())) {
            number_of(text, kind)?;
        }
    }
    Ok(())
}

/// Returns the sort value of a document without a value.
fn absent(spec: &SortSpec, kind: Kind) -> SortValue {
    match (&spec.missing, kind) {
        (Missing::As(text), _) if !kind.is_numeric() => return SortValue::Text(Some(text.clone())),
        (Missing::As(text), _) => match number_of(text, kind) {
            Ok(encoded) if kind.is_floating() => return SortValue::Floating(unsortable(encoded)),
            Ok(encoded) => return SortValue::Whole(encoded),
            Err(_) => {}
        },
        _ => {}
    }
    let high = (spec.missing == Missing::First) == spec.descending;
    match kind {
        _ if kind.is_floating() => SortValue::Floating(if high { f64::INFINITY } else { f64::NEG_INFINITY }),
        _ if kind.is_numeric() => SortValue::Whole(if high { i64::MAX } else { i64::MIN }),
        _ => SortValue::Text(None),
    }
}
