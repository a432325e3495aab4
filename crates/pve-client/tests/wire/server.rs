//! A TLS server that answers what a test tells it to, byte for byte: what pveproxy does on bad days
//! and a well-behaved HTTP library cannot be made to do.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use pve_client::{ConnectOptions, Fingerprint};
use secret::Secret;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::{ServerConfig, crypto};

/// What the server saw.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// Which connection, counted from 0.
    pub(crate) connection: usize,
    /// Request line and headers.
    pub(crate) head: String,
    /// The body.
    pub(crate) body: String,
}

impl Seen {
    /// The request line without the version.
    pub(crate) fn call(&self) -> &str {
        self.head.lines().next().unwrap().trim_end_matches(" HTTP/1.1")
    }

    /// A header's value.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// What it does about a request.
pub(crate) enum Reply {
    /// Answers with these bytes.
    Bytes(Vec<u8>),
    /// Closes the connection without a word.
    Drop,
    /// Says nothing for a while.
    Silence(Duration),
}

/// An answer with a reason phrase and a body.
pub(crate) fn answer(status: u16, reason: &str, body: &str) -> Reply {
    Reply::Bytes(
        format!("HTTP/1.1 {status} {reason}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
            .into(),
    )
}

/// A good answer with this data.
pub(crate) fn data(json: &str) -> Reply {
    answer(200, "OK", &format!("{{\"data\":{json}}}"))
}

/// A refusal as PVE words it.
pub(crate) fn refusal(status: u16, message: &str) -> Reply {
    answer(status, message, &format!("{{\"data\":null,\"message\":\"{message}\\n\"}}"))
}

/// A certificate that was just made, and what trusts it.
pub(crate) struct Certified {
    pub(crate) config: ServerConfig,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) ca_pem: String,
}

impl Certified {
    /// One that an authority of its own has signed.
    pub(crate) fn new(names: &[&str]) -> Self {
        let ca_key = rcgen::KeyPair::generate().unwrap();
        let mut ca = rcgen::CertificateParams::new(Vec::new()).unwrap();
        ca.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let ca_pem = ca.self_signed(&ca_key).unwrap().pem();
        let issuer = rcgen::Issuer::new(ca, ca_key);
        let key = rcgen::KeyPair::generate().unwrap();
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let certificate =
            rcgen::CertificateParams::new(names).unwrap().signed_by(&key, &issuer).unwrap();
        Self::serving(&certificate, &key, ca_pem)
    }

    /// One that is its own authority.
    pub(crate) fn self_signed(names: &[&str]) -> Self {
        let key = rcgen::KeyPair::generate().unwrap();
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut parameters = rcgen::CertificateParams::new(names).unwrap();
        parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let certificate = parameters.self_signed(&key).unwrap();
        Self::serving(&certificate, &key, certificate.pem())
    }

    fn serving(certificate: &rcgen::Certificate, key: &rcgen::KeyPair, ca_pem: String) -> Self {
        let fingerprint = Fingerprint::of(certificate.der());
        let provider = Arc::new(crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
            )
            .unwrap();
        Self { config, fingerprint, ca_pem }
    }
}

/// Options that trust a server on this port, with a token.
pub(crate) fn options(port: u16, fingerprint: Fingerprint) -> ConnectOptions {
    ConnectOptions {
        api_host: format!("127.0.0.1:{port}"),
        api_token_id: Some("ansible@pve!ci".to_owned()),
        api_token_secret: Some(Secret::new(SECRET)),
        api_fingerprint: Some(fingerprint.to_string()),
        ..ConnectOptions::default()
    }
}

type Script = Box<dyn FnMut(usize, &Seen) -> Reply + Send>;

/// The server; it lives as long as the test's runtime.
pub(crate) struct Server {
    pub(crate) port: u16,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) ca_pem: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    /// Starts one whose certificate is for these names. The script gets each request with its
    /// number, counted from 0.
    pub(crate) async fn start(
        names: &[&str],
        script: impl FnMut(usize, &Seen) -> Reply + Send + 'static,
    ) -> Self {
        Self::showing(Certified::new(names), script).await
    }

    /// Starts one that shows this certificate.
    pub(crate) async fn showing(
        certified: Certified,
        script: impl FnMut(usize, &Seen) -> Reply + Send + 'static,
    ) -> Self {
        let Certified { config, fingerprint, ca_pem } = certified;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let script: Arc<Mutex<Script>> = Arc::new(Mutex::new(Box::new(script)));
        tokio::spawn(accept(listener, TlsAcceptor::from(Arc::new(config)), script, seen.clone()));
        Self { port, fingerprint, ca_pem, seen }
    }

    /// Options that trust it, with a token.
    pub(crate) fn options(&self) -> ConnectOptions {
        options(self.port, self.fingerprint)
    }

    /// Options that trust it, with a password.
    pub(crate) fn password_options(&self) -> ConnectOptions {
        ConnectOptions {
            api_user: Some("ansible@pve".to_owned()),
            api_password: Some(Secret::new(SECRET)),
            api_token_id: None,
            api_token_secret: None,
            ..self.options()
        }
    }

    /// All requests so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Their request lines.
    pub(crate) fn calls(&self) -> Vec<String> {
        self.seen().iter().map(|seen| seen.call().to_owned()).collect()
    }
}

/// What no output may show.
pub(crate) const SECRET: &str = "11111111-aaaa-bbbb-cccc-hush-hush";

async fn accept(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    script: Arc<Mutex<Script>>,
    seen: Arc<Mutex<Vec<Seen>>>,
) {
    for connection in 0.. {
        let Ok((stream, _)) = listener.accept().await else { return };
        let (acceptor, script, seen) = (acceptor.clone(), script.clone(), seen.clone());
        tokio::spawn(async move {
            // a client that refuses the certificate ends here
            let Ok(mut stream) = acceptor.accept(stream).await else { return };
            let mut buffer = Vec::new();
            while let Some((head, body)) = request(&mut stream, &mut buffer).await {
                let request = Seen { connection, head, body };
                let number = {
                    let mut seen = seen.lock().unwrap();
                    seen.push(request.clone());
                    seen.len() - 1
                };
                let reply = (script.lock().unwrap())(number, &request);
                match reply {
                    Reply::Bytes(bytes) => {
                        if stream.write_all(&bytes).await.is_err() {
                            return;
                        }
                    }
                    Reply::Drop => return,
                    Reply::Silence(time) => tokio::time::sleep(time).await,
                }
            }
        });
    }
}

async fn request(
    stream: &mut (impl AsyncReadExt + Unpin),
    buffer: &mut Vec<u8>,
) -> Option<(String, String)> {
    loop {
        if let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
            let length = head
                .lines()
                .filter_map(|line| line.split_once(':'))
                .find(|(key, _)| key.eq_ignore_ascii_case("content-length"))
                .map_or(0, |(_, value)| value.trim().parse().unwrap());
            if buffer.len() >= end + 4 + length {
                let body = String::from_utf8_lossy(&buffer[end + 4..end + 4 + length]).into_owned();
                buffer.drain(..end + 4 + length);
                return Some((head, body));
            }
        }
        let mut chunk = [0; 4096];
        match stream.read(&mut chunk).await {
            Ok(0) | Err(_) => return None,
            Ok(read) => buffer.extend_from_slice(&chunk[..read]),
        }
    }
}
