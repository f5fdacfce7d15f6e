//! Places in which a secret is not what it looks like: formats within formats, and ways of writing them that are rare.

use super::places::{JSON, PROTOBUF, Places, TEXT, YAML};
use super::secrets::{code, envelope, gzipped, hex_key, message, percent};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;

/// Lines of configuration, of logs, and of commands, with the secret in them.
const LINES: [fn(&str) -> String; 44] = [
    |s| format!("output {{\n  elasticsearch {{\n    user => \"joe\"\n    password => \"{s}\"\n  }}\n}}\n"),
    |s| format!("<match **>\n  user joe\n  password {s}\n</match>\n"),
    |s| format!("define('DB_PASSWORD', '{s}');\n"),
    |s| format!("//registry.example.com/:_authToken={s}\n"),
    |s| {
        format!(
            "[global]\nindex-url = https://joe:{s}@pypi.example.com/simple\n",
            s = percent(s)
        )
    },
    |s| format!("<server>\n<password type=\"plain\">{s}</password>\n</server>\n"),
    |s| format!("<password>\n  {s}\n</password>\n"),
    |s| format!("<add key=\"Password\" value=\"{s}\"/>\n"),
    |s| format!("<input type=\"hidden\" name=\"csrf_token\" value=\"{s}\">\n"),
    |s| format!("url=jdbc:mysql://db/x?user=joe&password={}\n", percent(s)),
    |s| format!("ConnectionString=Server=db;User Id=joe;Password={s};Timeout=5\n"),
    |s| format!("AccountName=x;AccountKey={s};EndpointSuffix=core\n"),
    |s| format!("DB_PASSWORD={s}\r\nB=2\r\n"),
    |s| format!("password:\n  {s}\nother: kept\n"),
    |s| format!("password: >-\n  {s}\nother: kept\n"),
    |s| format!("ENV API_TOKEN {s}\n"),
    |s| format!("set -x API_TOKEN {s}\n"),
    |s| format!("setenv API_TOKEN {s}\n"),
    |s| format!("API_TOKEN := {s}\n"),
    |s| format!("API_TOKEN ?= {s}\n"),
    |s| format!("declare -x API_TOKEN=\"{s}\"\n"),
    |s| format!("$env:API_TOKEN = '{s}'\n"),
    |s| format!("config = {{'user': 'joe', 'password': '{s}'}}\n"),
    |s| format!("const db = {{ user: 'joe', password: '{s}' }};\n"),
    |s| format!("msg=\"request\" body=\"{{\\\"password\\\":\\\"{s}\\\"}}\"\n"),
    |s| {
        format!(
            "I0101 patched {}\n",
            json!({"body": json!({"password": s}).to_string()})
        )
    },
    |s| format!("data: {}\n\n", json!({"password": s})),
    |s| format!("\u{1e}{}\n", json!({"password": s})),
    |s| format!("{{\"password\" : /* why */ \"{s}\"}}\n"),
    |s| format!("> Cookie: session={s}\n"),
    |s| format!("< Set-Cookie: sid={s}; Path=/; HttpOnly; SameSite=Lax\n"),
    |s| format!("X-Api-Key: {s}\n"),
    |s| format!("Proxy-Authorization: Basic {}\n", code(&format!("joe:{s}"))),
    |s| format!("curl -H 'Authorization: token {s}' http://x\n"),
    |s| format!("proxy_set_header Authorization \"Bearer {s}\";\n"),
    |s| format!("mysql -u root -p{s} db\n"),
    |s| format!("sshpass -p '{s}' ssh joe@x\n"),
    |s| format!("docker login -u joe -p {s} registry.example.com\n"),
    |s| format!("redis://:{s}@cache:6379/0\n", s = percent(s)),
    |s| format!("KEY=\"{}\"\n", hex_key(s).replace('\n', "\\n")),
    |s| format!("key: \"{}\"\n", hex_key(s).replace('\n', "\\\\n")),
    |s| format!("-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{s}\n-----END PGP PRIVATE KEY BLOCK-----\n"),
    |s| format!("config={}\n", code(&json!({"password": s}).to_string())),
    |s| format!("password: !!str {s}\n"),
];

impl Places {
    pub(crate) fn disguises(&mut self) {
        self.lines();
        self.disguised_heads();
        self.parts_of_forms();
        self.disguised_documents();
    }

    fn lines(&mut self) {
        for line in LINES {
            self.config_map("file", |s| format!("first\n{}", line(s)));
            self.body("POST", "/x", TEXT, |s| format!("a line before\n{}", line(s)).into());
        }
    }

    fn disguised_heads(&mut self) {
        self.header("cookie", |s| format!("a=b; theme-id=\"{s}\"; c=d"));
        self.header("x-config", |s| code(&json!({"password": s}).to_string()));
        self.header("x-original-url", |s| format!("/login;token={}?a=b", percent(s)));
        self.response_header("set-cookie", |s| {
            format!("id={s}; Domain=example.com; Secure; Max-Age=3600; SameSite=None")
        });
        self.response_header("refresh", |s| {
            format!("0; url=https://x.example.com/?token={}", percent(s))
        });
        self.response_header("location", |s| format!("/callback?code={}&state=x", percent(s)));
        self.query(|s| format!("filter={}", percent(&json!({"password": s}).to_string())));
        self.query(|s| format!("next={}", percent(&percent(&format!("/x?token={s}")))));
        self.query(|s| format!("state={}", URL_SAFE_NO_PAD.encode(json!({"password": s}).to_string())));
        self.query(|s| format!("a=b;token={}", percent(s)));
        self.query(|s| format!("Token={}", percent(s)));
    }

    fn parts_of_forms(&mut self) {
        let part = |head: &str, content: &str| {
            format!("--xyz\r\nContent-Disposition: form-data; {head}\r\n\r\n{content}\r\n--xyz--\r\n").into()
        };
        let form = "multipart/form-data; boundary=xyz";
        self.body("POST", "/x", form, |s| part("name=password", s));
        self.body("POST", "/x", "multipart/form-data; boundary=\"xyz\"", |s| {
            part("name=\"password\"", s)
        });
        self.body("POST", "/x", form, |s| {
            part(
                "name=\"f\"; filename=\"app.env\"\r\nContent-Type: application/octet-stream",
                &format!("A=1\nDB_PASSWORD={s}\n"),
            )
        });
        self.body("POST", "/x", form, |s| {
            part(
                "name=\"f\"\r\nContent-Transfer-Encoding: base64",
                &code(&format!("A=1\nDB_PASSWORD={s}\n")),
            )
        });
        self.body("POST", "/x", "multipart/mixed; boundary=xyz", |s| {
            part(
                "name=\"f\"\r\nContent-Type: application/json",
                &json!({"password": s}).to_string(),
            )
        });
    }

    fn disguised_documents(&mut self) {
        self.json(|s| json!({"livenessProbe": {"httpGet": {"httpHeaders": [{"name": "Authorization", "value": format!("Token {s}")}]}}}));
        self.json(|s| json!({"httpHeaders": [{"name": "Cookie", "value": format!("a={s}")}]}));
        self.json(|s| json!({"tags": [{"Key": "Password", "Value": s}]}));
        self.json(|s| json!({"settings": [{"key": "api_token", "value": s}]}));
        self.json(|s| json!({" PassWord ": s}));
        self.json(|s| json!({"db": {"pass\u{200b}word": s}}));
        self.json(|s| json!({"repo": format!("https://joe:{s}@git.example.com/x.git", s = percent(s))}));
        self.json(|s| json!({"text": code(&json!({"auths": {"r": {"auth": code(&format!("joe:{s}"))}}}).to_string())}));
        self.json(|s| json!({"text": code(&code(&format!("password={s}\n")))}));
        self.json(|s| json!({"kind": "ConfigMap", "data": {"release": code(&String::from_utf8_lossy(&gzipped(b"x"))), "values": format!("a:\n  b: |\n    password: {s}\n")}}));
        self.json(|s| {
            let config = json!({"kind": "Config", "users": [{"name": "a", "user": {"password": s}}]});
            json!({"kind": "ConfigMap", "data": {"kubeconfig": config.to_string()}})
        });
        self.json(|s| {
            let user = format!(
                "users:\n- name: a\n  user:\n    client-key-data: {}\n",
                code(&hex_key(s))
            );
            json!({"kind": "ConfigMap", "data": {"kubeconfig": user}})
        });
        self.json(|s| {
            let inner = json!({"kind": "Secret", "data": {"a": code(s)}}).to_string();
            json!({"a": json!({"b": inner}).to_string()})
        });
        self.body("GET", "/api/v1/watch/configmaps", JSON, |s| {
            let frame = |n: usize| json!({"type": "ADDED", "object": {"kind": "ConfigMap", "metadata": {"name": n.to_string()}, "data": {"f": format!("token: {s}\n")}}});
            format!("{}\n{}\n", frame(1), frame(2)).into()
        });
        self.body("POST", "/x", YAML, |s| {
            format!("base: &b\n  password: {s}\nother:\n  <<: *b\n").into()
        });
        self.body("POST", "/x", YAML, |s| format!("? password\n: {s}\n").into());
        self.body("POST", "/x", YAML, |s| format!("\"pass\\u0077ord\": {s}\n").into());
        self.body("POST", "/x", YAML, |s| {
            format!("{{\n  password:\n    {s},\n  a: b }}\n").into()
        });
        self.body("POST", "/x", YAML, |s| {
            format!(
                "%YAML 1.1\n---\nkind: \"\\x53ecret\"\ndata:\n  a: !!binary |\n    {}\n",
                code(s)
            )
            .into()
        });
        self.body("POST", "/x", PROTOBUF, |s| {
            let object = message(&[(2, &message(&[(1, b"a"), (2, s.as_bytes())]))]);
            envelope(b"SecretList", &message(&[(2, &object)]))
        });
    }
}
