//! The connection of one run, and what its steps keep for those after them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ansible_module::{Failure, Run};
use pve_client::{Client, Error, NodeStorage};
use pve_types::{NodeName, Upid, VolId};
use tokio::runtime::Runtime;

use crate::found::Proof;
use crate::params::Params;
use crate::request::Request;
use crate::source::Prepared;

/// The bytes per second of a slow disk.
const SLOW: u64 = 10 << 20;

/// The connection of one run.
#[derive(Debug)]
pub(crate) struct Target {
    /// Drives the client's calls.
    pub(crate) runtime: Runtime,
    /// What the steps work with.
    pub(crate) session: Session,
}

/// What the steps work with.
#[derive(Debug)]
pub(crate) struct Session {
    /// The API.
    pub(crate) client: Client,
    /// The circumstances of the run.
    pub(crate) run: Run,
    /// What is asked for.
    pub(crate) request: Request,
    /// How long nothing may go on.
    pub(crate) stall: Duration,
    /// Where there is room for a file.
    pub(crate) tmpdir: PathBuf,
    /// What temporary names of this run have in them.
    pub(crate) mark: String,
    /// The source, once it is here.
    pub(crate) prepared: Option<Prepared>,
    /// The file's name on the storage, once it is known.
    pub(crate) name: String,
    /// The size that is wanted, as far as it is known.
    pub(crate) expected: Option<u64>,
    /// What comparisons with fresh transfers gave.
    pub(crate) proofs: BTreeMap<NodeName, Proof>,
    /// Whether something was done in this run.
    pub(crate) applied: bool,
    /// What was transferred, by node.
    pub(crate) transfers: BTreeMap<NodeName, Transfer>,
    /// The tasks of this run.
    pub(crate) upids: Vec<String>,
}

/// What was transferred to a node.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Transfer {
    /// The bytes that were sent by this program; of what a node fetches it is the file's size.
    pub(crate) bytes: u64,
    /// How long it took.
    pub(crate) time: Duration,
}

impl Target {
    /// Opens the connection; nothing is sent yet.
    ///
    /// # Errors
    /// When the options do not say how.
    pub(crate) fn new(params: &Params, run: &Run) -> Result<Self, Failure> {
        let request = Request::of(params)?;
        let mirror = params.catalog.as_ref().and_then(|entry| entry.mirror.as_ref());
        for url in [params.url.as_ref(), params.src.as_ref(), mirror].into_iter().flatten() {
            if let Some(secret) = images::password(url) {
                run.hide(secret);
            }
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        // two runs at a time have different numbers, and one number is not used twice in a second
        let mark = format!("{:x}{:x}", now.as_secs(), std::process::id());
        let session = Session {
            client: Client::connect(&params.connection)?,
            run: run.clone(),
            request,
            stall: Duration::from_secs(params.stall_timeout),
            tmpdir: params.tmpdir.clone(),
            mark,
            prepared: None,
            name: String::new(),
            expected: None,
            proofs: BTreeMap::new(),
            applied: false,
            transfers: BTreeMap::new(),
            upids: Vec::new(),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { runtime, session })
    }
}

impl Session {
    /// The storage as a node sees it.
    pub(crate) fn storage<'a>(&'a self, node: &'a NodeName) -> NodeStorage<'a> {
        self.client.node(node).storage(&self.request.storage)
    }

    /// Waits for a task as long as it goes on; its warnings become the result's.
    ///
    /// # Errors
    /// When the task failed or stood still.
    pub(crate) async fn follow(&mut self, upid: &Upid) -> Result<(), Error> {
        self.follow_bytes(upid, 0).await
    }

    /// Waits for a task that works on so many bytes. A node that takes a checksum or copies a file
    /// says nothing meanwhile, so that silence is longer the larger the file is.
    ///
    /// # Errors
    /// When the task failed or stood still.
    pub(crate) async fn follow_bytes(&mut self, upid: &Upid, bytes: u64) -> Result<(), Error> {
        let text = upid.to_string();
        if !self.upids.contains(&text) {
            self.upids.push(text);
        }
        let stall = self.stall + Duration::from_secs(bytes / SLOW);
        let outcome = self.client.wait_while_moving(upid, stall).await?;
        for warning in outcome.warnings {
            self.run.warn(warning);
        }
        Ok(())
    }

    /// Removes a file; one that is not there is fine.
    ///
    /// # Errors
    /// As every call.
    pub(crate) async fn remove(&mut self, node: &NodeName, volid: &VolId) -> Result<(), Error> {
        match self.storage(node).delete_volume(volid).await {
            Ok(Some(upid)) => self.follow(&upid).await,
            Ok(None) => Ok(()),
            Err(error) if error.is_gone() => Ok(()),
            Err(error) => Err(error),
        }
    }
}
