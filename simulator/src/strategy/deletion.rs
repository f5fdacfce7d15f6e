//! Graceful deletion.
//!
//! Source: v1.2's `BeforeDelete`. Seconds are added in nanoseconds that wrap around, as there.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::{
    api::{Object, meta},
    clock::stamp,
};

/// Group, version and kind of the body of a DELETE.
pub(crate) const DELETE_OPTIONS: (&str, &str) = ("v1", "DeleteOptions");

/// Way to delete an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deletion {
    /// Removes the object as it is.
    Remove,
    /// The object is being deleted already and is left unchanged.
    Pending,
    /// Stores the object with its deletion marked. It is removed later.
    Mark,
    /// Stores the object with its deletion marked, then removes it.
    MarkAndRemove,
}

/// Deletes an object gracefully. `period` computes its grace period from the requested one.
pub(super) fn gracefully(
    object: &mut Object,
    grace: &mut Option<i64>,
    now: Timestamp,
    period: impl FnOnce(&Object, Option<i64>) -> i64,
) -> Deletion {
    let seconds = if meta::text(object, "metadata.deletionTimestamp").is_empty() {
        period(object, *grace)
    } else {
        let current = meta::lookup(object, "metadata.deletionGracePeriodSeconds").and_then(Value::as_i64);
        match (current, *grace) {
            (None, _) => return Deletion::Remove,
            (Some(current), None) => {
                *grace = Some(current);
                return Deletion::Pending;
            }
            // A grace period can only be shortened.
            (Some(current), Some(requested)) if requested > current => return Deletion::Pending,
            (Some(_), Some(requested)) => requested,
        }
    };
    *grace = Some(seconds);
    meta::set(object, "deletionTimestamp", &stamp(after(now, seconds)));
    meta::metadata(object).insert("deletionGracePeriodSeconds".into(), seconds.into());
    if seconds > 0 {
        Deletion::Mark
    } else {
        Deletion::MarkAndRemove
    }
}

fn after(now: Timestamp, seconds: i64) -> Timestamp {
    let nanoseconds = seconds.wrapping_mul(1_000_000_000);
    now.saturating_add(SignedDuration::from_nanos(nanoseconds))
        .unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn marked(seconds: i64) -> Object {
        let metadata = json!({"deletionTimestamp": "2016-03-01T00:01:00Z", "deletionGracePeriodSeconds": seconds});
        Object::from_iter([("metadata".to_owned(), metadata)])
    }

    fn now() -> Timestamp {
        "2016-03-01T00:00:30Z".parse().unwrap()
    }

    #[rstest]
    #[case::longer(Some(61), Deletion::Pending, "2016-03-01T00:01:00Z")]
    #[case::none(None, Deletion::Pending, "2016-03-01T00:01:00Z")]
    #[case::equal(Some(60), Deletion::Mark, "2016-03-01T00:01:30Z")]
    #[case::shorter(Some(10), Deletion::Mark, "2016-03-01T00:00:40Z")]
    #[case::now(Some(0), Deletion::MarkAndRemove, "2016-03-01T00:00:30Z")]
    fn a_second_delete_counts_from_now(#[case] requested: Option<i64>, #[case] want: Deletion, #[case] end: &str) {
        let (mut object, mut grace) = (marked(60), requested);
        assert_eq!(gracefully(&mut object, &mut grace, now(), |_, _| 0), want);
        assert_eq!(meta::text(&object, "metadata.deletionTimestamp"), end);
        assert_eq!(grace, requested.or(Some(60)));
    }

    #[rstest]
    #[case(i64::MAX, "2016-03-01T00:00:29Z")]
    #[case(i64::MIN, "2016-03-01T00:00:30Z")]
    #[case(-1, "2016-03-01T00:00:29Z")]
    fn an_extreme_period_wraps_around(#[case] seconds: i64, #[case] end: &str) {
        let mut object = Object::new();
        gracefully(&mut object, &mut Some(seconds), now(), |_, asked| asked.unwrap());
        assert_eq!(meta::text(&object, "metadata.deletionTimestamp"), end);
    }
}
