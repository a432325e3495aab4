//! Trees of hosts as their releases ship them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

/// A copy of the host of this name in `tests/fixtures/hosts`.
///
/// # Panics
/// When there is none.
#[must_use]
pub fn host(name: &str) -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a temporary folder can be made");
    let hosts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/hosts");
    copy(&hosts.join(name), root.path());
    root
}

fn copy(from: &Path, to: &Path) {
    let entries =
        fs::read_dir(from).unwrap_or_else(|error| panic!("no folder {}: {error}", from.display()));
    for entry in entries {
        let from = entry.expect("an entry can be read").path();
        let to = to.join(from.file_name().expect("an entry has a name"));
        if from.is_symlink() {
            let target = fs::read_link(&from).expect("a link has a target");
            symlink(target, to).expect("a link can be made");
        } else if from.is_dir() {
            fs::create_dir_all(&to).expect("a folder can be made");
            copy(&from, &to);
        } else {
            fs::copy(&from, &to).expect("a file can be copied");
        }
    }
}
