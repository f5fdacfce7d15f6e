//! What was read of JSON and is not passed on yet.

use super::context::RedactionContext;
use super::json_string::{decoded, quoted};
use super::structure::{Secret, Structure};
use std::ops::Range;

/// How much may wait for the kind of its object; more of it is taken for secret.
pub(super) const HELD: usize = 4 << 20;

/// A value that is secret if its document says so later.
#[derive(Debug)]
struct Deferred {
    id: u64,
    /// Its place in what is held, with its quotes.
    range: Range<usize>,
    secret: Secret,
    is_secret: Option<bool>,
}

/// What is held back.
#[derive(Debug, Default)]
pub(super) struct Held {
    bytes: Vec<u8>,
    deferred: Vec<Deferred>,
    /// The identifier of the value that was deferred last.
    last: u64,
}

impl Held {
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Whether values wait for a decision.
    pub(super) fn has_deferred(&self) -> bool {
        !self.deferred.is_empty()
    }

    /// Whether more waits than may.
    pub(super) fn is_stuck(&self) -> bool {
        self.bytes.len() > HELD && !self.deferred.is_empty()
    }

    /// Defers the value from a place on; returns its identifier.
    pub(super) fn defer(&mut self, start: usize, secret: Secret) -> u64 {
        self.last += 1;
        self.deferred.push(Deferred {
            id: self.last,
            range: start..self.bytes.len(),
            secret,
            is_secret: None,
        });
        self.last
    }

    /// Takes what the structure has decided.
    pub(super) fn decided(&mut self, structure: &mut Structure) {
        if self.deferred.is_empty() {
            return;
        }
        for (id, is_secret) in structure.take_decided() {
            let found = self.deferred.binary_search_by_key(&id, |deferred| deferred.id);
            if let Some(deferred) = found.ok().and_then(|at| self.deferred.get_mut(at)) {
                deferred.is_secret = Some(is_secret);
            }
        }
    }

    /// Appends what is held up to the first value that is not decided.
    pub(super) fn release(&mut self, context: &mut RedactionContext<'_>, depth: usize, out: &mut Vec<u8>) {
        if self.deferred.is_empty() {
            match out.is_empty() {
                // Both keep their memory for what comes next.
                true => std::mem::swap(out, &mut self.bytes),
                false => out.append(&mut self.bytes),
            }
            return;
        }
        let open = self.deferred.iter().position(|deferred| deferred.is_secret.is_none());
        let count = open.unwrap_or(self.deferred.len());
        let limit = self
            .deferred
            .get(count)
            .map_or(self.bytes.len(), |first| first.range.start);
        let mut end = 0;
        for Deferred {
            range,
            secret,
            is_secret,
            ..
        } in self.deferred.drain(..count)
        {
            out.extend_from_slice(self.bytes.get(end..range.start).unwrap_or_default());
            let raw = self.bytes.get(range.clone()).unwrap_or_default();
            let within = raw.strip_prefix(b"\"").and_then(|raw| raw.strip_suffix(b"\""));
            let found = match (within, is_secret) {
                (Some(within), Some(false)) => context.search(&decoded(within), depth),
                (None, Some(false)) => None,
                _ => Some(context.placeholder(&decoded(within.unwrap_or(raw)), secret)),
            };
            match found {
                Some(text) => out.extend_from_slice(quoted(&text, within.unwrap_or_default()).as_bytes()),
                None => out.extend_from_slice(raw),
            }
            end = range.end;
        }
        out.extend_from_slice(self.bytes.get(end..limit).unwrap_or_default());
        self.bytes.drain(..limit);
        for deferred in &mut self.deferred {
            deferred.range = deferred.range.start - limit..deferred.range.end - limit;
        }
    }
}
