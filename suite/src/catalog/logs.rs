//! Log queries: one case for each in `fixtures/queries`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde::Deserialize;

use super::error::{CatalogError, malformed};

/// Files of documents, in bulk form.
const CORPORA: [&str; 2] = ["corpus.bulk", "own.bulk"];

/// Returns the text of a file of `fixtures/queries`.
fn fixture(file: &str) -> Result<&'static str, CatalogError> {
    stuntdouble_fixtures::text(&stuntdouble_fixtures::QUERIES, file).ok_or_else(|| malformed(file, "no such file"))
}

/// A log query and its expected result.
#[derive(Debug, Clone, PartialEq)]
pub struct LogQuery {
    /// Query parameters.
    pub query: Vec<(String, String)>,
    /// Indices to search.
    pub index: String,
    /// Expected result; `None` if the query must be refused.
    pub found: Option<Found>,
}

/// Expected result of a query.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// Number of documents.
    pub total: u64,
    /// Ids of all documents, if there are few.
    pub ids: Option<BTreeSet<String>>,
    /// Scores of the best documents.
    pub scores: BTreeMap<String, f64>,
    /// Best score, if it is known.
    pub max_score: Option<f64>,
    /// Whether some of the indices refuse the query.
    pub partly: bool,
}

/// A line of `queries.jsonl`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct QueryLine {
    id: String,
    q: String,
    default_operator: Option<String>,
    df: Option<String>,
    lowercase_expanded_terms: Option<bool>,
    index: Option<String>,
}

/// A line of `results.jsonl`.
#[derive(Deserialize)]
struct ResultLine {
    id: String,
    #[serde(default)]
    total: u64,
    max_score: Option<f64>,
    #[serde(default)]
    hits: Vec<(String, f64)>,
    ids: Option<BTreeSet<String>>,
    #[serde(default)]
    failed_indices: Vec<String>,
    error: Option<serde_json::Value>,
}

/// A line of `own.jsonl`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OwnLine {
    q: String,
    #[serde(default)]
    total: u64,
    #[serde(default)]
    ids: Vec<String>,
    #[serde(default)]
    scores: Vec<f64>,
    #[serde(default)]
    error: bool,
}

fn lines<T: for<'a> Deserialize<'a>>(file: &str) -> Result<Vec<T>, CatalogError> {
    let line = |(number, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| malformed(&format!("{file}:{}", number + 1), error))
    };
    fixture(file)?
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(line)
        .collect()
}

/// Returns all log queries, by name.
pub(super) fn queries() -> Result<Vec<(String, LogQuery)>, CatalogError> {
    let mut all = Vec::new();
    let results: Vec<ResultLine> = lines("results.jsonl")?;
    let mut results: BTreeMap<String, ResultLine> =
        results.into_iter().map(|result| (result.id.clone(), result)).collect();
    for line in lines::<QueryLine>("queries.jsonl")? {
        let result = results
            .remove(&line.id)
            .ok_or_else(|| malformed("results.jsonl", format!("no result for {}", line.id)))?;
        let size = if result.ids.is_some() { 200 } else { 60 };
        let mut query = vec![("q".to_owned(), line.q), ("size".to_owned(), size.to_string())];
        query.extend(
            line.default_operator
                .map(|operator| ("default_operator".to_owned(), operator)),
        );
        query.extend(line.df.map(|field| ("df".to_owned(), field)));
        query.extend(
            line.lowercase_expanded_terms
                .map(|lower| ("lowercase_expanded_terms".to_owned(), lower.to_string())),
        );
        let found = Found {
            total: result.total,
            ids: result.ids,
            scores: result.hits.into_iter().collect(),
            max_score: result.max_score,
            partly: !result.failed_indices.is_empty(),
        };
        let index = line.index.unwrap_or_else(|| "logstash-*,.kibana".to_owned());
        all.push((
            line.id,
            LogQuery {
                query,
                index,
                found: result.error.is_none().then_some(found),
            },
        ));
    }
    for own in lines::<OwnLine>("own.jsonl")? {
        let scores = own.ids.iter().cloned().zip(own.scores).collect();
        let found = Found {
            total: own.total,
            ids: Some(own.ids.into_iter().collect()),
            scores,
            ..Found::default()
        };
        let query = vec![("q".to_owned(), own.q.clone()), ("size".to_owned(), "10".to_owned())];
        all.push((
            named(&own.q),
            LogQuery {
                query,
                index: "own-2015.06.26".to_owned(),
                found: (!own.error).then_some(found),
            },
        ));
    }
    Ok(all)
}

/// Returns a name for a query, made of its letters and digits and of codes for other characters.
fn named(query: &str) -> String {
    let sign = |c: char| match c {
        'a'..='z' | '0'..='9' | '.' => c.to_string(),
        'A'..='Z' => c.to_lowercase().to_string(),
        ' ' | ':' => "-".to_owned(),
        other => format!("-{:x}-", u32::from(other)),
    };
    let name: String = query.chars().map(sign).collect();
    let words: Vec<&str> = name.split('-').filter(|word| !word.is_empty()).collect();
    format!("own-{}", words.join("-"))
}

/// A log line of the corpus, as sent in a bulk request.
#[derive(Debug, Clone, PartialEq)]
pub struct LogLine {
    /// Index.
    pub index: String,
    /// Type.
    pub doc_type: String,
    /// Id, unique among all lines.
    pub id: String,
    /// Document.
    pub source: serde_json::Value,
}

/// All log lines, by id.
static LINES: LazyLock<Result<BTreeMap<String, LogLine>, CatalogError>> = LazyLock::new(read_lines);

/// All log lines, by id.
///
/// # Errors
/// If a fixture is malformed.
pub fn log_lines() -> Result<&'static BTreeMap<String, LogLine>, &'static CatalogError> {
    LINES.as_ref()
}

#[derive(Deserialize)]
struct Action {
    index: DocumentAddress,
}

#[derive(Deserialize)]
struct DocumentAddress {
    #[serde(rename = "_index")]
    index: String,
    #[serde(rename = "_type")]
    doc_type: String,
    #[serde(rename = "_id")]
    id: String,
}

fn read_lines() -> Result<BTreeMap<String, LogLine>, CatalogError> {
    let mut all = BTreeMap::new();
    for file in CORPORA {
        let malformed = |error| malformed(file, error);
        let mut lines = fixture(file)?.lines().filter(|line| !line.trim().is_empty());
        while let (Some(action), Some(source)) = (lines.next(), lines.next()) {
            let DocumentAddress { index, doc_type, id } =
                serde_json::from_str::<Action>(action).map_err(malformed)?.index;
            let source = serde_json::from_str(source).map_err(malformed)?;
            all.insert(
                id.clone(),
                LogLine {
                    index,
                    doc_type,
                    id,
                    source,
                },
            );
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_query_has_a_unique_name_and_a_result() {
        let queries = queries().unwrap();
        let names: BTreeSet<&String> = queries.iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), queries.len());
        assert!(queries.len() >= 400, "{}", queries.len());
        assert!(queries.iter().any(|(_, query)| query.found.is_none()));
    }

    #[test]
    fn the_log_lines_are_those_of_both_corpora() {
        let lines = log_lines().unwrap();
        assert!(lines.len() > 3000, "{}", lines.len());
        assert!(lines.values().any(|line| line.index == "own-2015.06.26"));
    }

    #[test]
    fn other_characters_make_names_unique() {
        assert_ne!(named("level:>5"), named("level:<5"));
        assert_eq!(named("log:Alpha beta"), "own-log-alpha-beta");
    }
}
