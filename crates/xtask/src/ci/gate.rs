//! Runs the programs of the gate, keeps what they print, and counts.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// How much of a failed program's output is shown; all of it is in its log.
const SHOWN: usize = 60;

/// How long to wait for a line before looking whether the program has ended.
const PAUSE: Duration = Duration::from_millis(200);

/// How many programs run beside each other.
const LANES: usize = 2;

/// What passed and what failed.
#[derive(Default)]
pub(super) struct Tally {
    logs: PathBuf,
    passed: usize,
    failed: usize,
    failures: Vec<String>,
}

/// How a program ended.
pub(super) struct Ended {
    /// The exit status; -1 after a signal.
    pub(super) status: i32,
    /// What it printed, both streams.
    pub(super) output: String,
    pub(super) took: Duration,
    pub(super) log: PathBuf,
}

impl Ended {
    pub(super) fn success(&self) -> bool {
        self.status == 0
    }

    /// The end of the output, and where all of it is.
    pub(super) fn tail(&self) -> String {
        let lines: Vec<&str> = self.output.lines().collect();
        let shown = lines[lines.len().saturating_sub(SHOWN)..].join("\n");
        format!("{shown}\n(all of it: {})", self.log.display())
    }
}

impl Tally {
    pub(super) fn new(logs: PathBuf) -> Result<Self> {
        fs::create_dir_all(&logs).with_context(|| logs.display().to_string())?;
        Ok(Self { logs, ..Self::default() })
    }

    pub(super) fn pass(&mut self, name: &str) {
        self.passed += 1;
        println!("   ok      {name}");
    }

    pub(super) fn fail(&mut self, name: &str, reason: &str) {
        self.failed += 1;
        self.failures.push(name.to_owned());
        println!("   FAILED  {name}");
        for line in reason.lines() {
            println!("           {line}");
        }
    }

    /// Something that this machine has no means to check; it does not count.
    #[expect(clippy::unused_self, reason = "it stands beside pass and fail")]
    pub(super) fn skip(&self, name: &str, reason: &str) {
        println!("   skipped {name}: {reason}");
    }

    /// Counts the tests that a program ran itself.
    pub(super) fn add(&mut self, passed: usize, failures: Vec<String>) {
        self.passed += passed;
        self.failed += failures.len();
        self.failures.extend(failures);
    }

    /// Runs a program that is one test.
    pub(super) fn gate(&mut self, name: &str, command: &mut Command) -> Result<Ended> {
        let ended = self.run(name, command, &|_| ())?;
        if ended.success() {
            self.pass(name);
        } else {
            self.fail(name, &ended.tail());
        }
        Ok(ended)
    }

    /// Runs a program; its output goes to a log and line by line to `look`.
    pub(super) fn run(
        &self,
        name: &str,
        command: &mut Command,
        look: &dyn Fn(&str),
    ) -> Result<Ended> {
        let start = Instant::now();
        let word = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let log = self.logs.join(format!("{}.log", name.chars().map(word).collect::<String>()));
        let mut file = File::create(&log).with_context(|| log.display().to_string())?;
        let (reader, writer) = std::io::pipe()?;
        command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
        let program = command.get_program().to_string_lossy().into_owned();
        let mut child = command.spawn().with_context(|| format!("{program} cannot be run"))?;
        // the command holds the writing end, and without its end the reading never ends
        command.stdout(Stdio::null()).stderr(Stdio::null());
        // read beside it: a process that the program left behind keeps the reading end open
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(reader).split(b'\n').map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let mut output = String::new();
        let mut ended = None;
        loop {
            match lines.recv_timeout(PAUSE) {
                Ok(line) => {
                    let line = String::from_utf8_lossy(&line).into_owned();
                    writeln!(file, "{line}")?;
                    look(&line);
                    output.push_str(&line);
                    output.push('\n');
                }
                Err(RecvTimeoutError::Timeout) if ended.is_none() => ended = child.try_wait()?,
                // it has ended and nothing more came in the meantime
                Err(_) => break,
            }
        }
        let status = ended.map_or_else(|| child.wait(), Ok)?.code().unwrap_or(-1);
        Ok(Ended { status, output, took: start.elapsed(), log })
    }

    /// Runs programs beside each other, two at a time, since most of them wait for a guest most of
    /// the time; each needs a name of its own. `done` hears of each as it ends.
    pub(super) fn run_beside(
        &mut self,
        programs: Vec<(String, Command)>,
        mut done: impl FnMut(&mut Self, String, Result<Ended>),
    ) {
        let waiting = Mutex::new(programs.into_iter());
        let next = || waiting.lock().ok()?.next();
        let (sender, ended) = mpsc::channel();
        let logs = Self { logs: self.logs.clone(), ..Self::default() };
        thread::scope(|scope| {
            for _ in 0..LANES {
                let (sender, next, logs) = (sender.clone(), &next, &logs);
                scope.spawn(move || {
                    while let Some((name, mut command)) = next() {
                        let result = logs.run(&name, &mut command, &|_| ());
                        if sender.send((name, result)).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(sender);
            ended.iter().for_each(|(name, result)| done(self, name, result));
        });
    }

    /// Prints what failed and the last line; says whether nothing failed.
    pub(super) fn finish(self) -> bool {
        if !self.failures.is_empty() {
            println!("\nfailed:");
            self.failures.iter().for_each(|name| println!("  {name}"));
        }
        println!("\n{} passed, {} failed", self.passed, self.failed);
        self.failed == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_beside_each_other_are_all_heard_of() {
        let logs = tempfile::tempdir().unwrap();
        let mut tally = Tally::new(logs.path().to_owned()).unwrap();
        // the first ends when the second has begun
        let sh = |line: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", line]).current_dir(logs.path());
            command
        };
        let programs = vec![
            ("a".to_owned(), sh("mkfifo pipe 2>/dev/null; read line <pipe; exit 3")),
            ("b".to_owned(), sh("mkfifo pipe 2>/dev/null; echo >pipe")),
            ("c".to_owned(), Command::new("/nonexistent/program")),
        ];
        let mut heard = Vec::new();
        tally.run_beside(programs, |_, name, ended| {
            heard.push((name, ended.map(|ended| ended.status).ok()));
        });
        heard.sort();
        let expected = [("a", Some(3)), ("b", Some(0)), ("c", None)];
        assert_eq!(heard, expected.map(|(name, status)| (name.to_owned(), status)));
    }

    #[test]
    fn a_program_that_leaves_a_process_behind_does_not_hold_the_gate() {
        let logs = tempfile::tempdir().unwrap();
        let tally = Tally::new(logs.path().to_owned()).unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 600 & echo $!; exit 3"]);
        let ended = tally.run("left behind", &mut command, &|_| ()).unwrap();
        let left = ended.output.trim();
        assert!(Command::new("kill").arg(left).status().unwrap().success(), "{left} is alive");
        assert_eq!(ended.status, 3);
    }
}
