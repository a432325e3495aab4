//! What each kind of task needs to be allowed: told by the module to a token that may only look,
//! and proved with a token that has exactly that. The table in the README is made of it.

use std::collections::{BTreeMap, BTreeSet};

use pve_lab::{Fleet, LabConfig};
use serde_json::{Value, json};

use crate::support::{Bench, web};

const BEGIN: &str = "<!-- privileges: written by `FERRITE_UPDATE=1 cargo test -p pve_vm` -->\n";
const END: &str = "<!-- end of privileges -->";

/// What is done, and the task that does it.
fn scenarios() -> Vec<(&'static str, Value)> {
    let mut create = web();
    create["vmid"] = 202.into();
    create["name"] = "new".into();
    vec![
        ("make a machine from an image, and start it", create),
        (
            "make a machine as a copy, with settings of its own, and start it",
            json!({"clone": "9000", "vmid": 203, "name": "copy", "state": "started", "cores": 1}),
        ),
        ("processors", json!({"cores": 4, "cpu": "host", "numa_enabled": true})),
        ("memory", json!({"memory": 2048, "balloon": 512})),
        (
            "hardware",
            json!({"machine": "q35", "vga": "std", "rng0": "/dev/urandom", "serial": {"serial0": "socket"}}),
        ),
        ("name, notes, tags, agent, start with the node", json!({"tags": ["x"], "onboot": false})),
        ("order of start", json!({"startup": "order=2"})),
        ("cloud-init", json!({"ciuser": "me", "ipconfig": {"ipconfig0": "ip=dhcp,ip6=auto"}})),
        ("network interface", json!({"net": {"net1": {"bridge": "vmbr0", "tag": 7}}})),
        ("new disk", json!({"scsi": {"scsi1": {"storage": "local", "size": "1G"}}})),
        ("larger disk, options of a disk", json!({"scsi": {"scsi0": {"size": "9G", "ssd": true}}})),
        ("medium in a CD drive", json!({"ide": {"ide0": "local:iso/tiny.iso"}})),
        ("disk on another storage", json!({"scsi": {"scsi0": {"storage": "fast"}}, "move": true})),
        ("start, shut down, pause, restart", json!({"state": "started"})),
        ("another node", json!({"node": "pve2", "migrate": true})),
        ("template", json!({"state": "template"})),
        ("remove", json!({"state": "absent"})),
    ]
}

#[test]
fn each_task_needs_exactly_what_the_readme_says() {
    let mut rows = Vec::new();
    for (what, args) in scenarios() {
        let bench = bench();
        let args =
            if args.get("vmid").is_some() { args } else { with(&args, json!({"vmid": 201})) };
        let sight = [("/vms", &["VM.Audit"][..])];
        let asked = bench.module(args.clone()).args(token(&bench, &sight)).check().run();
        let needs = needs(asked.failed());
        bench.forget();
        let refused = bench.module(args.clone()).args(token(&bench, &sight)).run();
        assert_eq!(refused.failed(), asked.failed(), "{what}");
        assert_eq!(bench.writes(), [""; 0], "{what}");

        let privileges: Vec<(&str, Vec<&str>)> = needs
            .iter()
            .map(|(path, any)| (path.as_str(), any.iter().map(String::as_str).collect()))
            .collect();
        let mut grants: Vec<(&str, &[&str])> = sight.to_vec();
        grants.extend(privileges.iter().map(|(path, any)| (*path, any.as_slice())));
        let done = bench.module(args.clone()).args(token(&bench, &grants)).run();
        assert!(done.changed(), "{what}: {}", done.stdout);
        rows.push(row(what, &needs));
    }
    rows.sort();
    rows.dedup();
    table(&rows);
}

/// Machine 201 and template 9000, and a second node and storage.
fn bench() -> Bench {
    let fleet = Fleet { guests: 0, nodes: 2, ..Fleet::default() };
    let bench = Bench::with(LabConfig { fleet: Some(fleet), ..LabConfig::default() });
    bench.post(
        "/storage",
        &[("storage", "fast"), ("type", "dir"), ("path", "/mnt/fast"), ("content", "images")],
    );
    assert!(bench.module(web()).arg("state", "present").run().changed());
    let args = json!({"vmid": 9000, "name": "debian13", "state": "template"});
    assert!(bench.module(web()).args(args).run().changed());
    bench
}

fn token(bench: &Bench, grants: &[(&str, &[&str])]) -> Value {
    let id = "needs@pve!t";
    // several grants at one path are one
    let mut merged: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (path, privileges) in grants {
        merged.entry(path).or_default().extend(privileges.iter());
    }
    let merged: Vec<(&str, Vec<&str>)> =
        merged.into_iter().map(|(path, any)| (path, any.into_iter().collect())).collect();
    // a grant at a path takes the place of one above it
    let grants: Vec<(&str, Vec<&str>)> = merged
        .iter()
        .map(|(path, any)| {
            let above = merged.iter().filter(|(other, _)| path.starts_with(&format!("{other}/")));
            let mut all: Vec<&str> = above.flat_map(|(_, any)| any.clone()).collect();
            all.extend(any);
            (*path, all)
        })
        .collect();
    let grants: Vec<(&str, &[&str])> =
        grants.iter().map(|(path, any)| (*path, any.as_slice())).collect();
    let secret = bench.lab.add_token(id, &grants);
    json!({"api_token_id": id, "api_token_secret": secret})
}

fn with(args: &Value, more: Value) -> Value {
    let mut args = args.clone();
    args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    args
}

/// Paths and privileges that a message names as missing; of alternatives the first.
fn needs(message: &str) -> BTreeMap<String, Vec<String>> {
    message
        .split("lacks ")
        .skip(1)
        .map(|rest| {
            let (privileges, rest) = rest.split_once(" on ").unwrap();
            let path = rest.split(':').next().unwrap();
            let all: Vec<Vec<&str>> =
                privileges.split(", ").map(|any| any.split(" or ").collect()).collect();
            let space = all.iter().any(|any| any.as_slice() == ["Datastore.AllocateSpace"]);
            let needed = all
                .iter()
                .filter(|any| {
                    any.len() == 1 || !(space && any.contains(&"Datastore.AllocateSpace"))
                })
                .map(|any| any[0].to_owned());
            (path.to_owned(), needed.collect())
        })
        .collect()
}

fn row(what: &str, needs: &BTreeMap<String, Vec<String>>) -> String {
    let places: Vec<String> = needs
        .iter()
        .map(|(path, privileges)| {
            let path = path.replace("/vms/9000", "/vms/TEMPLATE").replace("vmbr0", "BRIDGE");
            let path = path.replace("BRIDGE/7", "BRIDGE/TAG").replace("/fast", "/local");
            let path = path.replace("/storage/local", "/storage/STORAGE");
            let path = ["201", "202", "203"]
                .iter()
                .fold(path, |path, vmid| path.replace(&format!("/vms/{vmid}"), "/vms/VMID"));
            format!("`{path}`: {}", privileges.join(", "))
        })
        .collect();
    format!("| {what} | {} |\n", places.join("<br>"))
}

fn table(rows: &[String]) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
    let readme = std::fs::read_to_string(path).unwrap();
    let (before, rest) = readme.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let rows = rows.concat();
    let now = format!("{before}{BEGIN}\n| task | needs |\n| --- | --- |\n{rows}\n{END}{after}");
    if std::env::var_os("FERRITE_UPDATE").is_some() {
        std::fs::write(path, now).unwrap();
    } else {
        assert_eq!(readme, now, "FERRITE_UPDATE=1 cargo test -p pve_vm --test contract needs");
    }
}
