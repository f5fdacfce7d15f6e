//! Web pages of the add-ons, from files embedded in the program. They load nothing from other servers.

use futures::future::BoxFuture;
use hyper::{
    Method, Request, Response, StatusCode,
    header::{self, HeaderValue},
};

use crate::cluster::network::{Backend, Body, full_body};

/// Name and content of a file. The page itself has an empty name.
type File = (&'static str, &'static str);

/// The files shared by the pages.
const SHARED: [File; 3] = [
    ("shared.css", include_str!("web/shared.css")),
    ("dom.js", include_str!("web/dom.js")),
    ("api.js", include_str!("web/api.js")),
];

/// The files of the log viewer.
const VIEWER: [File; 12] = [
    (
        "",
        concat!(include_str!("web/head.html"), include_str!("web/viewer/index.html")),
    ),
    ("viewer.css", include_str!("web/viewer/viewer.css")),
    ("main.js", include_str!("web/viewer/main.js")),
    ("state.js", include_str!("web/viewer/state.js")),
    ("search.js", include_str!("web/viewer/search.js")),
    ("time.js", include_str!("web/viewer/time.js")),
    ("chart.js", include_str!("web/viewer/chart.js")),
    ("controls.js", include_str!("web/viewer/controls.js")),
    ("discover.js", include_str!("web/viewer/discover.js")),
    ("fields.js", include_str!("web/viewer/fields.js")),
    ("hits.js", include_str!("web/viewer/hits.js")),
    ("visualize.js", include_str!("web/viewer/visualize.js")),
];

/// The files of the cluster's dashboard.
const DASHBOARD: [File; 8] = [
    (
        "",
        concat!(include_str!("web/head.html"), include_str!("web/dashboard/index.html")),
    ),
    ("dashboard.css", include_str!("web/dashboard/dashboard.css")),
    ("main.js", include_str!("web/dashboard/main.js")),
    ("store.js", include_str!("web/dashboard/store.js")),
    ("tables.js", include_str!("web/dashboard/tables.js")),
    ("detail.js", include_str!("web/dashboard/detail.js")),
    ("log.js", include_str!("web/dashboard/log.js")),
    ("terminal.js", include_str!("web/dashboard/terminal.js")),
];

/// The files of the metrics dashboard.
const METRICS: [File; 3] = [
    (
        "",
        concat!(include_str!("web/head.html"), include_str!("web/metrics/index.html")),
    ),
    ("metrics.css", include_str!("web/metrics/metrics.css")),
    ("main.js", include_str!("web/metrics/main.js")),
];

/// A server of files by path.
pub(super) struct Page(Vec<File>);

/// Returns the log viewer.
pub(super) fn viewer() -> Page {
    Page(VIEWER.into_iter().chain(SHARED).collect())
}

/// Returns the cluster's dashboard.
pub(super) fn dashboard() -> Page {
    Page(DASHBOARD.into_iter().chain(SHARED).collect())
}

/// Returns the metrics dashboard.
pub(super) fn metrics() -> Page {
    Page(METRICS.into_iter().chain(SHARED).collect())
}

impl Page {
    fn respond(&self, request: &Request<Body>) -> Response<Body> {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let mut response = Response::new(full_body("only GET and HEAD are allowed\n"));
            *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
            return response;
        }
        let path = request.uri().path().trim_start_matches('/');
        let Some((name, content)) = self.0.iter().find(|(name, _)| *name == path) else {
            let mut response = Response::new(full_body("there is no such page\n"));
            *response.status_mut() = StatusCode::NOT_FOUND;
            return response;
        };
        let mut response = Response::new(full_body(*content));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type(name)));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(
            header::CONTENT_SECURITY_POLICY,
            HeaderValue::from_static(
                "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'",
            ),
        );
        response
    }
}

/// Returns the media type of a file by its extension.
fn media_type(name: &str) -> &'static str {
    match name.rsplit_once('.') {
        Some((_, "css")) => "text/css; charset=utf-8",
        Some((_, "js")) => "text/javascript; charset=utf-8",
        _ => "text/html; charset=utf-8",
    }
}

impl Backend for Page {
    fn answer(&self, request: Request<Body>) -> BoxFuture<'static, Response<Body>> {
        let response = self.respond(&request);
        Box::pin(async move { response })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Returns the names of the files that a page and its parts refer to.
    fn references(content: &str) -> Vec<&str> {
        let quoted = ["href=\"", "src=\"", "from \"./", "url(\""];
        let starts = quoted.iter().flat_map(|start| content.split(start).skip(1));
        let references = starts.filter_map(|rest| rest.split('"').next());
        // Links within a page are created at run time.
        references.filter(|reference| !reference.starts_with("${")).collect()
    }

    #[test]
    fn every_link_is_relative_and_every_file_of_a_page_exists_and_is_used() {
        let pages = [
            (viewer(), "kubernetes-dashboard"),
            (dashboard(), "kibana-logging"),
            (metrics(), "kubernetes-dashboard"),
        ];
        for (page, elsewhere) in pages {
            let names: BTreeSet<&str> = page.0.iter().map(|(name, _)| *name).collect();
            let mut used: BTreeSet<&str> = BTreeSet::from([""]);
            for reference in page.0.iter().flat_map(|(_, content)| references(content)) {
                let inside = names.contains(reference);
                let beside = reference == format!("../{elsewhere}/");
                let within = reference == "./" || reference.starts_with('#') || reference == "data:,";
                assert!(inside || beside || within, "{reference}");
                used.insert(names.get(reference).copied().unwrap_or_default());
            }
            assert_eq!(used, names);
        }
    }

    #[tokio::test]
    async fn a_page_is_read_only_and_has_media_types() {
        let ask = |method: Method, path: &str| {
            let request = Request::builder().method(method).uri(path).body(full_body("")).unwrap();
            viewer().answer(request)
        };
        let page = ask(Method::GET, "/").await;
        assert_eq!(page.headers()[header::CONTENT_TYPE], "text/html; charset=utf-8");
        let script = ask(Method::GET, "/main.js").await;
        assert_eq!(script.headers()[header::CONTENT_TYPE], "text/javascript; charset=utf-8");
        assert_eq!(ask(Method::POST, "/").await.status(), StatusCode::METHOD_NOT_ALLOWED);
        assert_eq!(ask(Method::GET, "/absent.js").await.status(), StatusCode::NOT_FOUND);
    }
}
