//! The built binary's refusals; what apt makes of a pin is tested in guests.

use harness::Module;
use serde_json::json;

#[test]
fn g56_what_is_no_moment_of_an_archive_is_refused_before_anything_is_run() {
    for (args, message) in [
        (
            json!({"snapshot_id": "yesterday"}),
            "value of snapshot_id is not valid: snapshot_id 'yesterday' is not of the form \
             YYYYMMDDTHHMMSSZ, for example 20260801T000000Z",
        ),
        (json!({}), "state is present but all of the following are missing: snapshot_id"),
        (
            json!({"snapshot_id": "20250601T000000Z", "servers": {"debian": "http://s/"}}),
            "servers: the address 'http://s/' for 'debian' has no @SNAPSHOTID@ in it",
        ),
        (
            json!({"snapshot_id": "20250601T000000Z", "method": "magic"}),
            "value of method must be one of: auto, native, rewrite, got: magic",
        ),
    ] {
        let outcome = Module::new(env!("CARGO_BIN_EXE_apt_snapshot_pin")).args(args).run();
        assert_eq!(outcome.failed(), message);
    }
    let outcome = Module::new(env!("CARGO_BIN_EXE_apt_snapshot_pin"))
        .args(json!({"snapshot_id": "99990101T000000Z"}))
        .run();
    let message = outcome.failed();
    let start = "snapshot_id '99990101T000000Z' is in the future: the node's clock says ";
    assert!(message.starts_with(start), "{message}");
}
