//! The settings of a query or filter, read token by token.
//!
//! Source: the query and filter parsers of Elasticsearch 1.5, which read on within a value that they do not expect.

use serde_json::{Map, Value};

use crate::analysis::Analyzer;
use crate::error::{Result, SearchError};
use crate::json::text_of;
use crate::json::{self, Token, Tokens, java_text, not_numeric, number_of, unreadable};
use crate::mapping::{self, truth};
use crate::query::dsl_parts::{parsing_error, rewrite_of};
use crate::query::{Caching, Context, Query};

/// Fails for a value that a setting cannot have.
pub(super) type Check = fn(&Context<'_>, &Value) -> Result<()>;

/// What a setting is.
#[derive(Clone, Copy)]
pub(super) enum Setting {
    Float,
    Int,
    Flag,
    /// A string, a number or a boolean, as it is.
    Scalar,
    /// Like `Scalar`, and checked before the next setting is read.
    Checked(Check),
    /// The name of an analyzer. With the query and the setting in errors, such as `[match] analyzer`.
    Analyzer(&'static str),
    /// How similar the terms of a fuzzy query are, as text.
    Fuzziness,
    /// Like `Scalar`, and null.
    Nullable,
    /// A query.
    Query,
    /// A query or an array of queries.
    Queries,
    /// A filter.
    Filter,
    /// A filter or an array of filters.
    Filters,
    /// An array of texts.
    List,
    /// A text or an array of texts.
    Names,
    /// An object.
    Whole,
}

impl Setting {
    /// Parses the query or filter that begins with the current token.
    fn parse(self, context: &Context<'_>, tokens: &mut Tokens<'_>) -> Result<Option<Query>> {
        match self {
            Setting::Filter | Setting::Filters => context.filter_at(tokens),
            _ => context.query_at(tokens),
        }
    }
}

/// How a multi-term query is rewritten.
pub(super) const REWRITE: Setting = Setting::Checked(|_, value| rewrite_of(Some(value)).map(drop));

/// Settings of most filters.
pub(super) const CACHING: [(&[&str], Setting); 3] = [
    (&["_name"], Setting::Scalar),
    (&["_cache"], Setting::Flag),
    (&["_cache_key", "_cacheKey"], Setting::Scalar),
];

/// The settings of a query or filter.
pub(super) struct Form<'f> {
    /// The query or filter in errors, such as `[bool] query`.
    pub(super) name: &'f str,
    /// Names of each setting, and what it is. The first name is the one under which it is found.
    pub(super) settings: &'f [(&'static [&'static str], Setting)],
    /// Tokens that are refused if they are no setting. Others are skipped.
    pub(super) refused: &'f [Refused],
}

impl<'f> Form<'f> {
    /// The form of a parser that reads any token as the value of the setting before it, and refuses other settings.
    pub(super) fn of_any(name: &'f str, settings: &'f [(&'static [&'static str], Setting)]) -> Form<'f> {
        Form {
            name,
            settings,
            refused: &[
                Refused::Object,
                Refused::Array,
                Refused::Value,
                Refused::Null,
                Refused::End,
                Refused::NoSetting,
            ],
        }
    }
}

/// Tokens that a parser may refuse.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    Object,
    Array,
    Value,
    Null,
    /// The end of an array.
    End,
    /// Any of these only if there is no setting before it.
    NoSetting,
    /// A value without a name, which the parser fails to compare.
    Unnamed,
}

/// Settings that were read.
#[derive(Default)]
pub(super) struct Settings {
    values: Map<String, Value>,
    /// Queries and filters in their order. `None`: an empty one.
    parsed: Vec<(&'static str, Option<Query>)>,
    /// Analyzers in their order.
    analyzers: Vec<(&'static str, Analyzer)>,
}

impl Form<'_> {
    fn find(&self, name: Option<&str>) -> Option<(&'static str, Setting)> {
        let name = name?;
        let mut settings = self.settings.iter();
        let (names, setting) = settings.find(|(names, _)| names.contains(&name))?;
        Some((names.first()?, *setting))
    }

    /// Whether there is a setting of that name that may be a value.
    pub(super) fn has_value(&self, name: Option<&str>) -> bool {
        self.find(name).is_some_and(|(_, setting)| {
            use Setting::{Analyzer, Checked, Flag, Float, Fuzziness, Int, Names, Nullable, Scalar};
            matches!(
                setting,
                Flag | Float | Fuzziness | Int | Names | Nullable | Scalar | Checked(_) | Analyzer(_)
            )
        })
    }

    /// Fails for a token that is refused.
    fn check(&self, context: &Context<'_>, token: Token<'_>, name: Option<&str>) -> Result<()> {
        let kind = match token {
            Token::Object => Refused::Object,
            Token::Array => Refused::Array,
            Token::Value(_) => Refused::Value,
            Token::Null => Refused::Null,
            Token::EndArray => Refused::End,
            _ => return Ok(()),
        };
        match self.refused.contains(&kind) {
            true if name.is_none() && kind == Refused::Value && self.refused.contains(&Refused::Unnamed) => {
                Err(SearchError::null_pointer())
            }
            true => Err(parsing_error(context, &self.unsupported(name))),
            false => Ok(()),
        }
    }

    /// Returns the text of the error for a member that is no setting.
    pub(super) fn unsupported(&self, name: Option<&str>) -> String {
        format!("{} does not support [{}]", self.name, name.unwrap_or("null"))
    }

    /// Reads settings up to the end of an object.
    pub(super) fn read(&self, context: &Context<'_>, tokens: &mut Tokens<'_>) -> Result<Settings> {
        self.read_with(context, tokens, |_, _, _| Ok(false))
    }

    /// Reads settings up to the end of an object, but for the tokens that `own` reads: it is called for the first token
    /// of a value with the name of its member, and returns whether it has read it.
    pub(super) fn read_with<'a>(
        &self,
        context: &Context<'_>,
        tokens: &mut Tokens<'a>,
        own: impl FnMut(&mut Tokens<'a>, Option<&'a str>, &mut Settings) -> Result<bool>,
    ) -> Result<Settings> {
        self.read_until(context, tokens, |_| false, own)
    }

    /// Reads settings up to the end of an object or an array.
    pub(super) fn read_to_any_end(&self, context: &Context<'_>, tokens: &mut Tokens<'_>) -> Result<Settings> {
        let is_end = |token: Token<'_>| matches!(token, Token::EndArray);
        self.read_until(context, tokens, is_end, |_, _, _| Ok(false))
    }

    /// Reads settings as [`Form::read_with`], up to the end of an object or a token that ends them.
    fn read_until<'a>(
        &self,
        context: &Context<'_>,
        tokens: &mut Tokens<'a>,
        is_end: impl Fn(Token<'_>) -> bool,
        mut own: impl FnMut(&mut Tokens<'a>, Option<&'a str>, &mut Settings) -> Result<bool>,
    ) -> Result<Settings> {
        let (mut settings, mut name) = (Settings::default(), None);
        while let Some(token) = tokens.within_object().filter(|token| !is_end(*token)) {
            if let Token::Name(member) = token {
                name = Some(member);
            } else if !own(tokens, name, &mut settings)? {
                self.read_member(context, tokens, name, &mut settings)?;
            }
        }
        Ok(settings)
    }

    /// Reads the value of a member, whose first token is the current one.
    fn read_member(
        &self,
        context: &Context<'_>,
        tokens: &mut Tokens<'_>,
        name: Option<&str>,
        settings: &mut Settings,
    ) -> Result<()> {
        let token = tokens.current();
        let Some((key, setting)) = self.find(name) else {
            return self.check(context, token, name);
        };
        match (setting, token) {
            (Setting::Query | Setting::Queries | Setting::Filter | Setting::Filters, Token::Object) => {
                let parsed = setting.parse(context, tokens)?;
                settings.add_parsed(key, parsed);
            }
            (Setting::Queries | Setting::Filters, Token::Array) => {
                settings.insert(key, Some(&Value::Null));
                while tokens.within_array().is_some() {
                    let parsed = setting.parse(context, tokens)?;
                    settings.add_parsed(key, parsed);
                    context.check_clauses(settings.parsed_count())?;
                }
            }
            (Setting::List | Setting::Names, Token::Array) => {
                let texts = texts(context, tokens)?;
                settings.values.insert(key.to_owned(), texts.into());
            }
            (Setting::Whole, Token::Object) => {
                settings.insert(key, tokens.whole());
            }
            (Setting::Float, Token::Value(value)) => settings.insert(key, Some(&json::float(value)?.into())),
            (Setting::Int, Token::Value(value)) => settings.insert(key, Some(&json::int(value, json::PART)?.into())),
            (Setting::Flag, Token::Value(value)) => settings.insert(key, Some(&mapping::flag(value)?.into())),
            (Setting::Scalar | Setting::Nullable | Setting::Names, Token::Value(value)) => {
                settings.insert(key, Some(value));
            }
            (Setting::Checked(check), Token::Value(value)) => {
                check(context, value)?;
                settings.insert(key, Some(value));
            }
            (Setting::Fuzziness, Token::Value(value)) => {
                settings.insert(key, Some(&fuzziness_of(value)?.into()));
            }
            (Setting::Analyzer(query), Token::Value(name)) => {
                let analyzer = analyzer_of(context, query, &java_text(name))?;
                settings.analyzers.push((key, analyzer));
            }
            (Setting::Nullable, Token::Null) => {
                settings.values.shift_remove(key);
            }
            (_, _) if !self.refused.contains(&Refused::NoSetting) => return self.check(context, token, name),
            // The parser reads any token as the setting.
            (Setting::Float | Setting::Int, _) => return Err(not_numeric(tokens.kind(), json::PART)),
            (Setting::Flag, _) => return Err(not_boolean(tokens)),
            (Setting::Fuzziness, _) => return Err(no_fuzziness(tokens.kind())),
            (Setting::Checked(check), Token::Object | Token::Array | Token::EndArray) => {
                let value = value_of(tokens);
                value.iter().try_for_each(|value| check(context, value))?;
                settings.insert(key, value.as_ref());
            }
            (Setting::Checked(_), Token::Null) => drop(settings.values.shift_remove(key)),
            (Setting::Scalar | Setting::Nullable, Token::Object | Token::Array | Token::EndArray) => {
                settings.insert(key, value_of(tokens).as_ref());
            }
            _ => return self.check(context, token, name),
        }
        Ok(())
    }
}

/// Returns the analyzer that a query names. `setting` is the query and its setting in errors.
pub(crate) fn analyzer_of(context: &Context<'_>, setting: &str, name: &str) -> Result<Analyzer> {
    let analyzer = Analyzer::configured(name, context.mapping.analysis());
    analyzer.map_err(|_| parsing_error(context, &format!("{setting} [{name}] not found")))
}

/// Returns the text of `fuzziness`.
///
/// # Errors
/// A boolean.
pub(super) fn fuzziness_of(value: &Value) -> Result<String> {
    match value {
        Value::Bool(_) => Err(no_fuzziness(json::token_of(value))),
        given => Ok(text_of(given)),
    }
}

fn no_fuzziness(token: &str) -> SearchError {
    SearchError::illegal(format!("Can't parse fuzziness on token: [{token}]"))
}

/// Returns the error for a token that is no boolean.
fn not_boolean(tokens: &Tokens<'_>) -> SearchError {
    unreadable(
        &format!("Current token ({}) not of boolean type", tokens.kind()),
        json::PART,
    )
}

/// Reads the current token as a boolean.
///
/// # Errors
/// Null, objects and arrays.
pub(super) fn flag(tokens: &Tokens<'_>) -> Result<bool> {
    match tokens.current() {
        Token::Value(value) => mapping::flag(value),
        _ => Err(not_boolean(tokens)),
    }
}

/// Reads the current token as a floating-point number.
///
/// # Errors
/// Those of [`json::float`]; null, objects and arrays.
pub(super) fn float_of(tokens: &Tokens<'_>) -> Result<f32> {
    match tokens.current() {
        Token::Value(value) => json::float(value),
        _ => Err(not_numeric(tokens.kind(), json::PART)),
    }
}

/// Reads the current token as a value: brackets and names count as their text. `None`: null.
pub(super) fn value_of(tokens: &Tokens<'_>) -> Option<Value> {
    match tokens.current() {
        Token::Value(value) => Some(value.clone()),
        Token::Null | Token::End => None,
        _ => plain_text(tokens),
    }
}

/// Reads the current token as a text, even null.
pub(super) fn plain_text(tokens: &Tokens<'_>) -> Option<Value> {
    Some(tokens.text().into())
}

/// Reads the texts of an array. Tokens that are no values count as their text, even null.
fn texts(context: &Context<'_>, tokens: &mut Tokens<'_>) -> Result<Vec<Value>> {
    let mut texts = Vec::new();
    while let Some(token) = tokens.within_array() {
        texts.push(match token {
            Token::Value(value) => java_text(value).into(),
            _ => tokens.text().into(),
        });
        context.check_values(texts.len())?;
    }
    Ok(texts)
}

impl Settings {
    /// The settings of a query that has only a value.
    pub(super) fn of_value(key: &'static str, value: Option<Value>) -> Settings {
        let mut settings = Settings::default();
        settings.insert(key, value.as_ref());
        settings
    }

    fn insert(&mut self, key: &str, value: Option<&Value>) {
        if let Some(value) = value {
            self.values.insert(key.to_owned(), value.clone());
        }
    }

    /// Number of queries and filters.
    pub(super) fn parsed_count(&self) -> usize {
        self.parsed.len()
    }

    /// Adds a query or filter. `None`: an empty one.
    pub(super) fn add_parsed(&mut self, key: &'static str, parsed: Option<Query>) {
        self.parsed.push((key, parsed));
    }

    /// Adds the scalars of other settings.
    pub(super) fn update(&mut self, other: Settings) {
        self.values.extend(other.values);
    }

    /// Scalars, arrays of texts and whole objects.
    pub(super) fn values(&self) -> &Map<String, Value> {
        &self.values
    }

    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        self.values.get(key)
    }

    pub(super) fn text(&self, key: &str) -> Option<String> {
        self.get(key).map(java_text)
    }

    pub(super) fn flag(&self, key: &str) -> Option<bool> {
        self.get(key).map(truth)
    }

    pub(super) fn float(&self, key: &str) -> Option<f32> {
        self.get(key).and_then(number_of).map(|number| number as f32)
    }

    pub(super) fn int(&self, key: &str) -> Option<i64> {
        self.get(key).and_then(Value::as_i64)
    }

    /// A number that counts something. Negative ones are none.
    pub(super) fn count(&self, key: &str) -> Option<usize> {
        self.int(key).map(|count| usize::try_from(count).unwrap_or(0))
    }

    /// The last analyzer of a setting.
    pub(super) fn analyzer(&self, key: &str) -> Option<Analyzer> {
        let mut analyzers = self.analyzers.iter().rev();
        let (_, analyzer) = analyzers.find(|(own, _)| *own == key)?;
        Some(analyzer.clone())
    }

    pub(super) fn boost(&self) -> f32 {
        self.float("boost").unwrap_or(1.0)
    }

    /// Whether a setting of queries or filters was read, if only as an empty array.
    pub(super) fn has(&self, key: &str) -> bool {
        self.values.contains_key(key) || self.parsed(key).is_some()
    }

    /// Caching of a filter.
    pub(super) fn caching(&self, default: bool) -> Caching {
        Caching::of(&self.values, default)
    }

    /// The last query or filter of a setting. `Some(None)`: an empty one.
    pub(super) fn parsed(&self, key: &str) -> Option<Option<&Query>> {
        let mut parsed = self.parsed.iter().rev();
        let (_, query) = parsed.find(|(own, _)| *own == key)?;
        Some(query.as_ref())
    }

    /// Queries and filters in their order, without empty ones.
    pub(super) fn into_parsed(self) -> impl Iterator<Item = (&'static str, Query)> {
        let parsed = self.parsed.into_iter();
        parsed.filter_map(|(key, query)| Some((key, query?)))
    }

    /// Records the query under its `_name`.
    pub(super) fn named(&self, context: &Context<'_>, query: Query) -> Query {
        context.name(self.get("_name"), &query);
        query
    }
}
