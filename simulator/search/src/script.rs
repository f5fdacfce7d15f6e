//! Scripts in the language `expression`: arithmetic on the numeric fields of a document.
//!
//! - Guarantees: a script reads only fields, parameters and the score, and ends after a bounded number of steps.
//! - Limits: 4,096 bytes and 50 levels; one number per field, and 0 for a document without one. Scripts in other
//!   languages are rejected.
//!
//! Source: Elasticsearch 1.5's expression scripts on Lucene 4.10's JavaScript expressions.

mod evaluation;
mod functions;
mod lexer;
mod parser;

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::index::Segment;
use crate::json::java_text;
use crate::mapping::{FieldOrdinal, Mapping};
use crate::ties::object_in_hash_order;

pub(crate) use evaluation::SegmentScript;
use evaluation::{Binding, Node};

/// The language of scripts that name none.
const DEFAULT_LANG: &str = "groovy";

/// Keys of scripts in files.
const FILE: &[&str] = &["script_file", "file"];

/// Keys of stored scripts.
const STORED: &[&str] = &["script_id", "id"];

/// Keys of the texts of a script.
const KEYS: [&str; 6] = ["script", "script_file", "file", "script_id", "id", "lang"];

/// Maximum length of a script, in bytes.
const MAX_SCRIPT_BYTES: usize = 4_096;

/// A compiled script.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    text: String,
    root: Arc<Node>,
    variables: Vec<String>,
    params: Option<Map<String, Value>>,
}

/// A script whose variables are resolved against the mapping of an index.
#[derive(Clone, Debug)]
pub(crate) struct MappedScript {
    script: Script,
    bindings: Vec<Binding<FieldOrdinal>>,
}

impl PartialEq for MappedScript {
    fn eq(&self, other: &MappedScript) -> bool {
        self.script.text == other.script.text && self.bindings == other.bindings
    }
}

impl Script {
    /// Compiles the script of settings with `script`, `lang` and `params`. Returns `None` if there is none.
    ///
    /// # Errors
    /// A script in another language, one that is not an expression, and one that is stored or in a file.
    pub(crate) fn parse(settings: &Value) -> Result<Option<Script>> {
        let of = |keys: &[&str]| keys.iter().find_map(|key| texts(settings.get(*key)?).next_back());
        if Script::texts(settings).count() > 1 {
            let reason = "Only one of [script, script_file, script_id] is allowed.";
            return Err(SearchError::new(500, Exception::ScriptParameterParse, reason));
        }
        if let Some(name) = of(FILE) {
            return Err(SearchError::illegal(format!("Unable to find on disk script {name}")));
        }
        let lang = of(&["lang"]).unwrap_or(DEFAULT_LANG);
        if of(STORED).is_some() && lang != DEFAULT_LANG {
            return Err(SearchError::new(400, Exception::IndexMissing, "[.scripts] missing"));
        }
        let Some(text) = of(&["script"]).or_else(|| of(STORED)) else {
            return Ok(None);
        };
        Script::compile(text, lang, settings.get("params")).map(Some)
    }

    /// Returns the texts of settings that are scripts or their names.
    pub(crate) fn texts(settings: &Value) -> impl Iterator<Item = &str> {
        let keys = KEYS.iter().filter(|key| **key != "lang");
        keys.filter_map(|key| settings.get(*key)).flat_map(texts)
    }

    /// Returns the name of a setting that is neither one of a script nor one of `known`.
    pub(crate) fn unknown<'a>(settings: &'a Value, known: &[&str]) -> Option<&'a str> {
        let mut settings = settings.as_object().into_iter().flatten();
        let is_unknown = |(key, value): &(&String, &Value)| match (key.as_str(), value) {
            ("params", Value::Object(_)) | (_, Value::Null) => false,
            (key, Value::Array(items)) if KEYS.contains(&key) => !items.iter().all(Value::is_string),
            (key, value) if KEYS.contains(&key) => !value.is_string(),
            (key, _) => !known.contains(&key),
        };
        settings.find(is_unknown).map(|(key, _)| key.as_str())
    }

    fn compile(text: &str, lang: &str, params: Option<&Value>) -> Result<Script> {
        match lang {
            "expression" => {}
            DEFAULT_LANG => {
                let reason = "dynamic scripting for [groovy] disabled";
                return Err(SearchError::new(400, Exception::Script, reason));
            }
            "mustache" => return Err(SearchError::new(400, Exception::UnsupportedOperation, "")),
            "native" => return Err(SearchError::illegal(format!("Native script [{text}] not found"))),
            other => return Err(SearchError::illegal(format!("script_lang not supported [{other}]"))),
        }
        if text.len() > MAX_SCRIPT_BYTES {
            return Err(invalid(text, "the script is too long"));
        }
        let (root, variables) = parser::parse(text)?;
        Ok(Script {
            text: text.to_owned(),
            root: Arc::new(root),
            variables,
            params: params.and_then(Value::as_object).cloned(),
        })
    }

    /// Resolves the variables against a mapping.
    ///
    /// # Errors
    /// A variable that there is not, or that is not numeric.
    pub(crate) fn mapped(&self, mapping: &Mapping) -> Result<MappedScript> {
        let bindings = self.variables.iter().map(|name| self.binding(name, mapping));
        Ok(MappedScript {
            bindings: bindings.collect::<Result<_>>()?,
            script: self.clone(),
        })
    }

    fn binding(&self, name: &str, mapping: &Mapping) -> Result<Binding<FieldOrdinal>> {
        match (name, self.params.as_ref().and_then(|params| params.get(name))) {
            ("_score", _) => return Ok(Binding::Score),
            ("_value", _) => return Ok(Binding::Value),
            (_, Some(value)) => {
                let number = value.as_number().and_then(|number| number.as_f64());
                let not_numeric = || failed(format!("Parameter [{name}] must be a numeric type"));
                return number.map(Binding::Number).ok_or_else(not_numeric);
            }
            _ => {}
        }
        let first = name.find(['.', '[']).unwrap_or(name.len());
        let (first, rest) = name.split_at(first);
        if first != "doc" {
            return Err(failed(format!("Unknown variable [{first}] in expression")));
        }
        let Some((field, member)) = rest.strip_prefix("['").and_then(|rest| rest.split_once("']")) else {
            return Err(failed(
                "Variable 'doc' in expression must be used with a specific field like: doc['myfield'].value".to_owned(),
            ));
        };
        let member = member.strip_prefix('.').unwrap_or("");
        if member.split(['.', '[']).next() != Some("value") {
            return Err(failed(
                "Invalid member for field data in expression.  Only '.value' is currently supported.".to_owned(),
            ));
        }
        let field = field.replace("\\'", "'").replace("\\\\", "\\");
        match (mapping.field(&field), mapping.field_data(&field)) {
            (Some(found), _) if found.field_type.kind.is_numeric() => {
                Ok(Binding::Field(found.ordinal, found.field_type.kind.is_floating()))
            }
            (None, Some(data)) if data.is_numeric() => Ok(Binding::Number(0.0)),
            (None, None) => Err(failed(format!(
                "Field [{field}] used in expression does not exist in mappings"
            ))),
            _ => Err(failed(format!("Field [{field}] used in expression must be numeric"))),
        }
    }
}

impl MappedScript {
    /// The text of the script.
    pub(crate) fn text(&self) -> &str {
        &self.script.text
    }

    /// Returns the parameters, if there are any, as Java prints them.
    pub(crate) fn shown_params(&self) -> Option<String> {
        let params = self.script.params.as_ref()?;
        Some(java_text(&object_in_hash_order(params.clone()).into()))
    }

    /// Returns the script and its parameters as an explanation shows them.
    pub(crate) fn shown(&self) -> String {
        let text = self.text();
        match self.shown_params() {
            Some(params) => format!("\"{text}\" and parameters: \n{params}"),
            // It lacks the closing quote.
            None => format!("\"{text}"),
        }
    }

    /// Fails for a script that reads the score, where there is none.
    pub(crate) fn without_score(self) -> Result<MappedScript> {
        if self.bindings.contains(&Binding::Score) {
            let reason = "Expressions referencing the score can only be used for sorting";
            return Err(SearchError::new(500, Exception::IllegalState, reason));
        }
        Ok(self)
    }

    /// Returns whether the script changes a value of an aggregation.
    pub(crate) fn reads_value(&self) -> bool {
        self.bindings.contains(&Binding::Value)
    }

    /// Loads the columns of a segment.
    pub(crate) fn of(&self, segment: &Segment) -> Result<SegmentScript> {
        let bindings = self.bindings.iter().map(|binding| {
            Ok(match binding {
                Binding::Score => Binding::Score,
                Binding::Value => Binding::Value,
                Binding::Number(number) => Binding::Number(*number),
                Binding::Field(ordinal, floating) => Binding::Field(segment.values(*ordinal)?, *floating),
            })
        });
        Ok(SegmentScript {
            root: self.script.root.clone(),
            bindings: bindings.collect::<Result<_>>()?,
        })
    }
}

/// Returns the text of a setting, or those of a list.
fn texts(value: &Value) -> impl DoubleEndedIterator<Item = &str> {
    let items = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    items.iter().filter_map(Value::as_str)
}

fn failed(reason: String) -> SearchError {
    SearchError::new(400, Exception::ExpressionScriptCompilation, reason)
}

/// Returns the error for a script that is not an expression, or that is too large.
fn invalid(text: &str, reason: &str) -> SearchError {
    failed(format!("Failed to parse expression: {text}")).caused_by(SearchError::new(
        400,
        Exception::JavaParse,
        format!(" {reason}"),
    ))
}

/// Returns the error `kind` of the lexer or the parser.
fn unparsed(text: &str, kind: Exception, reason: &str) -> SearchError {
    invalid(text, reason).caused_by(SearchError::new(400, kind, ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::Configuration;
    use rstest::rstest;
    use serde_json::json;

    fn parse(text: &str) -> Result<Script> {
        let settings = json!({"script": text, "lang": "expression", "params": {"factor": 2}});
        Ok(Script::parse(&settings)?.unwrap())
    }

    fn mapping() -> Mapping {
        Mapping::new(Configuration::default(), 100).unwrap()
    }

    /// Evaluates a script without fields for a document with a score of 1.5.
    fn evaluate(text: &str) -> f64 {
        let mapped = parse(text).unwrap().mapped(&mapping()).unwrap();
        let bindings = mapped.bindings.iter().map(|binding| match binding {
            Binding::Score => Binding::Score,
            Binding::Number(number) => Binding::Number(*number),
            _ => Binding::Value,
        });
        let script = SegmentScript {
            bindings: bindings.collect(),
            root: mapped.script.root,
        };
        script.scored(0, 1.5)
    }

    #[rstest]
    #[case("1 + 2 * 3", 7.0)]
    #[case("(1 + 2) * -3", -9.0)]
    #[case("7 % 4 / 2", 1.5)]
    #[case("pow(2, 10) + sqrt(16) - ln(exp(1))", 1027.0)]
    #[case("max(1, 2) > 1 && !0 ? 0x10 : 1e3", 16.0)]
    #[case("1 < 2 == 1", 1.0)]
    #[case("5 & 3 | 8 ^ 1", 9.0)]
    #[case("_score * factor", 3.0)]
    #[case("_value + 017", 15.0)]
    // Conditions are 32-bit integers.
    #[case("0.5 ? 1 : 2", 2.0)]
    #[case("!0.5", 1.0)]
    #[case("3000000000 ? 1 : 2", 1.0)]
    #[case("4294967296 | 0 ? 1 : 2", 2.0)]
    // Operands of bits are 64-bit integers.
    #[case("~1.7", -2.0)]
    #[case("7 & 3.9", 3.0)]
    #[case("-1 >>> 60", 15.0)]
    #[case("- - 2", 2.0)]
    #[case("logn(2, 8)", 3.0)]
    fn an_expression_is_evaluated(#[case] text: &str, #[case] expected: f64) {
        assert_eq!(evaluate(text), expected);
    }

    #[rstest]
    #[case("1 +", "unexpected end of expression.]; nested: NoViableAltException")]
    #[case(
        "1 ? 2",
        "unexpected token end of expression at position (5).]; nested: MismatchedTokenException"
    )]
    #[case("1 2", "extraneous decimal '2' at position (2).]; nested: UnwantedTokenException")]
    #[case("1\n2", "extraneous decimal '2' at position (0).]; nested: UnwantedTokenException")]
    #[case("1 2 3", "missing decimal '2' at position (2).]; nested: MissingTokenException")]
    #[case("(1 2)", "extraneous decimal '2' at position (3).]; nested: UnwantedTokenException")]
    #[case("max((1,2)", "missing ',' at position (6).]; nested: MissingTokenException")]
    #[case(
        "abs(*",
        "missing multiplication '*' at position (4).]; nested: MissingTokenException"
    )]
    #[case("1 ? (2 : 3", "missing ':' at position (7).]; nested: MissingTokenException")]
    #[case("(1 ? 2 3", "missing decimal '3' at position (7).]; nested: MissingTokenException")]
    #[case(
        "new Foo()",
        "invalid sequence of tokens near 'Foo' at position (4).]; nested: NoViableAltException"
    )]
    #[case(
        "1 <> 2",
        "invalid sequence of tokens near greater than '>' at position (3).]; nested: NoViableAltException"
    )]
    #[case("1 2 @", "unexpected character '@' at position (4).]; nested: NoViableAltException")]
    #[case(
        "a = 1",
        "unexpected character ' ' at position (3).]; nested: MismatchedTokenException"
    )]
    #[case("a.5", "unexpected character '5' at position (2).]; nested: MismatchedSetException")]
    #[case(
        "a[01]",
        "unexpected character '1' at position (3).]; nested: MismatchedTokenException"
    )]
    #[case("doc[n]", "unexpected character 'n' at position (4).]; nested: NoViableAltException")]
    #[case(
        "doc['n]",
        "unexpected character '\u{ffff}' at position (7).]; nested: MismatchedTokenException"
    )]
    #[case("0xg", "unexpected character 'g' at position (2).]; nested: EarlyExitException")]
    fn what_is_no_expression_is_told(#[case] text: &str, #[case] expected: &str) {
        let expected = format!(
            "ExpressionScriptCompilationException[Failed to parse expression: {text}]; nested: ParseException[ {expected}; "
        );
        assert_eq!(parse(text).unwrap_err().to_string(), expected);
    }

    #[rstest]
    #[case("foo(bar(1))", "Unrecognized method call (foo).")]
    #[case("abs(foo(1), 2)", "Expected (1) arguments for method call (abs), but found (2).")]
    fn calls_are_checked_from_outside_to_inside(#[case] text: &str, #[case] expected: &str) {
        let error = parse(text).unwrap_err();
        assert_eq!(
            (error.kind, error.reason.as_str()),
            (Exception::IllegalArgument, expected)
        );
    }

    #[rstest]
    #[case("a.b", "Unknown variable [a] in expression")]
    #[case(
        "doc.n.value",
        "Variable 'doc' in expression must be used with a specific field like: doc['myfield'].value"
    )]
    #[case(
        "doc['n']",
        "Invalid member for field data in expression.  Only '.value' is currently supported."
    )]
    #[case("doc['n'].value + nope", "Field [n] used in expression does not exist in mappings")]
    #[case("doc[\"_id\"].value", "Field [_id] used in expression must be numeric")]
    fn variables_are_resolved_in_order(#[case] text: &str, #[case] expected: &str) {
        let error = parse(text).unwrap().mapped(&mapping()).unwrap_err();
        assert_eq!(error.reason, expected);
    }

    #[rstest]
    #[case(json!({"script": "1"}), "ScriptException[dynamic scripting for [groovy] disabled]")]
    #[case(json!({"script": "1", "lang": "mustache"}), "UnsupportedOperationException")]
    #[case(
        json!({"script": "f", "lang": "native"}),
        "ElasticsearchIllegalArgumentException[Native script [f] not found]"
    )]
    #[case(
        json!({"script": "1", "lang": "js"}),
        "ElasticsearchIllegalArgumentException[script_lang not supported [js]]"
    )]
    #[case(
        json!({"file": "f", "lang": "expression"}),
        "ElasticsearchIllegalArgumentException[Unable to find on disk script f]"
    )]
    #[case(json!({"script_id": "s", "lang": "expression"}), "IndexMissingException[[.scripts] missing]")]
    fn other_scripts_are_rejected(#[case] settings: Value, #[case] expected: &str) {
        assert_eq!(Script::parse(&settings).unwrap_err().to_string(), expected);
    }

    #[test]
    fn deep_nesting_is_rejected() {
        let deep = format!("{}1{}", "(".repeat(1_000), ")".repeat(1_000));
        assert!(parse(&deep).is_err());
        assert!(parse(&"-".repeat(1_000)).is_err());
    }

    #[test]
    fn a_variable_is_resolved_once() {
        let text = "doc['a.b'].value + doc[\"c\"].value + doc['a.b'].value";
        assert_eq!(parse(text).unwrap().variables, ["doc['a.b'].value", "doc['c'].value"]);
    }
}
