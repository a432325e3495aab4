//! Machines made from others.

use pve_lab::{Fleet, LabConfig};
use serde_json::{Value, json};

use crate::support::{Bench, web, with};

/// A lab with template 9000.
fn bench() -> Bench {
    let bench = crate::support::bench();
    let args = json!({"vmid": 9000, "name": "debian13", "state": "template", "agent": true});
    assert!(bench.module(web()).args(args).run().changed());
    bench
}

fn copy() -> Value {
    json!({
        "name": "web", "node": "pve1", "clone": "debian13", "state": "started",
        "cores": 4, "tags": ["prod"], "ciuser": "admin",
        "net": {"net0": {"tag": 7}},
        "scsi": {"scsi0": {"size": "9G"}, "scsi1": {"storage": "local", "size": "1G"}},
    })
}

#[test]
fn template_settings_and_start_in_one_task() {
    let bench = bench();
    let mac = bench.module(json!({"vmid": 9000, "state": "current"})).run().ok()["config"]["net0"]
        .clone();
    let module = bench.module(copy()).diff();
    bench.forget();
    let check = module.clone().check().run();
    assert!(check.changed());
    assert_eq!(bench.writes(), [""; 0]);
    let real = module.run();
    assert!(real.changed(), "{}", real.stdout);
    assert_eq!(real.plan(), check.plan());
    assert_eq!(real.plan()[0], "create vm web on pve1 as a full copy of vm debian13 (9000)");
    assert!(real.plan()[1].contains("set cores to \"4\" (was \"2\")"), "{:?}", real.plan());
    assert_eq!(real.plan()[2], "grow scsi0 of vm web from 8G to 9G");
    assert_eq!(real.plan()[3], "start vm web");
    let config = &real.result["config"];
    assert_eq!((&config["cores"], &config["tags"]), (&json!("4"), &json!("prod")));
    assert_ne!(config["net0"], mac, "an address of its own");
    assert!(config["net0"].as_str().unwrap().ends_with(",bridge=vmbr0,tag=7"), "{config}");
    assert!(config["scsi0"].as_str().unwrap().ends_with("size=9G"), "{config}");
    assert_eq!(real.result["status"], "running");
    bench.forget();
    let again = module.run();
    assert!(!again.changed(), "b09: {}", again.stdout);
    assert_eq!(bench.calls().len(), 3);
}

#[test]
fn a_copy_costs_eleven_calls_besides_preflight() {
    let bench = bench();
    bench.forget();
    let args = json!({"name": "web", "clone": "9000", "full": false, "cores": 4, "tags": ["x"],
                      "state": "started", "ciuser": "me", "memory": 2048});
    assert!(bench.module(args).run().changed());
    // how often a task is asked for depends on how long it takes
    let mut calls = bench.calls();
    calls.dedup();
    let preflight = |call: &&String| {
        ["/access/permissions", "/nodes", "/nodes/pve1/storage", "/nodes/pve1/network"]
            .iter()
            .any(|path| call.as_str() == format!("GET {path}"))
    };
    let besides = calls.iter().filter(|call| !preflight(call)).count();
    assert!(besides <= 11, "{calls:#?}");
    assert_eq!(bench.writes().len(), 3, "{calls:#?}");
}

#[test]
fn b10_an_explicit_number_decides() {
    let bench = bench();
    assert!(bench.module(json!({"vmid": 200, "name": "dolly", "node": "pve1"})).run().changed());
    for args in [
        json!({"clone": "9000", "vmid": 5011, "name": "dolly"}),
        json!({"clone": "anything", "vmid": 9000, "newid": 5012, "name": "dolly"}),
    ] {
        let made = bench.module(args.clone()).run();
        assert!(made.changed(), "{}", made.stdout);
        let vmid = args.get("newid").unwrap_or(&args["vmid"]);
        assert_eq!(&made.result["vmid"], vmid);
        assert!(!bench.module(args).run().changed());
    }
}

#[test]
fn b50_a_linked_copy_takes_neither_storage_nor_format() {
    let bench = bench();
    bench.forget();
    let linked = json!({"clone": "debian13", "vmid": 300, "name": "linked", "full": false});
    for (more, text) in [
        (json!({"storage": "local"}), "storage: the disks of a linked copy are where those of"),
        (json!({"format": "raw"}), "format: the disks of a linked copy have the format that"),
    ] {
        let refused = bench.module(linked.clone()).args(more).run();
        assert!(refused.failed().contains(text), "{}", refused.failed());
    }
    assert_eq!(bench.calls(), [""; 0]);
    assert!(bench.module(linked).run().changed());
    let (call, params) = bench.written().remove(0);
    assert_eq!(call, "POST /nodes/pve1/qemu/9000/clone");
    assert_eq!(params, json!({"full": "0", "name": "linked", "newid": "300"}));
    let plain = json!({"clone": "300", "vmid": 301, "name": "again", "full": false});
    let refused = bench.module(plain).run();
    assert!(refused.failed().contains("vm linked (300) is no template"), "{}", refused.failed());
}

/// Templates called debian13 on pve1 and pve2.
fn cluster() -> Bench {
    let fleet = Fleet { guests: 3, containers: 0, stopped: 100, ..Fleet::default() };
    let bench = with(LabConfig { fleet: Some(fleet), ..LabConfig::default() });
    for (vmid, node) in [(9000, "pve1"), (9001, "pve2")] {
        let args = json!({"vmid": vmid, "name": "debian13", "node": node, "state": "template"});
        assert!(bench.module(args).run().changed());
    }
    bench
}

#[test]
fn b49_of_several_templates_the_near_one_is_taken() {
    let bench = cluster();
    bench.forget();
    let near = bench.module(json!({"clone": "debian13", "name": "web", "node": "pve2"})).run();
    assert!(near.changed(), "{}", near.stdout);
    assert_eq!(bench.writes()[0], "POST /nodes/pve2/qemu/9001/clone");
    bench.forget();
    for node in [json!({"node": "pve3"}), json!({})] {
        let far = bench.module(json!({"clone": "debian13", "name": "db"})).args(node).run();
        let message = far.failed();
        assert!(message.contains("debian13 is ambiguous: 9000 on pve1, 9001 on pve2"), "{message}");
    }
    let none = bench.module(json!({"clone": "nosuch", "name": "db"})).run();
    assert!(none.failed().contains("clone: there is no machine called nosuch"));
    assert_eq!(bench.writes(), [""; 0]);
}

#[test]
fn b48_a_template_is_copied_from_its_own_node() {
    let bench = cluster();
    bench.forget();
    let made = bench.module(json!({
        "clone": "9000", "name": "web", "vmid": 800, "node": "pve2", "cores": 2, "state": "started",
    }));
    let made = made.run();
    assert!(made.changed(), "{}", made.stdout);
    assert_eq!(made.result["node"], "pve2");
    let (call, params) = bench.written().remove(0);
    assert_eq!(call, "POST /nodes/pve1/qemu/9000/clone");
    assert_eq!(params["target"], "pve2");
    let rest = bench.writes();
    assert!(rest[1..].iter().all(|call| call.contains("/nodes/pve2/qemu/800/")), "{rest:?}");
}

#[test]
fn b15_b16_a_copy_waits_for_locks() {
    let bench = bench();
    let text =
        "clone failed: can't lock file '/var/lock/pve-manager/pve-storage-local' - got timeout";
    bench.lab.fail_tasks("qmclone", 1, pve_lab::TaskFault::Fail(text.into()));
    let made = bench.module(json!({"clone": "9000", "vmid": 117, "name": "web", "cores": 4})).run();
    assert!(made.changed(), "{}", made.stdout);
    assert_eq!(bench.writes().iter().filter(|call| call.ends_with("/clone")).count(), 2);
}

#[test]
fn b77_a_running_machine_becomes_a_template_only_with_force() {
    let bench = crate::support::bench();
    assert!(bench.module(web()).run().changed());
    bench.forget();
    let module = bench.module(json!({"vmid": 201, "state": "template"}));
    let message = module.run();
    assert!(message.failed().contains("vm web (201) is running and cannot become a template"));
    assert_eq!(bench.writes(), [""; 0]);
    let forced = module.arg("force", true).run();
    assert!(forced.changed(), "{}", forced.stdout);
    assert_eq!(forced.plan()[1], "make vm web (201) a template");
    assert!(!bench.module(json!({"vmid": 201, "template": true})).run().changed());
    let started = bench.module(json!({"vmid": 201, "state": "started"})).run();
    assert!(started.failed().contains("is a template, which cannot be started"));
}

#[test]
fn ten_copies_at_once_get_a_number_each() {
    let bench = bench();
    bench.forget();
    let mut vmids: Vec<u64> = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..10)
            .map(|index| {
                let bench = &bench;
                scope.spawn(move || {
                    let args = json!({"name": format!("copy{index}"), "clone": "debian13",
                                      "cores": 4, "state": "started"});
                    bench.module(args).run().ok()["vmid"].as_u64().unwrap()
                })
            })
            .collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    vmids.sort_unstable();
    vmids.dedup();
    assert_eq!(vmids.len(), 10);
}
