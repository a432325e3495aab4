//! The answer to an upload, read while the body is still being sent: a refusal comes before it, and
//! then the connection is closed.

use std::io;

use reqwest::StatusCode;
use tokio::io::{AsyncRead, AsyncReadExt};

/// Longer heads and bodies are not PVE's.
const LIMIT: usize = 1 << 20;

/// An answer as it came.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answered {
    pub(super) status: StatusCode,
    pub(super) reason: Option<String>,
    pub(super) location: Option<String>,
    pub(super) body: Vec<u8>,
}

/// Reads an answer; an error if the connection ended before its head was there.
pub(super) async fn read(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Answered> {
    let mut bytes = Vec::new();
    loop {
        let end = loop {
            if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
                break at + 4;
            }
            if !more(stream, &mut bytes).await? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        };
        let mut answered = head(&bytes[..end])?;
        bytes.drain(..end);
        if answered.answered.status.is_informational() {
            continue;
        }
        let length = answered.length.unwrap_or(LIMIT).min(LIMIT);
        // a body that is cut off still has its head's reason
        while bytes.len() < length && matches!(more(stream, &mut bytes).await, Ok(true)) {}
        bytes.truncate(length);
        answered.answered.body = bytes;
        return Ok(answered.answered);
    }
}

async fn more(stream: &mut (impl AsyncRead + Unpin), bytes: &mut Vec<u8>) -> io::Result<bool> {
    if bytes.len() > LIMIT {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok(stream.read_buf(bytes).await? > 0)
}

struct Head {
    answered: Answered,
    length: Option<usize>,
}

fn head(bytes: &[u8]) -> io::Result<Head> {
    let wrong = || io::Error::from(io::ErrorKind::InvalidData);
    // the reason is whatever the server's messages are written in
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.split("\r\n");
    let first = lines.next().and_then(|line| line.strip_prefix("HTTP/1.")).ok_or_else(wrong)?;
    let mut words = first.splitn(3, ' ').skip(1);
    let status = words.next().and_then(|code| code.parse::<u16>().ok()).ok_or_else(wrong)?;
    let reason = words.next().map(|reason| reason.trim().to_owned());
    let mut head = Head {
        answered: Answered {
            status: StatusCode::from_u16(status).map_err(|_| wrong())?,
            reason,
            location: None,
            body: Vec::new(),
        },
        length: None,
    };
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        let value = value.trim();
        if name.eq_ignore_ascii_case("content-length") {
            head.length = value.parse().ok();
        } else if name.eq_ignore_ascii_case("location") {
            head.answered.location = Some(value.to_owned());
        }
    }
    Ok(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn answers_of_every_shape_are_read() {
        for (bytes, status, reason, body) in [
            (
                "HTTP/1.1 403 Permission check failed (/storage/local, X)\r\nConnection: close\r\n\
                 Content-Length: 0\r\n\r\n",
                403,
                "Permission check failed (/storage/local, X)",
                "",
            ),
            ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n{}", 200, "OK", "{}"),
            ("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}more", 200, "OK", "{}"),
            ("HTTP/1.0 500\r\nContent-Length: 99\r\n\r\ncut", 500, "", "cut"),
        ] {
            let answered = read(&mut bytes.as_bytes()).await.unwrap();
            assert_eq!(answered.status.as_u16(), status);
            assert_eq!(answered.reason.unwrap_or_default(), reason);
            assert_eq!(answered.body, body.as_bytes());
        }
        for bytes in ["", "HTTP/1.1 200 OK\r\n", "SSH-2.0\r\n\r\n", "HTTP/1.1 x y\r\n\r\n"] {
            assert!(read(&mut bytes.as_bytes()).await.is_err(), "{bytes}");
        }
    }
}
