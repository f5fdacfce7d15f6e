//! Authentication: basic credentials, bearer tokens and client certificates.
//!
//! - Order: basic, certificate, bearer. The first one that is valid determines the user.
//! - Secrets are compared in constant time, and never shown in Debug output or errors.
//! - Limits: files are read once, at the start.
//!
//! Source: the recorded sessions; the file formats are those of Kubernetes v1.2 (CSV: `token,user,uid` and
//! `password,user,uid`, with `"group1,group2"` in an optional fourth column).

use std::{fmt, io, path::Path};

use base64::{
    Engine,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD},
};
use bytes::Bytes;
use hyper::{
    HeaderMap, Response, StatusCode,
    header::{self, HeaderValue},
};
use subtle::{Choice, ConstantTimeEq};

/// An authenticated user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// Name.
    pub name: String,
    /// UID; empty if unknown.
    pub uid: String,
    /// Groups.
    pub groups: Vec<String>,
}

/// A text that Debug output hides.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Wraps a secret text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns a random text of 43 characters, from the system's random number generator.
    pub(crate) fn random() -> Self {
        let bytes: [u8; 32] = rand::random();
        Self(BASE64_URL_SAFE_NO_PAD.encode(bytes))
    }

    /// Returns the secret text.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    fn is(&self, text: &str) -> Choice {
        self.0.as_bytes().ct_eq(text.as_bytes())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

/// An error in a credentials file.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    /// The file cannot be read.
    #[error("{0}: {1}")]
    Read(String, io::Error),
    /// A line is not valid CSV.
    #[error("{0}: line {1} is not valid CSV")]
    Malformed(String, u64),
    /// A line has too few columns.
    #[error("{0} file '{1}' must have at least 3 columns ({0}, user name, user uid), found {2}")]
    Columns(&'static str, String, usize),
    /// A line has an empty token, password or user name, which would let anyone in.
    #[error("{1}: line {2} has an empty {0} or user name")]
    Empty(&'static str, String, u64),
}

/// The accepted credentials.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    tokens: Vec<(Secret, User)>,
    passwords: Option<Vec<(Secret, User)>>,
}

impl Credentials {
    /// Adds the tokens of a file of `token,user,uid` lines.
    ///
    /// # Errors
    /// [`CredentialsError`] if the file cannot be read or is malformed.
    pub fn read_tokens(&mut self, file: &Path) -> Result<(), CredentialsError> {
        self.tokens = read("token", file)?;
        Ok(())
    }

    /// Adds the passwords of a file of `password,user,uid` lines.
    ///
    /// # Errors
    /// [`CredentialsError`] if the file cannot be read or is malformed.
    pub fn read_passwords(&mut self, file: &Path) -> Result<(), CredentialsError> {
        self.passwords = Some(read("password", file)?);
        Ok(())
    }

    /// Adds a random token for the user `admin`, unless there is a token.
    pub(crate) fn ensure_token(&mut self) {
        if self.tokens.is_empty() {
            let user = User {
                name: "admin".to_owned(),
                ..User::default()
            };
            self.tokens.push((Secret::random(), user));
        }
    }

    /// Returns the first token.
    pub fn token(&self) -> Option<&Secret> {
        self.tokens.first().map(|(token, _)| token)
    }

    /// Returns the first user of the password file, with the password.
    pub fn password(&self) -> Option<(&str, &Secret)> {
        self.passwords
            .as_ref()?
            .first()
            .map(|(password, user)| (user.name.as_str(), password))
    }

    /// Returns the user of a request with these headers, on a connection with the client certificate of user
    /// `certificate`.
    pub fn user(&self, headers: &HeaderMap, certificate: Option<&User>) -> Option<User> {
        let authorization = headers
            .get(header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
            .trim();
        let mut parts = authorization.split(' ');
        let (scheme, given) = (parts.next().unwrap_or_default().to_ascii_lowercase(), parts.next());
        match (scheme.as_str(), given) {
            ("basic", Some(given)) => self.by_password(given).or_else(|| certificate.cloned()),
            ("bearer", Some(given)) => certificate
                .cloned()
                .or_else(|| find(&self.tokens, |(token, _)| token.is(given))),
            _ => certificate.cloned(),
        }
    }

    fn by_password(&self, given: &str) -> Option<User> {
        let decoded = String::from_utf8(BASE64_STANDARD.decode(given).ok()?).ok()?;
        let (name, password) = decoded.split_once(':')?;
        find(self.passwords.as_deref().unwrap_or_default(), |(known, user)| {
            user.name.as_bytes().ct_eq(name.as_bytes()) & known.is(password)
        })
    }

    /// Returns the response to an unauthenticated request.
    pub fn unauthorized(&self) -> Response<Bytes> {
        let mut response = Response::new(Bytes::from_static(b"Unauthorized\n"));
        *response.status_mut() = StatusCode::UNAUTHORIZED;
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("text/plain; charset=utf-8"),
        );
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        if self.passwords.is_some() {
            headers.insert(
                header::WWW_AUTHENTICATE,
                HeaderValue::from_static("Basic realm=\"kubernetes-master\""),
            );
        }
        response
    }
}

/// Compares all entries, so that the duration does not reveal the position of a match.
fn find(entries: &[(Secret, User)], matches: impl Fn(&(Secret, User)) -> Choice) -> Option<User> {
    // The last of two equal entries counts, as in a map filled in order.
    entries
        .iter()
        .fold(None, |found, entry| {
            if bool::from(matches(entry)) {
                Some(&entry.1)
            } else {
                found
            }
        })
        .cloned()
}

fn read(what: &'static str, file: &Path) -> Result<Vec<(Secret, User)>, CredentialsError> {
    let name = file.display().to_string();
    let text = std::fs::read(file).map_err(|error| CredentialsError::Read(name.clone(), error))?;
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .from_reader(text.as_slice());
    let mut entries = Vec::new();
    for record in reader.records() {
        // The reader's error would contain the line, and with it the secret.
        let record = record.map_err(|error| {
            CredentialsError::Malformed(name.clone(), error.position().map_or(0, csv::Position::line))
        })?;
        let (Some(secret), Some(user), Some(uid)) = (record.get(0), record.get(1), record.get(2)) else {
            return Err(CredentialsError::Columns(what, name, record.len()));
        };
        if secret.is_empty() || user.is_empty() {
            let line = record.position().map_or(0, csv::Position::line);
            return Err(CredentialsError::Empty(what, name, line));
        }
        let groups = record
            .get(3)
            .unwrap_or_default()
            .split(',')
            .filter(|group| !group.is_empty())
            .map(str::to_owned)
            .collect();
        entries.push((
            Secret(secret.to_owned()),
            User {
                name: user.to_owned(),
                uid: uid.to_owned(),
                groups,
            },
        ));
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use rstest::rstest;

    use super::*;

    fn file(text: &str) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file
    }

    fn credentials() -> Credentials {
        let mut credentials = Credentials::default();
        credentials
            .read_tokens(file("secrettoken,admin,1\n\"a,b\",eve,2,\"g1,g2\"\n").path())
            .unwrap();
        credentials
            .read_passwords(file("secretpass,admin,1\npass:word,bob,3\n").path())
            .unwrap();
        credentials
    }

    fn headers(authorization: &str) -> HeaderMap {
        HeaderMap::from_iter([(header::AUTHORIZATION, HeaderValue::from_str(authorization).unwrap())])
    }

    #[test]
    fn a_token_is_generated_only_if_there_is_none() {
        let mut made = Credentials::default();
        made.ensure_token();
        let token = made.token().unwrap().reveal().to_owned();
        assert_eq!(token.len(), 43);
        assert_eq!(
            made.user(&headers(&format!("Bearer {token}")), None).unwrap().name,
            "admin"
        );
        let mut other = Credentials::default();
        other.ensure_token();
        assert_ne!(other.token().unwrap().reveal(), token);
        let mut given = credentials();
        given.ensure_token();
        assert_eq!(given.token().unwrap().reveal(), "secrettoken");
    }

    #[rstest]
    #[case("", None)]
    #[case("Basic YWRtaW46c2VjcmV0cGFzcw==", Some("admin"))]
    #[case("basic YWRtaW46c2VjcmV0cGFzcw==", Some("admin"))]
    #[case("Basic Ym9iOnBhc3M6d29yZA==", Some("bob"))]
    #[case("Basic YWRtaW46bm9wZQ==", None)]
    #[case("Basic ZXZlOnNlY3JldHBhc3M=", None)]
    #[case("Basic !!!", None)]
    #[case("Basic", None)]
    #[case("Bearer secrettoken", Some("admin"))]
    #[case("bearer secrettoken", Some("admin"))]
    #[case("Bearer a,b", Some("eve"))]
    #[case("Bearer wrong", None)]
    #[case("Bearer ", None)]
    #[case("Digest x", None)]
    fn the_authorization_header_determines_the_user(#[case] authorization: &str, #[case] user: Option<&str>) {
        assert_eq!(
            credentials()
                .user(&headers(authorization), None)
                .map(|user| user.name)
                .as_deref(),
            user
        );
    }

    #[rstest]
    #[case("Basic Ym9iOnBhc3M6d29yZA==", "bob")]
    #[case("Basic YWRtaW46bm9wZQ==", "certified")]
    #[case("Bearer secrettoken", "certified")]
    #[case("", "certified")]
    fn a_certificate_precedes_a_token_and_follows_a_password(#[case] authorization: &str, #[case] user: &str) {
        let certified = User {
            name: "certified".to_owned(),
            ..User::default()
        };
        assert_eq!(
            credentials()
                .user(&headers(authorization), Some(&certified))
                .unwrap()
                .name,
            user
        );
    }

    #[test]
    fn a_basic_challenge_is_sent_only_if_there_are_passwords() {
        let answer = credentials().unauthorized();
        assert_eq!(
            (answer.status().as_u16(), answer.body().as_ref()),
            (401, &b"Unauthorized\n"[..])
        );
        assert_eq!(
            answer.headers()["www-authenticate"],
            "Basic realm=\"kubernetes-master\""
        );
        assert!(
            !Credentials::default()
                .unauthorized()
                .headers()
                .contains_key("www-authenticate")
        );
    }

    #[rstest]
    #[case("a,b,1\n,admin,1\n", "line 2 has an empty password or user name")]
    #[case("hush,,1\n", "line 1 has an empty password or user name")]
    fn an_empty_secret_or_name_is_rejected(#[case] text: &str, #[case] reason: &str) {
        let file = file(text);
        let error = Credentials::default()
            .read_passwords(file.path())
            .unwrap_err()
            .to_string();
        assert!(error.ends_with(reason) && !error.contains("hush"), "{error}");
    }

    #[test]
    fn secrets_are_not_shown() {
        let shown = format!("{:?}", credentials());
        assert!(
            !shown.contains("secretpass") && !shown.contains("secrettoken") && !shown.contains("pass:word"),
            "{shown}"
        );
        let error = Credentials::default()
            .read_tokens(file("hush,admin\n").path())
            .unwrap_err()
            .to_string();
        assert!(
            error.ends_with("must have at least 3 columns (token, user name, user uid), found 2")
                && !error.contains("hush"),
            "{error}"
        );
        let mut invalid = tempfile::NamedTempFile::new().unwrap();
        invalid.write_all(b"a,b,c\nhush\xff,x,y\n").unwrap();
        let error = Credentials::default()
            .read_tokens(invalid.path())
            .unwrap_err()
            .to_string();
        assert!(error.ends_with("line 2 is not valid CSV"), "{error}");
    }
}
