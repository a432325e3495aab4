//! The state on disk. Every file is written beside and renamed, so that a lab that was killed
//! finds either the old or the new one.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::config::Config;
use super::tasks::Task;
use super::{Guest, Kind, State};

/// Writes a file in one step.
pub(crate) fn write_atomically(path: &Path, text: &str) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let beside = path.with_extension("new");
    // tokens, passwords and keys are among what is written
    let mut file =
        fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
    file.write_all(text.as_bytes())?;
    fs::rename(&beside, path)
}

impl State {
    fn guest_file(&self, node: &str, kind: Kind, vmid: u32) -> PathBuf {
        self.dir.join("nodes").join(node).join(kind.folder()).join(format!("{vmid}.conf"))
    }

    /// Writes a guest's configuration.
    pub(crate) fn save_guest(&self, vmid: u32) {
        if self.volatile {
            return;
        }
        let Some(guest) = self.guests.get(&vmid) else { return };
        let path = self.guest_file(&guest.node, guest.kind, vmid);
        report(&path, write_atomically(&path, &guest.config.print()));
    }

    /// Removes a guest and its file.
    pub(crate) fn remove_guest(&mut self, vmid: u32) {
        if let Some(guest) = self.guests.remove(&vmid) {
            let path = self.guest_file(&guest.node, guest.kind, vmid);
            if path.exists() {
                report(&path, fs::remove_file(&path));
            }
        }
    }

    /// Writes all that is not a guest.
    pub(crate) fn save_cluster(&self) {
        if self.volatile {
            return;
        }
        let path = self.dir.join("cluster.json");
        let written = serde_json::to_string_pretty(&self.cluster)
            .map_err(io::Error::other)
            .and_then(|text| write_atomically(&path, &text));
        report(&path, written);
    }

    /// Adds an ended task to the record.
    pub(crate) fn save_task(&self, task: &Task) {
        if self.volatile {
            return;
        }
        let path = self.dir.join("tasks.jsonl");
        let written = serde_json::to_string(task).map_err(io::Error::other).and_then(|line| {
            let mut file = fs::OpenOptions::new().create(true).append(true).open(&path)?;
            file.write_all(format!("{line}\n").as_bytes())
        });
        report(&path, written);
    }

    /// Reads the state of a lab that was here before; `None` if there was none.
    pub(crate) fn load(dir: &Path) -> io::Result<Option<Self>> {
        let text = match fs::read_to_string(dir.join("cluster.json")) {
            Ok(text) => text,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(e),
        };
        let cluster = serde_json::from_str(&text).map_err(io::Error::other)?;
        let mut state = Self { dir: dir.to_owned(), cluster, ..Self::default() };
        for node in state.cluster.nodes.keys().cloned().collect::<Vec<_>>() {
            for kind in [Kind::Qemu, Kind::Lxc] {
                state.load_guests(&node, kind)?;
            }
        }
        for line in fs::read_to_string(dir.join("tasks.jsonl")).unwrap_or_default().lines() {
            if let Ok(task) = serde_json::from_str::<Task>(line) {
                state.tasks.last_pid = state.tasks.last_pid.max(task.pid);
                state.tasks.list.push(task);
            }
        }
        Ok(Some(state))
    }

    /// Removes guests whose creation died with the lab, and the volumes they had so far.
    pub(crate) fn forget_unfinished(&mut self) {
        let unfinished: Vec<u32> = self
            .guests
            .values()
            .filter(|guest| matches!(guest.setting("lock"), Some("create" | "clone")))
            .map(|guest| guest.vmid)
            .collect();
        for vmid in unfinished {
            for storage in self.cluster.storages.values() {
                let folder = storage.root.join("images").join(vmid.to_string());
                if folder.exists() {
                    report(&folder, fs::remove_dir_all(&folder));
                }
            }
            self.remove_guest(vmid);
        }
    }

    fn load_guests(&mut self, node: &str, kind: Kind) -> io::Result<()> {
        let folder = self.dir.join("nodes").join(node).join(kind.folder());
        let Ok(entries) = fs::read_dir(&folder) else { return Ok(()) };
        for entry in entries {
            let path = entry?.path();
            let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            let (Ok(vmid), Some("conf")) =
                (stem.parse::<u32>(), path.extension().and_then(|e| e.to_str()))
            else {
                continue;
            };
            let config = Config::parse(&fs::read_to_string(&path)?);
            self.guests.insert(vmid, Guest::new(vmid, kind, node, config, 0));
        }
        Ok(())
    }
}

/// The lab goes on without its files, but not silently.
fn report(path: &Path, result: io::Result<()>) {
    if let Err(e) = result {
        eprintln!("pve-lab: failed to write {}: {e}", path.display());
    }
}
