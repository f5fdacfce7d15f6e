//! Shared by the commands that listen: addresses, the ready line, the line at the end.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::net::{Ipv4Addr, SocketAddr};

use super::CommandError;
use super::signal::StopSignal;

/// Parses `ADDRESS:PORT`, `localhost:PORT` or `PORT`. Default address: 127.0.0.1.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    let loopback = |port: &str| port.parse().ok().map(|port: u16| (Ipv4Addr::LOCALHOST, port).into());
    let port = text.strip_prefix("localhost").unwrap_or(text);
    let port = port.strip_prefix(':').unwrap_or(port);
    text.parse()
        .ok()
        .or_else(|| loopback(port))
        .ok_or_else(|| "expected ADDRESS:PORT or PORT, such as 127.0.0.1:8080 or 8080".to_owned())
}

/// Catches the signals that stop a server.
pub(super) fn stop_signal() -> Result<StopSignal, CommandError> {
    StopSignal::catch_with_deadline()
        .map_err(|error| CommandError::unreachable(format!("cannot catch signals: {error}")))
}

/// Prints the ready line on standard output, and on a terminal what to do next.
pub(super) fn ready(addresses: impl Display, next: &str) {
    let mut out = io::stdout();
    let next = if out.is_terminal() { next } else { "" };
    // Standard output may be closed: not an error.
    let _ = write!(out, "{}", ready_text(addresses, next)).and_then(|()| out.flush());
}

fn ready_text(addresses: impl Display, next: &str) -> String {
    let next: String = next.lines().map(|line| format!("  {line}\n")).collect();
    format!("ready: {addresses}\n{next}")
}

/// Prints on standard error that a server has stopped.
pub(super) fn stopped() {
    eprintln!("stuntdouble: stopped");
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("8080", Some("127.0.0.1:8080"))]
    #[case(":8080", Some("127.0.0.1:8080"))]
    #[case("localhost:0", Some("127.0.0.1:0"))]
    #[case("0.0.0.0:80", Some("0.0.0.0:80"))]
    #[case("[::1]:80", Some("[::1]:80"))]
    #[case("70000", None)]
    #[case("example.com:80", None)]
    #[case("localhost", None)]
    #[case("", None)]
    fn the_default_address_is_loopback(#[case] text: &str, #[case] parsed: Option<&str>) {
        assert_eq!(address(text).ok().map(|address| address.to_string()).as_deref(), parsed);
    }

    #[test]
    fn hints_follow_the_ready_line() {
        assert_eq!(ready_text("http://h:1", "a\nb"), "ready: http://h:1\n  a\n  b\n");
        assert_eq!(ready_text("http://h:1", ""), "ready: http://h:1\n");
    }
}
