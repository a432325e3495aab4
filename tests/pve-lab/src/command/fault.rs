//! `pve-lab fault`: what shall go wrong, as words of a command line.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, Subcommand, ValueEnum};
use pve_lab::{AgentScript, CallFault, Fault, TaskFault, ask};

/// What shall go wrong.
#[derive(Debug, Subcommand)]
pub(crate) enum Kind {
    /// A guest is locked, and stays so for a time.
    Lock {
        /// The guest.
        vmid: u32,
        /// By what.
        #[arg(long, default_value = "backup")]
        lock: String,
        /// For how many seconds.
        #[arg(long, default_value_t = 10.0)]
        seconds: f64,
    },
    /// Another process holds a guest's configuration: `got timeout`.
    Hold {
        /// The guest.
        vmid: u32,
        /// For how many seconds.
        #[arg(long, default_value_t = 10.0)]
        seconds: f64,
    },
    /// The next tasks of a type fail, warn or are slow.
    Task {
        /// The type: qmcreate, qmstart, qmsnapshot.
        kind: String,
        #[command(flatten)]
        end: TaskEnd,
        /// How many tasks.
        #[arg(long, default_value_t = 1)]
        times: u32,
    },
    /// The next calls are dropped, answered by the proxy, or slow.
    Call {
        /// The method: GET, POST, PUT, DELETE.
        method: String,
        /// A part of the path: /config.
        part: String,
        #[command(flatten)]
        end: CallEnd,
        /// How many calls.
        #[arg(long, default_value_t = 1)]
        times: u32,
    },
    /// The configuration changes just before the next change that names its digest.
    Digest {
        /// The guest.
        vmid: u32,
    },
    /// A guest's agent does something else from now on.
    Agent {
        /// The guest.
        vmid: u32,
        /// What it does.
        #[arg(value_enum)]
        does: AgentDoes,
        /// How many seconds a slow one takes.
        #[arg(long, default_value_t = 2.0)]
        seconds: f64,
    },
    /// A storage is full.
    Full {
        /// The storage.
        storage: String,
        /// How many bytes are left.
        #[arg(long, default_value_t = 0)]
        free: u64,
    },
    /// A guest powers off by itself.
    PowerOff {
        /// The guest.
        vmid: u32,
    },
    /// A node is off the network.
    Offline {
        /// The node.
        node: String,
        /// It is back.
        #[arg(long)]
        back: bool,
    },
    /// What has not happened yet does not.
    Clear,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct TaskEnd {
    /// They fail with this text, having done nothing.
    #[arg(long)]
    fail: Option<String>,
    /// They do their work, and warn of this.
    #[arg(long)]
    warn: Vec<String>,
    /// They take so many seconds longer.
    #[arg(long)]
    slow: Option<f64>,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct CallEnd {
    /// Carried out, and not answered.
    #[arg(long)]
    drop: bool,
    /// Neither carried out nor answered.
    #[arg(long)]
    drop_before: bool,
    /// Not carried out; the cluster's proxy answers with this status: 595, 596, 599.
    #[arg(long)]
    proxy: Option<u16>,
    /// Carried out; the cluster's proxy answers with this status.
    #[arg(long)]
    proxy_after: Option<u16>,
    /// Answered so many seconds later.
    #[arg(long)]
    slow: Option<f64>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum AgentDoes {
    /// Nobody listens.
    Absent,
    /// It takes questions and never answers.
    Silent,
    /// It takes its time.
    Slow,
    /// What an agent does.
    Answer,
}

fn time(seconds: f64) -> anyhow::Result<Duration> {
    Duration::try_from_secs_f64(seconds).with_context(|| format!("{seconds} is no time"))
}

fn proxy(status: u16, done: bool) -> CallFault {
    let reason = match status {
        595 => "Connection refused",
        596 => "Broken pipe",
        599 => "Too many redirections",
        _ => "Connection timed out",
    };
    CallFault::Proxy { status, reason: reason.to_owned(), done }
}

fn fault(kind: Kind) -> anyhow::Result<Fault> {
    Ok(match kind {
        Kind::Lock { vmid, lock, seconds } => Fault::Lock { vmid, lock, time: time(seconds)? },
        Kind::Hold { vmid, seconds } => Fault::Hold { vmid, time: time(seconds)? },
        Kind::Task { kind, end, times } => {
            let fault = match (end.fail, end.slow) {
                (Some(text), _) => TaskFault::Fail(text),
                (_, Some(seconds)) => TaskFault::Slow(time(seconds)?),
                _ => TaskFault::Warn(end.warn),
            };
            Fault::Task { kind, times, fault }
        }
        Kind::Call { method, part, end, times } => {
            let fault = match end {
                CallEnd { drop: true, .. } => CallFault::DropAfter,
                CallEnd { proxy: Some(status), .. } => proxy(status, false),
                CallEnd { proxy_after: Some(status), .. } => proxy(status, true),
                CallEnd { slow: Some(seconds), .. } => CallFault::Slow(time(seconds)?),
                _ => CallFault::DropBefore,
            };
            Fault::Call { method, part, times, fault }
        }
        Kind::Digest { vmid } => Fault::Call {
            method: "PUT".to_owned(),
            part: format!("/{vmid}/config"),
            times: 1,
            fault: CallFault::ChangeDigest,
        },
        Kind::Agent { vmid, does, seconds } => {
            let mut script = AgentScript::default();
            match does {
                AgentDoes::Absent => script.not_running = true,
                AgentDoes::Silent => script.timeout = true,
                AgentDoes::Slow => script.latency = time(seconds)?,
                AgentDoes::Answer => {}
            }
            Fault::Agent { vmid, script }
        }
        Kind::Full { storage, free } => Fault::Free { storage, bytes: free },
        Kind::PowerOff { vmid } => Fault::PowerOff { vmid },
        Kind::Offline { node, back } => Fault::Offline { node, offline: !back },
        Kind::Clear => Fault::Clear,
    })
}

/// Asks the lab of a directory for a fault.
pub(crate) fn run(dir: &Path, kind: Kind) -> anyhow::Result<()> {
    ask(&dir.join("control"), &fault(kind)?)
}
