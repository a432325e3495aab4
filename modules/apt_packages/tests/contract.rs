//! The built binary's refusals; what apt does is tested in guests.

use harness::Module;
use serde_json::json;

#[test]
fn bad_names_are_refused_before_anything_is_run() {
    for (args, message) in [
        (
            json!({"name": ["a*"]}),
            "name: 'a*' is not a package; write name, name:architecture or name=version, without \
             wildcards",
        ),
        (
            json!({"name": "demo=1.0", "state": "absent"}),
            "name: 'demo=1.0' is given with a version, and a version cannot be absent",
        ),
    ] {
        let outcome = Module::new(env!("CARGO_BIN_EXE_apt_packages")).args(args).run();
        assert_eq!(outcome.failed(), message);
    }
}
