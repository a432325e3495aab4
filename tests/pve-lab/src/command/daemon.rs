//! The lab in the background: started, found again, ended.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use pve_lab::driver::GuestDriver;
use pve_lab::guests::RealGuests;
use pve_lab::image::BUILDING;

use super::{Options, StartName, VersionName, files};

/// Long enough to build an image from nothing on a slow machine.
const PATIENCE: Duration = Duration::from_secs(900);
const PAUSE: Duration = Duration::from_millis(50);

fn pid_file(dir: &Path) -> PathBuf {
    dir.join("pid")
}

/// Whether a process is there; one that nobody waits for is not.
fn lives(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z")
}

/// The process that serves a directory, if it lives.
fn owner(dir: &Path) -> Option<Pid> {
    let text = fs::read_to_string(pid_file(dir)).ok()?;
    let pid = Pid::from_raw(text.trim().parse().ok()?);
    // the number may belong to another program by now
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    (name.starts_with("pve-lab") && lives(pid)).then_some(pid)
}

/// Gives the directory back when the lab ends.
pub(crate) struct Claim(PathBuf);

impl Drop for Claim {
    fn drop(&mut self) {
        // the directory may have been removed meanwhile
        let _ = fs::remove_file(&self.0);
    }
}

/// Takes a directory for this process.
pub(crate) fn claim(dir: &Path) -> anyhow::Result<Claim> {
    let me = Pid::this();
    if let Some(pid) = owner(dir).filter(|pid| *pid != me) {
        bail!("a lab runs in {} already, as process {pid}", dir.display());
    }
    let path = pid_file(dir);
    fs::write(&path, format!("{me}\n"))
        .with_context(|| format!("failed to write {}", path.display()))?;
    // settings of a lab that was killed would be taken for ours
    let _ = fs::remove_file(dir.join("env"));
    Ok(Claim(path))
}

fn url(dir: &Path) -> Option<String> {
    let text = fs::read_to_string(dir.join("env")).ok()?;
    let port = text.lines().find_map(|line| line.strip_prefix("export PROXMOX_PORT="))?;
    Some(format!("https://127.0.0.1:{port}"))
}

/// Starts the lab in the background.
pub(crate) fn up(options: &Options) -> anyhow::Result<()> {
    let dir = files::absolute(&options.place.dir)?;
    if let (Some(pid), Some(url)) = (owner(&dir), url(&dir)) {
        println!("pve-lab: runs already on {url}, as process {pid}");
        return Ok(());
    }
    if !options.state_only {
        super::real_guests(&dir)?;
    }
    fs::create_dir_all(&dir).with_context(|| format!("failed to make {}", dir.display()))?;
    let log = dir.join("lab.log");
    let mut child = spawn(options, &dir, &log)?;
    wait(&dir, &log, &mut child)?;
    let url = url(&dir).unwrap_or_default();
    if options.listen.is_none() && !url.ends_with(":8006") {
        println!("pve-lab: port 8006 is taken; a free port is used instead");
    }
    println!("pve-lab: PVE answers on {url}");
    println!("pve-lab: settings for clients: . {}", dir.join("env").display());
    Ok(())
}

fn spawn(options: &Options, dir: &Path, log: &Path) -> anyhow::Result<Child> {
    let output = File::create(log).with_context(|| format!("failed to write {}", log.display()))?;
    let mut command = Command::new(std::env::current_exe().context("where am I?")?);
    command.arg("serve").arg("--dir").arg(dir);
    if let Some(address) = options.listen {
        command.arg("--listen").arg(address.to_string());
    }
    let start = match options.start {
        StartName::Empty => "empty",
        StartName::Recordings => "recordings",
    };
    let version = match options.pve_version {
        VersionName::V9 => "9.2",
        VersionName::V8 => "8.4",
    };
    command.args(["--start", start, "--pve-version", version]);
    command.args(["--delays", &options.delays.to_string(), "--lag", &options.lag.to_string()]);
    if options.state_only {
        command.arg("--state-only");
    }
    if let Some(fleet) = options.fleet {
        command.args(["--fleet", &fleet.to_string()]);
    }
    if let Some(nodes) = options.nodes {
        command.args(["--nodes", &nodes.to_string()]);
    }
    if options.image_aside {
        command.arg("--image-aside");
    }
    if options.hostile {
        command.arg("--hostile");
    }
    command
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output)
        // a key pressed for the starter must not reach the lab
        .process_group(0)
        .spawn()
        .context("failed to start the lab")
}

/// What the lab has written to its log since about work that takes its time; whole lines only.
fn news<'a>(log: &'a str, told: &mut usize) -> Vec<&'a str> {
    let fresh = log.get(*told..).unwrap_or_default();
    let fresh = &fresh[..fresh.rfind('\n').map_or(0, |at| at + 1)];
    *told += fresh.len();
    fresh.lines().filter(|line| line.starts_with(BUILDING)).collect()
}

/// Waits until the lab has written its settings.
fn wait(dir: &Path, log: &Path, child: &mut Child) -> anyhow::Result<()> {
    let end = Instant::now() + PATIENCE;
    let mut told = 0;
    while Instant::now() < end {
        let text = fs::read_to_string(log).unwrap_or_default();
        for line in news(&text, &mut told) {
            eprintln!("{line}");
        }
        if let Some(status) = child.try_wait()? {
            let text = fs::read_to_string(log).unwrap_or_default();
            bail!("the lab ended with {status}:\n{}", text.trim_end());
        }
        if dir.join("env").exists() && owner(dir).is_some() {
            return Ok(());
        }
        std::thread::sleep(PAUSE);
    }
    bail!("the lab does not answer; see {}", log.display())
}

/// Says whether the lab runs.
pub(crate) fn status(dir: &Path) -> anyhow::Result<()> {
    match (owner(dir), url(dir)) {
        (Some(pid), Some(url)) => println!("pve-lab: runs on {url}, as process {pid}"),
        (Some(pid), None) => println!("pve-lab: is starting, as process {pid}"),
        (None, _) if dir.join("cluster.json").exists() => {
            println!("pve-lab: does not run; its state is in {}", dir.display());
        }
        (None, _) => bail!("there is no lab in {}", dir.display()),
    }
    Ok(())
}

fn end(pid: Pid) -> anyhow::Result<()> {
    for (signal, patience) in [(Signal::SIGTERM, 5), (Signal::SIGKILL, 5)] {
        match kill(pid, signal) {
            Err(Errno::ESRCH) => return Ok(()),
            other => other.with_context(|| format!("failed to end process {pid}"))?,
        }
        let end = Instant::now() + Duration::from_secs(patience);
        while Instant::now() < end {
            if !lives(pid) {
                return Ok(());
            }
            std::thread::sleep(PAUSE);
        }
    }
    bail!("process {pid} does not end")
}

/// Ends the lab and removes what it left.
pub(crate) fn down(dir: &Path) -> anyhow::Result<()> {
    let dir = files::absolute(dir)?;
    if let Some(pid) = owner(&dir) {
        end(pid)?;
    }
    // without root there cannot have been real guests
    if let Ok(guests) = RealGuests::open(&dir) {
        guests.down().map_err(|e| anyhow::anyhow!("failed to remove the guests: {e}"))?;
        pve_lab::image::clear_leftovers();
    }
    let ours = ["cluster.json", "lab.log", "pid"].iter().any(|name| dir.join(name).exists());
    if ours {
        fs::remove_dir_all(&dir).with_context(|| format!("failed to remove {}", dir.display()))?;
        println!("pve-lab: removed {}", dir.display());
    } else {
        println!("pve-lab: there is no lab in {}", dir.display());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::news;

    #[test]
    fn an_image_being_built_is_told_of_once_and_whole() {
        let line = "pve-lab: building the image debian-13 (first time)";
        let mut told = 0;
        for (log, wanted) in [
            (String::new(), vec![]),
            ("noise\npve-lab: buil".to_owned(), vec![]),
            (format!("noise\n{line}\nmore"), vec![line]),
            (format!("noise\n{line}\nmore\n"), vec![]),
        ] {
            assert_eq!(news(&log, &mut told), wanted, "{log}");
        }
    }
}
