//! Redacted JSON that is held back until deferred values are decided.

use super::context::RedactionContext;
use super::json_string::{decoded, quoted};
use super::structure::{Secret, Structure};
use std::ops::Range;

/// Maximum number of bytes held back. If they exceed it, deferred values are treated as secret.
pub(super) const MAX_HELD_BYTES: usize = 4 << 20;

/// A value that may be secret, decided by a later part of the document.
#[derive(Debug)]
struct Deferred {
    id: u64,
    /// Range in the held bytes, including quotes.
    range: Range<usize>,
    secret: Secret,
    is_secret: Option<bool>,
}

/// Bytes that are held back.
#[derive(Debug, Default)]
pub(super) struct Held {
    bytes: Vec<u8>,
    deferred: Vec<Deferred>,
    /// Identifier of the last deferred value.
    last: u64,
}

impl Held {
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Whether there are deferred values.
    pub(super) fn has_deferred(&self) -> bool {
        !self.deferred.is_empty()
    }

    /// Whether deferred values hold back more than [`MAX_HELD_BYTES`].
    pub(super) fn is_stuck(&self) -> bool {
        self.bytes.len() > MAX_HELD_BYTES && !self.deferred.is_empty()
    }

    /// Defers the value from a position to the end. Returns its identifier.
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

    /// Applies the decisions of the structure.
    pub(super) fn apply_decisions(&mut self, structure: &mut Structure) {
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

    /// Appends the held bytes up to the first undecided value.
    pub(super) fn release(&mut self, context: &mut RedactionContext<'_>, depth: usize, out: &mut Vec<u8>) {
        if self.deferred.is_empty() {
            match out.is_empty() {
                // Both keep their memory for the next piece.
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
