//! Certificates of a test cluster.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};

/// PEM files of a certificate authority, and of the certificates that it signed for the members and a client.
#[derive(Clone, Debug)]
pub struct Certificates {
    /// The authority's certificate.
    pub authority: PathBuf,
    /// The members' certificate.
    pub member: PathBuf,
    /// The key of the members' certificate.
    pub member_key: PathBuf,
    /// The client's certificate.
    pub client: PathBuf,
    /// The key of the client's certificate.
    pub client_key: PathBuf,
}

impl Certificates {
    /// Creates an authority and its certificates, in files of `directory`.
    pub fn make(directory: &Path) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "etcd authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let write = |name: &str, text: String| {
            let file = directory.join(name);
            fs::write(&file, text).unwrap();
            file
        };
        let sign = |name: &str| {
            let key = KeyPair::generate().unwrap();
            let mut params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
            params.distinguished_name.push(DnType::CommonName, name);
            // The HTTP gateway of a member is a client of the member.
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
            let certificate = params.signed_by(&key, &authority).unwrap();
            let key = write(&format!("{name}.key"), key.serialize_pem());
            (write(&format!("{name}.pem"), certificate.pem()), key)
        };
        let ((member, member_key), (client, client_key)) = (sign("member"), sign("client"));
        Self {
            authority: write("authority.pem", authority.pem()),
            member,
            member_key,
            client,
            client_key,
        }
    }
}
