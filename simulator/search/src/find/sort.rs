//! Sort criteria of hits.

use std::cmp::Ordering;

use serde_json::{Map, Value, json};

use crate::error::{Result, SearchError};
use crate::find::geo_sort::{GeoSettings, GeoSort};
use crate::json::{self, Token, Tokens, floating, is_scalar};
use crate::mapping::{DataUse, Kind, Mapping, flag};
use crate::query::{Context, MultiValueMode, check_nested};
use crate::score::score_json;
use crate::script::Script;

/// A sort criterion.
#[derive(Clone, Debug)]
pub(crate) struct SortSpec {
    pub(crate) field: String,
    pub(crate) descending: bool,
    pub(super) missing: Missing,
    pub(super) mode: Option<MultiValueMode>,
    /// `unmapped_type`: type to assume if the field is not mapped.
    unmapped: Option<String>,
    ignore_unmapped: bool,
    /// Path of the nested objects whose values count. Default: that of the objects that contain the field.
    pub(super) nested_path: Option<String>,
    /// Script that computes the value, instead of a field, and whether its numbers are sorted as texts.
    pub(super) script: Option<(Script, bool)>,
    /// Origins of a sort by distance.
    pub(super) geo: Option<GeoSort>,
    /// Filter of the nested objects whose values count.
    pub(super) nested_filter: Option<Value>,
}

/// Position of documents without a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Missing {
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

/// Parses a parameter `sort=field:desc,other`. Returns the criteria and the equivalent search source.
///
/// A field with an unknown direction is ignored.
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

/// Reads the value of `sort`, whose first token is the current one, token by token as Elasticsearch does. After a
/// criterion of a wrong form, the elements that follow are read as criteria.
pub(super) fn read_sort(tokens: &mut Tokens<'_>, specs: &mut Vec<SortSpec>) -> Result<()> {
    let malformed = |allowed: &str| SearchError::illegal(format!("malformed sort format, {allowed}"));
    match tokens.current() {
        Token::Value(Value::String(field)) => specs.push(SortSpec::of(field, None)),
        Token::Object => {
            read_criteria(tokens, specs)?;
            // The options of the last criterion were read to the end of the object, and the criteria to that of the
            // source.
            if matches!(tokens.current(), Token::End) {
                return Err(SearchError::incomplete());
            }
        }
        Token::Array => {
            while !matches!(tokens.advance(), Token::EndArray) {
                match tokens.current() {
                    Token::Value(Value::String(field)) => specs.push(SortSpec::of(field, None)),
                    Token::Object => read_criteria(tokens, specs)?,
                    _ => {
                        return Err(malformed(
                            "within the sort array, an object, or an actual string are allowed",
                        ));
                    }
                }
            }
        }
        _ => return Err(malformed("either start with array, object, or an actual string")),
    }
    Ok(())
}

/// Reads the criteria of an object. Tokens that are no names are skipped.
fn read_criteria(tokens: &mut Tokens<'_>, specs: &mut Vec<SortSpec>) -> Result<()> {
    while let Some(token) = tokens.within_object() {
        let Token::Name(field) = token else { continue };
        specs.push(match tokens.advance() {
            Token::Value(Value::String(order)) => SortSpec::of(field, Some(direction(field, order)?)),
            _ if field == "_geo_distance" => by_distance(&own_settings(tokens))?,
            _ if field == "_script" => by_script(own_settings(tokens))?,
            _ => by_field(field, tokens)?,
        });
    }
    Ok(())
}

/// Returns the object that starts with the current token.
fn own_settings(tokens: &mut Tokens<'_>) -> Map<String, Value> {
    let settings = tokens.whole().and_then(Value::as_object);
    settings.cloned().unwrap_or_default()
}

fn by_distance(settings: &Map<String, Value>) -> Result<SortSpec> {
    let wanted = GeoSettings::parse(settings)?;
    Ok(SortSpec {
        mode: wanted.mode,
        geo: Some(wanted.geo),
        nested_path: wanted.nested_path,
        nested_filter: wanted.nested_filter,
        ..SortSpec::of(&wanted.field, Some(wanted.descending))
    })
}

fn by_script(mut settings: Map<String, Value>) -> Result<SortSpec> {
    let mut spec = SortSpec::of("_script", None);
    let mut script_type = None;
    for (key, value) in &mut settings {
        match key.as_str() {
            "nested_filter" | "nestedFilter" => spec.nested_filter = Some(value.clone()),
            _ if !is_scalar(value) => {}
            "type" => script_type = Some(json::text_of(value)),
            "reverse" | "order" | "mode" | "nested_path" | "nestedPath" => spec.set(key, value)?,
            // Other settings are ignored.
            _ => *value = json::text_of(value).into(),
        }
    }
    let missing = |what: &str| SearchError::search(format!("_script sorting requires setting the {what}"));
    let settings = Value::Object(settings);
    // What is missing is reported before a script that is invalid.
    let script = Script::parse(&settings).transpose();
    let script = script.ok_or_else(|| missing("script to sort by"))?;
    let script_type = script_type.ok_or_else(|| missing("type of the script"))?;
    let script = script?;
    let by_text = match script_type.as_str() {
        "string" => true,
        "number" => false,
        other => {
            let reason = format!("custom script sort type [{other}] not supported");
            return Err(SearchError::search(reason));
        }
    };
    spec.script = Some((script, by_text));
    Ok(spec)
}

/// Reads the settings of a field, from the current token up to the next end of an object.
fn by_field(field: &str, tokens: &mut Tokens<'_>) -> Result<SortSpec> {
    let mut spec = SortSpec::of(field, None);
    let mut key = None;
    while let Some(token) = tokens.within_object() {
        match (token, key) {
            (Token::Name(name), _) => key = Some(name),
            (Token::Value(value), Some(key)) => spec.set(key, value)?,
            (Token::Value(_), None) => return Err(SearchError::null_pointer()),
            (Token::Object, Some("nested_filter" | "nestedFilter")) => spec.nested_filter = tokens.whole().cloned(),
            (Token::Object, key) => return Err(unsupported(key.unwrap_or("null"))),
            _ => {}
        }
    }
    Ok(spec)
}

fn unsupported(option: &str) -> SearchError {
    SearchError::illegal(format!("sort option [{option}] not supported"))
}

impl SortSpec {
    /// Path of the nested objects whose values count, if any.
    pub(super) fn nested_path_in<'a>(&'a self, mapping: &'a Mapping) -> Option<&'a str> {
        self.nested_path.as_deref().or_else(|| mapping.nested_path(&self.field))
    }

    /// Filter of the nested objects whose values count. Without nested objects it is ignored.
    pub(super) fn nested_filter_in(&self, mapping: &Mapping) -> Option<&Value> {
        self.nested_filter
            .as_ref()
            .filter(|_| self.nested_path_in(mapping).is_some())
    }

    /// Sets an option. `value` is a string, a number or a boolean.
    fn set(&mut self, key: &str, value: &Value) -> Result<()> {
        let text = json::text_of(value);
        match key {
            // An unknown direction is ignored here, unlike in the short form.
            "order" => self.descending = direction(&self.field, &text).unwrap_or(self.descending),
            // Scores are sorted in descending order, unless that is reversed.
            "reverse" => self.descending = flag(value)? != (self.field == "_score"),
            "missing" => {
                self.missing = match text.as_str() {
                    "_last" => Missing::Last,
                    "_first" => Missing::First,
                    _ => Missing::As(text),
                }
            }
            "mode" => self.mode = Some(MultiValueMode::parse(&text)?),
            "ignore_unmapped" | "ignoreUnmapped" => self.ignore_unmapped = flag(value)?,
            "unmapped_type" | "unmappedType" => self.unmapped = Some(text),
            "nested_path" | "nestedPath" => self.nested_path = Some(text),
            _ => return Err(unsupported(key)),
        }
        Ok(())
    }
}

/// Sort value of a hit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SortValue {
    /// A score, or a number of a field of single precision.
    Single(f32),
    Whole(i64),
    Floating(f64),
    Text(Option<String>),
}

impl SortValue {
    fn order(&self, other: &SortValue) -> Ordering {
        match (self, other) {
            (SortValue::Single(a), SortValue::Single(b)) => a.total_cmp(b),
            (SortValue::Whole(a), SortValue::Whole(b)) => a.cmp(b),
            (SortValue::Floating(a), SortValue::Floating(b)) => a.total_cmp(b),
            (SortValue::Text(a), SortValue::Text(b)) => a.cmp(b),
            // A field can have different types in different indices.
            (SortValue::Whole(a), SortValue::Floating(b)) => (*a as f64).total_cmp(b),
            (SortValue::Floating(a), SortValue::Whole(b)) => a.total_cmp(&(*b as f64)),
            (a, b) => a.rank().cmp(&b.rank()),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            SortValue::Single(_) => 0,
            SortValue::Whole(_) | SortValue::Floating(_) => 1,
            SortValue::Text(_) => 2,
        }
    }

    /// Renders the value for a hit.
    pub(crate) fn json(&self) -> Value {
        match self {
            SortValue::Single(number) if number.is_finite() => score_json(*number),
            SortValue::Single(number) => floating(f64::from(*number)),
            SortValue::Whole(number) => json!(number),
            SortValue::Floating(number) => floating(*number),
            SortValue::Text(text) => json!(text),
        }
    }
}

/// Compares two hits by these criteria.
pub(super) fn compare(specs: &[SortSpec], a: &[SortValue], b: &[SortValue]) -> Ordering {
    for ((spec, a), b) in specs.iter().zip(a).zip(b) {
        // The position of documents without a value does not depend on the direction.
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

/// Returns the type to assume for an unmapped field.
///
/// # Errors
/// A criterion without `unmapped_type` or `ignore_unmapped`, or an unknown type.
pub(super) fn unmapped(spec: &SortSpec) -> Result<Kind> {
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

/// Returns the criteria as errors show them, after a comma. Empty: there are none.
pub(super) fn shown(specs: &[SortSpec], mapping: &Mapping) -> String {
    let shown: Vec<String> = specs.iter().map(|spec| spec.shown(mapping)).collect();
    match shown.as_slice() {
        [] => String::new(),
        shown => format!(",sort[{}]", shown.join(",")),
    }
}

impl SortSpec {
    fn shown(&self, mapping: &Mapping) -> String {
        let shown = match self.field.as_str() {
            own @ ("_score" | "_doc") => format!("<{}>", own.trim_start_matches('_')),
            field => {
                let mapped = mapping.field(field).map(|field| field.field_type.kind);
                let (name, kind) = match (mapped, &self.unmapped) {
                    _ if self.script.is_some() => (field.to_owned(), None),
                    (None, _) if METADATA.contains(&field) => (field.to_owned(), None),
                    (None, Some(name)) => (format!("__anonymous_{name}"), Kind::named(name)),
                    (None, None) => ("__anonymous_long".to_owned(), Some(Kind::Long)),
                    (mapped, _) => (field.to_owned(), mapped),
                };
                format!("<custom:\"{name}\": org.elasticsearch.{}@1>", self.source(kind))
            }
        };
        let is_reversed = self.descending != (self.field == "_score");
        shown + if is_reversed { "!" } else { "" }
    }

    /// Class of the source of the values in Elasticsearch. `kind` is that of the field.
    fn source(&self, kind: Option<Kind>) -> String {
        let of_numbers = |numbers| format!("index.fielddata.fieldcomparator.{numbers}ValuesComparatorSource");
        match kind {
            _ if self.geo.is_some() => "search.sort.GeoDistanceSortParser$1".to_owned(),
            _ if matches!(self.script, Some((_, true))) => "search.sort.ScriptSortParser$1".to_owned(),
            _ if self.script.is_some() => "search.sort.ScriptSortParser$2".to_owned(),
            Some(Kind::Float) => of_numbers("Float"),
            Some(Kind::Double) => of_numbers("Double"),
            Some(kind) if kind.is_numeric() => of_numbers("Long"),
            _ => "index.fielddata.fieldcomparator.BytesRefFieldComparatorSource".to_owned(),
        }
    }
}

/// Metadata fields that hits can be sorted by.
const METADATA: [&str; 7] = ["_type", "_uid", "_id", "_index", "_routing", "_parent", "_field_names"];

/// Checks that the fields are mapped, the nested paths are nested objects, and the filters of these can be parsed.
pub(crate) fn check_sort(specs: &[SortSpec], context: &Context<'_>) -> Result<()> {
    let mapping = context.mapping;
    // Metadata fields are those of a type.
    let has_type = !context.type_names().is_empty();
    for spec in specs {
        let mapped = context.mapped_in_types(&spec.field);
        let closest = || {
            mapping
                .nested_path(&spec.field)
                .filter(|_| mapped.is_some() || unmapped(spec).is_ok())
        };
        if let Some(path) = spec.nested_path.as_deref().or_else(closest) {
            check_nested(context, path)?;
        }
        if let Some(filter) = spec.nested_filter_in(mapping) {
            context.parse_filter(filter)?;
        }
        if let Some((script, _)) = &spec.script {
            script.mapped(mapping)?;
        } else if spec.geo.is_some() {
            if mapped.is_none() {
                return Err(GeoSettings::unmapped(&spec.field));
            }
            if let Some(data) = mapping.field_data(&spec.field) {
                data.cast(&spec.field, DataUse::Points)?;
            }
        } else if !matches!(spec.field.as_str(), "_score" | "_doc")
            && (!has_type || !METADATA.contains(&spec.field.as_str()))
        {
            match mapped.map(|field| field.field_type.kind) {
                None if spec.field == "_source" && has_type => {}
                None => drop(unmapped(spec)?),
                Some(Kind::Completion) => {
                    let reason = format!("Sorting not supported for field[{}]", spec.field);
                    return Err(SearchError::search(reason));
                }
                Some(_) => {}
            }
            if let Some(data) = mapping.field_data(&spec.field) {
                data.check_sort(&spec.field)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exception::Exception;

    fn parse_sort(sort: &Value) -> Result<Vec<SortSpec>> {
        let mut specs = Vec::new();
        read_sort(&mut Tokens::new(sort), &mut specs).map(|()| specs)
    }

    #[test]
    fn errors_show_criteria() {
        let shown = |sort: Value| {
            shown(
                &parse_sort(&sort).unwrap(),
                &Mapping::new(Default::default(), 9).unwrap(),
            )
        };
        assert_eq!(shown(json!([])), "");
        assert_eq!(shown(json!(["_doc", {"_score": "asc"}])), ",sort[<doc>,<score>!]");
        let long = "<custom:\"__anonymous_long\": \
                    org.elasticsearch.index.fielddata.fieldcomparator.LongValuesComparatorSource@1>!";
        assert_eq!(shown(json!({"n": "desc"})), format!(",sort[{long}]"));
    }

    #[test]
    fn a_list_is_read_as_the_settings_of_a_field() {
        assert_eq!(
            parse_sort(&json!([{"n": [1]}])).unwrap_err().kind,
            Exception::NullPointer
        );
        let ordered = parse_sort(&json!([{"n": {"order": ["desc"], "missing": null}}])).unwrap();
        assert!(ordered[0].descending && ordered[0].missing == Missing::Last);
    }

    #[test]
    fn nulls_set_nothing() {
        let nulls = json!({"mode": null, "missing": null, "nested_path": null});
        let by_script = json!({"script": "1", "lang": "expression", "type": "number", "mode": null, "missing": null, "nested_path": null});
        for sort in [json!({"n": nulls}), json!({"_script": by_script})] {
            let spec = &parse_sort(&sort).unwrap()[0];
            assert_eq!((&spec.mode, &spec.nested_path), (&None, &None), "{sort}");
            assert_eq!(spec.missing, Missing::Last);
        }
    }
}
