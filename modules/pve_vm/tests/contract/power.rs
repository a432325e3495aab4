//! Starting, stopping, waiting, removing.

use serde_json::{Value, json};

use crate::support::{bench, web};

#[test]
fn every_state_is_foretold_reached_and_left_alone() {
    let bench = bench();
    assert!(bench.module(web()).run().changed());
    for (state, status) in [("stopped", "stopped"), ("started", "running"), ("stopped", "stopped")]
    {
        let module = bench.module(json!({"vmid": 201, "state": state}));
        let check = module.clone().check().run();
        assert!(check.changed(), "{state}");
        let real = module.run();
        assert_eq!(real.plan(), check.plan());
        assert_eq!(real.result["status"], status);
        assert!(!module.run().changed(), "{state}");
    }
    let gone = bench.module(json!({"vmid": 201, "name": "web", "state": "absent"}));
    assert!(gone.clone().check().run().changed());
    let real = gone.run();
    assert!(real.plan()[0].starts_with("destroy vm web (201) with its volumes scsi0 local:201/"));
    assert_eq!(real.result["status"], "absent");
    assert!(!gone.run().changed());
}

#[test]
fn b63_b64_a_machine_is_not_lost_by_mistake() {
    let bench = bench();
    assert!(bench.module(web()).arg("protection", true).run().changed());
    bench.forget();
    let absent = bench.module(json!({"vmid": 201, "state": "absent"}));
    assert!(absent.run().failed().contains("vm web (201) is protected: set protection to false"));
    assert!(absent.clone().arg("force", true).run().failed().contains("is protected"));
    assert!(bench.module(json!({"vmid": 201, "protection": false})).run().changed());
    bench.forget();
    assert!(absent.run().failed().contains("vm web (201) is running: stop it first, or set force"));
    assert_eq!(bench.writes(), [""; 0]);
    assert!(absent.arg("force", true).run().changed());
}

#[test]
fn b67_names_that_repeat_are_listed() {
    let bench = bench();
    for vmid in [201, 202] {
        assert!(bench.module(json!({"vmid": vmid, "name": "web", "node": "pve1"})).run().changed());
    }
    bench.forget();
    let absent = bench.module(json!({"name": "web", "state": "absent"})).run();
    let message = absent.failed();
    assert!(message.contains("201 on pve1, 202 on pve1; give vmid"), "{message}");
    assert_eq!(bench.writes(), [""; 0]);
}

#[test]
fn b11_another_name_is_another_machine() {
    let bench = bench();
    let db = json!({"vmid": 104, "name": "db", "node": "pve1"});
    assert!(bench.module(db).run().changed());
    bench.forget();
    let web = bench.module(json!({"vmid": 104, "name": "web", "node": "pve1", "cores": 8})).run();
    assert!(web.failed().contains("vmid 104 is db, not web: nothing was changed"));
    assert_eq!(bench.writes(), [""; 0]);
}

#[test]
fn a_machine_that_may_not_be_seen_is_not_taken_for_absent() {
    let bench = bench();
    assert!(bench.module(web()).run().changed());
    let secret = bench.lab.add_token("blind@pve!t", &[("/storage", &["Datastore.Audit"])]);
    let blind = json!({"api_token_id": "blind@pve!t", "api_token_secret": secret});
    bench.forget();
    for args in [json!({"state": "absent"}), json!({"cores": 4}), json!({"state": "stopped"})] {
        let outcome = bench.module(json!({"vmid": 201})).args(args).args(blind.clone()).run();
        let message = outcome.failed();
        assert!(message.contains("may not see: it lacks VM.Audit on /vms/201"), "{message}");
    }
    assert_eq!(bench.writes(), [""; 0]);
    // by its name it cannot be asked for
    let named =
        |args: Value| bench.module(json!({"name": "web", "state": "absent"})).args(args).run();
    let outcome = named(blind.clone());
    let message = outcome.failed();
    assert!(
        message.contains(
            "it cannot be told whether the machine exists: token 'blind@pve!t' has VM.Audit nowhere"
        ),
        "{message}"
    );
    let outcome = named(bench.token("few", &[("/vms/300", &["VM.Audit"])]));
    let warnings = outcome.ok()["warnings"].to_string();
    assert!(warnings.contains("may see were looked at: it lacks VM.Audit on /vms"), "{warnings}");
    let outcome =
        named(bench.token("all", &[("/vms/300", &["VM.Audit"]), ("/vms", &["VM.Audit"])]));
    assert!(outcome.failed().contains("vm web (201) is running"), "{}", outcome.failed());
    assert_eq!(bench.writes(), [""; 0]);
    // a number that nobody has is absent
    assert!(!bench.module(json!({"vmid": 999, "state": "absent"})).args(blind).run().changed());
}

#[test]
fn b68_a_machine_that_does_not_hear_is_stopped_hard_only_when_that_is_asked_for() {
    let bench = bench();
    // without a disk there is no system that would hear
    assert!(bench.module(json!({"vmid": 201, "node": "pve1", "state": "started"})).run().changed());
    let stop = bench.module(json!({"vmid": 201, "state": "stopped", "shutdown_timeout": 1}));
    let outcome = stop.run();
    assert!(outcome.failed().contains("VM quit/powerdown failed - got timeout"));
    let forced = stop.arg("force", true).run();
    assert_eq!(forced.plan(), ["shut down vm 201, and stop it hard after 1 s"]);
    assert_eq!(forced.result["status"], "stopped");
}
