//! Explanations of `function_score`.
//!
//! Source: the explanations of Elasticsearch 1.5's function score query.

use crate::json::java_number;
use crate::query::{Decay, Function, FunctionSettings, GeoPoint, Modifier, Origin, ScoreFunction, filter_label};
use crate::score::explanation::Explanation;
use crate::score::function::SegmentFunction;

/// Explains how functions change the score of a document. `own` explains the score of the query.
pub(super) fn explain_functions(
    own: Explanation,
    functions: Vec<(SegmentFunction, &ScoreFunction)>,
    settings: &FunctionSettings,
    boost: f32,
    doc: u32,
) -> Explanation {
    let alone = matches!(functions.as_slice(), [(_, only)] if only.filter.is_none());
    if functions.is_empty() {
        return own;
    }
    let (mut values, mut applied) = (Vec::new(), Vec::new());
    for (mut ready, function) in functions {
        let Some(value) = ready.without_weight(doc, own.value) else {
            continue;
        };
        let weight = function.weight_factor();
        values.push((value * f64::from(weight), weight));
        applied.push((function, weighted(&ready, function, value, &own, doc)));
    }
    let sub_total = match (alone, applied.pop()) {
        (_, None) => {
            let parts = vec![own.clone(), Explanation::new(boost, "queryBoost", vec![])];
            let what = "function score, no filter match, product of:";
            return Explanation::new(boost * own.value, what, parts);
        }
        (true, Some((_, only))) => only,
        (false, Some(last)) => {
            let filtered = applied.into_iter().chain([last]).map(|(function, explanation)| {
                let filter = function.filter.as_ref().map_or_else(|| "*:*".to_owned(), filter_label);
                let filter = Explanation::new(1.0, format!("match filter: {filter}"), vec![]);
                let value = explanation.value;
                Explanation::new(value, "function score, product of:", vec![filter, explanation])
            });
            let what = format!("function score, score mode [{}]", settings.score_mode);
            Explanation::new(settings.combine(&values) as f32, what, filtered.collect())
        }
    };
    combined(own, sub_total, settings, boost)
}

/// Explains the value of a function, which is without its weight, with the weight if it has one.
fn weighted(ready: &SegmentFunction, function: &ScoreFunction, value: f64, own: &Explanation, doc: u32) -> Explanation {
    let Some(factor) = function.weight else {
        return plain(ready, &function.function, value, own, doc);
    };
    let parts = vec![
        plain(ready, &function.function, value, own, doc),
        Explanation::new(factor, "weight", vec![]),
    ];
    Explanation::new((value * f64::from(factor)) as f32, "product of:", parts)
}

fn plain(ready: &SegmentFunction, function: &Function, value: f64, own: &Explanation, doc: u32) -> Explanation {
    let (what, details) = match function {
        Function::Boost(factor) => {
            let factor = Explanation::new(*factor, "boostFactor", vec![]);
            ("static boost factor".to_owned(), vec![factor])
        }
        Function::One => ("constant score 1.0 - no function provided".to_owned(), vec![]),
        Function::Script(script) => (
            format!("script score function, computed with script:{}", script.shown()),
            vec![Explanation::new(own.value, "_score: ", vec![own.clone()])],
        ),
        Function::FieldValue {
            field,
            factor,
            modifier,
            ..
        } => {
            let field = format!("doc['{}'].value * factor={}", field.name, java_number(*factor));
            let modifier = match modifier {
                Modifier::None => "",
                modifier => modifier.name(),
            };
            (format!("field value function: {modifier}({field})"), vec![])
        }
        Function::Random { seed, .. } => (format!("random score function (seed: {})", *seed as i32), vec![]),
        Function::Decay {
            field,
            floating,
            shape,
            origin,
            offset,
            mode,
            scale,
        } => {
            let (offset, mode) = (java_number(*offset), mode.name());
            let listed = |mut distances: Vec<String>| {
                distances.extend(distances.is_empty().then(|| "0.0".to_owned()));
                distances.join(", ")
            };
            let distance = match origin {
                Origin::Number(origin) => {
                    let distances = ready.numbers(doc, *floating).map(|number| {
                        let [number, origin] = [number, *origin].map(java_number);
                        format!("Math.max(Math.abs({number}(=doc value) - {origin}(=origin))) - {offset}(=offset), 0)")
                    });
                    format!("{mode}[{}]", listed(distances.collect()))
                }
                Origin::Point(origin) => {
                    let shown = |point: GeoPoint| format!("[{}, {}]", java_number(point.lat), java_number(point.lon));
                    let distances = ready.points(doc).map(|point| {
                        let (point, origin) = (shown(point), shown(*origin));
                        format!("Math.max(arcDistance({point}(=doc value),{origin}(=origin)) - {offset}(=offset), 0)")
                    });
                    format!("{mode} of: [{}]", listed(distances.collect()))
                }
            };
            let (scale, negated) = (java_number(*scale), java_number(-scale));
            let formula = match shape {
                Decay::Gauss => format!("exp(-0.5*pow({distance},2.0)/{negated})"),
                Decay::Exp => format!("exp(- {distance} * {negated})"),
                Decay::Linear => format!("max(0.0, (({scale} - {distance})/{scale})"),
            };
            let formula = Explanation::new(value as f32, formula, vec![]);
            (format!("Function for field {}:", field.name), vec![formula])
        }
    };
    Explanation::new(value as f32, what, details)
}

/// Explains the combination of the score of the query with the value of the functions.
fn combined(own: Explanation, functions: Explanation, settings: &FunctionSettings, boost: f32) -> Explanation {
    let score = settings.score(own.value, f64::from(functions.value));
    let limited_value = functions.value.min(settings.max_boost);
    let max_boost = Explanation::new(settings.max_boost, "maxBoost", vec![]);
    let limited = Explanation::new(limited_value, "Math.min of", vec![functions, max_boost]);
    let inner = match settings.boost_mode.as_str() {
        "replace" => vec![limited],
        mode @ ("sum" | "avg" | "max" | "min") => {
            vec![Explanation::new(score, format!("{mode} of"), vec![own, limited])]
        }
        _ => vec![own, limited],
    };
    let boosted = Explanation::new(boost, "queryBoost", vec![]);
    let details = inner.into_iter().chain([boosted]).collect();
    Explanation::new(boost * score, "function score, product of:", details)
}
