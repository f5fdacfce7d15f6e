//! Tree of an explanation.

use serde_json::{Value, json};

/// Node of an explanation: a value and its factors.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Explanation {
    pub(crate) value: f32,
    pub(crate) description: String,
    pub(crate) details: Vec<Explanation>,
    pub(crate) matched: bool,
}

impl Explanation {
    pub(crate) fn new(value: f32, description: impl Into<String>, details: Vec<Explanation>) -> Explanation {
        Explanation {
            value,
            description: description.into(),
            details,
            matched: true,
        }
    }

    pub(super) fn missed(description: impl Into<String>) -> Explanation {
        Explanation {
            value: 0.0,
            description: description.into(),
            details: vec![],
            matched: false,
        }
    }

    /// Renders the tree.
    pub(crate) fn json(&self) -> Value {
        let value = match self.value.is_nan() {
            true => json!("NaN"),
            false => crate::score::score_json(self.value),
        };
        let mut shown = json!({"value": value, "description": self.description});
        if !self.details.is_empty() {
            shown["details"] = self.details.iter().map(Explanation::json).collect();
        }
        shown
    }
}
