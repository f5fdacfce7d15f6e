//! Document parser: converts the source of a document to its indexed form.
//!
//! - Guarantees: a value that does not fit its field rejects the whole document; documents are never indexed partially.
//! - Limits: 20 levels of objects; 10,000 nested objects per document; terms of 32,766 bytes.
//!
//! Source: Elasticsearch 1.5's document parsing: `_all` has the values in their order, without position gaps between
//! values.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::analysis::Analyzer;
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::index::blocks::NESTED;
use crate::index::document_builder::DocumentBuilder;
use crate::index::encoded::Encoded;
use crate::index::mismatch::{boosted_value, is_plain, strict, unmappable_integer, unnamed, unparsed};
use crate::index::numbers::check_value;
use crate::json::{self, BODY, binary, is_oversized, java_text, literal};
use crate::mapping::{
    Dynamic, FIELD_NAMES, FieldNode, FieldOrdinal, FieldType, Indexing, Kind, Mapping, Node, ObjectNode, PARENT,
    ROUTING, TIMESTAMP, TTL, Times, TypeMapping, Unmapped, guess, object_of_template,
};
use crate::routing::Placement;

/// Maximum number of nested objects of a document.
const MAX_NESTED_DOCS: usize = 10_000;

/// Result of parsing a document.
pub(crate) enum ParsedDocument {
    /// The document can be indexed.
    Ready(Box<Encoded>),
    /// The document has fields that must be added to the mapping first.
    Unmapped(Unmapped),
    /// The document is invalid. It has new fields before the invalid value.
    Rejected(Unmapped, SearchError),
}

/// Parses a document of a type. The type must be mapped.
pub(crate) fn read<'a>(
    mapping: &'a Mapping,
    type_name: &'a str,
    id: &'a str,
    placement: Placement<'_>,
    times: Times,
    source: &'a [u8],
    document: &'a Map<String, Value>,
) -> Result<ParsedDocument> {
    let type_mapping = mapping
        .type_mapping(type_name)
        .ok_or_else(|| SearchError::new(404, Exception::TypeMissing, format!("type[[{type_name}]] missing")))?;
    let own_analyzer = mapping.document_analyzer(type_mapping, document)?;
    let default_analyzer = own_analyzer.as_ref().or(mapping.type_analyzer(type_name));
    let mut parser = DocumentParser::new(
        mapping,
        (type_name, type_mapping),
        id,
        (source, document),
        default_analyzer,
    );
    let mut path = Vec::new();
    let parsed = parser.object(&mut path, Some(&type_mapping.root), document);
    match parsed {
        Err(error) => {
            parser.forget_unfinished(&path);
            return Ok(ParsedDocument::Rejected(parser.unmapped, error));
        }
        Ok(()) if !parser.unmapped.is_empty() => return Ok(ParsedDocument::Unmapped(parser.unmapped)),
        Ok(()) => {}
    }
    if let Some(failure) = parser.failure {
        return Ok(ParsedDocument::Rejected(parser.unmapped, failure));
    }
    parser.finish_all();
    parser.times(times);
    let mut encoded = parser.doc.finish(type_name, parser.document_boost);
    let parent = placement.parent.unwrap_or("");
    if let Some(parent_type) = mapping.parent_type(type_name).filter(|_| !parent.is_empty()) {
        encoded.push_term(PARENT, &format!("{parent_type}#{parent}"), 0);
        encoded.push_term(FIELD_NAMES, "_parent", 0);
    }
    let routing = placement.value().unwrap_or("");
    if !routing.is_empty() {
        encoded.push_term(FIELD_NAMES, "_routing", 0);
        if type_mapping.indexes_routing() {
            encoded.push_term(ROUTING, routing, 0);
        }
    }
    encoded.store([type_name, id, routing, parent, ""], times, source);
    // A nested object must come after the objects that it contains.
    parser.blocks.reverse();
    encoded.set_nested(parser.blocks);
    Ok(ParsedDocument::Ready(Box::new(encoded)))
}

/// Returns the name of the field at a path.
fn dotted(path: &[String]) -> Cow<'_, str> {
    match path {
        [name] => Cow::Borrowed(name),
        _ => Cow::Owned(path.join(".")),
    }
}

pub(super) struct DocumentParser<'a> {
    pub(super) mapping: &'a Mapping,
    pub(super) type_name: &'a str,
    pub(super) type_mapping: &'a TypeMapping,
    pub(super) id: &'a str,
    /// The document that is being built: the root document, or a nested object.
    pub(super) doc: DocumentBuilder,
    /// The documents that contain it, the root document first.
    pub(super) outer: Vec<DocumentBuilder>,
    /// Finished nested objects, each before those that it contains.
    pub(super) blocks: Vec<Encoded>,
    /// Above 0 while the fields of a nested object are added to its parent or root (`include_in_parent`,
    /// `include_in_root`).
    pub(super) flat: usize,
    pub(super) unmapped: Unmapped,
    /// The paths of `unmapped`.
    pub(super) unmapped_paths: HashSet<Vec<String>>,
    pub(super) source: &'a [u8],
    /// The members of the root document.
    pub(super) document: &'a Map<String, Value>,
    /// Default of `include_in_all` at the current object.
    pub(super) in_all: bool,
    /// Analyzer of the fields that have none of their own. Default: that of the index.
    pub(super) default_analyzer: Option<&'a Analyzer>,
    /// Analyzer of `_all`.
    pub(super) all_analyzer: &'a Analyzer,
    /// The member with the boost of the document.
    boost_name: &'a str,
    /// Factor of the norms of its fields.
    document_boost: f32,
    /// The values in `_all`, if they are read as one text, and the places at which they start with their boosts.
    pub(super) all_values: Option<(String, Vec<(usize, f32)>)>,
    /// Boost of the current value, if the value is within an object that has it.
    pub(super) boost: Option<f32>,
    /// Failure of an analyzer.
    pub(super) failure: Option<SearchError>,
    /// Collects the texts of the string fields of the root document.
    pub(super) texts: Option<Vec<(FieldOrdinal, String)>>,
}

impl<'a> DocumentParser<'a> {
    /// Creates a parser of a document of a type, `document` as parsed and `source` as bytes.
    pub(super) fn new(
        mapping: &'a Mapping,
        (type_name, type_mapping): (&'a str, &'a TypeMapping),
        id: &'a str,
        (source, document): (&'a [u8], &'a Map<String, Value>),
        default_analyzer: Option<&'a Analyzer>,
    ) -> DocumentParser<'a> {
        DocumentParser {
            mapping,
            type_name,
            type_mapping,
            id,
            doc: DocumentBuilder::with_capacity(source.len()),
            outer: Vec::new(),
            blocks: Vec::new(),
            flat: 0,
            unmapped: Vec::new(),
            unmapped_paths: HashSet::new(),
            source,
            document,
            in_all: true,
            default_analyzer,
            all_analyzer: mapping.all_analyzer(type_name, default_analyzer),
            all_values: None,
            boost_name: type_mapping.boost_name(),
            document_boost: 1.0,
            boost: None,
            failure: None,
            texts: None,
        }
    }

    /// Indexes an object.
    pub(super) fn object(
        &mut self,
        path: &mut Vec<String>,
        node: Option<&'a ObjectNode>,
        object: &Map<String, Value>,
    ) -> Result<()> {
        if path.len() > 20 {
            return Err(SearchError::mapping("objects are nested too deeply"));
        }
        if node.and_then(|node| node.enabled) == Some(false) {
            return Ok(());
        }
        let in_all = self.in_all;
        self.in_all = node.and_then(|node| node.include_in_all).unwrap_or(in_all);
        let read = self.members(path, node, &mut object.iter());
        self.in_all = in_all;
        read
    }

    /// Returns how unmapped members of an object are handled. Default: as in the root object.
    pub(super) fn policy(&self, node: Option<&ObjectNode>) -> Dynamic {
        let own = node.and_then(|node| node.dynamic);
        own.or(self.type_mapping.root.dynamic).unwrap_or(Dynamic::Yes)
    }

    /// Reads the members of an object.
    pub(super) fn members(
        &mut self,
        path: &mut Vec<String>,
        node: Option<&'a ObjectNode>,
        members: &mut dyn Iterator<Item = (&String, &Value)>,
    ) -> Result<()> {
        let policy = self.policy(node);
        // An object that inherits its policy ignores unmapped members without a value.
        let is_strict = node.is_some_and(|node| node.dynamic == Some(Dynamic::Strict));
        while let Some((key, value)) = members.next() {
            if path.is_empty() && key == "_id" {
                self.check_id(value)?;
            }
            if path.is_empty()
                && matches!(
                    key.as_str(),
                    "_id"
                        | "_type"
                        | "_routing"
                        | "_parent"
                        | TIMESTAMP
                        | TTL
                        | "_version"
                        | "_index"
                        | "_source"
                        | "_all"
                )
            {
                continue;
            }
            if path.is_empty() && key == self.boost_name {
                self.document_boost = self.type_mapping.boost_of(value)?;
                continue;
            }
            path.push(key.clone());
            let known = node.and_then(|node| node.properties.get(key));
            if known.is_none() && policy == Dynamic::Strict && (is_strict || !value.is_null()) {
                let object = path.split_last().map(|(_, above)| above.join(".")).unwrap_or_default();
                let object = if object.is_empty() { self.type_name } else { &object };
                return Err(strict(key, object));
            }
            match known {
                Some(Node::Object(node)) if is_plain(value) && node.enabled != Some(false) => {
                    return Err(self.misplaced(path, node, value, members));
                }
                _ => {}
            }
            self.value(path, known, value, policy != Dynamic::No)?;
            path.pop();
        }
        Ok(())
    }

    /// Checks that an `_id` within the document is the id of the request.
    fn check_id(&self, value: &Value) -> Result<()> {
        let id = java_text(value);
        if value.is_null() || value.is_object() || value.is_array() || id == self.id {
            return Ok(());
        }
        let reason = format!("Provided id [{}] does not match the content one [{id}]", self.id);
        Err(SearchError::mapping("failed to parse [_id]").caused_by(SearchError::mapping(reason)))
    }

    pub(super) fn value(
        &mut self,
        path: &mut Vec<String>,
        known: Option<&'a Node>,
        value: &Value,
        dynamic: bool,
    ) -> Result<()> {
        match (value, known) {
            (_, Some(Node::Field(field))) if field.field_type.kind == Kind::GeoPoint && !value.is_null() => {
                self.points(&dotted(path), field, value)
            }
            (_, Some(Node::Field(field))) if field.field_type.kind == Kind::Completion => {
                self.completions(path, value, false)
            }
            (Value::Array(_), None) if dynamic && self.add_unmapped_list(path)? => Ok(()),
            (Value::Array(items), _) => self.items(path, known, items, dynamic),
            (Value::Object(object), Some(Node::Object(node))) if node.nested && self.flat == 0 => {
                self.nested(path, node, object)
            }
            // The document around a nested object has the fields of that object, not those of the objects within it.
            (Value::Object(_), Some(Node::Object(node))) if node.nested && !node.include_in_parent => Ok(()),
            (Value::Object(object), Some(Node::Object(node))) => self.object(path, Some(node), object),
            (Value::Object(_), None) if !dynamic => Ok(()),
            (Value::Object(object), None) => {
                if let Some(field) = self.new_field(path) {
                    let (value, _) = boosted_value(field, object).map_err(|error| unparsed(&dotted(path), error))?;
                    return self.check_new(path, value);
                }
                // If a template matches, the object is parsed again once the mapping has it.
                if let Some(node) = object_of_template(self.type_mapping, path)? {
                    return self.add_unmapped(path, node);
                }
                self.add_unmapped(path, Node::Object(Box::default()))?;
                self.object(path, None, object)
            }
            (_, Some(Node::Field(field))) if field.field_type.kind == Kind::Binary && !value.is_array() => {
                if !field.field_type.store || value.is_null() {
                    return Ok(());
                }
                let name = dotted(path);
                binary(value, BODY).map_err(|error| unparsed(&name, error))?;
                if let Some(field) = self.mapping.field_of(self.type_name, &name) {
                    self.doc.add_field_name(field);
                }
                Ok(())
            }
            (Value::Object(object), Some(Node::Field(field))) => match boosted_value(&field.field_type, object) {
                Ok((value, boost)) => {
                    self.boost = Some(boost);
                    let read = self.value(path, known, value, dynamic);
                    self.boost = None;
                    read
                }
                Err(error) => {
                    let name = dotted(path);
                    let field = self.mapping.field_of(self.type_name, &name);
                    match field.is_some_and(|field| field.field_type.ignore_malformed) {
                        true => Ok(()),
                        false => Err(unparsed(&name, error)),
                    }
                }
            },
            (Value::Null, Some(Node::Field(field))) => match &field.field_type.null_value {
                Some(count) if field.field_type.kind == Kind::TokenCount => {
                    self.count(&dotted(path), json::integer(count).unwrap_or(0))
                }
                Some(value) => self.copied_field(&dotted(path), field, value),
                None => Ok(()),
            },
            (Value::Null, _) => Ok(()),
            (_, Some(Node::Field(field))) => self.copied_field(&dotted(path), field, value),
            // One that is not enabled.
            (_, Some(Node::Object(_))) => Ok(()),
            (_, None) => {
                if dynamic && self.unmapped_paths.contains(path) {
                    return self.check_new(path, value);
                }
                // A field that the type maps at the dotted path determines the definition.
                if dynamic {
                    if self.is_oversized(value) {
                        return Err(unmappable_integer());
                    }
                    let node = match self.type_mapping.root.field(&dotted(path)) {
                        Some(field) => Some(FieldNode::of(field.field_type.clone())),
                        None => guess(self.type_mapping, path, value)?,
                    };
                    if let Some(node) = node {
                        self.add_unmapped(path, Node::Field(Box::new(node)))?;
                    }
                }
                Ok(())
            }
        }
    }

    /// Indexes `_timestamp` and `_ttl`.
    fn times(&mut self, times: Times) {
        for (name, time) in [(TIMESTAMP, times.timestamp), (TTL, times.expiry)] {
            let field = self.mapping.exact_field(name);
            let field = field.filter(|field| field.field_type.indexing != Indexing::No);
            if let (Some(field), Some(time)) = (field, time) {
                self.doc.add_field_name(field);
                self.doc.encoded.push_number(field.ordinal, time);
            }
        }
    }

    /// Parses a nested object to a document of its own.
    fn nested(&mut self, path: &mut Vec<String>, node: &'a ObjectNode, object: &Map<String, Value>) -> Result<()> {
        if self.blocks.len() >= MAX_NESTED_DOCS {
            return Err(SearchError::mapping(format!(
                "a document has more than {MAX_NESTED_DOCS} nested objects"
            )));
        }
        let name = path.join(".");
        let identity = self.doc.next_identity(&name);
        let slot = self.blocks.len();
        self.blocks.push(Encoded::default());
        let own = DocumentBuilder {
            path: name.clone(),
            identity: Some(identity.clone()),
            ..DocumentBuilder::default()
        };
        self.outer.push(std::mem::replace(&mut self.doc, own));
        let read = self.object(path, Some(node), object);
        let outer = self.outer.pop().unwrap_or_default();
        let own = std::mem::replace(&mut self.doc, outer);
        read?;
        let mut encoded = own.finish(&format!("{NESTED}{name}"), self.document_boost);
        let source = serde_json::to_vec(object).map_err(SearchError::engine)?;
        encoded.store(
            [self.type_name, self.id, "", "", &identity.to_string()],
            Times::default(),
            &source,
        );
        if let Some(place) = self.blocks.get_mut(slot) {
            *place = encoded;
        }
        self.flat += 1;
        let mut included = Ok(());
        if node.include_in_parent || node.include_in_root && self.outer.is_empty() {
            included = self.object(path, Some(node), object);
        }
        if node.include_in_root && !self.outer.is_empty() {
            self.swap_root();
            included = included.and_then(|()| self.object(path, Some(node), object));
            self.swap_root();
        }
        self.flat -= 1;
        included
    }

    /// Swaps the current document with the root document.
    fn swap_root(&mut self) {
        if let Some(root) = self.outer.first_mut() {
            std::mem::swap(root, &mut self.doc);
        }
    }

    /// Records an unmapped path of an array if a template maps it to a type that consumes whole arrays. Returns whether
    /// it does.
    fn add_unmapped_list(&mut self, path: &[String]) -> Result<bool> {
        match object_of_template(self.type_mapping, path)? {
            Some(Node::Field(field)) if matches!(field.field_type.kind, Kind::GeoPoint | Kind::Completion) => {
                self.add_unmapped(path, Node::Field(field)).map(|()| true)
            }
            _ => Ok(false),
        }
    }

    /// Records an unmapped path and its definition.
    pub(super) fn add_unmapped(&mut self, path: &[String], node: Node) -> Result<()> {
        if self.unmapped_paths.insert(path.to_vec()) {
            if self.unmapped.len() >= self.mapping.remaining_fields() {
                return Err(self.mapping.too_many_fields());
            }
            self.unmapped.push((path.to_vec(), node));
        }
        Ok(())
    }

    /// Returns the type of the new field at a path.
    fn new_field(&self, path: &[String]) -> Option<&FieldType> {
        if !self.unmapped_paths.contains(path) {
            return None;
        }
        match self.unmapped.iter().find(|(own, _)| own == path)? {
            (_, Node::Field(field)) => Some(&field.field_type),
            (_, Node::Object(_)) => None,
        }
    }

    /// Checks another value of a new field.
    fn check_new(&self, path: &[String], value: &Value) -> Result<()> {
        if value.is_null() {
            return Ok(());
        }
        let Some(field) = self.new_field(path) else {
            return Err(unnamed(path, value));
        };
        let text = match value {
            Value::Number(number) => literal(self.source, number),
            other => java_text(other),
        };
        check_value(field, value, &text).map_err(|error| unparsed(&dotted(path), error))
    }

    /// Forgets the new fields in a new object that contains the invalid value at `path`: an object is mapped when it
    /// is complete.
    fn forget_unfinished(&mut self, path: &[String]) {
        let is_above = |(own, node): &&(Vec<String>, Node)| {
            matches!(node, Node::Object(_)) && own.len() < path.len() && path.starts_with(own)
        };
        let outermost = self.unmapped.iter().find(is_above);
        if let Some(object) = outermost.map(|(own, _)| own.clone()) {
            self.unmapped.retain(|(own, _)| !own.starts_with(&object));
        }
    }

    /// Returns whether a value is an integer that overflows a long.
    pub(super) fn is_oversized(&self, value: &Value) -> bool {
        let number = value.as_number();
        number.is_some_and(|number| is_oversized(self.source, number))
    }
}
