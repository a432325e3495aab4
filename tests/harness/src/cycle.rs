//! The three runs that every module passes: in check mode, for real, and again.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::{Module, Outcome};

/// What the three runs gave.
#[derive(Debug, Clone)]
pub struct Cycle {
    /// In check mode.
    pub check: Outcome,
    /// For real.
    pub real: Outcome,
    /// For real, a second time.
    pub again: Outcome,
}

/// Runs a module that has something to change: check mode must foretell the very plan that is then
/// carried out without moving anything, and the second run must find nothing left. `look` gives the
/// state the module works on, for example [`tree`] of a folder or the number of writes a server saw.
#[track_caller]
pub fn check_apply_again<S: PartialEq + std::fmt::Debug>(
    module: &Module,
    look: impl Fn() -> S,
) -> Cycle {
    let before = look();
    let check = module.clone().check().diff().run();
    assert!(check.changed(), "check mode foretells nothing: {}", check.stdout);
    assert_eq!(look(), before, "check mode moved something");
    let real = module.clone().diff().run();
    assert!(real.changed(), "nothing was changed: {}", real.stdout);
    assert_eq!(check.plan(), real.plan(), "check mode foretold another plan");
    assert_ne!(look(), before, "the module says it changed something, and nothing moved");
    let after = look();
    let again = module.clone().diff().run();
    assert!(!again.changed(), "the second run changed something: {}", again.stdout);
    assert_eq!(look(), after, "the second run moved something");
    Cycle { check, real, again }
}

/// Everything under a folder: relative path to type, mode, and content or link target.
#[must_use]
pub fn tree(root: impl AsRef<Path>) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    walk(root.as_ref(), root.as_ref(), &mut found);
    found
}

fn walk(root: &Path, dir: &Path, found: &mut BTreeMap<String, String>) {
    let entries = std::fs::read_dir(dir)
        .unwrap_or_else(|error| panic!("{} cannot be listed: {error}", dir.display()));
    for entry in entries {
        let path = entry.expect("an entry can be read").path();
        let meta = path.symlink_metadata().expect("an entry has metadata");
        let name = path.strip_prefix(root).expect("it is below").display().to_string();
        let mode = meta.mode() & 0o7777;
        let text = if meta.is_symlink() {
            format!("link to {}", std::fs::read_link(&path).expect("a link has a target").display())
        } else if meta.is_dir() {
            walk(root, &path, found);
            format!("folder {mode:o}")
        } else {
            let content = std::fs::read(&path).unwrap_or_default();
            format!("file {mode:o} {}", String::from_utf8_lossy(&content))
        };
        found.insert(name, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_tells_content_mode_and_links_apart() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("d")).unwrap();
        std::fs::write(dir.path().join("d/f"), "one").unwrap();
        std::os::unix::fs::symlink("/dev/null", dir.path().join("l")).unwrap();
        let before = tree(dir.path());
        assert_eq!(before.keys().collect::<Vec<_>>(), ["d", "d/f", "l"]);
        assert_eq!(before["l"], "link to /dev/null");
        std::fs::write(dir.path().join("d/f"), "two").unwrap();
        assert_ne!(tree(dir.path()), before);
    }
}
