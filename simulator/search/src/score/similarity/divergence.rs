//! Components of the similarities by divergence from randomness and of the information based ones.
//!
//! Source: G. Amati and C. J. van Rijsbergen, "Probabilistic models of information retrieval based on measuring the
//! divergence from randomness"; S. Clinchant and E. Gaussier, "Information-based models for ad hoc IR"; names and
//! variants are those of Lucene 4.10.

use std::f64::consts::{E, LN_2, LOG2_E, PI};

use super::basic::BasicStatistics;
use crate::similarity::{AfterEffect, BasicModel, Distribution, Lambda, Normalization};

/// Binary logarithm, as the quotient of two natural ones.
fn log2(value: f64) -> f64 {
    value.ln() / LN_2
}

impl Normalization {
    /// Normalizes a frequency by the length of the field.
    pub(super) fn frequency(self, term: &BasicStatistics, frequency: f32, length: f32) -> f32 {
        match self {
            Normalization::None => frequency,
            Normalization::H1 => frequency * term.average_length / length,
            Normalization::H2 { c } => {
                let relative = f64::from(c * term.average_length / length);
                (f64::from(frequency) * log2(1.0 + relative)) as f32
            }
            Normalization::H3 { mu } => (frequency + mu * term.collection_probability()) / (length + mu) * mu,
            Normalization::Z { z } => {
                let relative = f64::from(term.average_length / length);
                (f64::from(frequency) * relative.powf(f64::from(z))) as f32
            }
        }
    }

    /// Name in explanations.
    pub(super) fn name(self) -> &'static str {
        match self {
            Normalization::None => "no normalization",
            Normalization::H1 => "NormalizationH1",
            Normalization::H2 { .. } => "NormalizationH2",
            Normalization::H3 { .. } => "NormalizationH3",
            Normalization::Z { .. } => "NormalizationZ",
        }
    }
}

impl BasicModel {
    /// Informative content of a normalized frequency.
    pub(super) fn score(self, term: &BasicStatistics, frequency: f32) -> f32 {
        let documents = f64::from(term.documents);
        let (total, tf) = (term.total as f64, f64::from(frequency));
        match self {
            BasicModel::BoseEinstein => {
                let occurrences = total + 1.0 + tf;
                let all = occurrences + documents;
                let stirling = |n: f64, m: f64| (m + 0.5) * log2(n / m) + (n - m) * log2(n);
                let score = -log2((all - 1.0) * E) + stirling(all + occurrences - 1.0, all + occurrences - tf - 2.0)
                    - stirling(occurrences, occurrences - tf);
                score as f32
            }
            BasicModel::Divergence => {
                let occurrences = total + 1.0 + tf;
                let share = tf / occurrences;
                let rest = 1.0 - share;
                let expected = 1.0 / (documents + 1.0);
                let divergence = share * log2(share / expected) + rest * log2(rest / (1.0 - expected));
                (divergence * occurrences + 0.5 * log2(1.0 + 2.0 * PI * tf * rest)) as f32
            }
            BasicModel::Geometric => {
                let occurrences = total + 1.0;
                let lambda = occurrences / (documents + occurrences);
                (log2(lambda + 1.0) + tf * log2((1.0 + lambda) / lambda)) as f32
            }
            BasicModel::InverseFrequency => frequency * log2(1.0 + (documents + 1.0) / (total + 0.5)) as f32,
            BasicModel::InverseDocumentFrequency => {
                frequency * log2((documents + 1.0) / (f64::from(term.doc_freq) + 0.5)) as f32
            }
            BasicModel::ExpectedInverseDocumentFrequency => {
                let expected = documents * (1.0 - ((documents - 1.0) / documents).powf(total));
                frequency * log2((documents + 1.0) / (expected + 0.5)) as f32
            }
            BasicModel::Poisson => {
                let lambda = (term.total + 1) as f32 / (term.documents + 1) as f32;
                let rest = f64::from(lambda + 1.0 / (12.0 * frequency) - frequency);
                (tf * log2(f64::from(frequency / lambda)) + rest * LOG2_E + 0.5 * log2(2.0 * PI * tf)) as f32
            }
        }
    }

    /// Name in explanations.
    pub(super) fn name(self) -> &'static str {
        match self {
            BasicModel::BoseEinstein => "BasicModelBE",
            BasicModel::Divergence => "BasicModelD",
            BasicModel::Geometric => "BasicModelG",
            BasicModel::InverseFrequency => "BasicModelIF",
            BasicModel::InverseDocumentFrequency => "BasicModelIn",
            BasicModel::ExpectedInverseDocumentFrequency => "BasicModelIne",
            BasicModel::Poisson => "BasicModelP",
        }
    }
}

impl AfterEffect {
    /// Gain of a normalized frequency.
    pub(super) fn score(self, term: &BasicStatistics, frequency: f32) -> f32 {
        match self {
            AfterEffect::Bernoulli => {
                (term.total + 2) as f32 / ((u64::from(term.doc_freq) + 1) as f32 * (frequency + 1.0))
            }
            AfterEffect::Laplace => 1.0 / (frequency + 1.0),
            AfterEffect::None => 1.0,
        }
    }

    /// Name in explanations.
    pub(super) fn name(self) -> &'static str {
        match self {
            AfterEffect::Bernoulli => "AfterEffectB",
            AfterEffect::Laplace => "AfterEffectL",
            AfterEffect::None => "no aftereffect",
        }
    }
}

impl Distribution {
    /// Informative content of a normalized frequency.
    pub(super) fn score(self, frequency: f32, lambda: f32) -> f32 {
        match self {
            Distribution::LogLogistic => -f64::from(lambda / (frequency + lambda)).ln() as f32,
            Distribution::SmoothedPowerLaw => {
                let lambda = if lambda == 1.0 { 0.99 } else { lambda };
                let power = f64::from(lambda).powf(f64::from(frequency / (frequency + 1.0)));
                -((power - f64::from(lambda)) / f64::from(1.0 - lambda)).ln() as f32
            }
        }
    }

    /// Name in explanations.
    pub(super) fn name(self) -> &'static str {
        match self {
            Distribution::LogLogistic => "DistributionLL",
            Distribution::SmoothedPowerLaw => "DistributionSPL",
        }
    }
}

impl Lambda {
    pub(super) fn value(self, term: &BasicStatistics) -> f32 {
        let documents = (u64::from(term.documents) + 1) as f32;
        match self {
            Lambda::DocumentFrequency => (u64::from(term.doc_freq) + 1) as f32 / documents,
            Lambda::TotalFrequency => (term.total + 1) as f32 / documents,
        }
    }

    /// Name in explanations.
    pub(super) fn name(self) -> &'static str {
        match self {
            Lambda::DocumentFrequency => "LambdaDF",
            Lambda::TotalFrequency => "LambdaTTF",
        }
    }
}
