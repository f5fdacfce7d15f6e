//! Creation of weights from queries: terms and their frequencies.

use tantivy::postings::TermInfo;

use crate::budget::Budget;
use crate::error::Result;
use crate::exception::Exception;
use crate::index::{Bits, View, Within, outer_docs};
use crate::query::phrase_label;
use crate::query::{
    Expansion, Function, GeoPoint, NumericRange, Query, QueryField, QueryKind, SpanQuery, TermTest, expand, terms_of,
};
use crate::score::all_boosts::AllBoosts;
use crate::score::corpus::Corpus;
use crate::score::rewrite::Rewriter;
use crate::score::similarity::SimilarityWeight;
use crate::score::span::SpanWeight;
use crate::score::statistics::{self, TermStatistics, term_infos};
use crate::score::weight::{PhraseSlot, Weight, WeightKind};
use crate::script::MappedScript;

/// Builder of weights.
pub(super) struct WeightBuilder<'a> {
    pub(super) corpus: &'a Corpus<'a>,
    pub(super) budget: &'a Budget,
}

impl WeightBuilder<'_> {
    /// Statistics of a term, from its postings if they are those of the shard.
    pub(super) fn statistics(
        &self,
        field: &QueryField,
        text: &str,
        infos: &[Option<TermInfo>],
    ) -> Result<TermStatistics> {
        match self.corpus.statistics {
            Some(statistics) => statistics.of_term(field, text, self.budget),
            None => statistics::of_infos(self.corpus.view, field, infos, self.budget),
        }
    }

    /// Weight of terms with these statistics.
    pub(super) fn similarity(&self, field: &QueryField, terms: Vec<TermStatistics>) -> Result<SimilarityWeight> {
        let is_used = !field.similarity.is_classic() && field.frequencies;
        let length = is_used.then(|| match self.corpus.statistics {
            Some(statistics) => statistics.length(field, self.budget),
            None => statistics::length(self.corpus.view, field, self.budget),
        });
        Ok(SimilarityWeight::new(field, terms, length.transpose()?))
    }

    pub(super) fn term_kind(
        &self,
        field: &QueryField,
        text: &str,
        term: TermStatistics,
        infos: Vec<Option<TermInfo>>,
    ) -> Result<WeightKind> {
        Ok(WeightKind::Term {
            similarity: self.similarity(field, vec![term])?,
            text: text.to_owned(),
            infos,
            boosts: None,
        })
    }

    fn term(&self, field: &QueryField, text: &str, boost: f32) -> Result<Weight> {
        let infos = term_infos(self.corpus.view, field, text)?;
        let statistics = self.statistics(field, text, &infos)?;
        let mut kind = self.term_kind(field, text, statistics, infos)?;
        if let WeightKind::Term { boosts, .. } = &mut kind
            && field.is_boosted
        {
            *boosts = Some(AllBoosts::of(self.corpus.view, text)?);
        }
        Ok(Weight {
            kind,
            boost,
            value: 0.0,
            norm: 1.0,
        })
    }

    /// Builds the weight of a query, not yet normalized. Rewrites the query first.
    pub(super) fn build_rewritten(&self, query: &Query) -> Result<Weight> {
        let rewriter = Rewriter {
            view: self.corpus.view,
            budget: self.budget,
            explains: false,
        };
        match rewriter.rewrite(query) {
            // An invalid `minimum_should_match`, which is read while the query is executed.
            Err(error) if error.kind == Exception::Runtime => Ok(Weight {
                kind: WeightKind::Failing(error),
                boost: 1.0,
                value: 0.0,
                norm: 1.0,
            }),
            rewritten => self.build(&*rewritten?),
        }
    }

    /// Builds the weight of a rewritten query, not yet normalized.
    pub(super) fn build(&self, query: &Query) -> Result<Weight> {
        let view = self.corpus.view;
        let kind = match &query.kind {
            QueryKind::Nothing => WeightKind::Nothing,
            QueryKind::All | QueryKind::AllDocs => WeightKind::All,
            QueryKind::Term { field, text } => return self.term(field, text, query.boost),
            QueryKind::RareTerm { field, text } => {
                let infos = term_infos(view, field, text)?;
                let statistics = TermStatistics {
                    doc_freq: 1,
                    ..statistics::of_infos(view, field, &infos, self.budget)?
                };
                self.term_kind(field, text, statistics, infos)?
            }
            QueryKind::Phrase { field, slots, slop } => self.phrase(field, slots, *slop)?,
            QueryKind::MultiTerm { field, matcher } => match expand(view, field, matcher, self.budget)? {
                Expansion::Constant(infos) => WeightKind::MultiTerm { infos },
                Expansion::Scored(_) => return self.build_rewritten(query),
            },
            QueryKind::Range { field, range } => range_weight(view, field, range)?,
            QueryKind::Ids { types, ids } => {
                let keys = types.iter().flat_map(|name| ids.iter().map(move |id| (name, id)));
                let places = keys.filter_map(|(name, id)| self.corpus.shard.place(view, name, id).transpose());
                docs_at(view, places.collect::<Result<_>>()?)
            }
            QueryKind::IdPattern(matcher) => {
                let test = TermTest::new(matcher)?;
                let accepts = |type_name: &str, id: &str| test.accepts(&format!("{type_name}#{id}"));
                docs_at(view, self.corpus.shard.places(view, accepts)?)
            }
            QueryKind::ListedTerm { field, text, docs } => self.listed_term(field, text, docs)?,
            QueryKind::Bool {
                clauses,
                minimum_should_match,
                coord,
            } => {
                let clauses = clauses
                    .iter()
                    .map(|(occur, query)| Ok((*occur, self.build(query)?)))
                    .collect::<Result<Vec<_>>>()?;
                WeightKind::Bool {
                    clauses,
                    minimum_should_match: *minimum_should_match,
                    coord: *coord && self.corpus.base.is_classic(),
                }
            }
            QueryKind::DisjunctionMax { queries, tie } => WeightKind::DisjunctionMax {
                weights: queries
                    .iter()
                    .map(|query| self.build(query))
                    .collect::<Result<Vec<_>>>()?,
                tie: *tie,
            },
            QueryKind::Blended {
                fields,
                text,
                tie,
                cutoff,
            } => self.blended(fields, text, *tie, *cutoff)?,
            QueryKind::Span(span) => self.span(span)?,
            QueryKind::Boosting {
                positive,
                negative,
                factor,
                ..
            } => WeightKind::Boosting {
                positive: Box::new(self.build(positive)?),
                negative: Box::new(self.build(negative)?),
                factor: *factor,
            },
            QueryKind::Functions {
                query,
                functions,
                settings,
            } => WeightKind::Functions {
                query: Box::new(self.build(query)?),
                functions: functions
                    .iter()
                    .map(|function| {
                        let filter = function.filter.as_ref().map(|filter| self.build(filter)).transpose()?;
                        let mut function = function.clone();
                        if let Function::Random { salt, .. } = &mut function.function {
                            *salt ^= self.corpus.shard.number();
                        }
                        Ok((filter, function))
                    })
                    .collect::<Result<Vec<_>>>()?,
                settings: settings.clone(),
            },
            // Within a filter.
            QueryKind::ByFrequency(_) | QueryKind::PhrasePrefix { .. } => return self.build_rewritten(query),
            QueryKind::Nested(nested) => self.nested(nested)?,
            QueryKind::Related(related) => WeightKind::Related(self.related(related)?),
            QueryKind::Script(script) => match script.clone().without_score() {
                Ok(script) => WeightKind::Docs {
                    docs: self.docs_of_script(&script)?,
                },
                Err(error) => WeightKind::Failing(error),
            },
            QueryKind::Limit(limit) => {
                let docs = view.segments.iter().map(|view| outer_docs(&view.segment, None));
                WeightKind::Limit {
                    docs: docs.collect::<Result<_>>()?,
                    limit: *limit,
                }
            }
            QueryKind::Geo { field, shape } => WeightKind::Docs {
                docs: view
                    .segments
                    .iter()
                    .map(|view| {
                        let mut docs = Bits::with_capacity(view.segment.max_doc());
                        if let Some(ordinal) = field.ordinal {
                            let values = view.segment.values(ordinal)?;
                            (0..view.segment.max_doc())
                                .filter(|doc| {
                                    values
                                        .of(*doc)
                                        .iter()
                                        .any(|encoded| shape.contains(GeoPoint::decode(*encoded)))
                                })
                                .for_each(|doc| docs.insert(doc));
                        }
                        Ok(docs)
                    })
                    .collect::<Result<Vec<_>>>()?,
            },
            QueryKind::Constant { query, .. } => WeightKind::Constant(Box::new(self.build(query)?)),
            QueryKind::Filtered { query, filter } => WeightKind::Filtered {
                query: Box::new(self.build(query)?),
                filter: Box::new(self.build(filter)?),
            },
        };
        Ok(Weight {
            kind,
            boost: match query.kind {
                // It is lost when the query is rewritten.
                QueryKind::Boosting { .. } => 1.0,
                _ => query.boost,
            },
            value: 0.0,
            norm: 1.0,
        })
    }

    /// Returns the documents of each segment for which a script is not 0.
    fn docs_of_script(&self, script: &MappedScript) -> Result<Vec<Bits>> {
        let docs = self.corpus.view.segments.iter().map(|view| {
            let script = script.of(&view.segment)?;
            let mut docs = Bits::with_capacity(view.segment.max_doc());
            for doc in 0..view.segment.max_doc() {
                self.budget.check()?;
                // The whole part counts.
                if script.value(doc) as i64 != 0 {
                    docs.insert(doc);
                }
            }
            Ok(docs)
        });
        docs.collect()
    }

    fn span(&self, span: &SpanQuery) -> Result<WeightKind> {
        // Alone, a masked query is weighed as itself.
        if let SpanQuery::Masked { inner, .. } = span {
            return self.span(inner);
        }
        let Some(field) = span.field() else {
            return Ok(WeightKind::Nothing);
        };
        let statistics = self.span_statistics(span)?;
        Ok(WeightKind::Span {
            similarity: self.similarity(field, statistics)?,
            span: self.span_weight(span)?,
        })
    }

    fn span_terms(&self, span: &SpanQuery) -> Result<Vec<(QueryField, String)>> {
        match span {
            SpanQuery::Term { field, text } => Ok(vec![(field.clone(), text.clone())]),
            SpanQuery::MultiTerm { field, matcher, .. } => Ok(terms_of(self.corpus.view, field, matcher, self.budget)?
                .into_iter()
                .map(|text| (field.clone(), text))
                .collect()),
            _ => Ok(vec![]),
        }
    }

    /// Returns the statistics of all distinct terms, in order.
    fn span_statistics(&self, span: &SpanQuery) -> Result<Vec<TermStatistics>> {
        let mut terms = std::collections::BTreeMap::new();
        let mut open = vec![span];
        while let Some(span) = open.pop() {
            for (field, text) in self.span_terms(span)? {
                terms.insert((field.name.clone(), text), field);
            }
            open.extend(span.clauses());
        }
        let statistics = terms.iter().map(|((_, text), field)| {
            let infos = term_infos(self.corpus.view, field, text)?;
            self.statistics(field, text, &infos)
        });
        statistics.collect()
    }

    fn span_weight(&self, span: &SpanQuery) -> Result<SpanWeight> {
        let all = |clauses: &[SpanQuery]| {
            clauses
                .iter()
                .map(|clause| self.span_weight(clause))
                .collect::<Result<Vec<_>>>()
        };
        Ok(match span {
            SpanQuery::Boosted(inner, _) | SpanQuery::Masked { inner, .. } => self.span_weight(inner)?,
            SpanQuery::Term { .. } | SpanQuery::MultiTerm { .. } => SpanWeight::Terms(
                self.span_terms(span)?
                    .iter()
                    .map(|(field, text)| Ok((text.clone(), term_infos(self.corpus.view, field, text)?)))
                    .collect::<Result<_>>()?,
            ),
            SpanQuery::Or(clauses) => SpanWeight::Or(all(clauses)?),
            SpanQuery::Near {
                clauses,
                slop,
                in_order,
            } => SpanWeight::Near {
                clauses: all(clauses)?,
                slop: *slop,
                in_order: *in_order,
            },
            SpanQuery::First { inner, end } => SpanWeight::First {
                inner: Box::new(self.span_weight(inner)?),
                end: *end,
            },
            SpanQuery::Not {
                include,
                exclude,
                before,
                after,
            } => SpanWeight::Not {
                include: Box::new(self.span_weight(include)?),
                exclude: Box::new(self.span_weight(exclude)?),
                before: *before,
                after: *after,
            },
        })
    }

    fn phrase(&self, field: &QueryField, slots: &[(u32, Vec<String>)], slop: u32) -> Result<WeightKind> {
        let mut numbers: Vec<&str> = Vec::new();
        let mut statistics = Vec::new();
        let mut places = Vec::new();
        for (position, texts) in slots {
            let mut terms = Vec::new();
            for text in texts {
                let infos = term_infos(self.corpus.view, field, text)?;
                statistics.push(self.statistics(field, text, &infos)?);
                let number = numbers.iter().position(|known| known == text).unwrap_or_else(|| {
                    numbers.push(text);
                    numbers.len() - 1
                });
                terms.push((number, infos));
            }
            places.push(PhraseSlot {
                offset: *position,
                terms,
            });
        }
        Ok(WeightKind::Phrase {
            similarity: self.similarity(field, statistics)?,
            text: phrase_label(slots, slop),
            first: slots
                .iter()
                .flat_map(|(_, texts)| texts)
                .next()
                .cloned()
                .unwrap_or_default(),
            slop,
            slots: places,
        })
    }
}

/// Builds the weight of a numeric range.
fn range_weight(view: &View, field: &QueryField, range: &NumericRange) -> Result<WeightKind> {
    let (lower, upper) = range.ends();
    let docs = view.segments.iter().map(|view| match field.ordinal {
        Some(ordinal) if lower <= upper => {
            let values = view.segment.values(ordinal)?;
            Ok(values.within(lower, upper, view.segment.max_doc()))
        }
        _ => Ok(Within::Nothing),
    });
    Ok(WeightKind::Range {
        docs: docs.collect::<Result<_>>()?,
    })
}

/// Builds the weight for a list of documents: positions of their segments in the view, and their numbers there.
fn docs_at(view: &View, places: Vec<(usize, u32)>) -> WeightKind {
    let mut docs: Vec<Bits> = view
        .segments
        .iter()
        .map(|view| Bits::with_capacity(view.segment.max_doc()))
        .collect();
    for (at, doc) in places {
        if let Some(docs) = docs.get_mut(at) {
            docs.insert(doc);
        }
    }
    WeightKind::Docs { docs }
}
