//! Queries whose clauses depend on document frequencies.
//!
//! Source: Elasticsearch 1.5's `XMoreLikeThis`; Lucene 4.10's `CommonTermsQuery` and `FuzzyLikeThisQuery`.

use serde_json::Value;

use crate::budget::Budget;
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::index::View;
use crate::query::dsl_parts::minimum;
use crate::query::expand::{similar_terms, terms_of};
use crate::query::text::too_many_clauses;
use crate::query::{Matcher, Occur, Query, QueryField, QueryKind};
use crate::score::idf;
use crate::ties::{best, in_hash_order};

/// Maximum number of variants per term of `fuzzy_like_this`.
const MAX_VARIANTS: usize = 50;

/// Scoring rewrite method of a multi-term query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rewrite {
    /// `constant_score_boolean`: all terms with the same score.
    Constant,
    /// `scoring_boolean`: every term is scored by its own frequency.
    Scoring,
    /// `top_terms_N`: the first N terms, each scored by its own frequency.
    Top(usize),
    /// `top_terms_boost_N`: the first N terms, all with the same score.
    TopBoost(usize),
}

/// Maximum number of terms of a multi-term query that is rewritten to clauses.
const MAX_CLAUSES: usize = 1_024;

/// Words with their frequencies, and the fields in which they are searched for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Words {
    pub(crate) fields: Vec<QueryField>,
    pub(crate) counts: Vec<(String, u32)>,
}

/// Settings of `more_like_this`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SimilarSettings {
    pub(crate) min_term_freq: u32,
    pub(crate) min_doc_freq: u32,
    pub(crate) max_doc_freq: u32,
    pub(crate) max_query_terms: usize,
    pub(crate) minimum_should_match: Value,
    /// Boost of the least characteristic term. 0: no boosts.
    pub(crate) boost_terms: f32,
}

impl SimilarSettings {
    /// Adds a clause for each of the most characteristic words, the least characteristic first.
    fn select(&self, words: &Words, view: &View, clauses: &mut Vec<(Occur, Query)>) -> Result<()> {
        let mut scored = Vec::new();
        for (text, count) in in_hash_order(words.counts.iter().collect(), |(text, _)| text.clone()) {
            let mut most: Option<(u32, &QueryField)> = None;
            for field in &words.fields {
                let freq = doc_freq(view, field, text)?;
                if freq > most.map_or(0, |(freq, _)| freq) {
                    most = Some((freq, field));
                }
            }
            if let Some((freq, field)) = most
                && *count >= self.min_term_freq
                && (self.min_doc_freq..=self.max_doc_freq).contains(&freq)
            {
                let score = *count as f32 * idf(freq, view.live_docs());
                scored.push((f64::from(score), term(field, text)));
            }
        }
        let mut best = best(scored.into_iter(), self.max_query_terms, false);
        best.reverse();
        let least = best.first().map_or(1.0, |(score, _)| *score as f32);
        clauses.extend(best.into_iter().map(|(score, term)| {
            let boost = match self.boost_terms {
                0.0 => 1.0,
                factor => factor * score as f32 / least,
            };
            (Occur::Should, term.boosted(boost))
        }));
        Ok(())
    }

    /// Builds the query of some words.
    fn query<'a>(&self, words: impl Iterator<Item = &'a Words>, view: &View) -> Result<Query> {
        let mut clauses = Vec::new();
        for words in words {
            self.select(words, view, &mut clauses)?;
        }
        Ok(QueryKind::Bool {
            minimum_should_match: least(&self.minimum_should_match, clauses.len())?,
            clauses,
            coord: true,
        }
        .into())
    }
}

/// As [`minimum`]. An invalid one fails while the query is executed.
fn least(wanted: &Value, optional: usize) -> Result<usize> {
    let executed = |error: SearchError| SearchError::new(500, Exception::Runtime, error.qualified()).caused_by(error);
    minimum(wanted, optional).map_err(executed)
}

fn doc_freq(view: &View, field: &QueryField, text: &str) -> Result<u32> {
    match field.ordinal {
        Some(ordinal) => view.doc_freq(ordinal, text),
        None => Ok(0),
    }
}

fn term(field: &QueryField, text: &str) -> Query {
    QueryKind::Term {
        field: field.clone(),
        text: text.to_owned(),
    }
    .into()
}

/// A query that is rewritten once the frequencies of its terms are known.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FrequencyQuery {
    /// `more_like_this`: the most characteristic terms of texts and of documents.
    Similar {
        /// The texts, as they print.
        texts: Option<Vec<String>>,
        /// Words of the documents, by field, if there are documents.
        of_documents: Option<Vec<Words>>,
        /// Words of the texts. They are searched for in the field where they are most frequent.
        of_texts: Option<Words>,
        settings: SimilarSettings,
    },
    /// `fuzzy_like_this`: terms similar to those of a text, by field.
    Fuzzy {
        texts: Vec<(QueryField, String)>,
        edits: u8,
        /// Similarity above which a term is similar, from 0 to 1.
        min_similarity: f32,
        prefix: usize,
        max_query_terms: usize,
        ignore_frequency: bool,
    },
    /// The terms that a matcher accepts, rewritten to clauses.
    Rewritten {
        field: QueryField,
        matcher: Matcher,
        rewrite: Rewrite,
    },
    /// `common`: rare terms must match, frequent terms only add to the score.
    Common {
        field: QueryField,
        terms: Vec<String>,
        cutoff: f32,
        rare: Occur,
        frequent: Occur,
        minimum_rare: Option<Value>,
        minimum_frequent: Option<Value>,
        coord: bool,
    },
}

impl FrequencyQuery {
    /// Rewrites the query with the frequencies of a view.
    pub(crate) fn resolve(&self, view: &View, budget: &Budget) -> Result<Query> {
        match self {
            FrequencyQuery::Similar {
                of_documents,
                of_texts,
                settings,
                ..
            } => {
                let documents = of_documents.as_ref().map(|words| settings.query(words.iter(), view));
                let texts = of_texts
                    .iter()
                    .map(|words| settings.query(std::iter::once(words), view));
                let clauses = documents.into_iter().chain(texts);
                Ok(Query::any(clauses.collect::<Result<_>>()?))
            }
            FrequencyQuery::Fuzzy {
                texts,
                edits,
                min_similarity,
                prefix,
                max_query_terms,
                ignore_frequency,
            } => {
                let mut variants: Vec<(f32, usize, String)> = Vec::new();
                for (at, (field, text)) in texts.iter().enumerate() {
                    let Some(ordinal) = field.ordinal else { continue };
                    let mut near = similar_terms(view, ordinal, text, *edits, *prefix, false, budget)?;
                    near.retain(|near| near.boost > *min_similarity);
                    for near in &mut near {
                        near.boost = (near.boost - min_similarity) / (1.0 - min_similarity);
                    }
                    near.sort_by(|a, b| b.boost.total_cmp(&a.boost));
                    let mut total = 0;
                    for near in &near {
                        total += doc_freq(view, field, &near.text)?;
                    }
                    let own = doc_freq(view, field, text)?;
                    let freq = if own > 0 {
                        own
                    } else {
                        total / u32::try_from(near.len().max(1)).unwrap_or(1)
                    };
                    variants.extend(
                        near.into_iter()
                            .take(MAX_VARIANTS)
                            .map(|near| (near.boost * near.boost * idf(freq, view.live_docs()), at, near.text)),
                    );
                }
                variants.sort_by(|a, b| b.0.total_cmp(&a.0));
                variants.truncate(*max_query_terms);
                let mut clauses = Vec::new();
                let order = in_hash_order(texts.iter().enumerate().collect(), |(_, (_, text))| text.clone());
                for (at, (field, _)) in order {
                    let own = variants.iter().filter(|(_, source, _)| *source == at);
                    let mut terms: Vec<Query> = own
                        .map(|(score, _, text)| {
                            let term = Query::from(QueryKind::RareTerm {
                                field: field.clone(),
                                text: text.clone(),
                            });
                            let term = if *ignore_frequency { term.constant() } else { term };
                            term.boosted(*score)
                        })
                        .collect();
                    let clause = match terms.len() {
                        0 => continue,
                        1 => terms.remove(0),
                        _ => Query::any_without_coord(terms),
                    };
                    clauses.push((Occur::Should, clause));
                }
                Ok(Query::bool(clauses))
            }
            FrequencyQuery::Rewritten {
                field,
                matcher,
                rewrite,
            } => {
                let mut texts = terms_of(view, field, matcher, budget)?;
                match rewrite {
                    Rewrite::Constant | Rewrite::Scoring if texts.len() > MAX_CLAUSES => {
                        return Err(too_many_clauses(MAX_CLAUSES));
                    }
                    Rewrite::Constant | Rewrite::Scoring => {}
                    Rewrite::Top(size) | Rewrite::TopBoost(size) => texts.truncate((*size).min(MAX_CLAUSES)),
                }
                let clauses = texts.iter().map(|text| {
                    let term = term(field, text);
                    match rewrite {
                        Rewrite::TopBoost(_) => term.constant(),
                        _ => term,
                    }
                });
                let any = Query::any_without_coord(clauses);
                Ok(match rewrite {
                    Rewrite::Constant => any.constant(),
                    _ => any,
                })
            }
            FrequencyQuery::Common {
                field,
                terms,
                cutoff,
                rare,
                frequent,
                minimum_rare,
                minimum_frequent,
                coord,
            } => {
                let (mut low, mut high) = (Vec::new(), Vec::new());
                let max_doc = view.max_doc() as f32;
                for text in terms {
                    let freq = doc_freq(view, field, text)? as f32;
                    let limit = if *cutoff >= 1.0 {
                        *cutoff
                    } else {
                        (cutoff * max_doc).ceil()
                    };
                    if freq > limit {
                        high.push(term(field, text));
                    } else {
                        low.push(term(field, text));
                    }
                }
                let bool = |queries: Vec<Query>, occur: Occur, wanted: &Option<Value>| -> Result<Query> {
                    // It only counts, and is only read, for optional terms.
                    let wanted = wanted
                        .as_ref()
                        .filter(|_| occur == Occur::Should && !queries.is_empty());
                    let minimum = wanted.map(|wanted| least(wanted, queries.len()));
                    Ok(QueryKind::Bool {
                        minimum_should_match: minimum.transpose()?.unwrap_or(0),
                        clauses: queries.into_iter().map(|query| (occur, query)).collect(),
                        coord: *coord,
                    }
                    .into())
                };
                Ok(match (low.is_empty(), high.is_empty()) {
                    (true, true) => QueryKind::Nothing.into(),
                    // If all terms are frequent, all must match, unless the request has a minimum.
                    (true, false) if *frequent == Occur::Should && minimum_frequent.is_none() => {
                        bool(high, Occur::Must, &None)?
                    }
                    (true, false) => bool(high, *frequent, minimum_frequent)?,
                    (false, true) => bool(low, *rare, minimum_rare)?,
                    (false, false) => QueryKind::Bool {
                        clauses: vec![
                            (Occur::Should, bool(high, *frequent, minimum_frequent)?),
                            (Occur::Must, bool(low, *rare, minimum_rare)?),
                        ],
                        minimum_should_match: 0,
                        coord: false,
                    }
                    .into(),
                })
            }
        }
    }
}
