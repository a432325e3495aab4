//! A private view of the mounts, for trials that must leave no trace.
//!
//! A test of a configuration may need folders that are not there (`/run/sshd`) and a place for a
//! staging copy. In a mount namespace of our own these lie on a tmpfs over `/run` that nobody else
//! sees, and that is gone with us, also when we are killed.

use std::path::{Path, PathBuf};

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};

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
    /// What was mounted, in this order.
    mounted: Vec<PathBuf>,
}

impl Private {
    fn enter(node: &Node) -> Option<Self> {
        let run = node.followed(Path::new("/run")).ok()?;
        let dev = node.followed(Path::new("/dev")).ok()?;
        unshare(CloneFlags::CLONE_NEWNS).ok()?;
        let none: Option<&str> = None;
        // nothing of ours is seen outside; what is mounted there later still is seen here
        mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_SLAVE, none).ok()?;
        let mut private = Self { mounted: Vec::new() };
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
    /// The process stays in its namespace, with the view that it had before. `setns` back to the first
    /// one would also move it to the root of that: out of the chroot that it may run in, and every
    /// later write into the system around it.
    fn drop(&mut self) {
        for path in self.mounted.iter().rev() {
            // lazily, since a program may still be using it; that one sees it to its end
            let _ = umount2(path, MntFlags::MNT_DETACH);
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
    fn in_a_chroot_the_root_stays_what_it_was() {
        if !nix::unistd::geteuid().is_root() {
            return;
        }
        // a container that could not pivot has a mount as its root, a folder that was entered has none
        for is_mount in [true, false] {
            let folder = tempfile::tempdir().unwrap();
            for name in ["run/kept", "dev", "proc"] {
                std::fs::create_dir_all(folder.path().join(name)).unwrap();
            }
            std::fs::write(folder.path().join("inside"), "").unwrap();
            let root = folder.path().to_owned();
            // a thread with mounts and a root of its own
            let seen = std::thread::spawn(move || {
                let none: Option<&str> = None;
                unshare(CloneFlags::CLONE_NEWNS).unwrap();
                mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).unwrap();
                if is_mount {
                    mount(Some(&root), &root, none, MsFlags::MS_BIND, none).unwrap();
                }
                mount(Some("proc"), &root.join("proc"), Some("proc"), MsFlags::empty(), none)
                    .unwrap();
                nix::unistd::chroot(&root).unwrap();
                std::env::set_current_dir("/").unwrap();
                ["a trial", "another"].map(|_| {
                    let private = Node::system().with_private_run(|private| private);
                    (private, Path::new("/inside").exists(), Path::new("/run/kept").exists())
                })
            });
            assert_eq!(seen.join().unwrap(), [(is_mount, true, true); 2]);
        }
    }

    #[test]
    fn the_real_run_is_seen_again_whatever_threads_there_are() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("run/kept")).unwrap();
        std::fs::create_dir_all(folder.path().join("dev")).unwrap();
        let node = Node::new(Some(folder.path())).unwrap();
        // inherits the namespace, as a thread does that reads from a command, and outlives the trial
        let (end, wait) = std::sync::mpsc::channel::<()>();
        let thread = node.with_private_run(|_| std::thread::spawn(move || wait.recv().is_err()));
        assert!(node.exists("/run/kept"));
        drop(end);
        assert!(thread.join().unwrap());
    }
}
