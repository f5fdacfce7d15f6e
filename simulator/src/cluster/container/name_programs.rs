//! Programs that look names up: `nslookup`, `dig`, `getent`.
//!
//! Limits: the hosts file of the pod and the names of the cluster; `dig` asks for A and SRV records.
//! Source of the forms: BusyBox 1.22, dig 9.9, glibc.

use std::{fmt::Write, net::Ipv4Addr};

use stuntdouble_shell::{Call, hosts_with};

use super::net_programs::{Peer, complain};
use crate::cluster::{Meaning, NAME_SERVER};

/// Seconds that a record holds, as the cluster's name server says.
const TIME_TO_LIVE: u32 = 30;
/// Status of `getent` where there is no entry.
const NO_ENTRY: i32 = 2;

pub(super) async fn nslookup(peer: Peer, call: Call) -> i32 {
    let Some(name) = call.command.get(1) else {
        return complain(&call, "Usage: nslookup [HOST] [SERVER]".to_owned(), 1).await;
    };
    let mut text = format!("Server:    {NAME_SERVER}\nAddress 1: {NAME_SERVER}\n\n");
    let addresses = peer.network.lookup(name, &peer.namespace);
    if addresses.is_empty() {
        let _ = call.stdout.write(text).await;
        return complain(&call, format!("nslookup: can't resolve '{name}'"), 1).await;
    }
    // Writing to a text cannot fail.
    let _ = writeln!(text, "Name:      {name}");
    for (number, address) in (1..).zip(addresses) {
        let _ = writeln!(text, "Address {number}: {address}");
    }
    i32::from(call.stdout.write(text).await.is_err())
}

/// What `dig` is to ask, and how it prints the answer.
struct Query<'a> {
    name: &'a str,
    kind: &'a str,
    search: bool,
    short: bool,
    /// Whether the answer's records are printed, and whether everything else is.
    answer: bool,
    comments: bool,
}

impl<'a> Query<'a> {
    fn parse(arguments: &'a [String]) -> Self {
        let mut query = Self {
            name: "",
            kind: "A",
            search: false,
            short: false,
            answer: true,
            comments: true,
        };
        for argument in arguments {
            match argument.as_str() {
                "+search" => query.search = true,
                "+short" => query.short = true,
                "+noall" => (query.answer, query.comments) = (false, false),
                "+answer" => query.answer = true,
                kind @ ("A" | "AAAA" | "ANY" | "CNAME" | "MX" | "NS" | "PTR" | "SOA" | "SRV" | "TXT") => {
                    query.kind = kind;
                }
                option if option.starts_with(['+', '-', '@']) => {}
                name => query.name = name,
            }
        }
        query
    }
}

/// `dig [@SERVER] [+short] [+noall] [+answer] [+search] NAME [TYPE]`.
pub(super) async fn dig(peer: Peer, call: Call) -> i32 {
    let query = Query::parse(call.command.get(1..).unwrap_or_default());
    let (name, meaning) = peer.network.meaning(query.name, &peer.namespace, query.search);
    let name = name.trim_end_matches('.');
    let values = records(query.kind, &meaning);
    let mut text = String::new();
    // Writing to a text cannot fail.
    if query.short {
        for (_, value) in &values {
            let _ = writeln!(text, "{value}");
        }
        return i32::from(call.stdout.write(text).await.is_err());
    }
    if query.comments {
        let status = match meaning {
            Meaning::Foreign => "REFUSED",
            Meaning::Missing => "NXDOMAIN",
            _ => "NOERROR",
        };
        let _ = write!(
            text,
            ";; ->>HEADER<<- opcode: QUERY, status: {status}\n\n;; QUESTION SECTION:\n;{name}.\t\tIN\t{}\n\n",
            query.kind
        );
        if !values.is_empty() {
            text.push_str(";; ANSWER SECTION:\n");
        }
    }
    if query.answer {
        for (kind, value) in &values {
            let _ = writeln!(text, "{name}.\t{TIME_TO_LIVE}\tIN\t{kind}\t{value}");
        }
    }
    if query.comments {
        let _ = writeln!(text, "\n;; SERVER: {NAME_SERVER}#53({NAME_SERVER})");
    }
    i32::from(call.stdout.write(text).await.is_err())
}

/// The records of a type with their values.
fn records(kind: &str, meaning: &Meaning) -> Vec<(&'static str, String)> {
    match (kind, meaning) {
        ("A" | "ANY", Meaning::Addresses(addresses)) => {
            addresses.iter().map(|address| ("A", address.to_string())).collect()
        }
        ("SRV" | "ANY", Meaning::Ports(ports)) => {
            let weight = 100 / ports.len().max(1);
            let value = |port: &crate::cluster::ServicePort| format!("10 {weight} {} {}.", port.port, port.host);
            ports.iter().map(|port| ("SRV", value(port))).collect()
        }
        _ => Vec::new(),
    }
}

/// `getent hosts NAME...`.
pub(super) async fn getent(peer: Peer, call: Call) -> i32 {
    let (database, names) = match call.command.get(1..) {
        Some([database, names @ ..]) if !names.is_empty() => (database.as_str(), names),
        _ => return complain(&call, "getent: usage: getent hosts NAME...".to_owned(), 1).await,
    };
    if !matches!(database, "hosts" | "ahosts" | "ahostsv4") {
        return complain(&call, format!("Unknown database: {database}"), 1).await;
    }
    let hosts = call.machine.files.read("/etc/hosts").unwrap_or_default();
    let hosts = String::from_utf8_lossy(&hosts);
    let mut status = 0;
    for name in names {
        let addresses = match in_file(&hosts, name) {
            Some(address) => vec![address],
            None => peer.network.lookup(name, &peer.namespace),
        };
        if addresses.is_empty() {
            status = NO_ENTRY;
        }
        for address in addresses {
            // Nobody may be reading it.
            let _ = call.stdout.write(format!("{address:<15} {name}\n")).await;
        }
    }
    status
}

/// The IPv4 address that a hosts file has for a name.
fn in_file(hosts: &str, name: &str) -> Option<Ipv4Addr> {
    hosts_with(hosts, name).find_map(|fields| fields.first()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_a_name_a_type_and_options() {
        let words = [
            "+notcp",
            "+noall",
            "+answer",
            "+search",
            "@10.0.0.10",
            "_http._tcp.web",
            "SRV",
        ]
        .map(str::to_owned);
        let query = Query::parse(&words);
        assert_eq!((query.name, query.kind), ("_http._tcp.web", "SRV"));
        assert_eq!((query.search, query.answer, query.comments), (true, true, false));
    }

    #[test]
    fn a_hosts_file_has_several_names_for_an_address() {
        let hosts =
            "# Kubernetes-managed hosts file.\n::1\tlocalhost\n10.244.1.3\tfirst.db.n.svc.cluster.local\tfirst # own\n";
        assert_eq!(in_file(hosts, "first"), Some(Ipv4Addr::new(10, 244, 1, 3)));
        assert_eq!((in_file(hosts, "own"), in_file(hosts, "db")), (None, None));
    }
}
