//! What `ansible-test sanity` has to pass over, and why.

use std::path::Path;

use anyhow::Result;

use super::stage;

/// The releases of ansible-core that a module can be run by; each reads a file of its own.
const CORES: [&str; 6] = ["2.16", "2.17", "2.18", "2.19", "2.20", "2.21"];

pub(super) fn write_ignores(folder: &Path, modules: &[String]) -> Result<()> {
    let mut lines = vec![
        "LICENSES/THIRD-PARTY.txt no-smart-quotes  # the words of others, as they wrote them"
            .to_owned(),
    ];
    for name in modules {
        lines.push(format!(
            "plugins/modules/{name} validate-modules!skip  # a binary, which is read as text"
        ));
    }
    let text = lines.join("\n") + "\n";
    for core in CORES {
        stage::write(&folder.join(format!("tests/sanity/ignore-{core}.txt")), &text)?;
    }
    Ok(())
}
