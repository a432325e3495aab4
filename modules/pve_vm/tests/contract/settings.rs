//! Settings of every kind.

use serde_json::{Value, json};

use crate::support::{bench, web};

/// Each is set, is the same the next time however it is written, and is taken away.
#[test]
fn every_kind_is_set_left_alone_and_taken_away() {
    let bench = bench();
    assert!(bench.module(web()).arg("state", "present").run().changed());
    for (set, same, gone) in [
        (
            json!({"audio": {"audio0": {"device": "ich9-intel-hda", "driver": "spice"}}}),
            json!({"config": {"audio0": "driver=spice,device=ich9-intel-hda"}}),
            json!({"audio": {"audio0": null}}),
        ),
        (
            json!({"usb": {"usb0": "spice"}}),
            json!({"usb": {"usb0": {"host": "spice", "usb3": false}}}),
            json!({"usb": {"usb0": null}}),
        ),
        (
            json!({"numa": {"numa0": {"cpus": "0-1", "memory": 512}}, "numa_enabled": true}),
            json!({"numa": {"numa0": "memory=512,cpus=0-1"}, "config": {"numa": "1"}}),
            json!({"delete": ["numa0", "numa"]}),
        ),
        (
            json!({"rng0": {"source": "/dev/urandom", "max_bytes": 1024}}),
            json!({"config": {"rng0": "source=/dev/urandom"}}),
            json!({"delete": ["rng0"]}),
        ),
        (
            json!({"watchdog": "model=i6300esb,action=reset"}),
            json!({"watchdog": {"action": "reset", "model": "i6300esb"}}),
            json!({"config": {"watchdog": null}}),
        ),
        (
            json!({"smbios": {"manufacturer": "UUVNVQ==", "base64": true}}),
            json!({"smbios1": "base64=1,manufacturer=UUVNVQ=="}),
            json!({"smbios": {"manufacturer": null, "base64": null}}),
        ),
        (
            json!({"hotplug": "network,disk"}),
            json!({"config": {"hotplug": "disk,network"}}),
            json!({"delete": ["hotplug"]}),
        ),
        (
            json!({"spice_enhancements": {"foldersharing": true}}),
            json!({"spice_enhancements": "foldersharing=1,videostreaming=off"}),
            json!({"spice_enhancements": null, "delete": ["spice_enhancements"]}),
        ),
        (
            json!({"migrate_downtime": 0.5, "tdf": true, "keyboard": "de", "startdate": "now"}),
            json!({"config": {"migrate_downtime": "0.50", "tdf": 1}}),
            json!({"delete": ["migrate_downtime", "tdf", "keyboard", "startdate"]}),
        ),
        (
            json!({"config": {"allow-ksm": 0}}),
            json!({"config": {"allow-ksm": "0"}}),
            json!({"config": {"allow-ksm": true}}),
        ),
    ] {
        let at = |args: &Value| bench.module(json!({"vmid": 201})).args(args.clone());
        let check = at(&set).check().run();
        assert!(check.changed(), "{set}");
        let real = at(&set).run();
        assert_eq!(real.plan(), check.plan());
        for unchanged in [&set, &same] {
            let again = at(unchanged).run();
            assert!(!again.changed(), "{unchanged}: {}", again.stdout);
        }
        assert!(at(&gone).run().changed(), "{gone}");
        let again = at(&gone).run();
        assert!(!again.changed(), "{gone}: {}", again.stdout);
    }
}

#[test]
fn roots_own_keys_are_refused_for_a_token_before_anything_is_written() {
    let bench = bench();
    assert!(bench.module(web()).run().changed());
    bench.forget();
    let module = bench.module(json!({
        "vmid": 201, "cores": 4, "args": "-no-reboot", "hookscript": "local:snippets/x.pl",
        "hostpci": {"hostpci0": "01:00.0"},
    }));
    for outcome in [module.clone().check().run(), module.run()] {
        let message = outcome.failed();
        assert!(
            message.contains("may not set args, hookscript, hostpci0: PVE lets only root@pam do"),
            "{message}"
        );
        assert!(message.contains("no token, not even one of root's"), "{message}");
    }
    assert_eq!(bench.writes(), [""; 0]);
}
