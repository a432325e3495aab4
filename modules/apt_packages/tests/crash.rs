//! Killed at its steps, also while apt is at work: apt works when that has ended, and a second run
//! finishes, with what was interrupted repaired.

use pve_lab::guests::TestGuest;
use pve_lab::image::Image;
use serde_json::{Value, json};

const MODULE: &str = "/root/module";
const ARGS: &str = "/root/args";
const INSTALLED: &str = "dpkg-query -W -f '${db:Status-Abbrev}' ferrite-demo 2>/dev/null";
/// A package as a dpkg leaves it that was killed between unpacking and configuring.
const HALF: &str = "apt-get -qq install ferrite-demo >/dev/null && sed -i \
     '/^Package: ferrite-demo$/,/^$/s/^Status:.*/Status: install ok unpacked/' /var/lib/dpkg/status";

#[test]
fn killed_anywhere_apt_works() {
    let guest = TestGuest::boot_image(Image::without_python());
    guest.put(env!("CARGO_BIN_EXE_apt_packages"), MODULE);
    assert!(guest.console("apt-get -qq update").success());
    let rows = [
        ("not installed", "apt-get -qq purge ferrite-demo >/dev/null", "present", "ii "),
        ("half installed", HALF, "present", "ii "),
        ("installed", "apt-get -qq install ferrite-demo >/dev/null", "absent", ""),
    ];
    let run = || -> Value {
        let output = guest.console(&format!("{MODULE} {ARGS}"));
        serde_json::from_str(&output.stdout).unwrap_or_default()
    };
    let mut kills = 0;
    for (name, prepare, state, wanted) in rows {
        let mut args = Value::Object(harness::Core::default().reserved("apt_packages"));
        args["name"] = json!(["ferrite-demo"]);
        args["state"] = json!(state);
        args["repair"] = json!(true);
        args["purge"] = json!(true);
        guest.write(ARGS, args.to_string().as_bytes(), 0o600);
        for number in 1.. {
            let prepared = guest.console(prepare);
            assert!(prepared.success(), "{name}: {}", prepared.stderr);
            let Some(step) = guest.kill_before(MODULE, ARGS, number, |_| true) else { break };
            let told = format!("{name}: killed before step {number}, {step}");
            // the module waits for an apt that goes on
            let second = run();
            assert_eq!(second["failed"], Value::Null, "{told}: {second}");
            assert_eq!(run()["changed"], false, "{told}");
            assert_eq!(guest.console(INSTALLED).stdout, wanted, "{told}");
            let apt = guest.console("apt-get check && dpkg --audit");
            assert!(apt.success() && apt.stderr.is_empty(), "{told}: {apt:?}");
            kills += 1;
        }
    }
    println!("apt_packages: killed at {kills} points");
    assert!(kills >= 15, "only {kills} points were tried");
}
