//! Every trial of the catalog against the embedded simulator, under both profiles.
//!
//! `cargo test -p stuntdouble-suite --test conformance -- --list` lists them; filters and `--exact` work as usual.
//! Pending trials are ignored; `--ignored` runs them.

use std::{process::ExitCode, sync::Arc};

use libtest_mimic::{Arguments, Failed, Trial};
use mimalloc::MiMalloc;
use stuntdouble_suite::{
    catalog::{Catalog, Profile},
    report::{Style, explain},
    target::Target,
    trial::{Run, Selection, Verdict},
};
use tokio::{runtime::Runtime, sync::OnceCell};

/// The allocator of the program. The tests spend less time in it than in that of the system.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Default number of concurrent trials. Most of the time they wait.
const DEFAULT_JOBS: usize = 32;

/// A simulator that is started by the first trial that needs it.
struct Shared {
    profile: Profile,
    runtime: Runtime,
    target: OnceCell<Target>,
    run: Run,
}

impl Shared {
    fn new(profile: Profile) -> std::io::Result<Arc<Self>> {
        Ok(Arc::new(Self {
            profile,
            runtime: Runtime::new()?,
            target: OnceCell::new(),
            run: Run::new("test"),
        }))
    }

    fn run_trial(&self, trial: &stuntdouble_suite::trial::Trial) -> Result<(), Failed> {
        self.runtime.block_on(async {
            let target = self.target.get_or_try_init(|| Target::simulator(self.profile)).await?;
            let own = if trial.case.data.cluster_wide {
                target.fresh().await?
            } else {
                None
            };
            let own_run = Run::new("own");
            let outcome = match &own {
                Some(own) => trial.run(own, &own_run).await,
                None => trial.run(target, &self.run).await,
            };
            match &outcome.verdict {
                Verdict::Failed(failure) => Err(Failed::from(explain(&outcome, failure, Style::default()))),
                // The embedded simulator has everything that a trial may need.
                verdict @ (Verdict::Skipped(_) | Verdict::Absent(_)) => {
                    Err(Failed::from(format!("the trial was not run: {:?}", verdict.reason())))
                }
                _ => Ok(()),
            }
        })
    }
}

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(DEFAULT_JOBS);
    let catalog = match Catalog::embedded() {
        Ok(catalog) => catalog,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let mut tests = Vec::new();
    for profile in Profile::ALL {
        let shared = match Shared::new(profile) {
            Ok(shared) => shared,
            Err(error) => {
                eprintln!("{error}");
                return ExitCode::FAILURE;
            }
        };
        for trial in Selection::default().of(&catalog, profile) {
            let shared = Arc::clone(&shared);
            let (name, pending) = (format!("{profile}/{}", trial.case.id), trial.case.pending().is_some());
            tests.push(Trial::test(name, move || shared.run_trial(&trial)).with_ignored_flag(pending));
        }
    }
    libtest_mimic::run(&arguments, tests).exit_code()
}
