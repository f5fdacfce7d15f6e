//! Alignment of the interactions of two cassettes.

use crate::interaction::Request;
use crate::matcher::ParsedRequest;
use regex::Regex;
use similar::{Algorithm, DiffOp, capture_diff_slices};
use std::sync::LazyLock;

/// Parts of a URL that differ from run to run: UUIDs, generated names, versions and timeouts of watches.
static VOLATILE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let forms = [
        "[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}",
        r"\b[bcdfghjklmnpqrstvwxz]*[2456789][bcdfghjklmnpqrstvwxz2456789]{4,}\b",
        "(?:resourceVersion|timeoutSeconds)=[0-9]+",
    ];
    Regex::new(&forms.join("|")).ok()
});

/// Positions in both sessions or in one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aligned {
    Both(usize, usize),
    OnlyA(usize),
    OnlyB(usize),
}

/// Aligns the requests of two sessions in order.
pub(super) fn align(a: &[&Request], b: &[&Request]) -> Vec<Aligned> {
    let keys = |requests: &[&Request]| requests.iter().map(|request| key(request)).collect::<Vec<_>>();
    let mut out = Vec::new();
    for op in capture_diff_slices(Algorithm::Patience, &keys(a), &keys(b)) {
        match op {
            DiffOp::Equal {
                old_index,
                new_index,
                len,
            } => {
                out.extend((0..len).map(|n| Aligned::Both(old_index + n, new_index + n)));
            }
            DiffOp::Delete { old_index, old_len, .. } => {
                out.extend((0..old_len).map(|n| Aligned::OnlyA(old_index + n)))
            }
            DiffOp::Insert { new_index, new_len, .. } => {
                out.extend((0..new_len).map(|n| Aligned::OnlyB(new_index + n)))
            }
            DiffOp::Replace {
                old_index,
                old_len,
                new_index,
                new_len,
            } => {
                pair(
                    a,
                    b,
                    old_index..old_index + old_len,
                    new_index..new_index + new_len,
                    &mut out,
                );
            }
        }
    }
    out
}

/// Aligns requests within a replaced part that are equal apart from volatile values.
fn pair(
    a: &[&Request],
    b: &[&Request],
    there: std::ops::Range<usize>,
    here: std::ops::Range<usize>,
    out: &mut Vec<Aligned>,
) {
    let mut next = here.start;
    for one in there {
        let recorded = a.get(one).map(|request| ParsedRequest::new(request));
        let fits = |two: &usize| {
            let other = b.get(*two).map(|request| ParsedRequest::new(request));
            matches!((&recorded, other), (Some(recorded), Some(other)) if recorded.is_like(&other))
        };
        match (next..here.end).find(fits) {
            Some(two) => {
                out.extend((next..two).map(Aligned::OnlyB));
                out.push(Aligned::Both(one, two));
                next = two + 1;
            }
            None => out.push(Aligned::OnlyA(one)),
        }
    }
    out.extend((next..here.end).map(Aligned::OnlyB));
}

fn key(request: &Request) -> String {
    let target = request.target();
    let target = VOLATILE
        .as_ref()
        .map_or(target.into(), |volatile| volatile.replace_all(target, "*"));
    format!("{} {target}", request.method)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_aligned_in_their_order() {
        let a = [
            Request::get("/a"),
            Request::get("/pods/web-x2f4z"),
            Request::get("/b"),
            Request::get("/only-a"),
        ];
        let b = [
            Request::get("/a"),
            Request::get("/only-b"),
            Request::get("/pods/web-99bbc"),
            Request::get("/b"),
        ];
        let aligned = align(&a.iter().collect::<Vec<_>>(), &b.iter().collect::<Vec<_>>());
        let expected = [
            Aligned::Both(0, 0),
            Aligned::OnlyB(1),
            Aligned::Both(1, 2),
            Aligned::Both(2, 3),
            Aligned::OnlyA(3),
        ];
        assert_eq!(aligned, expected);
    }
}
