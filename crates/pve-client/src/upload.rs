//! `/nodes/{node}/storage/{storage}/upload`: a file of any size, in memory that does not grow with
//! it.
//!
//! The connection is one of its own, since an HTTP library takes the closing of a connection for the
//! outcome, and PVE refuses an upload by an answer and then closing: the answer is read while the body
//! is being sent, and after an error as well. Time is limited by the lack of progress only.

mod answer;
mod multipart;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use pve_types::Upid;
use reqwest::Method;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::client::{CONNECT, Client, parse};
use crate::endpoint::ROOT;
use crate::error::Error;
use crate::nodes::storage::NodeStorage;
use crate::transport;
use answer::Answered;

/// How much is read and sent at a time.
const CHUNK: usize = 128 << 10;
/// How long an answer is waited for on a connection that broke.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// A file to be sent.
#[derive(Debug, Clone, Copy)]
pub struct Upload<'a> {
    /// What it is: `import`, `iso` or `vztmpl`.
    pub content: &'a str,
    /// Its name on the storage. PVE writes other characters than letters, digits, `.`, `_` and `-`
    /// as `_`.
    pub filename: &'a str,
    /// Its size in bytes, which is exact.
    pub size: u64,
    /// The algorithm and the sum in hexadecimal that the node compares before it keeps the file.
    pub checksum: Option<(&'a str, &'a str)>,
    /// How long nothing may go on.
    pub stall: Duration,
}

/// A file that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// The task that checks the file and puts it in its place; it is to be waited for.
    pub upid: Upid,
    /// The bytes of the file.
    pub bytes: u64,
}

/// What ended the sending.
enum Cut {
    /// The file cannot be read, or is not as long as was said.
    Source(String),
    /// Nothing went on.
    Stalled,
    /// The connection broke.
    Broken(io::Error),
}

impl NodeStorage<'_> {
    /// Sends a file. One of the same name is written over, without a question, once the new one is
    /// there whole and its checksum is right.
    ///
    /// # Errors
    /// [`Error::Unfinished`] when it was not sent whole, which changes nothing; else as every call.
    pub async fn upload(
        self,
        upload: &Upload<'_>,
        file: &mut (impl AsyncRead + Unpin),
        progress: &mut (dyn FnMut(u64) + Send),
    ) -> Result<Sent, Error> {
        let path = self.path(&["upload"]);
        let call = format!("POST {path}");
        let client = self.client();
        let head = multipart::head(upload.content, upload.checksum, upload.filename);
        let tail = multipart::tail();
        let length = head.len() as u64 + upload.size + tail.len() as u64;
        let mut start = client.request_head(&path, length).await?;
        start.extend(head);
        let stream = client.open().await?;
        let (mut incoming, mut outgoing) = tokio::io::split(stream);
        let mut sent = 0;
        let (answered, cut) = {
            let mut count = |bytes| {
                sent = bytes;
                progress(bytes);
            };
            let send = send(&mut outgoing, &start, upload, file, &tail, &mut count);
            let answer = answer::read(&mut incoming);
            tokio::pin!(send, answer);
            tokio::select! {
                // an answer in the middle is the outcome, whatever becomes of the sending
                biased;
                answered = &mut answer => (answered.ok(), None),
                done = &mut send => {
                    let patience = match &done {
                        Ok(()) => upload.stall.max(client.0.timeout),
                        Err(_) => LAST_WORDS,
                    };
                    (timeout(patience, answer).await.ok().and_then(Result::ok), done.err())
                }
            }
        };
        let whole = sent == upload.size && !matches!(cut, Some(Cut::Source(_)));
        let unfinished = |reason: String| Error::Unfinished {
            file: upload.filename.to_owned(),
            sent,
            size: upload.size,
            reason,
        };
        match (answered, cut) {
            (Some(Answered { status, body, .. }), _) if status.is_success() && whole => {
                let answer = parse(&call, &body)?;
                let upid = serde_json::from_value(answer.data)
                    .map_err(|error| Error::Answer { call, reason: error.to_string() })?;
                Ok(Sent { upid, bytes: sent })
            }
            (Some(Answered { status, .. }), _) if status.is_success() => {
                Err(unfinished("the server answered before it had all".to_owned()))
            }
            (_, Some(Cut::Source(reason))) => Err(unfinished(reason)),
            (Some(Answered { status, reason, location, body }), _) => {
                Err(client.refused(call, status, reason, location, &body))
            }
            (None, Some(Cut::Stalled)) => Err(unfinished(format!(
                "{} took nothing for {} s",
                client.endpoint(),
                upload.stall.as_secs()
            ))),
            (None, cut) if !whole => {
                let why = match cut {
                    Some(Cut::Broken(error)) => format!(" ({error})"),
                    _ => String::new(),
                };
                Err(unfinished(format!("{} closed the connection{why}", client.endpoint())))
            }
            (None, _) => Err(Error::MaybeSent {
                call,
                reason: format!("{} has all of the file and gives no answer", client.endpoint()),
                status: None,
            }),
        }
    }
}

/// Sends all of it, and says how much of the file is through.
async fn send(
    outgoing: &mut (impl AsyncWrite + Unpin),
    start: &[u8],
    upload: &Upload<'_>,
    file: &mut (impl AsyncRead + Unpin),
    tail: &[u8],
    count: &mut (dyn FnMut(u64) + Send),
) -> Result<(), Cut> {
    let stall = upload.stall;
    write(outgoing, start, stall).await?;
    // a refusal of who calls comes now, and needs no gigabyte
    timeout(stall, outgoing.flush()).await.map_err(|_| Cut::Stalled)?.map_err(Cut::Broken)?;
    let mut chunk = vec![0; CHUNK];
    let mut sent = 0_u64;
    while sent < upload.size {
        let left = usize::try_from(upload.size - sent).unwrap_or(CHUNK).min(CHUNK);
        let read = match file.read(&mut chunk[..left]).await {
            Ok(0) => {
                let short = format!("the file ended after {sent} bytes: was it changed meanwhile?");
                return Err(Cut::Source(short));
            }
            Ok(read) => read,
            Err(error) => return Err(Cut::Source(format!("it cannot be read: {error}"))),
        };
        write(outgoing, &chunk[..read], stall).await?;
        sent += read as u64;
        count(sent);
    }
    write(outgoing, tail, stall).await?;
    timeout(stall, outgoing.flush()).await.map_err(|_| Cut::Stalled)?.map_err(Cut::Broken)
}

/// Writes all of it; any byte taken is progress.
async fn write(
    outgoing: &mut (impl AsyncWrite + Unpin),
    mut bytes: &[u8],
    stall: Duration,
) -> Result<(), Cut> {
    while !bytes.is_empty() {
        let written = timeout(stall, outgoing.write(bytes)).await.map_err(|_| Cut::Stalled)?;
        match written {
            Ok(0) => return Err(Cut::Broken(io::ErrorKind::WriteZero.into())),
            Ok(written) => bytes = &bytes[written..],
            Err(error) => return Err(Cut::Broken(error)),
        }
    }
    Ok(())
}

impl Client {
    /// Request line and headers.
    async fn request_head(&self, path: &str, length: u64) -> Result<Vec<u8>, Error> {
        let inner = &*self.0;
        let ticket = inner.auth.ticket(self).await?;
        let mut head = format!(
            "POST {ROOT}{path} HTTP/1.1\r\nHost: {}\r\nUser-Agent: ferrite/{}\r\n\
             Accept: application/json\r\nConnection: close\r\n",
            self.endpoint(),
            env!("CARGO_PKG_VERSION")
        )
        .into_bytes();
        for (name, value) in inner.auth.headers(&Method::POST, ticket.as_deref()) {
            head.extend_from_slice(name.as_bytes());
            head.extend_from_slice(b": ");
            head.extend_from_slice(value.as_bytes());
            head.extend_from_slice(b"\r\n");
        }
        let kind = multipart::content_type();
        let rest = format!("Content-Type: {kind}\r\nContent-Length: {length}\r\n\r\n");
        head.extend(rest.into_bytes());
        Ok(head)
    }

    async fn open(&self) -> Result<TlsStream<TcpStream>, Error> {
        let unreached = |error: &(dyn std::error::Error + 'static)| {
            transport::unreached(error, self.endpoint())
        };
        let late = || Error::NotSent {
            endpoint: self.endpoint().to_owned(),
            reason: "it does not answer in time".to_owned(),
        };
        let server = &self.0.server;
        let (host, port) = (server.endpoint.host(), server.endpoint.port());
        let addresses = match host.parse::<IpAddr>() {
            Ok(address) => vec![address],
            Err(_) => server.resolver.addresses(host).await.map_err(|error| unreached(&error))?,
        };
        let name = ServerName::try_from(host.to_owned()).map_err(|error| unreached(&error))?;
        let mut failure = late();
        for address in addresses {
            let stream = TcpStream::connect(SocketAddr::new(address, port));
            match timeout(CONNECT, stream).await {
                Ok(Ok(stream)) => {
                    let tls = TlsConnector::from(Arc::clone(&server.tls));
                    return match timeout(CONNECT, tls.connect(name, stream)).await {
                        Ok(connected) => connected.map_err(|error| unreached(&error)),
                        Err(_) => Err(late()),
                    };
                }
                Ok(Err(error)) => failure = unreached(&error),
                Err(_) => failure = late(),
            }
        }
        Err(failure)
    }
}
