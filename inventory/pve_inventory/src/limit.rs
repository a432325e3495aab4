//! How many calls are under way at once.
//!
//! pveproxy has three workers, and people use it at the same time; an idle cluster could answer many
//! more calls than that. So the number grows as long as the answers do not get slower by it, and goes
//! back when they do.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};

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

    /// Waits for a place.
    pub(crate) async fn enter(&self) -> Place<'_> {
        // the semaphore is never closed
        Place { limit: self, permit: self.places.acquire().await.ok() }
    }
}

/// The place of one call. It is given back when this is dropped.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    limit: &'a Limit,
    permit: Option<SemaphorePermit<'a>>,
}

impl Place<'_> {
    /// Gives the place back after an answer that took so long.
    pub(crate) fn answered(self, time: Duration) {
        let limit = self.limit;
        let mut pace = limit.pace.borrow_mut();
        let before = pace.limit;
        pace.answered(time);
        if pace.limit > before {
            let more = pace.limit - before;
            let kept = limit.surplus.get().min(more);
            limit.surplus.set(limit.surplus.get() - kept);
            limit.places.add_permits(more - kept);
        } else {
            limit.surplus.set(limit.surplus.get() + before - pace.limit);
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let surplus = &self.limit.surplus;
        if surplus.get() > 0
            && let Some(permit) = self.permit.take()
        {
            permit.forget();
            surplus.set(surplus.get() - 1);
        }
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
                let place = limit.enter().await;
                let started = tokio::time::Instant::now();
                running.set(running.get() + 1);
                most.set(most.get().max(running.get()));
                let time = Duration::from_millis(slow * u64::from(running.get()));
                tokio::time::sleep(time).await;
                running.set(running.get() - 1);
                if running.get() % 3 > 0 {
                    place.answered(started.elapsed());
                }
            }
        };
        // slower the more there are
        futures_util::future::join_all((0..500).map(|_| call(10))).await;
        assert!(most.get() <= 64, "{}", most.get());
        let places = limit.places.available_permits();
        assert_eq!(places, limit.pace.borrow().limit + limit.surplus.get());
    }
}
