//! What a lab leaves in its directory for clients.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use pve_lab::Lab;

/// A path that holds wherever a client's working directory is.
pub(crate) fn absolute(path: &Path) -> anyhow::Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("{} is no path", path.display()))
}

fn put(path: &Path, mode: u32, text: &str) -> anyhow::Result<()> {
    let beside = path.with_extension("new");
    let written = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(mode)
        .open(&beside)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .and_then(|()| fs::rename(&beside, path));
    written.with_context(|| format!("failed to write {}", path.display()))
}

/// Writes the certificate, the token and the settings; `env` comes last, so that whoever sees it
/// finds the others.
pub(crate) fn write(lab: &Lab, dir: &Path) -> anyhow::Result<()> {
    let (id, secret) = lab.token();
    let (user, name) = id.split_once('!').unwrap_or((&id, ""));
    let ca = dir.join("ca.pem");
    let secret_file = dir.join("token-secret");
    let (port, fingerprint) = (lab.port(), lab.fingerprint());
    put(&ca, 0o644, lab.ca_pem())?;
    put(&secret_file, 0o600, &format!("{secret}\n"))?;
    put(
        &dir.join("pve_inventory.cfg"),
        0o644,
        &format!(
            "host: 127.0.0.1\nport: {port}\nuser: {user}\ntoken_id: {name}\n\
             token_secret_file: {}\nca_path: {}\nfingerprint: \"{fingerprint}\"\n\
             validate_certs: true\n",
            secret_file.display(),
            ca.display()
        ),
    )?;
    put(
        &dir.join("env"),
        0o600,
        &format!(
            "export PROXMOX_HOST=127.0.0.1\nexport PROXMOX_PORT={port}\n\
             export PROXMOX_USER={user}\nexport PROXMOX_TOKEN_ID={name}\n\
             export PROXMOX_TOKEN_SECRET={secret}\nexport PROXMOX_VALIDATE_CERTS=true\n\
             export PROXMOX_CA_PATH='{}'\nexport PROXMOX_FINGERPRINT={fingerprint}\n",
            ca.display()
        ),
    )
}
