//! The built binary against the lab.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use harness::check_apply_again;
use pve_client::Form;
use pve_lab::{Bench, CallFault, LabConfig, PveVersion, scenarios};
use serde_json::{Value, json};

fn with(config: LabConfig) -> Bench {
    let bench = Bench::with(env!("CARGO_BIN_EXE_pve_storage_content"), config);
    bench.post(
        "/storage",
        &[("storage", "isoonly"), ("type", "dir"), ("path", "/srv/iso"), ("content", "iso,vztmpl")],
    );
    bench.forget();
    bench
}

fn bench() -> Bench {
    with(LabConfig::default())
}

fn content(bench: &Bench, storage: &str) -> String {
    bench.with_client(async |client| {
        let path = format!("/storage/{storage}");
        let row: Value = client.get(&path, &Form::new()).await.unwrap();
        row["content"].as_str().unwrap().to_owned()
    })
}

#[test]
fn b37_import_is_added_and_nothing_is_dropped() {
    let bench = bench();
    let args = json!({"storage": "isoonly", "content": "import"});
    let cycle = check_apply_again(&bench.module(args), || content(&bench, "isoonly"));
    assert_eq!(cycle.check.plan(), ["add import to the content of storage isoonly"]);
    assert_eq!(content(&bench, "isoonly"), "iso,vztmpl,import");
    assert_eq!(cycle.real.ok()["content"], json!(["iso", "vztmpl", "import"]));
    assert_eq!(cycle.real.ok()["type"], "dir");
    assert_eq!(cycle.check.result["diff"][0]["before"], "iso\nvztmpl\n");
    assert_eq!(cycle.check.result["diff"][0]["after"], "iso\nvztmpl\nimport\n");
}

#[test]
fn what_cannot_be_had_is_said_before_anything_is_written() {
    let bench = bench();
    for (args, message) in [
        (json!({"storage": "nope", "content": ["iso"]}), "storage nope does not exist"),
        (json!({"storage": "local", "content": []}), "content: the list is empty"),
        (json!({"storage": "local", "content": ["none"]}), "this module only adds"),
        (json!({"storage": "local", "content": ["Import"]}), "'Import' is not a content type"),
        (json!({"storage": "local", "content": ["iso"], "state": "absent"}), "state"),
    ] {
        let failed = bench.module(args).run();
        assert!(failed.failed().contains(message), "{}", failed.failed());
        assert_eq!(bench.writes(), [""; 0]);
    }
}

#[test]
fn a_list_that_someone_else_changed_is_read_again() {
    let bench = bench();
    bench.lab.fail_calls("PUT", "/storage/isoonly", 1, CallFault::ChangeDigest);
    let args = json!({"storage": "isoonly", "content": ["import"]});
    let outcome = bench.module(args).run();
    assert!(outcome.changed());
    assert_eq!(outcome.warnings().len(), 1, "{:?}", outcome.warnings());
    assert_eq!(content(&bench, "isoonly"), "iso,vztmpl,other2,import");
    // twice is given up
    bench.lab.fail_calls("PUT", "/storage/isoonly", 2, CallFault::ChangeDigest);
    let args = json!({"storage": "isoonly", "content": ["snippets"]});
    let failed = bench.module(args).run();
    assert!(failed.failed().contains("detected modified configuration"), "{}", failed.failed());
    assert_eq!(content(&bench, "isoonly"), "iso,vztmpl,other2,import,other4,other5");
}

#[test]
fn b21_a_lost_answer_is_looked_after() {
    let proxy = |done| CallFault::Proxy { status: 596, reason: "Broken pipe".into(), done };
    for fault in [CallFault::DropAfter, CallFault::DropBefore, proxy(true), proxy(false)] {
        let bench = bench();
        bench.lab.fail_calls("PUT", "/storage/isoonly", 1, fault.clone());
        let args = json!({"storage": "isoonly", "content": ["import"]});
        assert!(bench.module(args.clone()).run().changed(), "{fault:?}");
        assert_eq!(content(&bench, "isoonly"), "iso,vztmpl,import");
        assert!(!bench.module(args).run().changed(), "{fault:?}");
    }
}

#[test]
fn it_needs_exactly_what_is_written() {
    for version in [PveVersion::V9, PveVersion::V8] {
        for scenario in scenarios("pve_storage_content") {
            let new = || {
                let bench = with(LabConfig { version, ..LabConfig::default() });
                bench.with_client(async |client| {
                    let (local, content) = ("local".parse().unwrap(), ["images".to_owned()]);
                    client.set_storage_content(&local, &content, None).await.unwrap();
                });
                bench
            };
            let wrong = scenario.prove(version, new, |bench, id, secret| {
                let token = json!({"api_token_id": id, "api_token_secret": secret});
                let outcome = bench.module(scenario.options.clone()).args(token).run();
                match outcome.result["changed"].as_bool() {
                    Some(changed)
                        if changed != scenario.reads && outcome.result["failed"] != true =>
                    {
                        Ok(())
                    }
                    _ => Err(outcome.stdout),
                }
            });
            assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        }
    }
}
