//! The lab's own authorities: a CA for its https servers and a key for its package archives.
//!
//! They live in the cache beside the images, because the images trust them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

use super::cache;
use crate::guests::host;

/// The names that the lab's package server answers to inside the lab.
pub const SERVER_NAMES: [&str; 6] = [
    "deb.debian.org",
    "security.debian.org",
    "snapshot.debian.org",
    "archive.ubuntu.com",
    "security.ubuntu.com",
    "snapshot.ubuntu.com",
];

/// The authorities' files.
#[derive(Debug, Clone)]
pub struct Trust {
    directory: PathBuf,
}

impl Trust {
    /// The authorities of this cache, made now if there are none.
    pub fn ensure() -> Result<Self> {
        let name = format!("trust-{}", cache::key(&SERVER_NAMES));
        let directory = cache::entry(&name, |path| {
            fs::create_dir_all(path)?;
            certificates(path).context("cannot make the lab's certificates")?;
            let home = GpgHome::new()?;
            signing_key(&home, path).context("cannot make the lab's signing key")
        })?;
        Ok(Self { directory })
    }

    /// The CA's certificate, PEM.
    pub fn ca(&self) -> PathBuf {
        self.directory.join("ca.pem")
    }

    /// The package server's certificate, PEM.
    pub fn server_certificate(&self) -> PathBuf {
        self.directory.join("server.pem")
    }

    /// The package server's key, PEM.
    pub fn server_key(&self) -> PathBuf {
        self.directory.join("server.key")
    }

    /// The public key that signs the lab's archives, as a binary keyring.
    pub fn keyring(&self) -> PathBuf {
        self.directory.join("archive.gpg")
    }

    /// A text that changes with the authorities.
    pub(crate) fn identity(&self) -> Result<String> {
        let ca = fs::read_to_string(self.ca())?;
        Ok(format!("{ca}{:02x?}", fs::read(self.keyring())?))
    }

    /// A gpg that signs with a key that nobody knows.
    pub(crate) fn foreign_signer() -> Result<GpgHome> {
        let home = GpgHome::new()?;
        make_key(&home, "Somebody else <nobody@ferrite.invalid>")?;
        Ok(home)
    }

    /// A gpg that can sign with the archives' key, until it is dropped.
    pub(crate) fn signer(&self) -> Result<GpgHome> {
        let home = GpgHome::new()?;
        host::finish(home.gpg().arg("--import").arg(self.directory.join("archive.key")))?;
        Ok(home)
    }
}

/// A directory of its own for gpg and the agent it starts.
///
/// It is not in the cache: the agent's socket has at most 107 characters, and a cache may lie deep.
pub(crate) struct GpgHome(PathBuf);

impl GpgHome {
    fn new() -> Result<Self> {
        let made = host::run("mktemp", ["-d", "-t", "ferrite-gpg-XXXXXXXX"])?;
        Ok(Self(PathBuf::from(made.trim())))
    }

    /// A gpg command that asks nothing.
    pub(crate) fn gpg(&self) -> Command {
        let mut command = host::command("gpg");
        command.args(["--batch", "--quiet", "--yes", "--homedir"]).arg(&self.0);
        command
    }
}

impl Drop for GpgHome {
    fn drop(&mut self) {
        // The agent would stay behind as a process without a home.
        let _ = host::output(
            host::command("gpgconf").arg("--homedir").arg(&self.0).args(["--kill", "all"]),
        );
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn make_key(home: &GpgHome, user: &str) -> Result<()> {
    let arguments = ["--passphrase", "", "--quick-gen-key", user, "ed25519", "sign", "never"];
    host::finish(home.gpg().args(arguments))?;
    Ok(())
}

fn signing_key(home: &GpgHome, directory: &Path) -> Result<()> {
    make_key(home, "Ferrite lab archive <lab@ferrite.invalid>")?;
    host::finish(home.gpg().arg("--output").arg(directory.join("archive.gpg")).arg("--export"))?;
    host::finish(
        home.gpg().arg("--output").arg(directory.join("archive.key")).arg("--export-secret-keys"),
    )?;
    private(&directory.join("archive.key"))
}

fn certificates(directory: &Path) -> Result<()> {
    let mut ca = CertificateParams::default();
    ca.distinguished_name.push(DnType::CommonName, "Ferrite lab CA");
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    ca.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let ca_key = KeyPair::generate()?;
    let ca_certificate = ca.self_signed(&ca_key)?;
    fs::write(directory.join("ca.pem"), ca_certificate.pem())?;

    let names: Vec<String> = SERVER_NAMES.iter().map(ToString::to_string).collect();
    let mut server = CertificateParams::new(names)?;
    server.distinguished_name.push(DnType::CommonName, "Ferrite lab package server");
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let server_key = KeyPair::generate()?;
    let certificate = server.signed_by(&server_key, &Issuer::new(ca, ca_key))?;
    fs::write(directory.join("server.pem"), certificate.pem())?;
    fs::write(directory.join("server.key"), server_key.serialize_pem())?;
    private(&directory.join("server.key"))
}

fn private(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))
        .with_context(|| format!("cannot protect {}", path.display()))
}
