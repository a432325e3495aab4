//! The `.yml` beside a binary, which `ansible-doc` reads.

use anyhow::Result;
use serde_json::{Value, json};

use super::yaml;
use crate::workspace::Module;

// ansible-test wants the licence within the first twenty lines
const HEADER: &str = "\
# Copyright: Ferrite contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Written by `cargo xtask docs` from the module's own description.
---
";

pub(super) fn sidecar(module: &Module) -> Result<String> {
    let description = &module.description;
    let mut examples = description["EXAMPLES"].as_str().unwrap_or_default();
    examples = examples.trim_start_matches("---\n");
    let page: Value = json!({
        "DOCUMENTATION": description["DOCUMENTATION"],
        "EXAMPLES": examples,
        "RETURN": description["RETURN"],
    });
    Ok(format!("{HEADER}{}", yaml::block(&page)?))
}
