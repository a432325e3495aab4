//! What there is: files first, which tell the truth with and without a running systemd, and what
//! systemd says about them.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ansible_module::{Failure, Run};
use managed_node::{Command, Kind, Node};

use crate::error::Error;
use crate::params::{Params, State, StopRunning};
use crate::record::{self, Link, Record};
use crate::units::{self, ABOVE_ADMIN, ADMIN, RUNTIME, VENDOR, WANTING};

/// How often a running service is looked at.
const PAUSE: Duration = Duration::from_millis(250);

/// The node, and the run that is told of what it should know.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) node: Node,
    pub(crate) run: Run,
}

/// The state of all timers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) timers: Vec<Timer>,
}

/// One timer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Timer {
    pub(crate) name: String,
    /// What lies at its name in `/etc/systemd/system`.
    pub(crate) admin: Place,
    /// What lies at its name in `/run/systemd/system`.
    pub(crate) runtime: Place,
    /// A file that outranks `/etc/systemd/system`.
    pub(crate) above: Option<String>,
    /// The file of the package, if it is installed.
    pub(crate) vendor: Option<(String, Place)>,
    /// Whether the unit's file can be enabled.
    pub(crate) installable: bool,
    /// The links in `/etc` and `/run` that enable it.
    pub(crate) links: Vec<Link>,
    /// What was remembered.
    pub(crate) record: Option<Record>,
    /// The unit it starts.
    pub(crate) service: String,
    /// What systemd says; nothing where none is running.
    pub(crate) live: Option<Live>,
}

/// What lies at a unit file's place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    Absent,
    /// A link to `/dev/null`.
    Mask,
    /// A file without content, which systemd takes for a mask.
    Empty,
    /// A unit file.
    File,
    /// A link to somewhere else.
    Link(PathBuf),
}

impl Place {
    pub(crate) fn is_mask(&self) -> bool {
        matches!(self, Self::Mask | Self::Empty)
    }
}

/// What a running systemd says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Live {
    /// `LoadState` of the timer: `loaded`, `masked`, `not-found`.
    pub(crate) load: String,
    /// `ActiveState` of the timer.
    pub(crate) active: String,
    /// Whether the service is at work.
    pub(crate) service_running: bool,
    /// `ActiveState` of the service.
    pub(crate) service_active: String,
}

pub(crate) fn observe(params: &Params, target: &mut Target) -> Result<Found, Failure> {
    let node = &target.node;
    let mut timers = Vec::new();
    for name in params.names() {
        timers.push(look_at(node, name)?);
    }
    if params.state == State::Masked {
        for timer in &mut timers {
            running_service(params, target, timer)?;
        }
    }
    Ok(Found { timers })
}

fn look_at(node: &Node, name: &str) -> Result<Timer, Failure> {
    let admin = place(node, &format!("{ADMIN}/{name}"))?;
    let above = ABOVE_ADMIN
        .iter()
        .map(|folder| format!("{folder}/{name}"))
        .find(|path| node.kind(path).is_ok_and(|kind| kind.is_some()));
    let vendor = vendor(node, name)?;
    let texts = texts(node, name, &admin, vendor.as_ref())?;
    let service = units::triggered(name, &texts);
    // a template is never loaded, so that systemd has nothing to say about it
    let loadable = node.systemd_running() && !name.ends_with("@.timer");
    let live = if loadable { Some(live(node, name, &service)?) } else { None };
    Ok(Timer {
        admin,
        runtime: place(node, &format!("{RUNTIME}/{name}"))?,
        above,
        installable: texts.iter().any(|text| units::has_install(text)),
        links: links(node, name)?,
        record: record::read(node, name)?,
        service,
        live,
        vendor,
        name: name.to_owned(),
    })
}

fn place(node: &Node, path: &str) -> Result<Place, Failure> {
    Ok(match node.kind(path)? {
        None => Place::Absent,
        Some(Kind::Link(target)) => {
            // systemd looks at the link itself: one to a link to it is no mask
            let next = Path::new(path).parent().unwrap_or(Path::new("/")).join(&target);
            let direct = !matches!(node.kind(next)?, Some(Kind::Link(_)));
            if direct && node.follow(path)? == Path::new("/dev/null") {
                Place::Mask
            } else {
                Place::Link(target)
            }
        }
        Some(Kind::File) if node.read(path)?.is_empty() => Place::Empty,
        Some(_) => Place::File,
    })
}

fn vendor(node: &Node, name: &str) -> Result<Option<(String, Place)>, Failure> {
    // an instance has the file of its template
    let template = name.split_once('@').map(|(prefix, _)| format!("{prefix}@.timer"));
    for name in [Some(name.to_owned()), template].into_iter().flatten() {
        for folder in VENDOR {
            let path = format!("{folder}/{name}");
            match place(node, &path)? {
                Place::Absent => {}
                found => return Ok(Some((path, found))),
            }
        }
    }
    Ok(None)
}

/// The texts of the unit's files in the order in which they are read.
fn texts(
    node: &Node,
    name: &str,
    admin: &Place,
    vendor: Option<&(String, Place)>,
) -> Result<Vec<String>, Failure> {
    let own = format!("{ADMIN}/{name}");
    let main = match admin {
        Place::File | Place::Link(_) => Some(own.as_str()),
        _ => vendor.map(|(path, _)| path.as_str()),
    };
    let mut paths: Vec<String> = main.map(ToOwned::to_owned).into_iter().collect();
    for folder in VENDOR.iter().rev().chain([&RUNTIME, &ADMIN]) {
        let folder = format!("{folder}/{name}.d");
        let names = node.list(&folder)?.into_iter().filter(|entry| entry.name.ends_with(".conf"));
        paths.extend(names.map(|entry| format!("{folder}/{}", entry.name)));
    }
    let mut texts = Vec::new();
    for path in paths {
        texts.extend(node.read_text_if_any(&path)?);
    }
    Ok(texts)
}

/// The links that `systemctl disable` would remove.
fn links(node: &Node, name: &str) -> Result<Vec<Link>, Failure> {
    let mut links = Vec::new();
    for base in [ADMIN, RUNTIME] {
        for entry in node.list(base)? {
            let path = format!("{base}/{}", entry.name);
            match entry.kind {
                Kind::Link(target)
                    if entry.name != name
                        && target.file_name().is_some_and(|file| file == name) =>
                {
                    links.push(Link { path, target });
                }
                Kind::Folder if WANTING.iter().any(|suffix| entry.name.ends_with(suffix)) => {
                    let path = format!("{path}/{name}");
                    if let Some(Kind::Link(target)) = node.kind(&path)? {
                        links.push(Link { path, target });
                    }
                }
                _ => {}
            }
        }
    }
    Ok(links)
}

fn live(node: &Node, timer: &str, service: &str) -> Result<Live, Failure> {
    let of_timer = show(node, timer)?;
    let of_service = show(node, service)?;
    let running = match of_service.active.as_str() {
        // a service that stays active after its work is done holds no lock
        "active" | "reloading" => of_service.sub != "exited",
        "activating" | "deactivating" => true,
        _ => false,
    };
    Ok(Live {
        load: of_timer.load,
        active: of_timer.active,
        service_running: running,
        service_active: of_service.active,
    })
}

struct Shown {
    load: String,
    active: String,
    sub: String,
}

fn show(node: &Node, unit: &str) -> Result<Shown, Failure> {
    let command = Command::new("systemctl").args([
        "show",
        "--property=LoadState,ActiveState,SubState",
        "--",
        unit,
    ]);
    let output = node.run(&command)?.check(&command)?;
    let value = |key: &str| {
        output.stdout.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
    };
    let active = value("ActiveState").ok_or_else(|| Error::Show { unit: unit.to_owned() })?;
    Ok(Shown {
        load: value("LoadState").unwrap_or_default().to_owned(),
        active: active.to_owned(),
        sub: value("SubState").unwrap_or_default().to_owned(),
    })
}

/// Waits for, or warns of, a service that goes on although its timer is masked.
fn running_service(params: &Params, target: &Target, timer: &mut Timer) -> Result<(), Failure> {
    let deadline = Instant::now() + Duration::from_secs(params.wait_timeout);
    while let Some(live) = timer.live.as_ref().filter(|live| live.service_running) {
        let service = timer.service.clone();
        match params.stop_running {
            StopRunning::Stop => return Ok(()),
            StopRunning::Ignore => {
                target.run.warn(format!(
                    "{service} is {}; masking {} does not stop it",
                    live.service_active, timer.name
                ));
                return Ok(());
            }
            // it is awaited once the timer can not start it again
            StopRunning::Wait if target.run.check_mode || !timer.admin.is_mask() => return Ok(()),
            StopRunning::Wait => {}
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let (timer, seconds) = (timer.name.clone(), params.wait_timeout);
            return Err(Error::StillRunning { service, timer, seconds }.into());
        }
        std::thread::sleep(PAUSE.min(left));
        timer.live = Some(self::live(&target.node, &timer.name, &service)?);
    }
    Ok(())
}
