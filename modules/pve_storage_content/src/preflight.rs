//! What stands against a plan, all of it at once, before the first write.

use ansible_module::Failure;
use pve_client::Client;

use crate::observe::Found;
use crate::plan::Change;

/// Where PVE checks the right to change a storage: not at the storage itself.
const PATH: &str = "/storage";
const PRIVILEGE: &str = "Datastore.Allocate";

/// Looks for everything that is wrong, and says all of it at once. Costs nothing without a change.
///
/// # Errors
/// When something stands against the plan.
pub(crate) async fn check(client: &Client, found: &Found, plan: &[Change]) -> Result<(), Failure> {
    let Some(Change::Add { storage, new, .. }) = plan.first() else { return Ok(()) };
    let mut problems = Vec::new();
    let impossible: Vec<&str> =
        new.iter().map(String::as_str).filter(|word| !can_hold(&found.kind, word)).collect();
    if !impossible.is_empty() {
        problems.push(format!(
            "storage {storage} is of type {}, which cannot hold {}: it holds {}",
            found.kind,
            impossible.join(", "),
            holds(&found.kind).unwrap_or_default().join(", ")
        ));
    }
    // what cannot be asked is left to the call itself
    if !client.is_root()
        && let Ok(granted) = client.permissions(Some(PATH)).await
        && !granted.has(PATH, PRIVILEGE)
    {
        problems.push(format!(
            "{} lacks {PRIVILEGE} on {PATH}: grant a role that has it there (PVE does not look at \
             {PATH}/{storage} for this); a token with privilege separation needs it for itself as \
             well",
            client.caller()
        ));
    }
    if problems.is_empty() { Ok(()) } else { Err(Failure::new(problems.join("; "))) }
}

fn can_hold(kind: &str, word: &str) -> bool {
    holds(kind).is_none_or(|words| words.contains(&word))
}

/// What a storage that keeps no files can hold; of others PVE knows more than this release.
fn holds(kind: &str) -> Option<&'static [&'static str]> {
    match kind {
        "lvm" | "lvmthin" | "zfspool" | "rbd" => Some(&["images", "rootdir"]),
        "zfs" | "iscsi" | "iscsidirect" => Some(&["images"]),
        "pbs" => Some(&["backup"]),
        "esxi" => Some(&["import"]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_storage_without_files_holds_no_files() {
        for (kind, word, can) in [
            ("dir", "import", true),
            ("nfs", "whatever", true),
            ("lvmthin", "import", false),
            ("zfspool", "rootdir", true),
            ("rbd", "iso", false),
            ("pbs", "images", false),
            ("unheard-of", "import", true),
        ] {
            assert_eq!(can_hold(kind, word), can, "{kind} {word}");
        }
    }
}
