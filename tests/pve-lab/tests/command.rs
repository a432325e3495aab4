//! The command `pve-lab`, without guests: it needs neither root nor a network.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

fn lab(dir: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pve-lab"))
        .args(arguments)
        .arg("--dir")
        .arg(dir)
        .output()
        .unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Ends the lab whatever becomes of the test.
struct Down<'a>(&'a Path);

impl Drop for Down<'_> {
    fn drop(&mut self) {
        lab(self.0, &["down"]);
    }
}

const UP: &[&str] = &["up", "--state-only", "--listen", "127.0.0.1:0"];

fn pid(dir: &Path) -> String {
    fs::read_to_string(dir.join("pid")).unwrap().trim().to_owned()
}

#[test]
fn up_leaves_what_clients_need_and_down_removes_it() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("lab");
    let _down = Down(&dir);
    let up = lab(&dir, UP);
    assert!(up.status.success(), "{}", text(&up));
    let secret = fs::read_to_string(dir.join("token-secret")).unwrap();
    for name in ["token-secret", "env", "cluster.json"] {
        let mode = fs::metadata(dir.join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let env = fs::read_to_string(dir.join("env")).unwrap();
    assert!(env.contains(&format!("PROXMOX_TOKEN_SECRET={}\n", secret.trim())), "{env}");
    let inventory = fs::read_to_string(dir.join("pve_inventory.cfg")).unwrap();
    assert!(inventory.contains(&format!("token_secret_file: {}/token-secret\n", dir.display())));
    assert!(!inventory.contains(secret.trim()), "{inventory}");
    let status = lab(&dir, &["status"]);
    assert!(text(&status).contains("runs on https://127.0.0.1:"), "{}", text(&status));

    let again = lab(&dir, UP);
    assert!(again.status.success() && text(&again).contains("runs already"), "{}", text(&again));

    let down = lab(&dir, &["down"]);
    assert!(down.status.success(), "{}", text(&down));
    assert!(!dir.exists());
    let status = lab(&dir, &["status"]);
    assert!(!status.status.success() && text(&status).contains("there is no lab in"));
}

#[test]
fn a_lab_that_was_killed_comes_up_as_it_was() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("lab");
    let _down = Down(&dir);
    assert!(lab(&dir, UP).status.success());
    let before =
        (fs::read(dir.join("token-secret")).unwrap(), fs::read(dir.join("ca.pem")).unwrap());
    let first = pid(&dir);
    assert!(Command::new("kill").args(["-9", &first]).status().unwrap().success());
    // the signal is sent before the process is gone
    while text(&lab(&dir, &["status"])).contains("runs on") {}
    let up = lab(&dir, UP);
    assert!(up.status.success(), "{}", text(&up));
    assert_ne!(pid(&dir), first);
    let after =
        (fs::read(dir.join("token-secret")).unwrap(), fs::read(dir.join("ca.pem")).unwrap());
    assert_eq!(before, after);
}

#[test]
fn an_address_that_is_taken_is_named() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("lab");
    let _down = Down(&dir);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let up = lab(&dir, &["up", "--state-only", "--listen", &address]);
    assert!(!up.status.success());
    assert!(text(&up).contains(&format!("failed to listen on {address}")), "{}", text(&up));
}

#[test]
fn faults_are_asked_for_beside_the_api() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("lab");
    let _down = Down(&dir);
    assert!(lab(&dir, UP).status.success());
    for (arguments, told) in [
        (&["fault", "task", "qmcreate", "--fail", "no space left", "--times", "2"][..], ""),
        (&["fault", "task", "qmstart", "--warn", "one", "--warn", "two"], ""),
        (&["fault", "call", "PUT", "/config", "--proxy", "596"], ""),
        (&["fault", "call", "PUT", "/config", "--drop"], ""),
        (&["fault", "digest", "101"], ""),
        (&["fault", "hold", "101", "--seconds", "0.1"], ""),
        (&["fault", "full", "local"], ""),
        (&["fault", "offline", "pve1"], ""),
        (&["fault", "offline", "pve1", "--back"], ""),
        (&["fault", "clear"], ""),
        (&["fault", "lock", "101"], "there is no guest 101"),
        (&["fault", "full", "nosuch"], "there is no storage nosuch"),
        (&["fault", "offline", "pve9"], "there is no node pve9"),
        (&["fault", "task", "qmcreate"], "required arguments were not provided"),
        (&["fault", "call", "GET", "/", "--drop", "--slow", "1"], "cannot be used with"),
    ] {
        let output = lab(&dir, arguments);
        let text = text(&output);
        assert_eq!(output.status.success(), told.is_empty(), "{arguments:?}: {text}");
        assert!(text.contains(told), "{arguments:?}: {text}");
    }
    assert!(lab(&dir, &["down"]).status.success());
    let output = lab(&dir, &["fault", "clear"]);
    assert!(text(&output).contains("failed to reach a lab at"), "{}", text(&output));
}
