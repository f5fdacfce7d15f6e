//! Similarities: how scores depend on the frequencies of terms and the lengths of fields.
//!
//! Source: Elasticsearch 1.5's similarity module.

use std::collections::BTreeMap;

use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::json::is_set;

/// A similarity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Similarity {
    pub(crate) model: Model,
    /// Whether terms at the position of the term before, such as synonyms, do not count for the length of a field.
    pub(crate) discounts_overlaps: bool,
}

/// The model of a similarity, with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Model {
    /// TF-IDF with coordination factors and query norms: `default`.
    Classic,
    Bm25 {
        k1: f32,
        b: f32,
    },
    /// Divergence from randomness: `DFR`.
    Divergence {
        basic: BasicModel,
        effect: AfterEffect,
        normalization: Normalization,
    },
    /// Information based: `IB`.
    Information {
        distribution: Distribution,
        lambda: Lambda,
        normalization: Normalization,
    },
    /// `LMDirichlet`.
    Dirichlet {
        mu: f32,
    },
    /// `LMJelinekMercer`.
    JelinekMercer {
        lambda: f32,
    },
}

/// Basic model of randomness.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum BasicModel {
    BoseEinstein,
    Divergence,
    Geometric,
    InverseFrequency,
    InverseDocumentFrequency,
    ExpectedInverseDocumentFrequency,
    Poisson,
}

/// Normalization of the information gain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum AfterEffect {
    Bernoulli,
    Laplace,
    None,
}

/// Normalization of a frequency by the length of the field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Normalization {
    None,
    /// Uniform distribution of the frequency.
    H1,
    /// The frequency is inversely proportional to the length.
    H2 {
        c: f32,
    },
    /// Dirichlet priors.
    H3 {
        mu: f32,
    },
    /// Pareto-Zipf.
    Z {
        z: f32,
    },
}

/// Probabilistic distribution of the frequencies of a term.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Distribution {
    LogLogistic,
    SmoothedPowerLaw,
}

/// Parameter of the distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Lambda {
    DocumentFrequency,
    TotalFrequency,
}

impl Default for Similarity {
    fn default() -> Similarity {
        Similarity {
            model: Model::Classic,
            discounts_overlaps: true,
        }
    }
}

/// `BM25` with its default parameters.
const BM25: Similarity = Similarity {
    model: Model::Bm25 { k1: 1.2, b: 0.75 },
    discounts_overlaps: true,
};

/// Settings of a similarity, by name.
type Settings<'a> = BTreeMap<&'a str, &'a str>;

/// Returns a setting that is a number.
fn float(settings: &Settings<'_>, key: &str, default: f32) -> Result<f32> {
    let Some(text) = settings.get(key) else {
        return Ok(default);
    };
    text.trim().parse().map_err(|_| {
        let reason = format!("Failed to parse float setting [{key}] with value [{text}]");
        let cause = match text.is_empty() {
            true => SearchError::new(500, Exception::NumberFormat, "empty String"),
            false => SearchError::number(text),
        };
        SearchError::new(500, Exception::Settings, reason).caused_by(cause)
    })
}

/// Returns the choice that a setting names.
fn chosen<T>(settings: &Settings<'_>, key: &str, what: &str, choices: impl Fn(&str) -> Option<T>) -> Result<T> {
    let name = settings.get(key).copied();
    name.and_then(choices)
        .ok_or_else(|| SearchError::illegal(format!("Unsupported {what} [{}]", name.unwrap_or("null"))))
}

fn normalization(settings: &Settings<'_>) -> Result<Normalization> {
    let fixed = chosen(settings, "normalization", "Normalization", |name| {
        Some(match name {
            "no" => Normalization::None,
            "h1" => Normalization::H1,
            "h2" => Normalization::H2 { c: 1.0 },
            "h3" => Normalization::H3 { mu: 800.0 },
            "z" => Normalization::Z { z: 0.3 },
            _ => return None,
        })
    })?;
    Ok(match fixed {
        Normalization::None => Normalization::None,
        Normalization::H1 => float(settings, "normalization.h1.c", 1.0).map(|_| Normalization::H1)?,
        Normalization::H2 { c } => Normalization::H2 {
            c: float(settings, "normalization.h2.c", c)?,
        },
        Normalization::H3 { mu } => Normalization::H3 {
            mu: float(settings, "normalization.h3.c", mu)?,
        },
        Normalization::Z { z } => Normalization::Z {
            z: float(settings, "normalization.z.z", z)?,
        },
    })
}

/// Returns the name of a similarity type without the parts that a class name adds.
fn short_type(name: &str) -> &str {
    let class = name.strip_prefix("org.elasticsearch.index.similarity.").unwrap_or(name);
    class.strip_suffix("SimilarityProvider").unwrap_or(class)
}

/// Returns the error for a similarity type that does not exist.
fn unknown_type(name: &str) -> SearchError {
    // The name in camel case, which begins with a capital letter.
    let words = name.split('_').map(|word| {
        let mut letters = word.chars();
        let first = letters.next().into_iter().flat_map(char::to_uppercase);
        first.chain(letters.clone()).collect::<String>()
    });
    let class: String = words.collect();
    let class = format!(
        "org.elasticsearch.index.similarity.{}.{class}SimilarityProvider",
        class.to_lowercase()
    );
    let reason = format!("Failed to load class setting [type] with value [{name}]");
    SearchError::new(500, Exception::NoClassSettings, reason).caused_by(SearchError::new(
        500,
        Exception::ClassNotFound,
        class,
    ))
}

impl Similarity {
    /// Parses the settings of a similarity.
    fn parse(name: &str, settings: &Settings<'_>) -> Result<Similarity> {
        let missing = || SearchError::illegal(format!("SimilarityProvider [{name}] must have an associated type"));
        let kind = settings.get("type").copied().ok_or_else(missing)?;
        let model = match short_type(kind) {
            "default" | "Default" => Model::Classic,
            "BM25" => Model::Bm25 {
                k1: float(settings, "k1", 1.2)?,
                b: float(settings, "b", 0.75)?,
            },
            "DFR" => Model::Divergence {
                basic: chosen(settings, "basic_model", "BasicModel", |name| {
                    Some(match name {
                        "be" => BasicModel::BoseEinstein,
                        "d" => BasicModel::Divergence,
                        "g" => BasicModel::Geometric,
                        "if" => BasicModel::InverseFrequency,
                        "in" => BasicModel::InverseDocumentFrequency,
                        "ine" => BasicModel::ExpectedInverseDocumentFrequency,
                        "p" => BasicModel::Poisson,
                        _ => return None,
                    })
                })?,
                effect: chosen(settings, "after_effect", "AfterEffect", |name| {
                    Some(match name {
                        "b" => AfterEffect::Bernoulli,
                        "l" => AfterEffect::Laplace,
                        "no" => AfterEffect::None,
                        _ => return None,
                    })
                })?,
                normalization: normalization(settings)?,
            },
            "IB" => Model::Information {
                distribution: chosen(settings, "distribution", "Distribution", |name| {
                    Some(match name {
                        "ll" => Distribution::LogLogistic,
                        "spl" => Distribution::SmoothedPowerLaw,
                        _ => return None,
                    })
                })?,
                lambda: chosen(settings, "lambda", "Lambda", |name| {
                    Some(match name {
                        "df" => Lambda::DocumentFrequency,
                        "ttf" => Lambda::TotalFrequency,
                        _ => return None,
                    })
                })?,
                normalization: normalization(settings)?,
            },
            "LMDirichlet" => Model::Dirichlet {
                mu: float(settings, "mu", 2_000.0)?,
            },
            "LMJelinekMercer" => Model::JelinekMercer {
                lambda: float(settings, "lambda", 0.1)?,
            },
            _ => return Err(unknown_type(kind)),
        };
        // The other models ignore the setting.
        let is_read = matches!(model, Model::Classic | Model::Bm25 { .. });
        let discounts = settings.get("discount_overlaps").filter(|_| is_read);
        Ok(Similarity {
            model,
            discounts_overlaps: discounts.is_none_or(|text| is_set(text)),
        })
    }

    /// Whether queries have coordination factors and norms.
    pub(crate) fn is_classic(self) -> bool {
        self.model == Model::Classic
    }
}

/// The similarities of an index.
#[derive(Clone, Debug, Default)]
pub(crate) struct Similarities {
    own: BTreeMap<String, Similarity>,
}

impl Similarities {
    /// Parses the `similarity` settings of an index, by `name.setting`.
    ///
    /// # Errors
    /// An unknown type, or a setting that is not valid.
    pub(crate) fn parse<'a>(settings: impl Iterator<Item = (&'a str, &'a str)>) -> Result<Similarities> {
        let mut groups: BTreeMap<&str, Settings<'_>> = BTreeMap::new();
        for (key, value) in settings {
            let Some((name, key)) = key.split_once('.') else {
                let reason = format!(
                    "Failed to get setting group for [index.similarity.] setting prefix and setting \
                     [index.similarity.{key}] because of a missing '.'"
                );
                return Err(SearchError::new(500, Exception::Settings, reason));
            };
            groups.entry(name).or_default().insert(key, value);
        }
        let own = groups
            .into_iter()
            .map(|(name, settings)| Ok((name.to_owned(), Similarity::parse(name, &settings)?)))
            .collect::<Result<_>>()?;
        Ok(Similarities { own })
    }

    /// Returns a similarity by its name.
    pub(crate) fn named(&self, name: &str) -> Option<Similarity> {
        let built_in = || match name {
            "default" => Some(Similarity::default()),
            "BM25" => Some(BM25),
            _ => None,
        };
        self.own.get(name).copied().or_else(built_in)
    }

    /// The similarity of fields that name none.
    pub(crate) fn unnamed(&self) -> Similarity {
        self.named("default").unwrap_or_default()
    }

    /// The similarity that decides whether queries have coordination factors and norms.
    pub(crate) fn base(&self) -> Similarity {
        self.own.get("base").copied().unwrap_or_else(|| self.unnamed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn parse(settings: &[(&'static str, &'static str)]) -> Result<Similarities> {
        Similarities::parse(settings.iter().copied())
    }

    #[rstest]
    #[case(&[("x.k1", "1")], 400, "SimilarityProvider [x] must have an associated type")]
    #[case(&[("x.type", "nope")], 500, "[org.elasticsearch.index.similarity.nope.NopeSimilarityProvider]")]
    #[case(&[("x.type", "BM25"), ("x.k1", "abc")], 500, "NumberFormatException[For input string: \"abc\"]")]
    #[case(&[("x.type", "BM25"), ("x.b", "")], 500, "NumberFormatException[empty String]")]
    #[case(&[("x.type", "DFR")], 400, "Unsupported BasicModel [null]")]
    #[case(&[("x.type", "DFR"), ("x.basic_model", "g"), ("x.after_effect", "q")], 400, "Unsupported AfterEffect [q]")]
    #[case(&[("x.type", "IB"), ("x.distribution", "ll"), ("x.lambda", "q")], 400, "Unsupported Lambda [q]")]
    #[case(&[("x", "BM25")], 500, "setting [index.similarity.x] because of a missing '.'")]
    fn invalid_settings_are_errors(
        #[case] settings: &[(&'static str, &'static str)],
        #[case] status: u16,
        #[case] reason: &str,
    ) {
        let error = parse(settings).unwrap_err();
        assert_eq!(error.status, status);
        assert!(error.to_string().contains(reason), "{error}");
    }

    #[test]
    fn settings_of_an_index_have_precedence_over_built_in_similarities() {
        let given: &[(&str, &str)] = &[
            ("default.type", "BM25"),
            ("BM25.type", "default"),
            ("BM25.discount_overlaps", "false"),
        ];
        let similarities = parse(given).unwrap();
        assert_eq!(similarities.unnamed(), BM25);
        assert_eq!(similarities.base(), BM25);
        let own = similarities.named("BM25").unwrap();
        assert!(own.is_classic() && !own.discounts_overlaps);
        assert!(Similarities::default().base().is_classic());
    }
}
