//! How far a transfer is, for the person who waits at a terminal, and for nobody else.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use images::Progress;

/// Often enough to see that it goes on.
const OFTEN: Duration = Duration::from_millis(200);

/// A line that is written over.
#[derive(Debug)]
pub(crate) struct Bar {
    shown: bool,
    began: Instant,
    last: Option<Instant>,
}

impl Bar {
    /// One that is seen if standard error is a terminal.
    pub(crate) fn new() -> Self {
        Self { shown: std::io::stderr().is_terminal(), began: Instant::now(), last: None }
    }

    /// Shows how far it is.
    pub(crate) fn show(&mut self, progress: Progress) {
        let whole = progress.total == Some(progress.done);
        let soon = self.last.is_some_and(|last| last.elapsed() < OFTEN);
        if !self.shown || (soon && !whole) {
            return;
        }
        self.last = Some(Instant::now());
        eprint!("\r{}\x1b[K", line(progress, self.began.elapsed()));
        // a terminal that is gone is no reason to stop
        let _ = std::io::stderr().flush();
    }

    /// Takes the line away.
    pub(crate) fn end(&self) {
        if self.last.is_some() {
            eprint!("\r\x1b[K");
        }
    }
}

fn line(Progress { done, total }: Progress, elapsed: Duration) -> String {
    let rate = u128::from(done) * 1000 / elapsed.as_millis().max(1);
    let rate = size(u64::try_from(rate).unwrap_or(u64::MAX));
    match total {
        Some(total) if total > 0 => {
            const WIDTH: u64 = 30;
            let full = done.min(total) * WIDTH / total;
            let bar: String = (0..WIDTH).map(|at| if at < full { '#' } else { '.' }).collect();
            let percent = done.min(total) * 100 / total;
            format!("[{bar}] {percent:3} %  {} of {}  {rate}/s", size(done), size(total))
        }
        _ => format!("{}  {rate}/s", size(done)),
    }
}

/// A size for people.
pub(crate) fn size(bytes: u64) -> String {
    let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match units.into_iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, word)) => format!("{}.{} {word}", bytes / unit, bytes % unit * 10 / unit),
        None => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_say_how_far_it_is() {
        let second = Duration::from_secs(1);
        for (done, total, text) in [
            (
                0,
                Some(3 << 20),
                "[..............................]   0 %  0 bytes of 3.0 MiB  0 bytes/s",
            ),
            (
                3 << 19,
                Some(3 << 20),
                "[###############...............]  50 %  1.5 MiB of 3.0 MiB  1.5 MiB/s",
            ),
            (
                3 << 20,
                Some(3 << 20),
                "[##############################] 100 %  3.0 MiB of 3.0 MiB  3.0 MiB/s",
            ),
            (5 << 30, None, "5.0 GiB  5.0 GiB/s"),
            (100, Some(0), "100 bytes  100 bytes/s"),
        ] {
            assert_eq!(line(Progress { done, total }, second), text);
        }
    }
}
