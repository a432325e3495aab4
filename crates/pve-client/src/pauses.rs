//! Looking again at something that takes its time.

use std::time::Duration;

use tokio::time::{Instant, sleep};

/// The pauses between two looks at something: short at first, then longer, until a deadline.
#[derive(Debug)]
pub struct Pauses {
    deadline: Instant,
    next: Duration,
}

impl Pauses {
    /// Pauses that end after this time.
    #[must_use]
    pub fn new(timeout: Duration) -> Self {
        Self { deadline: Instant::now() + timeout, next: Duration::from_millis(100) }
    }

    /// Makes a pause; false if the deadline has passed.
    pub async fn pause(&mut self) -> bool {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        sleep(self.next.min(left)).await;
        self.next = (self.next * 3 / 2).min(Duration::from_secs(2));
        true
    }
}
