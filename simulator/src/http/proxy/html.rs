//! HTML rewriting: every start tag is rewritten, with links that lead through the proxy.
//!
//! - It works on streamed bytes in any ASCII-compatible encoding; everything but markup is unchanged.
//! - Start tags are normalized: names in lower case, values in double quotes, separated by one space.
//! - Limits: at most [`MAX_MEMORY_BYTES`] for the parser state of a page; beyond it, the rest of the page is
//!   unchanged.
//!
//! Source: the proxy transport of Kubernetes v1.2 (elements, attributes, form of the output), as recorded.

use std::sync::Arc;

use bytes::BytesMut;
use html_escape::decode_html_entities;
use lol_html::{
    AsciiCompatibleEncoding, ElementContentHandlers, HandlerResult, MemorySettings, OutputSink, Selector,
    html_content::ContentType,
    send::{Element, HtmlRewriter, Settings},
};
use parking_lot::Mutex;

use super::{BodyError, link::Links};

/// Memory limit of the parser of one page, in bytes.
pub(crate) const MAX_MEMORY_BYTES: usize = 1 << 20;

/// Returns the attributes of `element` that are links.
fn link_attributes(element: &str) -> &'static [&'static str] {
    match element {
        "a" | "area" | "base" | "link" => &["href"],
        "applet" => &["codebase"],
        "audio" | "embed" | "script" | "source" => &["src"],
        "blockquote" | "del" | "ins" | "q" => &["cite"],
        "body" => &["background"],
        "button" => &["formaction"],
        "command" => &["icon"],
        "form" => &["action"],
        "frame" | "iframe" => &["longdesc", "src"],
        "head" => &["profile"],
        "html" => &["manifest"],
        "img" => &["longdesc", "src", "usemap"],
        "input" => &["src", "usemap", "formaction"],
        "object" => &["classid", "codebase", "data", "usemap"],
        "video" => &["poster", "src"],
        _ => &[],
    }
}

/// A rewriter of one page.
pub(crate) struct Page {
    /// `None` after the page has exceeded the memory limit.
    rewriter: Option<HtmlRewriter<'static, Output>>,
    output: Arc<Mutex<BytesMut>>,
}

struct Output(Arc<Mutex<BytesMut>>);

impl OutputSink for Output {
    fn handle_chunk(&mut self, chunk: &[u8]) {
        self.0.lock().extend_from_slice(chunk);
    }
}

impl Page {
    /// Creates a rewriter with these links.
    pub(crate) fn new(links: Links) -> Result<Self, BodyError> {
        let every: Selector = "*".parse()?;
        // Bytes above 127 are mapped one to one to private-use characters, in any encoding of the page.
        let bytes = AsciiCompatibleEncoding::new(encoding_rs::X_USER_DEFINED).ok_or("no encoding carries bytes")?;
        let handler = move |element: &mut Element<'_, '_>| -> HandlerResult {
            let tag = start_tag(element, &links);
            element.start_tag().replace(&tag, ContentType::Html);
            Ok(())
        };
        let settings = Settings::new_send()
            .append_element_content_handler((
                std::borrow::Cow::Owned(every),
                ElementContentHandlers::default().element(handler),
            ))
            .with_encoding(bytes)
            .with_strict(false)
            .with_memory_settings(
                MemorySettings::new()
                    .with_max_allowed_memory_usage(MAX_MEMORY_BYTES)
                    .with_graceful_bail_out_on_memory_limit_exceeded(true),
            );
        let output = Arc::new(Mutex::new(BytesMut::new()));
        Ok(Self {
            rewriter: Some(HtmlRewriter::new(settings, Output(Arc::clone(&output)))),
            output,
        })
    }

    /// Rewrites a piece of the page. Returns the output that is complete.
    pub(crate) fn push(&mut self, piece: &[u8]) -> BytesMut {
        match &mut self.rewriter {
            // After exceeding its limit, the rewriter has returned all of its input and cannot be used again.
            Some(rewriter) => {
                if rewriter.write(piece).is_err() {
                    self.rewriter = None;
                }
            }
            None => self.output.lock().extend_from_slice(piece),
        }
        self.output.lock().split()
    }

    /// Ends the page. Returns the remaining output.
    pub(crate) fn end(self) -> Result<BytesMut, BodyError> {
        if let Some(rewriter) = self.rewriter {
            rewriter.end()?;
        }
        Ok(self.output.lock().split())
    }
}

/// Returns the rewritten start tag.
fn start_tag(element: &mut Element<'_, '_>, links: &Links) -> String {
    let name = element.tag_name();
    let rewritten = link_attributes(&name);
    let mut out = format!("<{name}");
    for attribute in element.attributes() {
        let key = attribute.name();
        let raw = attribute.value();
        let value = to_bytes(&raw);
        let value = std::str::from_utf8(&value).map(|text| {
            let text = decode_html_entities(text);
            let link = if rewritten.contains(&key.as_str()) {
                links.rewrite(&text)
            } else {
                None
            };
            carry(&escape(link.as_deref().unwrap_or(&text)))
        });
        out.push(' ');
        out.push_str(&key);
        out.push_str("=\"");
        // A value that is not UTF-8 is not rewritten.
        out.push_str(&value.unwrap_or_else(|_| raw.replace('"', "&#34;")));
        out.push('"');
    }
    out.push_str(if element.is_self_closing() { "/>" } else { ">" });
    out
}

/// Escapes a value for double quotes.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '\'' => out.push_str("&#39;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&#34;"),
            '\r' => out.push_str("&#13;"),
            c => out.push(c),
        }
    }
    out
}

/// First private-use character for bytes above 127.
const FIRST_PRIVATE_CHAR: u32 = 0xf700;

fn to_bytes(carried: &str) -> Vec<u8> {
    carried
        .chars()
        .map(|c| u8::try_from(u32::from(c)).unwrap_or_else(|_| u32::from(c).wrapping_sub(FIRST_PRIVATE_CHAR) as u8))
        .collect()
}

fn carry(text: &str) -> String {
    text.bytes()
        .map(|byte| {
            if byte.is_ascii() {
                char::from(byte)
            } else {
                char::from_u32(FIRST_PRIVATE_CHAR + u32::from(byte)).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn rewrite(page: &[u8], piece: usize) -> Vec<u8> {
        let links = Links {
            prefix: "/p".to_owned(),
            host: "h:1".to_owned(),
        };
        let mut rewriter = Page::new(links).unwrap();
        let mut out = Vec::new();
        for part in page.chunks(piece) {
            out.extend(rewriter.push(part));
        }
        out.extend(rewriter.end().unwrap());
        out
    }

    #[rstest]
    #[case("<a HREF='/upper'>x</a>", "<a href=\"/p/upper\">x</a>")]
    #[case("<A  href=/x\n id=y>t</A>", "<a href=\"/p/x\" id=\"y\">t</A>")]
    #[case("<p data-x='/no'>/not &amp; here</p>", "<p data-x=\"/no\">/not &amp; here</p>")]
    #[case(
        "<img src=\"/a?b=1&amp;c=2\" longdesc='/d'/>",
        "<img src=\"/p/a?b=1&amp;c=2\" longdesc=\"/p/d\"/>"
    )]
    #[case(
        "<script src='/s.js'>if (a < b) x = '<a href=\"/y\">';</script>",
        "<script src=\"/p/s.js\">if (a < b) x = '<a href=\"/y\">';</script>"
    )]
    #[case("<!-- <a href='/c'> --><!DOCTYPE html>", "<!-- <a href='/c'> --><!DOCTYPE html>")]
    #[case("<input disabled>", "<input disabled=\"\">")]
    #[case("<a title=\"it's <b>\" href=\"\">", "<a title=\"it&#39;s &lt;b&gt;\" href=\"\">")]
    #[case("<a href='/é' title='é'>é</a>", "<a href=\"/p/%C3%A9\" title=\"é\">é</a>")]
    fn only_start_tags_are_rewritten(#[case] page: &str, #[case] expected: &str) {
        for piece in [1, 3, 1000] {
            assert_eq!(
                String::from_utf8(rewrite(page.as_bytes(), piece)).unwrap(),
                expected,
                "in pieces of {piece}"
            );
        }
    }

    #[test]
    fn bytes_of_another_encoding_are_preserved() {
        let page = b"<p title=\"caf\xe9\">caf\xe9</p><a href='/x'>\xff</a>";
        assert_eq!(
            rewrite(page, 5),
            b"<p title=\"caf\xe9\">caf\xe9</p><a href=\"/p/x\">\xff</a>"
        );
    }

    #[test]
    fn a_tag_beyond_the_memory_limit_is_unchanged() {
        let page = format!("<a href='{}'>x</a><a href='/after'>", "y".repeat(2 * MAX_MEMORY_BYTES));
        assert_eq!(rewrite(page.as_bytes(), 4096), page.as_bytes());
    }
}
