//! Heuristics of `significant_terms`: scores of terms that are more frequent in the matches than in the background.
//!
//! Source: Elasticsearch 1.5's JLH, mutual information, chi square, Google normalized distance and percentage scores.

use serde_json::Value;

use crate::error::{Result, SearchError};
use crate::mapping::truth;

/// Document counts of a term: of the matches (`own`) and of the background (`all`), with the sizes of both sets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frequencies {
    pub(super) own: u64,
    pub(super) own_total: u64,
    pub(super) all: u64,
    pub(super) all_total: u64,
}

/// Settings of a heuristic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Background {
    /// Whether terms that are rarer in the matches than in the background get a score.
    negatives: bool,
    /// Whether the background includes the matches.
    superset: bool,
}

/// Scoring function of terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heuristic {
    Jlh,
    MutualInformation(Background),
    ChiSquare(Background),
    Distance(Background),
    Percentage,
}

/// Contingency table of documents: the first digit is 1 if they have the term, the second is 1 if they match.
struct ContingencyTable {
    n00: f64,
    n01: f64,
    n10: f64,
    n11: f64,
    without_term: f64,
    with_term: f64,
    outside: f64,
    inside: f64,
    total: f64,
}

impl Frequencies {
    /// Returns the table of documents.
    ///
    /// # Errors
    /// A background that should include the matches, but does not.
    fn contingency_table(self, background: Background) -> Result<ContingencyTable> {
        if background.superset {
            let exceeded = if self.own > self.all {
                Some("subsetFreq > supersetFreq")
            } else if self.own_total > self.all_total {
                Some("subsetSize > supersetSize")
            } else if self.all - self.own > self.all_total - self.own_total {
                Some("supersetFreq - subsetFreq > supersetSize - subsetSize")
            } else {
                None
            };
            if let Some(exceeded) = exceeded {
                return Err(SearchError::illegal(format!(
                    "{exceeded}, does your background filter not include all documents in the bucket? If so and it is \
                     intentional, set \"background_is_superset\": false"
                )));
            }
        }
        let [own, own_total, all, all_total] =
            [self.own, self.own_total, self.all, self.all_total].map(|count| count as f64);
        Ok(if background.superset {
            ContingencyTable {
                n00: all_total - all - (own_total - own),
                n01: own_total - own,
                n10: all - own,
                n11: own,
                without_term: all_total - all,
                with_term: all,
                outside: all_total - own_total,
                inside: own_total,
                total: all_total,
            }
        } else {
            ContingencyTable {
                n00: all_total - all,
                n01: own_total - own,
                n10: all,
                n11: own,
                without_term: all_total - all + own_total - own,
                with_term: all + own,
                outside: all_total,
                inside: own_total,
                total: all_total + own_total,
            }
        })
    }
}

impl ContingencyTable {
    fn is_negative(&self) -> bool {
        self.n11 / self.inside < self.n10 / self.outside
    }
}

impl Heuristic {
    /// Parses the heuristic in the settings of an aggregation. Default: JLH.
    ///
    /// # Errors
    /// An unknown setting of the heuristic.
    pub(super) fn parse(settings: &Value) -> Result<Heuristic> {
        for name in ["mutual_information", "chi_square", "gnd", "percentage", "jlh"] {
            let Some(own) = settings.get(name) else { continue };
            let known: &[&str] = match name {
                "mutual_information" | "chi_square" => &["include_negatives", "background_is_superset"],
                "gnd" => &["background_is_superset"],
                _ => &[],
            };
            if let Some(key) = own
                .as_object()
                .and_then(|own| own.keys().find(|key| !known.contains(&key.as_str())))
            {
                return Err(SearchError::parse(match name {
                    "jlh" => format!("expected }}, got {key} instead in jhl score"),
                    _ => format!("Field {key} unknown for {name}"),
                }));
            }
            let background = Background {
                negatives: own.get("include_negatives").is_some_and(truth),
                superset: own.get("background_is_superset").is_none_or(truth),
            };
            return Ok(match name {
                "mutual_information" => Heuristic::MutualInformation(background),
                "chi_square" => Heuristic::ChiSquare(background),
                "gnd" => Heuristic::Distance(background),
                "percentage" => Heuristic::Percentage,
                _ => Heuristic::Jlh,
            });
        }
        Ok(Heuristic::Jlh)
    }

    /// Returns the score of a term. Only terms with a positive score are significant.
    ///
    /// # Errors
    /// Frequencies that contradict the settings.
    pub(super) fn score(self, of: Frequencies) -> Result<f64> {
        Ok(match self {
            Heuristic::Jlh => jlh(of),
            Heuristic::Percentage if of.all == 0 => 0.0,
            Heuristic::Percentage => of.own as f64 / of.all as f64,
            Heuristic::MutualInformation(background) => {
                let table = of.contingency_table(background)?;
                if !background.negatives && table.is_negative() {
                    return Ok(f64::NEG_INFINITY);
                }
                information(table.n11, table.with_term, table.inside, table.total)
                    + information(table.n01, table.without_term, table.inside, table.total)
                    + information(table.n10, table.with_term, table.outside, table.total)
                    + information(table.n00, table.without_term, table.outside, table.total)
            }
            Heuristic::ChiSquare(background) => {
                let table = of.contingency_table(background)?;
                if !background.negatives && table.is_negative() {
                    return Ok(f64::NEG_INFINITY);
                }
                let difference = table.n11 * table.n00 - table.n01 * table.n10;
                let sums = table.inside * table.with_term * table.without_term * table.outside;
                table.total * difference.powi(2) / sums
            }
            Heuristic::Distance(background) => {
                let table = of.contingency_table(background)?;
                if table.n11 == 0.0 {
                    return Ok(0.0);
                }
                let (term, inside) = (table.with_term, table.inside);
                if term == inside && term == table.n11 {
                    return Ok(1.0);
                }
                let distance =
                    (term.ln().max(inside.ln()) - table.n11.ln()) / (table.total.ln() - term.ln().min(inside.ln()));
                (-distance).exp()
            }
        })
    }
}

fn jlh(of: Frequencies) -> f64 {
    if of.own_total == 0 || of.all_total == 0 {
        return 0.0;
    }
    // A term that the background lacks counts as one that it has once.
    let all = of.all.max(1);
    let (share, background) = (of.own as f64 / of.own_total as f64, all as f64 / of.all_total as f64);
    if share <= background {
        0.0
    } else {
        (share - background) * (share / background)
    }
}

/// Returns one summand of the mutual information, in bits.
fn information(count: f64, row: f64, column: f64, total: f64) -> f64 {
    let (numerator, share) = ((total * count).abs(), (count / total).abs());
    if numerator < 1e-7 && share < 1e-7 {
        return 0.0;
    }
    share * (numerator / (row * column).abs()).log2()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    const OF: Frequencies = Frequencies {
        own: 3,
        own_total: 4,
        all: 5,
        all_total: 20,
    };

    #[rstest]
    #[case(json!({}), 1.5)]
    #[case(json!({"percentage": {}}), 0.6)]
    #[case(json!({"chi_square": {}}), 6.666_666_666_666_667)]
    #[case(json!({"gnd": {}}), 0.728)]
    #[case(json!({"mutual_information": {}}), 0.214_2)]
    fn heuristics_score_a_term_by_its_frequencies(#[case] settings: Value, #[case] expected: f64) {
        let score = Heuristic::parse(&settings).unwrap().score(OF).unwrap();
        assert!((score - expected).abs() < 1e-3, "{score}");
    }

    #[test]
    fn rarer_terms_score_only_with_include_negatives() {
        let rare = Frequencies { own: 0, ..OF };
        let score = |settings: Value| Heuristic::parse(&settings).unwrap().score(rare).unwrap();
        assert_eq!(score(json!({"chi_square": {}})), f64::NEG_INFINITY);
        assert!(score(json!({"chi_square": {"include_negatives": true}})) > 0.0);
        assert!(Heuristic::parse(&json!({"gnd": {"include_negatives": true}})).is_err());
    }
}
