//! MurmurHash3, in the variants that Elasticsearch uses.
//!
//! Source: Austin Appleby's MurmurHash3.

/// Returns the finalizer of the variant of 32 bits.
pub(crate) fn mixed(hash: u32) -> u32 {
    let hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    let hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16
}

/// Returns the hash of 32 bits of a text.
pub(crate) fn hash_32(seed: u32, text: &[u8]) -> u32 {
    let scramble = |word: u32| word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
    let mut hash = seed;
    let (words, rest) = text.as_chunks::<4>();
    for word in words {
        hash = (hash ^ scramble(u32::from_le_bytes(*word)))
            .rotate_left(13)
            .wrapping_mul(5)
            .wrapping_add(0xe654_6b64);
    }
    if !rest.is_empty() {
        let tail = rest.iter().rev().fold(0, |tail, byte| tail << 8 | u32::from(*byte));
        hash ^= scramble(tail);
    }
    mixed(hash ^ text.len() as u32)
}

/// Returns the finalizer of the variant of 128 bits: the hash of a number.
pub(crate) fn mixed_64(hash: u64) -> u64 {
    let hash = (hash ^ hash >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let hash = (hash ^ hash >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ hash >> 33
}

/// Returns the first half of the hash of 128 bits of a text, with the seed 0.
pub(crate) fn hash_128(text: &[u8]) -> u64 {
    const FACTORS: [u64; 2] = [0x87c3_7b91_1142_53d5, 0x4cf5_ad43_2745_937f];
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    let first = |word: u64| word.wrapping_mul(FACTORS[0]).rotate_left(31).wrapping_mul(FACTORS[1]);
    let second = |word: u64| word.wrapping_mul(FACTORS[1]).rotate_left(33).wrapping_mul(FACTORS[0]);
    let (mut one, mut two) = (0u64, 0u64);
    let (blocks, rest) = text.as_chunks::<16>();
    for block in blocks {
        let (low, high) = block.split_at(8);
        one = (one ^ first(word(low))).rotate_left(27).wrapping_add(two);
        one = one.wrapping_mul(5).wrapping_add(0x52dc_e729);
        two = (two ^ second(word(high))).rotate_left(31).wrapping_add(one);
        two = two.wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    let (low, high) = rest.split_at(rest.len().min(8));
    let length = text.len() as u64;
    one ^= first(word(low)) ^ length;
    two ^= second(word(high)) ^ length;
    one = one.wrapping_add(two);
    two = two.wrapping_add(one);
    mixed_64(one).wrapping_add(mixed_64(two))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("", 0)]
    #[case("hello", 0xcbd8_a7b3_41bd_9b02)]
    #[case("The quick brown fox jumps over the lazy dog", 0xe34b_bc7b_bc07_1b6c)]
    fn hashes_are_those_of_other_implementations(#[case] text: &str, #[case] expected: u64) {
        assert_eq!(hash_128(text.as_bytes()), expected);
    }
}
