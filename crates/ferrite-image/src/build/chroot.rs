//! The inside of an image while it is being changed.
//!
//! What programs in it need besides its files is mounted over them, and so never in the image:
//! devices, `/run`, `/tmp`, name servers, and a policy by which no service is started. All of it is
//! in a name space of our own, with which it vanishes.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use nix::mount::{MntFlags, MsFlags, mount, umount2};

use crate::program;

/// Where the build's own folder is seen from the inside.
pub(super) const OWN: &str = "/run/ferrite-image";

/// The name servers that are lent, in the build's own folder.
const SERVERS: &str = "resolv.conf";

const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];
const NONE: Option<&str> = None;

/// An image's tree that programs can be run in, until [`Chroot::leave`].
pub(super) struct Chroot {
    root: PathBuf,
    own: PathBuf,
    mounted: Vec<PathBuf>,
    made: Vec<PathBuf>,
}

impl Chroot {
    /// Prepares a tree. `own` is the folder that is seen as [`OWN`].
    pub(super) fn enter(root: &Path, own: &Path) -> Result<Self> {
        for name in ["dev", "etc", "proc", "run", "sys", "tmp", "usr", "var"] {
            // A link here could lead out of the image.
            let found = fs::symlink_metadata(root.join(name));
            if !found.is_ok_and(|found| found.is_dir()) {
                bail!("the image has no folder /{name}: it is not the root of a system");
            }
        }
        fs::create_dir_all(own)?;
        let mut inside = Self {
            root: root.to_owned(),
            own: own.to_owned(),
            mounted: Vec::new(),
            made: Vec::new(),
        };
        for name in ["run", "tmp", "dev"] {
            inside.mount_tmpfs(name)?;
        }
        for name in DEVICES {
            let node = root.join("dev").join(name);
            File::create(&node)?;
            inside.bind(&Path::new("/dev").join(name), &node)?;
        }
        for (name, target) in [("fd", "/proc/self/fd"), ("stdout", "fd/1"), ("stderr", "fd/2")] {
            symlink(target, root.join("dev").join(name))?;
        }
        let seen = root.join(OWN.trim_start_matches('/'));
        fs::create_dir(&seen)?;
        inside.bind(own, &seen)?;
        inside.forbid_services().context("cannot keep services from starting")?;
        inside.lend_name_servers().context("cannot lend the image name servers")?;
        Ok(inside)
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The folder that is seen as [`OWN`].
    pub(super) fn own(&self) -> &Path {
        &self.own
    }

    /// A command on the inside.
    pub(super) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = program::bound(self.root.join("proc").as_os_str());
        command.arg("chroot").arg(&self.root).arg(program);
        command.env("DEBIAN_FRONTEND", "noninteractive").current_dir("/");
        command
    }

    /// Takes away all that was mounted and made.
    pub(super) fn leave(mut self) -> Result<()> {
        while let Some(place) = self.mounted.pop() {
            umount2(&place, MntFlags::empty())
                .with_context(|| format!("cannot unmount {}", place.display()))?;
        }
        for file in &self.made {
            fs::remove_file(file)?;
        }
        let servers = self.root.join("etc/resolv.conf");
        if fs::read_link(&servers).is_ok_and(|target| target.starts_with(OWN)) {
            fs::remove_file(servers)?;
        }
        Ok(())
    }

    fn mount_tmpfs(&mut self, name: &str) -> Result<()> {
        let place = self.root.join(name);
        let mode = if name == "tmp" { "mode=1777" } else { "mode=0755" };
        mount(Some("tmpfs"), &place, Some("tmpfs"), MsFlags::MS_NOSUID, Some(mode))
            .with_context(|| format!("cannot mount {}", place.display()))?;
        self.mounted.push(place);
        Ok(())
    }

    fn bind(&mut self, source: &Path, place: &Path) -> Result<()> {
        mount(Some(source), place, NONE, MsFlags::MS_BIND, NONE)
            .with_context(|| format!("cannot bind {}", place.display()))?;
        self.mounted.push(place.to_owned());
        Ok(())
    }

    /// Binds a file of ours over one of the image, which is made for that if it is not there.
    fn bind_over(&mut self, source: &Path, place: &Path) -> Result<()> {
        match File::create_new(place) {
            Ok(_) => self.made.push(place.to_owned()),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error.into()),
        }
        self.bind(source, place)
    }

    fn forbid_services(&mut self) -> Result<()> {
        use std::os::unix::fs::PermissionsExt;
        let policy = self.own.join("policy-rc.d");
        fs::write(&policy, "#!/bin/sh\nexit 101\n")?;
        fs::set_permissions(&policy, fs::Permissions::from_mode(0o755))?;
        self.bind_over(&policy, &self.root.join("usr/sbin/policy-rc.d"))
    }

    fn lend_name_servers(&mut self) -> Result<()> {
        let Ok(servers) = fs::read("/etc/resolv.conf") else { return Ok(()) };
        let place = self.root.join("etc/resolv.conf");
        if let Ok(target) = fs::read_link(&place) {
            // Mostly it leads to what systemd-resolved would write, and /run is ours for now.
            if let Some(target) = below_run(&target) {
                let target = self.root.join("run").join(target);
                fs::create_dir_all(target.parent().unwrap_or(&self.root))?;
                fs::write(target, servers)?;
            }
            return Ok(());
        }
        let lent = self.own.join(SERVERS);
        fs::write(&lent, servers)?;
        if place.exists() {
            return self.bind(&lent, &place);
        }
        // A link instead of a mount: the image may get a file of its own in this place.
        Ok(symlink(Path::new(OWN).join(SERVERS), &place)?)
    }
}

/// What is below `/run` of the path that a link in `/etc` leads to.
fn below_run(target: &Path) -> Option<PathBuf> {
    let mut whole = PathBuf::from("/etc");
    for part in target.components() {
        match part {
            Component::RootDir => whole = PathBuf::from("/"),
            Component::ParentDir => {
                whole.pop();
            }
            Component::Normal(name) => whole.push(name),
            _ => {}
        }
    }
    whole.strip_prefix("/run").ok().map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_name_servers_are_followed_inside_the_image() {
        for (target, expected) in [
            ("../run/systemd/resolve/stub-resolv.conf", Some("systemd/resolve/stub-resolv.conf")),
            ("/run/resolvconf/resolv.conf", Some("resolvconf/resolv.conf")),
            ("../../../../run/x", Some("x")),
            ("/etc/other", None),
            ("other", None),
        ] {
            let expected = expected.map(PathBuf::from);
            assert_eq!(below_run(Path::new(target)), expected, "{target}");
        }
    }
}
