//! Scripts in the language `expression`: arithmetic on the numeric fields of a document.
//!
//! - Guarantees: a script reads only fields and the score, and ends after a bounded number of steps.
//! - Limits: 4,096 bytes and 50 levels; one number per field, and 0 for a document without one. Scripts in other
//!   languages are rejected.
//!
//! Source: Elasticsearch 1.5's expression scripts on Lucene 4.10's JavaScript expressions.

mod parser;

use std::sync::Arc;

use serde_json::Value;

use crate::error::{Result, SearchError};
use crate::index::{Segment, Values};
use crate::mapping::{FieldOrdinal, Mapping, unsortable};

/// Maximum length of a script, in bytes.
const MAX_SCRIPT_BYTES: usize = 4_096;

/// An operator or a function of one, two or three numbers.
type Operation = fn(&[f64]) -> f64;

/// Node of the syntax tree.
#[derive(Clone, Debug)]
enum Node {
    Number(f64),
    Score,
    /// First number of a field, by the index of the field in the script.
    Field(usize),
    Operation(Operation, Vec<Node>),
    /// `condition ? then : else`: the second node if the first one is not 0, else the third.
    Conditional(Box<[Node; 3]>),
}

/// A parsed script.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    text: String,
    root: Arc<Node>,
    fields: Vec<String>,
}

/// A script whose fields are resolved against the mapping of an index.
#[derive(Clone, Debug)]
pub(crate) struct MappedScript {
    script: Script,
    /// Ordinal of each field, and whether its numbers are floating-point.
    fields: Vec<(FieldOrdinal, bool)>,
}

/// A script with the columns of a segment.
pub(crate) struct SegmentScript {
    root: Arc<Node>,
    columns: Vec<(Arc<Values>, bool)>,
}

impl PartialEq for MappedScript {
    fn eq(&self, other: &MappedScript) -> bool {
        self.script.text == other.script.text && self.fields == other.fields
    }
}

impl Script {
    /// Parses settings with `script`, `lang` and `params`.
    ///
    /// # Errors
    /// A script in another language, or one that is not an expression.
    pub(crate) fn parse(settings: &Value) -> Result<Script> {
        let lang = settings.get("lang").and_then(Value::as_str).unwrap_or("groovy");
        match lang {
            "expression" => {}
            "groovy" | "mustache" | "native" => {
                let reason = format!("scripts of type [inline], operation [search] and lang [{lang}] are disabled");
                return Err(SearchError::new(400, "ScriptException", reason));
            }
            other => return Err(SearchError::illegal(format!("script_lang not supported [{other}]"))),
        }
        let text = settings.get("script").and_then(Value::as_str).unwrap_or("");
        if text.len() > MAX_SCRIPT_BYTES {
            return Err(invalid(text, "the script is too long"));
        }
        let (root, fields) = parser::parse(text, settings.get("params"))?;
        Ok(Script {
            text: text.to_owned(),
            root: Arc::new(root),
            fields,
        })
    }

    /// Resolves the fields against a mapping.
    ///
    /// # Errors
    /// A field that is not mapped, or that is not numeric.
    pub(crate) fn mapped(&self, mapping: &Mapping) -> Result<MappedScript> {
        let fields = self.fields.iter().map(|name| {
            let field = mapping
                .field(name)
                .ok_or_else(|| failed(format!("Field [{name}] used in expression does not exist in mappings")))?;
            let kind = field.field_type.kind;
            if !kind.is_numeric() {
                return Err(failed(format!("Field [{name}] used in expression must be numeric")));
            }
            Ok((field.ordinal, kind.is_floating()))
        });
        Ok(MappedScript {
            fields: fields.collect::<Result<_>>()?,
            script: self.clone(),
        })
    }
}

impl MappedScript {
    /// The text of the script.
    pub(crate) fn text(&self) -> &str {
        &self.script.text
    }

    /// Loads the columns of a segment.
    pub(crate) fn of(&self, segment: &Segment) -> Result<SegmentScript> {
        let columns = self
            .fields
            .iter()
            .map(|(ordinal, floating)| Ok((segment.values(*ordinal)?, *floating)));
        Ok(SegmentScript {
            root: self.script.root.clone(),
            columns: columns.collect::<Result<_>>()?,
        })
    }
}

impl SegmentScript {
    /// Evaluates the script for a document.
    pub(crate) fn value(&self, doc: u32, score: f32) -> f64 {
        self.node(&self.root, doc, score)
    }

    fn node(&self, node: &Node, doc: u32, score: f32) -> f64 {
        match node {
            Node::Number(number) => *number,
            Node::Score => f64::from(score),
            Node::Field(at) => match self.columns.get(*at) {
                Some((values, floating)) => match values.of(doc).first() {
                    Some(value) if *floating => unsortable(*value),
                    Some(value) => *value as f64,
                    None => 0.0,
                },
                None => 0.0,
            },
            Node::Operation(operation, parts) => {
                let numbers: Vec<f64> = parts.iter().map(|part| self.node(part, doc, score)).collect();
                operation(&numbers)
            }
            Node::Conditional(parts) => {
                let [condition, yes, no] = &**parts;
                let chosen = if self.node(condition, doc, score) == 0.0 {
                    no
                } else {
                    yes
                };
                self.node(chosen, doc, score)
            }
        }
    }
}

fn failed(reason: String) -> SearchError {
    SearchError::new(400, "ExpressionScriptCompilationException", reason)
}

fn invalid(text: &str, reason: &str) -> SearchError {
    failed(format!("Failed to parse expression: {text}: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case("1 + 2 * 3", 7.0)]
    #[case("(1 + 2) * -3", -9.0)]
    #[case("7 % 4 / 2", 1.5)]
    #[case("pow(2, 10) + sqrt(16) - ln(exp(1))", 1027.0)]
    #[case("max(1, 2, 3) > 2 && !0 ? 0x10 : 1e3", 16.0)]
    #[case("1 < 2 == 1", 1.0)]
    #[case("5 & 3 | 8 ^ 1", 9.0)]
    #[case("_score * factor", 3.0)]
    fn an_expression_is_evaluated(#[case] text: &str, #[case] expected: f64) {
        let settings = json!({"script": text, "lang": "expression", "params": {"factor": 2}});
        let script = Script::parse(&settings).unwrap();
        let bound = SegmentScript {
            root: script.root,
            columns: vec![],
        };
        assert_eq!(bound.value(0, 1.5), expected);
    }

    #[rstest]
    #[case("1 +")]
    #[case("nope")]
    #[case("doc['n']")]
    #[case("unknown(1)")]
    #[case("pow(1)")]
    #[case("1 ? 2")]
    fn invalid_expressions_are_rejected(#[case] text: &str) {
        assert!(Script::parse(&json!({"script": text, "lang": "expression"})).is_err());
    }

    #[test]
    fn deep_nesting_and_other_languages_are_rejected() {
        let deep = format!("{}1{}", "(".repeat(1_000), ")".repeat(1_000));
        assert!(Script::parse(&json!({"script": deep, "lang": "expression"})).is_err());
        assert!(Script::parse(&json!({"script": "-".repeat(1_000), "lang": "expression"})).is_err());
        assert!(Script::parse(&json!({"script": "1"})).is_err());
    }

    #[test]
    fn a_field_is_resolved_once() {
        let settings =
            json!({"script": "doc['a.b'].value + doc[\"c\"].value + doc['a.b'].value", "lang": "expression"});
        assert_eq!(Script::parse(&settings).unwrap().fields, ["a.b", "c"]);
    }
}
