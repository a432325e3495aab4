//! On a real Debian with a real systemd.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::{Duration, Instant};

use pve_lab::guests::{Suite, TestGuest};
use serde_json::{Value, json};

/// A packaged timer with a service that runs until it is told to stop.
const SETUP: &str = r"
set -e
cd /usr/lib/systemd/system
for n in demo other third; do
printf '[Unit]\nDescription=%s\n[Timer]\nOnCalendar=*-01-01\n[Install]\nWantedBy=timers.target\n' $n > $n.timer
printf '[Unit]\nDescription=%s\n[Service]\nType=oneshot\nExecStart=/bin/sleep 300\n' $n > $n.service
done
printf '[Unit]\nDescription=preset\n[Timer]\nOnCalendar=*-01-01\nUnit=third.service\n' > odd.timer
systemctl daemon-reload
systemctl enable --now demo.timer other.timer third.timer
systemctl start odd.timer
";

struct Lab(TestGuest);

impl Lab {
    fn boot(suite: Suite) -> Self {
        let guest = TestGuest::boot(suite);
        guest.put(env!("CARGO_BIN_EXE_timer_mask"), "/root/module");
        Self(guest)
    }

    /// Runs a command in the guest, also when its sshd is down.
    fn sh(&self, command: &str) -> String {
        let output = self.0.console(command);
        format!("{}{}", output.stdout, output.stderr).trim().to_owned()
    }

    fn module(&self, args: &Value, check: bool) -> Value {
        let mut all = Value::Object(harness::Core::default().reserved("timer_mask"));
        all["_ansible_check_mode"] = check.into();
        all["_ansible_diff"] = true.into();
        for (key, value) in args.as_object().unwrap() {
            all[key] = value.clone();
        }
        let command = format!("cat > /root/args <<'END'\n{all}\nEND\n/root/module /root/args");
        let output = self.0.console(&command);
        assert_eq!(output.stderr, "");
        serde_json::from_str(&output.stdout).unwrap()
    }

    /// Check, real, again; gives the real result.
    fn cycle(&self, args: &Value) -> Value {
        let look = "find /etc/systemd /var/lib/ferrite -printf '%p %l %m\n' 2>/dev/null | sort; \
                    systemctl list-timers --all --no-legend | wc -l";
        let before = self.sh(look);
        let check = self.module(args, true);
        assert_eq!(check["changed"], true, "{check}");
        assert_eq!(self.sh(look), before, "check mode changes nothing");
        let real = self.module(args, false);
        assert_eq!(real["changed"], true, "{real}");
        assert_eq!(real["plan"], check["plan"]);
        let again = self.module(args, false);
        assert_eq!(again["changed"], false, "{again}");
        assert_eq!(self.module(args, true)["changed"], false);
        real
    }

    fn healthy(&self) {
        assert_eq!(self.sh("systemctl --failed --no-legend --plain"), "");
    }
}

#[test]
fn masks_and_unmasks_on_a_running_system() {
    for suite in [Suite::Trixie, Suite::Bookworm] {
        let lab = Lab::boot(suite);
        assert_eq!(lab.sh(SETUP).lines().filter(|line| !line.starts_with("Created")).count(), 0);
        mask_and_unmask(&lab);
        g04_the_service_goes_on(&lab);
        hostile(&lab);
        lab.healthy();
    }
}

fn mask_and_unmask(lab: &Lab) {
    let args = json!({"timers": ["demo.timer", "odd.timer", "apt-daily.timer", "none.timer"]});
    let before = lab.sh("ls /etc/systemd/system/timers.target.wants");
    let real = lab.cycle(&args);
    let states: Vec<_> = real["timers"].as_array().unwrap().iter().map(|t| &t["state"]).collect();
    assert_eq!(states, ["masked"; 4]);
    assert_eq!(real["timers"][0]["active"], "inactive");
    assert_eq!(real["timers"][1]["service"], "third.service");
    assert_eq!(real["timers"][3]["notes"], json!(["none.timer is not installed"]));
    lab.healthy();
    // two things undo a disable: presets, and an upgrade of the package
    lab.sh("systemctl preset-all --preset-mode=enable-only; deb-systemd-helper enable demo.timer");
    assert_eq!(
        lab.sh("systemctl is-enabled demo.timer odd.timer none.timer"),
        "masked\nmasked\nmasked"
    );
    assert_eq!(lab.module(&args, false)["changed"], false);

    // spoiled by hand, each in its way
    for spoil in [
        "systemctl unmask demo.timer",
        "systemctl unmask demo.timer && systemctl enable --now demo.timer",
        "ln -s /usr/lib/systemd/system/demo.timer \
         /etc/systemd/system/timers.target.wants/demo.timer",
    ] {
        lab.sh(spoil);
        let real = lab.cycle(&args);
        let plan = real["plan"].to_string();
        assert!(plan.contains("demo.timer") && !plan.contains("apt-daily"), "{spoil}: {plan}");
        lab.healthy();
    }

    let mut back = args;
    back["state"] = "unmasked".into();
    let real = lab.cycle(&back);
    assert_eq!(real["timers"][2]["state"], "enabled");
    assert_eq!(real["timers"][3]["state"], "not-found");
    assert_eq!(lab.sh("ls /etc/systemd/system/timers.target.wants"), before);
    assert_eq!(
        lab.sh("systemctl is-active demo.timer odd.timer apt-daily.timer"),
        "active\nactive\nactive"
    );
    lab.healthy();
}

fn g04_the_service_goes_on(lab: &Lab) {
    lab.sh("systemctl start --no-block third.service");
    assert_eq!(lab.sh("systemctl is-active third.service"), "activating");
    let args = |stop: &str, limit: u64| json!({"timers": ["third.timer"], "stop_running": stop, "wait_timeout": limit});
    let ignored = lab.module(&args("ignore", 1), true);
    assert_eq!(
        ignored["warnings"],
        json!(["third.service is activating; masking third.timer does not stop it"])
    );
    let began = Instant::now();
    let waited = lab.module(&args("wait", 1), false);
    assert_eq!(waited["failed"], true);
    let wanted = "third.service is still running 1 s after third.timer was masked; raise \
                  wait_timeout, or have it stopped with stop_running: stop";
    assert!(waited["msg"].as_str().unwrap().ends_with(wanted), "{waited}");
    assert!(began.elapsed() < Duration::from_secs(20));
    assert_eq!(lab.sh("systemctl is-enabled third.timer"), "masked");

    // its end is awaited, also by a run that finds the mask in place
    lab.sh("systemd-run --on-active=3 systemctl stop third.service");
    let waited = lab.module(&args("wait", 60), false);
    assert_eq!(waited["changed"], false, "{waited}");
    // killed from outside, which is not ours to judge
    assert_eq!(waited["timers"][0]["service_active"], "failed");
    lab.sh("systemctl reset-failed third.service");

    lab.sh("systemctl start --no-block third.service");
    let stopped = lab.cycle(&args("stop", 10));
    assert_eq!(stopped["plan"], json!(["stop third.service, which third.timer started"]));
    assert_eq!(lab.sh("systemctl is-active third.service"), "inactive");
    lab.healthy();
}

fn hostile(lab: &Lab) {
    let args = json!({"timers": ["other.timer"]});
    // masked by hand while it ran: failed, and the system degraded
    lab.sh("systemctl mask other.timer");
    assert_eq!(lab.sh("systemctl is-failed other.timer"), "failed");
    lab.cycle(&args);
    lab.healthy();

    // a mask that ends with the boot, beside a file of the administrator: worth nothing
    lab.sh("cp /usr/lib/systemd/system/demo.timer /etc/systemd/system/own.timer; \
            systemctl daemon-reload; systemctl mask --runtime own.timer");
    let refused = lab.module(&json!({"timers": ["other.timer", "own.timer"]}), false);
    assert!(!refused["changed"].as_bool().unwrap_or(false));
    assert!(refused["msg"].as_str().unwrap().contains("/etc/systemd/system/own.timer"));

    // a link to a link to nothing is no mask
    lab.sh("ln -s /dev/null /etc/systemd/system/chain; ln -s chain /etc/systemd/system/far.timer");
    let refused = lab.module(&json!({"timers": ["far.timer"]}), false);
    let message = refused["msg"].as_str().unwrap();
    assert!(message.contains("/etc/systemd/system/far.timer is a symlink to chain"), "{message}");
    lab.sh("rm /etc/systemd/system/chain /etc/systemd/system/far.timer");

    // systemd knows templates by their files alone
    lab.cycle(&json!({"timers": ["demo@.timer"]}));
    assert_eq!(lab.sh("readlink /etc/systemd/system/demo@.timer"), "/dev/null");
    lab.cycle(&json!({"timers": ["demo@.timer"], "state": "unmasked"}));

    lab.sh("systemd-run --on-calendar='*-01-01' --unit=passing true");
    let refused = lab.module(&json!({"timers": ["passing.timer"]}), true);
    let message = refused["msg"].as_str().unwrap();
    assert!(message.contains("/run/systemd/transient/passing.timer outranks a mask"), "{message}");
    lab.sh("systemctl stop passing.timer; rm /etc/systemd/system/own.timer; \
            systemctl unmask --runtime own.timer; systemctl daemon-reload");
}
