//! What the lab's images are made of; `ferrite-image` makes them, in about half a minute.

use std::fs;
use std::path::Path;

use anyhow::Result;
use ferrite_image::build::{self, Content, Source, Spec};

use super::mirror;
use super::trust::Trust;
use super::{Image, Suite};

/// In every image. There is no netplan: it matches cards by their permanent MAC, which the lab's
/// cards, being veths, do not have, and cloud-init writes networkd's own files without it.
const PACKAGES: [&str; 14] = [
    "systemd",
    "systemd-sysv",
    "systemd-resolved",
    "dbus",
    "udev",
    "openssh-server",
    "iproute2",
    "ca-certificates",
    "sudo",
    "qemu-guest-agent",
    "e2fsprogs",
    "libpam-systemd",
    "dbus-user-session",
    "tzdata",
];

/// In images with cloud-init.
const CLOUD_PACKAGES: [&str; 3] = ["cloud-init", "cloud-guest-utils", "python3-minimal"];

/// For images without cloud-init: on a first boot systemd enables all units but these, and a
/// socket in front of sshd is not what Debian's images have.
const PRESET: &str = "disable ssh.socket\n";

/// The size of the disk in an image, as upstream's.
const SIZE: &str = "3G";

/// Where the archives' key is while an image is built.
const KEY: &str = "/run/ferrite-lab.gpg";

/// What an image is made of, for its name in the cache.
pub(super) fn recipe(image: Image, trust: &Trust) -> Result<String> {
    // A mirror is where packages come from, not which.
    Ok(format!("{} {:?}", build::RECIPE, spec(image, trust, None)?))
}

/// Builds an image.
pub(super) fn image(image: Image, trust: &Trust, target: &Path) -> Result<()> {
    build::build(&spec(image, trust, mirror::of_host())?, target, |_| {})?;
    fs::remove_file(build::manifest_path(target))?;
    Ok(())
}

/// Removes what a build that was killed left beside an image that was to be made.
pub(super) fn clear(target: &Path) -> Result<()> {
    build::clear(target)
}

/// Debian's packages as they are, with what makes a system of them the root of any guest here.
fn spec(image: Image, trust: &Trust, mirror: Option<String>) -> Result<Spec> {
    let mut packages: Vec<String> = PACKAGES.map(str::to_owned).to_vec();
    let sources = sources(image.suite);
    // The root is mounted before systemd starts: remounting what fstab says would fail the boot.
    let mut files = vec![
        text("/etc/fstab", ""),
        text("/etc/apt/sources.list.d/debian.sources", &sources),
        text("/usr/local/share/ca-certificates/ferrite-lab.crt", &fs::read_to_string(trust.ca())?),
        Content { path: KEY.to_owned(), content: None, source: Some(trust.keyring()), mode: None },
    ];
    let mut commands = vec![
        "rm -f /etc/apt/sources.list".to_owned(),
        "ln -sf ../run/systemd/resolve/stub-resolv.conf /etc/resolv.conf".to_owned(),
        // The lab's package server stands where Debian's does, so its key joins Debian's keys.
        format!("cat {KEY} >>/usr/share/keyrings/debian-archive-keyring.gpg"),
        "update-ca-certificates".to_owned(),
        "systemctl enable systemd-networkd systemd-resolved".to_owned(),
    ];
    if image.cloud_init {
        packages.extend(CLOUD_PACKAGES.map(str::to_owned));
        // bookworm's cloud-init fails over a locale that is not generated.
        let settings = "apt:\n  preserve_sources_list: true\nlocale: C.UTF-8\n";
        files.push(text("/etc/cloud/cloud.cfg.d/01_debian_cloud.cfg", settings));
    } else {
        files.push(text("/etc/systemd/system-preset/10-lab.preset", PRESET));
        if image.suite == Suite::Trixie {
            // Without cloud-init the host keys are made by a unit that wants to see a first boot.
            // bookworm has no such unit, and gets them with its other files.
            commands.push("echo uninitialized >/etc/machine-id".to_owned());
        }
    }
    Ok(Spec {
        name: image.file_name().trim_end_matches(".qcow2").to_owned(),
        source: Source {
            suite: Some(image.suite.as_str().to_owned()),
            mirror,
            ..Source::default()
        },
        packages,
        snapshot: None,
        disk: Some(SIZE.to_owned()),
        files,
        commands,
    })
}

fn text(path: &str, content: &str) -> Content {
    Content { path: path.to_owned(), content: Some(content.to_owned()), source: None, mode: None }
}

/// The sources of upstream's image.
fn sources(suite: Suite) -> String {
    let suite = suite.as_str();
    let keyring = "/usr/share/keyrings/debian-archive-keyring.gpg";
    format!(
        "Types: deb\nURIs: http://deb.debian.org/debian\nSuites: {suite} {suite}-updates\n\
         Components: main\nSigned-By: {keyring}\n\n\
         Types: deb\nURIs: http://deb.debian.org/debian-security\nSuites: {suite}-security\n\
         Components: main\nSigned-By: {keyring}\n"
    )
}
