//! Inner hits: a search within each rendered hit.
//!
//! Limits: only the shard of the hit is searched; its nested objects, parent and children are there.
//! Source: the fetch phase of Elasticsearch 1.5 for `inner_hits`.

use std::sync::Arc;

use serde_json::{Value, json};
use tantivy::DocSet;
use tantivy::schema::IndexRecordOption;

use crate::aggs::Matches;
use crate::cluster::{Cluster, Index};
use crate::error::{Result, SearchError};
use crate::find::best::best_of;
use crate::find::hits::render;
use crate::find::request::SearchRequest;
use crate::find::searched::{InnerSearch, Searched};
use crate::find::sort::check_sort;
use crate::index::{Bits, Stored, View, nested_docs, outer_docs, term_key};
use crate::mapping::PARENT;
use crate::query::{Context, InnerHits, InnerRelation, Query};
use crate::score::{END, Explained, Weight, score_json};

/// Default number of inner hits of a hit.
const DEFAULT_SIZE: usize = 3;

/// Search for inner hits, prepared for a shard.
struct Prepared {
    relation: Relation,
    request: SearchRequest,
    searched: Searched,
}

enum Relation {
    /// By segment: the nested objects, and the documents or objects that contain them.
    Nested(Vec<(Bits, Bits)>),
    /// Children or parent of this type.
    Related(String),
}

/// A shard whose hits have inner hits.
pub(super) struct Outer<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) request: &'a SearchRequest,
    pub(super) index: &'a Arc<Index>,
    /// Context of the search: inner hits are sorted by fields of its types only.
    pub(super) context: &'a Context<'a>,
    pub(super) number: u32,
    pub(super) view: &'a Arc<View>,
    /// Creates the weight of a query, by the statistics of the shard.
    pub(super) weigh: &'a dyn Fn(&Query) -> Result<Weight>,
    /// Prepares the explanation of a query, if it is wanted.
    pub(super) explain: &'a dyn Fn(&Query, bool) -> Result<Option<Explained>>,
}

impl Outer<'_> {
    /// Returns the error for inner hits that cannot be parsed.
    fn unparsed(&self, own: &SearchRequest, error: SearchError) -> SearchError {
        let (index, size) = (&self.index.name, own.size.unwrap_or(DEFAULT_SIZE));
        let place = format!("[{index}][{}]: from[{}],size[{size}]", self.number, own.from);
        let reason = format!("{place}: Parse Failure [{}]", error.reason);
        SearchError::query(format!("[{index}] Failed to parse [_inner_hits]"))
            .caused_by(SearchError { reason, ..error })
    }
}

/// Prepares inner hits for a shard.
///
/// # Errors
/// Invalid settings.
pub(super) fn prepare_inner(outer: &Outer<'_>, wanted: Vec<InnerHits>) -> Result<Vec<(String, Box<dyn InnerSearch>)>> {
    let prepared = wanted.into_iter().map(|wanted| {
        let mut own = SearchRequest::of_object(&wanted.settings, &outer.cluster.options.limits)?;
        own.size.get_or_insert(DEFAULT_SIZE);
        own.budget = outer.request.budget.clone();
        // Fields of other types than those of the search are not extracted from the source.
        own.types = outer.request.types.clone();
        check_sort(&own.sort, outer.context).map_err(|error| outer.unparsed(&own, error))?;
        let relation = match &wanted.relation {
            InnerRelation::Related(type_name) => Relation::Related(type_name.clone()),
            InnerRelation::Nested { path, outer: above } => {
                let segments = outer.view.segments.iter().map(|view| &view.segment);
                let sets =
                    segments.map(|segment| Ok((nested_docs(segment, path)?, outer_docs(segment, above.as_deref())?)));
                Relation::Nested(sets.collect::<Result<_>>()?)
            }
        };
        let prepared = Prepared {
            searched: Searched {
                index: outer.index.clone(),
                mapping: outer.index.mapping(),
                types: vec![],
                number: outer.number,
                view: outer.view.clone(),
                weight: (outer.weigh)(&wanted.query)?,
                explained: (outer.explain)(&wanted.query, own.explain)?,
                query: wanted.query,
                scope: None,
                post_filter: None,
                named: vec![],
                sort_filters: vec![],
                inner: prepare_inner(outer, wanted.inner)?,
            },
            request: own,
            relation,
        };
        let boxed: Box<dyn InnerSearch> = Box::new(prepared);
        Ok((wanted.name, boxed))
    });
    prepared.collect()
}

impl InnerSearch for Prepared {
    fn hits(&self, cluster: &Cluster, (segment, doc): (usize, u32), stored: &Stored) -> Result<Value> {
        let own = std::slice::from_ref(&self.searched);
        let matches = match &self.relation {
            Relation::Nested(sets) => match sets.get(segment) {
                Some((nested, outer)) => self.objects(nested, outer, segment, doc)?,
                None => Matches::default(),
            },
            Relation::Related(type_name) => match self.relatives(type_name, stored)? {
                Some(matches) => matches,
                None => return Ok(json!({"hits": {"total": 0, "max_score": 0.0, "hits": []}})),
            },
        };
        let (hits, best) = best_of(own, &self.request, &matches)?;
        let by_score = self.request.sort.is_empty() || self.request.track_scores;
        // A page beyond the hits knows of none, unless they are sorted.
        let total = match matches.count() {
            count if self.request.sort.is_empty() && self.request.page() > 0 && self.request.from >= count => 0,
            count => count,
        };
        let max_score = match best {
            _ if self.request.page() == 0 => json!(0.0),
            _ if total == 0 => Value::Null,
            Some(best) if by_score => score_json(best),
            _ => Value::Null,
        };
        let mut hits = hits
            .iter()
            .map(|hit| render(cluster, &self.request, own, hit, true))
            .collect::<Result<Vec<_>>>()?;
        // The inner hits of another node are sent without their shard, and so do not name its index.
        if !cluster.is_local(&self.searched.index, self.searched.number) {
            for hit in hits.iter_mut().filter_map(Value::as_object_mut) {
                hit.shift_remove("_index");
            }
        }
        Ok(json!({"hits": {"total": total, "max_score": max_score, "hits": hits}}))
    }
}

impl Prepared {
    /// Returns the matching nested objects of a document.
    fn objects(&self, nested: &Bits, outer: &Bits, segment: usize, doc: u32) -> Result<Matches> {
        let mut matches = Matches::default();
        let start = (0..doc).rev().find(|doc| outer.contains(*doc)).map_or(0, |doc| doc + 1);
        let view = self.view(segment)?;
        let budget = &self.request.budget;
        let (mut docs, mut scores) = (Vec::new(), Vec::new());
        if let Some(mut scorer) = self.searched.weight.scorer(segment, view, budget)? {
            let mut at = scorer.doc();
            if at < start {
                at = scorer.seek(start);
            }
            while at < doc {
                budget.check()?;
                if nested.contains(at) {
                    docs.push(at);
                    scores.push(scorer.score());
                }
                at = scorer.advance();
            }
        }
        matches.push(0, segment, docs, scores);
        Ok(matches)
    }

    /// Returns the matching children of a document that have this type, or its parent if that has the type. `None` for
    /// a document whose type has neither.
    fn relatives(&self, type_name: &str, stored: &Stored) -> Result<Option<Matches>> {
        let mapping = &self.searched.mapping;
        if mapping.parent_type(type_name) == Some(stored.type_name()) {
            let children = self.children(&format!("{}#{}", stored.type_name(), stored.id()));
            return children.map(Some);
        }
        if mapping.parent_type(stored.type_name()) != Some(type_name) {
            return Ok(None);
        }
        let mut matches = Matches::default();
        let parent = self.searched.shard().zip(stored.parent());
        let place = parent.map(|(shard, id)| shard.place(&self.searched.view, type_name, id));
        if let Some((segment, doc)) = place.transpose()?.flatten() {
            let view = self.view(segment)?;
            let scorer = self.searched.weight.scorer(segment, view, &self.request.budget)?;
            if let Some(mut scorer) = scorer.filter(|scorer| scorer.doc() <= doc)
                && scorer.seek(doc) == doc
            {
                matches.push(0, segment, vec![doc], vec![scorer.score()]);
            }
        }
        Ok(Some(matches))
    }

    fn children(&self, parent: &str) -> Result<Matches> {
        let mut matches = Matches::default();
        let key = term_key(PARENT, parent);
        for (segment, view) in self.searched.view.segments.iter().enumerate() {
            let Some(info) = view.segment.term_info(&key)? else {
                continue;
            };
            let Some(mut scorer) = self.searched.weight.scorer(segment, view, &self.request.budget)? else {
                continue;
            };
            let mut postings = view.segment.postings(&info, IndexRecordOption::Basic)?;
            let (mut docs, mut scores) = (Vec::new(), Vec::new());
            while postings.doc() != END {
                self.request.budget.check()?;
                let doc = postings.doc();
                if view.is_live(doc) && scorer.doc() <= doc && scorer.seek(doc) == doc {
                    docs.push(doc);
                    scores.push(scorer.score());
                }
                postings.advance();
            }
            matches.push(0, segment, docs, scores);
        }
        Ok(matches)
    }

    fn view(&self, segment: usize) -> Result<&crate::index::SegmentView> {
        let view = self.searched.view.segments.get(segment);
        view.ok_or_else(|| SearchError::engine("a hit of no segment"))
    }
}
