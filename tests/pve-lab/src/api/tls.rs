//! The lab's certificate, made at its first start: an authority, and a server certificate signed by it.

use std::fs;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose, SanType,
};
use sha2::{Digest, Sha256};
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::state::write_atomically;

/// A certificate and what a client needs to trust it.
#[derive(Clone)]
pub(crate) struct Certificate {
    pub(crate) config: Arc<ServerConfig>,
    pub(crate) ca_pem: String,
    /// SHA-256 of the server certificate, `1D:8F:...`.
    pub(crate) fingerprint: String,
}

impl Certificate {
    /// The certificate kept in a directory, made there if there is none: a lab that is started
    /// again is the one that clients know.
    pub(crate) fn of(dir: &Path, node: &str, address: IpAddr) -> anyhow::Result<Self> {
        let kept = ["server.pem", "server-key.pem", "ca.pem"].map(|name| dir.join(name));
        let [chain, key, ca] = &kept;
        if !kept.iter().all(|path| path.exists()) {
            let made = generate(node, address)?;
            fs::create_dir_all(dir)?;
            write_atomically(chain, &made.chain)?;
            write_atomically(key, &made.key)?;
            write_atomically(ca, &made.ca)?;
        }
        let certificates: Vec<CertificateDer<'static>> =
            CertificateDer::pem_file_iter(chain)?.collect::<Result<_, _>>()?;
        let own = certificates.first().context("the lab's certificate is empty")?;
        let fingerprint = Sha256::digest(own)
            .iter()
            .map(|byte| format!("{byte:02X}"))
            .collect::<Vec<_>>()
            .join(":");
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(certificates, PrivateKeyDer::from_pem_file(key)?)?;
        Ok(Self { config: Arc::new(config), ca_pem: fs::read_to_string(ca)?, fingerprint })
    }
}

struct Made {
    chain: String,
    key: String,
    ca: String,
}

/// Makes a new authority and a certificate for a node's name and address.
fn generate(node: &str, address: IpAddr) -> anyhow::Result<Made> {
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
    Ok(Made {
        chain: format!("{}{}", cert.pem(), ca_cert.pem()),
        key: key.serialize_pem(),
        ca: ca_cert.pem(),
    })
}
