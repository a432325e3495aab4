//! The states a lab may begin in.

use std::fs;
use std::path::Path;

use indexmap::IndexMap;

use crate::driver::{GuestDriver, StateOnly, VolumeFormat};
use crate::lab::{Start, TOKEN_ID};
use crate::random;
use crate::state::access::{Access, Grant, Token, User};
use crate::state::storage::Storage;
use crate::state::{Cluster, Node, State};

/// All content types, in the order PVE's example lists them.
const CONTENT: &[&str] = &["rootdir", "iso", "vztmpl", "images", "snippets", "backup", "import"];

/// A node with these bridges.
pub(crate) fn node(name: &str, number: usize, bridges: &[&str]) -> Node {
    Node {
        name: name.to_owned(),
        address: format!("10.0.99.{number}"),
        offline: false,
        bridges: bridges.iter().map(|bridge| (*bridge).to_owned()).collect(),
    }
}

/// A storage below the lab's directory.
pub(crate) fn storage(dir: &Path, id: &str, path: &str, content: &[&str]) -> Storage {
    Storage {
        id: id.to_owned(),
        path: path.to_owned(),
        root: dir.join("storage").join(id),
        content: content.iter().map(|content| (*content).to_owned()).collect(),
        disabled: false,
        shared: false,
        nodes: Vec::new(),
        free: None,
        separate: false,
        corner: None,
    }
}

fn user(password: Option<&str>, tokens: &[(&str, &str, bool)]) -> User {
    let mut user = User { password: password.map(str::to_owned), ..User::default() };
    for (name, secret, privsep) in tokens {
        user.tokens.insert(
            (*name).to_owned(),
            Token { secret: (*secret).to_owned(), privsep: *privsep, expire: 0, comment: None },
        );
    }
    user
}

fn grant(who: &str, path: &str, role: &str) -> Grant {
    Grant {
        path: path.to_owned(),
        kind: "user".to_owned(),
        who: who.to_owned(),
        role: role.to_owned(),
        propagate: true,
    }
}

/// A new state.
pub(crate) fn state(dir: &Path, start: Start, count: u32) -> anyhow::Result<State> {
    let recordings = start == Start::Recordings;
    let mut storages = IndexMap::new();
    storages.insert("local".to_owned(), storage(dir, "local", "/var/lib/vz", CONTENT));
    let mut access = Access::default();
    if recordings {
        storages.insert("isoonly".to_owned(), storage(dir, "isoonly", "/var/lib/vz2", &["iso"]));
        recorded_access(&mut access);
    } else {
        access.users.insert("root@pam".to_owned(), user(Some(&random::uuid()), &[]));
    }
    let secret = random::uuid();
    if !recordings {
        let (name, token) = TOKEN_ID.split_once('!').unwrap_or((TOKEN_ID, "ferrite"));
        access.users.insert(name.to_owned(), user(None, &[(token, &secret, false)]));
        access.acl.push(grant(name, "/", "Administrator"));
    }
    let mut nodes = IndexMap::new();
    for number in 1..=count.max(1) {
        let name = format!("pve{number}");
        nodes.insert(name.clone(), node(&name, number as usize, &["vmbr0", "vmbr1"]));
    }
    let cluster =
        Cluster { nodes, storages, access, ticket_key: random::uuid(), ..Cluster::default() };
    for storage in cluster.storages.values() {
        for folder in ["images", "import", "template/iso", "template/cache", "snippets", "dump"] {
            fs::create_dir_all(storage.root.join(folder))?;
        }
    }
    if recordings {
        recorded_files(&dir.join("storage/local"))?;
    } else {
        sample_files(&dir.join("storage/local"))?;
    }
    let state = State { dir: dir.to_owned(), cluster, ..State::default() };
    state.save_cluster();
    Ok(state)
}

fn recorded_access(access: &mut Access) {
    let secret = |last: &str| format!("00000000-0000-4000-8000-00000000{last}");
    let mut root = user(
        Some("pve-test-pw"),
        &[("full", &secret("f011"), false), ("nopriv", &secret("0001"), true)],
    );
    root.fields.insert("email".to_owned(), "root@example.com".to_owned());
    access.users.insert("root@pam".to_owned(), root);
    access.users.insert("viewer@pve".to_owned(), user(None, &[("ro", &secret("0002"), false)]));
    access.users.insert(
        "ops@pve".to_owned(),
        user(None, &[("vm", &secret("0003"), false), ("sep", &secret("0004"), true)]),
    );
    access.acl = vec![
        grant("viewer@pve", "/", "PVEAuditor"),
        grant("ops@pve", "/vms", "PVEVMAdmin"),
        grant("ops@pve", "/storage/local", "PVEDatastoreUser"),
    ];
}

/// Something to import and something to boot from, for tests; real guests bring their image.
fn sample_files(root: &Path) -> anyhow::Result<()> {
    let driver = StateOnly::new();
    let make = |name: &str, format, size| {
        driver.create_volume(&root.join(name), format, size).map_err(|e| anyhow::anyhow!("{e}"))
    };
    make("import/debian-13.qcow2", VolumeFormat::Qcow2, 3 << 30)?;
    make("template/iso/tiny.iso", VolumeFormat::Raw, 350 << 10)
}

fn recorded_files(root: &Path) -> anyhow::Result<()> {
    let driver = StateOnly::new();
    let make = |name: &str, format, size| {
        driver.create_volume(&root.join(name), format, size).map_err(|e| anyhow::anyhow!("{e}"))
    };
    make("import/tiny.qcow2", VolumeFormat::Qcow2, 64 << 20)?;
    make("import/tiny.raw", VolumeFormat::Raw, 32 << 20)?;
    make("template/iso/tiny.iso", VolumeFormat::Raw, 350 << 10)?;
    make("template/cache/debian-12-mini_12.0-1_amd64.tar.zst", VolumeFormat::Raw, 4096)?;
    fs::write(root.join("snippets/user.yaml"), "#cloud-config\n")?;
    Ok(())
}
