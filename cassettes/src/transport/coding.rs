//! Content codings.

use crate::interaction::Request;
use flate2::Compression;
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use flate2::write::{GzEncoder, ZlibEncoder};
use std::io::{Error, Read, Write};

/// Maximum ratio of decoded to encoded length. A larger one is an error, to stop decompression bombs.
const MAX_EXPANSION: u64 = 1100;

/// A content coding that can be decoded and encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// No coding.
    Identity,
    /// gzip.
    Gzip,
    /// zlib.
    Deflate,
}

impl Coding {
    /// The coding with a name in `Content-Encoding`. None if it is not supported.
    pub fn named(name: Option<&str>) -> Option<Self> {
        match name.map(|name| name.trim().to_ascii_lowercase()).as_deref() {
            None | Some("" | "identity") => Some(Self::Identity),
            Some("gzip" | "x-gzip") => Some(Self::Gzip),
            Some("deflate") => Some(Self::Deflate),
            Some(_) => None,
        }
    }

    /// Encodes a body.
    ///
    /// # Errors
    /// Never, because it is written to memory. The encoders return an error type.
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

/// Decodes a body.
///
/// # Errors
/// If it is not in this coding, or exceeds the maximum expansion.
pub fn decode(coding: Coding, bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let limit = (bytes.len() as u64).saturating_mul(MAX_EXPANSION);
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

/// Decodes the body of a request and removes its `Content-Encoding`. A body that cannot be decoded is omitted unless
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
    fn a_body_in_another_coding_is_an_error() {
        assert!(decode(Coding::Gzip, b"plain").is_err());
        assert_eq!(Coding::named(Some("br")), None);
    }
}
