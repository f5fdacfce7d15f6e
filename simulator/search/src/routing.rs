//! Routing of documents to the shards of an index.
//!
//! Source: Elasticsearch 1.5's `DjbHashFunction` and plain operation routing.

/// Routing value and parent of a document, which select its shard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Placement<'a> {
    pub(crate) routing: Option<&'a str>,
    pub(crate) parent: Option<&'a str>,
}

impl<'a> Placement<'a> {
    /// The effective routing value: the explicit one, else the parent.
    pub(crate) fn value(self) -> Option<&'a str> {
        self.routing.or(self.parent)
    }
}

/// Returns the DJB2 hash of a routing value, over its UTF-16 code units.
fn djb2(text: &str) -> i32 {
    // Elasticsearch computes the hash in 64 bits and truncates it to 32 at the end: the same as wrapping.
    text.encode_utf16().fold(5381, |hash: i32, unit| {
        hash.wrapping_shl(5).wrapping_add(hash).wrapping_add(i32::from(unit))
    })
}

/// Returns the number of the shard, of `shards`, that a routing value selects.
pub(crate) fn shard_of(routing: &str, shards: u32) -> u32 {
    let shards = i32::try_from(shards.max(1)).unwrap_or(i32::MAX);
    (djb2(routing) % shards).unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("1", 2)]
    #[case("2", 3)]
    #[case("3", 4)]
    #[case("4", 0)]
    #[case("8", 4)]
    fn ids_map_to_the_shards_of_elasticsearch(#[case] id: &str, #[case] shard: u32) {
        assert_eq!(shard_of(id, 5), shard);
    }
}
