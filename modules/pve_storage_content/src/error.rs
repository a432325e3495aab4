//! What can go wrong, each with its operand.

use pve_types::StorageId;

/// A failure of this module.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// Nothing is asked for.
    #[error("content: the list is empty: say what the storage is to hold, for example import")]
    Empty,
    /// Not a word of PVE's.
    #[error("content: '{word}' is not a content type: images, import, iso, vztmpl, snippets, ...")]
    Word {
        /// What was given.
        word: String,
    },
    /// The word for a list without any.
    #[error("content: 'none' takes every content type away, and this module only adds")]
    None,
    /// No such storage.
    #[error(
        "storage {storage} does not exist, or the caller may not see it (which takes \
         Datastore.Audit on /storage/{storage}); there {there}"
    )]
    Missing {
        /// What was asked for.
        storage: StorageId,
        /// What there is.
        there: String,
    },
    /// The answer does not say what the storage holds.
    #[error(
        "PVE does not say what storage {storage} holds, and a list written anew could lose some of it"
    )]
    Unsaid {
        /// The storage.
        storage: StorageId,
    },
}
