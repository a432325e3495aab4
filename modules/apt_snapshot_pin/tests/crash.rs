//! Killed at its steps: after each, apt can be used, and one more run finishes what was begun.

use pve_lab::guests::TestGuest;
use pve_lab::image::Image;
use serde_json::{Value, json};

const MODULE: &str = "/root/module";
const ARGS: &str = "/root/args";
const JUNE: &str = "20250601T000000Z";
const JANUARY: &str = "20250101T000000Z";
const CANDIDATE: &str = "apt-cache policy ferrite-demo | sed -n 's/^  Candidate: //p'";
/// Sources, lists and memory, kept and put back.
const KEEP: &str = "rm -rf /root/kept && mkdir /root/kept && \
     cp -a --parents /etc/apt /var/lib/apt /var/lib/ferrite /root/kept/";
const PUT_BACK: &str = "rm -rf /etc/apt /var/lib/apt /var/lib/ferrite && cp -a /root/kept/. /";

struct Pin(TestGuest);

impl Pin {
    fn ask(&self, id: Option<&str>) {
        let mut args = Value::Object(harness::Core::default().reserved("apt_snapshot_pin"));
        match id {
            Some(id) => args["snapshot_id"] = json!(id),
            None => args["state"] = json!("absent"),
        }
        self.0.write(ARGS, args.to_string().as_bytes(), 0o600);
    }

    fn run(&self) -> Value {
        let output = self.0.console(&format!("{MODULE} {ARGS}"));
        serde_json::from_str(&output.stdout).unwrap_or_default()
    }

    fn ok(&self, command: &str, told: &str) -> String {
        let output = self.0.console(command);
        assert!(output.success(), "{told}: {command}: {}{}", output.stdout, output.stderr);
        output.stdout.trim().to_owned()
    }
}

#[test]
fn killed_anywhere_apt_works() {
    let pin = Pin(TestGuest::boot_image(Image::without_python()));
    pin.0.put(env!("CARGO_BIN_EXE_apt_snapshot_pin"), MODULE);
    pin.ok("apt-get -qq update && mkdir -p /var/lib/ferrite", "at first");
    // from, to, the candidate in the end, and each of how many steps is tried
    let rows = [
        (None, Some(JUNE), "2.0", 5),
        (Some(JUNE), Some(JANUARY), "1.0", 7),
        (Some(JANUARY), None, "3.0", 4),
    ];
    let mut kills = 0;
    for (from, to, wanted, stride) in rows {
        pin.ask(from);
        let begun = pin.run();
        assert_eq!(begun["failed"], Value::Null, "{begun}");
        pin.ok(KEEP, "at first");
        pin.ask(to);
        // what is only staged is seen by nobody
        let counts = |step: &str| !step.contains("/.ferrite-snapshot-") || step.contains("lists");
        for number in (1..).step_by(stride) {
            pin.ok(PUT_BACK, "between");
            let Some(step) = pin.0.kill_before(MODULE, ARGS, number, counts) else { break };
            let told = format!("{from:?} to {to:?}: killed before step {number}, {step}");
            pin.ok("apt-get check", &told);
            pin.ok(CANDIDATE, &told);
            let second = pin.run();
            assert_eq!(second["failed"], Value::Null, "{told}: {second}");
            assert_eq!(pin.ok(CANDIDATE, &told), wanted, "{told}");
            // an apt that outlived the killed run may still have written to its copy
            pin.ok("! ls -A /etc/apt/* | grep ferrite", &told);
            kills += 1;
        }
        assert_eq!(pin.run()["changed"], false, "{from:?} to {to:?}");
        pin.ok("! ls -A /var/lib/apt | grep ferrite", "after all");
    }
    println!("apt_snapshot_pin: killed at {kills} points");
    assert!(kills >= 20, "only {kills} points were tried");
}
