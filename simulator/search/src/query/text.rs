//! Queries for a text in one field: terms, phrases, numbers, dates.

use crate::analysis::Analyzer;
use crate::dates::{Fill, parse_math, parse_math_on};
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::mapping::{Field, Kind, sortable, unsortable};
use crate::query::{Context, Matcher, NumericRange, Occur, Query, QueryField, QueryKind};

/// Bound of a range: its text, and whether it is inclusive.
pub(super) type Bound = Option<(String, bool)>;

/// Builds the query for one exact value, parsed according to the type of the field.
pub(super) fn exact(context: &Context<'_>, field: &Field, text: &str) -> Result<Query> {
    let name = QueryField::of_terms(field);
    match field.field_type.kind {
        Kind::String | Kind::Binary | Kind::GeoPoint | Kind::Completion => Ok(QueryKind::Term {
            field: name,
            text: text.to_owned(),
        }
        .into()),
        Kind::Boolean => Ok(QueryKind::Term {
            field: name,
            text: boolean_term(text).to_owned(),
        }
        .into()),
        _ => {
            let value = encode(context, field, text, (Fill::Floor, Fill::Floor), 0)?;
            Ok(QueryKind::Range {
                field: name,
                range: NumericRange::only(field.field_type.kind, value),
            }
            .into())
        }
    }
}

/// The term of a boolean field for a text.
fn boolean_term(text: &str) -> &'static str {
    if matches!(text, "F" | "false" | "no" | "off" | "0" | "") {
        "F"
    } else {
        "T"
    }
}

/// Returns the text of a term that is not analyzed, as the field has it: a boolean has one of two, a parent without a
/// type has that of the first type's parents.
///
/// # Errors
/// A parent without a type, and a first type without parents.
pub(super) fn term_text(context: &Context<'_>, name: &str, text: String) -> Result<String> {
    if name == "_parent" && !text.contains('#') {
        let first = context.type_names().into_iter().next();
        let parent = first.map(|first| context.mapping.parent_type(first).ok_or_else(SearchError::null_pointer));
        return Ok(match parent.transpose()? {
            Some(parent) => format!("{parent}#{text}"),
            None => text,
        });
    }
    Ok(match context.mapped(name).map(|field| field.field_type.kind) {
        Some(Kind::Boolean) => boolean_term(&text).to_owned(),
        _ => text,
    })
}

fn encode(context: &Context<'_>, field: &Field, text: &str, fill: (Fill, Fill), offset: i64) -> Result<i64> {
    if field.field_type.kind == Kind::Date {
        parse_math_on(text, &field.field_type.format, context.now, fill, offset)
    } else {
        field.field_type.encode_text(text)
    }
}

/// Builds the query for the terms of a field, or the ids, that match.
pub(super) fn matching(context: &Context<'_>, name: &str, matcher: Matcher) -> Query {
    id_pattern_query(context, name, &matcher).unwrap_or_else(|| {
        let field = context.field(name);
        QueryKind::MultiTerm { field, matcher }.into()
    })
}

/// Builds the query for ids that match, as `_uid` has them. Returns `None` for other fields and for matchers that ids
/// do not support.
pub(super) fn id_pattern_query(context: &Context<'_>, name: &str, matcher: &Matcher) -> Option<Query> {
    let of_type = |type_name: &str| match matcher {
        Matcher::Prefix(prefix) => Some(Matcher::Prefix(format!("{type_name}#{prefix}"))),
        Matcher::Regexp { text, operators } => Some(Matcher::Regexp {
            text: format!("{type_name}#{text}"),
            operators: *operators,
        }),
        _ => None,
    };
    match name {
        "_uid" => Some(QueryKind::IdPattern(matcher.clone()).into()),
        "_id" => {
            let matchers: Option<Vec<Matcher>> = context.type_names().into_iter().map(of_type).collect();
            let patterns = matchers?
                .into_iter()
                .map(|matcher| QueryKind::IdPattern(matcher).into());
            let mut patterns: Vec<Query> = patterns.collect();
            match patterns.len() {
                1 => patterns.pop(),
                _ => Some(Query::any(patterns)),
            }
        }
        _ => None,
    }
}

/// Builds a range query. `offset` is the time zone of dates without one, in milliseconds. `on`: how a date before `||`
/// is filled, if not as one without math.
pub(super) fn range(
    context: &Context<'_>,
    name: &str,
    (lower, upper): (Bound, Bound),
    offset: i64,
    on: Option<Fill>,
) -> Result<Query> {
    let mapped = context.mapped(name);
    let Some(field) = mapped.filter(|field| field.field_type.kind.is_numeric()) else {
        let term = |bound: Bound| {
            let read =
                |(text, included): (String, bool)| Ok::<_, SearchError>((term_text(context, name, text)?, included));
            bound.map(read).transpose()
        };
        let (lower, upper) = (term(lower)?, term(upper)?);
        return Ok(matching(context, name, Matcher::Range { lower, upper }));
    };
    // For an integer field, a bound such as 1.5 is an error.
    let kind = field.field_type.kind;
    let range = bounded(kind, lower, upper, Fill::Ceiling, |text, fill| {
        let fill = context.upper_fill(fill);
        encode(context, field, text, (fill, on.unwrap_or(fill)), offset)
    })?;
    Ok(QueryKind::Range {
        field: QueryField::of_terms(field),
        range,
    }
    .into())
}

/// Creates the range between two bounds. `read` encodes a bound and fills missing parts of a date, those of an excluded
/// lower bound with `above`.
pub(super) fn bounded<T>(
    kind: Kind,
    lower: Option<(T, bool)>,
    upper: Option<(T, bool)>,
    above: Fill,
    read: impl Fn(&T, Fill) -> Result<i64>,
) -> Result<NumericRange> {
    let encoded = |bound: Option<(T, bool)>, included_fill: Fill, excluded_fill: Fill| {
        let encoded = bound.map(|(text, included)| {
            let fill = if included { included_fill } else { excluded_fill };
            read(&text, fill).map(|value| (value, included))
        });
        encoded.transpose()
    };
    Ok(NumericRange::new(
        kind,
        encoded(lower, Fill::Floor, above)?,
        encoded(upper, Fill::Ceiling, Fill::Floor)?,
    ))
}

/// Builds the query for numbers or dates within a distance of a value.
pub(super) fn fuzzy_number(context: &Context<'_>, field: &Field, text: &str, fuzziness: &str) -> Result<Query> {
    let kind = field.field_type.kind;
    let (lower, upper) = if kind == Kind::Date {
        let delta =
            crate::durations::duration(fuzziness).map_or(0, |delta| i64::try_from(delta.as_millis()).unwrap_or(0));
        let at = parse_math(text, &field.field_type.format, context.now, Fill::Floor, 0)?;
        (at.saturating_sub(delta), at.saturating_add(delta))
    } else {
        let delta: f64 = if fuzziness.eq_ignore_ascii_case("auto") {
            1.0
        } else {
            fuzziness.parse().map_err(|_| SearchError::number(fuzziness))?
        };
        let at = field.field_type.encode_text(text)?;
        if kind.is_floating() {
            let at = unsortable(at);
            (sortable(at - delta), sortable(at + delta))
        } else {
            (at.saturating_sub(delta as i64), at.saturating_add(delta as i64))
        }
    };
    Ok(QueryKind::Range {
        field: QueryField::of_terms(field),
        range: NumericRange::new(kind, Some((lower, true)), Some((upper, true))),
    }
    .into())
}

/// Returns the slop that a setting asks for.
pub(super) fn slop_of(setting: i64) -> i32 {
    i32::try_from(setting).unwrap_or(i32::MAX)
}

/// Kind of query for a text with several terms.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    pub(super) phrase: bool,
    pub(super) slop: i32,
    pub(super) occur: Occur,
    /// Whether words that were removed from a phrase leave gaps.
    pub(super) has_gaps: bool,
}

/// Brings the terms at one position together.
fn by_position(terms: Vec<(u32, String)>) -> Vec<(u32, Vec<String>)> {
    let mut slots: Vec<(u32, Vec<String>)> = Vec::new();
    for (position, text) in terms {
        match slots.last_mut() {
            Some((last, texts)) if *last == position => texts.push(text),
            _ => slots.push((position, vec![text])),
        }
    }
    slots
}

/// Builds the query for the terms of an analyzed text. Returns `None` if there are no terms.
pub(super) fn analyzed(
    context: &Context<'_>,
    field: &QueryField,
    analyzer: &Analyzer,
    text: &str,
    style: Style,
) -> Result<Option<Query>> {
    analyzer.check()?;
    let terms = analyzer.terms(text);
    if terms.len() > context.max_clauses {
        return Err(too_many_clauses(context.max_clauses));
    }
    let is_phrase = style.phrase && has_places(&terms);
    if is_phrase && terms.len() > 1 {
        if style.slop < 0 {
            return Err(SearchError::argument("slop value cannot be negative"));
        }
        let mut slots = by_position(terms);
        if !style.has_gaps {
            for (at, (position, _)) in (0..).zip(&mut slots) {
                *position = at;
            }
        }
        return Ok(Some(Query::from(QueryKind::Phrase {
            field: field.clone(),
            slots,
            slop: style.slop.cast_unsigned(),
        })));
    }
    Ok(words(terms, style.occur, |text| {
        Query::from(QueryKind::Term {
            field: field.clone(),
            text,
        })
    }))
}

/// Returns whether terms are at several positions. Words that were removed before the first count.
fn has_places(terms: &[(u32, String)]) -> bool {
    terms.last().is_some_and(|(last, _)| *last > 0)
}

/// Builds the query for the terms of a text: one clause for each position, in which several terms are alternatives.
pub(super) fn words(terms: Vec<(u32, String)>, occur: Occur, word: impl Fn(String) -> Query) -> Option<Query> {
    let has_places = has_places(&terms);
    let any_of = |texts: Vec<String>| Query::any_without_coord(texts.into_iter().map(&word));
    let place = |(_, texts)| match <[String; 1]>::try_from(texts) {
        Ok([only]) => word(only),
        Err(several) => any_of(several),
    };
    let has_several = terms.len() > 1;
    let mut clauses: Vec<Query> = by_position(terms).into_iter().map(place).collect();
    if !(has_several && has_places) {
        return clauses.pop();
    }
    let clauses = clauses.into_iter().map(|clause| (occur, clause));
    Some(Query::from(QueryKind::Bool {
        clauses: clauses.collect(),
        minimum_should_match: 0,
        coord: true,
    }))
}

pub(super) fn too_many_clauses(limit: usize) -> SearchError {
    SearchError::new(
        400,
        Exception::TooManyClauses,
        format!("maxClauseCount is set to {limit}"),
    )
}
