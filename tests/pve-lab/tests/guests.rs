//! Real guests, booted from images built from Debian's packages. Needs root.

use pve_lab::guests::{Suite, TestGuest};

#[test]
fn a_guest_boots_without_failed_units() {
    let guest = TestGuest::boot(Suite::Trixie);
    assert_eq!(guest.run("id -un").stdout, "root\n");
    assert_eq!(guest.run("systemctl is-system-running").stdout, "running\n");
}
