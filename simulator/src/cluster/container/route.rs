//! HTTP responses defined by data.

use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{HeaderValue, Request, Response, StatusCode, header};
use jiff::Timestamp;
use stuntdouble_shell::{Call, Input};

use super::{
    image::RouteData,
    network::Server,
    program::{CapturedOutput, run_shell},
};

/// A server of a program.
pub(super) struct RouteServer {
    /// The program's call.
    pub(super) call: Call,
    pub(super) routes: Arc<Vec<RouteData>>,
    pub(super) started: Timestamp,
    pub(super) port: u16,
    /// Value of the environment variable that opens the port.
    pub(super) value: String,
    pub(super) access_log: bool,
}

impl Server for RouteServer {
    fn answer(&self, request: Request<Bytes>) -> BoxFuture<'static, Response<Bytes>> {
        let server = Self {
            call: self.call.clone(),
            routes: self.routes.clone(),
            value: self.value.clone(),
            ..*self
        };
        Box::pin(async move { server.respond(&request).await })
    }
}

impl RouteServer {
    async fn respond(&self, request: &Request<Bytes>) -> Response<Bytes> {
        let path = percent_encoding::percent_decode_str(request.uri().path()).decode_utf8_lossy();
        let passed = self.call.machine.time.now().duration_since(self.started).as_secs_f64();
        let route = self.routes.iter().find(|route| {
            let path_fits = match route.path.strip_suffix('*') {
                Some(start) => path.starts_with(start),
                None => *path == *route.path,
            };
            let method_fits = route.method.as_deref().is_none_or(|method| method == request.method());
            path_fits && method_fits && passed >= route.from && route.until.is_none_or(|until| passed < until)
        });
        let (status, content_type, body) = match route {
            Some(route) => self.body(route, request, &path).await,
            None => (
                404,
                "text/plain; charset=utf-8".to_owned(),
                "404 page not found\n".into(),
            ),
        };
        if self.access_log {
            self.log(request, status, body.len()).await;
        }
        let mut response = Response::new(body);
        *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        if let Ok(value) = HeaderValue::try_from(content_type) {
            response.headers_mut().insert(header::CONTENT_TYPE, value);
        }
        response
    }

    async fn body(&self, route: &RouteData, request: &Request<Bytes>, path: &str) -> (u16, String, Bytes) {
        if let Some(root) = &route.root {
            return self.file(root, path);
        }
        if let Some(script) = &route.script {
            let collected = CapturedOutput::new();
            let call = Call {
                stdin: Input::bytes(request.body().clone()),
                stdout: collected.output(),
                ..self.call.clone()
            };
            let status = run_shell(&call, script, variables(request, path)).await;
            let code = if status == 0 { route.status } else { 500 };
            return (code, route.content_type.clone(), collected.take().into());
        }
        let text = fill(&route.body, &self.call, &|name| self.value_of(name, request, path));
        (route.status, route.content_type.clone(), text.into())
    }

    /// Returns a file below `root`; for a directory, its `index.html` or its listing.
    fn file(&self, root: &str, path: &str) -> (u16, String, Bytes) {
        let files = &self.call.machine.files;
        let mut place = stuntdouble_shell::absolute(root, path.trim_start_matches('/'));
        if !place.starts_with(root.trim_end_matches('/')) {
            root.clone_into(&mut place);
        }
        if files.is_directory(&place) {
            place = format!("{}/index.html", place.trim_end_matches('/'));
        }
        match files.read(&place) {
            Ok(content) => (200, media_type(&place).to_owned(), content),
            Err(_) => {
                let page = "<html>\r\n<head><title>404 Not Found</title></head>\r\n<body>\r\n<center><h1>404 Not \
                    Found</h1></center>\r\n</body>\r\n</html>\r\n";
                (404, "text/html".to_owned(), page.into())
            }
        }
    }

    fn value_of(&self, name: &str, request: &Request<Bytes>, path: &str) -> Option<String> {
        let header = |name: &str| {
            let value = request.headers().get(name)?;
            Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
        };
        Some(match name {
            "method" => request.method().to_string(),
            "path" => path.to_owned(),
            "uri" => request.uri().to_string(),
            "query" => request.uri().query().unwrap_or_default().to_owned(),
            "host" => header("host").unwrap_or_default(),
            "body" => String::from_utf8_lossy(request.body()).into_owned(),
            "value" => self.value.clone(),
            "port" => self.port.to_string(),
            "headers" => {
                let mut lines: Vec<String> = request
                    .headers()
                    .iter()
                    .map(|(name, value)| format!("{name}={}\n", String::from_utf8_lossy(value.as_bytes())))
                    .collect();
                lines.sort();
                lines.concat()
            }
            _ => match name.split_once('.') {
                Some(("query", name)) => parameters(request).find(|(key, _)| key == name)?.1,
                Some(("header", name)) => header(name).unwrap_or_default(),
                _ => return None,
            },
        })
    }

    async fn log(&self, request: &Request<Bytes>, status: u16, size: usize) {
        let now = jiff::fmt::strtime::format(
            "%d/%b/%Y:%H:%M:%S %z",
            &self.call.machine.time.now().to_zoned(jiff::tz::TimeZone::UTC),
        );
        let agent = request.headers().get(header::USER_AGENT);
        let line = format!(
            "10.240.0.1 - - [{}] \"{} {} HTTP/1.1\" {status} {size} \"-\" \"{}\" \"-\"\n",
            now.unwrap_or_default(),
            request.method(),
            request.uri(),
            agent.map_or("-".into(), |agent| String::from_utf8_lossy(agent.as_bytes())),
        );
        // An error means that nobody reads the output.
        let _ = self.call.stdout.write(line).await;
    }
}

fn parameters(request: &Request<Bytes>) -> impl Iterator<Item = (String, String)> {
    let query = request.uri().query().unwrap_or_default();
    url::form_urlencoded::parse(query.as_bytes()).map(|(key, value)| (key.into_owned(), value.into_owned()))
}

/// Returns the environment variables of a route's script.
fn variables(request: &Request<Bytes>, path: &str) -> Vec<(String, String)> {
    let mut variables = vec![
        ("REQUEST_METHOD".to_owned(), request.method().to_string()),
        ("REQUEST_PATH".to_owned(), path.to_owned()),
        (
            "QUERY_STRING".to_owned(),
            request.uri().query().unwrap_or_default().to_owned(),
        ),
    ];
    for (key, value) in parameters(request) {
        let name: String = key
            .chars()
            .map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' })
            .collect();
        variables.push((format!("QUERY_{name}"), value));
    }
    variables
}

fn media_type(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or_default() {
        "html" | "htm" => "text/html",
        "css" => "text/css",
        "js" => "application/javascript",
        "json" => "application/json",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "txt" => "text/plain",
        _ => "application/octet-stream",
    }
}

/// Replaces `{name}` by `value(name)`, and `{hostname}`, `{env.NAME}` and `{argument.N}` by the program's values.
/// Other braces stay.
pub(super) fn fill(text: &str, call: &Call, value: &dyn Fn(&str) -> Option<String>) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('{') {
        let (before, after) = rest.split_at(start);
        filled.push_str(before);
        let end = after.find('}');
        let name = end.and_then(|end| after.get(1..end)).unwrap_or_default();
        match own_value(name, call).or_else(|| value(name)) {
            Some(value) => {
                filled.push_str(&value);
                rest = after.get(name.len() + 2..).unwrap_or_default();
            }
            None => {
                filled.push('{');
                rest = after.get(1..).unwrap_or_default();
            }
        }
    }
    filled.push_str(rest);
    filled
}

fn own_value(name: &str, call: &Call) -> Option<String> {
    match name.split_once('.') {
        None if name == "hostname" => Some(call.machine.hostname.clone()),
        None if name == "arguments" => Some(call.command.get(1..).unwrap_or_default().join(" ")),
        Some(("env", name)) => {
            let found = call.environment.iter().rev().find(|(key, _)| key == name);
            Some(found.map(|(_, value)| value.clone()).unwrap_or_default())
        }
        _ => None,
    }
}
