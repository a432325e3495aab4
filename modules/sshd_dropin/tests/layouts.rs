//! The configurations of sshd as releases ship them, in trees that a real sshd of two releases
//! reads. Nothing is reloaded: it is the files that differ.

use std::process::Command;

use pve_lab::guests::{Suite, TestGuest};
use serde_json::{Value, json};

const FOLDER: &str = "/etc/ssh/sshd_config.d";

/// A release, and the file that beats a drop-in which is read late.
const HOSTS: [(&str, Option<&str>); 7] = [
    ("debian-11", None),
    ("debian-12", None),
    ("debian-13", None),
    ("ubuntu-20.04", None),
    ("ubuntu-22.04", Some("50-cloud-init.conf:1")),
    ("ubuntu-24.04", Some("50-cloud-init.conf:1")),
    ("ubuntu-26.04", Some("50-cloud-init.conf:1")),
];

fn ok(guest: &TestGuest, command: &str) -> String {
    let output = guest.console(command);
    assert!(output.success(), "{command}: {}{}", output.stdout, output.stderr);
    output.stdout
}

fn every_release(suite: Suite) {
    let guest = TestGuest::boot(suite);
    ok(&guest, "mkdir -p /srv/tree && mount --bind / /srv/tree && cp -a /etc/ssh /root/ssh.stock");
    for (name, winner) in HOSTS {
        let host = harness::host(name);
        let packed = Command::new("tar").arg("-cC").arg(host.path()).arg("etc/ssh").output();
        let packed = packed.map(|output| output.stdout).unwrap_or_default();
        // over the tree's own, with its host keys
        ok(&guest, "rm -rf /root/tree && mkdir /root/tree");
        assert!(guest.run_with("tar -xC /root/tree", &packed).success(), "{name}");
        ok(
            &guest,
            "cp -a /root/ssh.stock/ssh_host_* /root/tree/etc/ssh/ && \
             mount --bind /root/tree/etc/ssh /srv/tree/etc/ssh",
        );
        let state = || {
            ok(
                &guest,
                "cd /root/tree && find . -printf '%p %m ' -type f -exec sha256sum {} + | sort",
            )
        };
        let run = |file: &str, check: bool| -> Value {
            let args = json!({
                "name": file,
                "settings": {"PasswordAuthentication": false, "KbdInteractiveAuthentication": false},
                "root": "/srv/tree",
            });
            let reserved = json!({"_ansible_check_mode": check});
            guest.module_with(env!("CARGO_BIN_EXE_sshd_dropin"), &args, &reserved)
        };
        let before = state();
        if let Some(winner) = winner {
            for check in [true, false] {
                let late = run("70-late.conf", check);
                let message = late["msg"].as_str().unwrap_or_default();
                assert!(message.contains(&format!("{FOLDER}/{winner}")), "{name}: {late}");
                assert_eq!(state(), before, "{name}");
            }
        }
        let check = run("10-key-only.conf", true);
        assert_eq!(check["changed"], true, "{name}: {check}");
        assert_eq!(state(), before, "{name}");
        let real = run("10-key-only.conf", false);
        assert_eq!(real["effective"]["passwordauthentication"], json!(["no"]), "{name}: {real}");
        assert_eq!(real["plan"], check["plan"], "{name}");
        let asked = ok(
            &guest,
            "mkdir -p /srv/tree/run/sshd; chroot /srv/tree /usr/sbin/sshd -T | grep -E '^(password|kbd)'",
        );
        assert_eq!(
            asked.lines().collect::<Vec<_>>(),
            ["passwordauthentication no", "kbdinteractiveauthentication no"],
            "{name}"
        );
        assert_eq!(run("10-key-only.conf", false)["changed"], false, "{name}");
        ok(&guest, "umount /srv/tree/etc/ssh");
    }
}

#[test]
fn g20_g22_every_release_as_trixie_reads_it() {
    every_release(Suite::Trixie);
}

#[test]
fn g20_g22_every_release_as_bookworm_reads_it() {
    every_release(Suite::Bookworm);
}
