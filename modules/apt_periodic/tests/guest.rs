//! Real apt in real guests.

use pve_lab::guests::{Suite, TestGuest};
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_apt_periodic");
const PARTS: &str = "/etc/apt/apt.conf.d";

fn run(guest: &TestGuest, args: Value) -> Value {
    guest.module(BINARY, &args)
}

fn check(guest: &TestGuest, args: Value) -> Value {
    guest.module_with(BINARY, &args, &json!({"_ansible_check_mode": true}))
}

fn parts(guest: &TestGuest) -> String {
    guest.run("cd /etc/apt/apt.conf.d && sha256sum * && ls /run | grep -c ferrite").stdout
}

fn settings_in_force(suite: Suite) {
    let guest = TestGuest::boot(suite);
    let off = json!({"settings": {"Update-Package-Lists": "0", "Unattended-Upgrade": false}});

    let before = parts(&guest);
    assert_eq!(check(&guest, off.clone())["changed"], true);
    assert_eq!(parts(&guest), before);
    let done = run(&guest, off.clone());
    assert_eq!(done["changed"], true, "{done}");
    assert_eq!(done["effective"]["Unattended-Upgrade"], "0", "{done}");
    assert_eq!(run(&guest, off.clone())["changed"], false);

    // G60: a later file wins
    let winner = b"APT::Periodic::Unattended-Upgrade \"1\";\n";
    guest.write(&format!("{PARTS}/99z.conf"), winner, 0o644);
    let before = parts(&guest);
    for outcome in [check(&guest, off.clone()), run(&guest, off.clone())] {
        assert_eq!(
            outcome["msg"],
            "APT::Periodic::Unattended-Upgrade would not be '0' but '1', by \
             /etc/apt/apt.conf.d/99z.conf; nothing was placed"
        );
    }
    let earlier = json!({"file": "10own", "settings": {"Unattended-Upgrade": 0}});
    assert_eq!(check(&guest, earlier)["failed"], true);
    let later = json!({"file": "99zz", "settings": {"Unattended-Upgrade": 0}});
    assert_eq!(check(&guest, later)["changed"], true);
    assert_eq!(parts(&guest), before);
    guest.run(
        "rm /etc/apt/apt.conf.d/99z.conf; echo 'APT::Periodic::Unattended-Upgrade \"2\";' \
               > /etc/apt/apt.conf",
    );
    let main = run(&guest, off.clone());
    assert!(main["msg"].as_str().unwrap_or_default().contains("by /etc/apt/apt.conf;"), "{main}");
    guest.run("rm /etc/apt/apt.conf");

    // G61: what was broken before is not blamed on us, and not touched
    guest.write(&format!("{PARTS}/20bad"), b"APT::Periodic::Enable \"1\"\n", 0o644);
    let before = parts(&guest);
    let broken = run(&guest, json!({"settings": {"Enable": 0}}));
    let message = broken["msg"].as_str().unwrap_or_default();
    assert!(message.starts_with("apt's configuration was broken before"), "{message}");
    assert!(message.contains("/etc/apt/apt.conf.d/20bad"), "{message}");
    assert_eq!(parts(&guest), before);
    guest.run("rm /etc/apt/apt.conf.d/20bad");

    // a file that somebody else can write decides nothing for long
    for open in ["chown daemon", "chmod 666", "f() { cp $1 /root/own; ln -sf /root/own $1; }; f"] {
        guest.run(&format!("{open} {PARTS}/99ferrite_periodic"));
        assert_eq!(check(&guest, off.clone())["changed"], true, "{open}");
        assert_eq!(run(&guest, off.clone())["changed"], true, "{open}");
        assert_eq!(run(&guest, off.clone())["changed"], false, "{open}");
        let held = guest.run(&format!("stat -c '%U %a %F' {PARTS}/99ferrite_periodic"));
        assert_eq!(held.stdout.trim(), "root 644 regular file", "{open}");
    }

    assert_eq!(run(&guest, json!({"state": "absent"}))["changed"], true);
    assert_eq!(run(&guest, json!({"state": "absent"}))["changed"], false);
}

#[test]
fn g60_g61_settings_are_in_force_on_trixie() {
    settings_in_force(Suite::Trixie);
}

#[test]
fn g60_g61_settings_are_in_force_on_bookworm() {
    settings_in_force(Suite::Bookworm);
}
