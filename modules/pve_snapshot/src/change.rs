//! One step, and how it is told.

use std::fmt;

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    /// A snapshot is taken.
    Take {
        /// The machine.
        label: String,
        /// The snapshot.
        name: String,
        /// What it is for.
        description: Option<String>,
        /// Whether with memory.
        memory: bool,
    },
    /// What a snapshot is for is said anew.
    Describe {
        /// The machine.
        label: String,
        /// The snapshot.
        name: String,
        /// What it was for.
        before: String,
        /// What it is for.
        description: String,
    },
    /// A snapshot is removed.
    Remove {
        /// The machine.
        label: String,
        /// The snapshot.
        name: String,
        /// Whether even if a disk's part cannot be removed.
        force: bool,
    },
    /// The machine goes back.
    Rollback {
        /// The machine.
        label: String,
        /// The snapshot.
        name: String,
        /// Whether the machine is stopped by it.
        stops: bool,
        /// Whether it runs afterwards.
        runs: bool,
    },
}

impl Change {
    /// The machine, for messages.
    #[must_use]
    pub(crate) fn label(&self) -> &str {
        match self {
            Self::Take { label, .. }
            | Self::Describe { label, .. }
            | Self::Remove { label, .. }
            | Self::Rollback { label, .. } => label,
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Take { label, name, memory, .. } => {
                let memory = if *memory { " with its memory" } else { "" };
                write!(f, "take snapshot {name} of {label}{memory}")
            }
            Self::Describe { label, name, before, description } => write!(
                f,
                "set description of snapshot {name} of {label} to {description:?} (was {before:?})"
            ),
            Self::Remove { label, name, .. } => write!(f, "remove snapshot {name} of {label}"),
            Self::Rollback { label, name, stops, runs } => {
                write!(f, "take {label} back to snapshot {name}")?;
                f.write_str(match (stops, runs) {
                    (true, true) => ", which stops it and starts it again",
                    (true, false) => ", which stops it",
                    (false, true) => " and let it run",
                    (false, false) => "",
                })
            }
        }
    }
}
