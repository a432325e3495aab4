//! The running sshd: which unit it is, how it takes a change over, and whether it lives.

use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use ansible_module::Failure;
use managed_node::{Command, Node};

use crate::error::Error;

/// Both names; on Debian the second is an alias of the first.
const SERVICES: [&str; 2] = ["ssh.service", "sshd.service"];
const SOCKETS: [&str; 2] = ["ssh.socket", "sshd.socket"];
/// How long a daemon may take to be back.
const LIMIT: Duration = Duration::from_secs(15);
const PAUSE: Duration = Duration::from_millis(50);

/// How the daemon takes a change over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Daemon {
    /// No systemd runs here.
    None,
    /// It is not running; the next start reads the configuration.
    Idle {
        /// The socket that starts it, if one listens.
        socket: Option<String>,
    },
    /// It runs by itself.
    Reload {
        /// The unit.
        unit: String,
    },
    /// A socket started it. A reload would kill it: it would try to listen by itself.
    Restart {
        /// The unit.
        unit: String,
        /// The socket.
        socket: String,
    },
}

impl Daemon {
    /// The socket that listens in sshd's place.
    pub(crate) fn socket(&self) -> Option<&str> {
        match self {
            Self::Idle { socket } => socket.as_deref(),
            Self::Restart { socket, .. } => Some(socket),
            Self::None | Self::Reload { .. } => None,
        }
    }
}

/// Looks which unit it is.
pub(crate) fn find(node: &Node) -> Result<Daemon, Failure> {
    if !node.systemd_running() {
        return Ok(Daemon::None);
    }
    find_units(node)
}

fn find_units(node: &Node) -> Result<Daemon, Failure> {
    let socket =
        installed(node, &SOCKETS)?.filter(|shown| shown.active == "active").map(|shown| shown.id);
    let service = installed(node, &SERVICES)?
        .filter(|shown| matches!(shown.active.as_str(), "active" | "reloading" | "activating"));
    Ok(match (service, socket) {
        (None, socket) => Daemon::Idle { socket },
        (Some(service), Some(socket)) => Daemon::Restart { unit: service.id, socket },
        (Some(service), None) => Daemon::Reload { unit: service.id },
    })
}

/// The first unit of these that is installed. The others are not asked for: to ask for a name
/// that is no unit makes systemd keep an empty one under it, and should the name become an alias
/// of the running daemon before that is dropped, systemd loses sight of the daemon.
fn installed(node: &Node, names: &[&str]) -> Result<Option<Shown>, Failure> {
    for name in names {
        let shown = show(node, name)?;
        if shown.load != "not-found" {
            return Ok(Some(shown));
        }
    }
    Ok(None)
}

/// Lets the daemon take the configuration over, and watches it until it serves again.
///
/// `listening` is where it should listen then, as `sshd -T` says it.
pub(crate) fn take_over(
    node: &Node,
    daemon: &Daemon,
    listening: &[String],
) -> Result<(), DaemonFailure> {
    let (unit, verb) = match daemon {
        Daemon::None | Daemon::Idle { .. } => return Ok(()),
        Daemon::Reload { unit } => (unit, "reload"),
        Daemon::Restart { unit, .. } => (unit, "restart"),
    };
    let failure = |what: String| DaemonFailure { unit: unit.clone(), what };
    // where a socket listens, sshd's own settings say nothing
    let listening = match daemon.socket().filter(|socket| !socket.is_empty()) {
        Some(socket) => listens(node, socket).map_err(|error| failure(error.message().into()))?,
        None => listening.to_vec(),
    };
    let before = show(node, unit).ok().and_then(|shown| shown.main_pid);
    let image = before.and_then(image_of);
    let command = Command::new("systemctl").args([verb, "--", unit.as_str()]);
    let output = node.run(&command).map_err(|error| failure(error.to_string()))?;
    if !output.success() {
        return Err(failure(format!("could not be {verb}ed: {}", output.complaint().trim())));
    }
    // exit status 0 of a reload proves nothing: the daemon starts itself again after it
    let deadline = Instant::now() + LIMIT;
    if let Some((pid, image)) = before.zip(image).filter(|_| verb == "reload") {
        let settled = Instant::now() + patience(node);
        while image_of(pid).as_ref() == Some(&image) && Instant::now() < settled {
            std::thread::sleep(PAUSE);
        }
    }
    loop {
        let what = match state(node, unit) {
            Ok(state) if state == "active" => match accepts(&listening) {
                // asked once more: it may have accepted as it went down
                Ok(()) if state_is_active(node, unit) => return Ok(()),
                Ok(()) => "did not stay active".to_owned(),
                Err(what) => what,
            },
            Ok(state) if state == "failed" => return Err(failure("failed".to_owned())),
            Ok(state) => format!("is {state}"),
            Err(error) => error.message().to_owned(),
        };
        if Instant::now() >= deadline {
            return Err(failure(what));
        }
        std::thread::sleep(PAUSE);
    }
}

/// How long to wait until the daemon is seen to have started itself again. Where the kernel gives
/// each program the same addresses, that cannot be seen.
fn patience(node: &Node) -> Duration {
    let setting = node.read_text("/proc/sys/kernel/randomize_va_space").unwrap_or_default();
    if setting.trim() == "0" { LIMIT / 5 } else { LIMIT }
}

/// Gets a daemon back on its feet with the configuration that it had.
pub(crate) fn recover(node: &Node, daemon: &Daemon) -> Result<(), DaemonFailure> {
    let (Daemon::Reload { unit } | Daemon::Restart { unit, .. }) = daemon else { return Ok(()) };
    if state_is_active(node, unit) {
        return take_over(node, daemon, &[]);
    }
    // a reload of a unit that is down does nothing, and one that failed may be held back
    let socket = daemon.socket().unwrap_or_default().to_owned();
    let restart = Daemon::Restart { unit: unit.clone(), socket };
    let reset = Command::new("systemctl").args(["reset-failed", "--", unit.as_str()]);
    let _ = node.run(&reset);
    take_over(node, &restart, &[])
}

/// Why the daemon did not take a change over.
#[derive(Debug)]
pub(crate) struct DaemonFailure {
    pub(crate) unit: String,
    pub(crate) what: String,
}

/// What tells a program that was started again from the one before it, under the same number.
fn image_of(pid: u32) -> Option<Vec<u8>> {
    std::fs::read(format!("/proc/{pid}/auxv")).ok().filter(|bytes| !bytes.is_empty())
}

fn state(node: &Node, unit: &str) -> Result<String, Failure> {
    Ok(show(node, unit)?.active)
}

fn state_is_active(node: &Node, unit: &str) -> bool {
    state(node, unit).is_ok_and(|state| state == "active")
}

/// The addresses of a socket unit.
fn listens(node: &Node, socket: &str) -> Result<Vec<String>, Failure> {
    let command = Command::new("systemctl").args(["show", "--property=Listen", "--", socket]);
    let output = node.run(&command)?.check(&command)?;
    let lines = output.stdout.lines().filter_map(|line| line.strip_prefix("Listen="));
    Ok(lines.map(ToOwned::to_owned).collect())
}

/// What systemd says about a unit.
struct Shown {
    id: String,
    load: String,
    active: String,
    main_pid: Option<u32>,
}

fn show(node: &Node, unit: &str) -> Result<Shown, Failure> {
    let command = Command::new("systemctl").args([
        "show",
        "--property=Id,LoadState,ActiveState,MainPID",
        "--",
        unit,
    ]);
    let output = node.run(&command)?.check(&command)?;
    let value = |key: &str| {
        output.stdout.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
    };
    let needed = |key| value(key).ok_or_else(|| Error::Show { unit: unit.to_owned() });
    Ok(Shown {
        id: needed("Id")?.to_owned(),
        load: needed("LoadState")?.to_owned(),
        active: needed("ActiveState")?.to_owned(),
        main_pid: value("MainPID").and_then(|pid| pid.parse().ok()).filter(|pid| *pid != 0),
    })
}

/// Connects to the first address on which sshd should listen, and waits for its greeting.
fn accepts(listening: &[String]) -> Result<(), String> {
    let Some(address) = listening.iter().find_map(|text| reachable(text)) else { return Ok(()) };
    let refused =
        |error: std::io::Error| format!("does not accept a connection at {address}: {error}");
    let mut stream =
        TcpStream::connect_timeout(&address, Duration::from_secs(2)).map_err(refused)?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).map_err(refused)?;
    let mut greeting = [0; 4];
    stream.read_exact(&mut greeting).map_err(refused)?;
    if &greeting == b"SSH-" {
        return Ok(());
    }
    Err(format!("does not greet as sshd at {address}"))
}

/// The address to connect to for an address to listen on; names are not looked up.
fn reachable(listening: &str) -> Option<SocketAddr> {
    let address: SocketAddr = listening.split_whitespace().next()?.parse().ok()?;
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    Some(SocketAddr::new(ip, address.port()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use managed_node::Recorder;
    use std::rc::Rc;

    /// A system whose units are in these states; the others are not installed.
    fn found(units: &[(&str, &str, &str)]) -> Daemon {
        let mut recorder = Recorder::new();
        for name in SERVICES.iter().chain(&SOCKETS) {
            let (id, load, active) = units
                .iter()
                .find(|(unit, ..)| unit == name)
                .map_or((*name, "not-found", "inactive"), |(_, id, state)| (*id, "loaded", *state));
            let line =
                format!("systemctl show --property=Id,LoadState,ActiveState,MainPID -- {name}");
            let said = format!("MainPID=7\nId={id}\nLoadState={load}\nActiveState={active}\n");
            recorder = recorder.on(&line, 0, &said, "");
        }
        let node = Node::system().with_runner(Rc::new(recorder));
        find_units(&node).unwrap()
    }

    #[test]
    fn g36_the_right_unit() {
        let ssh = || Daemon::Reload { unit: "ssh.service".to_owned() };
        let table = [
            (vec![("ssh.service", "ssh.service", "active")], ssh()),
            (
                vec![("sshd.service", "sshd.service", "active")],
                Daemon::Reload { unit: "sshd.service".to_owned() },
            ),
            (
                vec![
                    ("ssh.service", "ssh.service", "active"),
                    ("sshd.service", "ssh.service", "active"),
                ],
                ssh(),
            ),
            (vec![], Daemon::Idle { socket: None }),
            (
                vec![("ssh.socket", "ssh.socket", "active")],
                Daemon::Idle { socket: Some("ssh.socket".to_owned()) },
            ),
            (
                vec![
                    ("ssh.socket", "ssh.socket", "active"),
                    ("ssh.service", "ssh.service", "active"),
                ],
                Daemon::Restart { unit: "ssh.service".to_owned(), socket: "ssh.socket".to_owned() },
            ),
        ];
        for (units, wanted) in table {
            assert_eq!(found(&units), wanted, "{units:?}");
        }
    }

    #[test]
    fn where_to_connect() {
        let table = [
            ("0.0.0.0:22", Some("127.0.0.1:22")),
            ("[::]:2222", Some("[::1]:2222")),
            ("10.0.0.1:22", Some("10.0.0.1:22")),
            ("10.0.0.1:22 rdomain vrf", Some("10.0.0.1:22")),
            ("[::]:22 (Stream)", Some("[::1]:22")),
            ("/run/sshd.sock (Stream)", None),
            ("name:22", None),
        ];
        for (text, wanted) in table {
            assert_eq!(reachable(text), wanted.map(|text| text.parse().unwrap()), "{text}");
        }
    }
}
