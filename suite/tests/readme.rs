//! Runs the commands of the README.
//!
//! Each section is one test. Its `sh` blocks run line by line in an empty folder. A line that ends in `&` starts a
//! server, on a port that the system chooses, and waits until it is ready. Any other line must exit with 0. Lines whose
//! program is not installed are skipped, with a message.

#![expect(clippy::unwrap_used, reason = "a test may panic, and so may its helpers")]

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use libtest_mimic::{Arguments, Failed, Trial};
use stuntdouble_etcd::Cluster;

/// Programs that may not be installed.
const OPTIONAL: [&str; 2] = ["kubectl", "curl"];

/// Default ports of the servers.
const DEFAULT_PORTS: [(&str, &str); 3] = [("serve", "8080"), ("proxy", "8001"), ("search", "9200")];

const ETCD_PORT: &str = "2379";

fn main() {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md")).unwrap();
    let trials = sections(&readme)
        .into_iter()
        .map(|(heading, lines)| Trial::test(heading, move || run(&lines)))
        .collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// Returns the sections with commands, in order.
fn sections(readme: &str) -> Vec<(String, Vec<String>)> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    let mut in_block = false;
    for line in readme.lines() {
        match (in_block, line) {
            (true, "```") => in_block = false,
            (true, line) => {
                let command = line
                    .split("  #")
                    .next()
                    .unwrap()
                    .trim()
                    .replacen("cargo run --", "stuntdouble", 1);
                // `cargo test` would run this test again, and the program needs no installation here.
                if !["cargo test", "cargo install --path suite"].contains(&command.as_str()) {
                    found.last_mut().unwrap().1.push(command);
                }
            }
            (false, "```sh") => in_block = true,
            (false, line) => {
                if let Some(heading) = line.strip_prefix("## ") {
                    found.push((heading.to_owned(), Vec::new()));
                }
            }
        }
    }
    found.retain(|(_, lines)| !lines.is_empty());
    assert!(found.len() > 4, "found too few sections with commands in the README");
    found
}

/// Servers of a section, with pairs of the port in the README and the actual port.
#[derive(Default)]
struct Servers {
    processes: Vec<Child>,
    ports: Vec<(String, String)>,
    etcd: Option<Cluster>,
}

impl Drop for Servers {
    fn drop(&mut self) {
        for process in &mut self.processes {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

fn run(lines: &[String]) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let mut servers = Servers::default();
    for command in lines {
        let program = command.split(' ').next().unwrap();
        if OPTIONAL.contains(&program) && !is_installed(program) {
            eprintln!("skipped: {command} ({program} is not installed)");
            continue;
        }
        if command == "etcd &" {
            let Some(cluster) = Cluster::start(1) else {
                return Ok(());
            };
            let port = cluster.urls()[0].rsplit(':').next().unwrap().to_owned();
            servers.ports.push((ETCD_PORT.to_owned(), port));
            servers.etcd = Some(cluster);
        } else if let Some(server) = command.strip_suffix(" &") {
            start(server, folder.path(), &mut servers)?;
        } else if let Some(number) = command.strip_prefix("kill -INT %") {
            let number: usize = number.split(' ').next().unwrap().parse()?;
            interrupt(servers.processes.get_mut(number - 1).ok_or("no such server")?)?;
        } else {
            execute(&with_ports(command, &servers.ports), folder.path())?;
        }
    }
    Ok(())
}

fn is_installed(program: &str) -> bool {
    let found = Command::new("bash")
        .args(["-c", &format!("command -v {program}")])
        .output();
    found.is_ok_and(|output| output.status.success())
}

/// Replaces the ports of the README by those that the system chose.
fn with_ports(command: &str, ports: &[(String, String)]) -> String {
    ports.iter().fold(command.to_owned(), |command, (readme, actual)| {
        command.replace(&format!("127.0.0.1:{readme}"), &format!("127.0.0.1:{actual}"))
    })
}

/// Prepares a command of the README. `stuntdouble` is the program under test, and curl fails on an error status.
fn shell(command: &str, folder: &Path) -> Command {
    let mut shell = Command::new("bash");
    let command = command.replacen("curl ", "curl -fsS ", 1);
    let program = Path::new(env!("CARGO_BIN_EXE_stuntdouble"));
    let path = std::env::var("PATH").unwrap_or_default();
    shell
        .args(["-c", &command])
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", program.parent().unwrap().display()))
        .env("HOME", folder)
        .stdin(Stdio::null());
    shell
}

fn execute(command: &str, folder: &Path) -> Result<(), Failed> {
    let output = shell(command, folder).output()?;
    if output.status.success() {
        return Ok(());
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Err(format!(
        "{command}: {}\n{}{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    )
    .into())
}

/// Starts a server, and records its actual ports.
fn start(command: &str, folder: &Path, servers: &mut Servers) -> Result<(), Failed> {
    let subcommand = command.split(' ').nth(1).unwrap_or_default();
    let mut command = with_ports(command, &servers.ports);
    let mut readme_ports = Vec::new();
    for flag in ["--listen 127.0.0.1:", "--secure-listen 127.0.0.1:"] {
        if let Some(port) = command.split(flag).nth(1).and_then(|rest| rest.split(' ').next()) {
            readme_ports.push(port.to_owned());
            command = command.replace(&format!("{flag}{port}"), &format!("{flag}0"));
        }
    }
    if !command.contains("--listen ") {
        let (_, port) = DEFAULT_PORTS
            .iter()
            .find(|(name, _)| *name == subcommand)
            .ok_or("a server with --listen")?;
        readme_ports.insert(0, (*port).to_owned());
        command.push_str(" --listen 127.0.0.1:0");
    }
    let mut process = shell(&format!("exec {command}"), folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()?;
    let mut ready = String::new();
    let mut stdout = BufReader::new(process.stdout.take().unwrap());
    stdout.read_line(&mut ready)?;
    servers.processes.push(process);
    std::thread::spawn(move || stdout.read_to_end(&mut Vec::new()));
    let actual: Vec<&str> = ready
        .split("127.0.0.1:")
        .skip(1)
        .filter_map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next())
        .collect();
    if actual.len() < readme_ports.len() {
        return Err(format!("{command}: expected a ready line with its addresses, got {ready:?}").into());
    }
    servers
        .ports
        .extend(readme_ports.into_iter().zip(actual.into_iter().map(str::to_owned)));
    Ok(())
}

/// Stops a server with SIGINT, and waits until it has ended.
fn interrupt(process: &mut Child) -> Result<(), Failed> {
    let signalled = Command::new("bash")
        .args(["-c", &format!("kill -INT {}", process.id())])
        .status()?;
    if !signalled.success() {
        return Err("cannot send SIGINT to the server".into());
    }
    process.wait()?;
    Ok(())
}
