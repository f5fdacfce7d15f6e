//! Measures Stuntdouble and a bare hyper server in the same run, and writes the figures as data, tables and plots.
//!
//! - Every server is a separate process, reached over the loopback interface.
//! - Rounds alternate between Stuntdouble and bare hyper. A figure is the median of its rounds, a ratio the median of
//!   the ratios of the rounds, so other load on the machine affects both.
//! - `run` measures and writes `docs/performance.json`. `report` writes the tables and plots of `docs/performance.md`
//!   from it. `scale` writes the simulation of `docs/scale.md`.

mod bare;
mod client;
mod corpus;
mod elasticsearch;
mod fanout;
mod forks;
mod living;
mod objects;
mod passing;
mod plot;
mod report;
mod requests;
mod results;
mod scale;
mod search;
mod server;
mod start;
mod statistics;
mod stores;
mod turns;

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use tokio::runtime::Builder;

use client::Outcome;
use results::Row;

#[derive(Parser)]
#[command(about = "Measure Stuntdouble and a bare hyper server")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure, print the tables, and write the figures to a file
    Run {
        /// Fewer rounds and smaller sizes: takes a few minutes
        #[arg(long)]
        quick: bool,
        /// Program to measure
        #[arg(long, value_name = "FILE", default_value = "target/release/stuntdouble")]
        program: PathBuf,
        /// File for the figures. Those of sections that are not measured stay
        #[arg(long, value_name = "FILE", default_value = "docs/performance.json")]
        out: PathBuf,
        /// Sections to measure: start, requests, fanout, passing, search, elasticsearch, stores, living. Default: all
        section: Vec<String>,
    },
    /// Write the tables and plots of docs/performance.md from the figures of a run
    Report {
        /// Figures of a run
        #[arg(default_value = "docs/performance.json")]
        results: PathBuf,
        /// Folder of the documents
        #[arg(long, value_name = "DIRECTORY", default_value = "docs")]
        docs: PathBuf,
    },
    /// Simulate clusters of several sizes on one process, on replicas over etcd, and on more cores
    Scale {
        /// Figures of a run, used as costs
        #[arg(default_value = "docs/performance.json")]
        results: PathBuf,
        /// Folder of the documents
        #[arg(long, value_name = "DIRECTORY", default_value = "docs")]
        docs: PathBuf,
    },
    /// Run a bare hyper server of these files
    #[command(hide = true)]
    Bare { file: Vec<String> },
    /// Run a bare reverse proxy
    #[command(hide = true)]
    BareProxy { upstream: String },
    /// Measure time and memory of copies of a cluster in this process
    #[command(hide = true)]
    Forks { count: usize },
}

fn main() -> Outcome {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    match Arguments::parse().command {
        Command::Run {
            quick,
            program,
            out,
            section,
        } => runtime.block_on(run(Bench::new(program, quick, out)?, &section)),
        Command::Report { results, docs } => report::write(&results, &docs),
        Command::Scale { results, docs } => scale::write(&results, &docs),
        Command::Bare { file } => runtime.block_on(bare::files(&file)),
        Command::BareProxy { upstream } => runtime.block_on(bare::proxy(&upstream)),
        Command::Forks { count } => runtime.block_on(forks::measure(count)),
    }
}

/// Settings of a run, and its figures so far.
pub(crate) struct Bench {
    pub(crate) program: PathBuf,
    pub(crate) quick: bool,
    pub(crate) folder: tempfile::TempDir,
    out: PathBuf,
    rows: Vec<Row>,
}

impl Bench {
    fn new(program: PathBuf, quick: bool, out: PathBuf) -> Outcome<Self> {
        Ok(Self {
            program,
            quick,
            folder: tempfile::tempdir()?,
            out,
            rows: Vec::new(),
        })
    }

    /// Returns the number of rounds of a figure.
    pub(crate) fn rounds(&self) -> usize {
        if self.quick { 3 } else { 7 }
    }

    /// Returns the first size in a quick run, else the second.
    pub(crate) fn size(&self, quick: usize, full: usize) -> usize {
        if self.quick { quick } else { full }
    }

    /// Starts the program with `serve`, on a port that the system chooses.
    pub(crate) fn serve(&self, arguments: &[&str]) -> Outcome<server::Server> {
        let arguments = [&["serve", "--listen", "127.0.0.1:0"], arguments].concat();
        server::Server::start(&self.program, &arguments)
    }

    /// Records and prints a row.
    pub(crate) fn add(&mut self, row: Row) {
        if self.rows.last().is_none_or(|last| last.section != row.section) {
            println!("{}", results::head(&row.section, report::size_of(&row.section)));
        }
        println!("{}", row.line());
        self.rows.push(row);
    }

    /// Replaces the sections of this run in the file.
    fn save(&self) -> Outcome {
        let before: Vec<Row> = match std::fs::read(&self.out) {
            Ok(json) => serde_json::from_slice(&json)?,
            Err(_) => Vec::new(),
        };
        let is_new = |row: &Row| self.rows.iter().any(|new| new.section == row.section);
        let kept = before.into_iter().filter(|row| !is_new(row));
        let mut rows: Vec<Row> = kept.chain(self.rows.iter().cloned()).collect();
        rows.sort_by_key(|row| report::place(&row.section));
        if let Some(folder) = self.out.parent() {
            std::fs::create_dir_all(folder)?;
        }
        Ok(std::fs::write(&self.out, serde_json::to_vec_pretty(&rows)?)?)
    }
}

async fn run(mut bench: Bench, sections: &[String]) -> Outcome {
    let wanted = |name: &str| sections.is_empty() || sections.iter().any(|section| section == name);
    let mut failed = Vec::new();
    for name in [
        "start",
        "requests",
        "fanout",
        "passing",
        "search",
        "elasticsearch",
        "stores",
        "living",
    ] {
        if !wanted(name) {
            continue;
        }
        let measured = match name {
            "start" => start::measure(&mut bench).await,
            "requests" => requests::measure(&mut bench).await,
            "fanout" => fanout::measure(&mut bench).await,
            "passing" => passing::measure(&mut bench).await,
            "search" => search::measure(&mut bench).await,
            "elasticsearch" => elasticsearch::measure(&mut bench).await,
            "stores" => stores::measure(&mut bench).await,
            _ => living::measure(&mut bench).await,
        };
        // A failed section does not lose the figures of the others.
        if let Err(error) = measured {
            eprintln!("{name}: {error}");
            failed.push(name);
        }
        bench.save()?;
    }
    if failed.is_empty() {
        Ok(())
    } else {
        Err(format!("failed: {}", failed.join(", ")).into())
    }
}
