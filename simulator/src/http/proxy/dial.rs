//! Connections to the servers behind the proxy.
//!
//! - An address can be replaced by another one ([`Dial`]); error texts show the address of the object.
//! - Any other address must be an IP address that is neither loopback nor link-local: users who create objects can
//!   give a pod or a node any address, and must not reach servers that are private to this machine.
//! - Server certificates are not verified, as on the recorded server.
//! - Limits: [`TIMEOUT`] to connect.
//!
//! Source: the error texts are the recorded server's (Go's `net`, `crypto/tls` and `net/http`).

use std::{
    collections::HashMap,
    io,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    str::FromStr,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures::future::BoxFuture;
use hyper::Uri;
use hyper_util::{
    client::legacy::connect::{Connected, Connection},
    rt::TokioIo,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{self, ClientConfig, pki_types::ServerName},
};

/// Timeout of a connection attempt.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);

/// Replaced addresses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dial(HashMap<String, String>);

impl Dial {
    fn target(&self, address: &str) -> Option<&str> {
        self.0.get(address).map(String::as_str)
    }
}

/// A replaced address, `FROM=TO` on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DialOverride {
    /// Address of the object.
    pub from: String,
    /// Address to connect to.
    pub to: String,
}

impl FromStr for DialOverride {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let address = |address: &str| match address.rsplit_once(':') {
            Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => Ok(address.to_owned()),
            _ => Err(format!("{address:?} is not HOST:PORT")),
        };
        let (from, to) = text.split_once('=').ok_or_else(|| format!("{text:?} is not FROM=TO"))?;
        Ok(Self {
            from: address(from)?,
            to: address(to)?,
        })
    }
}

impl FromIterator<DialOverride> for Dial {
    fn from_iter<I: IntoIterator<Item = DialOverride>>(all: I) -> Self {
        Self(all.into_iter().map(|DialOverride { from, to }| (from, to)).collect())
    }
}

/// Whether an address is loopback, unspecified, link-local, broadcast or multicast.
fn is_local(ip: IpAddr) -> bool {
    match ip.to_canonical() {
        IpAddr::V4(ip) => {
            ip.is_loopback()
                || ip.is_link_local()
                || ip.is_broadcast()
                || ip.is_multicast()
                // All of 0.0.0.0/8 is this host.
                || ip.octets()[0] == 0
        }
        IpAddr::V6(ip) => ip.is_loopback() || ip.is_unspecified() || ip.is_unicast_link_local() || ip.is_multicast(),
    }
}

/// A failed connection, with the recorded server's text.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct DialError(pub(crate) String);

/// Connects the HTTP client to servers.
#[derive(Clone)]
pub(crate) struct Connector {
    dial: Arc<Dial>,
    allow_local: bool,
    tls: TlsConnector,
    timeout: Duration,
}

impl Connector {
    /// Creates a connector with replaced addresses. `allow_local` allows addresses of this machine and its link.
    pub(crate) fn new(dial: Dial, allow_local: bool, timeout: Duration) -> Result<Self, rustls::Error> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let algorithms = provider.signature_verification_algorithms;
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyCertificate(algorithms)))
            .with_no_client_auth();
        Ok(Self {
            dial: Arc::new(dial),
            allow_local,
            tls: TlsConnector::from(Arc::new(config)),
            timeout,
        })
    }

    /// Connects to `address`, `HOST:PORT`, or to the address that replaces it.
    pub(super) async fn tcp(&self, address: &str) -> Result<TcpStream, DialError> {
        let target = match self.dial.target(address) {
            Some(target) => target,
            None => {
                self.check(address)?;
                address
            }
        };
        let stream = match tokio::time::timeout(self.timeout, TcpStream::connect(target)).await {
            Err(_) => return Err(DialError(format!("dial tcp {address}: i/o timeout"))),
            Ok(Err(error)) => return Err(DialError(connect_error(address, &error))),
            Ok(Ok(stream)) => stream,
        };
        let _ = stream.set_nodelay(true);
        Ok(stream)
    }

    /// Rejects an address that is not an IP, and addresses of this machine or its link unless they are allowed.
    fn check(&self, address: &str) -> Result<(), DialError> {
        let Ok(parsed) = address.parse::<SocketAddr>() else {
            return Err(DialError(format!(
                "dial tcp {address}: the address is not an IP and a port"
            )));
        };
        if is_local(parsed.ip()) && !self.allow_local {
            return Err(DialError(format!(
                "dial tcp {address}: the address is of this machine or its link: \
                 use --dial or --allow-local-backends to allow it"
            )));
        }
        Ok(())
    }

    async fn connect(self, uri: Uri) -> Result<TokioIo<Wire>, DialError> {
        let tls = uri.scheme_str() == Some("https");
        let host = uri.host().unwrap_or_default().to_owned();
        let address = format!("{host}:{}", uri.port_u16().unwrap_or(if tls { 443 } else { 80 }));
        let stream = self.tcp(&address).await?;
        if !tls {
            return Ok(TokioIo::new(Wire::Plain(stream)));
        }
        let name = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let name = ServerName::try_from(name).map_err(|error| DialError(format!("tls: {error}")))?;
        let opening = Opening {
            stream,
            first: Vec::new(),
        };
        match tokio::time::timeout(self.timeout, self.tls.connect(name, opening).into_fallible()).await {
            Err(_) => Err(DialError("net/http: TLS handshake timeout".to_owned())),
            Ok(Err((error, opening))) => Err(DialError(tls_error(&error, &opening.first))),
            Ok(Ok(stream)) => Ok(TokioIo::new(Wire::Tls(Box::new(stream)))),
        }
    }
}

impl tower_service::Service<Uri> for Connector {
    type Response = TokioIo<Wire>;
    type Error = DialError;
    type Future = BoxFuture<'static, Result<TokioIo<Wire>, DialError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), DialError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        Box::pin(self.clone().connect(uri))
    }
}

/// Returns the text of a failed connection to `address`.
fn connect_error(address: &str, error: &io::Error) -> String {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let why = match error.kind() {
        io::ErrorKind::ConnectionRefused => "connection refused",
        io::ErrorKind::ConnectionReset => "connection reset by peer",
        io::ErrorKind::TimedOut => "connection timed out",
        io::ErrorKind::HostUnreachable => "no route to host",
        io::ErrorKind::NetworkUnreachable => "network is unreachable",
        _ if error.raw_os_error().is_none() => return format!("dial tcp: lookup {host}: no such host"),
        _ => return format!("dial tcp {address}: connect: {error}"),
    };
    format!("dial tcp {address}: connect: {why}")
}

/// Returns the text of a failed handshake with a server whose first bytes were `first`.
fn tls_error(error: &io::Error, first: &[u8]) -> String {
    use rustls::Error;
    if first == b"HTTP/" {
        return "http: server gave HTTP response to HTTPS client".to_owned();
    }
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
        Some(Error::InvalidMessage(_)) => "tls: first record does not look like a TLS handshake".to_owned(),
        Some(Error::AlertReceived(alert)) => format!("remote error: tls: {alert:?}"),
        Some(other) => format!("tls: {other}"),
        None if error.kind() == io::ErrorKind::UnexpectedEof => "EOF".to_owned(),
        None => error.to_string(),
    }
}

/// A stream that records the first bytes received.
pub(crate) struct Opening {
    stream: TcpStream,
    first: Vec<u8>,
}

/// Number of bytes that identify the protocol of a server.
const RECORDED_BYTES: usize = 5;

impl AsyncRead for Opening {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        let missing = RECORDED_BYTES.saturating_sub(self.first.len());
        if missing > 0 {
            self.first.extend(buffer.filled().iter().skip(before).take(missing));
        }
        polled
    }
}

impl AsyncWrite for Opening {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// A connection.
pub(crate) enum Wire {
    /// TCP.
    Plain(TcpStream),
    /// TLS over TCP.
    Tls(Box<TlsStream<Opening>>),
}

impl Connection for Wire {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl AsyncRead for Wire {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(context),
            Self::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}

/// Accepts any certificate, but verifies that the server has its key.
#[derive(Debug)]
struct AnyCertificate(rustls::crypto::WebPkiSupportedAlgorithms);

impl rustls::client::danger::ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &rustls::pki_types::CertificateDer<'_>,
        _: &[rustls::pki_types::CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: rustls::pki_types::UnixTime,
    ) -> Result<rustls::client::danger::ServerCertVerified, rustls::Error> {
        Ok(rustls::client::danger::ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &rustls::pki_types::CertificateDer<'_>,
        signature: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(message, certificate, signature, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &rustls::pki_types::CertificateDer<'_>,
        signature: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, certificate, signature, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        self.0.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("10.0.0.1:80", None)]
    #[case("[fd00::1]:80", None)]
    #[case("127.0.0.1:80", Some("this machine"))]
    #[case("127.9.9.9:80", Some("this machine"))]
    #[case("0.0.0.0:80", Some("this machine"))]
    #[case("169.254.169.254:80", Some("this machine"))]
    #[case("[::1]:80", Some("this machine"))]
    #[case("[::]:80", Some("this machine"))]
    #[case("[fe80::1]:80", Some("this machine"))]
    #[case("[::ffff:127.0.0.1]:80", Some("this machine"))]
    #[case("localhost:80", Some("not an IP"))]
    #[case("evil.test:80", Some("not an IP"))]
    #[case("127.1:80", Some("not an IP"))]
    fn only_ips_of_other_machines_are_allowed(#[case] address: &str, #[case] refused: Option<&str>) {
        let connector = |allow_local| Connector::new(Dial::default(), allow_local, TIMEOUT).unwrap();
        let text = connector(false).check(address).err().map(|error| error.to_string());
        assert_eq!(text.is_some(), refused.is_some(), "{text:?}");
        assert!(refused.is_none_or(|part| text.unwrap().contains(part)));
        assert_eq!(connector(true).check(address).is_ok(), refused != Some("not an IP"));
    }

    #[rstest]
    #[case("10.99.0.1:9999=127.0.0.1:9998", Some(("10.99.0.1:9999", "127.0.0.1:9998")))]
    #[case("10.99.0.1=127.0.0.1:9998", None)]
    #[case("10.99.0.1:9999", None)]
    #[case("10.99.0.1:9999=127.0.0.1:99999", None)]
    fn an_override_has_the_form_from_equals_to(#[case] text: &str, #[case] parts: Option<(&str, &str)>) {
        let parsed = text.parse::<DialOverride>().ok().map(|redial| (redial.from, redial.to));
        assert_eq!(parsed, parts.map(|(from, to)| (from.to_owned(), to.to_owned())));
    }
}
