//! How a step is told.

use std::fmt;

use pve_types::{Setting, SshKeys};
use secret::MASK;

use super::{Action, Change, Creation, Edit, From, Migration, Patience};

/// A value as a person reads it: keys decoded, secrets masked.
#[must_use]
pub(crate) fn readable(key: &str, value: &str) -> String {
    match Setting::of(key) {
        Setting::Secret => MASK.to_owned(),
        Setting::SshKeys => SshKeys::decode(value).to_string(),
        _ => value.to_owned(),
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Create(Creation { label, node, from: From::Archive { archive, .. }, .. }) => {
                write!(f, "restore {label} on {node} from {archive}")
            }
            Self::Create(Creation {
                label,
                node,
                from: From::Clone { label: source, full, .. },
                ..
            }) => {
                let how = if *full { "a full copy" } else { "a linked copy" };
                write!(f, "create {label} on {node} as {how} of {source}")
            }
            Self::Create(Creation { label, node, config, .. }) => {
                write!(f, "create {label} on {node}")?;
                let source = config.values().find_map(|line| line.split("import-from=").nth(1));
                match source {
                    Some(source) => {
                        write!(f, " from {}", source.split(',').next().unwrap_or(source))
                    }
                    None => Ok(()),
                }
            }
            Self::Set(edit) => edit.fmt(f),
            Self::Grow { label, disk, from: Some(from), to } => {
                write!(f, "grow {disk} of {label} from {from} to {to}")
            }
            Self::Grow { label, disk, from: None, to } => {
                write!(f, "grow {disk} of {label} to {to}")
            }
            Self::Regenerate { label } => write!(f, "write the cloud-init drive of {label} anew"),
            Self::Migrate(Migration { label, from, to, online, .. }) => {
                let how = if *online { " while it runs" } else { "" };
                write!(f, "migrate {label} from {from} to {to}{how}")
            }
            Self::Move { label, disk, from, to, .. } => {
                write!(f, "move {disk} of {label} from storage {from} to {to}")
            }
            Self::Power { label, action } => match action {
                Action::Start => write!(f, "start {label}"),
                Action::Resume => write!(f, "resume {label}"),
                Action::Pause => write!(f, "pause {label}"),
                Action::Hibernate => write!(f, "hibernate {label}"),
                Action::Shutdown(patience) => write!(f, "shut down {label}{patience}"),
                Action::Restart { patience, pending } if pending.is_empty() => {
                    write!(f, "restart {label}{patience}")
                }
                Action::Restart { patience, pending } => {
                    let pending = pending.join(", ");
                    write!(f, "restart {label}{patience}, which brings {pending} into force")
                }
                Action::RestartIfPending(patience) => {
                    write!(f, "restart {label}{patience}, if what was set waits for that")
                }
            },
            Self::Template { label } => write!(f, "make {label} a template"),
            Self::Destroy { label, volumes } if volumes.is_empty() => write!(f, "destroy {label}"),
            Self::Destroy { label, volumes } => {
                write!(f, "destroy {label} with its volumes {}", volumes.join(", "))
            }
        }
    }
}

impl fmt::Display for Patience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let timeout = self.timeout;
        match self.force {
            false => write!(f, " within {timeout} s"),
            true => write!(f, ", and stop it hard after {timeout} s"),
        }
    }
}

impl fmt::Display for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.set.is_empty() && self.delete.is_empty() && self.revert.is_empty() {
            return write!(f, "set what differs on {}", self.label);
        }
        let mut separator = "";
        for (key, value) in &self.set {
            let value = readable(key, value);
            match self.before.get(key) {
                Some(before) if !before.trim().is_empty() => {
                    let before = readable(key, before);
                    write!(f, "{separator}set {key} to {value:?} (was {before:?})")?;
                }
                _ => write!(f, "{separator}set {key} to {value:?}")?,
            }
            separator = ", ";
        }
        for key in &self.delete {
            match self.before.get(key) {
                Some(before) => {
                    write!(f, "{separator}take away {key} (was {:?})", readable(key, before))?;
                }
                None => write!(f, "{separator}take away {key}")?,
            }
            // PVE keeps no volume that nothing names
            if key.starts_with("unused") {
                write!(f, " and destroy its volume")?;
            }
            separator = ", ";
        }
        for (key, value) in &self.revert {
            match value {
                Some(value) => {
                    let value = readable(key, value);
                    write!(f, "{separator}drop the pending value {value:?} of {key}")?;
                }
                None => write!(f, "{separator}drop the pending removal of {key}")?,
            }
            separator = ", ";
        }
        write!(f, " on {}", self.label)
    }
}
