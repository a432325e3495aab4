//! Users from the node's own files. `getent` is asked for those that come from elsewhere; libc is
//! not, since a static program crashes inside NSS.

use std::path::PathBuf;

use crate::command::Command;
use crate::error::NodeError;
use crate::node::Node;

/// One line of `/etc/passwd`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The login name.
    pub name: String,
    /// The user id.
    pub uid: u32,
    /// The id of the user's own group.
    pub gid: u32,
    /// The home folder.
    pub home: PathBuf,
    /// The login shell.
    pub shell: String,
}

impl User {
    fn parse(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.trim_end().split(':').collect();
        let [name, _, uid, gid, _, home, shell] = fields.as_slice() else { return None };
        Some(Self {
            name: (*name).to_owned(),
            uid: uid.parse().ok()?,
            gid: gid.parse().ok()?,
            home: PathBuf::from(home),
            shell: (*shell).to_owned(),
        })
    }
}

impl Node {
    /// The users in `/etc/passwd`; lines that are not users are passed over.
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub fn users(&self) -> Result<Vec<User>, NodeError> {
        let text = self.read_text_if_any("/etc/passwd")?.unwrap_or_default();
        Ok(text.lines().filter_map(User::parse).collect())
    }

    /// The user with this name, from `/etc/passwd` or else from `getent`.
    ///
    /// # Errors
    /// When `/etc/passwd` is there and cannot be read.
    pub fn user(&self, name: &str) -> Result<Option<User>, NodeError> {
        if let Some(user) = self.users()?.into_iter().find(|user| user.name == name) {
            return Ok(Some(user));
        }
        let known = self.run(&Command::new("getent").args(["passwd", "--", name]));
        Ok(known
            .ok()
            .filter(crate::Output::success)
            .and_then(|output| output.stdout.lines().find_map(User::parse)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Recorder;
    use std::rc::Rc;

    #[test]
    fn own_file_first_then_getent() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("etc")).unwrap();
        std::fs::write(
            folder.path().join("etc/passwd"),
            "root:x:0:0:root:/root:/bin/bash\n# comment\nbroken:x\n+::::::\nbob:x:1001:100::/home/bob:\n",
        )
        .unwrap();
        let chroot = format!("chroot {} getent passwd -- ", folder.path().display());
        let recorder = Rc::new(Recorder::new().on(&chroot, 2, "", "").on(
            &format!("{chroot}ann"),
            0,
            "ann:*:7:8::/net/ann:/bin/sh\n",
            "",
        ));
        let node = Node::new(Some(folder.path())).unwrap().with_runner(recorder.clone());
        let names: Vec<_> = node.users().unwrap().into_iter().map(|user| user.name).collect();
        assert_eq!(names, ["root", "bob"]);
        assert_eq!(node.user("bob").unwrap().unwrap().home, PathBuf::from("/home/bob"));
        assert!(recorder.calls().is_empty());
        assert_eq!(node.user("ann").unwrap().unwrap().uid, 7);
        assert_eq!(node.user("nobody-here").unwrap(), None);
        assert_eq!(recorder.calls().len(), 2);
    }
}
