//! Memory does not grow with the file.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;

use harness::Module;
use serde_json::json;

use crate::support::bench;

/// Runs the binary and writes down the most memory it had, in KiB. The last look comes a moment
/// before the end, and what was most is kept by the kernel.
const WATCH: &str = r#"#!/bin/sh
"$BINARY" "$@" &
child=$!
while grep VmHWM "/proc/$child/status" >"$PEAK.now" 2>/dev/null && [ -s "$PEAK.now" ]; do
    mv "$PEAK.now" "$PEAK"
done
wait "$child"
"#;

#[test]
fn a_file_of_any_size_takes_less_than_64_mib() {
    let (bench, folder) = (bench(), tempfile::tempdir().unwrap());
    let src = folder.path().join("sparse.raw");
    // larger than what is allowed, and no room on the disk
    File::create(&src).unwrap().set_len(96 << 20).unwrap();
    let (watch, peak) = (folder.path().join("watch"), folder.path().join("peak"));
    fs::write(&watch, WATCH).unwrap();
    fs::set_permissions(&watch, fs::Permissions::from_mode(0o755)).unwrap();
    let (id, secret) = bench.lab.token();
    let outcome = Module::new(&watch)
        .env("BINARY", env!("CARGO_BIN_EXE_pve_image"))
        .env("PEAK", &peak)
        .args(json!({
            "api_host": "127.0.0.1", "api_port": bench.lab.port(),
            "api_token_id": id, "api_token_secret": secret,
            "api_fingerprint": bench.lab.fingerprint(),
            "storage": "local", "src": src,
        }))
        .run();
    assert_eq!(outcome.ok()["images"][0]["sent"], 96 << 20);
    let peak = fs::read_to_string(&peak).unwrap();
    let kib: u64 = peak.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!((1000..64 << 10).contains(&kib), "{kib} KiB");
}
