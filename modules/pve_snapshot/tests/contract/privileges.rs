//! Every scenario of `docs/privileges.yml` with exactly the privileges that it says, and with one
//! less.

use pve_lab::{LabConfig, PveVersion, scenarios};
use serde_json::json;

use crate::support::{make, with};

#[test]
fn snapshots_need_exactly_what_is_written() {
    for version in [PveVersion::V9, PveVersion::V8] {
        for scenario in scenarios("pve_snapshot") {
            let new = || {
                let bench = with(LabConfig { version, ..LabConfig::default() });
                make(&bench, 201, "web", &[]);
                if scenario.before == "snapshot" {
                    let made = bench.module(json!({"vmid": 201, "snapname": "pre"})).run();
                    assert!(made.changed());
                }
                bench
            };
            let wrong = scenario.prove(version, new, |bench, id, secret| {
                let token = json!({"api_token_id": id, "api_token_secret": secret});
                let outcome = bench.module(scenario.options.clone()).args(token).run();
                match outcome.result["changed"].as_bool() {
                    Some(true) if outcome.result["failed"] != true => Ok(()),
                    _ => Err(outcome.stdout),
                }
            });
            assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        }
    }
}
