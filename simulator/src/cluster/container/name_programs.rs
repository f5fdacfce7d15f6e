//! Programs that look up names: `nslookup`, `dig`, `getent`.
//!
//! Limits: the pod's hosts file and the names of the cluster; `dig` queries A and SRV records only.
//! Source of the output formats: BusyBox 1.22, dig 9.9, glibc.

use std::{fmt::Write, net::Ipv4Addr};

use stuntdouble_shell::{Call, hosts_with};

use super::net_programs::{Peer, write_error};
use crate::cluster::{NAME_SERVER, Resolution};

/// TTL in seconds, as the cluster's name server sends it.
const TTL: u32 = 30;
/// Exit code of `getent` if there is no entry.
const NO_ENTRY: i32 = 2;

pub(super) async fn nslookup(peer: Peer, call: Call) -> i32 {
    let Some(name) = call.command.get(1) else {
        return write_error(&call, "Usage: nslookup [HOST] [SERVER]".to_owned(), 1).await;
    };
    let mut text = format!("Server:    {NAME_SERVER}\nAddress 1: {NAME_SERVER}\n\n");
    let addresses = peer.network.lookup(name, &peer.namespace);
    if addresses.is_empty() {
        let _ = call.stdout.write(text).await;
        return write_error(&call, format!("nslookup: can't resolve '{name}'"), 1).await;
    }
    // Writing to a string cannot fail.
    let _ = writeln!(text, "Name:      {name}");
    for (number, address) in (1..).zip(addresses) {
        let _ = writeln!(text, "Address {number}: {address}");
    }
    i32::from(call.stdout.write(text).await.is_err())
}

/// The query of a `dig` command, and its output options.
struct Query<'a> {
    name: &'a str,
    kind: &'a str,
    search: bool,
    short: bool,
    /// Whether to print the answer section, and whether to print everything else.
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
    let (name, resolution) = peer.network.resolve_name(query.name, &peer.namespace, query.search);
    let name = name.trim_end_matches('.');
    let values = records(query.kind, &resolution);
    let mut text = String::new();
    // Writing to a string cannot fail.
    if query.short {
        for (_, value) in &values {
            let _ = writeln!(text, "{value}");
        }
        return i32::from(call.stdout.write(text).await.is_err());
    }
    if query.comments {
        let status = match resolution {
            Resolution::Foreign => "REFUSED",
            Resolution::Missing => "NXDOMAIN",
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
            let _ = writeln!(text, "{name}.\t{TTL}\tIN\t{kind}\t{value}");
        }
    }
    if query.comments {
        let _ = writeln!(text, "\n;; SERVER: {NAME_SERVER}#53({NAME_SERVER})");
    }
    i32::from(call.stdout.write(text).await.is_err())
}

/// Returns the record type and value of each record of the queried type.
fn records(kind: &str, resolution: &Resolution) -> Vec<(&'static str, String)> {
    match (kind, resolution) {
        ("A" | "ANY", Resolution::Addresses(addresses)) => {
            addresses.iter().map(|address| ("A", address.to_string())).collect()
        }
        ("SRV" | "ANY", Resolution::Ports(ports)) => {
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
        _ => return write_error(&call, "getent: usage: getent hosts NAME...".to_owned(), 1).await,
    };
    if !matches!(database, "hosts" | "ahosts" | "ahostsv4") {
        return write_error(&call, format!("Unknown database: {database}"), 1).await;
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
            // An error means that nobody reads the output.
            let _ = call.stdout.write(format!("{address:<15} {name}\n")).await;
        }
    }
    status
}

/// Returns the IPv4 address of a name in a hosts file.
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
    fn a_line_of_a_hosts_file_may_have_several_names() {
        let hosts =
            "# Kubernetes-managed hosts file.\n::1\tlocalhost\n10.244.1.3\tfirst.db.n.svc.cluster.local\tfirst # own\n";
        assert_eq!(in_file(hosts, "first"), Some(Ipv4Addr::new(10, 244, 1, 3)));
        assert_eq!((in_file(hosts, "own"), in_file(hosts, "db")), (None, None));
    }
}
