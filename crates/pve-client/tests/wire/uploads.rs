//! Uploads: what goes over the wire, and servers that answer early, slowly or not at all.

use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::server::{Certified, SECRET, Server, answer, data, options};
use pve_client::{Client, ConnectOptions, Error, Kind, Sent, Upload};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

const UPID: &str = "\"UPID:pve1:0003A1B2:01C4E5F6:68E0A1B2:imgcopy::ansible@pve!ci:\"";
const MIB: u64 = 1 << 20;

fn file(size: u64) -> Upload<'static> {
    Upload {
        content: "import",
        filename: "x.raw",
        size,
        checksum: Some(("sha256", "ab12")),
        stall: Duration::from_secs(10),
    }
}

/// Sends so many zeros.
async fn upload(options: &ConnectOptions, upload: Upload<'_>) -> Result<Sent, Error> {
    let client = Client::connect(options).unwrap();
    let (node, storage) = ("pve1".parse().unwrap(), "local".parse().unwrap());
    let mut zeros = tokio::io::repeat(0).take(upload.size);
    client.node(&node).storage(&storage).upload(&upload, &mut zeros, &mut |_| {}).await
}

/// A server that treats its one connection as it is told.
async fn raw<F: Future<Output = ()> + Send>(
    serve: impl FnOnce(TlsStream<TcpStream>) -> F + Send + 'static,
) -> ConnectOptions {
    let Certified { config, fingerprint, .. } = Certified::new(&["x"]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        // what is not on its way when the connection is reset is lost
        stream.set_nodelay(true).unwrap();
        serve(TlsAcceptor::from(Arc::new(config)).accept(stream).await.unwrap()).await;
    });
    options(port, fingerprint)
}

async fn head(stream: &mut TlsStream<TcpStream>) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

fn length(head: &str) -> u64 {
    let line = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    line.unwrap().parse().unwrap()
}

#[tokio::test]
async fn b41_and_b42_the_body_is_what_pveproxys_parser_takes() {
    let server = Server::start(&["x"], |_, _| data(UPID)).await;
    let sent = upload(&server.options(), file(3)).await.unwrap();
    assert_eq!((sent.bytes, sent.upid.kind.as_str()), (3, "imgcopy"));
    let seen = server.seen().pop().unwrap();
    assert_eq!(seen.call(), "POST /api2/json/nodes/pve1/storage/local/upload");
    let kind = seen.header("content-type").unwrap();
    let boundary = kind.strip_prefix("multipart/form-data; boundary=").unwrap();
    let field = format!("--{boundary}\r\nContent-Disposition: form-data; name=");
    let expected = format!(
        "{field}\"content\"\r\n\r\nimport\r\n{field}\"checksum-algorithm\"\r\n\r\nsha256\r\n\
         {field}\"checksum\"\r\n\r\nab12\r\n{field}\"filename\"; filename=\"x.raw\"\r\n\
         Content-Type: application/octet-stream\r\n\r\n\0\0\0\r\n--{boundary}--\r\n"
    );
    assert_eq!(seen.body, expected);
    assert_eq!(seen.header("content-length"), Some(expected.len().to_string().as_str()));
    assert_eq!(seen.header("transfer-encoding"), None);
    let token = format!("PVEAPIToken=ansible@pve!ci={SECRET}");
    assert_eq!(seen.header("authorization"), Some(token.as_str()));
}

#[tokio::test]
async fn with_a_password_there_is_a_ticket_and_its_token() {
    let login = "{\"ticket\":\"PVE:x\",\"CSRFPreventionToken\":\"csrf\"}";
    let script = move |number, _: &_| if number == 0 { data(login) } else { data(UPID) };
    let server = Server::start(&["x"], script).await;
    upload(&server.password_options(), file(3)).await.unwrap();
    let seen = server.seen().pop().unwrap();
    assert_eq!(seen.header("csrfpreventiontoken"), Some("csrf"));
    assert_eq!(seen.header("cookie"), Some("PVEAuthCookie=PVE%3Ax"));
}

#[tokio::test]
async fn a_refusal_before_the_body_is_told_with_its_reason() {
    // with and without reading what has come meanwhile: closing without reading it resets
    for reads in [true, false] {
        let options = raw(move |mut stream| async move {
            if reads {
                head(&mut stream).await;
            } else {
                stream.read_u8().await.unwrap();
            }
            let text = "HTTP/1.1 403 Permission check failed (/storage/local, \
                        Datastore.AllocateTemplate)\r\nContent-Length: 0\r\n\r\n";
            stream.write_all(text.as_bytes()).await.unwrap();
            stream.flush().await.unwrap();
        })
        .await;
        let error = upload(&options, file(64 * MIB)).await.unwrap_err();
        assert!(matches!(error.kind(), Some(Kind::Forbidden { .. })), "{error:?}");
        let text = error.to_string();
        assert!(
            text.starts_with(
                "token 'ansible@pve!ci' lacks Datastore.AllocateTemplate on /storage/local"
            ),
            "{text}"
        );
    }
}

#[tokio::test]
async fn a_connection_that_ends_tells_how_far_it_came() {
    let options = raw(|mut stream| async move {
        head(&mut stream).await;
        let mut some = vec![0; 300_000];
        stream.read_exact(&mut some).await.unwrap();
    })
    .await;
    let error = upload(&options, file(64 * MIB)).await.unwrap_err();
    let Error::Unfinished { sent, size, reason, .. } = &error else { panic!("{error:?}") };
    assert!((100_000..*size).contains(sent), "{sent}");
    assert!(reason.contains("closed the connection"), "{reason}");
    assert!(!error.to_string().contains(SECRET));
}

#[tokio::test]
async fn an_answer_that_never_comes_is_no_failure_of_the_upload() {
    let options = raw(|mut stream| async move {
        let length = length(&head(&mut stream).await);
        let mut body = stream.take(length);
        tokio::io::copy(&mut body, &mut tokio::io::sink()).await.unwrap();
    })
    .await;
    let error = upload(&options, file(MIB)).await.unwrap_err();
    let Error::MaybeSent { reason, .. } = &error else { panic!("{error:?}") };
    assert!(reason.contains("has all of the file and gives no answer"), "{reason}");
}

#[tokio::test]
async fn b44_a_slow_upload_is_limited_by_lack_of_progress_only() {
    let options = raw(|mut stream| async move {
        let mut left = length(&head(&mut stream).await);
        let mut chunk = vec![0; 1 << 20];
        while left > 0 {
            // slower than any limit of a whole call would let through
            tokio::time::sleep(Duration::from_millis(120)).await;
            let some = usize::try_from(left).unwrap().min(chunk.len());
            left -= stream.read_exact(&mut chunk[..some]).await.unwrap() as u64;
        }
        let body = format!("{{\"data\":{UPID}}}");
        let text = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(text.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
    })
    .await;
    let options = ConnectOptions { api_timeout: 1, ..options };
    let started = Instant::now();
    let slow = Upload { stall: Duration::from_secs(1), ..file(20 * MIB) };
    assert_eq!(upload(&options, slow).await.unwrap().bytes, 20 * MIB);
    assert!(started.elapsed() > Duration::from_secs(2), "{:?}", started.elapsed());
}

#[tokio::test]
async fn an_upload_that_stands_still_is_given_up() {
    let options = raw(|mut stream| async move {
        head(&mut stream).await;
        std::future::pending::<()>().await;
    })
    .await;
    let stuck = Upload { stall: Duration::from_millis(300), ..file(64 * MIB) };
    let error = upload(&options, stuck).await.unwrap_err();
    let Error::Unfinished { reason, .. } = &error else { panic!("{error:?}") };
    assert!(reason.contains("took nothing for 0 s"), "{reason}");
}

#[tokio::test]
async fn a_file_that_is_shorter_than_said_is_not_sent_whole() {
    let server = Server::start(&["x"], |_, _| data(UPID)).await;
    let client = Client::connect(&server.options()).unwrap();
    let (node, storage) = ("pve1".parse().unwrap(), "local".parse().unwrap());
    let mut short = &b"ab"[..];
    let target = client.node(&node).storage(&storage);
    let error = target.upload(&file(3), &mut short, &mut |_| {}).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "x.raw was not sent whole (2 of 3 bytes), so nothing of it is kept: the file ended after 2 \
         bytes: was it changed meanwhile?"
    );
    assert!(server.seen().is_empty(), "no whole request came");
}

#[tokio::test]
async fn refusals_after_the_body_are_understood() {
    let server = Server::start(&["x"], |_, _| answer(400, "Bad Request", "")).await;
    let error = upload(&server.options(), file(3)).await.unwrap_err();
    assert_eq!(error.kind(), Some(&Kind::Parameter));
    assert_eq!(error.to_string(), "Bad Request");
}

#[tokio::test]
async fn a_certificate_that_is_not_trusted_is_refused_before_anything_is_sent() {
    let server = Server::start(&["x"], |_, _| data(UPID)).await;
    let options = ConnectOptions { api_fingerprint: None, ..server.options() };
    let error = upload(&options, file(3)).await.unwrap_err();
    let Error::NotSent { reason, .. } = &error else { panic!("{error:?}") };
    assert!(reason.contains("authority that is not trusted"), "{reason}");
    assert!(server.seen().is_empty());
}

/// The peak of this process's memory since the last reset, in KiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.unwrap().trim().trim_end_matches(" kB").parse().unwrap()
}

#[tokio::test]
async fn memory_does_not_grow_with_the_file() {
    let options = raw(|mut stream| async move {
        let mut left = length(&head(&mut stream).await);
        let mut chunk = vec![0; 1 << 20];
        while left > 0 {
            left -= stream.read(&mut chunk).await.unwrap() as u64;
        }
        let body = format!("{{\"data\":{UPID}}}");
        let text = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(text.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
    })
    .await;
    // sparse: it takes no room, and its size is far beyond the memory that is allowed
    let mut sparse = tempfile::tempfile().unwrap();
    sparse.write_all(b"begins").unwrap();
    let size = 256 * MIB;
    sparse.set_len(size).unwrap();
    std::io::Seek::rewind(&mut sparse).unwrap();
    let client = Client::connect(&options).unwrap();
    let (node, storage) = ("pve1".parse().unwrap(), "local".parse().unwrap());
    let before = peak();
    let mut progress = Vec::new();
    let mut file_ = tokio::fs::File::from_std(sparse);
    let sent = client
        .node(&node)
        .storage(&storage)
        .upload(&file(size), &mut file_, &mut |bytes| progress.push(bytes))
        .await
        .unwrap();
    assert_eq!(sent.bytes, size);
    assert_eq!(progress.last(), Some(&size));
    let grown = peak() - before;
    assert!(grown < 32 << 10, "{grown} KiB for {size} bytes");
}
