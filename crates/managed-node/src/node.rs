//! A node: a root and a way to run commands.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::command::{Command, CommandError, Output, Runner, SystemRunner};
use crate::error::NodeError;
use crate::path;

/// The managed node, or a tree that will become one.
#[derive(Debug, Clone)]
pub struct Node {
    root: PathBuf,
    runner: Rc<dyn Runner>,
}

impl Node {
    /// The running system.
    #[must_use]
    pub fn system() -> Self {
        Self { root: PathBuf::from("/"), runner: Rc::new(SystemRunner) }
    }

    /// The tree at `root`, or the running system if none is given.
    ///
    /// # Errors
    /// When it is not an absolute path of a folder.
    pub fn new(root: Option<&Path>) -> Result<Self, NodeError> {
        let Some(root) = root.filter(|root| *root != Path::new("/")) else {
            return Ok(Self::system());
        };
        if !root.is_absolute() || !root.is_dir() {
            return Err(NodeError::Root { path: root.to_owned() });
        }
        let root = root.canonicalize().map_err(|_| NodeError::Root { path: root.to_owned() })?;
        Ok(Self { root, runner: Rc::new(SystemRunner) })
    }

    /// The same node with another way to run commands, for tests.
    #[must_use]
    pub fn with_runner(mut self, runner: Rc<dyn Runner>) -> Self {
        self.runner = runner;
        self
    }

    /// The root on the machine.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Whether this is the running system and not a tree in a folder.
    #[must_use]
    pub fn is_system(&self) -> bool {
        self.root == Path::new("/")
    }

    /// Whether systemd runs this node, so that units can be started and reloaded.
    #[must_use]
    pub fn systemd_running(&self) -> bool {
        self.is_system() && self.exists("/run/systemd/system")
    }

    /// Where a path of the node lies on the machine; no symlink leads out of the root. The last
    /// component is not followed.
    ///
    /// # Errors
    /// When links go round in a circle.
    pub fn locate(&self, path: impl AsRef<Path>) -> Result<PathBuf, NodeError> {
        Ok(path::outside(&self.root, &self.logical(path.as_ref(), false)?))
    }

    /// The path, as the node sees it, that is left when every symlink was followed.
    ///
    /// # Errors
    /// When links go round in a circle.
    pub fn follow(&self, path: impl AsRef<Path>) -> Result<PathBuf, NodeError> {
        self.logical(path.as_ref(), true)
    }

    /// Where a path lies on the machine when every symlink was followed.
    pub(crate) fn followed(&self, path: &Path) -> Result<PathBuf, NodeError> {
        Ok(path::outside(&self.root, &self.logical(path, true)?))
    }

    fn logical(&self, path: &Path, follow_last: bool) -> Result<PathBuf, NodeError> {
        path::resolve(&self.root, path, follow_last).map_err(|source| NodeError::File {
            what: "resolve",
            path: path.to_owned(),
            source,
        })
    }

    /// Runs a command on the node and waits for its end.
    ///
    /// # Errors
    /// When it is not there, cannot be started or does not end in time. An exit status other than
    /// 0 is not an error here; see [`Output::check`].
    pub fn run(&self, command: &Command) -> Result<Output, CommandError> {
        self.runner.run(&command.resolved(&self.root))
    }
}
