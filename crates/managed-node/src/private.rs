//! A private view of the mounts, for trials that must leave no trace.
//!
//! A test of a configuration may need folders that are not there (`/run/sshd`) and a place for a
//! staging copy. In a mount namespace of our own these lie on a tmpfs over `/run` that nobody else
//! sees, and that is gone with us, also when we are killed.

use std::fs::File;
use std::path::Path;

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns, unshare};

use crate::node::Node;

impl Node {
    /// Calls `trial` with an empty `/run` that only this process sees. Where the kernel does not
    /// allow that (a container without the right), the trial gets the real `/run` and is told so
    /// by `false`: it has to clean up by itself.
    pub fn with_private_run<T>(&self, trial: impl FnOnce(bool) -> T) -> T {
        match Private::enter(self) {
            Some(private) => {
                let result = trial(true);
                drop(private);
                result
            }
            None => trial(false),
        }
    }
}

struct Private {
    home: File,
    folder: Option<std::path::PathBuf>,
}

impl Private {
    fn enter(node: &Node) -> Option<Self> {
        let home = File::open("/proc/self/ns/mnt").ok()?;
        let folder = std::env::current_dir().ok();
        let run = node.followed(Path::new("/run")).ok()?;
        let dev = node.followed(Path::new("/dev")).ok()?;
        unshare(CloneFlags::CLONE_NEWNS).ok()?;
        // from here on a drop leads back
        let private = Self { home, folder };
        let none: Option<&str> = None;
        mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).ok()?;
        mount(Some("tmpfs"), &run, Some("tmpfs"), MsFlags::empty(), Some("mode=755")).ok()?;
        // programs open /dev/null before anything else, and an unpacked tree has none
        if !node.is_system() && !dev.join("null").exists() {
            let bind = MsFlags::MS_BIND | MsFlags::MS_REC;
            let _ = mount(Some("/dev"), &dev, none, bind, none);
        }
        Some(private)
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        let _ = setns(&self.home, CloneFlags::CLONE_NEWNS);
        // entering a namespace also moves to its root
        if let Some(folder) = &self.folder {
            let _ = std::env::set_current_dir(folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_trial_makes_is_gone_after_it() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("run/kept")).unwrap();
        std::fs::create_dir_all(folder.path().join("dev")).unwrap();
        let node = Node::new(Some(folder.path())).unwrap();
        let was = std::env::current_dir().unwrap();
        let private = node.with_private_run(|private| {
            if private {
                assert!(!node.exists("/run/kept"));
                assert!(node.exists("/dev/null"));
                node.make_folder("/run/sshd", 0o755).unwrap();
            }
            private
        });
        assert!(!node.exists("/run/sshd"));
        assert!(node.exists("/run/kept"));
        assert_eq!(std::env::current_dir().unwrap(), was);
        assert!(private || !nix::unistd::geteuid().is_root(), "root gets a private view here");
    }
}
