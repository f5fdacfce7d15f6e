//! Generic faults (operators), applied to every operation of their classes.
//!
//! An operator is a mutant without a path. Applied to an operation it makes one mutant, which a trial of the operation
//! or of its kind must catch. A test run covers [`PART`] of these mutants; `STUNTDOUBLE_OPERATORS=2/40` selects
//! another.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::OnceLock,
};

use serde::Deserialize;
use stuntdouble_suite::{
    catalog::{After, Catalog, Profile},
    trial::{Partition, Selection, Trial},
};

use crate::{
    mutant::{self, Answer, Ask, Mutant, Stream, read},
    socket::Messages,
    when::{StatusFilter, When},
};

/// Part of the mutants that a test run covers.
const PART: Partition = Partition { part: 1, of: 60 };
/// Environment variable that selects another part.
const OTHER_PART: &str = "STUNTDOUBLE_OPERATORS";
/// Environment variable that names a file of more mutants.
const FILE: &str = "STUNTDOUBLE_MUTANTS";

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Operator {
    id: String,
    fault: String,
    /// Classes of operations, see [`class`].
    on: BTreeSet<String>,
    /// Operations on which it is not a fault: their id contains one of these texts.
    #[serde(default)]
    without: Vec<String>,
    #[serde(default)]
    profile: Profile,
    query: Option<String>,
    answered: Option<StatusFilter>,
    #[serde(default)]
    ask: Ask,
    #[serde(default)]
    answer: Answer,
    #[serde(default)]
    stream: Stream,
}

/// A mutant of one operation, and the trials that may catch it, the likeliest first.
#[derive(Debug, Clone)]
pub(crate) struct TargetedMutant {
    pub(crate) mutant: Mutant,
    pub(crate) trials: Vec<Trial>,
}

/// Returns the class of an operation: its action, independent of the kind.
fn class(trial: &Trial) -> &str {
    let (kind, operation) = (&trial.case.kind, &trial.case.operation);
    match operation.id.as_str() {
        _ if operation.path.contains("/proxy") => "proxy",
        _ if kind.group == "discovery" => "discovery",
        "create" if kind.plural == "bindings" => "bind",
        "list-all" => "list",
        "watch-all" => "watch",
        id => id,
    }
}

/// Converts the path template of an operation to a pattern.
fn pattern(path: &str) -> String {
    let star = |segment: &str| match segment {
        "{path}" => "**".to_owned(),
        segment if segment.starts_with('{') => "*".to_owned(),
        segment => segment.to_owned(),
    };
    path.split('/').map(star).collect::<Vec<_>>().join("/")
}

/// Returns group and plural of the kind of a trial.
fn kind(trial: &Trial) -> (&str, &str) {
    (&trial.case.kind.group, &trial.case.kind.plural)
}

/// Whether all requests of a trial pass through the proxy, and none is cluster-wide.
fn is_supported(trial: &Trial) -> bool {
    let data = &trial.case.data;
    data.socket.is_none() && data.credential.is_none() && data.log_query.is_none() && !data.cluster_wide
}

/// Returns the mutants made by the operators that this test run covers.
pub(crate) fn all(catalog: &Catalog) -> Result<Vec<TargetedMutant>, Box<dyn std::error::Error>> {
    let operators: Vec<Operator> = read("operators")?;
    let part = match std::env::var(OTHER_PART) {
        Ok(text) => text.parse()?,
        Err(_) => PART,
    };
    let mut made = Vec::new();
    let mut number = 0;
    for profile in Profile::ALL {
        let trials = Selection::default().of(catalog, profile);
        let mut operations: BTreeMap<String, &Trial> = BTreeMap::new();
        for trial in trials
            .iter()
            .filter(|trial| trial.case.operation.documented && is_supported(trial))
        {
            operations.entry(trial.case.operation.request()).or_insert(trial);
        }
        for operator in operators.iter().filter(|operator| operator.profile == profile) {
            for first in operations.values().filter(|trial| operator.on.contains(class(trial))) {
                let name = first.case.id.rsplit_once('/').map_or("", |(name, _)| name);
                if operator.without.iter().any(|without| name.contains(without)) {
                    continue;
                }
                if number % part.of == part.part - 1 {
                    made.push(targeted(operator, first, name, &trials, number));
                }
                number += 1;
            }
        }
    }
    Ok(made)
}

/// Reads the mutants of the file that [`FILE`] names. Each must be caught by a trial of its operations or their kinds.
pub(crate) fn of_file(trials: &[Trial]) -> Result<Vec<TargetedMutant>, Box<dyn std::error::Error>> {
    let mutants = std::env::var(FILE).map_or_else(|_| Ok(Vec::new()), |file| mutant::of_file(&file))?;
    let numbered = mutants.into_iter().enumerate();
    Ok(numbered
        .map(|(number, mutant)| about(Mutant { number, ..mutant }, trials))
        .collect())
}

/// Returns the requests of a trial by method and pattern: its own, those of its setup, and its reads afterwards.
fn requests(trial: &Trial) -> Vec<(String, String)> {
    let (data, operation) = (&trial.case.data, &trial.case.operation);
    let own = data.method.as_deref().unwrap_or(operation.method.as_str());
    let steps = data.setup.iter().filter_map(|step| step.request.split_once(' '));
    let read = data.after.iter().flat_map(|after| match after {
        After::Contains(state) => [state.at.as_deref(), state.each.as_deref()].map(|path| Some(("GET", path?))),
        After::Refused(one) => [Some((one.refused.as_str(), one.at.as_str())), None],
        After::State(_) => [None, None],
    });
    let read = read.flatten();
    let created = trial.case.kind.path.iter().map(|path| ("POST", path.as_str()));
    let all = std::iter::once((own, operation.path.as_str()))
        .chain(steps)
        .chain(read)
        .chain(created);
    let collection = trial.case.kind.path.as_deref().unwrap_or_default();
    let watch = collection.replacen("/namespaces", "/watch/namespaces", 1);
    let object = format!("{collection}/{{name}}");
    all.map(|(method, path)| {
        let path = path.split_once('?').map_or(path, |(path, _)| path);
        let path = path.replace("${collection}", collection).replace("${watch}", &watch);
        let own = |path: String, letter: &String| path.replace(&format!("${{{letter}.path}}"), &object);
        let path = data.given.keys().fold(path, own);
        (method.to_owned(), pattern(&path.replace("${", "{")))
    })
    .collect()
}

/// Methods and path patterns of all requests, and the indices of those that each trial sends, its own request first.
/// Comparing every trial with every mutant takes minutes.
struct Requests {
    all: Vec<(String, String)>,
    of_trial: HashMap<(String, Profile), Vec<usize>>,
}

impl Requests {
    fn of(trials: &[Trial]) -> Self {
        let (mut all, mut places) = (Vec::new(), HashMap::new());
        let mut place = |request: (String, String)| {
            *places.entry(request.clone()).or_insert_with(|| {
                all.push(request);
                all.len() - 1
            })
        };
        let of_one = |trial: &Trial| {
            let made = requests(trial).into_iter().map(&mut place).collect();
            ((trial.case.id.clone(), trial.profile), made)
        };
        let of_trial = trials.iter().map(of_one).collect();
        Self { all, of_trial }
    }
}

/// Returns a mutant with the trials that may catch it: those of the operations that it alters, then those of their
/// kinds, then trials of cluster behaviour that send a request which it alters.
pub(crate) fn about(mutant: Mutant, trials: &[Trial]) -> TargetedMutant {
    static REQUESTS: OnceLock<Requests> = OnceLock::new();
    let known = REQUESTS.get_or_init(|| Requests::of(trials));
    let touches = |(method, path): &(String, String)| mutant.when.touches(method, path);
    let touched: Vec<bool> = known.all.iter().map(touches).collect();
    let made = |trial: &Trial| known.of_trial.get(&(trial.case.id.clone(), trial.profile));
    let some = || {
        trials.iter().filter(|trial| {
            let data = &trial.case.data;
            let harmless = mutant.alone || !data.cluster_wide;
            trial.profile == mutant.profile && data.credential.is_none() && harmless
        })
    };
    let own = |trial: &&Trial| made(trial).is_some_and(|made| made.first().is_some_and(|one| touched[*one]));
    let plurals: BTreeSet<_> = some().filter(own).map(|trial| kind(trial).1).collect();
    let of_behaviour = |trial: &Trial| kind(trial).0 == "behaviour";
    let asks = |trial: &Trial| made(trial).is_some_and(|made| made.iter().any(|one| touched[*one]));
    let likeliest = some().filter(own);
    let of_kind =
        |trial: &&Trial| !own(trial) && !of_behaviour(trial) && (plurals.contains(kind(trial).1) || asks(trial));
    let behaviours = some().filter(|trial| !own(trial) && of_behaviour(trial) && asks(trial));
    let trials = likeliest
        .chain(some().filter(of_kind))
        .chain(behaviours)
        .cloned()
        .collect();
    TargetedMutant { mutant, trials }
}

fn targeted(operator: &Operator, first: &Trial, name: &str, trials: &[Trial], number: usize) -> TargetedMutant {
    let operation = &first.case.operation;
    let own = |trial: &&Trial| trial.case.operation.request() == operation.request();
    let of_kind = |trial: &&Trial| {
        trial.case.kind.plural == first.case.kind.plural && trial.case.kind.group == first.case.kind.group
    };
    let some = || trials.iter().filter(|trial| is_supported(trial));
    let likeliest = some().filter(own).cloned();
    let others = some().filter(|trial| of_kind(trial) && !own(trial)).cloned();
    TargetedMutant {
        mutant: Mutant {
            number,
            id: format!("{}/{name}", operator.id),
            fault: operator.fault.clone(),
            profile: operator.profile,
            living: false,
            alone: false,
            when: When {
                method: operation.method.to_string(),
                path: Some(pattern(&operation.path)),
                query: operator.query.clone(),
                answered: operator.answered,
                ..When::default()
            },
            ask: operator.ask.clone(),
            answer: operator.answer.clone(),
            stream: operator.stream.clone(),
            messages: Messages::default(),
            caught_by: Vec::new(),
        },
        trials: likeliest.chain(others).collect(),
    }
}
