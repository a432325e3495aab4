//! A real guest: cloud-init is played by a program of the test, the locks are real.

use std::time::{Duration, Instant};

use pve_lab::guests::{Suite, TestGuest};
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_first_boot");

/// A process that holds a lock for some seconds; the command returns when it is held.
fn hold(guest: &TestGuest, lock: &str, seconds: u32) {
    let script = format!(
        "import fcntl,os,sys,time\nf=open('{lock}','w')\nfcntl.lockf(f,fcntl.LOCK_EX)\n\
         if os.fork():\n os._exit(0)\nfcntl.lockf(f,fcntl.LOCK_EX)\nopen('/run/held','w')\n\
         time.sleep({seconds})\n"
    );
    guest.write("/root/holder.py", script.as_bytes(), 0o644);
    let output = guest.run(
        "rm -f /run/held; setsid python3 /root/holder.py >/dev/null 2>&1 </dev/null & \
         for i in $(seq 100); do [ -e /run/held ] && exit 0; sleep 0.1; done; exit 1",
    );
    assert!(output.success(), "{}", output.stderr);
}

fn cloud_init(guest: &TestGuest, script: &str) {
    guest.write("/usr/local/bin/cloud-init", format!("#!/bin/sh\n{script}\n").as_bytes(), 0o755);
}

fn run(guest: &TestGuest, args: Value) -> Value {
    guest.module(BINARY, &args)
}

/// The job of apt's own timer, which takes as long as its hook.
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
fn apts_own_job(guest: &TestGuest) {
    let unit = "apt-daily.service";
    let conf = "APT::Periodic::Update-Package-Lists \"always\";\n\
                APT::Update::Pre-Invoke { \"sleep 6\"; };\n";
    guest.write("/etc/apt/apt.conf.d/90job", conf.as_bytes(), 0o644);
    guest.run(&format!("systemctl start --no-block {unit}"));
    let still = run(guest, json!({"timeout": 1}));
    assert_eq!(still["msg"], format!("{unit} was still running after 1 s"));
    let waited = run(guest, json!({"timeout": 60}));
    let row = waited["waited"].as_array().unwrap().iter().find(|row| row["what"] == unit).unwrap();
    assert!(row["milliseconds"].as_u64().unwrap() > 1000, "{waited}");
    assert_eq!(guest.run(&format!("systemctl is-active {unit}")).stdout.trim(), "inactive");
    assert!(guest.run("rm /etc/apt/apt.conf.d/90job && apt-get update").success());
}

#[test]
fn g01_g03_waits_for_what_a_first_boot_does() {
    let guest = TestGuest::boot(Suite::Trixie);

    let real = run(&guest, json!({}));
    assert_eq!(real["changed"], false, "{real}");
    assert_eq!(real["cloud_init"]["status"], "done", "{real}");
    // a limit that is over before cloud-init can say that it is done
    let short = run(&guest, json!({"timeout": 0}));
    assert_eq!(short["cloud_init"]["status"], "done", "{short}");
    apts_own_job(&guest);

    cloud_init(&guest, "echo 'status: done'; echo 'extended_status: degraded done'; exit 2");
    let degraded = run(&guest, json!({}));
    assert_eq!(
        degraded["warnings"],
        json!(["cloud-init finished with recoverable errors: status: done, extended_status: \
                degraded done"])
    );

    cloud_init(&guest, "echo 'status: error'; exit 1");
    assert_eq!(run(&guest, json!({}))["msg"], "cloud-init failed: status: error");

    cloud_init(&guest, "echo 'status: running'; case \"$*\" in *--wait*) exec sleep 600;; esac");
    let start = Instant::now();
    let endless = run(&guest, json!({"timeout": 2}));
    assert_eq!(endless["msg"], "cloud-init did not finish within 2 s (it says: status: running)");
    assert!(start.elapsed() < Duration::from_secs(30));
    assert_eq!(guest.run("pgrep -x sleep -a | grep -c 'sleep 600'").stdout.trim(), "0");
    guest.run("rm /usr/local/bin/cloud-init");

    let lock = "/var/lib/dpkg/lock-frontend";
    hold(&guest, lock, 4);
    let waited = run(&guest, json!({"timeout": 60}));
    assert_eq!(waited["changed"], false, "{waited}");
    let row = waited["waited"].as_array().unwrap().iter().find(|row| row["what"] == lock).unwrap();
    assert!(row["milliseconds"].as_u64().unwrap() > 500, "{waited}");

    hold(&guest, lock, 60);
    let held = run(&guest, json!({"timeout": 2}));
    let message = held["msg"].as_str().unwrap();
    assert!(message.starts_with("/var/lib/dpkg/lock-frontend is locked by process "), "{message}");
    assert!(message.contains("python3 /root/holder.py"), "{message}");
}
