//! Waits for one thing after the other, all within one limit.

use std::path::Path;
use std::time::{Duration, Instant};

use ansible_module::Run;
use managed_node::{Command, CommandError, Node};

use crate::cloud_init;
use crate::error::Error;
use crate::params::{CloudInit, Params, Returned, Waited};

/// The jobs that apt's timers start. `unattended-upgrades.service` is none: it idles until the
/// machine shuts down.
const JOBS: [&str; 2] = ["apt-daily.service", "apt-daily-upgrade.service"];
/// What has to be free before apt can work.
const LOCKS: [&str; 3] =
    ["/var/lib/dpkg/lock-frontend", "/var/lib/dpkg/lock", "/var/lib/apt/lists/lock"];
const CLOUD_INIT: [&str; 2] = ["/usr/bin/cloud-init", "/usr/local/bin/cloud-init"];
const PAUSE: Duration = Duration::from_millis(200);

struct Clock {
    deadline: Instant,
    seconds: u64,
    waited: Vec<Waited>,
}

impl Clock {
    fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    fn wait<T>(
        &mut self,
        what: &str,
        until: impl FnOnce(&Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let start = Instant::now();
        let result = until(self)?;
        let milliseconds = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.waited.push(Waited { what: what.to_owned(), milliseconds });
        Ok(result)
    }
}

pub(crate) fn observe(params: &Params, node: &Node, run: &Run) -> Result<Returned, Error> {
    let limit = Duration::from_secs(params.timeout);
    let mut clock =
        Clock { deadline: Instant::now() + limit, seconds: params.timeout, waited: Vec::new() };
    let mut cloud_init = None;
    let booted = node.systemd_running();
    if booted && params.cloud_init && CLOUD_INIT.iter().any(|path| node.exists(path)) {
        let end = clock.wait("cloud-init", |clock| wait_for_cloud_init(node, clock))?;
        if end.degraded && !end.deprecated_only {
            run.warn(format!("cloud-init finished with recoverable errors: {}", end.details));
        }
        cloud_init = Some(end);
    }
    if params.apt {
        for unit in JOBS.iter().filter(|_| booted) {
            clock.wait(unit, |clock| wait_for_job(node, unit, clock))?;
        }
        for lock in LOCKS.iter().filter(|lock| node.exists(Path::new(lock))) {
            clock.wait(lock, |clock| Ok(node.wait_unlocked(lock, clock.left())?))?;
        }
    }
    Ok(Returned { waited: clock.waited, cloud_init })
}

fn wait_for_cloud_init(node: &Node, clock: &Clock) -> Result<CloudInit, Error> {
    let status = Command::new("cloud-init").args(["status", "--long"]);
    let wait = status.clone().arg("--wait").timeout(clock.left());
    match node.run(&wait) {
        Ok(output) => {
            cloud_init::judge(output.status, &format!("{}{}", output.stdout, output.stderr))
        }
        Err(CommandError::TimedOut { .. }) => {
            let now = node.run(&status.timeout(Duration::from_secs(10)));
            // with a short limit the wait ends before cloud-init has even said that it is done
            if let Ok(output) = &now
                && let Ok(end) = cloud_init::judge(output.status, &output.stdout)
                && ["done", "disabled"].contains(&end.status.as_str())
            {
                return Ok(end);
            }
            let details = now.map(|output| output.stdout.trim().replace('\n', ", "));
            let details = details.unwrap_or_else(|error| error.to_string());
            Err(Error::Unfinished { seconds: clock.seconds, details })
        }
        Err(error) => Err(error.into()),
    }
}

fn wait_for_job(node: &Node, unit: &str, clock: &Clock) -> Result<(), Error> {
    let show = Command::new("systemctl").args(["show", "-P", "ActiveState", unit]);
    loop {
        let state = node.run(&show)?.check(&show)?.stdout;
        // a oneshot service is activating for as long as it runs
        if !["activating", "active", "deactivating", "reloading"].contains(&state.trim()) {
            return Ok(());
        }
        if clock.left().is_zero() {
            return Err(Error::Job { unit: unit.to_owned(), seconds: clock.seconds });
        }
        std::thread::sleep(PAUSE.min(clock.left()));
    }
}
