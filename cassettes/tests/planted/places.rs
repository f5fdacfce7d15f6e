//! The places in which secrets are planted.

use super::secrets::{code, deflated, envelope, gzipped, hex_key, jwt, message, percent, secret};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};

/// A request and its response, of which one has a secret in it.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// What is looked for.
    pub(crate) secret: String,
    /// Whether it is a variant of other places, which fewer splits suffice for.
    pub(crate) variant: bool,
    pub(crate) method: &'static str,
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) status: u16,
    pub(crate) response_headers: Vec<(String, String)>,
    pub(crate) response: Vec<u8>,
}

pub(crate) const JSON: &str = "application/json";
pub(crate) const YAML: &str = "application/yaml";
pub(crate) const TEXT: &str = "text/plain";
const FORM: &str = "application/x-www-form-urlencoded";
pub(crate) const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const SECRETS: &str = "/api/v1/namespaces/a/secrets";

/// All places.
pub(crate) struct Places(pub(crate) Vec<Place>);

impl Places {
    /// Secrets are numbered by their place.
    pub(crate) fn all() -> Self {
        let mut places = Self(Vec::new());
        places.heads();
        places.queries();
        places.documents();
        places.texts();
        places.secrets();
        places.patches();
        places.binaries();
        places.echoes();
        let variants = places.0.len();
        places.disguises();
        places
            .0
            .iter_mut()
            .skip(variants)
            .for_each(|place| place.variant = true);
        places
    }

    pub(crate) fn next(&self) -> String {
        secret(self.0.len())
    }

    pub(crate) fn push(&mut self, mut place: Place) {
        // Each is asked for at a target of its own: what replaces a secret matches any other.
        let mark = if place.target.contains('?') { '&' } else { '?' };
        place.target.push_str(&format!("{mark}place={}", self.0.len()));
        self.0.push(place);
    }

    pub(crate) fn plain(&self, secret: String) -> Place {
        Place {
            secret,
            variant: false,
            method: "GET",
            target: "/x".into(),
            headers: Vec::new(),
            body: Vec::new(),
            status: 200,
            response_headers: Vec::new(),
            response: b"ok\n".to_vec(),
        }
    }

    pub(crate) fn header(&mut self, name: &str, value: impl Fn(&str) -> String) {
        let secret = self.next();
        let field = (name.to_owned(), value(&secret));
        let place = self.plain(secret);
        self.push(Place {
            headers: vec![field],
            ..place
        });
    }

    pub(crate) fn response_header(&mut self, name: &str, value: impl Fn(&str) -> String) {
        let secret = self.next();
        let field = (name.to_owned(), value(&secret));
        let place = self.plain(secret);
        self.push(Place {
            response_headers: vec![field],
            ..place
        });
    }

    pub(crate) fn query(&mut self, query: impl Fn(&str) -> String) {
        let secret = self.next();
        let target = format!("/api/v1/namespaces/a/pods/b/exec?{}", query(&secret));
        let place = self.plain(secret);
        self.push(Place { target, ..place });
    }

    /// A body of a request to a path, and another one of a response.
    pub(crate) fn body(&mut self, method: &'static str, path: &str, media_type: &str, body: impl Fn(&str) -> Vec<u8>) {
        let typed = |media_type: &str| vec![("content-type".to_owned(), media_type.to_owned())];
        let secret = self.next();
        let (of_request, target) = (body(&secret), path.to_owned());
        let place = self.plain(secret);
        self.push(Place {
            method,
            target,
            headers: typed(media_type),
            body: of_request,
            ..place
        });
        let secret = self.next();
        let (response, target) = (body(&secret), path.to_owned());
        let place = self.plain(secret);
        self.push(Place {
            target,
            response_headers: typed(media_type),
            response,
            ..place
        });
    }

    pub(crate) fn json(&mut self, body: impl Fn(&str) -> Value) {
        self.body("POST", "/x", JSON, |secret| body(secret).to_string().into());
    }

    pub(crate) fn config_map(&mut self, name: &str, text: impl Fn(&str) -> String) {
        self.json(
            |secret| json!({"kind": "ConfigMap", "apiVersion": "v1", "data": {name: text(secret), "other": "kept"}}),
        );
    }

    fn heads(&mut self) {
        self.header("authorization", |s| format!("Bearer {s}"));
        self.header("authorization", |s| {
            format!("Basic {}", STANDARD.encode(format!("user:{s}")))
        });
        self.header("authorization", |s| format!("Digest username=\"u\", response=\"{s}\""));
        self.header("cookie", |s| format!("theme=dark;session={s}"));
        for name in [
            "x-auth-token",
            "x-api-key",
            "x-amz-security-token",
            "x-registry-auth",
            "x-access-key",
            "x-my-password",
            "x-signature",
            "x-jwt",
            "x-credential",
            "x-original-authorization",
            "pwd",
            "code",
        ] {
            self.header(name, str::to_owned);
        }
        self.header("x-forwarded-uri", |s| format!("/a?access_token={}", percent(s)));
        self.header("referer", |s| format!("https://joe:{}@example.com/", percent(s)));
        self.header("sec-websocket-protocol", |s| {
            format!(
                "base64url.bearer.authorization.k8s.io.{}, v4.channel.k8s.io",
                URL_SAFE_NO_PAD.encode(s)
            )
        });
        self.response_header("set-cookie", |s| format!("sid={s}; Path=/; HttpOnly"));
        self.response_header("location", |s| {
            format!("https://example.com/cb#access_token={}&state=1", percent(s))
        });
        self.response_header("link", |s| {
            format!("<https://example.com/?token={}>; rel=next", percent(s))
        });
        self.response_header("x-vault-token", str::to_owned);
        self.response_header("www-authenticate", |s| {
            format!("Bearer error=\"bad\", error_description=\"token={s}\"")
        });
    }

    fn queries(&mut self) {
        for name in [
            "token",
            "access_token",
            "sig",
            "signature",
            "code",
            "jwt",
            "api-key",
            "password",
            "client_secret",
            "acc%65ss_token",
            "user%5Bpassword%5D",
        ] {
            self.query(|s| format!("a=b&{name}={}", percent(s)));
        }
        self.query(|s| format!("command=login&command=--password%3D{}", percent(s)));
        self.query(|s| format!("command=login&command=--token&command={}", percent(s)));
        self.query(|s| {
            format!(
                "command=sh&command=-c&command={}",
                percent(&format!("PGPASSWORD={s} psql -h x"))
            )
        });
        self.query(|s| {
            format!(
                "command=curl&command=-H&command={}",
                percent(&format!("Authorization: Bearer {s}"))
            )
        });
        self.query(|s| {
            format!(
                "command=sh&command=-c&command={}",
                percent(&format!("mysql --password '{s}' -e 'select 1'"))
            )
        });
        self.query(|s| format!("url={}", percent(&format!("https://x.example.com/blob?sv=1&sig={s}"))));
        self.body("POST", "/x", FORM, |s| {
            format!("user=me&password={}", percent(s)).into()
        });
        self.body("POST", "/x", FORM, |s| {
            json!({"kind": "Secret", "data": {"a": code(s)}}).to_string().into()
        });
        self.body("POST", "/x", FORM, |s| {
            format!("kind: Secret\nstringData:\n  a: {s}\n").into()
        });
        self.body("POST", "/x", "multipart/form-data; boundary=xyz", |s| {
            format!("--xyz\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\n{s}\r\n--xyz--\r\n").into()
        });
    }

    fn documents(&mut self) {
        for key in [
            "password",
            "db_pass",
            "apiKey",
            "accessKeyId",
            "clientSecret",
            "privateKeyPem",
            "sessionid",
            "jwt",
            "identitytoken",
            "p\u{61}sswd",
        ] {
            self.json(|s| json!({"spec": {key: s}}));
        }
        self.json(|s| json!({"credentials": {"any": {"where": [{"deep": s}]}}}));
        self.json(|s| json!({"tokens": {"items": [s]}}));
        self.json(|s| json!({"spec": {"containers": [{"env": [{"name": "A", "value": "b"}, {"name": "DB_PASSWORD", "value": s}]}]}}));
        self.json(|s| json!({"spec": {"containers": [{"env": [{"value": s, "name": "DB_PASSWORD"}]}]}}));
        self.json(|s| json!({"env": [format!("DB_PASSWORD={s} and more")]}));
        self.json(|s| json!({"command": ["run", "--password", s]}));
        self.json(|s| json!({"args": [format!("--api-token={s}"), "-v"]}));
        self.json(|s| json!({"args": ["sh", "-c", format!("curl -u joe:{s} http://x")]}));
        self.json(|s| json!({"auths": {"registry.example.com": {"auth": STANDARD.encode(format!("joe:{s}"))}}}));
        self.json(|s| json!({"users": [{"name": "a", "user": {"client-key-data": STANDARD.encode(hex_key(s)), "token": "t0ken-of-it"}}]}));
        self.json(|s| json!({"users": [{"name": "a", "user": {"auth-provider": {"config": {"id-token": s}}}}]}));
        self.json(|s| json!({"text": hex_key(s)}));
        self.json(|s| json!({"text": STANDARD.encode(format!("some words before\n{}", hex_key(s)))}));
        self.json(|s| json!({"text": format!("see {} there", jwt(s))}));
        self.json(|s| json!({"text": format!("postgres://joe:{}@db:5432/x", percent(s))}));
        self.json(
            |s| json!({"kind": "ConfigMap", "binaryData": {"f": STANDARD.encode(format!("a=b\npassword={s}\n"))}}),
        );
        self.json(|s| json!({"kind": "ConfigMap", "binaryData": {"f": STANDARD.encode(gzipped(format!("password={s}\n").as_bytes()))}}));
        self.json(
            |s| json!({"message": format!("I0101 created {}", json!({"kind": "Secret", "data": {"a": code(s)}}))}),
        );
        self.body("POST", "/x", JSON, |s| {
            format!("\u{feff}{}", json!({"kind": "Secret", "data": {"a": code(s)}})).into()
        });
        self.body("POST", "/x", JSON, |s| format!("{{\"p\\u0061ssword\":\"{s}\"}}").into());
        self.body("POST", "/x", YAML, |s| {
            format!("a: 1\npassword: \"{s}\" # kept\n").into()
        });
        self.body("POST", "/x", YAML, |s| format!("a: 1\n# password: {s}\nb: 2\n").into());
        self.body("POST", "/x", YAML, |s| format!("a: &x {s}\nb:\n  - token: *x\n").into());
        self.body("POST", "/x", YAML, |s| {
            format!("deep:\n  secretKey: |\n    {s}\n    more\n").into()
        });
    }

    fn texts(&mut self) {
        self.config_map("app.yaml", |s| format!("db:\n  user: joe\n  password: {s}\n"));
        self.config_map("app.yaml", |s| format!("env:\n- name: API_TOKEN\n  value: {s}\n"));
        self.config_map("app.env", |s| format!("A=1\nexport DB_PASS={s}\n"));
        self.config_map("app.env", |s| format!("A=1\nDB_PASSWORD='{s}'\nB=2\n"));
        self.config_map("app.properties", |s| format!("a=b\ndb.password = {s}\n"));
        self.config_map("app.properties", |s| format!("a: b\ndb.password: {s}\nx = y\n"));
        self.config_map("app.ini", |s| format!("[db]\nuser=joe\nPassword={s}\n; end\n"));
        self.config_map("app.toml", |s| format!("[db]\nauth = \"{s}\"\n"));
        self.config_map("app.json", |s| json!({"db": {"password": s}}).to_string());
        self.config_map("app.xml", |s| format!("<db>\n<password>{s}</password>\n</db>"));
        self.config_map("redis.conf", |s| format!("port 1\nrequirepass {s}\n"));
        self.config_map("netrc", |s| format!("machine h login joe password {s}\n"));
        self.config_map("config", |s| {
            format!("apiVersion: v1\nkind: Config\nusers:\n- name: a\n  user:\n    token: {s}\n")
        });
        self.config_map(".dockerconfigjson", |s| {
            json!({"auths": {"r": {"password": s}}}).to_string()
        });
        for line in [
            "E0101 login failed: password=",
            "level=info api_key=",
            "Authorization: Bearer ",
            "curl --token ",
            "export SECRET_KEY=",
            "GET /x?sig=",
        ] {
            self.body("POST", "/x", TEXT, |s| {
                format!("a line before\n{line}{s}\nand one after\n").into()
            });
        }
        self.body("POST", "/x", TEXT, |s| format!("$ cat key\n{}$ \n", hex_key(s)).into());
        self.body("POST", "/x", TEXT, |s| {
            format!(
                "$ kubectl get secret -o yaml\napiVersion: v1\ndata:\n  a: {}\nkind: Secret\n",
                code(s)
            )
            .into()
        });
        self.body("POST", "/x", TEXT, |s| {
            format!("done\n{:#}\n", json!({"data": {"a": code(s)}, "kind": "Secret"})).into()
        });
    }

    fn secrets(&mut self) {
        let object =
            |s: &str| json!({"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "x"}, "data": {"a": code(s)}});
        self.json(object);
        self.json(|s| json!({"stringData": {"b": s}, "metadata": {"name": "x"}, "kind": "Secret"}));
        self.json(|s| json!({"items": [{"data": {"a": code(s)}}], "kind": "SecretList"}));
        self.json(|s| json!({"kind": "List", "items": [{"data": {"a": code(s)}, "kind": "Secret"}]}));
        self.json(|s| json!({"metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": object(s).to_string()}}}));
        self.body("POST", "/x", JSON, |s| {
            format!("{{\"kind\":\"\\u0053ecret\",\"data\":{{\"a\":\"{}\"}}}}", code(s)).into()
        });
        self.body("POST", "/x", JSON, |s| {
            format!(
                "{{\"kind\":\"Secret\",\"data\":{{}},\"data\":{{\"a\":\"{}\"}}}}",
                code(s)
            )
            .into()
        });
        self.body("POST", "/x", JSON, |s| {
            format!(
                "{{\"kind\":\"ConfigMap\",\"data\":{{\"a\":\"{}\"}},\"kind\":\"Secret\"}}",
                code(s)
            )
            .into()
        });
        self.body("POST", "/x", JSON, |s| {
            format!("{{\"kind\":\"Secret\",,\"data\":{{\"a\":\"{}\"}}}}", code(s)).into()
        });
        self.body("POST", "/x", JSON, |s| {
            format!("{{'kind':'Secret','data':{{'a':'{}'}}}}", code(s)).into()
        });
        self.body("POST", "/x", JSON, |s| {
            format!("{{\"data\":{{\"a\":\"{}", code(s)).into()
        });
        self.body("POST", "/x", YAML, |s| {
            format!("kind: Secret\ndata:\n  a: {}\n---\nkind: ConfigMap\n", code(s)).into()
        });
        self.body("POST", "/x", YAML, |s| {
            format!("{{kind: Secret, data: {{a: {}}}}}\n", code(s)).into()
        });
        self.body("POST", "/x", YAML, |s| {
            format!("x: &d {{a: {}}}\ndata: *d\nkind: Secret\n", code(s)).into()
        });
        self.body("POST", "/x", YAML, |s| {
            format!("kind: Secret\ndata:\n  a: {}\n bad: [\n", code(s)).into()
        });
        self.body("POST", "/x", "", |s| {
            format!("metadata:\n  name: x\ndata:\n  a: {}\nkind: Secret\n", code(s)).into()
        });
        self.body("POST", SECRETS, JSON, |s| format!("not JSON {s}").into());
        self.body("POST", "/api/v1/namespaces/a/%73ecrets", JSON, |s| {
            json!({"data": {"a": code(s)}}).to_string().into()
        });
        self.body("POST", SECRETS, JSON, |s| {
            json!({"items": [{"metadata": {}, "data": {"a": code(s)}}]})
                .to_string()
                .into()
        });
        self.body("GET", "/api/v1/watch/secrets", JSON, |s| {
            let frame = |n: usize| json!({"type": "ADDED", "object": {"metadata": {"name": n.to_string()}, "data": {"a": code(s)}, "kind": "Secret"}});
            format!("{}\n{}\n", frame(1), frame(2)).into()
        });
        self.body("GET", "/api/v1/secrets?watch=true", JSON, |s| {
            format!("{}\n", json!({"type": "MODIFIED", "object": {"data": {"a": code(s)}}})).into()
        });
    }

    fn patches(&mut self) {
        let path = format!("{SECRETS}/b");
        self.body("PATCH", &path, "application/strategic-merge-patch+json", |s| {
            json!({"data": {"x": code(s)}}).to_string().into()
        });
        self.body("PATCH", &path, "application/merge-patch+json", |s| {
            json!({"stringData": {"x": s}}).to_string().into()
        });
        for (operation, place) in [("add", "/data/x"), ("replace", "/stringData/x"), ("test", "/data")] {
            self.body("PATCH", &path, "application/json-patch+json", |s| {
                let value = if place == "/data" {
                    json!({"x": code(s)})
                } else {
                    json!(code(s))
                };
                json!([{"op": operation, "path": place, "value": value}])
                    .to_string()
                    .into()
            });
        }
        self.body("PATCH", &path, "application/apply-patch+yaml", |s| {
            format!("data:\n  x: {}\n", code(s)).into()
        });
    }

    fn binaries(&mut self) {
        for (coding, encode) in [("gzip", gzipped as fn(&[u8]) -> Vec<u8>), ("deflate", deflated)] {
            let before = self.0.len();
            self.body("POST", "/x", JSON, |s| {
                encode(json!({"kind": "Secret", "data": {"a": code(s)}}).to_string().as_bytes())
            });
            let field = ("content-encoding".to_owned(), coding.to_owned());
            self.0[before].headers.push(field.clone());
            self.0[before + 1].response_headers.push(field);
        }
        self.body("POST", "/x", "application/octet-stream", |s| {
            gzipped(format!("password={s}\n").as_bytes())
        });
        self.body("POST", "/x", "application/octet-stream", |s| {
            [&b"\xff\x00\x80 token="[..], s.as_bytes(), b"\n\xfe\xff"].concat()
        });
        self.body("POST", "/x", TEXT, |s| {
            let units = format!("password: {s}\n");
            let units = [0xfeff].into_iter().chain(units.encode_utf16());
            units.flat_map(u16::to_le_bytes).collect()
        });
        self.body("POST", "/x", PROTOBUF, |s| {
            let object = message(&[
                (1, &message(&[(1, b"x")])),
                (2, &message(&[(1, b"a"), (2, s.as_bytes())])),
            ]);
            envelope(b"Secret", &object)
        });
        self.body("POST", "/x", PROTOBUF, |s| {
            let variable = message(&[(1, b"DB_PASSWORD"), (2, s.as_bytes())]);
            let container = message(&[(1, b"c"), (4, b"--verbose"), (7, &variable)]);
            envelope(b"Pod", &message(&[(2, &message(&[(2, &container)]))]))
        });
        self.body("POST", "/x", PROTOBUF, |s| {
            let container = message(&[(1, b"c"), (4, b"--token"), (4, s.as_bytes())]);
            envelope(b"Pod", &message(&[(2, &message(&[(2, &container)]))]))
        });
        self.body("POST", "/x", PROTOBUF, |s| {
            let entry = message(&[(1, b"app.env"), (2, format!("A=1\nDB_PASS={s}\n").as_bytes())]);
            envelope(b"ConfigMap", &message(&[(2, &entry)]))
        });
    }

    /// Errors that repeat what was sent.
    fn echoes(&mut self) {
        for answer in [
            (|s: &str| format!("Secret \"x\" is invalid: data[a]: Invalid value: \"{s}\"")) as fn(&str) -> String,
            |s| json!({"kind": "Status", "message": format!("cannot decode {}", code(s))}).to_string(),
        ] {
            let secret = self.next();
            let place = self.plain(secret.clone());
            self.push(Place {
                method: "POST",
                target: SECRETS.into(),
                headers: vec![("content-type".into(), JSON.into())],
                body: json!({"kind": "Secret", "data": {"a": code(&secret)}})
                    .to_string()
                    .into(),
                status: 422,
                response_headers: vec![("x-error".into(), format!("bad {secret}"))],
                response: answer(&secret).into(),
                ..place
            });
        }
    }
}
