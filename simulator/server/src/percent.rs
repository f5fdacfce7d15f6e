//! Percent-decoding.

use std::borrow::Cow;

use memchr::memchr;

/// Decodes the percent-encoding of `text`, and `+` to a space if `plus` is true. Borrows a text without escapes.
///
/// Returns `None` for a `%` without two hexadecimal digits. Bytes that are not UTF-8 become replacement characters.
///
/// ```
/// use stuntdouble_server::percent_decode;
///
/// assert_eq!(percent_decode("a%2Fb+c", true).as_deref(), Some("a/b c"));
/// assert_eq!(percent_decode("a%2", true), None);
/// ```
pub fn percent_decode(text: &str, plus: bool) -> Option<Cow<'_, str>> {
    let is_plain = memchr(b'%', text.as_bytes()).is_none() && !(plus && text.contains('+'));
    if is_plain {
        return Some(Cow::Borrowed(text));
    }
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'%' => {
                let mut digit = || char::from(bytes.next()?).to_digit(16);
                u8::try_from(digit()? * 16 + digit()?).ok()?
            }
            b'+' if plus => b' ',
            other => other,
        });
    }
    Some(Cow::Owned(String::from_utf8(out).unwrap_or_else(|bad| {
        String::from_utf8_lossy(bad.as_bytes()).into_owned()
    })))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("plain", true, Some("plain"))]
    #[case("a%2Fb+c", true, Some("a/b c"))]
    #[case("a+c", false, Some("a+c"))]
    #[case("%ff", false, Some("\u{fffd}"))]
    #[case("%f", false, None)]
    #[case("%+1", false, None)]
    fn escapes_are_decoded_and_malformed_ones_refused(
        #[case] text: &str,
        #[case] plus: bool,
        #[case] decoded: Option<&str>,
    ) {
        assert_eq!(percent_decode(text, plus).as_deref(), decoded);
    }
}
