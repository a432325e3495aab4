//! Which variables a spec may set.

use crate::names;

/// What Ansible sets for every host. It drops most of these without a word when an inventory has
/// them, and breaks at the rest.
const ANSIBLES: [&str; 45] = [
    "ansible_check_mode",
    "ansible_collection_name",
    "ansible_config_file",
    "ansible_delegated_vars",
    "ansible_dependent_role_names",
    "ansible_diff_mode",
    "ansible_facts",
    "ansible_forks",
    "ansible_index_var",
    "ansible_inventory_sources",
    "ansible_limit",
    "ansible_local",
    "ansible_loop",
    "ansible_loop_var",
    "ansible_parent_role_names",
    "ansible_parent_role_paths",
    "ansible_play_batch",
    "ansible_play_hosts",
    "ansible_play_hosts_all",
    "ansible_play_name",
    "ansible_play_role_names",
    "ansible_playbook_python",
    "ansible_role_name",
    "ansible_role_names",
    "ansible_run_tags",
    "ansible_search_path",
    "ansible_skip_tags",
    "ansible_verbosity",
    "ansible_version",
    "environment",
    "group_names",
    "groups",
    "hostvars",
    "inventory_dir",
    "inventory_file",
    "inventory_hostname",
    "inventory_hostname_short",
    "lookup",
    "omit",
    "play_hosts",
    "playbook_dir",
    "query",
    "role_name",
    "role_path",
    "vars",
];

/// Checks the name of a variable.
pub(super) fn check(name: &str) -> Result<(), String> {
    let wrong = |reason: &str| Err(format!("vars: '{name}' {reason}"));
    if !names::is_variable(name) {
        return wrong("cannot be a variable; allowed are letters, digits and '_'");
    }
    if name.starts_with("pve_") {
        return wrong("begins with pve_, which this inventory's own do; allowed is any other name");
    }
    if ANSIBLES.contains(&name) {
        return wrong("is reserved: Ansible sets it itself; allowed is any other name");
    }
    // with `local` in it the tasks for the guest would change the control node
    if name == "ansible_connection" {
        return wrong(
            "is reserved: a guest is reached by ssh; allowed of the connection are ansible_host, \
             ansible_port, ansible_user and ansible_ssh_...",
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_set_is_refused_with_what_is_allowed() {
        for name in ["groups", "hostvars", "inventory_hostname", "ansible_facts", "omit", "vars"] {
            assert_eq!(
                check(name).unwrap_err(),
                format!(
                    "vars: '{name}' is reserved: Ansible sets it itself; allowed is any other name"
                )
            );
        }
        for (name, text) in [
            ("a-b", "vars: 'a-b' cannot be a variable; allowed are letters"),
            ("pve_spec", "vars: 'pve_spec' begins with pve_, which this inventory's own do;"),
            (
                "ansible_connection",
                "vars: 'ansible_connection' is reserved: a guest is reached by ssh; allowed of the",
            ),
        ] {
            let error = check(name).unwrap_err();
            assert!(error.starts_with(text), "{error}");
        }
        for name in ["web_port", "ansible_host", "ansible_port", "ansible_user", "group", "pve"] {
            assert_eq!(check(name), Ok(()));
        }
    }
}
