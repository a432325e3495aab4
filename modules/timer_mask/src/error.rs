//! What can go wrong, each with its operand.

use std::path::PathBuf;

/// A failure of this module.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("option timers: at least one timer is needed")]
    NoTimers,
    #[error("option timers: '{name}' has no suffix .timer; did you mean '{name}.timer'?")]
    Suffix { name: String },
    #[error("option timers: '{name}' is not a timer; only units with the suffix .timer are masked")]
    NotATimer { name: String },
    #[error("option timers: '{name}' is not the name of a unit")]
    Name { name: String },
    #[error(
        "failed to mask {name}: {path} is a unit file of this machine's own and stands where the \
         mask has to be; move or remove it first, or disable the timer there"
    )]
    OwnFile { name: String, path: String },
    #[error(
        "failed to mask {name}: {path} is a symlink to {} and stands where the mask has to be; \
         disable the linked unit first", target.display()
    )]
    Linked { name: String, path: String, target: PathBuf },
    #[error(
        "failed to mask {name}: it is another name of {real}, which would stay as it is; name \
         {real} instead"
    )]
    Alias { name: String, real: String },
    #[error(
        "failed to mask {name}: {path} outranks a mask in /etc/systemd/system (a transient unit or \
         one set by systemctl); stop or revert it first"
    )]
    Outranked { name: String, path: String },
    #[error("failed to unmask {name}: its package masks it in {path}")]
    VendorMask { name: String, path: String },
    #[error(
        "{service} is still running {seconds} s after {timer} was masked; raise wait_timeout, or \
         have it stopped with stop_running: stop"
    )]
    StillRunning { service: String, timer: String, seconds: u64 },
    #[error("failed to read what systemd says about {unit}: no ActiveState in its answer")]
    Show { unit: String },
    #[error("failed to read {path}: it does not hold a remembered state")]
    Record { path: String, source: serde_json::Error },
}
