//! Encoded list: stored objects concatenated as JSON, without copying any tree.

use std::{ops::Range, sync::Arc};

use bytes::{BufMut, Bytes, BytesMut};

use super::{page::Page, request::RequestInfo};
use crate::{profile::Profile, store::Record};

/// Encoded list whose revision can be replaced.
#[derive(Clone, Debug)]
pub(super) struct EncodedList {
    body: Bytes,
    /// Position of the revision's digits. Empty for a list without a revision.
    revision: Range<usize>,
}

impl EncodedList {
    /// Encodes the list of `records`, with its revision and its paging metadata, if any. Items are the stored bytes
    /// without kind and apiVersion.
    pub(super) fn of(
        request: &RequestInfo,
        records: &[Arc<Record>],
        revision: Option<u64>,
        page: Option<&Page>,
        profile: Profile,
    ) -> Self {
        let resource = &request.resource;
        let skip = resource.head().len() + 1;
        let items = records
            .iter()
            .map(|r| r.bytes_in(resource).get(skip..).unwrap_or_default());
        let size: usize = items.clone().map(|i| i.len() + 2).sum();
        let mut out = BytesMut::with_capacity(size + 256);
        out.put_slice(
            format!(
                r#"{{"kind":"{}List","apiVersion":"{}","metadata":{{"selfLink":"{}""#,
                resource.kind,
                resource.group_version(),
                resource.collection_path(request.namespace.as_deref()),
            )
            .as_bytes(),
        );
        let mut place = 0..0;
        if let Some(revision) = revision {
            out.put_slice(b",\"resourceVersion\":\"");
            let start = out.len();
            out.put_slice(revision.to_string().as_bytes());
            place = start..out.len();
            out.put_u8(b'"');
        }
        if let Some(page) = page {
            out.put_slice(format!(r#","continue":"{}""#, page.token).as_bytes());
            if let Some(remaining) = page.remaining {
                out.put_slice(format!(r#","remainingItemCount":{remaining}"#).as_bytes());
            }
        }
        out.put_u8(b'}');
        let omits_items = resource.strategy.omit_empty_items && profile.omits_empty_items();
        if !(records.is_empty() && omits_items) {
            out.put_slice(b",\"items\":[");
            for (n, item) in items.enumerate() {
                out.put_slice(if n == 0 { b"{" } else { b",{" });
                out.put_slice(item);
            }
            out.put_u8(b']');
        }
        out.put_u8(b'}');
        Self {
            body: out.freeze(),
            revision: place,
        }
    }

    /// The list as JSON.
    pub(super) fn body(&self) -> &Bytes {
        &self.body
    }

    /// Returns the list with another revision.
    pub(super) fn with_revision(&self, revision: u64) -> Self {
        let digits = revision.to_string();
        let (head, tail) = (&self.body[..self.revision.start], &self.body[self.revision.end..]);
        Self {
            body: [head, digits.as_bytes(), tail].concat().into(),
            revision: self.revision.start..self.revision.start + digits.len(),
        }
    }
}
