//! Flags of the log search backend: an external search cluster, and the retention of indices.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use stuntdouble_simulator::SearchUpstream;
use stuntdouble_simulator::search::Retention;

use super::CommandError;

/// An external search cluster.
#[derive(Debug, Args)]
#[command(next_help_heading = "Log search")]
pub(super) struct UpstreamArguments {
    /// Use an external search cluster with these nodes (comma-separated URLs), not the built-in log search backend.
    /// A request goes to the node that answered last, and to the next one if it cannot be reached
    #[arg(
        long = "search-upstream",
        value_name = "URL,URL",
        value_delimiter = ',',
        conflicts_with_all = ["bare", "retention_age", "retention_size"]
    )]
    upstream_urls: Vec<String>,

    /// Certificate authority of the nodes (PEM); required for https
    #[arg(long = "search-upstream-ca", value_name = "FILE", requires = "upstream_urls")]
    upstream_authority: Option<PathBuf>,

    /// User name and password for every request to the search cluster
    #[arg(
        long = "search-upstream-user",
        value_name = "USER:PASSWORD",
        env = "STUNTDOUBLE_SEARCH_UPSTREAM_USER",
        hide_env_values = true
    )]
    upstream_user: Option<String>,
}

impl UpstreamArguments {
    /// Returns the external search cluster, if one is configured.
    pub(super) fn upstream(&self) -> Result<Option<SearchUpstream>, CommandError> {
        if self.upstream_urls.is_empty() {
            return Ok(None);
        }
        let mut upstream = SearchUpstream::new(self.upstream_urls.iter().map(String::as_str));
        if let Some(file) = &self.upstream_authority {
            let failed = |error| CommandError::usage(format!("{}: {error}", file.display()));
            upstream = upstream.authority(std::fs::read_to_string(file).map_err(failed)?);
        }
        if let Some(user) = &self.upstream_user {
            let invalid = || CommandError::usage("--search-upstream-user: expected USER:PASSWORD");
            let (name, password) = user.split_once(':').ok_or_else(invalid)?;
            upstream = upstream.user(name, password);
        }
        Ok(Some(upstream))
    }
}

/// Retention of log indices.
#[derive(Debug, Args)]
#[command(next_help_heading = "Log search")]
pub(super) struct RetentionArguments {
    /// Remove log indices older than this, such as 7d or 12h [default: never]
    #[arg(long = "log-retention-age", value_name = "AGE", value_parser = age)]
    retention_age: Option<Duration>,

    /// Remove the oldest log indices while all of them together are larger than this, such as 500mb or 2gb; the newest
    /// one stays [default: no limit]
    #[arg(long = "log-retention-size", value_name = "SIZE", value_parser = size)]
    retention_size: Option<u64>,

    /// Name pattern of the log indices
    #[arg(long = "log-retention-indices", value_name = "PATTERN", default_value = "logstash-*")]
    retention_indices: String,
}

impl RetentionArguments {
    /// Returns the retention, if one is configured.
    pub(super) fn retention(self) -> Option<Retention> {
        (self.retention_age.is_some() || self.retention_size.is_some()).then_some(Retention {
            pattern: self.retention_indices,
            age: self.retention_age,
            bytes: self.retention_size,
        })
    }
}

/// Splits a text such as `12h` into number and unit.
fn parts(text: &str) -> Option<(u64, &str)> {
    let at = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at_checked(at)?;
    Some((number.parse().ok()?, unit))
}

fn age(text: &str) -> Result<Duration, String> {
    let seconds = parts(text).and_then(|(number, unit)| {
        let unit = match unit {
            "s" => 1,
            "m" => 60,
            "h" => 3_600,
            "d" => 86_400,
            "w" => 7 * 86_400,
            _ => return None,
        };
        number.checked_mul(unit)
    });
    let seconds = seconds.ok_or("expected a number and s, m, h, d or w, such as 7d")?;
    Ok(Duration::from_secs(seconds))
}

fn size(text: &str) -> Result<u64, String> {
    let bytes = parts(text).and_then(|(number, unit)| {
        let unit = match unit.to_ascii_lowercase().as_str() {
            "b" => 1,
            "k" | "kb" => 1 << 10,
            "m" | "mb" => 1 << 20,
            "g" | "gb" => 1 << 30,
            _ => return None,
        };
        number.checked_mul(unit)
    });
    bytes.ok_or_else(|| "expected a number and b, kb, mb or gb, such as 500mb".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_and_sizes_have_units() {
        assert_eq!(age("12h"), Ok(Duration::from_secs(43_200)));
        assert_eq!(size("500mb"), Ok(500 << 20));
        for text in [
            "",
            "7",
            "d",
            "7y",
            "-1d",
            "99999999999999999999d",
            "18446744073709551615w",
        ] {
            assert!(age(text).is_err(), "{text}");
        }
        for text in ["", "7", "gb", "7xb", "18446744073709551615gb"] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
