//! What is refused, and how it is said.

use serde_json::json;

use crate::support::{bench, web};

#[test]
fn bad_input_is_refused_before_any_request() {
    let bench = bench();
    for (args, texts) in [
        (json!({"corse": 2}), &["corse"][..]),
        (json!({"cores": "many"}), &["cores", "many"]),
        (
            json!({"state": "running"}),
            &[
                "state",
                "present, started, stopped, restarted, paused, hibernated, template, absent, current",
            ],
        ),
        (json!({"bios": "uefi"}), &["bios", "seabios, ovmf"]),
        (json!({"net": {"eth0": "virtio"}}), &["net: 'eth0' is not one of net0 to net31"]),
        (json!({"image": "local:iso/debian.img"}), &["image", "content iso", "import"]),
        (json!({"image": "/root/x.img"}), &["path on the node"]),
        (json!({"sshkeys": "/root/.ssh/id_rsa.pub"}), &["is not a public ssh key"]),
        (json!({"vmid": 99}), &["vmid", "99"]),
        (json!({"ipconfig": {"ipconfig0": "ip=10.0.0.5"}}), &["prefix length"]),
        (
            json!({"clone": "x", "image": null, "full": false, "storage": "local"}),
            &["storage: the"],
        ),
        (json!({"clone": "x"}), &["clone", "image"]),
        (json!({"snapname": "x"}), &["snapname: it is the snapshot of a machine to copy"]),
        (json!({"archive": "local:iso/x.iso", "image": null}), &["archive: it is no backup"]),
        (json!({"template": true}), &["template: a template does not run"]),
        (json!({"api_fingerprint": "zz"}), &["api_fingerprint"]),
        (
            json!({"startup": "ordr=1"}),
            &["startup: unknown key 'ordr'; allowed are order, up, down"],
        ),
        (
            json!({"scsi": {"scsi0": {"storage": "local", "sizze": "8G"}}}),
            &["scsi0: unknown key 'sizze'; allowed are storage, ", ", size, "],
        ),
        (json!({"agent": "enabld=1"}), &["agent: unknown key 'enabld'; allowed are enabled,"]),
        (json!({"config": {"foo": "bar"}}), &["config: unknown key 'foo'; allowed are acpi,"]),
        (json!({"delete": ["foo"]}), &["delete: unknown key 'foo'; allowed are acpi,"]),
        (json!({"hotplug": "dsk"}), &["hotplug: 'dsk' is not one of network, disk"]),
    ] {
        let outcome = bench.module(web()).args(args.clone()).run();
        let message = outcome.failed();
        for text in texts {
            assert!(message.contains(text), "{args}: {message}");
        }
    }
    let nobody = bench.module(json!({"node": "pve1"})).run();
    assert!(nobody.failed().contains("vmid, name"), "{}", nobody.failed());
    assert_eq!(bench.calls(), [""; 0]);
}

#[test]
fn trouble_with_the_connection_is_one_sentence() {
    let bench = bench();
    let secret = bench.secret();
    for (args, text) in [
        (json!({"api_host": "127.0.0.1", "api_port": 1}), "failed to reach the API at 127.0.0.1:1"),
        (json!({"api_fingerprint": "00".repeat(32)}), "fingerprint"),
        (json!({"api_fingerprint": null}), "certificate"),
        (
            json!({"api_token_secret": "11111111-2222-3333-4444-555555555555"}),
            "does not accept token",
        ),
    ] {
        bench.forget();
        let outcome = bench.module(web()).args(args.clone()).run();
        let message = outcome.failed();
        assert!(message.contains(text), "{args}: {message}");
        assert!(!message.contains('\n') && message.len() < 500, "{message}");
        outcome.hides(&secret);
        assert!(bench.calls().len() <= 1, "no retry storm: {:?}", bench.calls());
    }
}

#[test]
fn an_image_larger_than_the_size_asked_for_is_found_before_anything_is_made() {
    let bench = bench();
    let module =
        bench.module(web()).args(json!({"scsi": {"scsi0": {"storage": "local", "size": "1M"}}}));
    for module in [module.clone().check(), module] {
        let outcome = module.run();
        let message = outcome.failed();
        assert!(
            message
                .contains("before anything was changed: scsi0: local:import/debian-13.qcow2 has")
                && message.contains("cannot be shrunk to 1M: ask for "),
            "{message}"
        );
    }
    assert_eq!(bench.writes(), [""; 0]);
}

#[test]
fn all_that_stands_against_a_plan_is_said_at_once_also_in_check_mode() {
    let bench = bench();
    let module = bench.module(web()).args(json!({
        "image": "local:import/nope.qcow2",
        "scsi": {"scsi0": {"storage": "local", "size": "8G"}, "scsi1": {"storage": "nostore", "size": "1G"}},
        "net": {"net0": "virtio,bridge=vmbr9"}, "pool": "prod",
    }));
    for module in [module.clone().check(), module] {
        let outcome = module.run();
        let message = outcome.failed();
        for text in [
            "4 problems were found",
            "pool: there is no pool prod: make it first, or leave pool out",
            "scsi0: local:import/nope.qcow2 is not on pve1; there is local:import/debian-13.qcow2",
            "scsi1: pve1 has no storage nostore",
            "net0: there is no bridge vmbr9 on pve1",
        ] {
            assert!(message.contains(text), "{message}");
        }
        assert_eq!(outcome.result["problems"].as_array().unwrap().len(), 4);
    }
    let nowhere = bench.module(web()).arg("node", "pve9").run();
    assert!(nowhere.failed().contains("there is no node pve9: the cluster has pve1"));
    assert_eq!(bench.writes(), [""; 0]);
}

#[test]
fn what_the_peer_calls_otherwise_is_answered_with_what_to_do() {
    let bench = bench();
    for (option, advice) in [
        ("lock", "lock: a lock belongs to the task that set it"),
        ("skiplock", "skiplock: a lock is waited for"),
        ("update_unsafe", "update_unsafe: leave it out"),
    ] {
        let outcome = bench.module(json!({"vmid": 201, option: "backup"})).run();
        let message = outcome.failed();
        assert!(
            message.starts_with("Unsupported parameters for (ferrite.pve.pve_vm)"),
            "{message}"
        );
        assert!(message.contains(advice), "{message}");
    }
    assert_eq!(bench.calls(), [""; 0]);
}

#[test]
fn a_digest_that_is_not_the_one_read_before_stops_everything() {
    let bench = bench();
    let made = bench.module(web()).run();
    let digest = made.ok()["digest"].as_str().unwrap().to_owned();
    let task = |digest: &str| bench.module(json!({"vmid": 201, "cores": 4, "digest": digest}));
    assert!(task(&digest).run().changed());
    bench.forget();
    for module in [task(&digest), task(&digest).check()] {
        let outcome = module.run();
        let message = outcome.failed();
        let named = format!("not {digest}: it was changed since that was read; nothing was done");
        assert!(message.contains(&named), "{message}");
    }
    assert_eq!(bench.writes(), [""; 0]);
    let now = bench.module(json!({"vmid": 201, "state": "current"})).run();
    let now = now.ok()["digest"].as_str().unwrap().to_owned();
    assert!(!task(&now).run().changed());
    // another digest after what the run itself has written is its own doing
    let restarted = task(&now).args(json!({"cores": 3, "state": "restarted"})).run();
    assert!(restarted.changed(), "{}", restarted.stdout);
    let bad = task("abc").run();
    assert!(bad.failed().contains("digest"), "{}", bad.failed());
}

/// The names of the options of `proxmox_kvm`, community.proxmox 1.4.
const PEER: &str = include_str!("../fixtures/proxmox_kvm.txt");

#[test]
fn every_option_of_proxmox_kvm_is_taken_or_answered() {
    let bench = bench();
    let described = bench.module(json!({})).run_plain(&["--describe"]);
    let described: serde_json::Value = serde_json::from_str(&described.stdout).unwrap();
    let options = described["DOCUMENTATION"]["options"].as_object().unwrap();
    let known = |name: &str| {
        options.contains_key(name)
            || options.values().any(|option| {
                option["aliases"].as_array().into_iter().flatten().any(|alias| alias == name)
            })
    };
    let mut unknown = Vec::new();
    for name in PEER.lines().filter(|name| !known(name)) {
        let outcome = bench.module(json!({"vmid": 201, name: "x"})).run();
        assert!(outcome.failed().contains(&format!(" {name}: ")), "{}", outcome.failed());
        unknown.push(name);
    }
    assert_eq!(PEER.lines().count(), 86);
    assert_eq!(unknown, ["lock", "skiplock", "update_unsafe"]);
}
