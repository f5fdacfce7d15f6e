//! Scorers that change the scores of another scorer: `function_score` and `boosting`.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::budget::Budget;
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::index::{Segment, SegmentView, Values};
use crate::json::java_number;
use crate::mapping::unsortable;
use crate::murmur::hash_32;
use crate::query::{Decay, Function, FunctionSettings, GeoPoint, Origin, ScoreFunction};
use crate::score::Scorer;
use crate::script::SegmentScript;

/// A score function with the columns of one segment.
pub(super) struct SegmentFunction {
    /// Documents to which the function applies. Outer `None`: all. Inner `None`: none.
    pub(super) filter: Option<Option<Box<dyn Scorer>>>,
    pub(super) weight: f32,
    pub(super) function: Function,
    pub(super) values: Option<Arc<Values>>,
    pub(super) script: Option<SegmentScript>,
    /// Segment, for the types and ids from which random scores are derived.
    pub(super) segment: Arc<Segment>,
    /// Slot in which a failure is reported.
    pub(super) failure: Arc<Mutex<Option<SearchError>>>,
}

impl SegmentFunction {
    /// Loads the columns that a function reads. `filter` is as in [`SegmentFunction::filter`].
    pub(super) fn new(
        filter: Option<Option<Box<dyn Scorer>>>,
        function: &ScoreFunction,
        view: &SegmentView,
        budget: &Budget,
    ) -> Result<SegmentFunction> {
        let field = match &function.function {
            Function::FieldValue { field, .. } | Function::Decay { field, .. } => field.ordinal,
            _ => None,
        };
        let script = match &function.function {
            Function::Script(script) => Some(script.of(&view.segment)?),
            _ => None,
        };
        Ok(SegmentFunction {
            script,
            filter,
            weight: function.weight_factor(),
            function: function.function.clone(),
            values: field.map(|ordinal| view.segment.values(ordinal)).transpose()?,
            segment: view.segment.clone(),
            failure: budget.failure().clone(),
        })
    }

    /// Encoded values of a document in the function's field, in ascending order.
    fn encoded(&self, doc: u32) -> &[i64] {
        self.values.as_ref().map_or(&[], |values| values.of(doc))
    }

    /// Numbers of a document in the function's field.
    pub(super) fn numbers(&self, doc: u32, floating: bool) -> impl Iterator<Item = f64> {
        let decode = move |encoded| if floating { unsortable(encoded) } else { encoded as f64 };
        self.encoded(doc).iter().copied().map(decode)
    }

    /// Points of a document in the function's field.
    pub(super) fn points(&self, doc: u32) -> impl Iterator<Item = GeoPoint> {
        self.encoded(doc).iter().map(|encoded| GeoPoint::decode(*encoded))
    }

    /// Reports a failure. Only the first one is kept.
    fn fail(&self, reason: String) -> f64 {
        let error = SearchError::new(500, Exception::Elasticsearch, reason);
        self.failure.lock().get_or_insert(error);
        0.0
    }

    /// Computes the value for a document. Returns `None` if the function does not apply to it.
    fn value(&mut self, doc: u32, score: f32) -> Option<f64> {
        self.without_weight(doc, score)
            .map(|value| value * f64::from(self.weight))
    }

    /// Computes as [`SegmentFunction::value`] does, but without the weight.
    pub(super) fn without_weight(&mut self, doc: u32, score: f32) -> Option<f64> {
        match &mut self.filter {
            None => {}
            Some(None) => return None,
            Some(Some(filter)) => (filter.seek(doc) == doc).then_some(())?,
        }
        let number = |floating: bool| self.numbers(doc, floating).next();
        let value = match &self.function {
            Function::One => 1.0,
            Function::Boost(factor) => f64::from(*factor),
            Function::Script(_) => self.script.as_ref().map_or(0.0, |script| script.scored(doc, score)),
            Function::FieldValue {
                field,
                floating,
                factor,
                modifier,
            } => match number(*floating).map(|number| number * f64::from(*factor)) {
                None => self.fail(format!("Missing value for field [{}]", field.name)),
                Some(number) => {
                    let result = modifier.apply(number);
                    if result.is_finite() {
                        result
                    } else {
                        let value = java_number(number);
                        self.fail(format!(
                            "Result of field modification [{}({value})] must be a number",
                            modifier.name()
                        ))
                    }
                }
            },
            Function::Decay {
                floating,
                shape,
                origin,
                offset,
                mode,
                scale,
                ..
            } => {
                let beyond = |distance: f64| (distance - offset).max(0.0);
                // Points count in metres.
                let distance = match origin {
                    Origin::Number(origin) => {
                        let distances = self.numbers(doc, *floating).map(|number| (number - origin).abs());
                        mode.select(distances.map(beyond))
                    }
                    Origin::Point(origin) => mode.select(self.points(doc).map(|point| beyond(origin.distance(point)))),
                };
                let distance = distance.unwrap_or(0.0);
                match shape {
                    Decay::Gauss => (0.5 * distance * distance / scale).exp(),
                    Decay::Exp => (scale * distance).exp(),
                    Decay::Linear => ((scale - distance) / scale).max(0.0),
                }
            }
            Function::Random { seed, salt } => match self.segment.stored(doc) {
                Ok(stored) => random(*seed ^ *salt, &format!("{}#{}", stored.type_name(), stored.id())),
                Err(_) => 0.0,
            },
        };
        Some(value)
    }
}

/// Returns a number from 0 to 1: 24 bits of the MurmurHash3 of a document's type and id.
fn random(seed: u32, uid: &str) -> f64 {
    let hash = hash_32(seed, uid.as_bytes());
    f64::from(hash & 0x00ff_ffff) / f64::from(1u32 << 24)
}

/// Scorer of `function_score`.
pub(super) struct FunctionScorer {
    pub(super) inner: Box<dyn Scorer>,
    pub(super) functions: Vec<SegmentFunction>,
    pub(super) settings: FunctionSettings,
    pub(super) boost: f32,
}

impl FunctionScorer {
    pub(super) fn new(
        inner: Box<dyn Scorer>,
        functions: Vec<SegmentFunction>,
        settings: FunctionSettings,
        boost: f32,
    ) -> FunctionScorer {
        let mut scorer = FunctionScorer {
            inner,
            functions,
            settings,
            boost,
        };
        scorer.skip_low_scores();
        scorer
    }

    fn value(&mut self) -> f32 {
        let doc = self.inner.doc();
        let score = self.inner.score();
        if self.functions.is_empty() {
            return self.boost * score;
        }
        let values = self
            .functions
            .iter_mut()
            .filter_map(|function| function.value(doc, score).map(|value| (value, function.weight)));
        let values: Vec<(f64, f32)> = match self.settings.score_mode.as_str() {
            // The others are not computed, and cannot fail.
            "first" => values.take(1).collect(),
            _ => values.collect(),
        };
        // One function without a filter has no score mode.
        let factor = match (self.functions.as_slice(), values.as_slice()) {
            ([SegmentFunction { filter: None, .. }], [(value, _)]) => *value,
            _ => self.settings.combine(&values),
        };
        self.boost * self.settings.score(score, factor)
    }

    /// Skips documents that score below `min_score`. One that a function fails on is not skipped: only if it matches
    /// the whole query, its failure counts.
    fn skip_low_scores(&mut self) -> u32 {
        if let Some(min_score) = self.settings.min_score {
            while self.inner.doc() != crate::score::END && self.value() < min_score && !self.has_failed() {
                self.inner.advance();
            }
        }
        self.inner.doc()
    }

    /// Takes back the failure of a function, and returns whether there was one.
    fn has_failed(&self) -> bool {
        let first = self.functions.first();
        first.is_some_and(|function| function.failure.lock().take().is_some())
    }
}

impl Scorer for FunctionScorer {
    fn doc(&self) -> u32 {
        self.inner.doc()
    }

    fn advance(&mut self) -> u32 {
        self.inner.advance();
        self.skip_low_scores()
    }

    fn seek(&mut self, target: u32) -> u32 {
        self.inner.seek(target);
        self.skip_low_scores()
    }

    fn score(&mut self) -> f32 {
        self.value()
    }
}

/// Scorer of `boosting`: adds the score of `negative`, which has no boost, and multiplies the sum by `factor`.
pub(super) struct BoostingScorer {
    pub(super) positive: Box<dyn Scorer>,
    pub(super) negative: Option<Box<dyn Scorer>>,
    pub(super) factor: f32,
}

impl Scorer for BoostingScorer {
    fn doc(&self) -> u32 {
        self.positive.doc()
    }

    fn advance(&mut self) -> u32 {
        self.positive.advance()
    }

    fn seek(&mut self, target: u32) -> u32 {
        self.positive.seek(target)
    }

    fn score(&mut self) -> f32 {
        let doc = self.positive.doc();
        let score = self.positive.score();
        let negative = self.negative.as_mut();
        let lowering = negative.and_then(|negative| (negative.seek(doc) == doc).then(|| negative.score()));
        lowering.map_or(score, |lowering| (score + lowering) * self.factor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_random_score_equals_that_of_elasticsearch() {
        // Recorded with index `feat`, shard 0, seed 1.
        let seed = 1 ^ 3_138_866 << 10;
        assert_eq!(random(seed, "doc#4") as f32, 0.928_293_94);
        assert_eq!(random(seed, "doc#6") as f32, 0.161_765_87);
    }
}
