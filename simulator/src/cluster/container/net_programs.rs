//! Programs that use the pods' network: `wget`, `curl`, `nc`, and those that [look up names](super::name_programs).
//!
//! Limits: HTTP between simulated containers only; nothing leaves the process.
//! Source of the texts: BusyBox 1.22, curl 7.

use std::{net::Ipv4Addr, sync::Arc};

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, Response};
use stuntdouble_shell::{Call, Program, absolute};

use super::{
    name_programs,
    network::{Host, Network},
};

/// Exit code if the peer cannot be reached.
const UNREACHABLE: i32 = 1;

/// One of the programs, in a pod of a namespace.
pub(super) struct NetProgram {
    pub(super) name: &'static str,
    pub(super) host: Ipv4Addr,
    pub(super) namespace: Arc<str>,
    pub(super) network: Arc<Network>,
}

/// The names of the programs.
pub(super) const NAMES: [&str; 7] = ["curl", "dig", "getent", "nc", "nslookup", "telnet", "wget"];

impl Program for NetProgram {
    fn run(&self, call: Call) -> BoxFuture<'static, i32> {
        let peer = Peer {
            host: self.host,
            namespace: self.namespace.clone(),
            network: self.network.clone(),
        };
        match self.name {
            "wget" => Box::pin(wget(peer, call)),
            "curl" => Box::pin(curl(peer, call)),
            "dig" => Box::pin(name_programs::dig(peer, call)),
            "getent" => Box::pin(name_programs::getent(peer, call)),
            "nslookup" => Box::pin(name_programs::nslookup(peer, call)),
            _ => Box::pin(connect(peer, call)),
        }
    }
}

/// A client in a pod's network.
pub(super) struct Peer {
    host: Ipv4Addr,
    pub(super) namespace: Arc<str>,
    pub(super) network: Arc<Network>,
}

/// The reason why there is no response.
enum Unreachable {
    BadAddress(String),
    Refused(Ipv4Addr, u16),
}

/// The parts of a URL.
struct Url {
    host: String,
    port: u16,
    path: String,
}

impl Url {
    fn parse(text: &str) -> Self {
        let rest = text.strip_prefix("http://").unwrap_or(text);
        let rest = rest.strip_prefix("https://").unwrap_or(rest);
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let default = if text.starts_with("https://") { 443 } else { 80 };
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) => (host, port.parse().unwrap_or(default)),
            None => (authority, default),
        };
        Self {
            host: host.to_owned(),
            port,
            path: if path.starts_with('/') {
                path.to_owned()
            } else {
                format!("/{path}")
            },
        }
    }
}

impl Peer {
    /// Resolves a name or address to an address and port. Loopback is the pod itself.
    fn resolve(&self, host: &str, port: u16) -> Option<(Ipv4Addr, u16)> {
        let is_loopback = host.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback());
        if is_loopback || host == "localhost" {
            return Some((self.host, port));
        }
        self.network.resolve(host, port, &self.namespace)
    }

    async fn send(&self, method: &str, url: &str, body: Bytes, agent: &str) -> Result<Response<Bytes>, Unreachable> {
        let Url { host, port, path } = Url::parse(url);
        let resolved = self.resolve(&host, port);
        let (address, port) = resolved.ok_or_else(|| Unreachable::BadAddress(host.clone()))?;
        let Host::Listening(server) = self.network.at(address, port) else {
            return Err(Unreachable::Refused(address, port));
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", host)
            .header("user-agent", agent)
            .body(body)
            .map_err(|_| Unreachable::BadAddress(url.to_owned()))?;
        Ok(server.answer(request).await)
    }
}

pub(super) async fn write_error(call: &Call, why: String, status: i32) -> i32 {
    // An error means that nobody reads the output.
    let _ = call.stderr.write(why + "\n").await;
    status
}

/// Writes a body to standard output, or to the file `to`.
async fn write_body(call: &Call, to: Option<&str>, body: Bytes) -> i32 {
    match to {
        None | Some("-") => i32::from(call.stdout.write(body).await.is_err()),
        Some(path) => {
            let written = call.machine.files.write(&absolute(&call.directory, path), &body, false);
            match written {
                Ok(()) => 0,
                Err(why) => write_error(call, format!("can't open '{path}': {why}"), 1).await,
            }
        }
    }
}

/// Returns the value of an option, from the next argument or after `=`.
fn option<'a>(arguments: &'a [String], at: usize, name: &str) -> Option<&'a str> {
    let argument = arguments.get(at)?;
    match argument.strip_prefix(name)? {
        "" => arguments.get(at + 1).map(String::as_str),
        rest => Some(rest.strip_prefix('=').unwrap_or(rest)),
    }
}

async fn wget(peer: Peer, call: Call) -> i32 {
    let arguments = call.command.get(1..).unwrap_or_default();
    let (mut output, mut body, mut url, mut quiet, mut skip) = (None, None, None, false, false);
    for (at, argument) in arguments.iter().enumerate() {
        if std::mem::take(&mut skip) {
            continue;
        }
        let value = |name: &str| option(arguments, at, name);
        if let Some(data) = value("--post-data") {
            (body, skip) = (Some(Bytes::copy_from_slice(data.as_bytes())), argument == "--post-data");
        } else if let Some(path) = value("--post-file") {
            let content = call.machine.files.read(&absolute(&call.directory, path));
            (body, skip) = (Some(content.unwrap_or_default()), argument == "--post-file");
        } else if let Some(flags) = argument.strip_prefix('-').filter(|flags| !flags.starts_with('-')) {
            quiet |= flags.contains('q');
            if let Some(rest) = flags.find('O').and_then(|at| flags.get(at + 1..)) {
                skip = rest.is_empty();
                output = if skip {
                    arguments.get(at + 1).map(String::as_str)
                } else {
                    Some(rest)
                };
            }
            skip |= matches!(flags, "T" | "t" | "U");
        } else if !argument.starts_with("--") {
            url = Some(argument.as_str());
        }
    }
    let Some(url) = url else {
        return write_error(&call, "wget: missing URL".to_owned(), 1).await;
    };
    let method = if body.is_some() { "POST" } else { "GET" };
    let host = Url::parse(url).host;
    let response = match peer.send(method, url, body.unwrap_or_default(), "Wget").await {
        Ok(response) => response,
        Err(Unreachable::BadAddress(host)) => {
            return write_error(&call, format!("wget: bad address '{host}'"), UNREACHABLE).await;
        }
        Err(Unreachable::Refused(address, port)) => {
            let why = format!("wget: can't connect to remote host ({address}): Connection refused");
            if !quiet {
                write_error(&call, format!("Connecting to {host} ({address}:{port})"), 0).await;
            }
            return write_error(&call, why, UNREACHABLE).await;
        }
    };
    if !response.status().is_success() {
        let why = format!("wget: server returned error: HTTP/1.1 {}", response.status());
        return write_error(&call, why, 1).await;
    }
    let path = Url::parse(url).path;
    let name = path
        .rsplit('/')
        .next()
        .filter(|name| !name.is_empty())
        .unwrap_or("index.html");
    write_body(&call, output.or(Some(name)), response.into_body()).await
}

async fn curl(peer: Peer, call: Call) -> i32 {
    let arguments = call.command.get(1..).unwrap_or_default();
    let (mut output, mut body, mut method, mut url, mut flags) = (None, None, None, None, String::new());
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "-o" | "--output" => output = rest.next().map(String::as_str),
            "-d" | "--data" => body = rest.next().cloned(),
            "-X" | "--request" => method = rest.next().cloned(),
            "-H" | "--header" | "-m" | "--max-time" | "--connect-timeout" | "-A" | "-u" | "-w" | "--retry" => {
                rest.next();
            }
            long if long.starts_with("--") => flags.push_str(match long {
                "--silent" => "s",
                "--fail" => "f",
                "--head" => "I",
                "--include" => "i",
                _ => "",
            }),
            short if short.starts_with('-') => flags.push_str(short),
            other => url = Some(other),
        }
    }
    let Some(url) = url else {
        return write_error(&call, "curl: no URL specified!".to_owned(), 2).await;
    };
    let default = match (&body, flags.contains('I')) {
        (_, true) => "HEAD",
        (Some(_), _) => "POST",
        (None, _) => "GET",
    };
    let method = method.unwrap_or_else(|| default.to_owned());
    let response = match peer
        .send(&method, url, body.unwrap_or_default().into(), "curl/7.38.0")
        .await
    {
        Ok(response) => response,
        Err(Unreachable::BadAddress(host)) => {
            return write_error(&call, format!("curl: (6) Could not resolve host: {host}"), 6).await;
        }
        Err(Unreachable::Refused(address, port)) => {
            let why = format!("curl: (7) Failed to connect to {address} port {port}: Connection refused");
            return write_error(&call, why, 7).await;
        }
    };
    if flags.contains('f') && !response.status().is_success() {
        let code = response.status().as_u16();
        let why = format!("curl: (22) The requested URL returned error: {code}");
        return write_error(&call, why, 22).await;
    }
    let mut text = Vec::new();
    if flags.contains(['I', 'i']) {
        text.extend(format!("HTTP/1.1 {}\r\n", response.status()).into_bytes());
        for (name, value) in response.headers() {
            text.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
        }
        text.extend_from_slice(b"\r\n");
    }
    if !flags.contains('I') {
        text.extend_from_slice(response.body());
    }
    write_body(&call, output, text.into()).await
}

/// `nc [-z] HOST PORT` and `telnet HOST PORT`: checks whether a port is open.
async fn connect(peer: Peer, call: Call) -> i32 {
    let mut operands = call
        .command
        .iter()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'));
    let (host, port) = (operands.next(), operands.next().and_then(|port| port.parse().ok()));
    let (Some(host), Some(port)) = (host, port) else {
        return write_error(&call, "usage: nc [-z] HOST PORT".to_owned(), 1).await;
    };
    match peer.resolve(host, port) {
        None => write_error(&call, format!("nc: bad address '{host}'"), 1).await,
        Some((address, port)) => match peer.network.at(address, port) {
            Host::Listening(_) => 0,
            _ => {
                let why = format!("nc: can't connect to remote host ({address}): Connection refused");
                write_error(&call, why, 1).await
            }
        },
    }
}
