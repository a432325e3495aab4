//! Every scenario of `docs/privileges.yml` with exactly the privileges that it says, and with one
//! less.

use pve_lab::{LabConfig, PveVersion, scenarios};
use serde_json::json;

use crate::support::with;

#[test]
fn reading_needs_exactly_what_is_written() {
    for version in [PveVersion::V9, PveVersion::V8] {
        for scenario in scenarios("pve_vm_info") {
            let new = || {
                let bench = with(LabConfig { version, ..LabConfig::default() });
                bench.make(201, "web", &[]);
                bench
            };
            let wrong = scenario.prove(version, new, |bench, id, secret| {
                let token = json!({"api_token_id": id, "api_token_secret": secret});
                let outcome = bench.module(scenario.options.clone()).args(token).run();
                match &outcome.ok()["vms"][0]["config"] {
                    config if config.is_object() => Ok(()),
                    _ => Err(outcome.stdout),
                }
            });
            assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        }
    }
}
