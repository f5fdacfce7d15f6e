//! Header blocks, compressed with zlib and the protocol's dictionary, with one state per connection.

use bytes::{Buf, BufMut, Bytes};
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use super::frame::FrameError;

/// Maximum length of a decompressed header block in bytes.
pub(super) const MAX_BLOCK_BYTES: usize = 1 << 16;

/// Names and values.
pub(crate) type Headers = Vec<(String, String)>;

/// The words of the dictionary that are prefixed with their length.
const WORDS: &str = "\
    options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age \
    allow authorization cache-control connection content-base content-encoding content-language content-length \
    content-location content-md5 content-range content-type date etag expect expires from host if-match \
    if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma \
    proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade \
    user-agent vary via warning www-authenticate method get status 200_OK version HTTP/1.1 url public set-cookie \
    keep-alive origin";

/// The end of the dictionary, which is a single text.
const TEXT: &str = "\
    100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 \
    Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 \
    Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May \
    Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,\
    image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,text/javascript,\
    publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.";

/// Returns the dictionary of version 3 of the protocol.
fn dictionary() -> Vec<u8> {
    let mut out = Vec::with_capacity(1423);
    for word in WORDS.split(' ') {
        let word = word.replace('_', " ");
        out.put_u32(u32::try_from(word.len()).unwrap_or(0));
        out.extend_from_slice(word.as_bytes());
    }
    out.extend_from_slice(TEXT.as_bytes());
    out
}

/// Compressor of header blocks.
pub(super) struct Compressor(Compress);

impl Compressor {
    /// Creates a compressor for a new connection.
    pub(super) fn new() -> Result<Self, FrameError> {
        let mut zlib = Compress::new(Compression::default(), true);
        zlib.set_dictionary(&dictionary()).map_err(|_| FrameError::Headers)?;
        Ok(Self(zlib))
    }

    /// Compresses a header block.
    pub(super) fn compress(&mut self, headers: &[(String, String)]) -> Result<Bytes, FrameError> {
        let length = |text: &str| u32::try_from(text.len()).map_err(|_| FrameError::Headers);
        let mut plain = Vec::new();
        plain.put_u32(u32::try_from(headers.len()).map_err(|_| FrameError::Headers)?);
        for (name, value) in headers {
            for text in [name, value] {
                plain.put_u32(length(text)?);
                plain.extend_from_slice(text.as_bytes());
            }
        }
        let mut out = Vec::with_capacity(plain.len() + 256);
        let mut rest = plain.as_slice();
        loop {
            let before = self.0.total_in();
            self.0
                .compress_vec(rest, &mut out, FlushCompress::Sync)
                .map_err(|_| FrameError::Headers)?;
            rest = rest.get((self.0.total_in() - before) as usize..).unwrap_or_default();
            if rest.is_empty() && out.len() < out.capacity() {
                return Ok(out.into());
            }
            out.reserve(256);
        }
    }
}

/// Decompressor of header blocks.
pub(super) struct Decompressor(Decompress);

impl Decompressor {
    /// Creates a decompressor for a new connection.
    pub(super) fn new() -> Self {
        Self(Decompress::new(true))
    }

    /// Decompresses a header block. After an error the state is invalid, and the connection must be closed.
    pub(super) fn decompress(&mut self, block: &[u8]) -> Result<Headers, FrameError> {
        let mut out: Vec<u8> = Vec::with_capacity(1024);
        let mut rest = block;
        loop {
            let (before_in, before_out) = (self.0.total_in(), self.0.total_out());
            let status = match self.0.decompress_vec(rest, &mut out, FlushDecompress::Sync) {
                Err(error) if error.needs_dictionary().is_some() => {
                    self.0.set_dictionary(&dictionary()).map_err(|_| FrameError::Headers)?;
                    Status::Ok
                }
                other => other.map_err(|_| FrameError::Headers)?,
            };
            rest = rest.get((self.0.total_in() - before_in) as usize..).unwrap_or_default();
            let stuck = self.0.total_in() == before_in && self.0.total_out() == before_out && status != Status::Ok;
            if status == Status::StreamEnd || (rest.is_empty() && out.len() < out.capacity()) {
                break;
            }
            if out.len() >= MAX_BLOCK_BYTES || (stuck && out.len() < out.capacity()) {
                return Err(FrameError::Headers);
            }
            out.reserve(1024);
        }
        if out.len() > MAX_BLOCK_BYTES {
            return Err(FrameError::Headers);
        }
        parse(out.into())
    }
}

fn parse(mut block: Bytes) -> Result<Headers, FrameError> {
    fn text(block: &mut Bytes) -> Result<String, FrameError> {
        let length = block.try_get_u32().map_err(|_| FrameError::Headers)? as usize;
        if block.len() < length {
            return Err(FrameError::Headers);
        }
        String::from_utf8(block.split_to(length).to_vec()).map_err(|_| FrameError::Headers)
    }
    let count = block.try_get_u32().map_err(|_| FrameError::Headers)? as usize;
    if block.len() / 8 < count {
        return Err(FrameError::Headers);
    }
    (0..count).map(|_| Ok((text(&mut block)?, text(&mut block)?))).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_dictionary_is_that_of_the_protocol() {
        let dictionary = dictionary();
        let (a, b) = dictionary.iter().fold((1u32, 0u32), |(a, b), byte| {
            let a = (a + u32::from(*byte)) % 65_521;
            (a, (b + a) % 65_521)
        });
        assert_eq!((dictionary.len(), b << 16 | a), (1423, 0xe3c6_a7c2));
    }

    proptest! {
        #[test]
        fn a_compressed_header_block_decompresses_to_itself(
            blocks in proptest::collection::vec(proptest::collection::vec(("[a-z-]{0,20}", ".{0,300}"), 0..8), 1..5)
        ) {
            let (mut compressor, mut decompressor) = (Compressor::new().unwrap(), Decompressor::new());
            for block in blocks {
                let compressed = compressor.compress(&block).unwrap();
                prop_assert_eq!(decompressor.decompress(&compressed), Ok(block));
            }
        }

        #[test]
        fn any_bytes_are_headers_or_an_error(
            block in proptest::collection::vec(any::<u8>(), 0..300),
            cut in 0usize..60
        ) {
            let _ = Decompressor::new().decompress(&block);
            let headers = [("streamtype".to_owned(), "stdin".to_owned())];
            let compressed = Compressor::new().unwrap().compress(&headers).unwrap();
            let _ = Decompressor::new().decompress(&compressed[..cut.min(compressed.len())]);
            let _ = parse(block.into());
        }
    }

    #[test]
    fn a_header_block_that_decompresses_to_too_much_is_an_error() {
        let compressed = Compressor::new()
            .unwrap()
            .compress(&[("x".to_owned(), "y".repeat(2 * MAX_BLOCK_BYTES))])
            .unwrap();
        assert!(compressed.len() < 2000);
        assert_eq!(Decompressor::new().decompress(&compressed), Err(FrameError::Headers));
    }
}
