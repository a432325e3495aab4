//! Fetching what is at an address, with wget's and LWP's words for what goes wrong. Plain HTTP only:
//! the lab has no way out, and what it is to fetch is served by tests.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// How often an address may send elsewhere.
const REDIRECTS: u32 = 5;
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a read may keep a task from seeing that it shall stop.
const GLANCE: Duration = Duration::from_millis(100);

/// An answer whose body is still to be read.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) reason: String,
    pub(super) length: Option<u64>,
    pub(super) kind: String,
    pub(super) body: BufReader<TcpStream>,
}

/// Asks for what is at an address.
pub(super) fn fetch(method: &str, url: &str) -> Result<Answer, String> {
    let mut url = url.to_owned();
    for _ in 0..REDIRECTS {
        let (answer, location) = once(method, &url)?;
        match location.filter(|_| (300..400).contains(&answer.status)) {
            None => return Ok(answer),
            Some(place) if place.starts_with('/') => {
                let end = url.match_indices('/').nth(2).map_or(url.len(), |(at, _)| at);
                url.truncate(end);
                url.push_str(&place);
            }
            Some(place) => url = place,
        }
    }
    Err(format!("{REDIRECTS} redirections exceeded."))
}

fn once(method: &str, url: &str) -> Result<(Answer, Option<String>), String> {
    let rest = url.strip_prefix("http://").ok_or("Unable to establish SSL connection.")?;
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let (name, port) = host.rsplit_once(':').unwrap_or((host, "80"));
    let address = match name {
        "localhost" => IpAddr::V4(Ipv4Addr::LOCALHOST),
        name => name.parse().map_err(|_| format!("unable to resolve host address '{name}'"))?,
    };
    let port = port.parse().map_err(|_| "Bad port number.".to_owned())?;
    let connecting = format!("Connecting to {name}:{port}... failed: Connection refused.");
    let mut stream = TcpStream::connect_timeout(&SocketAddr::new(address, port), PATIENCE)
        .map_err(|_| connecting)?;
    let broken = |error: std::io::Error| format!("Read error ({error}) in headers.");
    stream.set_read_timeout(Some(PATIENCE)).map_err(broken)?;
    let path = if path.is_empty() { "/" } else { path };
    write!(stream, "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")
        .map_err(broken)?;
    let mut body = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if body.read_line(&mut line).map_err(broken)? == 0 {
            return Err("No data received.".to_owned());
        }
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let header = |name: &str| {
        lines.iter().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        })
    };
    let mut words = lines.first().map(String::as_str).unwrap_or_default().splitn(3, ' ').skip(1);
    let status = words.next().and_then(|code| code.parse().ok()).ok_or("Malformed status line.")?;
    let answer = Answer {
        status,
        reason: words.next().unwrap_or_default().to_owned(),
        length: header("content-length").and_then(|text| text.parse().ok()),
        kind: header("content-type").unwrap_or_else(|| "application/octet-stream".to_owned()),
        body,
    };
    Ok((answer, header("location")))
}

impl Answer {
    /// Writes the body somewhere, in pieces; each is told of. It is asked again and again whether to
    /// go on, also while nothing comes.
    pub(super) fn save(
        &mut self,
        to: &mut impl Write,
        mut each: impl FnMut(u64),
        go_on: impl Fn() -> Result<(), String>,
    ) -> Result<u64, String> {
        self.body.get_ref().set_read_timeout(Some(GLANCE)).map_err(|e| e.to_string())?;
        let mut heard = Instant::now();
        let mut chunk = vec![0; 64 << 10];
        let mut saved = 0;
        loop {
            let left = self.length.map_or(u64::MAX, |length| length - saved);
            let most = usize::try_from(left).unwrap_or(chunk.len()).min(chunk.len());
            go_on()?;
            let read = match self.body.read(&mut chunk[..most]) {
                Ok(read) => read,
                Err(error) if is_silence(&error) && heard.elapsed() < PATIENCE => continue,
                Err(_) => 0,
            };
            if read == 0 {
                break;
            }
            heard = Instant::now();
            to.write_all(&chunk[..read]).map_err(|error| error.to_string())?;
            saved += read as u64;
            each(saved);
        }
        match self.length {
            Some(length) if saved < length => {
                Err(format!("Connection closed at byte {saved}. Giving up."))
            }
            _ => Ok(saved),
        }
    }
}

fn is_silence(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}
