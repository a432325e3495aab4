//! Real apt in real guests, with the lab's signed archives.

use pve_lab::guests::{Suite, TestGuest};
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_apt_packages");

fn run(guest: &TestGuest, args: Value) -> Value {
    guest.module(BINARY, &args)
}

fn check(guest: &TestGuest, args: Value) -> Value {
    guest.module_with(BINARY, &args, &json!({"_ansible_check_mode": true}))
}

fn version(guest: &TestGuest) -> String {
    guest.run("dpkg-query -W -f '${Version}' ferrite-demo").stdout
}

fn install_and_remove(guest: &TestGuest) {
    let demo = json!({"name": ["ferrite-demo"]});

    let unknown = run(guest, json!({"name": ["ferrite-nothere"]}));
    assert_eq!(
        unknown["msg"],
        "apt-get cannot install ferrite-nothere: E: Unable to locate package ferrite-nothere"
    );

    assert!(guest.run("apt-get update").success());
    let foretold = check(guest, demo.clone());
    assert_eq!(foretold["changed"], true, "{foretold}");
    assert_eq!(
        foretold["plan"],
        json!(["install ferrite-demo (apt-get: install ferrite-demo 3.0)"])
    );
    assert_eq!(version(guest), "");
    let done = run(guest, demo.clone());
    assert_eq!(done["packages"][0]["version"], "3.0", "{done}");
    assert_eq!(done["steps"], foretold["steps"]);
    assert_eq!(run(guest, demo.clone())["changed"], false);

    let refused = run(guest, json!({"name": ["ferrite-demo=9.9"]}));
    let message = refused["msg"].as_str().unwrap_or_default();
    assert!(message.contains("Version '9.9' for 'ferrite-demo' was not found"), "{message}");

    let pinned = run(guest, json!({"name": ["ferrite-demo-security"], "require_pin": true}));
    assert_eq!(
        pinned["msg"],
        "require_pin: the sources are not pinned (there is no pin on this node); run \
         ferrite.pve.apt_snapshot_pin first"
    );

    let gone = json!({"name": ["ferrite-demo"], "state": "absent", "purge": true});
    assert_eq!(
        check(guest, gone.clone())["plan"],
        json!(["remove ferrite-demo (apt-get: remove ferrite-demo 3.0)"])
    );
    assert_eq!(run(guest, gone.clone())["changed"], true);
    assert_eq!(run(guest, gone)["changed"], false);

    // apt takes a package for all architectures for one of the node's, and a plus for a wish
    let plus = run(guest, json!({"name": ["ferrite-demo+"]}));
    assert_eq!(
        plus["msg"],
        "apt-get cannot install ferrite-demo+: E: Unable to locate package ferrite-demo+"
    );
    let native = json!({"name": ["ferrite-demo:amd64"]});
    assert_eq!(run(guest, native.clone())["packages"][0]["version"], "3.0");
    assert_eq!(run(guest, native)["changed"], false);
    let gone = json!({"name": ["ferrite-demo:amd64"], "state": "absent"});
    assert_eq!(run(guest, gone.clone())["changed"], true);
    assert_eq!(version(guest), "");
    assert_eq!(run(guest, gone)["changed"], false);

    // as a dpkg that was killed leaves it
    assert_eq!(run(guest, demo.clone())["changed"], true);
    guest.run(
        "sed -i '/^Package: ferrite-demo$/,/^$/s/^Status:.*/Status: install ok unpacked/' \
               /var/lib/dpkg/status",
    );
    assert_eq!(
        run(guest, demo.clone())["msg"],
        "dpkg was interrupted (half installed: ferrite-demo); set repair to have it finished"
    );
    let repaired = run(guest, json!({"name": ["ferrite-demo"], "repair": true}));
    assert_eq!(repaired["changed"], true, "{repaired}");
    assert_eq!(run(guest, demo)["changed"], false);
}

const SOURCES: &str = "/etc/apt/sources.list.d/debian.sources";

/// Pins the sources, and leaves what `apt_snapshot_pin` leaves.
fn pin(guest: &TestGuest, beside: &Value) {
    let original = guest.run(&format!("cat {SOURCES}")).stdout;
    let placed = original
        .replace("deb.debian.org/", "snapshot.debian.org/archive/")
        .replace("\nSuites:", "/20250601T000000Z\nCheck-Valid-Until: no\nSuites:");
    guest.write(SOURCES, placed.as_bytes(), 0o644);
    remember(guest, &placed, beside);
    let updated = guest.run("apt-get update --error-on=any");
    assert!(updated.success(), "{updated:?}");
}

fn remember(guest: &TestGuest, placed: &str, beside: &Value) {
    let file = json!({"original": "", "placed": placed});
    let memory = json!({
        "snapshot_id": "20250601T000000Z", "method": "rewrite", "files": {SOURCES: file},
        "beside": beside, "releases": {},
    });
    assert!(guest.run("mkdir -p /var/lib/ferrite/apt_snapshot_pin").success());
    let path = "/var/lib/ferrite/apt_snapshot_pin/memory.json";
    guest.write(path, memory.to_string().as_bytes(), 0o600);
}

/// The pin is in force: what is newer than it goes back only when asked to, and a source that came
/// after the pin ends it.
fn under_a_pin(guest: &TestGuest) {
    pin(guest, &json!({}));
    let exact = json!({"name": ["ferrite-demo=2.0"], "require_pin": true});
    let kept = run(guest, exact.clone());
    let message = kept["msg"].as_str().unwrap_or_default();
    assert!(message.contains("--allow-downgrades"), "{kept}");
    assert_eq!(version(guest), "3.0");
    let mut down = exact;
    down["allow_downgrade"] = json!(true);
    let foretold = check(guest, down.clone());
    assert_eq!(version(guest), "3.0");
    let done = run(guest, down.clone());
    assert_eq!(done["plan"], foretold["plan"], "{done}");
    assert_eq!(version(guest), "2.0");
    assert_eq!(run(guest, down)["changed"], false);

    let another = json!({"name": ["ferrite-demo-security"], "require_pin": true});
    let refused = |reason: &str| {
        for outcome in [check(guest, another.clone()), run(guest, another.clone())] {
            let message = format!(
                "require_pin: the sources are not pinned ({reason}); run \
                 ferrite.pve.apt_snapshot_pin first"
            );
            assert_eq!(outcome["msg"], message);
        }
    };
    let live = "deb [trusted=yes] http://deb.debian.org/debian trixie main\n";
    let list = "/etc/apt/sources.list.d/live.list";
    guest.write(list, live.as_bytes(), 0o644);
    refused(&format!("{list} was added since"));
    let placed = guest.run(&format!("cat {SOURCES}")).stdout;
    remember(guest, &placed, &json!({list: "# nothing\n"}));
    refused(&format!("{list} was changed since"));
    guest.run(&format!("mkdir /etc/apt/else && mv {list} /etc/apt/else/"));
    guest.run("echo 'Dir::Etc::sourceparts \"else\";' > /etc/apt/apt.conf.d/99else");
    guest.run("cp /etc/apt/sources.list.d/debian.sources /etc/apt/else/");
    refused("/etc/apt/else/debian.sources was added since");
    guest.run("rm -r /etc/apt/else /etc/apt/apt.conf.d/99else");
    // apt takes no notice of these names
    guest.run(&format!("touch {list}.bak /etc/apt/sources.list.d/.hidden.list"));
    assert_eq!(run(guest, another)["packages"][0]["name"], "ferrite-demo-security");
    guest.run(&format!("sed -i s/20250601/20250101/ {SOURCES}"));
    let demo = json!({"name": ["ferrite-demo"], "state": "absent", "require_pin": true});
    assert_eq!(run(guest, demo)["changed"], true, "removing needs no pin");
}

#[test]
fn installs_and_removes_on_trixie() {
    let guest = TestGuest::boot(Suite::Trixie);
    install_and_remove(&guest);
    under_a_pin(&guest);
}

#[test]
fn installs_and_removes_on_bookworm() {
    let guest = TestGuest::boot(Suite::Bookworm);
    install_and_remove(&guest);
    under_a_pin(&guest);
}

#[test]
fn g01_waits_for_the_lock_and_names_its_holder() {
    let guest = TestGuest::boot(Suite::Trixie);
    assert!(guest.run("apt-get update").success());
    let hold = |seconds: u32| {
        let script = format!(
            "import fcntl,os,time\nif os.fork():\n os._exit(0)\n\
             f=open('/var/lib/dpkg/lock-frontend','w')\nfcntl.lockf(f,fcntl.LOCK_EX)\n\
             open('/run/held','w')\ntime.sleep({seconds})\n"
        );
        guest.write("/root/holder.py", script.as_bytes(), 0o644);
        let held = guest.run(
            "rm -f /run/held; setsid python3 /root/holder.py >/dev/null 2>&1 </dev/null; \
             for i in $(seq 100); do [ -e /run/held ] && exit 0; sleep 0.1; done; exit 1",
        );
        assert!(held.success());
    };
    hold(6);
    let start = std::time::Instant::now();
    let done = run(&guest, json!({"name": ["ferrite-demo"], "lock_timeout": 60}));
    assert_eq!(done["changed"], true, "{done}");
    assert!(start.elapsed().as_secs() >= 3, "it did not wait");
    hold(60);
    let start = std::time::Instant::now();
    let gone = json!({"name": ["ferrite-demo"], "state": "absent", "lock_timeout": 3});
    let failed = run(&guest, gone);
    let message = failed["msg"].as_str().unwrap_or_default();
    assert!(message.contains("/var/lib/dpkg/lock-frontend is locked by process "), "{message}");
    assert!(message.contains("python3 /root/holder.py"), "{message}");
    assert!((3..15).contains(&start.elapsed().as_secs()));
}
