//! A client that does nothing but ask the same questions: the same TLS, connections kept alive,
//! every place used from the beginning, bodies only counted.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme, crypto};

/// Accepts the lab's certificate, as a fingerprint does.
#[derive(Debug)]
struct Anyone(Arc<crypto::CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, tokio_rustls::rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, tokio_rustls::rustls::Error> {
        crypto::verify_tls12_signature(
            message,
            certificate,
            signed,
            &self.0.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, tokio_rustls::rustls::Error> {
        crypto::verify_tls13_signature(
            message,
            certificate,
            signed,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// A connection that is kept, or none yet.
struct Line {
    port: u16,
    token: String,
    tls: TlsConnector,
    stream: Option<TlsStream<TcpStream>>,
}

impl Line {
    async fn get(&mut self, path: &str) -> Vec<u8> {
        if self.stream.is_none() {
            let tcp = TcpStream::connect(("127.0.0.1", self.port)).await.expect("a connection");
            tcp.set_nodelay(true).expect("no delay");
            let name = ServerName::try_from("localhost").expect("a name");
            self.stream = Some(self.tls.connect(name, tcp).await.expect("a handshake"));
        }
        let stream = self.stream.as_mut().expect("a stream");
        let request = format!(
            "GET /api2/json{path} HTTP/1.1\r\nHost: x\r\nAuthorization: {}\r\n\r\n",
            self.token
        );
        stream.write_all(request.as_bytes()).await.expect("a request");
        let mut answer = Vec::new();
        let mut chunk = [0; 16384];
        loop {
            let read = stream.read(&mut chunk).await.expect("an answer");
            assert!(read > 0, "the connection was closed in an answer");
            answer.extend_from_slice(&chunk[..read]);
            let Some(end) = answer.windows(4).position(|four| four == b"\r\n\r\n") else {
                continue;
            };
            let head = String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase();
            let length: usize = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: ")?.parse().ok())
                .expect("a length");
            if answer.len() == end + 4 + length {
                if head.contains("connection: close") {
                    self.stream = None;
                }
                return answer.split_off(end + 4);
            }
        }
    }
}

/// Asks all questions: `PORT PLACES TOKEN`.
pub(crate) fn run(words: &[String]) {
    let [port, places, token] = words else { panic!("PORT PLACES TOKEN") };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(ask(
        port.parse().expect("a port"),
        places.parse().expect("a number"),
        token,
    ));
}

async fn ask(port: u16, places: usize, token: &str) {
    let provider = Arc::new(crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anyone(provider)))
        .with_no_client_auth();
    let tls = TlsConnector::from(Arc::new(config));
    let line = || Line { port, token: token.to_owned(), tls: tls.clone(), stream: None };
    let list: Value = serde_json::from_slice(&line().get("/cluster/resources?type=vm").await)
        .expect("the list of guests");
    let guests = list["data"].as_array().expect("a list");
    let configs: RefCell<VecDeque<&Value>> = RefCell::new(guests.iter().collect());
    // a guest is asked once its configuration is there, as an inventory has to
    let (agents, ready) = (RefCell::new(VecDeque::new()), Semaphore::new(0));
    let (left, bytes) = (Cell::new(guests.len()), Cell::new(0));
    let base = |guest: &Value| {
        let text = |key: &str| guest[key].as_str().unwrap_or_default().to_owned();
        format!("/nodes/{}/{}/{}", text("node"), text("type"), guest["vmid"])
    };
    let configure = async || {
        let mut line = line();
        loop {
            let Some(guest) = configs.borrow_mut().pop_front() else { return };
            let body = line.get(&format!("{}/config?current=1", base(guest))).await;
            bytes.set(bytes.get() + body.len());
            if guest["status"] == "running" {
                agents.borrow_mut().push_back(guest);
                ready.add_permits(1);
            }
            left.set(left.get() - 1);
            if left.get() == 0 {
                ready.add_permits(places);
            }
        }
    };
    let interrogate = async || {
        let mut line = line();
        loop {
            ready.acquire().await.expect("it is never closed").forget();
            let Some(guest) = agents.borrow_mut().pop_front() else { return };
            let call = match guest["type"].as_str() {
                Some("lxc") => "interfaces",
                _ => "agent/network-get-interfaces",
            };
            let body = line.get(&format!("{}/{call}", base(guest))).await;
            bytes.set(bytes.get() + body.len());
        }
    };
    let configured = futures_util::future::join_all((0..places).map(|_| configure()));
    let interrogated = futures_util::future::join_all((0..places).map(|_| interrogate()));
    tokio::join!(configured, interrogated);
    println!("{} bytes", bytes.get());
}
