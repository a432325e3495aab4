use std::process::Command;

use super::*;

fn probe(bytes: &[u8]) -> Probe {
    let file = tempfile::tempfile().unwrap();
    file.write_all_at(bytes, 0).unwrap();
    Probe::of(&file).unwrap()
}

/// A file that `qemu-img` makes.
fn made(arguments: &[&str]) -> (tempfile::TempDir, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    for (name, size) in [("data.raw", 1 << 20), ("base.raw", 1 << 20)] {
        std::fs::File::create(folder.path().join(name)).unwrap().set_len(size).unwrap();
    }
    let output =
        Command::new("qemu-img").args(arguments).current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let bytes = std::fs::read(folder.path().join("x")).unwrap();
    (folder, bytes)
}

fn set(mut bytes: Vec<u8>, at: usize, value: &[u8]) -> Vec<u8> {
    bytes[at..at + value.len()].copy_from_slice(value);
    bytes
}

#[test]
fn images_of_qemu_are_known() {
    for (arguments, format) in [
        (&["create", "-q", "-f", "qcow2", "x", "5M"][..], Format::Qcow2),
        (&["create", "-q", "-f", "qcow2", "-o", "compat=0.10", "x", "5M"], Format::Qcow2),
        (
            &[
                "create",
                "-q",
                "-f",
                "qcow2",
                "-o",
                "compression_type=zstd,extended_l2=on",
                "x",
                "5M",
            ],
            Format::Qcow2,
        ),
        (&["create", "-q", "-f", "vmdk", "x", "5M"], Format::Vmdk),
        (
            &["create", "-q", "-f", "vmdk", "-o", "subformat=streamOptimized", "x", "5M"],
            Format::Vmdk,
        ),
        (&["create", "-q", "-f", "raw", "x", "5M"], Format::Raw(Partitions::None)),
    ] {
        let (_folder, bytes) = made(arguments);
        let probe = probe(&bytes);
        assert_eq!((probe.format, probe.disk), (format, Some(5 << 20)), "{arguments:?}");
        assert_eq!(probe.problems, Vec::<String>::new(), "{arguments:?}");
    }
    for (kind, word) in [("vdi", "vdi"), ("vhdx", "vhdx"), ("vpc", "vhd"), ("qed", "qed")] {
        let (_folder, bytes) = made(&["create", "-q", "-f", kind, "x", "5M"]);
        let probe = probe(&bytes);
        assert_eq!((probe.format, probe.problems.len()), (Format::Foreign(word), 1), "{kind}");
    }
}

#[test]
fn images_that_read_other_files_are_refused() {
    for (arguments, problem) in [
        (
            &["create", "-q", "-f", "qcow2", "-b", "base.raw", "-F", "raw", "x"][..],
            "it has a backing file ('base.raw')",
        ),
        (
            &[
                "create",
                "-q",
                "-f",
                "qcow2",
                "-o",
                "data_file=data.raw,data_file_raw=on",
                "x",
                "1M",
            ],
            "it has its data in another file",
        ),
        (
            &["create", "-q", "-f", "vmdk", "-o", "subformat=monolithicFlat", "x", "5M"],
            "it is a description of a disk whose data is in other files",
        ),
    ] {
        let (_folder, bytes) = made(arguments);
        let problems = probe(&bytes).problems;
        assert!(problems.len() == 1 && problems[0].starts_with(problem), "{problems:?}");
    }
    let (_folder, vmdk) = made(&["create", "-q", "-f", "vmdk", "x", "5M"]);
    let text = String::from_utf8_lossy(&vmdk[512..2048]).into_owned();
    for (from, to, problem) in [
        ("parentCID=ffffffff", "parentCID=12345678", "it has a parent"),
        ("monolithicSparse", "twoGbMaxExtSpars", "its data is in other files"),
        ("# The Disk Data Base", "RW 8 SPARSE \"y.vmdk\" ", "its data is in several files"),
    ] {
        let at = 512 + text.find(from).unwrap();
        let problems = probe(&set(vmdk.clone(), at, &to.as_bytes()[..from.len()])).problems;
        assert!(problems.len() == 1 && problems[0].starts_with(problem), "{from}: {problems:?}");
    }
}

#[test]
fn headers_that_lie_are_refused() {
    let (_folder, qcow2) = made(&["create", "-q", "-f", "qcow2", "x", "5M"]);
    // an extension right after a header of 104 bytes
    let data_file = set(qcow2.clone(), 103, &[104]);
    let data_file = set(data_file, 104, b"DATA\0\0\0\x04/etc\0\0\0\0\0\0\0\0");
    for (name, bytes, problem) in [
        ("version", set(qcow2.clone(), 7, &[9]), "it is a qcow2 of version 9"),
        ("clusters", set(qcow2.clone(), 23, &[40]), "it has clusters of 2^40 bytes"),
        ("encrypted", set(qcow2.clone(), 35, &[2]), "it is encrypted"),
        ("corrupt", set(qcow2.clone(), 79, &[2]), "it is marked as damaged"),
        ("feature", set(qcow2.clone(), 78, &[1]), "it has features that are not known: 0x100"),
        (
            "a backing file far away",
            set(qcow2.clone(), 8, &[0xff; 12]),
            "it has a backing file ('')",
        ),
        ("a table far away", set(qcow2.clone(), 40, &[0xff; 8]), "it is cut off"),
        ("cut off", qcow2[..70_000].to_vec(), "it is cut off: it has 70000 bytes"),
        ("only its magic", b"QFI\xfb".to_vec(), "it is a qcow2 of version 0"),
        ("a data file without the feature", data_file, "it names a data file ('/etc')"),
    ] {
        let problems = probe(&bytes).problems;
        assert!(problems.iter().any(|found| found.starts_with(problem)), "{name}: {problems:?}");
    }
}

#[test]
fn disks_are_whole_or_refused() {
    let disk = |at: usize, bytes: &[u8]| set(vec![0; 1 << 20], at, bytes);
    let mut gpt = disk(512, b"EFI PART");
    gpt = set(gpt, 512 + 32, &2047_u64.to_le_bytes());
    let wide = set(disk(4096, b"EFI PART"), 4096 + 32, &255_u64.to_le_bytes());
    let mut mbr = disk(510, &[0x55, 0xaa]);
    mbr = set(mbr, 446 + 4, &[0x83, 0, 0, 0, 1, 0, 0, 0, 0xff, 7, 0, 0]);
    for (bytes, partitions) in [
        (&gpt, Partitions::Gpt),
        (&wide, Partitions::Gpt),
        (&mbr, Partitions::Mbr),
        (&disk(0x438, &[0x53, 0xef]), Partitions::None),
    ] {
        let whole = probe(bytes);
        assert_eq!((whole.format, whole.problems.len()), (Format::Raw(partitions), 0));
        if partitions != Partitions::None {
            let cut = probe(&bytes[..bytes.len() - 512]).problems;
            let problem = "it is cut off: it has 1048064 bytes, and its disk has 1048";
            assert!(cut.len() == 1 && cut[0].starts_with(problem), "{cut:?}");
        }
    }
}

#[test]
fn what_is_no_image_is_told() {
    let tar = |name: &[u8]| set(set(vec![0; 1024], 0, name), 257, b"ustar");
    for (bytes, format, problem) in [
        (vec![], Format::Empty, "it is empty"),
        (b" \n<!DOCTYPE html><p>".to_vec(), Format::Page, "it is a page of HTML"),
        (b"<HTML>".to_vec(), Format::Page, "it is a page of HTML"),
        (b"\xfd7zXZ\0\0".to_vec(), Format::Compressed(Compression::Xz), ""),
        (tar(b"x.ovf"), Format::Ova, ""),
        (tar(b"x.txt"), Format::Ova, "it is an archive, and no OVA"),
        (set(vec![0; 40_000], 0x8001, b"CD001"), Format::Iso, ""),
        (b"x".to_vec(), Format::Raw(Partitions::None), ""),
    ] {
        let probe = probe(&bytes);
        assert_eq!(probe.format, format);
        let found = probe.problems.join("; ");
        assert!(found.starts_with(problem) && found.is_empty() == problem.is_empty(), "{found}");
    }
}

#[test]
fn names_that_say_something_else_are_told() {
    let (_folder, qcow2) = made(&["create", "-q", "-f", "qcow2", "x", "5M"]);
    let (raw, gz) = (vec![0; 4096], b"\x1f\x8b\x08\0".to_vec());
    for (bytes, name, said) in [
        (&qcow2, "x.qcow2", None),
        (&qcow2, "x.img", None),
        (&qcow2, "x", None),
        (&qcow2, "debian-13.bin", None),
        (&qcow2, "x.raw", Some("its name ends in .raw, and it is qcow2")),
        (&qcow2, "x.qcow2.xz", Some("its name ends in .xz, and it is qcow2")),
        (&raw, "x.raw", None),
        (
            &raw,
            "x.qcow2",
            Some("its name ends in .qcow2, and it is raw, without a partition table"),
        ),
        (&gz, "x.raw.gz", None),
        (&gz, "x.raw.xz", Some("its name ends in .xz, and it is compressed with gzip")),
        (&gz, "x.raw", Some("its name ends in .raw, and it is compressed with gzip")),
    ] {
        assert_eq!(probe(bytes).contradicts(name).as_deref(), said, "{name}");
    }
}
