//! Labs, files and their checksums.

use std::path::PathBuf;

pub(crate) use pve_lab::Bench;
use pve_lab::{LabConfig, Origin, Place};
use serde_json::{Value, json};
use sha2::{Digest, Sha256, Sha512};

/// A lab as said, without the files that every lab begins with.
pub(crate) fn with(config: LabConfig) -> Bench {
    let bench = Bench::with(env!("CARGO_BIN_EXE_pve_image"), config);
    for volume in files(&bench) {
        std::fs::remove_file(bench.lab.file("pve1", &format!("local:{volume}"))).unwrap();
    }
    bench.forget();
    bench
}

/// A lab with one node.
pub(crate) fn bench() -> Bench {
    with(LabConfig::default())
}

/// The checksum of these bytes, as a task gives it.
pub(crate) fn sum(bytes: &[u8]) -> String {
    let hex: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// The other checksum of these bytes.
pub(crate) fn sum512(bytes: &[u8]) -> String {
    let hex: String = Sha512::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha512:{hex}")
}

/// The name that a file has by default.
pub(crate) fn named(stem: &str, bytes: &[u8], ending: &str) -> String {
    format!("{stem}-{}{ending}", &sum(bytes)["sha256:".len()..][..12])
}

/// Bytes that are no others.
pub(crate) fn bytes(seed: u8, size: usize) -> Vec<u8> {
    (0..size).map(|at| seed ^ u8::try_from(at * 31 % 251).unwrap()).collect()
}

/// A file here with these bytes.
pub(crate) fn local(folder: &tempfile::TempDir, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

/// A server with one file, and a task that lets a node fetch it.
pub(crate) fn published(place: Place, right: &[u8]) -> (Origin, Value) {
    let origin = Origin::start();
    origin.put("/x.raw", place);
    let task = json!({"storage": "local", "url": origin.url("/x.raw"), "checksum": sum(right)});
    (origin, task)
}

/// The task with these options as well.
pub(crate) fn also(task: &Value, options: Value) -> Value {
    let mut task = task.clone();
    for (key, value) in options.as_object().unwrap() {
        task[key] = value.clone();
    }
    task
}

/// The names of the files on storage `local` of the first node.
pub(crate) fn files(bench: &Bench) -> Vec<String> {
    bench.lab.files("pve1", "local").into_keys().collect()
}
