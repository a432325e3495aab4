//! Changing machines: each difference writes itself and nothing else.

use serde_json::{Value, json};

use crate::support::{Bench, bench, web};

/// The parameters of the one write, the digest left out but asserted.
fn written(bench: &Bench) -> Value {
    let writes = bench.written();
    let [(call, params)] = writes.as_slice() else { panic!("{writes:?}") };
    assert!(call.ends_with("/qemu/201/config"), "{call}");
    let mut params = params.clone();
    assert!(params.as_object_mut().unwrap().remove("digest").is_some(), "a write has its digest");
    params
}

#[test]
fn each_family_changed_alone_writes_exactly_itself() {
    let bench = bench();
    let stopped = web().as_object().unwrap().clone();
    let mut args = Value::Object(stopped);
    args["state"] = "present".into();
    let made = bench.module(args.clone()).run();
    let mac = made.ok()["config"]["net0"].as_str().unwrap()[7..24].to_owned();
    let disk = made.result["config"]["scsi0"].as_str().unwrap().to_owned();
    let file = disk.split(',').next().unwrap().to_owned();
    for (change, expected) in [
        (json!({"cores": 4}), json!({"cores": "4"})),
        (json!({"memory": 2048}), json!({"memory": "2048"})),
        (json!({"balloon": 512}), json!({"balloon": "512"})),
        (json!({"tags": ["web"]}), json!({"tags": "web"})),
        (json!({"onboot": false}), json!({"onboot": "0"})),
        (json!({"startup": "order=2"}), json!({"startup": "order=2"})),
        (json!({"description": "a\nb"}), json!({"description": "a\nb"})),
        (
            json!({"agent": {"enabled": true, "fstrim_cloned_disks": true}}),
            json!({"agent": "1,fstrim_cloned_disks=1"}),
        ),
        (json!({"cpu": "host"}), json!({"cpu": "host"})),
        (json!({"vga": "serial0"}), json!({"vga": "serial0"})),
        (json!({"serial": {"serial0": "socket"}}), json!({"serial0": "socket"})),
        (json!({"boot": "order=scsi0"}), json!({"boot": "order=scsi0"})),
        (json!({"ciuser": "other"}), json!({"ciuser": "other"})),
        (json!({"ciupgrade": true}), json!({"ciupgrade": "1"})),
        (
            json!({"ipconfig": {"ipconfig0": "ip=10.0.0.5/24,gw=10.0.0.1"}}),
            json!({"ipconfig0": "ip=10.0.0.5/24,gw=10.0.0.1"}),
        ),
        (json!({"nameservers": ["1.1.1.1"]}), json!({"nameserver": "1.1.1.1"})),
        (
            json!({"net": {"net0": {"tag": 10}}}),
            json!({"net0": format!("virtio={mac},bridge=vmbr0,tag=10")}),
        ),
        (json!({"net": {"net1": {"bridge": "vmbr0"}}}), json!({"net1": "virtio,bridge=vmbr0"})),
        (
            json!({"scsi": {"scsi0": {"discard": true}}}),
            json!({"scsi0": format!("{file},discard=on,size=8G")}),
        ),
        (
            json!({"scsi": {"scsi1": {"storage": "local", "size": "1G"}}}),
            json!({"scsi1": "local:1"}),
        ),
        (json!({"delete": ["searchdomain", "ostype"]}), json!({"delete": "ostype"})),
        (json!({"net": {"net1": null}}), json!({"delete": "net1"})),
        (
            json!({"net": {"net0": {"tag": null}}}),
            json!({"net0": format!("virtio={mac},bridge=vmbr0")}),
        ),
        (json!({"scsi": {"scsi1": null}}), json!({"delete": "scsi1"})),
        (json!({"tags": []}), json!({"delete": "tags"})),
        (json!({"description": ""}), json!({"delete": "description"})),
        (json!({"protection": true}), json!({"protection": "1"})),
    ] {
        let module = bench.module(json!({"vmid": 201, "name": "web"})).args(change.clone());
        bench.forget();
        assert!(module.clone().check().run().changed(), "{change}");
        assert_eq!(bench.writes(), [""; 0], "{change}");
        assert!(module.run().changed(), "{change}");
        assert_eq!(written(&bench), expected, "{change}");
        bench.forget();
        let again = module.run();
        assert!(!again.changed(), "{change}: {}", again.stdout);
        assert_eq!(bench.writes(), [""; 0], "{change}");
    }
    let config = bench.module(json!({"vmid": 201, "state": "current"})).run();
    let config = &config.ok()["config"];
    assert!(config["net0"].as_str().unwrap().contains(&mac), "the MAC address stayed: {config}");
    assert!(config["scsi0"].as_str().unwrap().starts_with(&file), "the volume stayed: {config}");
    let unused = config["unused0"].as_str().unwrap();
    assert!(unused.contains("disk-1"), "a disk taken out is only detached: {config}");
    assert!(config.get("unused1").is_none(), "{config}");
}

#[test]
fn a_disk_is_grown_and_never_shrunk() {
    let bench = bench();
    assert!(bench.module(web()).run().changed());
    let grow = bench.module(json!({"vmid": 201, "scsi": {"scsi0": {"size": "12G"}}})).run();
    assert_eq!(grow.plan(), ["grow scsi0 of vm web (201) from 8G to 12G"]);
    assert!(grow.result["config"]["scsi0"].as_str().unwrap().contains("size=12G"));
    bench.forget();
    let shrink = bench.module(json!({"vmid": 201, "scsi": {"scsi0": {"size": "8G"}}})).run();
    assert!(shrink.failed().contains("scsi0: the disk has 12G and cannot be shrunk to 8G"));
    assert_eq!(bench.writes(), [""; 0]);
}

#[test]
fn b54_what_waits_for_a_start_is_reported_on_every_run() {
    let bench = bench();
    assert!(bench.module(web()).run().changed());
    let module = bench.module(json!({"vmid": 201, "state": "started", "cores": 4}));
    for changed in [true, false] {
        let outcome = module.run();
        assert_eq!(outcome.changed(), changed);
        assert_eq!(outcome.result["reboot_required"], true);
        assert_eq!(outcome.result["pending"], json!({"cores": "4"}));
        assert_eq!(outcome.warnings(), ["vm web (201) needs a stop and start for: cores"]);
    }
    let power = |call: &String| call.contains("/status/") && !call.ends_with("/start");
    assert!(!bench.writes().iter().any(power), "nothing was restarted: {:?}", bench.writes());
}

#[test]
fn what_is_pending_can_be_dropped() {
    let bench = bench();
    assert!(bench.module(web()).run().changed());
    assert!(bench.module(json!({"vmid": 201, "cores": 4, "memory": 2048})).run().changed());
    let revert = bench.module(json!({"vmid": 201, "revert": ["memory", "net0"], "timeout": 60}));
    let check = revert.clone().check().run();
    assert_eq!(check.plan(), ["drop the pending value \"2048\" of memory on vm web (201)"]);
    let real = revert.run();
    assert_eq!(real.plan(), check.plan());
    assert_eq!(real.result["pending"], json!({"cores": "4"}));
    assert_eq!(real.result["config"]["memory"], "1024");
    assert!(!revert.run().changed());
}

#[test]
fn what_waits_to_be_taken_out_and_is_wanted_again_stays_what_it_is() {
    let bench = bench();
    let full = json!({"vga": "serial0", "scsi": {"scsi0": {"storage": "local", "size": "8G"}},
                      "ide": {"ide0": {"storage": "local", "size": "1G"}}});
    let module = bench.module(web()).args(full);
    module.run().ok();
    let before = bench.module(json!({"vmid": 201, "state": "current"})).run();
    let gone = json!({"vmid": 201, "delete": ["vga"], "agent": false, "net": {"net0": null},
                      "ide": {"ide0": null}});
    let gone = bench.module(gone).run();
    assert_eq!(
        gone.ok()["pending"],
        json!({"agent": "0", "ide0": null, "net0": null, "vga": null})
    );
    bench.forget();
    let check = module.clone().check().run();
    let real = module.run();
    assert_eq!(check.ok()["plan"], real.ok()["plan"]);
    assert_eq!(
        real.plan(),
        ["set agent to \"1\" (was \"0\"), drop the pending removal of ide0, drop the pending \
          removal of net0, drop the pending removal of vga on vm web (201)"]
    );
    assert_eq!(real.result["config"], before.result["config"]);
    assert_eq!(real.result["pending"], json!({}));
    assert!(!module.run().changed());
    // another value than the one that goes away takes its place
    bench.module(json!({"vmid": 201, "delete": ["vga"]})).run().ok();
    let other = bench.module(json!({"vmid": 201, "vga": "qxl"}));
    assert_eq!(other.run().result["pending"], json!({"vga": "qxl"}));
    assert!(!other.run().changed());
    // what its absence means anyway needs no words
    bench.module(json!({"vmid": 201, "delete": ["agent"]})).run().ok();
    assert!(!bench.module(json!({"vmid": 201, "agent": false})).run().changed());
}
