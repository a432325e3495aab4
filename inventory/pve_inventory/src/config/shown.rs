//! What is in force, for a person. Secrets are masked.

use std::path::PathBuf;

use pve_types::address::{Family, Policy};
use secret::Secret;

use crate::config::{Cluster, Config, Facts, Setting};
use crate::names::Pattern;

/// A name, a value and where it came from.
type Line = (String, String, String);

impl Config {
    /// What is in force, with its origin.
    pub(crate) fn lines(&self) -> Vec<Line> {
        let file = self.file.as_ref().map_or("none found".to_owned(), |f| f.display().to_string());
        let mut lines = vec![("configuration file".to_owned(), file, String::new())];
        for cluster in &self.clusters {
            cluster.lines(&mut lines);
        }
        fn add<T>(lines: &mut Vec<Line>, name: &str, setting: &Setting<T>, value: String) {
            lines.push((name.to_owned(), value, setting.origin.to_string()));
        }
        macro_rules! shown {
            ($($name:literal, $field:ident, $show:expr;)+) => {
                $(add(&mut lines, $name, &self.$field, $show(&self.$field.value));)+
            };
        }
        shown! {
            "timeout", timeout, u32::to_string;
            "guests", guests, path;
            "templates", templates, bool::to_string;
            "concurrency", concurrency, u32::to_string;
            "agent_timeout", agent_timeout, u32::to_string;
            "address", policy, policy;
            "strict", strict, bool::to_string;
            "filters", filters, ToString::to_string;
            "hostname", hostname, Pattern::to_string;
            "prefix", prefix, String::clone;
            "nodes", nodes, bool::to_string;
            "facts", facts, |facts: &Facts| format!("{facts:?}").to_lowercase();
            "cloud_init_user", cloud_init_user, bool::to_string;
            "cache", cache, |seconds: &u32| if *seconds == 0 { "off".to_owned() } else { format!("{seconds} s") };
        }
        optional(&mut lines, "cache_dir", self.cache_dir.as_ref(), path);
        shown! {
            "stale_if_error", stale_if_error, bool::to_string;
            "silent_memory", silent_memory, u32::to_string;
        }
        lines
    }
}

impl Cluster {
    fn lines(&self, lines: &mut Vec<Line>) {
        if let Some(name) = &self.name {
            lines.push(("cluster".to_owned(), name.clone(), "configuration file".to_owned()));
        }
        let word = if self.hosts().len() > 1 { "endpoints" } else { "host" };
        let list = |list: &Vec<String>| list.join(", ");
        // the program alone: what follows may be a secret, or say where one is
        let command = |words: &Vec<String>| {
            let line = match &words[..] {
                [shell, option, line] if shell == "/bin/sh" && option == "-c" => line,
                [program, ..] => program,
                [] => "",
            };
            let program = line.split_whitespace().next().filter(|word| !word.contains('='));
            format!("{} ...", program.unwrap_or("a command"))
        };
        optional(lines, word, self.endpoints.as_ref(), list);
        optional(lines, "port", self.port.as_ref(), u16::to_string);
        optional(lines, "user", self.user.as_ref(), String::clone);
        optional(lines, "password", self.password.as_ref(), Secret::to_string);
        optional(lines, "password_file", self.password_file.as_ref(), path);
        optional(lines, "password_command", self.password_command.as_ref(), command);
        optional(lines, "token_id", self.token_id.as_ref(), String::clone);
        optional(lines, "token_secret", self.token_secret.as_ref(), Secret::to_string);
        optional(lines, "token_secret_file", self.token_secret_file.as_ref(), path);
        optional(lines, "token_secret_command", self.token_secret_command.as_ref(), command);
        optional(lines, "ca_path", self.ca_path.as_ref(), path);
        optional(lines, "fingerprint", self.fingerprints.as_ref(), list);
        let checked = Some(&self.validate_certs);
        optional(lines, "validate_certs", checked, bool::to_string);
    }
}

fn optional<T>(
    lines: &mut Vec<Line>,
    name: &str,
    setting: Option<&Setting<T>>,
    show: impl Fn(&T) -> String,
) {
    let (value, origin) = match setting {
        Some(setting) => (show(&setting.value), setting.origin.to_string()),
        None => ("not set".to_owned(), String::new()),
    };
    lines.push((name.to_owned(), value, origin));
}

#[expect(clippy::ptr_arg, reason = "it is handed over as a function of the setting's own type")]
fn path(path: &PathBuf) -> String {
    path.display().to_string()
}

fn policy(policy: &Policy) -> String {
    let family = match policy.prefer {
        Family::Ipv4 => "ipv4",
        Family::Ipv6 => "ipv6",
    };
    let mut parts = vec![format!("prefer {family}")];
    for (word, networks) in [("in", &policy.networks), ("not in", &policy.exclude)] {
        if !networks.is_empty() {
            let list: Vec<String> = networks.iter().map(ToString::to_string).collect();
            parts.push(format!("{word} {}", list.join(", ")));
        }
    }
    if let Some(net) = policy.net {
        parts.push(format!("of {net}"));
    }
    parts.join(", ")
}
