//! Runs a client as a process of its own and tells what it took.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use pve_lab::Lab;

use crate::yardstick;

/// What a run took.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) wall: Duration,
    pub(crate) cpu: Duration,
    pub(crate) memory_mb: f64,
    pub(crate) stdout: String,
}

/// The word before a command that this program runs to learn what it took.
const WRAP: &str = "--wrap";
/// The word that makes this program the yardstick.
const YARDSTICK: &str = "--yardstick";

/// Whether this process was started as a helper of another one, and has done its part.
pub(crate) fn wrapped() -> bool {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.split_first() {
        Some((word, rest)) if word == WRAP => {
            let status = Command::new(&rest[0]).args(&rest[1..]).stdin(Stdio::null()).status();
            let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("the usage of a child");
            let time = |t: nix::sys::time::TimeVal| t.tv_sec() * 1_000_000 + t.tv_usec();
            eprintln!(
                "{} {}",
                time(usage.user_time()) + time(usage.system_time()),
                usage.max_rss()
            );
            assert!(status.is_ok_and(|status| status.success()), "{rest:?} failed");
            true
        }
        Some((word, rest)) if word == YARDSTICK => {
            yardstick::run(rest);
            true
        }
        _ => false,
    }
}

/// Runs a command to its end.
pub(crate) fn measured(command: Command) -> Measured {
    let mut wrapper = Command::new(std::env::current_exe().expect("this program"));
    wrapper.arg(WRAP).arg(command.get_program()).args(command.get_args()).env_clear();
    wrapper.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let started = Instant::now();
    let output = wrapper.output().expect("a run");
    let wall = started.elapsed();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let numbers: Vec<u64> = said
        .lines()
        .last()
        .into_iter()
        .flat_map(str::split_whitespace)
        .filter_map(|word| word.parse().ok())
        .collect();
    let [cpu, kilobytes] = numbers[..] else { panic!("{said}") };
    Measured {
        wall,
        cpu: Duration::from_micros(cpu),
        memory_mb: f64::from(u32::try_from(kilobytes).unwrap_or(u32::MAX)) / 1024.0,
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
    }
}

/// Our inventory against this lab.
pub(crate) fn inventory(lab: &Lab) -> Command {
    let (id, secret) = lab.token();
    let mut command = Command::new(env!("CARGO_BIN_EXE_pve_inventory"));
    command
        .arg("--list")
        .env("PROXMOX_URL", lab.url())
        .env("PROXMOX_TOKEN_ID", id)
        .env("PROXMOX_TOKEN_SECRET", secret)
        .env("PROXMOX_FINGERPRINT", lab.fingerprint());
    command
}

/// The plain client.
pub(crate) fn yardstick(lab: &Lab, places: usize) -> Command {
    let (id, secret) = lab.token();
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command
        .arg(YARDSTICK)
        .arg(lab.port().to_string())
        .arg(places.to_string())
        .arg(format!("PVEAPIToken={id}={secret}"));
    command
}

/// The plugin of community.proxmox, if `FERRITE_PLUGIN_BIN` names the folder of an ansible-inventory
/// that has it; with workers only if its version has them.
pub(crate) fn plugin(lab: &Lab, workers: Option<usize>) -> Option<Command> {
    let bin = std::env::var("FERRITE_PLUGIN_BIN").ok()?;
    let (id, secret) = lab.token();
    let (user, token) = id.split_once('!')?;
    let workers = workers.map(|count| format!("max_workers: {count}\n")).unwrap_or_default();
    let text = format!(
        "plugin: community.proxmox.proxmox\nurl: {}\nuser: {user}\ntoken_id: {token}\n\
         token_secret: {secret}\nvalidate_certs: false\nwant_facts: true\n{workers}",
        lab.url()
    );
    let file = lab.dir().join("bench.proxmox.yml");
    std::fs::write(&file, text).ok()?;
    let ansible = |program: &str| {
        let mut command = Command::new(format!("{bin}/{program}"));
        command.env("PATH", format!("{bin}:/usr/bin:/bin"));
        command.env("HOME", lab.dir()).env("LC_ALL", "C.UTF-8");
        if let Ok(path) = std::env::var("FERRITE_PLUGIN_COLLECTIONS") {
            command.env("ANSIBLE_COLLECTIONS_PATH", path);
        }
        command
    };
    if !workers.is_empty() {
        // an option that a version does not know is ignored, and would be measured as if it were
        let mut doc = ansible("ansible-doc");
        let text = doc.args(["-t", "inventory", "community.proxmox.proxmox"]).output().ok()?.stdout;
        String::from_utf8_lossy(&text).contains("max_workers").then_some(())?;
    }
    let mut command = ansible("ansible-inventory");
    command.args(["--list", "-i"]).arg(file);
    Some(command)
}

/// Whether a path asks a guest.
pub(crate) fn is_agent(path: &str) -> bool {
    path.ends_with("/network-get-interfaces") || path.ends_with("/interfaces")
}
