//! The lab's certificate, made at start: an authority, and a server certificate signed by it.

use std::net::IpAddr;
use std::sync::Arc;

use anyhow::Context;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose, SanType,
};
use sha2::{Digest, Sha256};
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// A certificate and what a client needs to trust it.
#[derive(Clone)]
pub(crate) struct Certificate {
    pub(crate) config: Arc<ServerConfig>,
    pub(crate) ca_pem: String,
    /// SHA-256 of the server certificate, `1D:8F:...`.
    pub(crate) fingerprint: String,
}

impl Certificate {
    /// Makes a new authority and a certificate for a node's name and address.
    pub(crate) fn generate(node: &str, address: IpAddr) -> anyhow::Result<Self> {
        let ca_key = KeyPair::generate()?;
        let mut ca = CertificateParams::default();
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        ca.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        ca.distinguished_name.push(DnType::CommonName, "pve-lab authority");
        let ca_cert = ca.self_signed(&ca_key).context("failed to make the lab's authority")?;
        let issuer = Issuer::new(ca, ca_key);

        let key = KeyPair::generate()?;
        let mut server = CertificateParams::new(vec![node.to_owned(), "localhost".to_owned()])?;
        server.subject_alt_names.push(SanType::IpAddress(address));
        server.distinguished_name.push(DnType::CommonName, node);
        let cert = server.signed_by(&key, &issuer).context("failed to sign a certificate")?;

        let fingerprint = Sha256::digest(cert.der())
            .iter()
            .map(|byte| format!("{byte:02X}"))
            .collect::<Vec<_>>()
            .join(":");
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(
                vec![cert.der().clone(), ca_cert.der().clone()],
                PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der())),
            )?;
        Ok(Self { config: Arc::new(config), ca_pem: ca_cert.pem(), fingerprint })
    }
}
