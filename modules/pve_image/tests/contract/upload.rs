//! Files from the control node.

use std::process::Command;

use harness::check_apply_again;
use pve_lab::Place;
use serde_json::json;

use crate::controller::compressed;
use crate::support::{also, bench, bytes, files, local, named, published, sum};

#[test]
fn b41_an_upload_is_the_file_byte_for_byte() {
    let (bench, folder) = (bench(), tempfile::tempdir().unwrap());
    let image = bytes(1, 300_001);
    let src = local(&folder, "x.raw", &image);
    let task = json!({"storage": "local", "src": src});
    let name = named("x", &image, ".raw");
    let volid = format!("local:import/{name}");
    let cycle = check_apply_again(&bench.module(task), || files(&bench));
    assert_eq!(cycle.check.plan(), [format!("upload {volid} to pve1")]);
    let result = cycle.real.ok();
    assert_eq!(std::fs::read(bench.lab.file("pve1", &volid)).unwrap(), image);
    assert_eq!(result["volid"], volid);
    let row = &result["images"][0];
    assert_eq!((&row["node"], &row["sent"]), (&json!("pve1"), &json!(300_001)));
    assert_eq!((&row["size"], &row["checksum"]), (&json!(300_001), &json!(sum(&image))));
    assert!(row["seconds"].as_f64().unwrap() > 0.0 && row["rate"].as_u64().unwrap() > 0, "{row}");
    assert!(result["upids"][0].as_str().unwrap().contains(":imgcopy:"), "{result}");
    assert_eq!(bench.lab.spooled(), 0);
    let after = cycle.check.result["diff"][0]["after"].as_str().unwrap();
    assert_eq!(after, format!("pve1: {volid}, 300001 bytes\n"));
    // the checksum goes before the file, so that the node can prove it
    let (call, params) = bench.written().into_iter().next().unwrap();
    assert_eq!(call, "POST /nodes/pve1/storage/local/upload");
    assert_eq!(params["checksum-algorithm"], "sha256");
    assert_eq!(format!("sha256:{}", params["checksum"].as_str().unwrap()), sum(&image));
}

#[test]
fn b45_a_name_of_ones_own_is_compared_by_size() {
    let (bench, folder) = (bench(), tempfile::tempdir().unwrap());
    let src = local(&folder, "x.raw", &bytes(1, 120));
    bench.lab.put_file("pve1", "local:import/debian-13.raw", &[0; 100]);
    let task = json!({"storage": "local", "src": src, "name": "debian-13.raw", "checksum": sum(&bytes(1, 120))});
    let failed = bench.module(task).run();
    let message = failed.failed();
    assert!(
        message.contains(
            "local:import/debian-13.raw is there with other content: on pve1 it has 100 bytes, and \
             what is wanted has 120 bytes (sha256:"
        ) && message.ends_with("ask for another name, or set replace"),
        "{message}"
    );
    assert_eq!(bench.writes(), [""; 0]);
    assert_eq!(bench.lab.files("pve1", "local")["import/debian-13.raw"], 100);
}

#[test]
fn a_source_that_is_another_is_told_before_anything_is_sent() {
    let (bench, folder) = (bench(), tempfile::tempdir().unwrap());
    let src = local(&folder, "x.raw", b"one");
    let task = json!({"storage": "local", "src": src, "checksum": sum(b"other")});
    let failed = bench.module(task).run();
    let message = failed.failed();
    let expected = format!("it has {}, and {} is wanted", sum(b"one"), sum(b"other"));
    assert!(message.contains(&expected), "{message}");
    let task = json!({"storage": "local", "src": folder.path().join("nope.raw")});
    let failed = bench.module(task).run();
    assert!(failed.failed().contains("nope.raw: No such file"), "{}", failed.failed());
    assert_eq!((bench.writes(), files(&bench)), (vec![], vec![]));
}

#[test]
fn media_and_templates_go_to_their_own_places() {
    let (bench, folder) = (bench(), tempfile::tempdir().unwrap());
    for (name, content, volume, bytes) in [
        ("x.iso", "iso", "iso/y.iso", b"a medium".to_vec()),
        ("x.tar.zst", "vztmpl", "vztmpl/y.tar.zst", b"\x28\xb5\x2f\xfd and so on".to_vec()),
        ("x.qcow2", "import", "import/y.qcow2", qcow2()),
    ] {
        let src = local(&folder, name, &bytes);
        let own = volume.rsplit('/').next().unwrap();
        let task = json!({"storage": "local", "src": src, "content": content, "name": own});
        assert!(bench.module(task).run().changed());
        assert!(files(&bench).contains(&volume.to_owned()), "{:?}", files(&bench));
    }
}

/// An empty disk.
fn qcow2() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    let make = ["create", "-q", "-f", "qcow2", path.to_str().unwrap(), "1M"];
    assert!(Command::new("qemu-img").args(make).status().unwrap().success());
    std::fs::read(path).unwrap()
}

#[test]
fn b35_what_a_file_is_is_looked_at_before_it_is_sent() {
    let folder = tempfile::tempdir().unwrap();
    let image = qcow2();
    let mut layered = image.clone();
    // the name of a backing file: its place and its length
    layered[8..20].copy_from_slice(&[0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 11]);
    layered[512..523].copy_from_slice(b"/etc/shadow");
    let page = b"<!DOCTYPE html><html>404</html>".to_vec();
    for (name, own, bytes, text) in [
        ("x.raw", None, image.clone(), "its name ends in .raw, and it is qcow2"),
        ("noble.img", Some("noble.raw"), image.clone(), "its name ends in .raw, and it is qcow2"),
        ("x.raw.gz", None, compressed("gzip", &image), "its name ends in .raw, and it is qcow2"),
        ("x.qcow2", None, bytes(1, 5000), "its name ends in .qcow2, and it is raw"),
        ("x.vmdk", None, image.clone(), "its name ends in .vmdk, and it is qcow2"),
        ("x.ova", None, image.clone(), "its name ends in .ova, and it is qcow2"),
        ("x.raw", None, compressed("xz", b"disk"), "and it is compressed with xz"),
        ("x.qcow2", None, page.clone(), "it is a page of HTML"),
        ("x.raw", None, page, "it is a page of HTML"),
        ("x.raw", None, vec![], "it is empty"),
        ("x.qcow2", None, layered, "/etc/shadow"),
        ("x.qcow2", None, image[..600].to_vec(), "is not to be used"),
    ] {
        let bench = bench();
        let src = local(&folder, name, &bytes);
        let mut task = json!({"storage": "local", "src": src, "decompress": "auto"});
        if let Some(own) = own {
            task["name"] = json!(own);
        }
        let failed = bench.module(task).run();
        let message = failed.failed();
        assert!(message.starts_with("before anything was changed: what would be "), "{message}");
        assert!(message.contains(text), "{name}: {message}");
        assert_eq!(bench.writes(), [""; 0], "{name}");
    }
    let bench = bench();
    let (_origin, task) = published(Place::Page(b"<html>404</html>".to_vec()), b"");
    let task = also(&task, json!({"checksum": null, "allow_unverified": true}));
    let failed = bench.module(task.clone()).run();
    let message = failed.failed();
    assert!(message.contains("is a page (text/html), and no checksum says otherwise"), "{message}");
    let url = task["url"].clone();
    let task =
        json!({"storage": "local", "src": url, "via": "controller", "allow_unverified": true});
    let failed = bench.module(task).run();
    assert!(failed.failed().contains("it is a page of HTML"), "{}", failed.failed());
    assert_eq!(bench.writes(), [""; 0]);
}
