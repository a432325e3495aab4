//! What must not be in an image that many guests are made from: the identity and the traces of the
//! one system it was built in.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result, bail};

/// Files and folders that are removed.
const TRACES: [&str; 9] = [
    "var/lib/systemd/random-seed",
    "var/lib/systemd/credential.secret",
    "var/lib/dhcp/dhclient.leases",
    "var/cache/debconf/config.dat-old",
    "var/cache/debconf/templates.dat-old",
    "var/lib/dpkg/status-old",
    "var/lib/dpkg/diversions-old",
    "var/cache/ldconfig/aux-cache",
    "root/.bash_history",
];

/// Folders that are emptied, and stay.
const EMPTIED: [&str; 5] =
    ["var/lib/apt/lists", "var/cache/apt", "var/tmp", "var/lib/cloud", "var/crash"];

/// Logs that are emptied, and stay: programs want to find them.
const KEPT_LOGS: [&str; 3] = ["wtmp", "btmp", "lastlog"];

/// Takes identity and traces out of a tree.
pub(super) fn generalise(root: &Path) -> Result<()> {
    keys(&root.join("etc/ssh"))?;
    machine_id(&root.join("etc/machine-id"))?;
    let bus = root.join("var/lib/dbus/machine-id");
    if is_file(&bus) {
        // a link to the one in /etc stays
        remove(&bus)?;
    }
    for name in TRACES {
        remove(&root.join(name))?;
    }
    for name in EMPTIED {
        empty(&root.join(name))?;
    }
    logs(&root.join("var/log"))
}

/// Looks whether the guest agent is there and will be started: its unit has no `[Install]`, so only
/// its rule for udev does that.
pub(super) fn require_agent(root: &Path) -> Result<()> {
    if !is_file(&root.join("usr/sbin/qemu-ga")) {
        bail!("the image has no guest agent; add qemu-guest-agent to its packages");
    }
    let masks = ["etc/systemd/system/qemu-guest-agent.service"];
    if masks.iter().any(|name| fs::symlink_metadata(root.join(name)).is_ok()) {
        bail!("the image replaces or masks qemu-guest-agent.service in /etc/systemd/system");
    }
    let rules = ["usr/lib/udev/rules.d", "lib/udev/rules.d"];
    let starts = |path: &Path| {
        let text = fs::read_to_string(path).unwrap_or_default();
        text.contains("org.qemu.guest_agent.0") && text.contains("qemu-guest-agent")
    };
    let found = rules.iter().any(|name| {
        let entries = fs::read_dir(root.join(name)).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).any(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let overridden =
                fs::symlink_metadata(root.join("etc/udev/rules.d").join(&name)).is_ok();
            name.contains("qemu-guest-agent") && !overridden && starts(&path)
        })
    });
    if !found {
        bail!(
            "the image has no udev rule that starts qemu-guest-agent for org.qemu.guest_agent.0, \
             and its unit has no [Install]: the agent would never run"
        );
    }
    Ok(())
}

/// The hosts' keys are made on each guest's first boot.
fn keys(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with("ssh_host_") {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

/// An identity is taken out; "none yet" in either of its forms stays as it is.
fn machine_id(path: &Path) -> Result<()> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error).context("cannot read the image's machine-id"),
    };
    if text.trim() == "uninitialized" && is_file(path) {
        return Ok(());
    }
    remove(path)?;
    fs::write(path, "").context("cannot empty the image's machine-id")
}

fn logs(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, kind) = (entry.path(), entry.file_type()?);
        if kind.is_dir() {
            logs(&path)?;
        } else if kind.is_file() && KEPT_LOGS.iter().any(|name| entry.file_name() == **name) {
            fs::OpenOptions::new().write(true).truncate(true).open(&path)?;
        } else if kind.is_file() {
            remove(&path)?;
        }
    }
    Ok(())
}

fn empty(folder: &Path) -> Result<()> {
    if !fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir()) {
        return Ok(());
    }
    for entry in fs::read_dir(folder)?.flatten() {
        remove(&entry.path())?;
    }
    Ok(())
}

fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_file())
}

fn remove(path: &Path) -> Result<()> {
    let is_folder = fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    let removed = if is_folder { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn identity_and_traces_are_taken_out() {
        let root = tree(&[
            ("etc/machine-id", "0123456789abcdef0123456789abcdef\n"),
            ("etc/ssh/ssh_host_ed25519_key", "secret"),
            ("etc/ssh/sshd_config", "kept"),
            ("var/lib/dbus/machine-id", "0123456789abcdef0123456789abcdef\n"),
            ("var/lib/apt/lists/x_Packages", "x"),
            ("var/cache/apt/pkgcache.bin", "x"),
            ("var/lib/cloud/instance/id", "x"),
            ("var/lib/systemd/random-seed", "x"),
            ("var/log/dpkg.log", "x"),
            ("var/log/apt/term.log", "x"),
            ("var/log/wtmp", "x"),
            ("root/.bash_history", "x"),
            ("root/.profile", "kept"),
        ]);
        generalise(root.path()).unwrap();
        let mut left = Vec::new();
        let mut folders = vec![root.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().flatten() {
                if entry.path().is_dir() {
                    folders.push(entry.path());
                } else {
                    let text = fs::read_to_string(entry.path()).unwrap();
                    let path = entry.path().strip_prefix(root.path()).unwrap().to_owned();
                    left.push(format!("{} {text}", path.display()));
                }
            }
        }
        left.sort();
        assert_eq!(
            left,
            ["etc/machine-id ", "etc/ssh/sshd_config kept", "root/.profile kept", "var/log/wtmp "]
        );
        assert!(root.path().join("var/lib/apt/lists").is_dir());
    }

    #[test]
    fn a_machine_id_never_reaches_another_file() {
        let outside = tempfile::NamedTempFile::new().unwrap();
        fs::write(outside.path(), "host").unwrap();
        let root = tree(&[("etc/x", "")]);
        symlink(outside.path(), root.path().join("etc/machine-id")).unwrap();
        generalise(root.path()).unwrap();
        assert_eq!(fs::read_to_string(outside.path()).unwrap(), "host");
        assert!(is_file(&root.path().join("etc/machine-id")));

        let root = tree(&[("etc/machine-id", "uninitialized\n")]);
        generalise(root.path()).unwrap();
        let text = fs::read_to_string(root.path().join("etc/machine-id")).unwrap();
        assert_eq!(text, "uninitialized\n");
    }

    #[test]
    fn an_agent_that_would_not_start_is_told() {
        const RULE: &str = "ATTR{name}==\"org.qemu.guest_agent.0\", ENV{SYSTEMD_WANTS}=\"qemu-guest-agent.service\"\n";
        const RULES: &str = "usr/lib/udev/rules.d/60-qemu-guest-agent.rules";
        const GA: (&str, &str) = ("usr/sbin/qemu-ga", "");
        const NO_RULE: &str = "the image has no udev rule that starts qemu-guest-agent for \
            org.qemu.guest_agent.0, and its unit has no [Install]: the agent would never run";
        type Row = (&'static str, &'static [(&'static str, &'static str)], &'static str);
        let rows: [Row; 6] = [
            ("there", &[GA, (RULES, RULE)], "fine"),
            (
                "none",
                &[("etc/x", "")],
                "the image has no guest agent; add qemu-guest-agent to its packages",
            ),
            ("no rule", &[GA], NO_RULE),
            ("another rule", &[GA, (RULES, "x")], NO_RULE),
            (
                "overridden",
                &[GA, (RULES, RULE), ("etc/udev/rules.d/60-qemu-guest-agent.rules", "")],
                NO_RULE,
            ),
            (
                "masked",
                &[GA, (RULES, RULE), ("etc/systemd/system/qemu-guest-agent.service", "")],
                "the image replaces or masks qemu-guest-agent.service in /etc/systemd/system",
            ),
        ];
        for (name, files, expected) in rows {
            let root = tree(files);
            let said =
                require_agent(root.path()).map_or_else(|e| e.to_string(), |()| "fine".to_owned());
            assert_eq!(said, expected, "{name}");
        }
    }
}
