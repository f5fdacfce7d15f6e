//! Mappings: the fields of documents and their types.
//!
//! Guarantees:
//! - The type of a field never changes.
//! - Fields with the same name and type in several document types share one ordinal, and so one index field.
//! - A mapping is returned as it was defined, with the fields that dynamic mapping added.
//!
//! Limits: field types are those of `kind.rs`, objects and nested objects; a bounded number of fields per index.
//! Source: Elasticsearch 1.5's mapping, with its dynamic mapping of strings, dates, numbers, booleans and objects.

mod analyzers;
mod configuration;
mod conflicts;
mod contexts;
mod default_type;
mod defaults;
mod describe;
mod dynamic;
mod field;
mod field_checks;
mod field_data;
mod flags;
mod in_all;
mod index_names;
mod kind;
mod locale;
mod metadata;
mod multi_fields;
mod own_fields;
mod paths;
mod point_fields;
mod relations;
mod saved;
mod shown;
mod sortable;
mod term_filter;
mod times;
mod tree;
mod type_fields;
mod type_mapping;

use std::collections::BTreeSet;

use foldhash::fast::RandomState;
use foldhash::{HashMap, HashMapExt};
use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use crate::analysis::Analyzer;
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::similarity::Similarity;

use analyzers::TypeDefaults;
pub(crate) use configuration::Configuration;
pub(crate) use contexts::Contexts;
use default_type::{DEFAULT, add_defaults};
pub(crate) use defaults::{metadata_fields, with_defaults};
pub(crate) use dynamic::{guess, object_of_template};
pub(crate) use field::{FieldType, Indexing, out_of_range};
pub(crate) use field_data::{DataUse, FieldData};
use flags::is_on;
pub(crate) use flags::{flag, strict_flag, truth};
pub(crate) use kind::Kind;
pub(crate) use locale::locale;
pub(crate) use own_fields::{lucene_text as own_lucene_text, terms as own_terms};
pub(crate) use paths::DocumentMeta;
pub(crate) use point_fields::geohash_levels;
pub(crate) use sortable::{sortable, unsortable};
pub(crate) use term_filter::TermFilter;
pub(crate) use times::{TIMESTAMP, TTL, Times, TimestampSettings, WriteTime, check_ttl, ttl_millis};
pub(crate) use tree::{Dynamic, FieldNode, Node, ObjectNode};
pub(crate) use type_mapping::TypeMapping;
use type_mapping::merge_conflict;

/// The number of a field in its index.
pub(crate) type FieldOrdinal = u32;

/// `_all`: the values of all fields.
pub(crate) const ALL: FieldOrdinal = 0;
/// `_type`: the type of a document.
pub(crate) const TYPE: FieldOrdinal = 1;
/// `_field_names`: the names of a document's fields.
pub(crate) const FIELD_NAMES: FieldOrdinal = 2;
/// `_parent`: type and id of the parent document.
pub(crate) const PARENT: FieldOrdinal = 3;
/// `_routing`: the routing value of a document. Its prefix is the last character but one, which no other field has.
pub(crate) const ROUTING: FieldOrdinal = 0x10_FFFE - 0x801;
/// The terms of `_all` that come from fields with boosts: the term, a null character, and the boost.
pub(crate) const ALL_BOOSTS: FieldOrdinal = ROUTING - 1;
/// `_uid`: type and id of a document, which are stored but not indexed.
pub(crate) const UID: FieldOrdinal = FieldOrdinal::MAX;

/// Paths of unmapped fields and objects, with their dynamic mappings.
pub(crate) type Unmapped = Vec<(Vec<String>, Node)>;

/// A field of an index.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) ordinal: FieldOrdinal,
    /// Full name: the dotted path.
    pub(crate) name: String,
    pub(crate) field_type: FieldType,
    /// Analyzer at index time.
    pub(crate) index_analyzer: Analyzer,
    /// Analyzer at query time.
    pub(crate) search_analyzer: Analyzer,
    /// Analyzer of quoted texts in query strings.
    pub(crate) quote_analyzer: Analyzer,
    pub(crate) similarity: Similarity,
    /// Whether the boosts of the fields in `_all` count in its scores. False for other fields.
    pub(crate) is_boosted: bool,
}

/// The mapping of an index: the mappings of its types.
#[derive(Clone, Debug)]
pub(crate) struct Mapping {
    types: IndexMap<String, TypeMapping, RandomState>,
    /// The first field of each full name.
    fields: HashMap<String, Field>,
    /// Fields of a type that differ from the first field of the same name, by type and full name.
    type_fields: HashMap<String, HashMap<String, Field>>,
    /// Number of ordinals allocated to fields.
    ordinal_count: u32,
    /// Full names by the name of the field in the index, if it has another one there.
    index_names: HashMap<String, String>,
    /// Full names of the fields that are copied to a field, by its full name.
    copies: HashMap<String, Vec<String>>,
    /// Full names by short name: the last part of the path. The first field with a short name has it.
    short_names: HashMap<String, String>,
    configuration: Configuration,
    /// The default analyzers of the index: at index time, at query time, and of quoted texts.
    default_analyzers: [Analyzer; 3],
    /// By type, what it has in place of the defaults of the index.
    type_defaults: HashMap<String, TypeDefaults>,
    all: Field,
    max_fields: usize,
    /// Paths of nested objects.
    nested: BTreeSet<String>,
    /// Paths of the new fields of rejected documents, by type. They are used, but not shown until the type gets another
    /// new field.
    hidden: HashMap<String, Vec<Vec<String>>>,
}

impl Mapping {
    /// Creates an empty mapping.
    ///
    /// # Errors
    /// An invalid default analyzer.
    pub(crate) fn new(configuration: Configuration, max_fields: usize) -> Result<Mapping> {
        let default_analyzers = Analyzer::defaults(configuration.analysis.as_ref())?;
        let [index_analyzer, search_analyzer, quote_analyzer] = default_analyzers.clone();
        let all = Field {
            ordinal: ALL,
            name: "_all".to_owned(),
            field_type: FieldType::of(Kind::String),
            index_analyzer,
            search_analyzer,
            quote_analyzer,
            similarity: Similarity::default(),
            is_boosted: false,
        };
        Ok(Mapping {
            types: IndexMap::default(),
            fields: HashMap::new(),
            type_fields: HashMap::new(),
            ordinal_count: 0,
            index_names: HashMap::new(),
            copies: HashMap::new(),
            short_names: HashMap::new(),
            configuration,
            default_analyzers,
            type_defaults: HashMap::new(),
            all,
            max_fields,
            nested: BTreeSet::new(),
            hidden: HashMap::new(),
        })
    }

    /// Returns a field by its name: `type.path`, the full name, the name in the index, or a short name.
    pub(crate) fn field(&self, name: &str) -> Option<&Field> {
        if name == "_all" {
            return Some(&self.all);
        }
        if let Some((type_name, rest)) = self.named_type(name) {
            return self.field_of(type_name, rest);
        }
        let own = || own_fields::numbers(name).filter(|_| !self.types.is_empty());
        self.fields.get(self.full_name(name)).or_else(own)
    }

    /// Returns a field by its full name.
    pub(crate) fn exact_field(&self, name: &str) -> Option<&Field> {
        self.fields.get(name)
    }

    /// Returns the full name of a field.
    pub(crate) fn name_of(&self, ordinal: FieldOrdinal) -> Option<&str> {
        match ordinal {
            ALL => Some("_all"),
            TYPE => Some("_type"),
            FIELD_NAMES => Some("_field_names"),
            PARENT => Some("_parent"),
            ROUTING => Some("_routing"),
            UID => Some("_uid"),
            _ => self
                .fields
                .values()
                .chain(self.type_fields.values().flat_map(HashMap::values))
                .find(|field| field.ordinal == ordinal)
                .map(|field| field.name.as_str()),
        }
    }

    /// Returns the full names of the fields whose full name or own name matches a pattern with `*`, sorted.
    pub(crate) fn field_names(&self, pattern: &str) -> Vec<String> {
        let mut names: Vec<String> = self
            .fields
            .keys()
            .filter(|name| {
                let own = name.rsplit('.').next();
                crate::pattern::matches(pattern, name) || own.is_some_and(|own| crate::pattern::matches(pattern, own))
            })
            .cloned()
            .collect();
        names.sort();
        names
    }

    /// Returns the path at which the values of a field are in the source: that of its field, for a multi-field.
    pub(crate) fn source_path<'a>(&self, type_name: &str, name: &'a str) -> &'a str {
        let is_field = |path: &str| {
            let root = self.types.get(type_name).map(|own| &own.root);
            root.is_some_and(|root| root.field(path).is_some())
        };
        match name.rsplit_once('.') {
            Some((path, _)) if is_field(path) => path,
            _ => name,
        }
    }

    /// Returns whether a path is mapped as nested.
    pub(crate) fn is_nested(&self, path: &str) -> bool {
        self.nested.contains(path)
    }

    /// Returns whether a path is an object of a type.
    pub(crate) fn is_object(&self, path: &str) -> bool {
        self.types.values().any(|own| own.root.object(path).is_some())
    }

    /// Returns whether any path is mapped as nested.
    pub(crate) fn has_nested(&self) -> bool {
        !self.nested.is_empty()
    }

    /// Returns the innermost nested path that contains a field.
    pub(crate) fn nested_path(&self, field: &str) -> Option<&str> {
        let ends = field.match_indices('.').map(|(at, _)| at).rev();
        ends.filter_map(|end| self.nested.get(field.get(..end)?))
            .next()
            .map(String::as_str)
    }

    /// Returns the number of fields that can still be added.
    pub(crate) fn remaining_fields(&self) -> usize {
        self.max_fields.saturating_sub(self.field_count())
    }

    /// Returns the error for a mapping with too many fields.
    pub(crate) fn too_many_fields(&self) -> SearchError {
        SearchError::illegal(format!(
            "Limit of total fields [{}] in index has been exceeded",
            self.max_fields
        ))
    }

    pub(crate) fn all(&self) -> &Field {
        &self.all
    }

    pub(crate) fn analysis(&self) -> Option<&Map<String, Value>> {
        self.configuration.analysis.as_ref()
    }

    /// Returns the names of the types, in order of creation.
    pub(crate) fn type_names(&self) -> impl Iterator<Item = &str> {
        self.types.keys().map(String::as_str)
    }

    pub(crate) fn type_mapping(&self, name: &str) -> Option<&TypeMapping> {
        self.types.get(name)
    }

    /// Returns the mapping of a type, or that which a new type begins with.
    pub(crate) fn type_mapping_or_default(&self, name: &str) -> Option<&TypeMapping> {
        self.types.get(name).or_else(|| self.types.get(DEFAULT))
    }

    /// Merges a definition into the mapping of a type. With `ignore_conflicts`, conflicting settings are ignored.
    ///
    /// # Errors
    /// An invalid definition, conflicts, or too many fields.
    pub(crate) fn put(&mut self, type_name: &str, definition: &Value, ignore_conflicts: bool) -> Result<()> {
        if type_name != DEFAULT {
            check_type_name(type_name)?;
        }
        // The definition is that of the first member with the name of the type, or the whole.
        let definition = match definition.as_object().and_then(|outer| outer.iter().next()) {
            Some((name, Value::Null)) if name == type_name => &json!({}),
            Some((name, inner)) if name == type_name => inner,
            _ => definition,
        };
        self.check_type_analyzers(type_name, definition)?;
        let definition = &self.with_known_components(definition);
        let known = self.types.get(type_name);
        let mut fresh = known.cloned().unwrap_or_default();
        let with_defaults = match (known, self.types.get(DEFAULT), definition) {
            (None, Some(default), Value::Object(own)) => {
                let mut own = own.clone();
                if let Value::Object(default) = default.describe(FieldType::definition) {
                    add_defaults(&mut own, &default);
                }
                Some(Value::Object(own))
            }
            _ => None,
        };
        let mut conflicts = fresh.merge(with_defaults.as_ref().unwrap_or(definition), known.is_some())?;
        if let Some(known) = known {
            known.times.add_conflicts(&fresh.times, definition, &mut conflicts)?;
        }
        let conflicts = conflicts.in_order();
        if !conflicts.is_empty() && !ignore_conflicts {
            return Err(merge_conflict(&conflicts));
        }
        if fresh
            .root
            .leaves()
            .iter()
            .any(|(_, node)| node.field_type.analyzes_quotes_only())
        {
            let reason = format!("failed to serialize source for type [{type_name}]");
            let error = SearchError::new(500, Exception::ElasticsearchGeneration, reason);
            return Err(error.caused_by(SearchError::null_pointer()));
        }
        self.replace_type(type_name, fresh)?;
        if let Some(hidden) = self.hidden.get_mut(type_name) {
            let mut own = TypeMapping::default();
            own.merge(definition, false)?;
            hidden.retain(|path| !own.root.contains(path));
        }
        Ok(())
    }

    /// Adds an empty mapping of a type, unless the type is mapped.
    pub(crate) fn ensure_type(&mut self, type_name: &str) -> Result<()> {
        if self.types.contains_key(type_name) {
            Ok(())
        } else {
            self.put(type_name, &json!({}), false)
        }
    }

    /// Adds the new fields of a rejected document to a type. Each node of the cluster maps them for itself, so they are
    /// not shown.
    pub(crate) fn add_hidden(&mut self, type_name: &str, found: Unmapped) -> Result<()> {
        let paths: Vec<Vec<String>> = found.iter().map(|(path, _)| path.clone()).collect();
        self.add(type_name, found)?;
        self.hidden.entry(type_name.to_owned()).or_default().extend(paths);
        Ok(())
    }

    /// Adds dynamically mapped fields to a type. All its fields are shown from now on.
    pub(crate) fn add_dynamic(&mut self, type_name: &str, found: Unmapped) -> Result<()> {
        self.add(type_name, found)?;
        self.hidden.remove(type_name);
        Ok(())
    }

    fn add(&mut self, type_name: &str, found: Unmapped) -> Result<()> {
        let mut fresh = self.types.get(type_name).cloned().unwrap_or_default();
        for (path, node) in found {
            fresh.root.insert(&path, node)?;
        }
        self.replace_type(type_name, fresh)
    }

    /// Replaces the mapping of a type by its merged successor, and updates the fields of the index.
    fn replace_type(&mut self, type_name: &str, fresh: TypeMapping) -> Result<()> {
        let (mut added, mut changed, mut differing) = (Vec::new(), Vec::new(), Vec::new());
        let before = self.types.get(type_name);
        let is_own = |name: &str| before.is_some_and(|before| before.root.field(name).is_some());
        for (name, node) in fresh.root.leaves() {
            match self.field_of(type_name, &name) {
                Some(known) if !is_own(&name) => {
                    if known.field_type.definition() != node.field_type.definition() {
                        differing.push(self.new_field(name, &node.field_type)?);
                    }
                }
                Some(known) if known.field_type.kind != node.field_type.kind => {
                    return Err(merge_conflict(&[format!(
                        "mapper [{name}] of different type, current_type [{}], merged_type [{}]",
                        known.field_type.kind.name(),
                        node.field_type.kind.name()
                    )]));
                }
                Some(known) => {
                    let search = node.field_type.search_analyzer.as_deref();
                    let search_analyzer = match search {
                        Some(name) if known.field_type.search_analyzer.as_deref() != Some(name) => {
                            self.field_analyzer(name, &known.name)?
                        }
                        _ => known.search_analyzer.clone(),
                    };
                    changed.push(Field {
                        field_type: self.with_defaults_of_index(&node.field_type),
                        search_analyzer,
                        ..known.clone()
                    });
                }
                None => added.push(self.new_field(name, &node.field_type)?),
            }
        }
        for (name, field_type) in fresh.times.fields()? {
            if !self.fields.contains_key(name) {
                added.push(self.new_field(name.to_owned(), &field_type)?);
            }
        }
        if self.field_count() + added.len() + differing.len() > self.max_fields {
            return Err(self.too_many_fields());
        }
        let defaults = self.defaults_of_type(&fresh)?;
        if type_name == DEFAULT {
            // No document has this type, so its fields are not indexed.
            self.types.insert(type_name.to_owned(), fresh);
            return Ok(());
        }
        for field in changed {
            let own = self
                .type_fields
                .get_mut(type_name)
                .filter(|own| own.contains_key(&field.name));
            own.unwrap_or(&mut self.fields).insert(field.name.clone(), field);
        }
        for mut field in added {
            field.ordinal = self.next_ordinal();
            self.add_field(field);
        }
        differing
            .into_iter()
            .for_each(|field| self.add_type_field(type_name, field));
        self.nested.extend(fresh.root.nested_paths());
        self.add_names(&fresh.root);
        self.all.field_type.norms &= fresh.all_has_norms();
        self.types.insert(type_name.to_owned(), fresh);
        self.set_type_defaults(type_name, defaults);
        Ok(())
    }

    /// Creates a field without an ordinal.
    fn new_field(&self, name: String, field_type: &FieldType) -> Result<Field> {
        let [index_analyzer, search_analyzer, quote_analyzer] = self.analyzers(&name, field_type)?;
        Ok(Field {
            ordinal: 0,
            name,
            field_type: self.with_defaults_of_index(field_type),
            index_analyzer,
            search_analyzer,
            quote_analyzer,
            similarity: self.similarity_of(field_type),
            is_boosted: false,
        })
    }

    /// Adds a field, the first with its name.
    fn add_field(&mut self, field: Field) {
        if let Some((_, short)) = field.name.rsplit_once('.') {
            self.short_names
                .entry(short.to_owned())
                .or_insert_with(|| field.name.clone());
        }
        self.fields.insert(field.name.clone(), field);
    }
}

/// Fails for an invalid type name.
pub(crate) fn check_type_name(name: &str) -> Result<()> {
    let reason = if name.is_empty() {
        "mapping type name is empty".to_owned()
    } else if name.starts_with('_') {
        format!("mapping type name [{name}] can't start with '_'")
    } else if let Some(sign) = ['#', ','].into_iter().find(|sign| name.contains(*sign)) {
        format!("mapping type name [{name}] should not include '{sign}' in it")
    } else {
        return Ok(());
    };
    Err(SearchError::new(400, Exception::InvalidTypeName, reason))
}
