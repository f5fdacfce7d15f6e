//! Score functions of `function_score`.
//!
//! Source: Elasticsearch 1.5's function score query.

use crate::query::{GeoPoint, MultiValueMode, Query, QueryField, QueryKind};
use crate::script::MappedScript;

/// `modifier` of `field_value_factor`: applied to the value of the field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Modifier {
    None,
    Log,
    Log1p,
    Log2p,
    Ln,
    Ln1p,
    Ln2p,
    Square,
    Sqrt,
    Reciprocal,
}

impl Modifier {
    pub(crate) fn parse(text: &str) -> Option<Modifier> {
        Some(match text.to_ascii_lowercase().as_str() {
            "none" => Modifier::None,
            "log" => Modifier::Log,
            "log1p" => Modifier::Log1p,
            "log2p" => Modifier::Log2p,
            "ln" => Modifier::Ln,
            "ln1p" => Modifier::Ln1p,
            "ln2p" => Modifier::Ln2p,
            "square" => Modifier::Square,
            "sqrt" => Modifier::Sqrt,
            "reciprocal" => Modifier::Reciprocal,
            _ => return None,
        })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Modifier::None => "none",
            Modifier::Log => "log",
            Modifier::Log1p => "log1p",
            Modifier::Log2p => "log2p",
            Modifier::Ln => "ln",
            Modifier::Ln1p => "ln1p",
            Modifier::Ln2p => "ln2p",
            Modifier::Square => "square",
            Modifier::Sqrt => "sqrt",
            Modifier::Reciprocal => "reciprocal",
        }
    }

    pub(crate) fn apply(self, value: f64) -> f64 {
        match self {
            Modifier::None => value,
            Modifier::Log => value.log10(),
            Modifier::Log1p => (value + 1.0).log10(),
            Modifier::Log2p => (value + 2.0).log10(),
            Modifier::Ln => value.ln(),
            Modifier::Ln1p => value.ln_1p(),
            Modifier::Ln2p => (value + 1.0).ln_1p(),
            Modifier::Square => value * value,
            Modifier::Sqrt => value.sqrt(),
            Modifier::Reciprocal => 1.0 / value,
        }
    }
}

/// Value from which the distance of a decay function counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Origin {
    Number(f64),
    Point(GeoPoint),
}

/// Shape of a decay function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decay {
    Gauss,
    Exp,
    Linear,
}

/// A score function.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Function {
    /// 1 for every document.
    One,
    /// `boost_factor`: the same number for every document. Unlike a weight, it is not a factor of another function.
    Boost(f32),
    Script(MappedScript),
    FieldValue {
        field: QueryField,
        floating: bool,
        factor: f32,
        modifier: Modifier,
    },
    Decay {
        field: QueryField,
        floating: bool,
        shape: Decay,
        origin: Origin,
        offset: f64,
        /// Which of the distances of several values counts.
        mode: MultiValueMode,
        /// Parameter of the shape, computed from scale and decay.
        scale: f64,
    },
    /// A number from 0 to 1, derived from the document's type and id.
    Random {
        seed: u32,
        /// Number of the index and the shard.
        salt: u32,
    },
}

/// A score function with its weight and the filter of its documents.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ScoreFunction {
    pub(crate) filter: Option<Query>,
    /// Default: 1.
    pub(crate) weight: Option<f32>,
    pub(crate) function: Function,
}

impl ScoreFunction {
    /// Creates a function without a weight.
    pub(crate) fn of(function: Function) -> ScoreFunction {
        ScoreFunction {
            filter: None,
            weight: None,
            function,
        }
    }

    /// Creates a constant factor.
    pub(crate) fn factor(weight: f32) -> ScoreFunction {
        ScoreFunction {
            weight: Some(weight),
            ..ScoreFunction::of(Function::One)
        }
    }

    pub(crate) fn weight_factor(&self) -> f32 {
        self.weight.unwrap_or(1.0)
    }
}

/// Combination of the values of several functions, and of the result with the score of the query.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FunctionSettings {
    pub(crate) score_mode: String,
    pub(crate) boost_mode: String,
    pub(crate) max_boost: f32,
    pub(crate) min_score: Option<f32>,
}

impl Default for FunctionSettings {
    fn default() -> FunctionSettings {
        FunctionSettings {
            score_mode: "multiply".to_owned(),
            boost_mode: "multiply".to_owned(),
            max_boost: f32::MAX,
            min_score: None,
        }
    }
}

impl FunctionSettings {
    /// Combines the values of all functions that apply. Returns 1 if none does.
    pub(crate) fn combine(&self, values: &[(f64, f32)]) -> f64 {
        let all = || values.iter().map(|(value, _)| *value);
        if values.is_empty() {
            return 1.0;
        }
        let weights: f64 = values.iter().map(|(_, weight)| f64::from(*weight)).sum();
        match self.score_mode.as_str() {
            "sum" | "avg" if weights == 0.0 => 1.0,
            "first" => all().next().unwrap_or(1.0),
            "max" => all().fold(f64::NEG_INFINITY, f64::max),
            "min" => all().fold(f64::INFINITY, f64::min),
            "sum" => all().sum(),
            "avg" => all().sum::<f64>() / weights,
            _ => all().product(),
        }
    }

    /// Combines the score of the query with the value of the functions.
    pub(crate) fn score(&self, score: f32, value: f64) -> f32 {
        let factor = value.min(f64::from(self.max_boost));
        let score = f64::from(score);
        (match self.boost_mode.as_str() {
            "replace" => factor,
            "sum" => score + factor,
            "avg" => (score + factor) / 2.0,
            "max" => score.max(factor),
            "min" => score.min(factor),
            _ => score * factor,
        }) as f32
    }
}

impl QueryKind {
    /// Creates a query whose scores are multiplied by functions.
    pub(crate) fn functions(query: Query, functions: Vec<ScoreFunction>) -> QueryKind {
        QueryKind::Functions {
            query: Box::new(query),
            functions,
            settings: FunctionSettings::default(),
        }
    }
}
