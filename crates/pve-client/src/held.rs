//! Guests that another task holds: waited for, never unlocked.

use std::time::Duration;

use crate::classify::Kind;
use crate::error::Error;
use crate::pauses::Pauses;

/// Does a step again while another task holds the guest, until the time is over.
///
/// # Errors
/// As the step.
pub async fn while_held<T>(
    timeout: Duration,
    mut step: impl AsyncFnMut() -> Result<T, Error>,
) -> Result<T, Error> {
    let mut pauses = Pauses::new(timeout);
    loop {
        match step().await {
            Err(error) if is_held(&error) && pauses.pause().await => {}
            result => return result,
        }
    }
}

fn is_held(error: &Error) -> bool {
    matches!(error.kind(), Some(Kind::Locked(_) | Kind::LockTimeout))
}

/// What is said of a lock that stays.
#[must_use]
pub fn still_locked(label: &str, lock: &str, waited: Duration) -> String {
    format!(
        "{label} is locked ({lock}) and was so for {} s: look whether a task of that kind still \
         runs; a lock left behind by an interrupted one is cleared on its node with `qm unlock`",
        waited.as_secs()
    )
}
