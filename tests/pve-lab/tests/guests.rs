//! Real guests, booted from images built from Debian's packages. Needs root.

mod support;

use std::fs;
use std::path::Path;
use std::time::Duration;

use pve_lab::driver::{AgentError, GuestDriver, GuestEvent, GuestStatus, VolumeFormat};
use pve_lab::guests::{Suite, TestGuest};
use pve_lab::image::Image;
use pve_lab::repository::{Fault, FaultKind};
use serde_json::json;
use support::{Lab, eventually, write_exec};

const MAC: &str = "BC:24:11:AB:CD:01";

#[test]
fn guests_of_both_releases_boot_without_failed_units() {
    for suite in Suite::ALL {
        let guest = TestGuest::boot(suite);
        assert_eq!(guest.run("id -un").stdout, "root\n");
        assert_eq!(guest.run("systemctl is-system-running").stdout, "running\n");
        let release = guest.run(". /etc/os-release; echo $VERSION_CODENAME").stdout;
        assert_eq!(release.trim(), suite.as_str());
        let status = guest.run("cloud-init status").stdout;
        assert_eq!(status, "status: done\n");
    }
}

#[test]
fn the_release_before_without_python_is_told_what_it_needs_too() {
    let guest = TestGuest::boot_image(Image::bare(Suite::Bookworm));
    let interpreters = guest.run("ls /usr/bin | grep -c -e python -e cloud-init");
    assert_eq!(interpreters.stdout.trim(), "0");
    assert_eq!(guest.run("systemctl is-system-running").stdout, "running\n");
    let update = guest.run("apt-get update --error-on=any");
    assert!(update.success(), "{update:?}");
    // what is changed in it later is not written over
    guest.run("echo renamed >/etc/hostname");
    guest.reboot();
    assert_eq!(guest.run("hostname").stdout, "renamed\n");
}

#[test]
fn a_guest_without_python_is_reached_all_the_same() {
    let guest = TestGuest::boot_image(Image::without_python());
    assert!(!guest.run("command -v python3").success());
    assert_eq!(guest.run("systemctl is-system-running").stdout, "running\n");
    let update = guest.run("apt-get update --error-on=any");
    assert!(update.success(), "{update:?}");

    // A module is a program with an arguments file beside it; this one shows both.
    let directory = tempfile::tempdir().expect("a directory");
    let module = directory.path().join("show");
    let script = "#!/bin/sh\nprintf '{\"mode\": \"%s\", \"args\": %s}\\n' \
                  $(stat -c %a $(dirname $1)) \"$(cat $1)\"\n";
    fs::write(&module, script).expect("a script");
    let result =
        guest.module_with(&module, &json!({"name": "it's"}), &json!({"_ansible_check_mode": true}));
    assert_eq!(result["mode"], "700");
    assert_eq!(result["args"]["name"], "it's");
    assert_eq!(result["args"]["_ansible_check_mode"], json!(true));
    assert_eq!(guest.run("ls /root/.ansible/tmp").stdout, "", "nothing stays in the guest");

    // It is the same guest after a reboot, with what was written to its disk.
    guest.write("/root/kept", b"kept", 0o600);
    guest.run("touch /run/gone");
    guest.reboot();
    assert_eq!(guest.run("cat /root/kept").stdout, "kept");
    assert!(!guest.run("ls /run/gone").success());

    // Whatever becomes of sshd, there is the console.
    guest.run("systemctl stop ssh");
    assert!(!guest.log_in("true").success());
    assert_eq!(guest.console("cat /root/kept").stdout, "kept");
}

#[test]
fn apt_sees_the_live_archive_and_the_snapshots() {
    let guest = TestGuest::boot(Suite::Trixie);
    let candidate = || {
        let update = guest.run("apt-get update --error-on=any");
        assert!(update.success(), "{update:?}");
        let policy = guest.run("apt-cache policy ferrite-demo ferrite-demo-security").stdout;
        policy
            .lines()
            .filter_map(|l| l.trim().strip_prefix("Candidate: "))
            .collect::<Vec<_>>()
            .join(" ")
    };
    guest.run("cp /etc/apt/sources.list.d/debian.sources /root/live.sources");
    assert_eq!(candidate(), "3.0 3.0");
    for (scheme, id, version) in [
        ("http", "20250101T000000Z", "1.0"),
        ("https", "20250601T000000Z", "2.0"),
        ("https", "20250315T000000Z", "1.0"),
    ] {
        let sources: String = [("debian", ""), ("debian-security", "-security")]
            .iter()
            .map(|(archive, end)| {
                format!(
                    "Types: deb\nURIs: {scheme}://snapshot.debian.org/archive/{archive}/{id}/\n\
                     Suites: trixie{end}\nComponents: main\nCheck-Valid-Until: no\n\
                     Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n\n"
                )
            })
            .collect();
        let file = "/etc/apt/sources.list.d/debian.sources";
        guest.write(file, sources.as_bytes(), 0o644);
        assert_eq!(candidate(), format!("{version} {version}"), "{scheme} {id}");
    }
    let expired = guest.run(
        "sed -i /Check-Valid/d /etc/apt/sources.list.d/debian.sources; \
         apt-get update --error-on=any",
    );
    assert!(expired.stderr.contains("is expired"), "snapshots have expired: {expired:?}");
    guest.write("/etc/apt/apt.conf.d/99expired", b"Acquire::Check-Valid-Until \"no\";", 0o644);
    assert_eq!(candidate(), "1.0 1.0");
    let installed =
        guest.run("apt-get install -y ferrite-demo; cat /usr/share/ferrite-demo/version");
    assert!(installed.stdout.ends_with("\n1.0\n"), "{installed:?}");
    guest.run("rm /etc/apt/apt.conf.d/99expired");
    the_package_server_fails_when_told_to(&guest);
}

/// What goes wrong on purpose, on paths that other tests in this process do not use.
fn the_package_server_fails_when_told_to(guest: &TestGuest) {
    let fault = |name: &str, kind| Fault { prefix: format!("/{name}"), kind };
    let server = guest.package_server();
    server.set_faults(vec![
        fault("absent", FaultKind::Status(404)),
        fault("broken", FaultKind::Status(503)),
        fault("late", FaultKind::Late(Duration::from_millis(700))),
        fault("elsewhere", FaultKind::Redirect("/debian/dists/trixie".to_owned())),
    ]);
    let rows = [
        ("absent", "", "404  Not Found"),
        ("broken", "", "503  Service Unavailable"),
        ("late", "", "404  Not Found"),
        ("elsewhere", "Codename: trixie", ""),
    ];
    for (name, content, error) in rows {
        let started = std::time::Instant::now();
        let got = guest.run(&format!(
            "rm -f /tmp/got; /usr/lib/apt/apt-helper download-file \
             http://deb.debian.org/{name}/Release /tmp/got; cat /tmp/got"
        ));
        assert!(got.stdout.contains(content), "{name}: {got:?}");
        assert!(got.stderr.contains(error), "{name}: {got:?}");
        let late = started.elapsed() >= Duration::from_millis(700);
        assert!(late || name != "late", "{name}: {:?}", started.elapsed());
    }
    for (kind, reason) in
        [(FaultKind::Forged, "NO_PUBKEY|Missing key"), (FaultKind::Expired, "is expired")]
    {
        server.set_faults(vec![fault("debian/dists/bookworm/", kind.clone())]);
        let update = guest.run(
            "cd /etc/apt; sed 's/trixie trixie-updates/bookworm/' /root/live.sources \
             >sources.list.d/debian.sources; apt-get update --error-on=any 2>&1",
        );
        assert_eq!(update.status, 100, "{kind:?}: {update:?}");
        let said = reason.split('|').any(|reason| update.stdout.contains(reason));
        assert!(said, "{kind:?}: {update:?}");
    }
    server.set_faults(Vec::new());
    for line in [
        "GET http://deb.debian.org/broken/Release 503",
        "GET http://deb.debian.org/elsewhere/Release 302",
        "GET http://deb.debian.org/debian/dists/trixie/Release 200",
    ] {
        assert!(server.requests().iter().any(|r| r == line), "{line}: {:?}", server.requests());
    }
}

#[test]
fn a_guest_lives_and_dies_as_a_vm() {
    let lab = Lab::up();
    let driver = lab.driver();
    let mut guest = lab.guest(100, MAC);
    driver.start(&guest).expect("the guest starts");
    assert!(matches!(driver.status(100), GuestStatus::Running { .. }));

    let gateway = driver.bridges()[0].gateway();
    assert_eq!(driver.dns(), (vec![gateway], vec!["lab.test".to_owned()]));

    // The agent is Debian's own and says what a VM's would.
    let interfaces = lab.interfaces_with_address(100);
    let own = interfaces.iter().find(|i| i["name"] == "eth0").expect("eth0");
    assert_eq!(own["hardware-address"], MAC.to_lowercase());
    assert_eq!(interfaces[0]["name"], "lo");
    let unknown = driver.agent(100, "guest-nope", &json!({}), Duration::from_secs(5));
    assert_eq!(
        unknown,
        Err(AgentError::Refused("The command guest-nope has not been found".to_owned()))
    );
    let trimmed = driver.agent(100, "guest-fstrim", &json!({}), Duration::from_secs(5));
    assert_eq!(trimmed, Ok(json!({"paths": []})), "not the host's disk");
    let mounts = driver
        .agent(100, "guest-get-fsinfo", &json!({}), Duration::from_secs(5))
        .expect("the agent answers");
    let points: Vec<_> =
        mounts.as_array().expect("a list").iter().map(|m| m["mountpoint"].clone()).collect();
    assert_eq!(points, [json!("/")], "no file system of the host is in the guest");

    // A bridge made in the guest comes before its card, with an address nobody can reach.
    write_exec(
        driver,
        100,
        "ip link add docker0 type bridge; ip addr add 172.17.0.1/16 dev docker0; \
         ip link set docker0 up; echo kept >/root/kept; df -BG --output=size / | tail -1",
        "4G",
    );
    assert_eq!(lab.interface_names(100), ["lo", "docker0", "eth0"]);

    let boot = "cat /proc/sys/kernel/random/boot_id; cat /root/kept";
    write_exec(driver, 100, boot, "kept");
    let disk = &guest.disks[0].path;
    driver
        .resize_volume(Some(100), disk, VolumeFormat::Raw, 5 << 30)
        .expect("the disk of a running guest grows");
    // In sectors, from where the root begins: the guest sees all loop devices of the kernel, and no
    // other test makes this size.
    write_exec(driver, 100, "cat /sys/block/loop*/size", "10223616\n");

    let before = driver.status(100);
    let _ = driver.agent(100, "guest-shutdown", &json!({"mode": "reboot"}), Duration::from_secs(5));
    eventually("the guest reboots", || driver.status(100) != before);
    let GuestStatus::Running { pid } = driver.status(100) else {
        panic!("the guest is {:?}", driver.status(100));
    };
    lab.interfaces_with_address(100);
    assert_eq!(lab.interface_names(100), ["lo", "eth0"], "docker0 is gone");
    write_exec(
        driver,
        100,
        "cat /root/kept; df -BG --output=size / | tail -1 | tr -d ' '",
        "kept\n5G\n",
    );
    assert_eq!(lab.events(), [GuestEvent::Rebooted { vmid: 100, pid }]);

    // A second card on the second bridge, plugged while it runs.
    guest.nics.push(support::nic(1, "BC:24:11:AB:CD:02", "vmbr1"));
    driver.rewire(100, &guest.nics).expect("the card is plugged");
    assert_eq!(lab.bridge_of("tap100i1"), "vmbr1");
    guest.nics[1].tag = Some(20);
    driver.rewire(100, &guest.nics).expect("the port gets a VLAN");
    assert_eq!(lab.bridge_of("tap100i1"), "vmbr1v20");
    assert_eq!(lab.interface_names(100), ["lo", "eth0", "ens19"]);
    guest.nics.pop();
    driver.rewire(100, &guest.nics).expect("the card is unplugged");
    assert_eq!(lab.interface_names(100), ["lo", "eth0"]);

    driver.suspend(100).expect("the guest freezes");
    let frozen = driver.agent(100, "guest-ping", &json!({}), Duration::from_millis(300));
    assert_eq!(frozen, Err(AgentError::Timeout));
    driver.resume(100).expect("the guest thaws");

    assert_eq!(driver.shutdown(100, Duration::from_secs(30)), Ok(true));
    assert_eq!(driver.status(100), GuestStatus::Stopped);
    lab.assert_no_guest_left();

    driver.start(&guest).expect("the guest starts again");
    driver.stop(100).expect("the guest stops at once");
    lab.assert_no_guest_left();
    assert_eq!(lab.events().len(), 1, "what was asked for is no event");
}

#[test]
fn what_dies_leaves_nothing() {
    let mut lab = Lab::up();
    let guest = lab.guest(101, MAC);
    let launcher = lab.driver().start(&guest).expect("the guest starts");
    kill(launcher, "sh");
    eventually("the guest's death is an event", || {
        lab.events() == [GuestEvent::PoweredOff { vmid: 101 }]
    });
    lab.assert_no_guest_left();

    // Without nspawn the guest's own systemd would live on.
    let launcher = lab.driver().start(&guest).expect("the guest starts");
    lab.interfaces_with_address(101);
    kill(support::child_of(launcher, "systemd-nspawn"), "systemd-nspawn");
    eventually("the guest's death is an event", || lab.events().len() == 2);
    lab.assert_no_guest_left();

    // The lab itself dies, and the next one finds the guest as it was.
    let launcher = lab.driver().start(&guest).expect("the guest starts");
    lab.restart();
    assert_eq!(lab.driver().running(), [(101, GuestStatus::Running { pid: launcher })]);
    lab.interfaces_with_address(101);

    // It dies again, and what comes is the order to clean up.
    lab.die();
    assert!(!lab.traces().is_empty(), "a dead lab leaves its guests");
    lab.clean();
    lab.assert_nothing_left();
    assert!(Path::new(&guest.disks[0].path).exists(), "disks are the API's");

    // Or nobody cleans up, and its directory is removed: the next lab anywhere does it.
    lab.restart();
    lab.driver().start(&guest).expect("the guest starts");
    lab.die();
    lab.lose_directory();
    let other = Lab::up();
    assert!(other.traces().iter().any(|trace| trace.starts_with("lab netns")));
    lab.assert_nothing_left();
}

#[test]
fn a_guest_without_a_system_runs_all_the_same() {
    let lab = Lab::up();
    let driver = lab.driver();
    let mut guest = lab.guest(102, MAC);
    guest.disks.clear();
    guest.seed = None;
    driver.start(&guest).expect("the guest starts");
    let silent = driver.agent(102, "guest-ping", &json!({}), Duration::from_secs(1));
    assert_eq!(silent, Err(AgentError::NotRunning));
    assert_eq!(driver.shutdown(102, Duration::from_millis(200)), Ok(false));
    driver.stop(102).expect("the guest stops");
    guest.nics[0].bridge = Some("vmbr9".to_owned());
    let refused = driver.start(&guest).expect_err("there is no such bridge");
    assert!(refused.0.starts_with("cannot plug net0: bridge 'vmbr9' does not exist"), "{refused}");
    lab.assert_no_guest_left();
}

#[expect(clippy::expect_used, reason = "called by tests only")]
fn kill(pid: u32, name: &str) {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).expect("the launcher runs");
    assert!(text.starts_with(&format!("Name:\t{}\n", &name[..name.len().min(15)])), "{text}");
    let pid = i32::try_from(pid).expect("a process id");
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL)
        .expect("it can be killed");
}
