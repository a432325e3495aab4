//! How many calls are under way at once.
//!
//! pveproxy has three workers, and people use it at the same time; an idle cluster could answer many
//! more calls than that. So the number grows as long as the answers do not get slower by it, and goes
//! back when they do.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::Instant;

/// Where it starts, and what it never goes below.
const FIRST: usize = 8;
/// What counts as the same speed whatever the call took before: the noise of a network.
const NOISE: Duration = Duration::from_millis(3);

/// A limit that adapts, up to a cap.
#[derive(Debug)]
pub(crate) struct Limit {
    places: Semaphore,
    /// Places to take away as soon as they are given back.
    surplus: Cell<usize>,
    pace: RefCell<Pace>,
}

impl Limit {
    pub(crate) fn new(cap: usize) -> Self {
        let pace = Pace::new(cap);
        Self { places: Semaphore::new(pace.limit), surplus: Cell::new(0), pace: RefCell::new(pace) }
    }

    /// Makes a call when there is a place for it.
    pub(crate) async fn run<T>(&self, call: impl Future<Output = T>) -> T {
        let permit = self.places.acquire().await;
        let started = Instant::now();
        let answer = call.await;
        let mut pace = self.pace.borrow_mut();
        let before = pace.limit;
        pace.answered(started.elapsed());
        if pace.limit > before {
            let more = pace.limit - before;
            let kept = self.surplus.get().min(more);
            self.surplus.set(self.surplus.get() - kept);
            self.places.add_permits(more - kept);
        } else {
            self.surplus.set(self.surplus.get() + before - pace.limit);
        }
        if self.surplus.get() > 0
            && let Ok(permit) = permit
        {
            permit.forget();
            self.surplus.set(self.surplus.get() - 1);
        }
        answer
    }
}

/// Decides on the limit from how long the answers take. Pure.
#[derive(Debug)]
struct Pace {
    limit: usize,
    cap: usize,
    /// The answers since the limit was last looked at.
    window: Vec<Duration>,
    /// The median of the fastest window.
    best: Option<Duration>,
}

impl Pace {
    fn new(cap: usize) -> Self {
        Self { limit: FIRST.min(cap), cap, window: Vec::new(), best: None }
    }

    fn answered(&mut self, time: Duration) {
        self.window.push(time);
        if self.window.len() < self.limit {
            return;
        }
        // the median: some slow guests say nothing about the server
        self.window.sort_unstable();
        let median = self.window[self.window.len() / 2];
        self.window.clear();
        let best = self.best.map_or(median, |best| best.min(median));
        self.best = Some(best);
        if median <= best * 3 / 2 + NOISE {
            self.limit = (self.limit * 2).min(self.cap);
        } else {
            self.limit = (self.limit / 2).max(FIRST.min(self.cap));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The limits after each window of answers, each taking what `time` says for the limit.
    fn limits(cap: usize, time: impl Fn(usize) -> u64) -> Vec<usize> {
        let mut pace = Pace::new(cap);
        let mut limits = Vec::new();
        for _ in 0..6 {
            let window = pace.limit;
            for _ in 0..window {
                pace.answered(Duration::from_millis(time(window)));
            }
            limits.push(pace.limit);
        }
        limits
    }

    #[test]
    fn it_grows_while_answers_stay_as_fast() {
        assert_eq!(limits(64, |_| 15), [16, 32, 64, 64, 64, 64]);
        assert_eq!(limits(20, |_| 15), [16, 20, 20, 20, 20, 20]);
        assert_eq!(limits(4, |_| 15), [4; 6]);
    }

    #[test]
    fn a_server_with_three_places_is_not_crowded() {
        // what waits at the server waits longer the more is sent
        let busy = limits(64, |limit| 15 * limit.div_ceil(3) as u64);
        assert_eq!(busy, [16, 8, 16, 8, 16, 8]);
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_calls_than_places_and_none_is_lost() {
        let limit = Limit::new(64);
        let (running, most) = (Cell::new(0_u32), Cell::new(0_u32));
        let call = |slow: u64| {
            let (limit, running, most) = (&limit, &running, &most);
            async move {
                limit
                    .run(async {
                        running.set(running.get() + 1);
                        most.set(most.get().max(running.get()));
                        tokio::time::sleep(Duration::from_millis(slow * u64::from(running.get())))
                            .await;
                        running.set(running.get() - 1);
                    })
                    .await;
            }
        };
        // slower the more there are
        futures_util::future::join_all((0..500).map(|_| call(10))).await;
        assert!(most.get() <= 64, "{}", most.get());
        let places = limit.places.available_permits();
        assert_eq!(places, limit.pace.borrow().limit + limit.surplus.get());
    }
}
