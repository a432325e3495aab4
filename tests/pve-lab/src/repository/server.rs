//! Serves the archives over http and https in the lab's namespace.

use std::convert::Infallible;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, header};
use hyper_util::rt::TokioIo;
use percent_encoding::percent_decode_str;
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, crypto};

use super::archive;
use crate::image::Trust;
use crate::network;

/// Something that goes wrong on purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The beginning of the paths it befalls, `/archive/debian/`.
    pub prefix: String,
    /// What happens there.
    pub kind: FaultKind,
}

/// What can go wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultKind {
    /// This status, and nothing else.
    Status(u16),
    /// The right answer, this much later.
    Late(Duration),
    /// The prefix is to be found elsewhere.
    Redirect(String),
    /// Indexes are signed by somebody whom nobody trusts.
    Forged,
    /// Indexes have expired.
    Expired,
}

#[derive(Debug, Default)]
struct Shared {
    root: PathBuf,
    faults: Mutex<Vec<Fault>>,
    requests: Mutex<Vec<String>>,
}

/// A package server that runs until it is dropped.
#[derive(Debug)]
pub struct Server {
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts the server in the network of this name.
    pub fn start(network: &str) -> Result<Self> {
        let trust = Trust::ensure()?;
        let root = archive::ensure(&trust)?;
        let tls = Arc::new(tls(&trust).context("cannot read the package server's certificate")?);
        let (plain, secure) = network::inside(network, || {
            // Of both families where there are two.
            let all = if network::has_ipv6() {
                IpAddr::V6(Ipv6Addr::UNSPECIFIED)
            } else {
                IpAddr::V4(Ipv4Addr::UNSPECIFIED)
            };
            let listen = |port: u16| {
                let listener = TcpListener::bind((all, port))
                    .with_context(|| format!("cannot listen on port {port} of {network}"))?;
                listener.set_nonblocking(true)?;
                anyhow::Ok(listener)
            };
            Ok((listen(80)?, listen(443)?))
        })?;
        let shared = Arc::new(Shared { root, ..Shared::default() });
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("cannot start the package server")?;
        let (stop, stopped) = oneshot::channel();
        let served = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            let result = runtime.block_on(async move {
                let plain = tokio::net::TcpListener::from_std(plain)?;
                let secure = tokio::net::TcpListener::from_std(secure)?;
                tokio::select! {
                    result = accept(plain, None, Arc::clone(&served)) => result,
                    result = accept(secure, Some(TlsAcceptor::from(tls)), served) => result,
                    _ = stopped => Ok(()),
                }
            });
            if let Err(e) = result {
                eprintln!("pve-lab: the package server ended: {e}");
            }
        });
        Ok(Self { shared, stop: Some(stop), thread: Some(thread) })
    }

    /// Sets what goes wrong from now on; the first fault whose prefix fits befalls a request.
    pub fn set_faults(&self, faults: Vec<Fault>) {
        *lock(&self.shared.faults) = faults;
    }

    /// The requests so far: `GET http://deb.debian.org/debian/dists/trixie/InRelease 200`.
    pub fn requests(&self) -> Vec<String> {
        lock(&self.shared.requests).clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn tls(trust: &Trust) -> Result<ServerConfig> {
    let chain = CertificateDer::pem_file_iter(trust.server_certificate())?
        .collect::<Result<Vec<_>, _>>()?;
    let key = PrivateKeyDer::from_pem_file(trust.server_key())?;
    Ok(ServerConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?)
}

async fn accept(
    listener: tokio::net::TcpListener,
    tls: Option<TlsAcceptor>,
    shared: Arc<Shared>,
) -> std::io::Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        let (tls, shared) = (tls.clone(), Arc::clone(&shared));
        tokio::spawn(async move {
            let scheme = if tls.is_some() { "https" } else { "http" };
            let service = service_fn(|request| {
                let shared = Arc::clone(&shared);
                async move { Ok::<_, Infallible>(answer(&shared, scheme, &request).await) }
            });
            let connection = hyper::server::conn::http1::Builder::new();
            // A client that goes away is its own business.
            let _ = match tls {
                None => connection.serve_connection(TokioIo::new(stream), service).await,
                Some(tls) => match tls.accept(stream).await {
                    Ok(stream) => connection.serve_connection(TokioIo::new(stream), service).await,
                    Err(_) => return,
                },
            };
        });
    }
}

async fn answer(
    shared: &Shared,
    scheme: &str,
    request: &Request<Incoming>,
) -> Response<Full<Bytes>> {
    let path = percent_decode_str(request.uri().path()).decode_utf8_lossy().into_owned();
    let fault = lock(&shared.faults).iter().find(|fault| path.starts_with(&fault.prefix)).cloned();
    let found = match fault {
        Some(Fault { kind: FaultKind::Status(status), .. }) => {
            Found::Nothing(StatusCode::from_u16(status).unwrap_or(StatusCode::NOT_FOUND))
        }
        Some(Fault { kind: FaultKind::Redirect(target), prefix }) => {
            Found::Elsewhere(format!("{target}{}", &path[prefix.len()..]))
        }
        Some(Fault { kind: FaultKind::Late(delay), .. }) => {
            tokio::time::sleep(delay).await;
            look_up(&shared.root, &path)
        }
        Some(Fault { kind: FaultKind::Forged, .. }) => {
            instead(&shared.root, &path, archive::FORGED)
        }
        Some(Fault { kind: FaultKind::Expired, .. }) => {
            instead(&shared.root, &path, archive::EXPIRED)
        }
        None => look_up(&shared.root, &path),
    };
    let mut response = Response::new(Full::default());
    match found {
        Found::Content(content) => *response.body_mut() = Full::new(content),
        Found::Nothing(status) => *response.status_mut() = status,
        Found::Elsewhere(target) => {
            *response.status_mut() = StatusCode::FOUND;
            if let Ok(value) = header::HeaderValue::from_str(&target) {
                response.headers_mut().insert(header::LOCATION, value);
            }
        }
    }
    if request.method() != Method::GET && request.method() != Method::HEAD {
        response = Response::new(Full::default());
        *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
    }
    let host = request.headers().get(header::HOST).and_then(|h| h.to_str().ok()).unwrap_or("-");
    lock(&shared.requests).push(format!(
        "{} {scheme}://{host}{path} {}",
        request.method(),
        response.status().as_u16()
    ));
    response
}

#[derive(Debug, PartialEq, Eq)]
enum Found {
    Content(Bytes),
    Nothing(StatusCode),
    Elsewhere(String),
}

/// Another index in place of the right one.
fn instead(root: &Path, path: &str, end: &str) -> Found {
    if path.ends_with("/InRelease") {
        look_up(root, &format!("{path}{end}"))
    } else {
        look_up(root, path)
    }
}

/// The file of a path; of a date between snapshots, the way to the one before, as
/// snapshot.debian.org shows it.
fn look_up(root: &Path, path: &str) -> Found {
    let relative = Path::new(path.trim_start_matches('/'));
    if relative.components().any(|c| !matches!(c, Component::Normal(_))) {
        return Found::Nothing(StatusCode::NOT_FOUND);
    }
    let file = root.join(relative);
    if file.is_dir() {
        return Found::Content(Bytes::from_static(b"a directory of the lab\n"));
    }
    match fs::read(&file) {
        Ok(content) => Found::Content(content.into()),
        Err(_) => match earlier(path) {
            Some(target) => Found::Elsewhere(target),
            None => Found::Nothing(StatusCode::NOT_FOUND),
        },
    }
}

fn earlier(path: &str) -> Option<String> {
    let rest = path.strip_prefix("/archive/")?;
    let (archive, rest) = rest.split_once('/')?;
    let (id, rest) = rest.split_once('/').unwrap_or((rest, ""));
    let is_date = id.len() == 16
        && id.char_indices().all(|(at, c)| match at {
            8 => c == 'T',
            15 => c == 'Z',
            _ => c.is_ascii_digit(),
        });
    let snapshot = archive::SNAPSHOTS.iter().rev().find(|s| s.id <= id)?;
    (is_date && snapshot.id != id).then(|| format!("/archive/{archive}/{}/{rest}", snapshot.id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_the_way_to_the_snapshot_before() {
        let rows = [
            (
                "/archive/debian/20250315T120000Z/dists/trixie/InRelease",
                Some("/archive/debian/20250101T000000Z/dists/trixie/InRelease"),
            ),
            (
                "/archive/debian-security/20260101T000000Z/",
                Some("/archive/debian-security/20250601T000000Z/"),
            ),
            ("/archive/debian/20241231T235959Z/", None),
            ("/archive/debian/20250101T000000Z/nothing", None),
            ("/archive/debian/yesterday/", None),
            ("/debian/dists/sid/InRelease", None),
        ];
        for (path, expected) in rows {
            assert_eq!(earlier(path).as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn stays_in_its_tree() {
        let root = tempfile::tempdir().expect("a directory");
        fs::create_dir(root.path().join("served")).expect("a directory");
        fs::write(root.path().join("secret"), "x").expect("a file");
        fs::write(root.path().join("served/file"), "y").expect("a file");
        let served = root.path().join("served");
        assert_eq!(look_up(&served, "/file"), Found::Content(Bytes::from_static(b"y")));
        for path in ["/../secret", "/x/../../secret", "/none"] {
            assert_eq!(look_up(&served, path), Found::Nothing(StatusCode::NOT_FOUND), "{path}");
        }
    }
}
