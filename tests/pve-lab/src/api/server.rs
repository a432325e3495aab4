//! HTTPS as pveproxy speaks it: one request after the other, a hundred to a connection, closed
//! after every refusal.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::ext::ReasonPhrase;
use hyper::header::{CONNECTION, CONTENT_TYPE, HeaderMap};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::auth::Credentials;
use super::dispatch::{self, Answer, Incoming as Call};
use super::error::ApiError;
use super::tls::Certificate;
use super::upload;
use crate::shared::Shared;

const REQUESTS_PER_CONNECTION: u32 = 100;
const BODY_LIMIT: usize = 512 * 1024;
const IDLE: Duration = Duration::from_secs(5);

/// Serves until the task is dropped.
pub(crate) async fn serve(listener: TcpListener, certificate: Certificate, shared: Arc<Shared>) {
    let acceptor = TlsAcceptor::from(certificate.config);
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let acceptor = acceptor.clone();
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            // what a client does to its connection is no event for the lab
            let _ = connection(stream, acceptor, shared).await;
        });
    }
}

async fn connection(
    mut stream: TcpStream,
    acceptor: TlsAcceptor,
    shared: Arc<Shared>,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut first = [0_u8; 1];
    if stream.peek(&mut first).await? == 1 && first[0] != 0x16 {
        return redirect(&mut stream).await;
    }
    let tls = acceptor.accept(stream).await?;
    let served = AtomicU32::new(0);
    let service = service_fn(|request| {
        let shared = Arc::clone(&shared);
        let last = served.fetch_add(1, Ordering::Relaxed) + 1 >= REQUESTS_PER_CONNECTION;
        async move { respond(request, shared, last).await }
    });
    hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE)
        .serve_connection(TokioIo::new(tls), service)
        .await
        .map_err(io::Error::other)
}

/// Plain HTTP is sent to HTTPS.
async fn redirect(stream: &mut TcpStream) -> io::Result<()> {
    let address = stream.local_addr()?;
    let mut request = [0_u8; 1024];
    let _ = stream.read(&mut request).await?;
    let answer = format!(
        "HTTP/1.1 301 Moved Permanently\r\nLocation: https://{address}/\r\nContent-Length: 0\r\n\
         Connection: close\r\n\r\n"
    );
    stream.write_all(answer.as_bytes()).await
}

/// A connection that is closed without an answer.
#[derive(Debug)]
struct Dropped;

impl std::fmt::Display for Dropped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("dropped on request")
    }
}

impl std::error::Error for Dropped {}

async fn respond(
    request: Request<Incoming>,
    shared: Arc<Shared>,
    last: bool,
) -> Result<Response<Full<Bytes>>, Dropped> {
    let answer = match read(request).await {
        Ok((call, Some(body))) if upload::is(&call) => upload::answer(call, body, shared).await,
        Ok((call, _)) => dispatch::answer(call, shared).await,
        Err(refusal) => Some(Answer::refusal(refusal)),
    };
    match answer {
        Some(answer) => Ok(build(&answer, last)),
        None => Err(Dropped),
    }
}

fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
}

/// A call, and its body if that is not read into memory.
async fn read(request: Request<Incoming>) -> Result<(Call, Option<Incoming>), ApiError> {
    let method = request.method().as_str().to_owned();
    let path = request.uri().path().to_owned();
    if !matches!(method.as_str(), "GET" | "POST" | "PUT" | "DELETE") {
        return Err(ApiError::text(501, format!("method '{method}' not available")));
    }
    let headers = request.headers();
    let credentials = Credentials {
        authorization: header(headers, "authorization"),
        cookie: header(headers, "cookie"),
        csrf: header(headers, "csrfpreventiontoken"),
    };
    if header(headers, "transfer-encoding").is_some_and(|value| value.contains("chunked")) {
        return Err(ApiError::text(501, "chunked transfer encoding not supported"));
    }
    let content_type = header(headers, "content-type").unwrap_or_default();
    let length: u64 =
        header(headers, "content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
    let query = request.uri().query().unwrap_or_default().to_owned();
    let mut call =
        Call { method, path, query, credentials, content_type, length, body: Bytes::new() };
    if !call.takes_body() {
        return Ok((call, Some(request.into_body())));
    }
    if call.length > 0 {
        if call.length > BODY_LIMIT as u64 {
            return Err(ApiError::text(501, "for data too large"));
        }
        call.body = Limited::new(request.into_body(), BODY_LIMIT)
            .collect()
            .await
            .map_err(|_| ApiError::text(400, "Bad Request"))?
            .to_bytes();
    }
    Ok((call, None))
}

fn build(answer: &Answer, last: bool) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(answer.body.clone())));
    *response.status_mut() =
        StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if let Ok(reason) = ReasonPhrase::try_from(answer.reason.as_bytes().to_vec()) {
        response.extensions_mut().insert(reason);
    }
    let headers = response.headers_mut();
    if !answer.content_type.is_empty()
        && let Ok(value) = answer.content_type.parse()
    {
        headers.insert(CONTENT_TYPE, value);
    }
    if last || answer.status >= 400 {
        headers.insert(CONNECTION, hyper::header::HeaderValue::from_static("close"));
    }
    response
}
