//! Killed at its steps: apt takes its configuration after each, and a second run finishes.

use pve_lab::guests::TestGuest;
use pve_lab::image::Image;
use serde_json::{Value, json};

const MODULE: &str = "/root/module";
const ARGS: &str = "/root/args";
const FILE: &str = "/etc/apt/apt.conf.d/99crash";

/// A state to start from, what is wanted, and what is in force in the end.
const ROWS: [(&str, &str, &str, &str); 4] = [
    ("absent", "rm -f FILE", "present", "\"0\";"),
    ("another text", "echo 'APT::Periodic::Enable \"1\";' > FILE", "present", "\"0\";"),
    ("broken", "echo 'APT::Periodic::Enable \"1\"' > FILE", "present", "\"0\";"),
    ("present", "echo 'APT::Periodic::Enable \"1\";' > FILE", "absent", ""),
];

#[test]
fn killed_anywhere_apt_works() {
    let guest = TestGuest::boot_image(Image::without_python());
    guest.put(env!("CARGO_BIN_EXE_apt_periodic"), MODULE);
    let run = || -> Value {
        let output = guest.console(&format!("{MODULE} {ARGS}"));
        serde_json::from_str(&output.stdout).unwrap_or_default()
    };
    let mut kills = 0;
    for (name, prepare, state, wanted) in ROWS {
        let mut args = Value::Object(harness::Core::default().reserved("apt_periodic"));
        args["file"] = json!("99crash");
        args["state"] = json!(state);
        if state == "present" {
            args["settings"] = json!({"Enable": 0});
        }
        guest.write(ARGS, args.to_string().as_bytes(), 0o600);
        // what lies in the module's own /run nobody else sees
        let counts = |step: &str| !step.contains("/run/ferrite-apt-periodic-");
        for number in (1..).step_by(2) {
            assert!(guest.console(&prepare.replace("FILE", FILE)).success());
            let Some(step) = guest.kill_before(MODULE, ARGS, number, counts) else { break };
            let told = format!("{name}: killed before step {number}, {step}");
            if name != "broken" {
                let apt = guest.console("apt-get check && apt-config dump >/dev/null");
                assert!(apt.success(), "{told}: {}", apt.stderr);
            }
            let second = run();
            assert_eq!(second["failed"], Value::Null, "{told}: {second}");
            assert_eq!(run()["changed"], false, "{told}");
            let dump = guest.console("apt-config dump | sed -n 's/^APT::Periodic::Enable //p'");
            assert_eq!(dump.stdout.trim(), wanted, "{told}");
            let left = guest.console("ls -A /run /etc/apt/apt.conf.d | grep ferrite");
            assert_eq!(left.stdout, "", "{told}");
            kills += 1;
        }
    }
    println!("apt_periodic: killed at {kills} points");
    assert!(kills >= 20, "only {kills} points were tried");
}
