//! A client that shows an answer as it came, reason line and all; ordinary clients hide it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// An answer; status 0 if the connection was closed without one.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) reason: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn try_json(&self) -> Option<Value> {
        serde_json::from_str(&self.body).ok()
    }

    pub(crate) fn json(&self) -> Value {
        self.try_json().unwrap_or_else(|| panic!("not JSON: {self:?}"))
    }
}

/// Trusts the lab's authority and nobody else.
pub(crate) struct Client {
    port: u16,
    config: Arc<ClientConfig>,
}

impl Client {
    pub(crate) fn new(port: u16, ca_pem: &str) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(ca_pem.as_bytes()).unwrap()).unwrap();
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        Self { port, config: Arc::new(config) }
    }

    /// One call on a connection of its own.
    pub(crate) fn call(
        &self,
        method: &str,
        target: &str,
        headers: &[(String, String)],
        body: Option<(&str, bool)>,
    ) -> Answer {
        let mut text =
            format!("{method} {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n");
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        if let Some((body, json)) = body {
            let kind = if json { "application/json" } else { "application/x-www-form-urlencoded" };
            text.push_str(&format!("Content-Type: {kind}\r\nContent-Length: {}\r\n", body.len()));
        }
        text.push_str("\r\n");
        text.push_str(body.map_or("", |(body, _)| body));
        self.raw(text.as_bytes())
    }

    /// Sends bytes as they are and reads one answer.
    pub(crate) fn raw(&self, request: &[u8]) -> Answer {
        let socket = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let session = ClientConnection::new(Arc::clone(&self.config), name).unwrap();
        let mut stream = StreamOwned::new(session, socket);
        stream.write_all(request).unwrap();
        let mut bytes = Vec::new();
        // a connection that is just dropped ends in an error, and in no answer
        let _ = stream.read_to_end(&mut bytes);
        parse(&String::from_utf8_lossy(&bytes))
    }
}

fn parse(text: &str) -> Answer {
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return Answer::default() };
    let mut words = head.lines().next().unwrap_or_default().splitn(3, ' ');
    let _version = words.next();
    let status = words.next().and_then(|status| status.parse().ok()).unwrap_or(0);
    Answer { status, reason: words.next().unwrap_or_default().to_owned(), body: body.to_owned() }
}
