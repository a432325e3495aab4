//! How many calls are under way at once.
//!
//! pveproxy has three workers, and people use it at the same time; an idle cluster could answer many
//! more calls than that. So the number grows as long as the answers do not get slower by it, and goes
//! back when they do.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};

/// Where it starts, and what it never goes below.
pub(crate) const FIRST: usize = 8;
/// What counts as the same speed whatever the call took before: the noise of a network.
const NOISE: Duration = Duration::from_millis(3);
/// How long an answer is waited for before it says more about the guest than about the server: so
/// long before anything is known, then a few times what answers take, and at least the last one.
const PATIENCE: (Duration, u32, Duration) = (Duration::from_secs(1), 4, Duration::from_millis(250));

/// A limit that adapts, up to a cap.
#[derive(Debug)]
pub(crate) struct Limit {
    places: Semaphore,
    /// Places to take away as soon as they are given back.
    surplus: Cell<usize>,
    pace: RefCell<Pace>,
    /// How many calls may wait for their guest without a place.
    outside: Semaphore,
}

impl Limit {
    pub(crate) fn new(cap: usize) -> Self {
        let pace = Pace::new(cap);
        Self {
            places: Semaphore::new(pace.limit),
            surplus: Cell::new(0),
            pace: RefCell::new(pace),
            outside: Semaphore::new(cap),
        }
    }

    /// Does not go below so many places any more, once it has grown to them.
    pub(crate) fn at_least(&self, floor: usize) {
        self.pace.borrow_mut().floor(floor);
    }

    /// Waits for a place.
    pub(crate) async fn enter(&self) -> Place<'_> {
        // the semaphore is never closed
        Place {
            limit: self,
            permit: self.places.acquire().await.ok(),
            outside: None,
            silent: false,
        }
    }
}

/// The place of one call. It is given back when this is dropped.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    limit: &'a Limit,
    permit: Option<SemaphorePermit<'a>>,
    /// Instead of the place, while a guest is waited for.
    outside: Option<SemaphorePermit<'a>>,
    silent: bool,
}

impl Place<'_> {
    /// How long the place may be kept while the guest is silent.
    pub(crate) fn patience(&self) -> Duration {
        let (unknown, times, least) = PATIENCE;
        let best = self.limit.pace.borrow().best;
        best.map_or(unknown, |best| (best * times).clamp(least, unknown))
    }

    /// Lets another call have the place while a silent guest is waited for, unless too many are
    /// waited for already: each of them may occupy a worker of the server.
    pub(crate) fn step_out(&mut self) {
        self.silent = true;
        if let Ok(outside) = self.limit.outside.try_acquire() {
            self.outside = Some(outside);
            self.give_back();
        }
    }

    /// Gives the place back after an answer that took so long. What a silent guest took says nothing.
    pub(crate) fn answered(self, time: Duration) {
        if self.silent {
            return;
        }
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

impl Place<'_> {
    fn give_back(&mut self) {
        let surplus = &self.limit.surplus;
        if let Some(permit) = self.permit.take()
            && surplus.get() > 0
        {
            permit.forget();
            surplus.set(surplus.get() - 1);
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// Decides on the limit from how long the answers take. Pure.
#[derive(Debug)]
struct Pace {
    limit: usize,
    floor: usize,
    cap: usize,
    /// The answers since the limit was last looked at.
    window: Vec<Duration>,
    /// The median of the fastest window.
    best: Option<Duration>,
}

impl Pace {
    fn new(cap: usize) -> Self {
        let first = FIRST.min(cap);
        Self { limit: first, floor: first, cap, window: Vec::new(), best: None }
    }

    fn floor(&mut self, floor: usize) {
        self.floor = floor.min(self.cap);
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
            self.limit = (self.limit * 3).min(self.cap);
        } else {
            self.limit = (self.limit / 2).max(self.floor).min(self.limit);
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
        assert_eq!(limits(64, |_| 15), [24, 64, 64, 64, 64, 64]);
        assert_eq!(limits(20, |_| 15), [20; 6]);
        assert_eq!(limits(4, |_| 15), [4; 6]);
    }

    #[test]
    fn a_server_with_three_places_is_not_crowded() {
        // what waits at the server waits longer the more is sent
        let busy = limits(64, |limit| 15 * limit.div_ceil(3) as u64);
        assert_eq!(busy, [24, 12, 36, 18, 9, 27]);
    }

    #[test]
    fn it_does_not_go_below_its_floor_nor_jump_to_it() {
        let mut pace = Pace::new(64);
        pace.floor(24);
        assert_eq!(pace.limit, FIRST);
        for (times, limit) in [(15, 24), (150, 24), (15, 64), (150, 32), (150, 24)] {
            for _ in 0..pace.limit {
                pace.answered(Duration::from_millis(times));
            }
            assert_eq!(pace.limit, limit);
        }
        pace.floor(100);
        assert_eq!(pace.floor, 64);
    }

    /// What calls take, in the order of their ends: silent guests first in the queue.
    async fn ends(cap: usize, silent: usize) -> Vec<u128> {
        let limit = Limit::new(cap);
        let started = tokio::time::Instant::now();
        let ends = RefCell::new(Vec::new());
        let call = |index: usize| {
            let (limit, ends) = (&limit, &ends);
            async move {
                let mut place = limit.enter().await;
                let entered = tokio::time::Instant::now();
                if index < silent {
                    let patience = place.patience();
                    tokio::time::sleep(patience).await;
                    place.step_out();
                    tokio::time::sleep(Duration::from_secs(3) - patience).await;
                } else {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                place.answered(entered.elapsed());
                ends.borrow_mut().push(started.elapsed().as_millis());
            }
        };
        futures_util::future::join_all((0..silent + 80).map(call)).await;
        ends.into_inner()
    }

    #[tokio::test(start_paused = true)]
    async fn silent_guests_hold_up_others_for_a_moment_only() {
        // all places are theirs for one second
        let ends = ends(8, 8).await;
        assert_eq!(ends[79], 1100, "{ends:?}");
        assert_eq!(ends.last(), Some(&3000));
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_silent_guests_are_waited_for_outside_than_there_are_places() {
        // eight step out after a second, and the next eight after another one keep their places
        let ends = ends(8, 24).await;
        assert_eq!(ends[..16], [[3000; 8], [4000; 8]].concat()[..], "{ends:?}");
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
