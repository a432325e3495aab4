//! What is kept between runs, for how long, and who may read it.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::fleet::{Fleet, Printed, Running, agent, config, foreign, interface, printed, vars};
use crate::server::SECRET;

const MAC: &str = "BC:24:11:AA:BB:01";

fn web() -> Fleet {
    let interfaces = json!([interface("eth0", "bc:24:11:aa:bb:01", "10.0.0.5")]);
    Fleet::default().vm(100, "web", config(MAC), interfaces)
}

fn with(fleet: &Running, text: &str) {
    fleet.write("pve_inventory.cfg", &format!("cache_dir: cache\n{text}"));
}

/// The files of the cache.
fn kept(fleet: &Running) -> Vec<PathBuf> {
    let folder = std::fs::read_dir(fleet.folder().join("cache"));
    folder.into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
}

/// Makes what is kept look this many seconds older.
fn age(fleet: &Running, seconds: u64) {
    for path in kept(fleet) {
        let mut held: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let at = held["answer"]["at"].as_u64().unwrap();
        held["answer"]["at"] = (at - seconds).into();
        for asked in held["silent"].as_object_mut().unwrap().values_mut() {
            *asked = (asked.as_u64().unwrap() - seconds).into();
        }
        std::fs::write(&path, held.to_string()).unwrap();
    }
}

#[test]
fn there_is_no_cache_unless_asked_for() {
    let fleet = web().start();
    with(&fleet, "");
    fleet.list();
    fleet.list();
    assert_eq!((fleet.calls().len(), kept(&fleet)), (6, Vec::new()));
}

#[test]
fn a_fresh_answer_needs_no_call_and_an_old_one_does() {
    let fleet = web().start();
    with(&fleet, "cache: 60\n");
    let first = fleet.list();
    assert_eq!(fleet.calls().len(), 3);
    assert_eq!(fleet.list(), first);
    assert_eq!(fleet.calls().len(), 3, "not even a login");
    age(&fleet, 61);
    assert_eq!(fleet.list(), first);
    assert_eq!(fleet.calls().len(), 6);
    // asked for in either way
    assert_eq!(fleet.run(&["--list", "--refresh"]).status, Some(0));
    assert_eq!(fleet.calls().len(), 9);
    let variable = printed(fleet.command(&["--list"]).env("PVE_INVENTORY_REFRESH", "1"));
    assert_eq!((variable.status, fleet.calls().len()), (Some(0), 12));
    // a clock that was set back makes nothing fresh for longer
    for path in kept(&fleet) {
        let mut held: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        held["answer"]["at"] = 99_999_999_999_u64.into();
        std::fs::write(&path, held.to_string()).unwrap();
    }
    fleet.list();
    assert_eq!(fleet.calls().len(), 15);
}

#[test]
fn neither_a_login_nor_the_secret_is_needed_while_it_is_fresh() {
    let login = "POST /api2/json/access/ticket";
    let ticket = json!({"ticket": "PVE:a@pve:1::x", "CSRFPreventionToken": "1:y"});
    let fleet = web().data(login, ticket).start();
    with(
        &fleet,
        &format!(
            "cache: 60\nurl: https://127.0.0.1:{}\nuser: a@pve\nfingerprint: {}\n\
                           password_command: 'echo x >> ran; echo {SECRET}'\n",
            fleet.environment()[1].1,
            fleet.fingerprint()
        ),
    );
    let run = || {
        let mut command = fleet.command(&["--list"]);
        printed(command.env_clear().env("PATH", "/usr/bin:/bin"))
    };
    assert_eq!(run().status, Some(0));
    let calls = fleet.calls().len();
    assert_eq!((run().status, fleet.calls().len()), (Some(0), calls));
    assert_eq!(std::fs::read_to_string(fleet.folder().join("ran")).unwrap(), "x\n");
}

#[test]
fn it_is_the_owners_only_and_holds_no_secret() {
    let fleet = web().start();
    with(&fleet, "cache: 60\n");
    fleet.list();
    let [path] = &kept(&fleet)[..] else { panic!("{:?}", kept(&fleet)) };
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(path), mode(path.parent().unwrap())), (0o600, 0o700));
    assert!(!std::fs::read_to_string(path).unwrap().contains(SECRET));
    // what others could have written is not believed, and neither is what is no cache
    let held = std::fs::read_to_string(path).unwrap().replace("10.0.0.5", "10.6.6.6");
    std::fs::write(path, &held).unwrap();
    assert_eq!(vars(&fleet.list(), "web")["ansible_host"], "10.6.6.6");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o646)).unwrap();
    assert_eq!(vars(&fleet.list(), "web")["ansible_host"], "10.0.0.5");
    assert_eq!(mode(path), 0o600);
    for nonsense in ["", "{", "[1]", "{\"key\": \"x\", \"silent\": {}}"] {
        std::fs::write(path, nonsense).unwrap();
        assert_eq!(vars(&fleet.list(), "web")["ansible_host"], "10.0.0.5", "{nonsense}");
    }
    assert_eq!(kept(&fleet).len(), 1, "nothing is left beside it");
}

#[test]
fn another_question_is_another_answer() {
    let fleet = web().start();
    with(&fleet, "cache: 60\n");
    fleet.list();
    for (text, calls) in
        [("names: web\n", 3), ("facts: full\n", 3), ("templates: true\n", 3), ("names: web\n", 0)]
    {
        let before = fleet.calls().len();
        with(&fleet, &format!("cache: 60\n{text}"));
        fleet.list();
        assert_eq!(fleet.calls().len() - before, calls, "{text}");
    }
    let before = fleet.calls().len();
    let other = printed(fleet.command(&["--list"]).env("PROXMOX_TOKEN_ID", "ansible@pve!other"));
    assert_eq!((other.status, fleet.calls().len() - before), (Some(0), 3));
    // what decides about addresses is applied anew
    with(&fleet, "cache: 60\nexclude_networks: [10.0.0.0/8]\n");
    let before = fleet.calls().len();
    assert_eq!(vars(&fleet.list(), "web")["pve_address_reason_kind"], "left_out");
    assert_eq!(fleet.calls().len(), before);
}

#[test]
fn an_old_answer_is_used_only_when_allowed_and_says_so() {
    let fleet = web()
        .data("/cluster/resources", json!([crate::fleet::row(100, "web")]))
        .then_refusal("/cluster/resources", 500, "got no quorum")
        .start();
    with(&fleet, "cache: 1\n");
    fleet.list();
    age(&fleet, 100);
    let failed = fleet.run(&["--list"]);
    assert_eq!((failed.status, failed.stdout.as_str()), (Some(1), ""), "{failed:?}");
    with(&fleet, "cache: 1\nstale_if_error: true\n");
    let stale: Printed = fleet.run(&["--list"]);
    assert_eq!(stale.status, Some(0), "{stale:?}");
    assert!(stale.stderr.starts_with("pve_inventory: this is 10"), "{stale:?}");
    assert!(
        stale.stderr.contains(" s old, from the cache (stale_if_error): got no quorum"),
        "{stale:?}"
    );
    let inventory: Value = serde_json::from_str(&stale.stdout).unwrap();
    assert_eq!(vars(&inventory, "web")["ansible_host"], "10.0.0.5");
    let said = &inventory["pve_guests"]["vars"]["pve_inventory_warnings"][0]["__ansible_unsafe"];
    assert!(said.as_str().unwrap().contains("from the cache"), "{said}");
}

#[test]
fn silent_agents_are_left_alone_for_a_while() {
    let fleet = web()
        .vm(101, "mute", config("BC:24:11:AA:BB:02"), json!([]))
        .refusal(&agent(101), 500, "QEMU guest agent is not running")
        .start();
    let asked = || fleet.calls().iter().filter(|call| **call == agent(101)).count();
    with(&fleet, "cache: 1\nsilent_memory: 300\n");
    fleet.list();
    assert_eq!(asked(), 1);
    age(&fleet, 10);
    let inventory = fleet.list();
    assert_eq!(asked(), 1);
    let mute = vars(&inventory, "mute");
    assert_eq!(mute["pve_address_reason_kind"], "agent_silent");
    let reason = foreign(mute, "pve_address_reason");
    assert!(reason.starts_with("its agent did not answer 1"), "{reason}");
    assert!(reason.ends_with("left alone for 300 s (silent_memory)"), "{reason}");
    // it is not left alone for longer by being left alone
    age(&fleet, 295);
    fleet.list();
    assert_eq!(asked(), 2);
    age(&fleet, 10);
    assert_eq!(fleet.run(&["--list", "--refresh"]).status, Some(0));
    assert_eq!(asked(), 3);
}

#[test]
fn an_answer_with_something_missing_is_not_kept() {
    let lost =
        json!({"type": "qemu", "vmid": 200, "node": "pve2", "name": "b", "status": "unknown"});
    let fleet =
        web().row(lost).refusal("/nodes/pve2/qemu/200/config", 595, "No route to host").start();
    with(&fleet, "cache: 60\n");
    fleet.list();
    let before = fleet.calls().len();
    fleet.list();
    assert!(fleet.calls().len() > before);
}

#[test]
fn a_cache_that_cannot_be_written_is_no_failure_and_is_said() {
    let fleet = web().start();
    fleet.write("cache", "a file where the folder should be");
    with(&fleet, "cache: 60\n");
    let run = fleet.run(&["--list"]);
    assert_eq!(run.status, Some(0), "{run:?}");
    assert!(run.stderr.contains("failed to keep what was read in"), "{run:?}");
}
