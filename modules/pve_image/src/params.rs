//! The declaration: what a task may ask for.

use std::path::PathBuf;

use images::{Compression, Entry};
use pve_client::ConnectOptions;
use pve_types::{StorageId, VolId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Keep image files on the storages of Proxmox VE.
///
/// Images that disks are imported from, installation media and container templates: fetched by the
/// nodes, or uploaded from the control node. What is wanted is the content, and PVE keeps no checksum of it. So the name says it: unless
/// O(name) is given, the file is called by its source's name and the beginning of its checksum, and a
/// file of that name is the one that is wanted. Of a name of your own only the size can be compared.
///
/// A file of the same name with another size is a failure that shows both; O(replace) puts the wanted
/// one in its place. Nothing is changed before all that can be known to be wrong is looked for:
/// privileges, the storage's content list, free space, the address. What is interrupted leaves the
/// storage as it was, or a file whose name begins with `ferrite-tmp-`, which the next run removes.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The connection to the API.
    #[serde(flatten)]
    pub(crate) connection: ConnectOptions,
    /// What should be.
    #[serde(default)]
    pub(crate) state: State,
    /// The storage that holds the file. Not needed with O(volid), which names it.
    #[serde(default)]
    pub(crate) storage: Option<StorageId>,
    /// The nodes on which the storage has to hold the file, or V(all) that have it. A storage that
    /// the nodes share gets it once. A node that is offline is passed over with a warning if V(all)
    /// are meant, and is a failure if it is named.
    #[serde(default = "all")]
    #[schemars(extend("x-aliases" = ["node"]))]
    pub(crate) nodes: Vec<String>,
    /// What the file is.
    #[serde(default)]
    pub(crate) content: Content,
    /// The file's name on the storage, ending as O(content) needs it. By default the name of the
    /// source, without the ending of its compression if it is decompressed, and the first 12 digits
    /// of the checksum.
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["filename"]))]
    pub(crate) name: Option<String>,
    /// The address of the file. The node fetches it, unless O(via) says otherwise.
    #[serde(default)]
    pub(crate) url: Option<String>,
    /// A file on the control node, which is uploaded (a relative path begins where Ansible runs); or with O(via=controller) an address that the
    /// control node fetches. One that is compressed (xz, zst, gz, bz2) is decompressed first.
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["path"]))]
    pub(crate) src: Option<String>,
    /// An image that others publish, in place of an address and its checksum.
    #[serde(default)]
    pub(crate) catalog: Option<Entry>,
    /// Who fetches an address.
    #[serde(default)]
    pub(crate) via: Via,
    /// The checksum of the file as it is published, before any decompression: V(sha256:...) or
    /// V(sha512:...) in hexadecimal. Needed for an address, unless O(allow_unverified) is set.
    #[serde(default)]
    pub(crate) checksum: Option<String>,
    /// Whether an address may be fetched without a checksum. Whatever is there at that moment is
    /// taken then.
    #[serde(default)]
    pub(crate) allow_unverified: bool,
    /// Whether the content of a file that is there is proven: the node is asked for its checksum,
    /// by a download to the name that is taken, which transfers nothing. Where that cannot be asked
    /// (no O(checksum) of an address, a medium that the node decompresses, an upload by a caller
    /// without Sys.AccessNetwork on the node), the source is transferred anew under a temporary name,
    /// removed again whatever happens, and the sizes, formats and disks of both are compared, which a
    /// warning says. Not done in check mode.
    #[serde(default)]
    pub(crate) verify: bool,
    /// Whether a file of the same name with other content is replaced. The new one is complete and
    /// its checksum proven before the old one goes. One that a guest uses is never replaced.
    #[serde(default)]
    pub(crate) replace: bool,
    /// How the source is compressed. V(auto) tells by the ending of its name. The node decompresses
    /// an installation medium only (gz, zst, lzo, bz2); everything else is decompressed by the control
    /// node, which has to fetch it for that (O(via=controller)). A container template stays as it is.
    #[serde(default)]
    pub(crate) decompress: Decompress,
    /// The volume to remove, for V(absent): `local:import/debian-13.qcow2`.
    #[serde(default)]
    pub(crate) volid: Option<VolId>,
    /// How many seconds nothing may go on in a transfer. There is no limit to the whole of it.
    #[serde(default = "stall_timeout")]
    #[schemars(range(min = 1))]
    pub(crate) stall_timeout: u64,
    /// A folder of the control node with room for a file that is fetched or decompressed there. It
    /// has no name in it and is gone when the task ends, however it ends.
    #[serde(default = "tmpdir")]
    #[schemars(extend("x-type" = "path"))]
    pub(crate) tmpdir: PathBuf,
}

fn all() -> Vec<String> {
    vec!["all".to_owned()]
}

fn stall_timeout() -> u64 {
    300
}

fn tmpdir() -> PathBuf {
    // /tmp is memory on many systems
    "/var/tmp".into()
}

/// What should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    /// The file is there.
    #[default]
    Present,
    /// The file is not there.
    Absent,
}

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Content {
    /// An image that disks of machines are made from: `.qcow2`, `.raw`, `.vmdk`, `.ova`.
    #[default]
    Import,
    /// An installation medium: `.iso`, `.img`.
    Iso,
    /// A container template: `.tar.gz`, `.tar.xz`, `.tar.zst`, `.tar.bz2`.
    Vztmpl,
}

/// Who fetches an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Via {
    /// The node, which needs a way there, and the caller a privilege for it.
    #[default]
    Node,
    /// The control node, which then uploads it.
    Controller,
}

/// How a source is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Decompress {
    /// As the ending of its name says.
    #[default]
    Auto,
    /// It is not, or it is to stay so.
    None,
    /// With xz.
    Xz,
    /// With Zstandard.
    Zst,
    /// With gzip.
    Gz,
    /// With bzip2.
    Bz2,
    /// With lzop, which only nodes know.
    Lzo,
}

impl Decompress {
    /// What is decompressed here.
    pub(crate) fn here(self) -> Option<Compression> {
        match self {
            Self::Xz => Some(Compression::Xz),
            Self::Zst => Some(Compression::Zst),
            Self::Gz => Some(Compression::Gz),
            Self::Bz2 => Some(Compression::Bz2),
            Self::Auto | Self::None | Self::Lzo => None,
        }
    }
}
