//! Analyzers of fields and types, and the settings of `_all`.

use serde_json::{Map, Value};

use super::metadata::all_field;
use super::type_mapping::TYPE_ANALYZERS;
use super::{DEFAULT, Field, FieldType, Indexing, Kind, Mapping, TypeMapping, is_on, own_fields};
use crate::analysis::Analyzer;
use crate::error::{Result, SearchError};
use crate::json::java_text;

/// What a type has in place of the defaults of the index.
#[derive(Clone, Debug, Default)]
pub(crate) struct TypeDefaults {
    /// At index time, of fields without one of their own.
    index: Option<Analyzer>,
    /// In searches of the type, of fields without one of their own.
    search: Option<Analyzer>,
    /// Those of `_all`: at index time, at query time, and of quoted texts.
    all: [Option<Analyzer>; 3],
    /// Whether boosts of fields count in `_all`.
    boosts_all: bool,
}

/// Returns the settings of the `_all` field in the definition of a type, if it has any.
fn all_settings(definition: Option<&Value>) -> Result<Option<FieldType>> {
    definition.filter(|all| all.is_object()).map(all_field).transpose()
}

/// Returns the first text or number at a path of a value.
fn text_at(value: &Value, path: &[&str]) -> Option<String> {
    match value {
        Value::Array(items) => items.iter().find_map(|item| text_at(item, path)),
        Value::Object(members) => {
            let (name, below) = path.split_first()?;
            text_at(members.get(*name)?, below)
        }
        Value::Null => None,
        scalar => path.is_empty().then(|| java_text(scalar)),
    }
}

impl FieldType {
    /// Names of the analyzers of its own: at index time, at query time, and of quoted texts.
    pub(super) fn analyzer_names(&self) -> [Option<&str>; 3] {
        let index = self.analyzer.as_deref();
        let search = self.search_analyzer.as_deref().or(index);
        [index, search, self.quote_analyzer.as_deref().or(search)]
    }

    /// Whether its texts are indexed by the default analyzer.
    pub(crate) fn is_indexed_by_default(&self) -> bool {
        self.kind == Kind::String && self.indexing == Indexing::Analyzed && self.analyzer.is_none()
    }
}

impl Field {
    /// Returns the analyzers of texts and of quoted texts in queries. `default` is the one of the type, if it has one.
    fn query_analyzers<'a>(&'a self, default: Option<&'a Analyzer>) -> [&'a Analyzer; 2] {
        let kind = &self.field_type;
        let [_, search, quote] = kind.analyzer_names();
        let default = default.filter(|_| kind.kind == Kind::String && kind.indexing != Indexing::NotAnalyzed);
        [
            default.filter(|_| search.is_none()).unwrap_or(&self.search_analyzer),
            default.filter(|_| quote.is_none()).unwrap_or(&self.quote_analyzer),
        ]
    }
}

impl Mapping {
    /// Fails for an unknown analyzer of a type.
    pub(super) fn check_type_analyzers(&self, type_name: &str, definition: &Value) -> Result<()> {
        let given = TYPE_ANALYZERS
            .iter()
            .filter_map(|key| Some((key, definition.get(*key)?)));
        for (key, name) in given {
            if name.is_null() {
                return Err(SearchError::null_pointer());
            }
            Analyzer::configured(&java_text(name), self.analysis()).map_err(|error| {
                SearchError::mapping(format!("{} for {key} setting on root type [{type_name}]", error.reason))
            })?;
        }
        match all_settings(definition.get("_all"))? {
            Some(all) => self.analyzers("_all", &all).map(drop),
            None => Ok(()),
        }
    }

    /// Returns what a type has in place of the defaults of the index, if it has anything.
    pub(super) fn defaults_of_type(&self, definition: &TypeMapping) -> Result<Option<TypeDefaults>> {
        let named = |name: Option<&str>| {
            let built = name.map(|name| Analyzer::configured(name, self.analysis()));
            built.transpose()
        };
        let own = |key: &str| {
            let names = [key, "analyzer"].into_iter();
            let mut names = names.filter_map(|key| definition.metadata(key).and_then(Value::as_str));
            named(names.next())
        };
        let all = all_settings(definition.metadata("_all"))?;
        let names = all.as_ref().map(FieldType::analyzer_names).unwrap_or_default();
        let [all_index, all_search, all_quote] = names.map(named);
        let all = [all_index?, all_search?, all_quote?];
        let (index, search) = (own("index_analyzer")?, own("search_analyzer")?);
        let boosts_all = definition.metadata("_all").and_then(|all| all.get("auto_boost"));
        let boosts_all = boosts_all.is_some_and(is_on);
        let is_any = boosts_all || all.iter().chain([&index, &search]).any(Option::is_some);
        Ok(is_any.then_some(TypeDefaults {
            index,
            search,
            all,
            boosts_all,
        }))
    }

    /// Sets what a type has in place of the defaults of the index.
    pub(super) fn set_type_defaults(&mut self, type_name: &str, own: Option<TypeDefaults>) {
        match own {
            Some(own) => drop(self.type_defaults.insert(type_name.to_owned(), own)),
            None => drop(self.type_defaults.remove(type_name)),
        }
        self.choose_all_settings();
    }

    /// Lets searches of all types use the settings of `_all` in the first type.
    fn choose_all_settings(&mut self) {
        let first = self.types.iter().find(|(name, _)| *name != DEFAULT);
        let settings = first.and_then(|(_, own)| own.metadata("_all")).cloned();
        self.all.similarity = self.similarity_named(settings.as_ref().and_then(|own| own.get("similarity")));
        let own = first.and_then(|(name, _)| self.type_defaults.get(name));
        self.all.is_boosted = own.is_some_and(|own| own.boosts_all);
        let [index, search, quote] = own.map(|own| own.all.clone()).unwrap_or_default();
        let [default_index, default_search, default_quote] = self.default_analyzers.clone();
        self.all.index_analyzer = index.unwrap_or(default_index);
        self.all.search_analyzer = search.unwrap_or(default_search);
        self.all.quote_analyzer = quote.unwrap_or(default_quote);
    }

    /// Returns the analyzer of the fields of a type without one of their own, if it is not that of the index.
    pub(crate) fn type_analyzer(&self, type_name: &str) -> Option<&Analyzer> {
        self.type_defaults.get(type_name)?.index.as_ref()
    }

    /// Returns the analyzer that a document names at the path of `_analyzer`, for its fields without one of their own.
    ///
    /// # Errors
    /// There is no analyzer with this name.
    pub(crate) fn document_analyzer(
        &self,
        definition: &TypeMapping,
        document: &Map<String, Value>,
    ) -> Result<Option<Analyzer>> {
        let path = definition
            .metadata("_analyzer")
            .and_then(|own| own.get("path")?.as_str());
        let text_at = |path: &str| {
            let (name, below) = path.split_once('.').unwrap_or((path, ""));
            let below: Vec<&str> = below.split('.').filter(|name| !name.is_empty()).collect();
            text_at(document.get(name)?, &below)
        };
        let Some((path, name)) = path.and_then(|path| Some((path, text_at(path)?))) else {
            return Ok(None);
        };
        let missing = |_| SearchError::mapping(format!("No analyzer found for [{name}] from path [{path}]"));
        let named = Analyzer::configured(&name, self.analysis());
        named.map(Some).map_err(missing)
    }

    /// Returns the analyzer of `_all` in documents of a type, in which other fields have the analyzer `default`.
    pub(crate) fn all_analyzer<'a>(&'a self, type_name: &str, default: Option<&'a Analyzer>) -> &'a Analyzer {
        let [index, ..] = &self.default_analyzers;
        let own = self.type_defaults.get(type_name).and_then(|own| own.all[0].as_ref());
        own.or(default).unwrap_or(index)
    }

    /// Lets boosts of fields count in `_all` for a type. The first document with such a boost does.
    pub(crate) fn boost_all(&mut self, type_name: &str) {
        if let Some(own) = self.types.get_mut(type_name) {
            own.set_auto_boost();
            self.type_defaults.entry(type_name.to_owned()).or_default().boosts_all = true;
            self.choose_all_settings();
        }
    }

    /// Returns whether boosts of fields count in `_all` for a type.
    pub(crate) fn boosts_all(&self, type_name: &str) -> bool {
        self.type_defaults.get(type_name).is_some_and(|own| own.boosts_all)
    }

    /// Lets searches of a type use its analyzers, and the boosts in its `_all`.
    pub(super) fn narrow_defaults(&mut self, type_name: &str) {
        let Some(own) = self.type_defaults.get(type_name).cloned() else {
            self.all.is_boosted = false;
            return;
        };
        self.all.is_boosted = own.boosts_all;
        let [_, all_search, all_quote] = own.all;
        if let Some(search) = all_search.or_else(|| own.search.clone()) {
            self.all.quote_analyzer = all_quote.unwrap_or_else(|| search.clone());
            self.all.search_analyzer = search;
        }
        let leaves = self.types.get(type_name).map(|own| own.root.leaves());
        for (name, _) in leaves.into_iter().flatten() {
            if let (Some(search), Some(field)) = (&own.search, self.fields.get_mut(&name)) {
                let [text, quote] = field.query_analyzers(Some(search)).map(Clone::clone);
                (field.search_analyzer, field.quote_analyzer) = (text, quote);
            }
        }
    }

    /// Returns the names of the metadata fields that a pattern with `*` matches, of those that every type has.
    pub(crate) fn own_names(&self, pattern: &str) -> Vec<String> {
        let names = own_fields::matching(pattern).filter(|name| !self.fields.contains_key(*name));
        let has_types = !self.types.is_empty();
        names.filter(|_| has_types).map(str::to_owned).collect()
    }

    /// Returns the analyzer of a metadata field that every type has.
    pub(crate) fn own_analyzer(&self, name: &str) -> Option<&'static Analyzer> {
        own_fields::analyzer(name).filter(|_| !self.types.is_empty())
    }

    /// Returns the analyzers of texts and of quoted texts in queries of a field, by its name. Default: those of the
    /// index.
    pub(crate) fn query_analyzers(&self, name: &str) -> [&Analyzer; 2] {
        if let Some(own) = self.own_analyzer(name) {
            return [own, own];
        }
        let Some(field) = self.field(name) else {
            let [_, search, quote] = &self.default_analyzers;
            return [search, quote];
        };
        let named_type = self.named_type(name);
        let analyzers = named_type.and_then(|(type_name, _)| self.type_defaults.get(type_name));
        field.query_analyzers(analyzers.and_then(|own| own.search.as_ref()))
    }

    /// Returns the analyzer with a name that a field has.
    pub(super) fn field_analyzer(&self, name: &str, field: &str) -> Result<Analyzer> {
        Analyzer::configured(name, self.analysis()).map_err(|error| {
            if error.reason == format!("Analyzer [{name}] not found") {
                let field = field.rsplit('.').next().unwrap_or(field);
                return SearchError::mapping(format!("{} for field [{field}]", error.reason));
            }
            SearchError::mapping(error.reason)
        })
    }

    /// Returns the analyzers of a field: at index time, at query time, and of quoted texts.
    pub(super) fn analyzers(&self, full_name: &str, field: &FieldType) -> Result<[Analyzer; 3]> {
        let analyzer = |name: Option<&str>, default: &Analyzer| match (field.indexing, field.kind) {
            (Indexing::Analyzed, Kind::Completion) => {
                let own = name.unwrap_or("simple");
                let unknown = format!("Can't find default or mapped analyzer with name [{own}]");
                Analyzer::configured(own, self.analysis()).map_err(|_| SearchError::illegal(unknown))
            }
            (Indexing::Analyzed | Indexing::No, Kind::String) | (_, Kind::TokenCount) => {
                name.map_or_else(|| Ok(default.clone()), |name| self.field_analyzer(name, full_name))
            }
            _ => match name {
                Some(own) => self.field_analyzer(own, full_name).map(|_| Analyzer::keyword()),
                None => Ok(Analyzer::keyword()),
            },
        };
        let [index, search, quote] = field.analyzer_names();
        let [default_index, default_search, default_quote] = &self.default_analyzers;
        Ok([
            analyzer(index, default_index)?,
            analyzer(search, default_search)?,
            analyzer(quote, default_quote)?,
        ])
    }
}
