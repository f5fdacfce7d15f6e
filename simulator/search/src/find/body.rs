//! Reads the body of a search, whose elements are those of its source.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::aggs;
use crate::durations::time;
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::find::element;
use crate::find::query_source::QuerySource;
use crate::find::request::{Element, SearchRequest, Source, hit_count};
use crate::find::rescore_settings;
use crate::find::sort::{SortSpec, read_sort};
use crate::find::source::SourceFilter;
use crate::highlight;
use crate::json::{self, Token, Tokens};
use crate::mapping::flag;
use crate::options::Limits;
use crate::script::Script;

impl SearchRequest {
    pub(super) fn read_source(&mut self, body: &[u8], limits: &Limits) {
        let text = String::from_utf8_lossy(body).trim_start().to_owned();
        let mut source = Source {
            // Elasticsearch shows `_na_` for a body that does not look like JSON.
            text: match json::derivable(body) {
                Ok(()) => text,
                Err(_) => "_na_".to_owned(),
            },
            elements: Vec::new(),
        };
        match json::object(body) {
            Err(error) => source.elements.push(Element::Invalid(error)),
            Ok(object) => source.elements = self.read_elements(&object.into(), limits),
        }
        self.sources.push(source);
    }

    /// Reads the elements of a source, up to an error, token by token as Elasticsearch does: what an element leaves of
    /// its value is read as further elements.
    fn read_elements(&mut self, source: &Value, limits: &Limits) -> Vec<Element> {
        let (mut tokens, mut elements) = (Tokens::new(source), Vec::new());
        while let Some(token) = tokens.within_object() {
            let Token::Name(key) = token else {
                let error = SearchError::unexpected(tokens.kind(), tokens.name().unwrap_or("null"));
                elements.push(Element::Invalid(error));
                return elements;
            };
            tokens.advance();
            match self.read_element(key, &mut tokens, limits) {
                Ok(element) => elements.extend(element),
                Err(error) => {
                    elements.push(Element::Invalid(error));
                    return elements;
                }
            }
            if let Some(Element::InvalidSort(..)) = elements.last() {
                return elements;
            }
        }
        if matches!(tokens.current(), Token::End) {
            elements.push(Element::Invalid(SearchError::incomplete()));
        }
        elements
    }

    /// Sets the sort criteria. Score only is the same as none.
    pub(super) fn set_sort(&mut self, specs: Vec<SortSpec>) {
        let by_score = matches!(specs.as_slice(), [only] if only.field == "_score" && only.descending);
        self.sort = if by_score { vec![] } else { specs };
    }

    /// Adds fields to those of an earlier source, unless it wanted none. An empty list: none.
    ///
    /// # Errors
    /// Fields after none.
    pub(super) fn add_fields(&mut self, names: Vec<String>) -> Result<()> {
        match &mut self.fields {
            Some(fields) if fields.is_empty() && !names.is_empty() => {
                Err(SearchError::new(500, Exception::UnsupportedOperation, ""))
            }
            Some(fields) if !names.is_empty() => {
                fields.extend(names);
                Ok(())
            }
            fields => {
                *fields = Some(names);
                Ok(())
            }
        }
    }

    /// Reads the element whose value begins with the current token.
    pub(super) fn read_element(
        &mut self,
        key: &str,
        tokens: &mut Tokens<'_>,
        limits: &Limits,
    ) -> Result<Option<Element>> {
        match key {
            "sort" => {
                let mut specs = Vec::new();
                let read = read_sort(tokens, &mut specs);
                self.set_sort(specs.clone());
                return Ok(Some(match read {
                    Ok(()) => Element::Sort(specs),
                    Err(error) => Element::InvalidSort(specs, error),
                }));
            }
            "highlight" => {
                self.highlight = Some(highlight::Wanted::read(tokens)?);
                return Ok(Some(Element::Highlight));
            }
            "fields" => {
                if let Some(fields) = element::listed(tokens) {
                    self.add_fields(fields)?;
                }
                return Ok(None);
            }
            "fielddata_fields" | "fielddataFields" => {
                self.fielddata_fields = element::listed(tokens).ok_or_else(|| {
                    let token = tokens.kind();
                    let reason = format!("Expected either a VALUE_STRING or an START_ARRAY but got {token}");
                    SearchError::new(400, Exception::ElasticsearchIllegalState, reason)
                })?;
                return Ok(None);
            }
            "_source" => {
                self.source = Some(SourceFilter::read(tokens)?);
                return Ok(None);
            }
            "partial_fields" | "partialFields" => {
                let mut fields = Vec::new();
                element::objects(tokens, |name, tokens| {
                    fields.push((name.to_owned(), SourceFilter::partial(tokens)));
                    Ok(())
                })?;
                self.partial_fields = fields;
                return Ok(None);
            }
            "script_fields" | "scriptFields" => {
                let mut fields = Vec::new();
                element::objects(tokens, |name, tokens| {
                    let settings = tokens.whole().unwrap_or(&Value::Null);
                    let script = Script::parse(settings)?.ok_or_else(SearchError::null_pointer_of_request)?;
                    fields.push((name.to_owned(), script));
                    Ok(())
                })?;
                self.script_fields = fields;
                return Ok(Some(Element::ScriptFields));
            }
            "indices_boost" | "indicesBoost" => {
                self.indices_boost = element::boosts(tokens);
                return Ok(Some(Element::IndicesBoost));
            }
            "stats" => {
                self.groups = element::listed(tokens).unwrap_or_default();
                return Ok(None);
            }
            _ => {}
        }
        let value = match element::reads_on(key, tokens.current()) {
            true => &Value::Null,
            false => tokens.whole().unwrap_or(&Value::Null),
        };
        self.read_value(key, value, limits)
    }

    /// Reads an element that is read as a whole.
    fn read_value(&mut self, key: &str, value: &Value, limits: &Limits) -> Result<Option<Element>> {
        let yes = || Ok::<bool, SearchError>(element::scalar(value).map(flag).transpose()?.unwrap_or_default());
        match key {
            "query" => {
                return Ok(Some(Element::Query(QuerySource::Body(value.clone()))));
            }
            "query_binary" | "queryBinary" => {
                let body = json::object(&json::binary(value, json::PART)?)?;
                return Ok(Some(Element::Query(QuerySource::Body(Value::Object(body)))));
            }
            "filter" | "post_filter" | "postFilter" => {
                return Ok(Some(Element::PostFilter(value.clone())));
            }
            "from" => {
                let number = element::int(value)?;
                self.from = number.map_or(Ok(self.from), |number| hit_count(key, number))?;
                return Ok(number.map(Element::From));
            }
            "size" => {
                let number = element::int(value)?;
                self.size = number.map_or(Ok(self.size), |number| hit_count(key, number).map(Some))?;
                return Ok(number.map(Element::Size));
            }
            "facets" => {
                let definition =
                    |facet: &Value| json::spread(facet).into_iter().rfind(|part| part.is_object()).cloned();
                let facets = element::members(value)?.iter();
                let facets = facets.filter_map(|(name, facet)| Some((name.clone(), definition(facet)?)));
                let facets: Map<String, Value> = facets.collect();
                self.facets = Some(facets).filter(|facets| !facets.is_empty()).map(Value::Object);
                return Ok(Some(Element::Facets));
            }
            "track_scores" | "trackScores" => self.track_scores = yes()?,
            "explain" => self.explain = yes()?,
            "version" => self.version = yes()?,
            "min_score" | "minScore" => {
                self.min_score = element::float(value)?.or(self.min_score);
            }
            // Numbers only; others are ignored.
            "terminate_after" => {
                if let Some(Value::Number(_)) = element::scalar(value) {
                    let after = u64::try_from(json::int(value, json::PART)?)
                        .ok()
                        .filter(|after| *after > 0);
                    self.terminate_after =
                        Some(after.ok_or_else(|| SearchError::illegal("terminateAfter must be > 0"))?);
                }
            }
            "timeout" => {
                self.timeout = match value {
                    Value::Number(_) => {
                        let millis = u64::try_from(json::long(value, json::PART)?);
                        millis.ok().map(Duration::from_millis)
                    }
                    Value::Array(_) => Some(time("[")?),
                    Value::Object(_) => Some(time("{")?),
                    other => Some(time(&json::java_text(other))?),
                }
            }
            "aggs" | "aggregations" => {
                if !value.is_array() {
                    element::members(value)?;
                }
                self.aggregations = Some(aggs::parse(value, limits)?);
                return Ok(Some(Element::Aggregations));
            }
            "suggest" => {
                self.suggest = Some(value.clone());
                return Ok(Some(Element::Suggest));
            }
            "inner_hits" => {
                if let Value::Array(items) = value {
                    let token = items.first().map_or("END_ARRAY", json::token_of);
                    return Err(SearchError::illegal(format!(
                        "Unexpected token {token} in [inner_hits]: inner_hit definitions must start with the name of \
                         the inner_hit."
                    )));
                }
                element::members(value)?;
                self.inner_hits = Some(value.clone());
                return Ok(Some(Element::InnerHits));
            }
            "rescore" => {
                rescore_settings::check(value)?;
                self.rescore = match value {
                    Value::Array(items) => items.clone(),
                    other => vec![other.clone()],
                };
                return Ok(Some(Element::Rescore));
            }
            other => return Err(SearchError::no_element(other)),
        }
        Ok(None)
    }
}
