//! Files on storages, put there and looked at beside the API.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use super::Lab;
use crate::start;
use crate::state::storage::{Volume, folder};

impl Lab {
    /// Adds a folder as a storage for disks.
    pub fn add_storage(&self, name: &str) {
        let path = format!("/mnt/{name}");
        let storage = start::storage(&self.dir(), name, &path, &["images"]);
        self.shared.state().cluster.storages.insert(name.to_owned(), storage);
    }

    /// From now on each node has images, iso files and templates of its own on this storage.
    pub fn separate(&self, storage: &str) {
        if let Some(storage) = self.shared.state().cluster.storages.get_mut(storage) {
            storage.separate = true;
        }
    }

    /// Where a file of a storage is. Panics if there is no such storage: this is for tests.
    pub fn file(&self, node: &str, volid: &str) -> PathBuf {
        let state = self.shared.state();
        #[expect(clippy::expect_used, reason = "this is for tests, and one cannot go on without")]
        let volume = Volume::parse(volid).expect("the volume's name can be read");
        #[expect(clippy::expect_used, reason = "this is for tests, and one cannot go on without")]
        let storage = state.storage(&volume.storage).expect("the storage is there").at(node);
        volume.file(&storage)
    }

    /// Puts a file on a storage.
    pub fn put_file(&self, node: &str, volid: &str, bytes: &[u8]) {
        let path = self.file(node, volid);
        let written = path.parent().map(fs::create_dir_all).transpose();
        #[expect(clippy::expect_used, reason = "this is for tests, and one cannot go on without")]
        written.and_then(|_| fs::write(&path, bytes)).expect("the lab's directory can be written");
    }

    /// The images, iso files and templates of a storage, with their sizes.
    pub fn files(&self, node: &str, storage: &str) -> BTreeMap<String, u64> {
        let state = self.shared.state();
        let Ok(storage) = state.storage(storage).map(|storage| storage.at(node)) else {
            return BTreeMap::new();
        };
        ["iso", "vztmpl", "import"]
            .iter()
            .flat_map(|content| {
                let folder = storage.files(content).join(folder(content));
                fs::read_dir(folder).into_iter().flatten().flatten().filter_map(move |entry| {
                    let name = entry.file_name().to_string_lossy().into_owned();
                    Some((format!("{content}/{name}"), entry.metadata().ok()?.len()))
                })
            })
            .collect()
    }

    /// What uploads have put aside and no task has taken away.
    pub fn spooled(&self) -> usize {
        fs::read_dir(self.dir().join("var-tmp")).map_or(0, Iterator::count)
    }
}
