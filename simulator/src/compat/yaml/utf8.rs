//! UTF-8 check with libyaml's error texts.

/// Checks that `bytes` are UTF-8. The error names the first fault.
pub(super) fn check(bytes: &[u8]) -> Result<(), &'static str> {
    let Err(fault) = std::str::from_utf8(bytes) else {
        return Ok(());
    };
    let rest = bytes.get(fault.valid_up_to()..).unwrap_or_default();
    let (width, least) = match rest.first() {
        Some(first) if first & 0xe0 == 0xc0 => (2, 0x80),
        Some(first) if first & 0xf0 == 0xe0 => (3, 0x800),
        Some(first) if first & 0xf8 == 0xf0 => (4, 0x1_0000),
        _ => return Err("invalid leading UTF-8 octet"),
    };
    let Some(sequence) = rest.get(..width) else {
        return Err("incomplete UTF-8 octet sequence");
    };
    let mut value = sequence.first().map_or(0, |first| u32::from(*first) & (0x7f >> width));
    for octet in sequence.iter().skip(1) {
        if octet & 0xc0 != 0x80 {
            return Err("invalid trailing UTF-8 octet");
        }
        value = value << 6 | u32::from(octet & 0x3f);
    }
    if value < least {
        Err("invalid length of a UTF-8 sequence")
    } else {
        Err("invalid Unicode character")
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(b"a\xff", "invalid leading UTF-8 octet")]
    #[case(b"a\x80b", "invalid leading UTF-8 octet")]
    #[case(b"a\xc3b", "invalid trailing UTF-8 octet")]
    #[case(b"a\xc3", "incomplete UTF-8 octet sequence")]
    #[case(b"\xc0\x80", "invalid length of a UTF-8 sequence")]
    #[case(b"\xed\xa0\x80", "invalid Unicode character")]
    #[case(b"\xf4\x90\x80\x80", "invalid Unicode character")]
    fn the_first_fault_is_named(#[case] bytes: &[u8], #[case] fault: &str) {
        assert_eq!(check(bytes), Err(fault));
    }
}
