//! Installs packages from a dated archive, and from nothing else.
//!
//! apt's sources, lists, caches and logs are all outside of the image for this: its own sources stay
//! as upstream has them, and nothing but the packages takes room in it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::chroot::{Chroot, OWN};
use super::room;
use super::spec::Snapshot;
use crate::program;

/// What an image says it is.
#[derive(Debug, PartialEq, Eq)]
struct Release {
    id: String,
    codename: String,
}

/// Installs packages.
pub(super) fn install(inside: &Chroot, packages: &[String], snapshot: &Snapshot) -> Result<()> {
    let release = fs::read_to_string(inside.root().join("usr/lib/os-release"))
        .context("the image does not say what release it is")?;
    let sources = sources(&release_of(&release)?, snapshot)?;
    fs::write(inside.own().join("sources.list"), sources)?;
    for name in ["none", "lists/partial", "cache/archives/partial", "log"] {
        fs::create_dir_all(inside.own().join(name))?;
    }
    let own = own_sources(inside.root())?;

    let mut update = apt(inside, "apt-get");
    update.args(["update", "--error-on=any"]);
    program::finish(&mut update)
        .with_context(|| format!("cannot read the archives of {}", snapshot.id))?;
    let wanted = packages.join(", ");
    let failed = || {
        format!(
            "cannot install {wanted} from {}; name what is in that archive, or a later snapshot",
            snapshot.id
        )
    };
    let mut foretell = apt(inside, "apt-get");
    foretell.args(["--simulate", "install"]).args(packages);
    let steps = program::finish(&mut foretell).with_context(failed)?;
    let new = to_unpack(&steps);
    if !new.is_empty() {
        let mut show = apt(inside, "apt-cache");
        show.args(["show", "--no-all-versions"]).args(&new);
        room::in_image(inside.root(), installed_size(&program::finish(&mut show)?))?;
    }
    let mut install = apt(inside, "apt-get");
    install.args(["--yes", "install"]).args(packages);
    program::finish(&mut install).with_context(failed)?;

    ensure!(
        own_sources(inside.root())? == own,
        "the packages change the image's sources of packages, which stay as upstream has them"
    );
    Ok(())
}

/// A command of apt that knows nothing of the image's own sources.
fn apt(inside: &Chroot, name: &str) -> Command {
    let mut command = inside.command(name);
    for (option, value) in [
        ("Dir::Etc::SourceList", format!("{OWN}/sources.list")),
        ("Dir::Etc::SourceParts", format!("{OWN}/none")),
        ("Dir::State::Lists", format!("{OWN}/lists")),
        ("Dir::Cache", format!("{OWN}/cache")),
        ("Dir::Log", format!("{OWN}/log")),
        // Packages indexes and nothing else
        ("Acquire::Languages", "none".to_owned()),
        ("Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled", "false".to_owned()),
        ("Acquire::Retries", "2".to_owned()),
        // its user has no way into our folder
        ("APT::Sandbox::User", "root".to_owned()),
        ("APT::Install-Recommends", "false".to_owned()),
        ("DPkg::Use-Pty", "false".to_owned()),
        ("Dpkg::Options::", "--force-confold".to_owned()),
    ] {
        command.arg("-o").arg(format!("{option}={value}"));
    }
    program::with_proxies(&mut command);
    command
}

fn release_of(text: &str) -> Result<Release> {
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        line.map(|value| value.trim_matches(['"', '\'']).to_owned()).unwrap_or_default()
    };
    let release = Release { id: value("ID"), codename: value("VERSION_CODENAME") };
    let plain = release.codename.chars().all(|c| c.is_ascii_alphanumeric());
    ensure!(plain && !release.codename.is_empty(), "the image does not name its release");
    Ok(release)
}

fn sources(release: &Release, snapshot: &Snapshot) -> Result<String> {
    let Release { id: system, codename } = release;
    let id = &snapshot.id;
    let given = |default: &str| {
        let mirror = snapshot.mirror.clone().unwrap_or_else(|| default.to_owned());
        mirror.trim_end_matches('/').to_owned()
    };
    let (keyring, components, suites) = match system.as_str() {
        "debian" => {
            let mirror = given("http://snapshot.debian.org/archive");
            let main = format!("{mirror}/debian/{id}");
            let security = format!("{mirror}/debian-security/{id}");
            let suites = [(&main, ""), (&main, "-updates"), (&security, "-security")]
                .map(|(archive, end)| (archive.clone(), end));
            ("debian-archive-keyring.gpg", "main", suites)
        }
        "ubuntu" => {
            let archive = format!("{}/ubuntu/{id}", given("http://snapshot.ubuntu.com"));
            let suites = ["", "-updates", "-security"].map(|end| (archive.clone(), end));
            ("ubuntu-archive-keyring.gpg", "main universe", suites)
        }
        other => bail!("packages can be installed into Debian and Ubuntu, not into '{other}'"),
    };
    // What is dated has expired; its signature holds all the same.
    let options = format!("check-valid-until=no signed-by=/usr/share/keyrings/{keyring}");
    let line = |(archive, end)| format!("deb [{options}] {archive} {codename}{end} {components}\n");
    Ok(suites.map(line).concat())
}

/// The packages that are about to be unpacked, as `name:architecture=version`.
fn to_unpack(steps: &str) -> Vec<String> {
    let package = |line: &str| {
        let (name, rest) = line.strip_prefix("Inst ")?.split_once(' ')?;
        let version = rest.split_once('(')?.1.split_whitespace().next()?;
        Some(format!("{name}={version}"))
    };
    steps.lines().filter_map(package).collect()
}

/// What packages take when they are installed, in bytes.
fn installed_size(shown: &str) -> u64 {
    let sizes = shown.lines().filter_map(|line| line.strip_prefix("Installed-Size: "));
    sizes.filter_map(|size| size.trim().parse::<u64>().ok()).sum::<u64>() * 1024
}

/// The image's own sources, byte for byte.
fn own_sources(root: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut found = BTreeMap::new();
    let etc = root.join("etc/apt");
    let parts = fs::read_dir(etc.join("sources.list.d")).into_iter().flatten().flatten();
    let paths = parts.map(|entry| entry.path()).chain([etc.join("sources.list")]);
    for path in paths.filter(|path| path.is_file()) {
        found.insert(path.to_string_lossy().into_owned(), fs::read(&path)?);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(mirror: Option<&str>) -> Snapshot {
        Snapshot { id: "20250601T000000Z".into(), mirror: mirror.map(Into::into) }
    }

    #[test]
    fn sources_are_those_of_the_date() {
        let debian = release_of("PRETTY_NAME=\"x\"\nID=debian\nVERSION_CODENAME=trixie\n").unwrap();
        let options =
            "check-valid-until=no signed-by=/usr/share/keyrings/debian-archive-keyring.gpg";
        assert_eq!(
            sources(&debian, &snapshot(Some("http://m.example/archive/"))).unwrap(),
            format!(
                "deb [{options}] http://m.example/archive/debian/20250601T000000Z trixie main\n\
                 deb [{options}] http://m.example/archive/debian/20250601T000000Z trixie-updates main\n\
                 deb [{options}] http://m.example/archive/debian-security/20250601T000000Z trixie-security main\n"
            )
        );
        let ubuntu = release_of("ID='ubuntu'\nVERSION_CODENAME=\"noble\"\n").unwrap();
        let text = sources(&ubuntu, &snapshot(None)).unwrap();
        let last = text.lines().last().unwrap();
        assert_eq!(
            last,
            "deb [check-valid-until=no signed-by=/usr/share/keyrings/ubuntu-archive-keyring.gpg] \
             http://snapshot.ubuntu.com/ubuntu/20250601T000000Z noble-security main universe"
        );
        let other = release_of("ID=fedora\nVERSION_CODENAME=x\n").unwrap();
        assert_eq!(
            sources(&other, &snapshot(None)).unwrap_err().to_string(),
            "packages can be installed into Debian and Ubuntu, not into 'fedora'"
        );
        let said = release_of("ID=debian\n").unwrap_err().to_string();
        assert_eq!(said, "the image does not name its release");
    }

    #[test]
    fn what_apt_foretells_is_understood() {
        let steps = "Reading package lists...\n\
                     Inst liburing2 (2.9-1 Debian:13.1/stable [amd64])\n\
                     Inst demo [1.0] (2.0 Debian:12/stable [all]) []\n\
                     Conf demo (2.0 Debian:12/stable [all])\n";
        assert_eq!(to_unpack(steps), ["liburing2=2.9-1", "demo=2.0"]);
        assert_eq!(
            installed_size("Package: a\nInstalled-Size: 12\n\nInstalled-Size: 30\n"),
            43_008
        );
    }
}
