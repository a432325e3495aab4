//! Which crate may depend on which. The arrows point one way only, and they are drawn here once.

use anyhow::Result;
use serde_json::Value;

use crate::workspace::Workspace;

/// Crates that speak HTTP; only the API client uses them, so that there is one place for TLS,
/// time-outs and retries.
const HTTP: [&str; 4] = ["reqwest", "hyper", "hyper-util", "ureq"];

pub(crate) fn run(workspace: &Workspace, _: &[String]) -> Result<bool> {
    let wrong = check(workspace);
    for edge in &wrong {
        println!("{edge}");
    }
    Ok(wrong.is_empty())
}

/// The edges that should not be.
fn check(workspace: &Workspace) -> Vec<String> {
    let mut wrong = Vec::new();
    for (name, folder, package) in workspace.packages() {
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        let (ours, foreign): (Vec<&Value>, Vec<&Value>) =
            dependencies.partition(|dependency| dependency["path"].is_string());
        let mut reaches = Vec::new();
        for dependency in ours {
            let other = dependency["name"].as_str().unwrap_or_default();
            let for_tests = dependency["kind"] == "dev";
            if !is_allowed(&folder, other, for_tests) {
                wrong.push(format!("{folder} must not depend on {other}"));
            }
            if !for_tests && ["pve-client", "managed-node"].contains(&other) {
                reaches.push(other);
            }
        }
        if folder.starts_with("modules/") && reaches.len() > 1 {
            wrong.push(format!("{folder} depends on both {}", reaches.join(" and ")));
        }
        for dependency in foreign {
            let other = dependency["name"].as_str().unwrap_or_default();
            let may = name == "pve-client" || folder.starts_with("tests/");
            if HTTP.contains(&other) && !may && dependency["kind"] != "dev" {
                wrong.push(format!("{folder} must not depend on {other}: pve-client speaks HTTP"));
            }
        }
    }
    wrong
}

/// Whether the crate in this folder may depend on another of ours.
fn is_allowed(folder: &str, other: &str, for_tests: bool) -> bool {
    let is_test = ["harness", "pve-lab"].contains(&other);
    if folder.starts_with("tests/") || (is_test && for_tests) {
        return true;
    }
    let allowed: &[&str] = match folder {
        "crates/secret" | "crates/xtask" => &[],
        "crates/ansible-module" | "crates/pve-types" | "crates/managed-node" => &["secret"],
        "crates/pve-client" | "inventory/pve_inventory" => &["pve-types", "pve-client", "secret"],
        "crates/images" => &["pve-client"],
        "crates/ferrite-image" => &["images", "pve-client"],
        _ if folder.starts_with("modules/") => {
            &["ansible-module", "images", "managed-node", "pve-client", "pve-types", "secret"]
        }
        // a new room has to be drawn before it may depend on anything
        _ => &[],
    };
    allowed.contains(&other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_point_one_way() {
        for (folder, other, for_tests, allowed) in [
            ("crates/pve-client", "pve-types", false, true),
            ("crates/pve-types", "pve-client", false, false),
            ("crates/ansible-module", "secret", false, true),
            ("crates/ansible-module", "pve-types", false, false),
            ("crates/managed-node", "pve-types", false, false),
            ("crates/secret", "pve-types", false, false),
            ("crates/xtask", "secret", false, false),
            ("modules/pve_vm", "pve-client", false, true),
            ("modules/pve_vm", "timer_mask", false, false),
            ("modules/pve_vm", "timer_mask", true, false),
            ("modules/pve_vm", "harness", true, true),
            ("modules/pve_vm", "harness", false, false),
            ("inventory/pve_inventory", "pve-client", false, true),
            ("inventory/pve_inventory", "ansible-module", false, false),
            ("tests/pve-lab", "pve-types", false, true),
            ("crates/ferrite-image", "pve-client", false, true),
            ("crates/ferrite-image", "managed-node", false, false),
            ("crates/images", "pve-client", false, true),
            ("crates/images", "pve-types", false, false),
            ("crates/ferrite-image", "images", false, true),
            ("crates/ferrite-image", "ansible-module", false, false),
            ("modules/pve_image", "images", false, true),
            ("crates/new", "secret", false, false),
        ] {
            assert_eq!(is_allowed(folder, other, for_tests), allowed, "{folder} -> {other}");
        }
    }
}
