//! The built binary's refusals; what apt makes of files is tested in guests.

use harness::Module;
use serde_json::json;

#[test]
fn g60_g61_bad_names_and_values_are_refused() {
    for (args, message) in [
        (
            json!({"settings": {"Enable": "1\""}}),
            "settings: the value '1\"' of Enable has a quote or a line end in it",
        ),
        (
            json!({"settings": {"Enable": 1}, "file": "99own.yml"}),
            "file '99own.yml' is a name that apt does not read; use letters, digits, _ and -, \
             with no ending or .conf",
        ),
        (json!({}), "state is present but all of the following are missing: settings"),
    ] {
        let outcome = Module::new(env!("CARGO_BIN_EXE_apt_periodic")).args(args).run();
        assert_eq!(outcome.failed(), message);
    }
}
