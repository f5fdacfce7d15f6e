//! Rules for names, keys, values and addresses, each with its error text.
//!
//! Source: `util/validation` of Kubernetes v1.2. Lengths are in bytes.

use std::net::{IpAddr, Ipv4Addr};

use crate::api::labels;

/// Result of a rule. The error describes the expected form.
pub(crate) type RuleResult = Result<(), &'static str>;

const DNS_LABEL: &str =
    "must be a DNS label (at most 63 characters, matching regex [a-z0-9]([-a-z0-9]*[a-z0-9])?): e.g. \"my-name\"";
const DNS_SUBDOMAIN: &str = "must be a DNS subdomain (at most 253 characters, \
    matching regex [a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*): e.g. \"example.com\"";
const DNS_952_LABEL: &str =
    "must be a DNS 952 label (at most 24 characters, matching regex [a-z]([-a-z0-9]*[a-z0-9])?): e.g. \"my-name\"";
const PORT_NAME: &str = "must be an IANA_SVC_NAME (at most 15 characters, \
    matching regex [a-z0-9]([a-z0-9-]*[a-z0-9])*, \
    it must contain at least one letter [a-z], and hyphens cannot be adjacent to other hyphens): e.g. \"http\"";
const C_IDENTIFIER: &str =
    "must be a C identifier (matching regex [A-Za-z_][A-Za-z0-9_]*): e.g. \"my_name\" or \"MyName\"";
const DATA_KEY: &str = "must have at most 253 characters and match regex \
    \\.?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const HTTP_HEADER_NAME: &str = "name must match [-A-Za-z0-9]+";
const PORT: &str = "must be between 1 and 65535, inclusive";

fn check(holds: bool, otherwise: &'static str) -> RuleResult {
    if holds { Ok(()) } else { Err(otherwise) }
}

/// Whether `text` is not empty, consists of `inner` characters, and starts and ends with an `outer` character.
fn framed(text: &str, outer: fn(u8) -> bool, inner: fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    matches!((bytes.first(), bytes.last()), (Some(first), Some(last)) if outer(*first) && outer(*last))
        && bytes.iter().all(|b| inner(*b))
}

fn lower_or_digit(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

fn label_shaped(text: &str) -> bool {
    framed(text, lower_or_digit, |b| lower_or_digit(b) || b == b'-')
}

fn subdomain_shaped(text: &str) -> bool {
    text.split('.').all(label_shaped)
}

/// A DNS label (RFC 1123).
pub(crate) fn dns_label(text: &str) -> RuleResult {
    check(text.len() <= 63 && label_shaped(text), DNS_LABEL)
}

/// A DNS subdomain (RFC 1123): labels separated by dots.
pub(crate) fn dns_subdomain(text: &str) -> RuleResult {
    check(labels::is_dns_subdomain(text), DNS_SUBDOMAIN)
}

/// A DNS label of RFC 952: at most 24 characters, starting with a letter.
pub(crate) fn dns_952_label(text: &str) -> RuleResult {
    check(
        text.len() <= 24 && label_shaped(text) && text.starts_with(|c: char| c.is_ascii_lowercase()),
        DNS_952_LABEL,
    )
}

/// A qualified name, with an optional DNS subdomain and slash: a label key, a resource name or a finalizer.
pub(crate) fn qualified_name(text: &str) -> RuleResult {
    check(labels::is_qualified_name(text), labels::QUALIFIED_NAME)
}

/// A label value, which may be empty.
pub(crate) fn label_value(text: &str) -> RuleResult {
    check(labels::is_label_value(text), labels::LABEL_VALUE)
}

/// The name of a port.
pub(crate) fn port_name(text: &str) -> RuleResult {
    let has_letter = text.bytes().any(|b| b.is_ascii_lowercase());
    check(
        text.len() <= 15 && label_shaped(text) && has_letter && !text.contains("--"),
        PORT_NAME,
    )
}

/// The name of an environment variable.
pub(crate) fn c_identifier(text: &str) -> RuleResult {
    let begins = text.bytes().next().is_some_and(|b| !b.is_ascii_digit());
    check(
        begins && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'),
        C_IDENTIFIER,
    )
}

/// A key in the data of a secret or config map: a DNS subdomain, optionally with a leading dot.
pub(crate) fn data_key(text: &str) -> RuleResult {
    check(
        text.len() <= 253 && subdomain_shaped(text.strip_prefix('.').unwrap_or(text)),
        DATA_KEY,
    )
}

/// The name of an HTTP header.
pub(crate) fn http_header_name(text: &str) -> RuleResult {
    check(
        !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-'),
        HTTP_HEADER_NAME,
    )
}

/// A port number.
pub(crate) fn port(number: i64) -> RuleResult {
    check((1..=65535).contains(&number), PORT)
}

/// A user or group ID.
pub(crate) fn user_or_group(number: i64) -> RuleResult {
    check(
        (0..=i64::from(i32::MAX)).contains(&number),
        "must be between 0 and 2147483647, inclusive",
    )
}

/// An IPv4 or IPv6 address.
pub(crate) fn ip(text: &str) -> Option<IpAddr> {
    text.parse().ok()
}

/// An IPv4 address, also in IPv6 notation.
pub(crate) fn ipv4(text: &str) -> Option<Ipv4Addr> {
    match ip(text)? {
        IpAddr::V4(address) => Some(address),
        IpAddr::V6(address) => address.to_ipv4_mapped(),
    }
}

/// A CIDR block, such as `10.0.0.0/8`.
pub(crate) fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else {
        return false;
    };
    let Some(address) = ip(address) else { return false };
    let digits = !bits.is_empty() && bits.len() <= 3 && bits.bytes().all(|b| b.is_ascii_digit());
    digits
        && bits
            .parse::<u8>()
            .is_ok_and(|bits| bits <= if address.is_ipv4() { 32 } else { 128 })
}

/// An integer with a percent sign. Returns the integer, at most `i64::MAX`.
pub(crate) fn percent(text: &str) -> Option<i64> {
    let digits = text
        .strip_suffix('%')
        .filter(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_digit()))?;
    Some(digits.parse().unwrap_or(i64::MAX))
}

/// A valid segment of a URL path.
pub(crate) fn path_segment(text: &str) -> RuleResult {
    match text {
        "." => Err("name may not be \".\""),
        ".." => Err("name may not be \"..\""),
        _ => path_segment_prefix(text),
    }
}

/// A valid prefix of a segment of a URL path.
pub(crate) fn path_segment_prefix(text: &str) -> RuleResult {
    if text.contains('/') {
        return Err("name may not contain \"/\"");
    }
    check(!text.contains('%'), "name may not contain \"%\"")
}

/// Rule for the names of a kind's objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameRule {
    /// [`dns_label`]
    DnsLabel,
    /// [`dns_952_label`]
    Dns952Label,
    /// [`dns_subdomain`]
    DnsSubdomain,
    /// [`path_segment`]: the minimum for every name
    PathSegment,
}

impl NameRule {
    /// Validates a whole name.
    pub(crate) fn name(self, name: &str) -> RuleResult {
        match self {
            Self::DnsLabel => dns_label(name),
            Self::Dns952Label => dns_952_label(name),
            Self::DnsSubdomain => dns_subdomain(name),
            Self::PathSegment => path_segment(name),
        }
    }

    /// Validates a generateName prefix.
    ///
    /// A trailing dash is valid: v1.2 replaces the last two characters by an `a` before it validates the prefix.
    pub(crate) fn prefix(self, prefix: &str) -> RuleResult {
        if self == Self::PathSegment {
            return path_segment_prefix(prefix);
        }
        let Some(stem) = prefix.strip_suffix('-').filter(|stem| !stem.is_empty()) else {
            return self.name(prefix);
        };
        let mut stem = stem.to_owned();
        stem.pop();
        stem.push('a');
        self.name(&stem)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(dns_label, &["a", "a-1", "0"], &["", "-a", "a-", "A", "a.b", "a_b"])]
    #[case(dns_subdomain, &["a", "a.b-c.0"], &["", ".a", "a.", "a..b", "A.b", "a-.b"])]
    #[case(dns_952_label, &["a", "a-1"], &["", "1a", "a.b", "aaaaaaaaaaaaaaaaaaaaaaaaa"])]
    #[case(qualified_name, &["a", "A_b.c-D", "example.com/x"], &["", "-x", "a b", "a/b/c", "/x", "x/", "UPPER.com/x"])]
    #[case(label_value, &["", "A", "a_b.c"], &["-", "a b", "a-"])]
    #[case(port_name, &["http", "p-1", "1a"], &["", "80", "a--b", "-a", "a-", "aaaaaaaaaaaaaaaa", "A"])]
    #[case(c_identifier, &["a", "_", "A1_b"], &["", "1a", "a-b", "é"])]
    #[case(data_key, &["a", ".a.b", "x-y"], &["", ".", "..a", "a b", "A"])]
    #[case(path_segment, &["A b", "a..", ""], &[".", "..", "a/b", "50%"])]
    fn rules_accept_and_reject(#[case] rule: fn(&str) -> RuleResult, #[case] good: &[&str], #[case] bad: &[&str]) {
        for text in good {
            assert_eq!(rule(text), Ok(()), "{text:?}");
        }
        for text in bad {
            assert!(rule(text).is_err(), "{text:?}");
        }
    }

    #[rstest]
    #[case(dns_label, 63)]
    #[case(dns_subdomain, 253)]
    #[case(dns_952_label, 24)]
    #[case(qualified_name, 63)]
    #[case(label_value, 63)]
    #[case(data_key, 253)]
    fn rules_have_a_maximum_length(#[case] rule: fn(&str) -> RuleResult, #[case] longest: usize) {
        assert_eq!(rule(&"a".repeat(longest)), Ok(()));
        assert!(rule(&"a".repeat(longest + 1)).is_err());
    }

    #[test]
    fn a_prefix_may_end_with_a_dash() {
        assert_eq!(NameRule::DnsSubdomain.prefix("gen-"), Ok(()));
        assert!(NameRule::DnsLabel.prefix("-").is_err());
        assert!(NameRule::DnsSubdomain.prefix("Gen-").is_err());
        assert!(NameRule::DnsSubdomain.prefix("a..b").is_err());
        assert_eq!(NameRule::PathSegment.prefix("."), Ok(()));
    }

    #[test]
    fn addresses_blocks_and_percentages() {
        assert!(ipv4("10.0.0.1").is_some() && ipv4("::ffff:10.0.0.1").is_some());
        assert!(ipv4("::1").is_none() && ip("::1").is_some() && ip("10.0.0").is_none());
        assert!(is_cidr("10.0.0.0/8") && !is_cidr("10.0.0.0/33") && !is_cidr("10.0.0.0") && is_cidr("::/0"));
        assert_eq!(
            (percent("30%"), percent("%"), percent("3"), percent("-3%")),
            (Some(30), None, None, None)
        );
    }
}
