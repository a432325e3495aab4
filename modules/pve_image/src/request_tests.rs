//! What can be told without asking anyone.

use serde_json::{Value, json};

use crate::params::{Decompress, Params};
use crate::request::{Origin, Request, Source};

const SUM: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn params(options: &Value) -> Params {
    let mut all = json!({"api_host": "pve1", "storage": "local"});
    for (key, value) in options.as_object().unwrap() {
        all[key] = value.clone();
    }
    serde_json::from_value(all).unwrap()
}

fn refused(options: &Value) -> String {
    match Request::of(&params(options)) {
        Err(failure) => failure.message().to_owned(),
        Ok(request) => panic!("{options}: {request:?}"),
    }
}

#[test]
fn b36_what_a_node_cannot_decompress_is_refused_with_the_remedy() {
    let remedy = "set via=controller, and the control node fetches, decompresses and uploads it";
    for (options, text) in [
        (
            json!({"url": "https://h/x.raw.xz", "checksum": SUM}),
            "a node decompresses files of content iso only, and this is content import in xz",
        ),
        (
            json!({"url": "https://h/x.raw", "checksum": SUM, "decompress": "zst"}),
            "and this is content import in zst",
        ),
        (
            json!({"url": "https://h/x.iso.xz", "checksum": SUM, "content": "iso"}),
            "a node decompresses an installation medium of gz, zst, lzo and bz2, and this is xz",
        ),
    ] {
        let message = refused(&options);
        assert!(message.contains(text) && message.contains(remedy), "{message}");
    }
    for (options, compression) in [
        (json!({"url": "https://h/x.iso.gz", "content": "iso"}), Some("gz")),
        (json!({"url": "https://h/x.iso.zstd", "content": "iso"}), Some("zst")),
        (json!({"url": "https://h/x.iso", "content": "iso"}), None),
        (json!({"url": "https://h/x.tar.xz", "content": "vztmpl"}), None),
        (json!({"url": "https://h/x.qcow2", "content": "import"}), None),
    ] {
        let mut options = options;
        options["checksum"] = SUM.into();
        let request = Request::of(&params(&options)).unwrap();
        let Some(Origin::Node { compression: told, .. }) = request.origin else { panic!() };
        assert_eq!(told, compression, "{options}");
    }
}

#[test]
fn what_is_uploaded_is_decompressed_by_its_ending() {
    for (src, options, compression, stem) in [
        ("/x.raw.xz", json!({}), Decompress::Xz, "x.raw"),
        ("x.qcow2.zst", json!({}), Decompress::Zst, "x.qcow2"),
        ("x.raw.gz", json!({}), Decompress::Gz, "x.raw"),
        ("x.raw.bz2", json!({}), Decompress::Bz2, "x.raw"),
        ("x.raw", json!({}), Decompress::None, "x.raw"),
        ("x.tar.xz", json!({"content": "vztmpl"}), Decompress::None, "x.tar.xz"),
        ("x", json!({"name": "y.raw", "decompress": "gz"}), Decompress::Gz, "x"),
    ] {
        let mut options = options;
        options["src"] = src.into();
        let request = Request::of(&params(&options)).unwrap();
        let origin = request.origin.unwrap();
        assert_eq!(origin.stem(), stem);
        assert_eq!(
            origin,
            Origin::Upload { source: Source::File(src.into()), compression },
            "{src}"
        );
    }
}

#[test]
fn b35_names_end_as_the_content_needs_it() {
    for (options, text) in [
        (
            json!({"src": "debian-13.img"}),
            "the name of the source: 'debian-13.img': content import",
        ),
        (
            json!({"src": "x.qcow2", "content": "iso"}),
            "content iso takes files ending in .iso, .img",
        ),
        (json!({"src": "x.raw", "name": "x.img"}), "name: 'x.img': content import takes files"),
        (json!({"src": "x.raw", "name": "a b.raw"}), "call it a_b.raw"),
    ] {
        let message = refused(&options);
        assert!(message.contains(text), "{message}");
    }
    for name in ["debian-13.qcow2", "x.raw", "x.vmdk", "x.ova"] {
        Request::of(&params(&json!({"src": name}))).unwrap();
    }
}

#[test]
fn b38_paths_of_a_node_are_no_sources() {
    let path = "/var/lib/vz/images/0/x.img";
    let message = refused(&json!({"url": path, "checksum": SUM}));
    assert!(message.contains("PVE takes only the name of a volume"), "{message}");
    for (options, text) in [
        (json!({"state": "absent", "name": "/var/lib/vz/x.raw"}), "is no file's name on a storage"),
        (json!({"state": "absent", "volid": "local:110/vm-110-disk-0.raw"}), "is no image file"),
    ] {
        let message = refused(&options);
        assert!(message.contains(text), "{message}");
    }
}

#[test]
fn an_entry_of_the_catalog_is_an_address_with_a_name() {
    let entry = json!({
        "publisher": "ubuntu", "release": "noble", "serial": "20251113", "checksum": SUM,
    });
    let request = Request::of(&params(&json!({"catalog": entry}))).unwrap();
    let url = "https://cloud-images.ubuntu.com/releases/noble/release-20251113/\
               ubuntu-24.04-server-cloudimg-amd64.img";
    assert_eq!(request.origin, Some(Origin::Node { url: url.into(), compression: None }));
    assert_eq!(
        request.called.as_deref(),
        Some("ubuntu-24.04-server-cloudimg-amd64-20251113.qcow2")
    );
    assert_eq!(request.checksum.unwrap().to_string(), SUM);
    let here = Request::of(&params(&json!({"catalog": entry, "via": "controller"}))).unwrap();
    let source = Source::Url(url.to_owned());
    assert_eq!(here.origin, Some(Origin::Upload { source, compression: Decompress::None }));
    let mut latest = entry;
    latest["serial"] = "latest".into();
    let message = refused(&json!({"catalog": latest}));
    assert!(message.starts_with("catalog: serial: 'latest' is no dated build"), "{message}");
}

#[test]
fn what_is_not_pinned_is_refused() {
    for (options, text) in [
        (json!({"url": "https://h/x.raw"}), "checksum: it is missing"),
        (
            json!({"src": "https://h/x.raw", "via": "controller"}),
            "set allow_unverified to take whatever is there",
        ),
        (json!({"url": "https://h/x.raw", "checksum": "md5:12"}), "'md5:12' is no checksum"),
        (json!({"url": "https://h/x.raw", "checksum": "sha256:12"}), "64 hexadecimal digits"),
        (json!({"src": "https://h/x.raw"}), "only with via=controller"),
        (json!({"url": "ftp://h/x.raw", "checksum": SUM}), "is no address: http://"),
        (json!({"url": "https://u:hush@/x", "checksum": SUM}), "is no"),
        (json!({"url": "https://h/x.raw", "src": "x"}), "give one of them"),
        (json!({}), "where does the file come from?"),
        (json!({"src": "x.raw", "nodes": ["all", "pve1"]}), "give all, or the names of some"),
        (json!({"src": "x.raw", "volid": "local:iso/x.iso"}), "what state=absent removes"),
        (json!({"src": "x.lzo"}), "this is lzo: decompress it first"),
        (json!({"url": "https://h", "checksum": SUM}), "the name of the source: ''"),
        (json!({"state": "absent"}), "give volid, or storage and name"),
        (
            json!({"state": "absent", "name": "x.raw", "url": "https://h"}),
            "what is removed is said",
        ),
        (json!({"state": "absent", "volid": "other:iso/x.iso"}), "is on storage other"),
    ] {
        let message = refused(&options);
        assert!(message.contains(text), "{message}");
        assert!(!message.contains("hush"), "{message}");
    }
    let unverified = json!({"url": "https://h/x.raw", "allow_unverified": true});
    assert_eq!(Request::of(&params(&unverified)).unwrap().checksum, None);
}
