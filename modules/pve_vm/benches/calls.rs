//! What each kind of task costs against a lab: calls, those that write, and milliseconds, also as
//! ratios to a task that changes nothing. `cargo bench -p pve_vm`

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on ends")]
#![expect(clippy::print_stdout, reason = "it is read by a person")]

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::web;

#[expect(dead_code, reason = "the tests need more of it")]
#[path = "../tests/contract/support.rs"]
mod support;

const ROUNDS: u32 = 5;

struct Cost {
    calls: usize,
    writes: usize,
    time: Duration,
}

/// The least of some rounds, each in a lab of its own.
fn cost(args: &Value) -> Cost {
    (0..ROUNDS)
        .map(|_| {
            let bench = support::bench();
            bench.module(web()).run().ok();
            let template = json!({"vmid": 9000, "name": "debian13", "state": "template"});
            bench.module(web()).args(template).run().ok();
            bench.forget();
            let begin = Instant::now();
            bench.module(args.clone()).run().ok();
            let time = begin.elapsed();
            Cost { calls: bench.calls().len(), writes: bench.writes().len(), time }
        })
        .min_by_key(|cost| (cost.calls, cost.time))
        .unwrap()
}

fn main() {
    let mut new = web();
    new["vmid"] = 300.into();
    new["name"] = "new".into();
    let copy = json!({
        "vmid": 300, "name": "new", "clone": "9000", "state": "started", "cores": 4,
        "scsi": {"scsi0": {"size": "9G"}},
    });
    let nothing = cost(&web());
    println!("{:32} {:>6} {:>6} {:>8} {:>6} {:>6}", "task", "calls", "writes", "ms", "calls", "ms");
    for (name, args) in [
        ("nothing to change", web()),
        ("one setting", json!({"vmid": 201, "description": "x"})),
        ("a disk grown", json!({"vmid": 201, "scsi": {"scsi0": {"size": "9G"}}})),
        ("from an image, started", new),
        ("from a template, set, started", copy),
        ("removed", json!({"vmid": 201, "state": "absent", "force": true})),
    ] {
        let cost = cost(&args);
        let ms = |time: Duration| time.as_secs_f64() * 1000.0;
        println!(
            "{name:32} {:6} {:6} {:8.1} {:5.1}x {:5.1}x",
            cost.calls,
            cost.writes,
            ms(cost.time),
            cost.calls as f64 / nothing.calls as f64,
            ms(cost.time) / ms(nothing.time),
        );
    }
}
