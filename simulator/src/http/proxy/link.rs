//! Rewriting of links to the proxied server into links through the proxy.
//!
//! - Rewritten: a link whose path starts with a slash and whose host is absent or the server's own.
//! - Not rewritten: relative links, links to other hosts, links through the proxy, and malformed ones.
//!
//! Source: the proxy transport of Kubernetes v1.2, as recorded.

use super::path;

/// The proxy's path, and the server's host.
#[derive(Clone, Debug)]
pub(crate) struct Links {
    /// Prefix of the paths of the server.
    pub(crate) prefix: String,
    /// Host and port of the server.
    pub(crate) host: String,
}

impl Links {
    /// Returns the rewritten link, or `None` if it does not change.
    pub(crate) fn rewrite(&self, link: &str) -> Option<String> {
        if link.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
            return None;
        }
        let (rest, fragment) = split(link, '#');
        let (rest, query) = split(rest, '?');
        let after_scheme = match rest.find([':', '/']) {
            Some(at) if rest[at..].starts_with(':') => {
                let scheme = &rest[..at];
                if !scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                    || !scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
                {
                    return None;
                }
                &rest[at + 1..]
            }
            _ => rest,
        };
        let raw = match after_scheme
            .strip_prefix("//")
            .filter(|_| !after_scheme.starts_with("///"))
        {
            Some(authority) => {
                let end = authority.find('/').unwrap_or(authority.len());
                if authority[..end] != self.host {
                    return None;
                }
                &authority[end..]
            }
            None => after_scheme.strip_prefix("//").unwrap_or(after_scheme),
        };
        if !raw.starts_with('/') {
            return None;
        }
        let path = path::unescape(raw)?;
        let tail = |mark: &str, text: Option<&str>| text.map(|text| format!("{mark}{text}")).unwrap_or_default();
        let path = if path.starts_with(&self.prefix) {
            raw.to_owned()
        } else {
            let joined = path::join(&self.prefix, &path);
            // A second slash at the root would start a host name.
            let slash = if path.ends_with('/') && !joined.ends_with('/') {
                "/"
            } else {
                ""
            };
            path::escape(&format!("{joined}{slash}"))
        };
        Some(format!("{path}{}{}", tail("?", query), tail("#", fragment)))
    }
}

fn split(text: &str, mark: char) -> (&str, Option<&str>) {
    text.split_once(mark)
        .map_or((text, None), |(before, after)| (before, Some(after)))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("/style.css", Some("/p/x/style.css"))]
    #[case("/target?x=1#f", Some("/p/x/target?x=1#f"))]
    #[case("/dir/", Some("/p/x/dir/"))]
    #[case("/a/../b//c", Some("/p/x/b/c"))]
    #[case("/", Some("/p/x/"))]
    #[case("/../../../", Some("/"))]
    #[case("http://10.0.0.1:80/in", Some("/p/x/in"))]
    #[case("//10.0.0.1:80/in", Some("/p/x/in"))]
    #[case("/p/x/there", Some("/p/x/there"))]
    #[case("/with space", Some("/p/x/with%20space"))]
    #[case("next", None)]
    #[case("rel/page?x=1#f", None)]
    #[case("", None)]
    #[case("#top", None)]
    #[case("?q=/x", None)]
    #[case("javascript:void(0)", None)]
    #[case("http://example.com/away", None)]
    #[case("//example.com/scheme", None)]
    #[case("http://10.0.0.1:81/other-port", None)]
    #[case("/bad%zz", None)]
    #[case("/line\nbreak", None)]
    fn only_rooted_links_to_the_same_host_are_rewritten(#[case] link: &str, #[case] written: Option<&str>) {
        let links = Links {
            prefix: "/p/x".to_owned(),
            host: "10.0.0.1:80".to_owned(),
        };
        assert_eq!(links.rewrite(link).as_deref(), written);
    }
}
