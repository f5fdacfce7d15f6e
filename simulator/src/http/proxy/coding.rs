//! Streamed transformation of proxied bodies: decode, rewrite links, encode again.
//!
//! - Output does not wait for the end of a body.
//! - Limits: at most [`MAX_DECODE_BYTES`] bytes are decoded at a time, so that a small compressed body cannot fill
//!   the memory.

use std::{
    io::{self, Write},
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Bytes, BytesMut};
use flate2::{
    Compression,
    write::{DeflateDecoder, DeflateEncoder, GzEncoder, MultiGzDecoder, ZlibDecoder, ZlibEncoder},
};
use hyper::body::Frame;

use super::{Body, BodyError, html::Page};

/// Maximum number of bytes that are decoded at a time.
const MAX_DECODE_BYTES: usize = 4096;

/// A supported content coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    /// None.
    Identity,
    /// `gzip`.
    Gzip,
    /// `deflate`, with or without the zlib wrapping.
    Deflate,
}

impl Coding {
    /// Returns the coding of a Content-Encoding header, or `None` if it is not supported.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "" => Some(Self::Identity),
            "gzip" => Some(Self::Gzip),
            "deflate" => Some(Self::Deflate),
            _ => None,
        }
    }
}

enum Decoder {
    Identity,
    Gzip(MultiGzDecoder<Vec<u8>>),
    /// Deflate, until the first byte distinguishes its two forms.
    Undecided,
    Raw(DeflateDecoder<Vec<u8>>),
    Zlib(ZlibDecoder<Vec<u8>>),
}

impl Decoder {
    fn push(&mut self, piece: &[u8]) -> io::Result<Vec<u8>> {
        if let (Self::Undecided, Some(first)) = (&self, piece.first()) {
            *self = if first & 0x0f == 8 {
                Self::Zlib(ZlibDecoder::new(Vec::new()))
            } else {
                Self::Raw(DeflateDecoder::new(Vec::new()))
            };
        }
        match self {
            Self::Identity => Ok(piece.to_vec()),
            Self::Undecided => Ok(Vec::new()),
            Self::Gzip(decoder) => decoder
                .write_all(piece)
                .and_then(|()| decoder.flush())
                .map(|()| std::mem::take(decoder.get_mut())),
            Self::Raw(decoder) => decoder
                .write_all(piece)
                .and_then(|()| decoder.flush())
                .map(|()| std::mem::take(decoder.get_mut())),
            Self::Zlib(decoder) => decoder
                .write_all(piece)
                .and_then(|()| decoder.flush())
                .map(|()| std::mem::take(decoder.get_mut())),
        }
    }

    fn end(self) -> io::Result<Vec<u8>> {
        match self {
            Self::Identity | Self::Undecided => Ok(Vec::new()),
            Self::Gzip(decoder) => decoder.finish(),
            Self::Raw(decoder) => decoder.finish(),
            Self::Zlib(decoder) => decoder.finish(),
        }
    }
}

enum Encoder {
    Identity,
    Gzip(GzEncoder<Vec<u8>>),
    Raw(DeflateEncoder<Vec<u8>>),
    Zlib(ZlibEncoder<Vec<u8>>),
}

impl Encoder {
    fn push(&mut self, piece: &[u8], flush: bool) -> io::Result<Vec<u8>> {
        fn push<W: Write>(encoder: &mut W, piece: &[u8], flush: bool) -> io::Result<()> {
            encoder.write_all(piece)?;
            if flush { encoder.flush() } else { Ok(()) }
        }
        match self {
            Self::Identity => Ok(piece.to_vec()),
            Self::Gzip(encoder) => push(encoder, piece, flush).map(|()| std::mem::take(encoder.get_mut())),
            Self::Raw(encoder) => push(encoder, piece, flush).map(|()| std::mem::take(encoder.get_mut())),
            Self::Zlib(encoder) => push(encoder, piece, flush).map(|()| std::mem::take(encoder.get_mut())),
        }
    }

    fn end(self) -> io::Result<Vec<u8>> {
        match self {
            Self::Identity => Ok(Vec::new()),
            Self::Gzip(encoder) => encoder.finish(),
            Self::Raw(encoder) => encoder.finish(),
            Self::Zlib(encoder) => encoder.finish(),
        }
    }
}

/// A transformation of a body: decode, rewrite links, encode again.
pub(crate) struct Transform {
    coding: Coding,
    decoder: Decoder,
    page: Option<Page>,
    encoder: Option<Encoder>,
}

impl Transform {
    /// Rewrites the links of a page and keeps its `coding`.
    pub(crate) fn links(coding: Coding, page: Page) -> Self {
        Self {
            encoder: None,
            page: Some(page),
            ..Self::decode(coding)
        }
    }

    /// Decodes a body, and rewrites the links of a `page`.
    pub(crate) fn plain(coding: Coding, page: Option<Page>) -> Self {
        Self {
            encoder: Some(Encoder::Identity),
            page,
            ..Self::decode(coding)
        }
    }

    fn decode(coding: Coding) -> Self {
        let decoder = match coding {
            Coding::Identity => Decoder::Identity,
            Coding::Gzip => Decoder::Gzip(MultiGzDecoder::new(Vec::new())),
            Coding::Deflate => Decoder::Undecided,
        };
        Self {
            coding,
            decoder,
            page: None,
            encoder: None,
        }
    }

    /// Returns the encoder, which is chosen after the decoder has detected the form of the body.
    fn encoder(&mut self) -> &mut Encoder {
        let (coding, raw) = (self.coding, matches!(self.decoder, Decoder::Raw(_)));
        self.encoder.get_or_insert_with(|| match coding {
            Coding::Identity => Encoder::Identity,
            Coding::Gzip => Encoder::Gzip(GzEncoder::new(Vec::new(), Compression::default())),
            Coding::Deflate if raw => Encoder::Raw(DeflateEncoder::new(Vec::new(), Compression::default())),
            Coding::Deflate => Encoder::Zlib(ZlibEncoder::new(Vec::new(), Compression::default())),
        })
    }

    fn push(&mut self, piece: &[u8], flush: bool) -> Result<Vec<u8>, BodyError> {
        let plain = self.decoder.push(piece)?;
        let changed = match &mut self.page {
            Some(page) => page.push(&plain),
            None => BytesMut::from(plain.as_slice()),
        };
        Ok(self.encoder().push(&changed, flush)?)
    }

    fn end(mut self) -> Result<Vec<u8>, BodyError> {
        self.encoder();
        let mut rest = BytesMut::from(self.decoder.end()?.as_slice());
        if let Some(mut page) = self.page {
            rest = page.push(&rest);
            rest.unsplit(page.end()?);
        }
        let mut out = Vec::new();
        if let Some(mut encoder) = self.encoder {
            out = encoder.push(&rest, false)?;
            out.extend(encoder.end()?);
        }
        Ok(out)
    }
}

/// A body that is transformed while it streams.
pub(crate) struct TransformedBody {
    inner: Body,
    input: Bytes,
    change: Option<Transform>,
}

impl TransformedBody {
    /// Applies `change` to `inner`.
    pub(crate) fn new(inner: Body, change: Transform) -> Self {
        Self {
            inner,
            input: Bytes::new(),
            change: Some(change),
        }
    }
}

impl hyper::body::Body for TransformedBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = &mut *self;
        loop {
            if let (Some(change), false) = (&mut this.change, this.input.is_empty()) {
                let piece = this.input.split_to(MAX_DECODE_BYTES.min(this.input.len()));
                let out = change.push(&piece, this.input.is_empty())?;
                if !out.is_empty() {
                    return Poll::Ready(Some(Ok(Frame::data(out.into()))));
                }
                continue;
            }
            match ready!(Pin::new(&mut this.inner).poll_frame(context)) {
                // Trailers are dropped: buffered data would have to be sent before them.
                Some(frame) => this.input = frame?.into_data().unwrap_or_default(),
                None => {
                    let Some(change) = this.change.take() else {
                        return Poll::Ready(None);
                    };
                    let out = change.end()?;
                    if !out.is_empty() {
                        return Poll::Ready(Some(Ok(Frame::data(out.into()))));
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::{BodyExt, StreamBody};
    use rstest::rstest;

    use super::{super::link::Links, *};

    const PAGE: &str = "<p>text</p><a href='/x'>x</a>";

    fn encode(mut encoder: Encoder) -> Vec<u8> {
        let mut out = encoder.push(PAGE.as_bytes(), false).unwrap();
        out.extend(encoder.end().unwrap());
        out
    }

    async fn through(encoded: &[u8], change: Transform) -> Result<Vec<u8>, BodyError> {
        let pieces: Vec<_> = encoded
            .chunks(7)
            .map(|piece| Ok(Frame::data(Bytes::copy_from_slice(piece))))
            .collect();
        let body = StreamBody::new(futures::stream::iter(pieces)).boxed_unsync();
        Ok(TransformedBody::new(body, change).collect().await?.to_bytes().to_vec())
    }

    fn page() -> Page {
        Page::new(Links {
            prefix: "/p".to_owned(),
            host: String::new(),
        })
        .unwrap()
    }

    #[rstest]
    #[case(Coding::Identity, Encoder::Identity)]
    #[case(Coding::Gzip, Encoder::Gzip(GzEncoder::new(Vec::new(), Compression::default())))]
    #[case(
        Coding::Deflate,
        Encoder::Raw(DeflateEncoder::new(Vec::new(), Compression::default()))
    )]
    #[case(Coding::Deflate, Encoder::Zlib(ZlibEncoder::new(Vec::new(), Compression::default())))]
    #[tokio::test]
    async fn a_page_is_rewritten_in_its_coding(#[case] coding: Coding, #[case] encoder: Encoder) {
        let encoded = encode(encoder);
        let rewritten = through(&encoded, Transform::links(coding, page())).await.unwrap();
        let plain = through(&rewritten, Transform::plain(coding, None)).await.unwrap();
        assert_eq!(String::from_utf8(plain).unwrap(), "<p>text</p><a href=\"/p/x\">x</a>");
    }

    #[tokio::test]
    async fn a_truncated_body_is_an_error() {
        let encoded = encode(Encoder::Gzip(GzEncoder::new(Vec::new(), Compression::default())));
        assert!(
            through(&encoded[..encoded.len() - 6], Transform::plain(Coding::Gzip, None))
                .await
                .is_err()
        );
        assert!(
            through(b"no gzip at all", Transform::plain(Coding::Gzip, None))
                .await
                .is_err()
        );
    }
}
