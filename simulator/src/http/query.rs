//! Query parameters, and their conversion to booleans and numbers.
//!
//! - The first of several parameters with the same name counts. Malformed pairs are skipped.
//! - A parameter that needs no decoding is not copied.
//!
//! Source: query conversion of Kubernetes v1.2 as recorded (`watches.har`), `net/url` for the syntax.

use std::{borrow::Cow, time::Duration};

use http::request::Parts;
use stuntdouble_server::percent_decode;

use crate::{api::Status, compat::strconv::parse_int, profile::Profile};

/// The raw query of a URL.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Query<'a>(&'a str);

impl<'a> Query<'a> {
    /// Returns the query of a request.
    pub(crate) fn of(request: &'a Parts) -> Self {
        Self::new(request.uri.query().unwrap_or_default())
    }

    /// Creates a query from a URL's query without its question mark.
    pub(crate) fn new(raw: &'a str) -> Self {
        Self(raw)
    }

    /// Returns the first value of the parameter `name`, decoded; empty for a bare `name`.
    pub(crate) fn get(self, name: &str) -> Option<Cow<'a, str>> {
        if self.0.is_empty() {
            return None;
        }
        self.pairs().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// Returns all values of the parameter `name`, decoded, in order.
    pub(crate) fn all(self, name: &str) -> impl Iterator<Item = Cow<'a, str>> {
        self.pairs().filter(move |(key, _)| key == name).map(|(_, value)| value)
    }

    fn pairs(self) -> impl Iterator<Item = (Cow<'a, str>, Cow<'a, str>)> {
        self.0
            .split('&')
            .filter(|pair| !pair.is_empty() && !pair.contains(';'))
            .filter_map(|pair| {
                let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
                Some((percent_decode(key, true)?, percent_decode(value, true)?))
            })
    }

    /// Returns whether the flag `name` is set. Absent means false, an empty value means true.
    ///
    /// Error: 400 for a value that is not a boolean, if `profile` is strict.
    pub(crate) fn flag(self, name: &str, profile: Profile) -> Result<bool, Status> {
        let Some(value) = self.get(name) else { return Ok(false) };
        match value.to_ascii_lowercase().as_str() {
            "false" | "0" => Ok(false),
            "" | "true" | "1" => Ok(true),
            _ if !profile.strict_booleans() => Ok(true),
            _ => Err(Status::bad_request(format!(
                "invalid value {value:?} of the query parameter {name}: a boolean is true, false, 1 or 0"
            ))),
        }
    }

    /// Returns the duration of the parameter `timeoutSeconds`: `None` if it is absent or 0, zero if it is negative.
    ///
    /// Error: the recorded text if it is not an integer.
    pub(crate) fn timeout(self, profile: Profile) -> Result<Option<Duration>, Status> {
        let Some(seconds) = self.integer("timeoutSeconds", profile)? else {
            return Ok(None);
        };
        Ok(match u64::try_from(seconds) {
            Ok(0) => None,
            Ok(seconds) => Some(Duration::from_secs(seconds)),
            Err(_) => Some(Duration::ZERO),
        })
    }

    /// Returns the integer of the parameter `name`, or `None` if it is absent.
    ///
    /// Error: the recorded text if it is not an integer.
    pub(crate) fn integer(self, name: &str, profile: Profile) -> Result<Option<i64>, Status> {
        let Some(value) = self.get(name) else { return Ok(None) };
        parse_int(&value)
            .map(Some)
            .map_err(|why| profile.client_error(400, why))
    }

    /// Returns the value of the parameter `pretty`, or `None` if it is absent.
    pub(crate) fn pretty(self) -> Option<bool> {
        let value = self.get("pretty").filter(|value| !value.is_empty())?;
        Some(matches!(&*value, "1" | "t" | "T" | "TRUE" | "true" | "True"))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::api::Reason;

    #[rstest]
    #[case("", false)]
    #[case("watch", true)]
    #[case("watch=", true)]
    #[case("watch=true", true)]
    #[case("watch=1", true)]
    #[case("watch=False", false)]
    #[case("watch=0", false)]
    #[case("watch=0&watch=1", false)]
    #[case("wat%63h=%31", true)]
    #[case("watch=%zz&watch=0", false)]
    fn a_flag_is_false_only_if_it_is_absent_or_false(#[case] query: &str, #[case] expected: bool) {
        for profile in Profile::ALL {
            assert_eq!(Query::new(query).flag("watch", profile), Ok(expected), "{query}");
        }
    }

    #[test]
    fn an_invalid_boolean_is_rejected_or_true_by_profile() {
        let query = Query::new("watch=maybe");
        assert_eq!(query.flag("watch", Profile::Kubernetes12), Ok(true));
        assert_eq!(query.flag("watch", Profile::Documented).unwrap_err().code, 400);
    }

    #[rstest]
    #[case("timeoutSeconds=4", Some(Duration::from_secs(4)))]
    #[case("timeoutSeconds=-5", Some(Duration::ZERO))]
    #[case("timeoutSeconds=0", None)]
    #[case("x=1", None)]
    fn a_timeout_is_in_seconds(#[case] query: &str, #[case] expected: Option<Duration>) {
        assert_eq!(Query::new(query).timeout(Profile::Documented), Ok(expected));
    }

    #[rstest]
    #[case("timeoutSeconds=x", r#"strconv.ParseInt: parsing "x": invalid syntax"#)]
    #[case("timeoutSeconds=", r#"strconv.ParseInt: parsing "": invalid syntax"#)]
    #[case(
        "timeoutSeconds=99999999999999999999",
        r#"strconv.ParseInt: parsing "99999999999999999999": value out of range"#
    )]
    fn an_invalid_timeout_is_rejected_with_the_recorded_text(#[case] query: &str, #[case] text: &str) {
        let recorded = Query::new(query).timeout(Profile::Kubernetes12).unwrap_err();
        assert_eq!(
            (recorded.code, recorded.reason, recorded.message.as_str()),
            (500, Reason::Unknown, text)
        );
        let documented = Query::new(query).timeout(Profile::Documented).unwrap_err();
        assert_eq!(
            (documented.code, documented.reason, documented.message.as_str()),
            (400, Reason::BadRequest, text)
        );
    }

    #[rstest]
    #[case("pretty=true", Some(true))]
    #[case("pretty=1", Some(true))]
    #[case("pretty=false", Some(false))]
    #[case("pretty=yes", Some(false))]
    #[case("pretty", None)]
    #[case("", None)]
    fn pretty_has_an_effect_only_with_a_value(#[case] query: &str, #[case] expected: Option<bool>) {
        assert_eq!(Query::new(query).pretty(), expected);
    }
}
