//! The reserved keys that each ansible-core puts beside a task's options.

use serde_json::{Map, Value, json};

/// An ansible-core, told apart by the keys it sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Core {
    /// 2.16: 15 keys, and the option for string conversion.
    V2_16,
    /// 2.17 and 2.18: unknown options and the log target came.
    V2_17,
    /// 2.19 and 2.20: string conversion went, tracebacks came.
    #[default]
    V2_19,
    /// 2.21: the invocation is asked for.
    V2_21,
}

impl Core {
    /// All of them, oldest first.
    pub const ALL: [Self; 4] = [Self::V2_16, Self::V2_17, Self::V2_19, Self::V2_21];

    /// The keys and their usual values for a task that names `module` in full.
    #[must_use]
    pub fn reserved(self, module: &str) -> Map<String, Value> {
        let version = match self {
            Self::V2_16 => "2.16.19",
            Self::V2_17 => "2.17.14",
            Self::V2_19 => "2.19.14",
            Self::V2_21 => "2.21.5",
        };
        let mut keys = json!({
            "_ansible_check_mode": false,
            "_ansible_no_log": false,
            "_ansible_debug": false,
            "_ansible_diff": false,
            "_ansible_verbosity": 0,
            "_ansible_version": version,
            "_ansible_module_name": format!("ferrite.pve.{module}"),
            "_ansible_syslog_facility": "LOG_USER",
            "_ansible_selinux_special_fs": ["fuse", "nfs", "vboxsf", "ramfs", "9p", "vfat"],
            "_ansible_socket": null,
            "_ansible_shell_executable": "/bin/sh",
            "_ansible_keep_remote_files": false,
            "_ansible_tmpdir": "/root/.ansible/tmp/ansible-tmp-1700000000.1-1-1/",
            "_ansible_remote_tmp": "~/.ansible/tmp",
        });
        if matches!(self, Self::V2_16 | Self::V2_17) {
            keys["_ansible_string_conversion_action"] = "warn".into();
        }
        if self != Self::V2_16 {
            keys["_ansible_ignore_unknown_opts"] = false.into();
            keys["_ansible_target_log_info"] = Value::Null;
        }
        if matches!(self, Self::V2_19 | Self::V2_21) {
            keys["_ansible_tracebacks_for"] = json!([]);
        }
        if self == Self::V2_21 {
            keys["_ansible_inject_invocation"] = false.into();
        }
        match keys {
            Value::Object(keys) => keys,
            _ => Map::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_core_sends_as_many_keys_as_were_counted() {
        for (core, count) in Core::ALL.into_iter().zip([15, 17, 17, 18]) {
            assert_eq!(core.reserved("x").len(), count, "{core:?}");
        }
    }
}
