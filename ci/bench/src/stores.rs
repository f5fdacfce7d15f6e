//! Comparison of the stores.

use std::{
    path::Path,
    process::{Child, Command, Stdio},
};

use crate::{
    Bench,
    client::{Client, Outcome, throughput},
    objects::{PODS, count, creates},
    results::{Bar, Row},
    server::Server,
    statistics::median,
};

const SECTION: &str = "Stores";
const CONNECTIONS: [usize; 3] = [1, 16, 64];
/// Client and peer port of the etcd that is started.
const ETCD: [u16; 2] = [23790, 23800];

/// A store, and the arguments that select it.
struct Choice {
    name: &'static str,
    arguments: Vec<String>,
    bar: Option<f64>,
}

pub(crate) async fn measure(bench: &mut Bench) -> Outcome {
    let folder = |name: &str| bench.folder.path().join(name).display().to_string();
    let durable = |mode: &str| vec!["--data-dir".into(), folder(mode), "--durability".into(), mode.into()];
    let mut choices = vec![
        Choice {
            name: "in memory",
            arguments: Vec::new(),
            bar: Some(15_000.0),
        },
        Choice {
            name: "directory, `--durability interval`",
            arguments: durable("interval"),
            bar: None,
        },
        Choice {
            name: "directory, `--durability sync`",
            arguments: durable("sync"),
            bar: Some(3_000.0),
        },
    ];
    let etcd = if has_etcd_store(bench)? {
        Etcd::start(bench.folder.path())?
    } else {
        None
    };
    match &etcd {
        Some(_) => choices.push(Choice {
            name: "one etcd",
            arguments: vec!["--etcd".into(), format!("http://127.0.0.1:{}", ETCD[0])],
            bar: None,
        }),
        None => println!("skipped: etcd (not installed, or the program has no etcd store)"),
    }
    for choice in choices {
        let arguments: Vec<&str> = ["--bare"]
            .into_iter()
            .chain(choice.arguments.iter().map(String::as_str))
            .collect();
        let server = bench.serve(&arguments)?;
        creations(bench, &choice, &server).await?;
        server.end()?;
    }
    Ok(())
}

async fn creations(bench: &mut Bench, choice: &Choice, server: &Server) -> Outcome {
    let mut expected = 0;
    for connections in CONNECTIONS {
        let each = bench.size(1_000, 4_000) / if connections == 1 { 4 } else { 1 };
        let mut rates = Vec::new();
        for n in 0..bench.rounds() {
            let requests = creates(&format!("s{connections}-{n}"), 0..each);
            rates.push(throughput(&server.address, connections, &requests).await?);
            expected += each;
        }
        let name = format!("create pods, {}", choice.name);
        let row = Row::new(SECTION, &name, median(&rates), "requests/s").at(connections);
        bench.add(match choice.bar {
            Some(bar) if connections == 64 => row.bar(Bar::AtLeast(bar)),
            _ => row,
        });
    }
    let stored = count(&mut Client::connect(&server.address).await?, PODS).await?;
    if stored == expected {
        Ok(())
    } else {
        Err(format!("{}: found {stored} pods, expected {expected}", choice.name).into())
    }
}

fn has_etcd_store(bench: &Bench) -> Outcome<bool> {
    let help = Command::new(&bench.program).args(["serve", "--help"]).output()?;
    Ok(String::from_utf8_lossy(&help.stdout).contains("--etcd"))
}

/// An etcd process. Dropping it kills it.
struct Etcd(Child);

impl Etcd {
    /// Starts etcd. `None` if it is not installed.
    fn start(folder: &Path) -> Outcome<Option<Self>> {
        let [client, peer] = ETCD.map(|port| format!("http://127.0.0.1:{port}"));
        let started = Command::new("etcd")
            .arg("--data-dir")
            .arg(folder.join("etcd"))
            .args(["--listen-client-urls", &client, "--advertise-client-urls", &client])
            .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
            .args(["--initial-cluster", &format!("default={peer}"), "--log-level", "error"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let etcd = match started {
            Ok(process) => Self(process),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        for _ in 0..100 {
            if std::net::TcpStream::connect(("127.0.0.1", ETCD[0])).is_ok() {
                return Ok(Some(etcd));
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        Err("etcd did not start".into())
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        // Fails if it has ended: not an error.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
