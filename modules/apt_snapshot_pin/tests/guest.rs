//! Real apt in real guests: 3.0 on trixie, 2.6 on bookworm, with the lab's signed snapshots.

use std::time::Instant;

use pve_lab::guests::{Suite, TestGuest};
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_apt_snapshot_pin");
const JUNE: &str = "20250601T000000Z";
const JANUARY: &str = "20250101T000000Z";
const SOURCES: &str = "/etc/apt/sources.list.d/debian.sources";

struct Pin(TestGuest);

impl Pin {
    fn boot(suite: Suite) -> Self {
        let pin = Self(TestGuest::boot(suite));
        pin.ok("cp -a /etc/apt /root/apt.before");
        pin
    }

    fn ok(&self, command: &str) -> String {
        let output = self.0.run(command);
        assert!(output.success(), "{command}: {}{}", output.stdout, output.stderr);
        output.stdout
    }

    fn run(&self, args: Value) -> Value {
        self.0.module(BINARY, &args)
    }

    fn check(&self, args: Value) -> Value {
        self.0.module_with(BINARY, &args, &json!({"_ansible_check_mode": true}))
    }

    fn pin(&self, id: &str) -> Value {
        self.run(json!({"snapshot_id": id}))
    }

    /// Everything that the module may touch, byte for byte.
    fn state(&self) -> String {
        self.ok(
            "cd / && find etc/apt var/lib/apt var/lib/ferrite \\( -type f -o -type l \\) ! -path \
             '*/auxfiles/*' -printf '%p %m %u %l ' -exec sha256sum {} \\; 2>/dev/null | sort; true",
        )
    }

    fn candidate(&self) -> String {
        self.ok("apt-cache policy ferrite-demo | sed -n 's/^  Candidate: //p'").trim().to_owned()
    }

    /// A run that fails alike in check mode and for real, and leaves everything as it was.
    fn refused(&self, args: Value, parts: &[&str]) {
        let before = self.state();
        for outcome in [self.check(args.clone()), self.run(args)] {
            assert_eq!(outcome["failed"], true, "{outcome}");
            let message = outcome["msg"].as_str().unwrap_or_default();
            for part in parts {
                assert!(message.contains(part), "{part:?} is not in {message}");
            }
            assert_eq!(self.state(), before, "after: {message}");
        }
    }

    fn restored(&self) {
        self.ok("diff -r /root/apt.before /etc/apt");
        self.ok("! test -e /var/lib/ferrite/apt_snapshot_pin");
        self.ok("! ls -d /var/lib/apt/.ferrite* 2>/dev/null");
    }

    fn hold(&self, lock: &str, seconds: u32) {
        let script = format!(
            "import fcntl,os,time\nif os.fork():\n os._exit(0)\nf=open('{lock}','w')\n\
             fcntl.lockf(f,fcntl.LOCK_EX)\nopen('/run/held','w')\ntime.sleep({seconds})\n"
        );
        self.0.write("/root/holder.py", script.as_bytes(), 0o644);
        self.ok("rm -f /run/held; setsid python3 /root/holder.py >/dev/null 2>&1 </dev/null; \
             for i in $(seq 100); do [ -e /run/held ] && exit 0; sleep 0.1; done; exit 1");
    }
}

fn pins_moves_and_restores(pin: &Pin) {
    let june = json!({"snapshot_id": JUNE});
    let before = pin.state();
    let foretold = pin.check(june.clone());
    assert_eq!(foretold["changed"], true, "{foretold}");
    assert_eq!(foretold["verified"], true);
    assert_eq!(pin.state(), before);

    let done = pin.run(june.clone());
    assert_eq!(done["plan"], foretold["plan"], "{done}");
    assert_eq!(done["method"], "rewrite");
    assert_eq!(pin.candidate(), "2.0");
    let text = pin.ok(&format!("cat {SOURCES}"));
    assert_eq!(text.matches(&format!("/{JUNE}")).count(), 2, "{text}");
    assert_eq!(text.matches("Check-Valid-Until: no").count(), 2, "{text}");
    assert_eq!(pin.ok("apt-cache policy").matches("http://deb.debian.org").count(), 0);
    assert_eq!(pin.run(june.clone())["changed"], false);
    // apt itself agrees that nothing is left to fetch, and that all is well
    pin.ok("apt-get update --error-on=any");
    assert_eq!(pin.run(june)["changed"], false);

    // another pin: what is newer is named and stays
    pin.ok("DEBIAN_FRONTEND=noninteractive apt-get -y install ferrite-demo");
    let moved = pin.pin(JANUARY);
    assert_eq!(
        moved["newer"],
        json!([{"name": "ferrite-demo", "installed": "2.0", "pinned": "1.0"}]),
        "{moved}"
    );
    assert_eq!(pin.ok("dpkg-query -W -f '${Version}' ferrite-demo"), "2.0");
    assert_eq!(pin.pin(JANUARY)["changed"], false);
    pin.ok("dpkg --purge ferrite-demo");

    // a file beside, which apt_packages holds against what was remembered; line ends stay
    pin.ok("echo '# none' > /etc/apt/sources.list.d/beside.list");
    assert_eq!(pin.pin(JANUARY)["plan"].as_array().map(Vec::len), Some(1));
    assert_eq!(pin.pin(JANUARY)["changed"], false);
    pin.ok("grep -q '\"beside\":{\"/etc/apt/sources.list.d/beside.list\":\"# none\\\\n\"}' \
            /var/lib/ferrite/apt_snapshot_pin/memory.json; rm /etc/apt/sources.list.d/beside.list");
    assert_eq!(pin.pin(JANUARY)["changed"], true);

    // a spoiled pin, and lists that are gone
    pin.ok(&format!(
        "sed -i 's#http://snapshot.debian.org/archive/debian/[0-9TZ]*#http://deb.debian.org/debian#' \
         {SOURCES}"
    ));
    let repaired = pin.pin(JANUARY);
    assert_eq!(repaired["plan"].as_array().map(Vec::len), Some(2), "{repaired}");
    assert_eq!(pin.candidate(), "1.0");
    pin.ok("rm -f /var/lib/apt/lists/*_Packages* /var/lib/apt/lists/*InRelease");
    let fetched = pin.pin(JANUARY);
    assert_eq!(fetched["plan"].as_array().map(Vec::len), Some(1), "{fetched}");
    assert_eq!(pin.pin(JANUARY)["changed"], false);

    let absent = json!({"state": "absent"});
    assert_eq!(pin.run(absent.clone())["changed"], true);
    pin.restored();
    assert_eq!(pin.candidate(), "3.0");
    assert_eq!(pin.run(absent)["changed"], false);
}

fn fails_closed(pin: &Pin) {
    let june = json!({"snapshot_id": JUNE});
    // before the lab's first snapshot
    pin.refused(
        json!({"snapshot_id": "20200101T000000Z"}),
        &["nothing was changed", SOURCES, "does not have a Release file"],
    );
    pin.refused(
        json!({"snapshot_id": "20040101T000000Z"}),
        &["the snapshots of debian begin at 20050312T000000Z"],
    );
    // G55: nothing listens there
    pin.ok("cp /etc/hosts /root/hosts; echo '127.0.0.1 snapshot.debian.org' >> /etc/hosts");
    pin.refused(june.clone(), &["nothing was changed", "onnect", SOURCES]);
    pin.ok("cp /root/hosts /etc/hosts");
    // a key that did not sign
    pin.ok(&format!(
        "cp /usr/share/keyrings/debian-archive-removed-keys.* /root/ && sed -i \"s#^Signed-By:.*#\
         Signed-By: $(ls /root/debian-archive-removed-keys.* | head -1)#\" {SOURCES}"
    ));
    pin.refused(june.clone(), &["nothing was changed", "is not signed", SOURCES]);
    pin.ok(&format!("cp -p /root/apt.before/sources.list.d/debian.sources {SOURCES}"));
    // G51: a source that has no snapshots
    pin.0.write(
        "/etc/apt/sources.list.d/vendor.list",
        b"deb [trusted=yes] http://vendor.invalid/linux/debian trixie stable\n",
        0o644,
    );
    pin.refused(
        june.clone(),
        &[
            "1 of the sources would not be pinned",
            "http://vendor.invalid/linux/debian trixie",
            "vendor.list line 1",
        ],
    );
    pin.ok("rm /etc/apt/sources.list.d/vendor.list");
    // G58: no room for the lists
    pin.ok("mount -t tmpfs -o size=8m tmpfs /var/lib/apt && mkdir -p /var/lib/apt/lists/partial");
    pin.refused(june, &["the package lists of the snapshot need 16 MB in /var/lib/apt/"]);
    pin.ok("umount /var/lib/apt");
    pin.restored();
}

fn g01_g02_waits_for_locks(pin: &Pin) {
    for lock in ["/var/lib/apt/lists/lock", "/var/lib/dpkg/lock-frontend"] {
        pin.hold(lock, 60);
        let start = Instant::now();
        let before = pin.state();
        let failed = pin.run(json!({"snapshot_id": JUNE, "lock_timeout": 3}));
        let message = failed["msg"].as_str().unwrap_or_default();
        assert!(message.contains(&format!("{lock} is locked by process ")), "{message}");
        assert!(message.contains("python3 /root/holder.py"), "{message}");
        assert!(start.elapsed().as_secs() >= 3);
        assert_eq!(pin.state(), before);
        pin.ok("pkill -f '[h]older.py'");
    }
    pin.hold("/var/lib/apt/lists/lock", 8);
    let start = Instant::now();
    let done = pin.run(json!({"snapshot_id": JUNE, "lock_timeout": 30}));
    assert_eq!(done["changed"], true, "{done}");
    assert!(start.elapsed().as_secs() >= 4, "it did not wait");
    assert_eq!(pin.run(json!({"state": "absent"}))["changed"], true);
    pin.restored();
}

/// One-line sources with comments, worked on from outside as in an image build.
fn one_line_in_a_tree(pin: &Pin) {
    let text = "# ours\ndeb [signed-by=KEY] http://deb.debian.org/debian trixie main # mirror\n\
                deb [ arch=amd64 signed-by=KEY ] http://deb.debian.org/debian-security/ \
                trixie-security main";
    let key = pin.ok(&format!("sed -n 's/^Signed-By: //p' {SOURCES} | head -1"));
    let suite = pin.ok("sed -n 's/^VERSION_CODENAME=//p' /etc/os-release");
    let text = text.replace("trixie", suite.trim()).replace("KEY", key.trim());
    pin.ok(&format!("mv {SOURCES} /root/debian.sources; rm -rf /root/apt.list"));
    pin.0.write("/etc/apt/sources.list", text.as_bytes(), 0o600);
    pin.ok("mkdir -p /srv/tree && mount --bind / /srv/tree && mount --bind /dev /srv/tree/dev && \
         mount --bind /run /srv/tree/run");
    let args = json!({"snapshot_id": JUNE, "root": "/srv/tree"});
    let done = pin.run(args.clone());
    assert_eq!(done["changed"], true, "{done}");
    assert_eq!(pin.run(args)["changed"], false);
    assert_eq!(pin.candidate(), "2.0");
    let placed = pin.ok("cat /etc/apt/sources.list");
    let start = format!(
        "# ours\ndeb [signed-by={} check-valid-until=no] http://snapshot.debian.org/",
        key.trim()
    );
    assert!(placed.starts_with(&start), "{placed}");
    assert!(placed.contains("main # mirror\n"), "{placed}");
    let absent = json!({"state": "absent", "root": "/srv/tree"});
    assert_eq!(pin.run(absent)["changed"], true);
    assert_eq!(pin.ok("cat /etc/apt/sources.list"), text);
    assert_eq!(pin.ok("stat -c %a /etc/apt/sources.list").trim(), "600");
    pin.ok("umount /srv/tree/run /srv/tree/dev /srv/tree && rm -f /etc/apt/sources.list && mv /root/debian.sources \
         /etc/apt/sources.list.d/ && { [ ! -e /root/apt.before/sources.list ] || cp -a \
         /root/apt.before/sources.list /etc/apt/; }");
    pin.restored();
}

/// The state folder is gone: a pin is told of and not called undone while it stands.
fn lost_memory(pin: &Pin) {
    let absent = json!({"state": "absent"});
    assert_eq!(pin.pin(JUNE)["warnings"].as_array().map_or(0, Vec::len), 0);
    pin.ok("rm -r /var/lib/ferrite/apt_snapshot_pin");
    let parts = [
        "2 of the sources are a snapshot, what they were before is not remembered",
        SOURCES,
        "set its URI to http://deb.debian.org/debian-security",
    ];
    pin.refused(absent.clone(), &parts);
    let again = pin.pin(JUNE);
    assert!(again["warnings"].to_string().contains("state absent will not be able"), "{again}");
    pin.refused(absent.clone(), &parts);
    pin.ok(&format!("cp -p /root/apt.before/sources.list.d/debian.sources {SOURCES}"));
    assert_eq!(pin.run(absent.clone())["changed"], true);
    pin.restored();
    assert_eq!(pin.candidate(), "3.0");
    assert_eq!(pin.run(absent)["changed"], false);
}

#[test]
fn g52_g55_g58_pins_on_trixie() {
    let pin = Pin::boot(Suite::Trixie);
    pins_moves_and_restores(&pin);
    lost_memory(&pin);
    fails_closed(&pin);
    g01_g02_waits_for_locks(&pin);
    one_line_in_a_tree(&pin);

    let native = json!({"snapshot_id": JUNE, "method": "native"});
    let done = pin.run(native.clone());
    assert_eq!(done["method"], "native", "{done}");
    assert_eq!(pin.candidate(), "2.0");
    assert_eq!(pin.run(native)["changed"], false);
    assert_eq!(pin.pin(JANUARY)["changed"], true);
    assert_eq!(pin.candidate(), "1.0");
    pin.ok("! test -e /etc/apt/apt.conf.d/95ferrite_snapshot_pin");
    assert_eq!(pin.run(json!({"state": "absent"}))["changed"], true);
    pin.restored();
}

#[test]
fn g50_pins_on_bookworm_without_apts_own_method() {
    let pin = Pin::boot(Suite::Bookworm);
    pins_moves_and_restores(&pin);
    fails_closed(&pin);
    one_line_in_a_tree(&pin);
    pin.refused(
        json!({"snapshot_id": JUNE, "method": "native"}),
        &["method native needs an apt that knows snapshots"],
    );
}
