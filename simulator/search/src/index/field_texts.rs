//! The texts of a document as they are indexed, with those that are copied to a field.

use serde_json::{Map, Value};

use crate::index::document::DocumentParser;
use crate::mapping::{FieldOrdinal, Mapping};

/// Returns the texts of the string fields of a root document, in the order in which they are indexed. `source` is the
/// document as bytes. Values behind one that does not fit its field, and fields that are not mapped, are left out.
pub(crate) fn field_texts(
    mapping: &Mapping,
    type_name: &str,
    source: &[u8],
    document: &Map<String, Value>,
) -> Vec<(FieldOrdinal, String)> {
    let Some(type_mapping) = mapping.type_mapping(type_name) else {
        return vec![];
    };
    let of_type = (type_name, type_mapping);
    let mut parser = DocumentParser::new(mapping, of_type, "", (source, document), None);
    parser.texts = Some(vec![]);
    // The document was parsed before.
    drop(parser.object(&mut vec![], Some(&type_mapping.root), document));
    parser.texts.unwrap_or_default()
}
