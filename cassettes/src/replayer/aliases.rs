//! Values that clients make up anew: each recorded value is bound to one live value.

use crate::interaction::number;
use std::borrow::Cow;
use std::collections::HashMap;

/// Pairs of recorded and live values, one to one.
#[derive(Debug, Default)]
pub(super) struct Aliases {
    to_live: HashMap<String, String>,
    to_recorded: HashMap<String, String>,
}

impl Aliases {
    /// Whether pairs are at odds with none that are known, nor with one another.
    pub(super) fn admit(&self, pairs: &[(String, String)]) -> bool {
        let fits = |(n, (there, here)): (usize, &(String, String))| {
            self.stands_for(there, here)
                && pairs
                    .iter()
                    .take(n)
                    .all(|(other, live)| (other == there) == (live == here))
        };
        pairs.iter().enumerate().all(fits)
    }

    /// Whether a live value is bound, or can be bound, to a recorded one. The placeholder 0 is that of all secrets that
    /// were too many to tell apart.
    pub(super) fn stands_for(&self, recorded: &str, live: &str) -> bool {
        match (self.to_live.get(recorded), self.to_recorded.get(live)) {
            (Some(known), _) => known == live,
            (None, Some(_)) => number(recorded) == Some(0),
            (None, None) => true,
        }
    }

    /// Takes pairs that were admitted.
    pub(super) fn learn(&mut self, pairs: Vec<(String, String)>) {
        for (recorded, live) in pairs {
            self.to_recorded.entry(live.clone()).or_insert_with(|| recorded.clone());
            self.to_live.insert(recorded, live);
        }
    }

    /// A live text as it would have been recorded.
    pub(super) fn recorded<'t>(&self, text: &'t str) -> Cow<'t, str> {
        replaced(text, &self.to_recorded)
    }

    /// A recorded text for the live clients.
    pub(super) fn live<'t>(&self, text: &'t str) -> Cow<'t, str> {
        replaced(text, &self.to_live)
    }

    /// Whether there is nothing to replace.
    pub(super) fn is_empty(&self) -> bool {
        self.to_live.is_empty()
    }
}

/// Replaces whole words, the longest first.
fn replaced<'t>(text: &'t str, table: &HashMap<String, String>) -> Cow<'t, str> {
    let mut found: Vec<(&String, &String)> = table.iter().filter(|(from, _)| text.contains(from.as_str())).collect();
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    found.sort_by_key(|(from, _)| (std::cmp::Reverse(from.len()), from.as_str()));
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut before = None;
    while let Some(next) = rest.chars().next() {
        let starts = |(from, _): &&(&String, &String)| {
            let boundary = |end: Option<char>, edge: Option<char>| {
                !(end.is_some_and(char::is_alphanumeric) && edge.is_some_and(char::is_alphanumeric))
            };
            rest.starts_with(from.as_str())
                && boundary(before, from.chars().next())
                && boundary(
                    rest.get(from.len()..).and_then(|rest| rest.chars().next()),
                    from.chars().last(),
                )
        };
        let (taken, put) = match found.iter().find(starts) {
            Some((from, to)) => (from.len(), to.as_str()),
            None => (next.len_utf8(), rest.get(..next.len_utf8()).unwrap_or_default()),
        };
        out.push_str(put);
        before = rest.get(..taken).and_then(|taken| taken.chars().last());
        rest = rest.get(taken..).unwrap_or_default();
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(recorded: &str, live: &str) -> (String, String) {
        (recorded.into(), live.into())
    }

    #[test]
    fn an_alias_is_one_to_one() {
        let mut aliases = Aliases::default();
        assert!(aliases.admit(&[pair("x8f2a", "91bbc"), pair("x8f2a", "91bbc")]));
        assert!(!aliases.admit(&[pair("x8f2a", "91bbc"), pair("y8f2a", "91bbc")]));
        aliases.learn(vec![pair("x8f2a", "91bbc")]);
        assert!(!aliases.admit(&[pair("x8f2a", "77777")]));
        assert!(!aliases.admit(&[pair("77777", "91bbc")]));
    }

    #[test]
    fn whole_words_are_replaced() {
        let mut aliases = Aliases::default();
        aliases.learn(vec![pair("redacted-1", "s3cret"), pair("x8f2a", "91bbc")]);
        assert_eq!(
            aliases.live("redacted-1 redacted-12 suite-x8f2a ax8f2a"),
            "s3cret redacted-12 suite-91bbc ax8f2a"
        );
        assert_eq!(aliases.recorded("suite-91bbc s3cret"), "suite-x8f2a redacted-1");
    }
}
