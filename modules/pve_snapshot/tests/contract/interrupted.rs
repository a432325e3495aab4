//! Killed between any two requests: the next run ends in the wanted state.

use std::time::Duration;

use pve_lab::LabConfig;
use serde_json::json;

use crate::support::{Bench, make, tree, with};
use crate::take;

fn bench() -> Bench {
    // long enough that a kill comes before the next request
    let latency = Duration::from_millis(15);
    let bench = with(LabConfig { latency, ..LabConfig::default() });
    make(&bench, 101, "web", &[]);
    take(&bench, "night-1");
    take(&bench, "night-2");
    bench.lab.clear_requests();
    bench
}

#[test]
fn killed_anywhere_the_second_run_finishes() {
    let night = json!({"snapname": "night-3", "retention": 2, "retention_pattern": "night-*"});
    let kept = ["current on night-3", "night-2 on -", "night-3 on night-2"];
    let gone = json!({"snapname": "night-1", "state": "absent"});
    let without = ["current on night-2", "night-2 on -"];
    let back = json!({"snapname": "night-1", "state": "rollback", "start": true});
    let branch = ["current on night-1", "night-1 on -", "night-2 on night-1"];
    for (mut args, wanted, again) in
        [(night, &kept[..], false), (gone, &without, false), (back, &branch, true)]
    {
        args["vmid"] = 101.into();
        let whole = bench();
        assert!(whole.module(args.clone()).run().changed());
        let requests = whole.lab.requests().len();
        assert!(requests > 5, "{requests}");
        assert_eq!(tree(&whole, 101), wanted);
        for after in 1..=requests {
            let bench = bench();
            bench.kill_after(args.clone(), after);
            bench.module(args.clone()).run().ok();
            assert_eq!(tree(&bench, 101), wanted, "{args} killed after {after} requests");
            assert_eq!(bench.module(args.clone()).run().changed(), again, "{args} after {after}");
        }
    }
}
