use std::process::Command;

use images::Algorithm;

use crate::support::{Bench, sum};

/// A qcow2 of five megabytes.
fn qcow2(bench: &Bench, more: &[&str]) -> Vec<u8> {
    let output = Command::new("qemu-img")
        .args(["create", "-q", "-f", "qcow2"])
        .args(more)
        .args(["made.qcow2", "5M"])
        .current_dir(bench.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::read(bench.path().join("made.qcow2")).unwrap()
}

#[test]
fn a_good_image_is_described() {
    let bench = Bench::new();
    let bytes = qcow2(&bench, &[]);
    let (short, long) = (sum(Algorithm::Sha256, &bytes), sum(Algorithm::Sha512, &bytes));
    let described = format!(
        "file      made.qcow2\nsize      {} bytes\nformat    qcow2\ndisk      5242880 bytes\n\
         sha256    {}\nsha512    {}\n",
        bytes.len(),
        short.hex(),
        long.hex()
    );
    let plain = bench.ok("verify made.qcow2");
    assert_eq!((plain.stdout.as_str(), plain.stderr.as_str()), (described.as_str(), ""));
    bench.write("SHA512SUMS", format!("{}  made.qcow2\n", long.hex()).as_bytes());
    bench.write("images.yml", bench.catalog("20251117-2299", &bytes).as_bytes());
    for (option, word) in [
        (format!("--checksum {short}"), "sha256"),
        ("--sums SHA512SUMS".to_owned(), "sha512"),
        ("--entry trixie --catalog images.yml".to_owned(), "sha512"),
    ] {
        let checked = bench.ok(&format!("verify made.qcow2 {option}"));
        let expected = format!("{described}checksum  {word} is the expected one\n");
        assert_eq!(checked.stdout, expected, "{option}");
    }
    // a name that says its content is believed if it is true
    let name = format!("debian-13-{}.qcow2", short.prefix());
    bench.write(&name, &bytes);
    bench.ok(&format!("verify {name}"));
}

#[test]
fn what_is_compressed_is_looked_into() {
    let bench = Bench::new();
    let bytes = qcow2(&bench, &[]);
    bench.write("x.qcow2", &bytes);
    for (program, ending) in [("xz", "xz"), ("gzip", "gz"), ("bzip2", "bz2"), ("zstd", "zst")] {
        let options: &[&str] = if program == "zstd" { &["-q"] } else { &[] };
        let made = Command::new(program)
            .args(options)
            .args(["-k", "x.qcow2"])
            .current_dir(bench.path())
            .status();
        assert!(made.unwrap().success(), "{program}");
        let name = format!("x.qcow2.{ending}");
        let done = bench.ok(&format!("verify {name}"));
        let inside =
            format!("holds     {} bytes\nwhich is  qcow2\ndisk      5242880 bytes\n", bytes.len());
        assert!(done.stdout.ends_with(&inside), "{}", done.stdout);
        let packed = std::fs::read(bench.path().join(&name)).unwrap();
        bench.write(&name, &packed[..packed.len() / 2]);
        let said = bench.fails(&format!("verify {name}"));
        assert!(said.contains("it cannot be decompressed: "), "{said}");
    }
}

#[test]
fn what_is_wrong_is_told_and_fails() {
    let bench = Bench::new();
    let bytes = qcow2(&bench, &[]);
    bench.write("base.raw", &[0; 4096]);
    let backed = qcow2(&bench, &["-b", "base.raw", "-F", "raw"]);
    let zeros = format!("sha256:{}", "0".repeat(64));
    for (name, content, options, problem) in [
        ("backed.qcow2", &backed[..], "", "it has a backing file ('base.raw')"),
        ("cut.qcow2", &bytes[..1000], "", "it is cut off: it has 1000 bytes"),
        ("page.qcow2", b"<html>", "", "it is a page of HTML"),
        ("page.qcow2", b"<html>", "", "its name ends in .qcow2, and it is a page of HTML"),
        ("x.raw", &bytes, "", "its name ends in .raw, and it is qcow2"),
        ("empty.raw", b"", "", "it is empty"),
        (
            "x-0123456789ab.qcow2",
            &bytes,
            "",
            "its name says content 0123456789ab, and it has another",
        ),
        ("x.qcow2", &bytes, &format!(" --checksum {zeros}"), "is expected, and it has another"),
        ("x.qcow2", &bytes, " --sums sums", "sums has no checksum of x.qcow2"),
        ("x.qcow2", &bytes, " --sums base.raw", "base.raw: line 1 is no checksum"),
        (
            "x.qcow2",
            &bytes,
            " --entry x",
            "failed to read the catalog inventory/site/group_vars/all/images.yml",
        ),
    ] {
        bench.write(name, content);
        bench.write("sums", format!("{}  y.qcow2\n", "0".repeat(64)).as_bytes());
        let said = bench.fails(&format!("verify {name}{options}"));
        assert!(said.contains(problem), "{name}{options}: {said}");
    }
    let said = bench.fails("verify nothing.raw");
    assert!(said.contains("failed to read nothing.raw: No such file"), "{said}");
}

#[test]
fn ids_of_schematics_are_told() {
    let bench = Bench::new();
    for (yaml, id) in [
        ("customization: {}\n", "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba"),
        ("", "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba"),
        (
            "customization:\n  systemExtensions:\n    # for addresses\n    officialExtensions: [siderolabs/qemu-guest-agent]\n",
            "ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515",
        ),
    ] {
        bench.write("talos.yml", yaml.as_bytes());
        assert_eq!(bench.ok("schematic talos.yml").stdout, format!("{id}\n"));
    }
    let yaml = bench.ok("schematic talos.yml --yaml").stdout;
    let expected = "customization:\n    systemExtensions:\n        officialExtensions:\n            \
        - siderolabs/qemu-guest-agent\n";
    assert_eq!(yaml, expected);
    for (yaml, problem) in [
        ("customisation: {}\n", "talos.yml is no schematic: unknown field `customisation`"),
        ("customization: {extraKernelArgs: ['a: b']}\n", "talos.yml: 'a: b' needs quotation marks"),
        ("customization: {meta: [{key: 1, value: x}]}\n", "unknown field `meta`"),
    ] {
        bench.write("talos.yml", yaml.as_bytes());
        let said = bench.fails("schematic talos.yml");
        assert!(said.contains(problem), "{said}");
    }
}
