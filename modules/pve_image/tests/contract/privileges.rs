//! Every scenario of `docs/privileges.yml` with exactly the privileges that it says, and with one
//! less.

use pve_lab::{LabConfig, Origin, Place, PveVersion, scenarios};
use serde_json::json;

use crate::support::{local, sum, with};

#[test]
fn images_need_exactly_what_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let src = local(&folder, "x.raw", b"image");
    let origin = Origin::start();
    origin.put("/x.raw", Place::File(b"image".to_vec()));
    for version in [PveVersion::V9, PveVersion::V8] {
        for scenario in scenarios("pve_image") {
            let new = || {
                let bench = with(LabConfig { version, ..LabConfig::default() });
                if scenario.before == "image" {
                    bench.lab.put_file("pve1", "local:import/debian-13.raw", b"x");
                }
                bench
            };
            let mut options = scenario.options.clone();
            if options["src"].is_string() {
                options["src"] = json!(src);
            }
            if options["url"].is_string() {
                options["url"] = json!(origin.url("/x.raw"));
                options["checksum"] = json!(sum(b"image"));
            }
            let wrong = scenario.prove(version, new, |bench, id, secret| {
                let token = json!({"api_token_id": id, "api_token_secret": secret});
                let outcome = bench.module(options.clone()).args(token).run();
                match outcome.result["changed"].as_bool() {
                    Some(true) if outcome.result["failed"] != true => Ok(()),
                    _ => Err(outcome.stdout),
                }
            });
            assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        }
    }
}
