//! What `docs/images.md` tells people to type.

use images::Algorithm;
use pve_lab::Place;

use crate::support::{Bench, sum};

const PAGE: &str = include_str!("../../../../docs/images.md");

/// The blocks of a kind, in order.
fn blocks(kind: &str) -> Vec<&'static str> {
    let starts = PAGE.split(&format!("```{kind}\n")).skip(1).collect::<Vec<_>>();
    starts.into_iter().filter_map(|rest| rest.split("```").next()).collect()
}

#[test]
fn the_commands_of_the_page_work() {
    // the builds are those of the page's own catalog
    let bench = Bench::trixie(&[("20251117-2299", b"old"), ("20251201-1", b"new")]);
    std::fs::remove_file(bench.path().join("images.yml")).unwrap();
    let made = std::process::Command::new("qemu-img")
        .args(["create", "-q", "-f", "qcow2", "made", "5M"])
        .current_dir(bench.path())
        .status();
    assert!(made.unwrap().success());
    let image = std::fs::read(bench.path().join("made")).unwrap();
    bench.publish("20251117-2299", &image);
    bench.origin.put("/versions", Place::File(br#"["v1.11.5"]"#.to_vec()));
    let id = "ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515";
    let path = format!("/image/{id}/v1.11.5/nocloud-amd64.raw");
    bench.origin.put(&path, Place::File(b"talos".to_vec()));
    bench.write("talos.yml", b"customization: {}\n");
    let lines = blocks("console").concat();
    let commands: Vec<&str> = lines
        .lines()
        .filter_map(|line| line.strip_prefix("$ ./ferrite-image "))
        .map(|command| command.split(" #").next().unwrap().trim_end())
        .collect();
    assert!(commands.len() >= 9, "{commands:?}");
    for command in commands {
        let mirrored = if command.contains("--publisher") {
            format!("{command} --mirror {}", bench.origin.url(""))
        } else {
            command.to_owned()
        };
        bench.ok(&mirrored);
    }
    let catalog = bench.read("inventory/site/group_vars/all/images.yml");
    assert!(
        catalog.contains(&format!("checksum: {}", sum(Algorithm::Sha512, &image))),
        "{catalog}"
    );
}

#[test]
fn the_catalog_of_the_page_is_one() {
    let bench = Bench::new();
    let catalog = blocks("yaml")[0];
    bench.write("images.yml", catalog.as_bytes());
    bench.write("x", b"x");
    for name in ["trixie", "talos"] {
        let said = bench.fails(&format!("verify x --entry {name} --catalog images.yml"));
        assert!(said.contains("is expected, and it has another"), "{said}");
    }
}
