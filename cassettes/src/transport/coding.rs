//! Content codings.

use crate::interaction::Request;
use flate2::Compression;
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use flate2::write::{GzEncoder, ZlibEncoder};
use std::io::{Error, Read, Write};

/// What a body decodes to may be this much larger than the body, and no more: a bomb is an error.
const EXPANSION: u64 = 1100;

/// A content coding that can be undone and done again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// As it is.
    Identity,
    /// gzip.
    Gzip,
    /// zlib.
    Deflate,
}

impl Coding {
    /// The coding that `Content-Encoding` names; none where it cannot be undone.
    pub fn named(name: Option<&str>) -> Option<Self> {
        match name.map(|name| name.trim().to_ascii_lowercase()).as_deref() {
            None | Some("" | "identity") => Some(Self::Identity),
            Some("gzip" | "x-gzip") => Some(Self::Gzip),
            Some("deflate") => Some(Self::Deflate),
            Some(_) => None,
        }
    }

    /// A body in this coding.
    ///
    /// # Errors
    /// Never in memory; the type of the encoders has one.
    pub fn encode(self, bytes: &[u8]) -> Result<Vec<u8>, Error> {
        match self {
            Self::Identity => Ok(bytes.to_vec()),
            Self::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
                encoder.write_all(bytes)?;
                encoder.finish()
            }
            Self::Deflate => {
                let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
                encoder.write_all(bytes)?;
                encoder.finish()
            }
        }
    }
}

/// A body with its coding undone.
///
/// # Errors
/// If it is not in this coding, or is a bomb.
pub fn decode(coding: Coding, bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let limit = (bytes.len() as u64).saturating_mul(EXPANSION);
    let mut out = Vec::new();
    match coding {
        Coding::Identity => return Ok(bytes.to_vec()),
        Coding::Gzip => MultiGzDecoder::new(bytes).take(limit + 1).read_to_end(&mut out)?,
        Coding::Deflate => ZlibDecoder::new(bytes).take(limit + 1).read_to_end(&mut out)?,
    };
    if out.len() as u64 > limit {
        return Err(Error::other("it decodes to more than it could"));
    }
    Ok(out)
}

/// Undoes the content coding of a request's body, and takes its header out. A body that cannot be read is omitted unless
/// `keep_unread` is set.
pub fn decode_request(asked: &mut Request, keep_unread: bool) {
    let Some(body) = asked.body.as_ref().filter(|body| !body.is_empty()) else {
        return;
    };
    let decoded = match Coding::named(asked.headers.get("content-encoding")) {
        Some(Coding::Identity) => return,
        Some(coding) => decode(coding, body).ok(),
        None => None,
    };
    match decoded {
        Some(decoded) => {
            asked.body = Some(decoded.into());
            asked
                .headers
                .0
                .retain(|(name, _)| !name.eq_ignore_ascii_case("content-encoding"));
        }
        None if keep_unread => {}
        None => {
            asked.omitted += body.len() as u64;
            asked.body = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(Coding::Identity)]
    #[case(Coding::Gzip)]
    #[case(Coding::Deflate)]
    fn a_coding_can_be_undone(#[case] coding: Coding) {
        let text = b"abc".repeat(10_000);
        assert_eq!(
            decode(coding, &coding.encode(&text).expect("encoded")).expect("decoded"),
            text
        );
    }

    #[test]
    fn what_is_not_in_the_coding_is_an_error() {
        assert!(decode(Coding::Gzip, b"plain").is_err());
        assert_eq!(Coding::named(Some("br")), None);
    }
}
