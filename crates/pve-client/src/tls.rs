//! Which certificate is trusted: one by its fingerprint, those of given authorities, those of the
//! system's authorities, or any if that was asked for in so many words.
//!
//! Only options decide. `SSL_CERT_FILE` and its like are not looked at, so that an environment can
//! neither switch checking on for one who switched it off, nor the other way round.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, OtherError, RootCertStore,
    SignatureScheme,
};
use thiserror::Error;

use crate::fingerprint::Fingerprint;
use crate::options::ConnectOptions;

/// Where distributions keep their bundle of authorities.
const BUNDLES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// What is wrong with the certificates to trust, found before any connection.
#[derive(Debug, Error)]
pub enum TrustError {
    /// The file cannot be read.
    #[error("failed to read certificates from {path}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The file holds no certificate.
    #[error("{path} holds no usable certificate: it must be PEM")]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// TLS cannot be set up.
    #[error("failed to set up TLS")]
    Setup(#[from] rustls::Error),
}

/// The server shows another certificate than the one that is trusted.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the certificate offered has fingerprint {offered}, not {trusted}")]
pub(crate) struct PinMismatch {
    pub(crate) offered: Fingerprint,
    pub(crate) trusted: Fingerprint,
}

/// The TLS settings of these options.
pub(crate) fn config(
    options: &ConnectOptions,
    pin: Option<Fingerprint>,
) -> Result<ClientConfig, TrustError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?;
    let config = match (pin, options.validate_certs) {
        (None, true) => {
            builder.with_root_certificates(roots(options.ca_path.as_deref())?).with_no_client_auth()
        }
        (pin, _) => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Pinned { pin, provider }))
            .with_no_client_auth(),
    };
    Ok(config)
}

/// TLS settings that trust what the system trusts.
pub(crate) fn system() -> Result<ClientConfig, TrustError> {
    let provider = Arc::new(ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(builder.with_root_certificates(roots(None)?).with_no_client_auth())
}

fn roots(given: Option<&Path>) -> Result<RootCertStore, TrustError> {
    match given {
        Some(path) => {
            let store = bundle(path)?;
            if store.is_empty() {
                return Err(TrustError::Empty { path: path.to_owned() });
            }
            Ok(store)
        }
        // no bundle at all trusts nobody, and the refusal of the certificate says what to do
        None => match BUNDLES.iter().map(Path::new).find(|path| path.exists()) {
            Some(path) => bundle(path),
            None => Ok(RootCertStore::empty()),
        },
    }
}

fn bundle(path: &Path) -> Result<RootCertStore, TrustError> {
    let bytes =
        std::fs::read(path).map_err(|source| TrustError::Read { path: path.to_owned(), source })?;
    let mut store = RootCertStore::empty();
    store.add_parsable_certificates(CertificateDer::pem_slice_iter(&bytes).filter_map(Result::ok));
    Ok(store)
}

/// Trusts the certificate with this fingerprint, whatever it says about itself; without a
/// fingerprint, any.
#[derive(Debug)]
struct Pinned {
    pin: Option<Fingerprint>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let offered = Fingerprint::of(end_entity);
        match self.pin {
            Some(trusted) if trusted != offered => {
                let mismatch = OtherError(Arc::new(PinMismatch { offered, trusted }));
                Err(CertificateError::Other(mismatch).into())
            }
            _ => Ok(ServerCertVerified::assertion()),
        }
    }

    // The signatures are checked in any case: they show that the server has the certificate's key.
    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// A certificate that was refused, in words with what can be done; nothing if the fault is another.
pub(crate) fn explain(error: &rustls::Error) -> Option<String> {
    let rustls::Error::InvalidCertificate(reason) = error else {
        return match error {
            rustls::Error::NoCertificatesPresented => Some("it shows no certificate".to_owned()),
            _ => None,
        };
    };
    Some(match reason {
        CertificateError::Other(OtherError(other)) => match other.downcast_ref::<PinMismatch>() {
            Some(mismatch) => format!(
                "{mismatch}; if the node's certificate was renewed, set api_fingerprint to the new \
                 one after comparing it with the node's certificate panel"
            ),
            // webpki's word for it; rustls has none of its own
            None if other.to_string().contains("CaUsedAsEndEntity") => {
                "its certificate is its own authority, which no ca_path can vouch for; set \
                 api_fingerprint to the certificate's SHA-256 fingerprint"
                    .to_owned()
            }
            None => other.to_string(),
        },
        CertificateError::NotValidForNameContext { expected, presented } => format!(
            "its certificate is not for '{}' but for {}; set api_host to one of these names, or \
             trust this certificate by api_fingerprint",
            expected.to_str(),
            names(presented)
        ),
        CertificateError::NotValidForName => {
            "its certificate is for another name; set api_host to \
             a name in the certificate, or trust this certificate by api_fingerprint"
                .to_owned()
        }
        CertificateError::UnknownIssuer => "its certificate is of an authority that is not \
             trusted; set ca_path to the cluster's /etc/pve/pve-root-ca.pem, or api_fingerprint to \
             the certificate's SHA-256 fingerprint"
            .to_owned(),
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "its certificate has expired; renew it on the node (pvecm updatecerts)".to_owned()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its certificate is not valid yet; compare the clocks".to_owned()
        }
        other => {
            format!("its certificate is refused ({other}); api_fingerprint trusts it as it is")
        }
    })
}

fn names(presented: &[String]) -> String {
    // rustls writes them as `DnsName("pve.localdomain")` and `IpAddress(192.0.2.1)`
    let plain = |name: &String| {
        let inner = name.split_once('(').map_or(name.as_str(), |(_, rest)| rest);
        format!("'{}'", inner.trim_end_matches(')').trim_matches('"'))
    };
    match presented {
        [] => "no name at all".to_owned(),
        names => names.iter().map(plain).collect::<Vec<_>>().join(", "),
    }
}
