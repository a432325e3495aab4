//! Waits for what takes time, or for a signal. What was begun is then given up in order: a file that
//! is half there is removed.

use std::future::Future;

use anyhow::{Context, Result, bail};
use tokio::signal::unix::{SignalKind, signal};

/// Runs something to its end.
pub(super) fn wait<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("failed to start")?;
    runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            result = work => result,
            _ = interrupt.recv() => bail!("ended by SIGINT; nothing is left behind"),
            _ = terminate.recv() => bail!("ended by SIGTERM; nothing is left behind"),
        }
    })
}
