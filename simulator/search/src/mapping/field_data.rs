//! Field data: the form in which Elasticsearch holds the values of a field in memory, and which errors that causes.
//!
//! Source: `IndexFieldDataService` of Elasticsearch 1.5 and the classes of its package `fielddata.plain`.

use super::{FieldType, Indexing, Kind, Mapping};
use crate::error::{Result, SearchError};
use crate::exception::Exception;

/// Package of the classes.
const PACKAGE: &str = "org.elasticsearch.index.fielddata";

/// Field data of a field or metadata field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldData {
    /// Terms of strings.
    PagedBytes,
    /// Doc values of strings.
    SortedSet,
    /// Whole numbers and dates.
    PackedArray,
    FloatArray,
    DoubleArray,
    /// Doc values of numbers.
    Numbers,
    Points,
    /// The name of the index.
    Index,
    /// Terms of `_parent`.
    Parents,
    /// A field whose values cannot be loaded.
    Disabled,
    /// A field without field data.
    None,
}

/// Use of field data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DataUse {
    Numbers,
    Points,
}

impl FieldType {
    fn is_loading_disabled(&self) -> bool {
        let format = self.setting("fielddata").and_then(|own| own.get("format"));
        format.is_some_and(|format| format == "disabled")
    }

    fn field_data(&self) -> FieldData {
        match self.kind {
            Kind::Completion => FieldData::None,
            Kind::Binary => FieldData::Disabled,
            _ if self.is_loading_disabled() => FieldData::Disabled,
            Kind::GeoPoint => FieldData::Points,
            kind if kind.is_numeric() && self.doc_values() == Some(true) => FieldData::Numbers,
            Kind::Float => FieldData::FloatArray,
            Kind::Double => FieldData::DoubleArray,
            kind if kind.is_numeric() => FieldData::PackedArray,
            _ if self.doc_values() == Some(true) => FieldData::SortedSet,
            _ => FieldData::PagedBytes,
        }
    }

    /// Returns Lucene's description of how the field is indexed, for error messages.
    pub(crate) fn lucene_text(&self) -> String {
        let is_analyzed = self.indexing == Indexing::Analyzed;
        let indexed = match self.indexing {
            Indexing::No => vec![],
            _ => vec![
                Some("indexed"),
                Some("tokenized").filter(|_| is_analyzed && self.kind != Kind::Boolean),
                Some("termVector").filter(|_| self.has_vectors()),
                Some("termVectorOffsets").filter(|_| self.has_in_vectors("offsets")),
                Some("termVectorPosition").filter(|_| self.has_in_vectors("positions")),
                Some("termVectorPayloads").filter(|_| self.has_in_vectors("payloads")),
                Some("omitNorms").filter(|_| !self.norms),
                match (
                    self.has_frequencies(),
                    self.has_positions(),
                    self.has_offsets_in_postings(),
                ) {
                    _ if self.kind == Kind::Completion => None,
                    (false, ..) => Some("indexOptions=DOCS_ONLY"),
                    (_, false, _) => Some("indexOptions=DOCS_AND_FREQS"),
                    (.., true) => Some("indexOptions=DOCS_AND_FREQS_AND_POSITIONS_AND_OFFSETS"),
                    _ => None,
                },
            ],
        };
        let stored = Some("stored").filter(|_| self.store);
        let parts: Vec<&str> = [stored].into_iter().chain(indexed).flatten().collect();
        parts.join(",")
    }
}

impl Mapping {
    /// Returns the field data of a field or metadata field. `None`: no field has the name.
    pub(crate) fn field_data(&self, name: &str) -> Option<FieldData> {
        match name {
            "_index" => Some(FieldData::Index),
            "_parent" => Some(FieldData::Parents),
            "_source" => Some(FieldData::None),
            "_version" => Some(FieldData::Numbers),
            "_id" | "_type" | "_uid" | "_all" | "_routing" | "_field_names" => Some(FieldData::PagedBytes),
            _ => Some(self.field(name)?.field_type.field_data()),
        }
    }
}

impl FieldData {
    fn class(self) -> &'static str {
        match self {
            FieldData::PagedBytes => "PagedBytes",
            FieldData::SortedSet => "SortedSetDVOrdinals",
            FieldData::PackedArray => "PackedArray",
            FieldData::FloatArray => "FloatArray",
            FieldData::DoubleArray => "DoubleArray",
            FieldData::Numbers => "SortedNumericDV",
            FieldData::Points => "GeoPointDoubleArray",
            FieldData::Index => "Index",
            FieldData::Parents => "ParentChild",
            FieldData::Disabled | FieldData::None => "Disabled",
        }
    }

    pub(crate) fn is_numeric(self) -> bool {
        use FieldData::{DoubleArray, FloatArray, Numbers, PackedArray};
        matches!(self, PackedArray | FloatArray | DoubleArray | Numbers)
    }

    /// Fails for a field that has none.
    pub(crate) fn check(self, name: &str) -> Result<()> {
        match self {
            FieldData::None => {
                let reason = format!("found no fielddata type for field [{name}]");
                Err(SearchError::illegal(reason))
            }
            _ => Ok(()),
        }
    }

    /// Fails for a field whose values cannot be loaded.
    pub(crate) fn check_loading(self, name: &str) -> Result<()> {
        self.check(name)?;
        if self != FieldData::Disabled {
            return Ok(());
        }
        let forbidden = forbidden(name);
        let cause = format!("org.elasticsearch.{}: {}", forbidden.kind, forbidden.reason);
        let outer = SearchError::new(500, Exception::Elasticsearch, cause.clone());
        let inner = SearchError::new(500, Exception::UncheckedExecution, cause);
        Err(outer.caused_by(inner).caused_by(forbidden))
    }

    /// Fails for a field that cannot be sorted by its values.
    pub(crate) fn check_sort(self, name: &str) -> Result<()> {
        self.check(name)?;
        match self {
            FieldData::Disabled => Err(forbidden(name)),
            FieldData::Points => Err(SearchError::illegal(
                "can't sort on geo_point field without using specific sorting feature, like geo_distance",
            )),
            _ => Ok(()),
        }
    }

    /// Fails for field data of another use.
    pub(crate) fn cast(self, name: &str, wanted: DataUse) -> Result<()> {
        self.check(name)?;
        let (fits, target) = match wanted {
            DataUse::Numbers => (self.is_numeric(), "Numeric"),
            DataUse::Points => (self == FieldData::Points, "GeoPoint"),
        };
        if fits {
            return Ok(());
        }
        let class = self.class();
        let reason =
            format!("{PACKAGE}.plain.{class}IndexFieldData cannot be cast to {PACKAGE}.Index{target}FieldData");
        Err(SearchError::new(500, Exception::ClassCast, reason))
    }
}

fn forbidden(name: &str) -> SearchError {
    let reason = format!("Field data loading is forbidden on {name}");
    SearchError::new(500, Exception::ElasticsearchIllegalState, reason)
}
