//! A private view of the mounts, for trials that must leave no trace.
//!
//! A test of a configuration may need folders that are not there (`/run/sshd`) and a place for a
//! staging copy. In a mount namespace of our own these lie on a tmpfs over `/run` that nobody else
//! sees, and that is gone with us, also when we are killed.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, setns, unshare};

use crate::node::Node;

/// How long threads may take to be gone.
const LIMIT: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(1);

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
    folder: Option<PathBuf>,
    /// What was mounted, in this order.
    mounted: Vec<PathBuf>,
}

impl Private {
    fn enter(node: &Node) -> Option<Self> {
        let home = File::open("/proc/self/ns/mnt").ok()?;
        let folder = std::env::current_dir().ok();
        let run = node.followed(Path::new("/run")).ok()?;
        let dev = node.followed(Path::new("/dev")).ok()?;
        unshare(CloneFlags::CLONE_NEWNS).ok()?;
        // from here on a drop leads back
        let mut private = Self { home, folder, mounted: Vec::new() };
        let none: Option<&str> = None;
        mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).ok()?;
        mount(Some("tmpfs"), &run, Some("tmpfs"), MsFlags::empty(), Some("mode=755")).ok()?;
        private.mounted.push(run);
        // programs open /dev/null before anything else, and an unpacked tree has none
        if !node.is_system() && !dev.join("null").exists() {
            let bind = MsFlags::MS_BIND | MsFlags::MS_REC;
            if mount(Some("/dev"), &dev, none, bind, none).is_ok() {
                private.mounted.push(dev);
            }
        }
        Some(private)
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        // the kernel refuses while another thread has the namespace, too, and the threads that read
        // from a command are not gone the moment that their work is done
        let deadline = Instant::now() + LIMIT;
        while setns(&self.home, CloneFlags::CLONE_NEWNS).is_err() {
            if Instant::now() > deadline {
                // not home, but with the same view: the real /run must be seen, or a running
                // system would be taken for a tree without systemd
                for path in self.mounted.iter().rev() {
                    let _ = umount2(path, MntFlags::MNT_DETACH);
                }
                break;
            }
            std::thread::sleep(PAUSE);
        }
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
    #[test]
    fn the_real_run_is_seen_again_whatever_threads_there_are() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("run/kept")).unwrap();
        std::fs::create_dir_all(folder.path().join("dev")).unwrap();
        let node = Node::new(Some(folder.path())).unwrap();
        for milliseconds in [0, 1, 50, 4000] {
            node.with_private_run(|_| {
                // inherits the namespace, as a thread does that reads from a command
                std::thread::spawn(move || {
                    std::thread::sleep(Duration::from_millis(milliseconds));
                });
            });
            assert!(node.exists("/run/kept"), "{milliseconds}");
        }
    }
}
