//! Control groups as handles on processes: what is born in one dies with it.
//!
//! A guest's systemd outlives the nspawn that started it, whatever signal ends that, so a guest is
//! ended through its group only. A group that was killed is never used again: the kernel kills
//! what is started in it later, too (seen on 6.18).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::host;

/// How long the kernel may take to end all processes of a group.
const KILL_LIMIT: Duration = Duration::from_secs(20);

/// What the kernel says about a group that is no more: before and after its file is opened.
const ABSENT: i32 = nix::errno::Errno::ENOENT as i32;
const GONE: i32 = nix::errno::Errno::ENODEV as i32;

/// Starts what follows in the group, and leaves its exit status in a file for whoever is there to
/// read it.
const ENTER: &str = r#"echo $$ >"$1/cgroup.procs" || exit 1
shift; exit_file=$1; shift
"$@"; rc=$?
[ -z "$exit_file" ] || echo $rc >"$exit_file"
exit $rc"#;

/// One group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cgroup(PathBuf);

/// Where version 2 of the hierarchy is mounted.
pub(crate) fn root() -> Result<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").context("cannot read the mounts")?;
    mounted_at(&mounts).context("no cgroup2 hierarchy is mounted")
}

fn mounted_at(mountinfo: &str) -> Option<PathBuf> {
    mountinfo.lines().find_map(|line| {
        let (mount, source) = line.split_once(" - ")?;
        (source.split(' ').next() == Some("cgroup2"))
            .then(|| mount.split(' ').nth(4).map(PathBuf::from))?
    })
}

impl Cgroup {
    /// The top group of a lab; it need not exist.
    pub(crate) fn top(name: &str) -> Result<Self> {
        Ok(Self(root()?.join(name)))
    }

    /// A group below this one.
    pub(crate) fn child(&self, name: &str) -> Self {
        Self(self.0.join(name))
    }

    /// The group where another mount of the hierarchy shows it.
    pub(crate) fn seen_at(&self, here: &Path, there: &Path) -> Self {
        match self.0.strip_prefix(here) {
            Ok(relative) => Self(there.join(relative)),
            Err(_) => self.clone(),
        }
    }

    /// Kills everything in the group.
    pub(crate) fn kill(&self) -> Result<()> {
        match fs::write(self.0.join("cgroup.kill"), "1") {
            // Somebody else was faster and has removed it.
            Err(e) if !matches!(e.raw_os_error(), Some(GONE | ABSENT)) => {
                Err(e).with_context(|| format!("cannot kill {}", self.0.display()))
            }
            _ => Ok(()),
        }
    }

    /// Makes the group anew.
    pub(crate) fn create(&self) -> Result<()> {
        self.remove()?;
        fs::create_dir_all(&self.0).with_context(|| format!("cannot make {}", self.0.display()))
    }

    /// A command that runs in the group, with its exit status written to a file if one is given.
    pub(crate) fn command(&self, program: &str, exit_file: Option<&Path>) -> Command {
        let mut command = host::command("sh");
        command
            .args(["-c", ENTER, "sh"])
            .arg(&self.0)
            .arg(exit_file.unwrap_or(Path::new("")))
            .arg(program);
        command
    }

    /// Whether any process is in the group or below it.
    pub(crate) fn populated(&self) -> bool {
        fs::read_to_string(self.0.join("cgroup.events"))
            .is_ok_and(|text| text.lines().any(|l| l == "populated 1"))
    }

    /// The processes directly in the group.
    pub(crate) fn pids(&self) -> Vec<u32> {
        fs::read_to_string(self.0.join("cgroup.procs"))
            .map(|text| text.lines().filter_map(|l| l.parse().ok()).collect())
            .unwrap_or_default()
    }

    /// Freezes or thaws everything in the group.
    pub(crate) fn freeze(&self, frozen: bool) -> Result<()> {
        fs::write(self.0.join("cgroup.freeze"), if frozen { "1" } else { "0" })
            .with_context(|| format!("cannot freeze or thaw {}", self.0.display()))
    }

    /// Kills everything in the group and removes it.
    pub(crate) fn remove(&self) -> Result<()> {
        if !self.0.exists() {
            return Ok(());
        }
        self.kill()?;
        let deadline = Instant::now() + KILL_LIMIT;
        loop {
            // A zombie keeps a group busy for a moment after it counts as empty.
            if !self.populated() && (remove_tree(&self.0).is_ok() || !self.0.exists()) {
                return Ok(());
            }
            if Instant::now() > deadline {
                bail!("processes in {} do not end", self.0.display());
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Groups are removed from the leaves up; their files are not files one could delete.
fn remove_tree(path: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(path)?.flatten() {
        if entry.file_type().is_ok_and(|t| t.is_dir()) {
            remove_tree(&entry.path())?;
        }
    }
    fs::remove_dir(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_second_hierarchy() {
        let rows = [
            (
                "pure",
                "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n",
                Some("/sys/fs/cgroup"),
            ),
            (
                "hybrid",
                "31 24 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                 32 24 0:28 / /sys/fs/cgroup/unified rw - cgroup2 none rw\n",
                Some("/sys/fs/cgroup/unified"),
            ),
            ("none", "31 24 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw\n", None),
        ];
        for (name, text, expected) in rows {
            assert_eq!(mounted_at(text), expected.map(PathBuf::from), "{name}");
        }
    }
}
