//! A server of files over plain HTTP that misbehaves on request, for what is fetched from elsewhere.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// What is at a path.
#[derive(Debug, Clone)]
pub enum Place {
    /// This file.
    File(Vec<u8>),
    /// Another address.
    Redirect(String),
    /// A status and its reason: `404 Not Found`.
    Status(String),
    /// A file of which only the first so many bytes come, though more were announced.
    Truncated(Vec<u8>, usize),
    /// A file that comes in pieces of so many bytes, with a pause after each.
    Slow(Vec<u8>, usize, Duration),
    /// A file whose size is not said.
    Unsized(Vec<u8>),
    /// A file whose head may not be asked for alone.
    NoHead(Vec<u8>),
    /// A page for people in place of a file.
    Page(Vec<u8>),
    /// A file that begins to come, and then nothing goes on.
    Stuck(Vec<u8>),
}

type Places = Arc<Mutex<BTreeMap<String, Place>>>;

/// The server; it lives as long as the process.
#[derive(Debug, Clone)]
pub struct Origin {
    address: SocketAddr,
    places: Places,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Origin {
    /// Starts one on a port of the loopback interface. Panics if there is none: this is for tests.
    #[must_use]
    pub fn start() -> Self {
        #[expect(clippy::expect_used, reason = "this is for tests, and one cannot go on without")]
        let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback interface has ports");
        #[expect(clippy::expect_used, reason = "this is for tests, and one cannot go on without")]
        let address = listener.local_addr().expect("it listens somewhere");
        let origin = Self { address, places: Places::default(), seen: Arc::new(Mutex::default()) };
        let served = origin.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let served = served.clone();
                // what a client does to its connection is no event
                thread::spawn(move || served.serve(stream).ok());
            }
        });
        origin
    }

    /// Puts something at a path.
    pub fn put(&self, path: &str, place: Place) {
        self.places.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), place);
    }

    /// The address of a path.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The requests so far: `GET /x.raw`.
    #[must_use]
    pub fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn serve(&self, mut stream: TcpStream) -> std::io::Result<()> {
        let mut lines = BufReader::new(stream.try_clone()?).lines();
        let first = lines.next().transpose()?.unwrap_or_default();
        while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
        let mut words = first.split(' ');
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).push(format!("{method} {path}"));
        let place = self.places.lock().unwrap_or_else(PoisonError::into_inner).get(path).cloned();
        let place = place.unwrap_or_else(|| Place::Status("404 Not Found".to_owned()));
        answer(&mut stream, method == "HEAD", place)
    }
}

fn head(stream: &mut TcpStream, status: &str, more: &str) -> std::io::Result<()> {
    write!(stream, "HTTP/1.1 {status}\r\nConnection: close\r\n{more}\r\n")
}

fn answer(stream: &mut TcpStream, only_head: bool, place: Place) -> std::io::Result<()> {
    let sized = |bytes: &[u8]| format!("Content-Length: {}\r\n", bytes.len());
    match place {
        Place::Status(status) => head(stream, &status, "Content-Length: 0\r\n"),
        Place::Redirect(to) => {
            head(stream, "302 Found", &format!("Location: {to}\r\nContent-Length: 0\r\n"))
        }
        Place::NoHead(_) if only_head => {
            head(stream, "405 Method Not Allowed", "Content-Length: 0\r\n")
        }
        Place::Unsized(bytes) => {
            head(stream, "200 OK", "")?;
            if only_head { Ok(()) } else { stream.write_all(&bytes) }
        }
        Place::Page(bytes) => {
            head(stream, "200 OK", &format!("Content-Type: text/html\r\n{}", sized(&bytes)))?;
            if only_head { Ok(()) } else { stream.write_all(&bytes) }
        }
        Place::File(bytes)
        | Place::NoHead(bytes)
        | Place::Truncated(bytes, _)
        | Place::Slow(bytes, ..)
        | Place::Stuck(bytes)
            if only_head =>
        {
            head(stream, "200 OK", &sized(&bytes))
        }
        Place::File(bytes) | Place::NoHead(bytes) => {
            head(stream, "200 OK", &sized(&bytes))?;
            stream.write_all(&bytes)
        }
        Place::Truncated(bytes, after) => {
            head(stream, "200 OK", &sized(&bytes))?;
            stream.write_all(&bytes[..after.min(bytes.len())])
        }
        Place::Slow(bytes, piece, pause) => {
            head(stream, "200 OK", &sized(&bytes))?;
            for piece in bytes.chunks(piece.max(1)) {
                stream.write_all(piece)?;
                thread::sleep(pause);
            }
            Ok(())
        }
        Place::Stuck(bytes) => {
            head(stream, "200 OK", &sized(&bytes))?;
            stream.write_all(&bytes[..bytes.len() / 2])?;
            // until the client has had enough
            let mut byte = [0];
            std::io::Read::read(stream, &mut byte).map(drop)
        }
    }
}
