//! Killed at its steps on a real Debian: after each, sshd accepts logins and has a configuration
//! that it would start with, and a second run finishes.

use std::time::{Duration, Instant};

use pve_lab::guests::{Output, Suite, TestGuest};
use serde_json::{Value, json};

const MODULE: &str = "/root/module";
const ARGS: &str = "/root/args";
const DROP_IN: &str = "/etc/ssh/sshd_config.d/10-crash.conf";
/// The stock configuration, a drop-in, and sshd running with it by itself.
const STOCK: &str = "systemctl stop ssh.socket; rm -rf /etc/ssh /var/lib/ferrite; \
     cp -a /root/ssh.stock /etc/ssh; DROP_IN; systemctl reset-failed; systemctl restart ssh.service";
/// A connection tells by which methods it may log in: what the running sshd really has in force.
const METHODS: &str = "ssh -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null \
     -o LogLevel=ERROR -o PreferredAuthentications=none -o BatchMode=yes nobody@127.0.0.1 2>&1";

struct Row {
    name: &'static str,
    /// The text of the drop-in, if there is one.
    text: &'static str,
    /// What follows.
    prepare: &'static str,
    state: &'static str,
    methods: &'static str,
    /// Each of so many steps is tried.
    stride: usize,
}

const ROWS: [Row; 4] = [
    Row {
        name: "stock",
        text: "",
        prepare: "true",
        state: "present",
        methods: "(publickey)",
        stride: 6,
    },
    Row {
        name: "another text",
        text: "MaxAuthTries 3",
        prepare: "true",
        state: "present",
        methods: "(publickey)",
        stride: 9,
    },
    Row {
        name: "socket",
        text: "",
        prepare: "systemctl stop ssh.service; systemctl start ssh.socket; METHODS",
        state: "present",
        methods: "(publickey)",
        stride: 9,
    },
    Row {
        name: "present",
        text: "PasswordAuthentication no",
        prepare: "true",
        state: "absent",
        methods: "(publickey,password)",
        stride: 9,
    },
];

struct Lab(TestGuest);

impl Lab {
    fn sh(&self, command: &str) -> String {
        let output = self.0.console(command);
        format!("{}{}", output.stdout, output.stderr).trim().to_owned()
    }

    fn prepare(&self, row: &Row) {
        let place = match row.text {
            "" => "true".to_owned(),
            text => format!("echo '{text}' > {DROP_IN}"),
        };
        let (stock, prepare) =
            (STOCK.replace("DROP_IN", &place), row.prepare.replace("METHODS", METHODS));
        let said = self.sh(&format!("{stock}; {prepare}; systemctl is-active ssh.service"));
        assert!(said.ends_with("active"), "{}: {said}", row.name);
    }

    fn run(&self) -> Value {
        let output = self.0.console(&format!("{MODULE} {ARGS}"));
        serde_json::from_str(&output.stdout).unwrap_or_default()
    }

    /// A new login, which may have to wait for a restart that was under way when the module died.
    fn login(&self) -> Output {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            let login = self.0.log_in("/usr/sbin/sshd -t && ls -A /run | grep -c ferrite");
            if login.stderr.is_empty() || Instant::now() > deadline {
                return login;
            }
        }
    }

    /// Kills runs at every step of the stride, from an offset; gives how many.
    fn row(&self, row: &Row, offset: usize) -> usize {
        let mut args = Value::Object(harness::Core::default().reserved("sshd_dropin"));
        args["name"] = json!("10-crash.conf");
        args["state"] = json!(row.state);
        if row.state == "present" {
            args["settings"] =
                json!({"PasswordAuthentication": false, "KbdInteractiveAuthentication": false});
        }
        self.0.write(ARGS, args.to_string().as_bytes(), 0o600);
        // what lies in the module's own /run nobody else sees
        let counts = |step: &str| !step.contains("/run/ferrite-sshd-");
        let mut kills = 0;
        for number in (1 + offset..).step_by(row.stride) {
            self.prepare(row);
            let Some(step) = self.0.kill_before(MODULE, ARGS, number, counts) else { break };
            let told = format!("{}: killed before step {number}, {step}", row.name);
            let login = self.login();
            assert_eq!((login.stdout.trim(), login.stderr.trim()), ("0", ""), "{told}");
            let second = self.run();
            assert_eq!(second["failed"], Value::Null, "{told}: {second}");
            let methods = self.sh(METHODS);
            assert!(
                methods.ends_with(&format!("{}.", row.methods)),
                "{told}: {methods} after {second}"
            );
            let left = "find /etc/ssh /var/lib/ferrite -name '*ferrite-*' -o -name '*.pending'";
            assert_eq!(self.sh(left), "", "{told}");
            kills += 1;
        }
        assert_eq!(self.run()["changed"], false, "{}", row.name);
        kills
    }
}

fn killed_anywhere(suite: Suite, offset: usize) {
    let lab = Lab(TestGuest::boot(suite));
    lab.0.put(env!("CARGO_BIN_EXE_sshd_dropin"), MODULE);
    lab.sh("cloud-init status --wait; cp -a /etc/ssh /root/ssh.stock");
    let kills: usize = ROWS.iter().map(|row| lab.row(row, offset)).sum();
    println!("sshd_dropin on {}: killed at {kills} points", suite.as_str());
    assert!(kills >= 12, "only {kills} points were tried");
}

#[test]
fn killed_anywhere_sshd_accepts_logins_on_trixie() {
    killed_anywhere(Suite::Trixie, 0);
}

#[test]
fn killed_anywhere_sshd_accepts_logins_on_bookworm() {
    killed_anywhere(Suite::Bookworm, 1);
}
