//! What `ansible-test sanity` has to pass over, and why.

use std::path::Path;

use anyhow::Result;

use super::stage;
use crate::workspace::{Workspace, entries};

/// One file for each release of ansible-core that a module can be run by, which are those that
/// `tests/cores` pins.
pub(super) fn write_ignores(workspace: &Workspace, folder: &Path) -> Result<()> {
    let mut lines = vec![
        "LICENSES/THIRD-PARTY.txt no-smart-quotes  # the words of others, as they wrote them"
            .to_owned(),
    ];
    for name in workspace.modules()? {
        lines.push(format!(
            "plugins/modules/{name} validate-modules!skip  # a binary, which is read as text"
        ));
    }
    let text = lines.join("\n") + "\n";
    for pins in entries(&workspace.path("tests/cores"))? {
        let core = pins.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        stage::write(&folder.join(format!("tests/sanity/ignore-{core}.txt")), &text)?;
    }
    Ok(())
}
