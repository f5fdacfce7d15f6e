//! Selection of trials.

use std::fmt;
use std::str::FromStr;

use super::Trial;
use crate::catalog::{Catalog, Level, Profile};

/// One of several equal parts of all trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partition {
    /// Number of the part, from 1.
    pub part: usize,
    /// Number of parts.
    pub of: usize,
}

/// Error of a text that is not a partition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a partition; use K/N with 1 <= K <= N, such as 1/4")]
pub struct NoPartition(String);

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.part, self.of)
    }
}

impl FromStr for Partition {
    type Err = NoPartition;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let numbers = text
            .split_once('/')
            .and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
        match numbers {
            Some((part, of)) if 1 <= part && part <= of => Ok(Self { part, of }),
            _ => Err(NoPartition(text.to_owned())),
        }
    }
}

/// A selection of trials. Default: all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Filters: the id or the operation (`GET /api/v1/pods`) must contain one of these texts. Empty: all trials.
    pub filters: Vec<String>,
    /// The least binding level.
    pub level: Option<Level>,
    /// The part that is run.
    pub partition: Option<Partition>,
    /// Ids of the trials to run. `None`: all trials.
    pub only: Option<Vec<String>>,
}

impl Selection {
    /// Returns the selected trials, in the order of the catalog. Their numbers do not depend on the selection.
    pub fn of(&self, catalog: &Catalog, profile: Profile) -> Vec<Trial> {
        let all = catalog.cases(profile).enumerate().map(|(number, case)| Trial {
            case: case.clone(),
            profile,
            number,
        });
        let selected: Vec<Trial> = all.filter(|trial| self.matches(trial)).collect();
        match self.partition {
            None => selected,
            Some(Partition { part, of }) => selected.into_iter().skip(part - 1).step_by(of).collect(),
        }
    }

    fn matches(&self, trial: &Trial) -> bool {
        let named = |filter: &String| {
            trial.case.id.contains(filter.as_str()) || trial.case.operation.request().contains(filter.as_str())
        };
        self.level.is_none_or(|level| trial.case.level() <= level)
            && self.only.as_ref().is_none_or(|ids| ids.contains(&trial.case.id))
            && (self.filters.is_empty() || self.filters.iter().any(named))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rstest::rstest;

    use super::*;

    fn ids(selection: &Selection) -> Vec<String> {
        selection
            .of(&Catalog::embedded().unwrap(), Profile::Documented)
            .into_iter()
            .map(|t| t.case.id)
            .collect()
    }

    #[test]
    fn a_filter_matches_an_id_or_an_operation() {
        let by_id = Selection {
            filters: vec!["core/v1/pods/create/new".into()],
            ..Selection::default()
        };
        assert_eq!(ids(&by_id), ["core/v1/pods/create/new"]);
        let by_operation = Selection {
            filters: vec!["POST /api/v1/namespaces/{namespace}/bindings".into()],
            ..Selection::default()
        };
        assert!(ids(&by_operation).iter().all(|id| id.contains("/bindings/create/")));
        assert!(!ids(&by_operation).is_empty());
    }

    #[test]
    fn the_parts_of_a_partition_have_every_trial_once() {
        let part = |part| {
            ids(&Selection {
                partition: Some(Partition { part, of: 3 }),
                ..Selection::default()
            })
        };
        let parts: Vec<String> = [part(1), part(2), part(3)].concat();
        let distinct: BTreeSet<&String> = parts.iter().collect();
        assert_eq!(distinct.len(), parts.len());
        assert_eq!(parts.len(), ids(&Selection::default()).len());
    }

    #[test]
    fn the_level_must_omits_less_binding_trials() {
        let musts = Selection {
            level: Some(Level::Must),
            ..Selection::default()
        };
        assert!(ids(&musts).len() < ids(&Selection::default()).len());
        assert!(!ids(&musts).contains(&"core/v1/pods/create/already-exists".to_owned()));
    }

    #[rstest]
    #[case("0/2")]
    #[case("3/2")]
    #[case("1")]
    #[case("a/b")]
    fn an_invalid_partition_is_refused(#[case] text: &str) {
        assert!(text.parse::<Partition>().is_err());
    }
}
