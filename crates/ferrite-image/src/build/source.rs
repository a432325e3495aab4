//! The upstream image: fetched if it is elsewhere, verified, and made a disk that can be changed.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use images::{Checksum, Summer, shown};
use pve_client::Published;
use serde_json::Value;

use super::room;
use super::spec::is_address;
use super::work::Work;
use crate::program;

/// How long nothing may come from a server.
const STALL: Duration = Duration::from_secs(60);

/// Images that have to be unpacked before: their first bytes, their name, the remedy.
const PACKED: [(&[u8], &str, &str); 4] = [
    (b"\xfd7zXZ\0", "xz", "xz --decompress"),
    (b"\x1f\x8b", "gzip", "gunzip"),
    (b"\x28\xb5\x2f\xfd", "zstd", "unzstd"),
    (b"BZh", "bzip2", "bunzip2"),
];

/// Gets the image, verifies it and writes it as a raw disk.
pub(super) fn disk(place: &str, expected: &Checksum, work: &Work) -> Result<PathBuf> {
    let called = shown(place);
    let (image, found) = if is_address(place) {
        let file = work.join("source");
        let found =
            fetch(place, expected, &file).with_context(|| format!("cannot fetch {called}"))?;
        (file, found)
    } else {
        let path = PathBuf::from(place);
        let found = Checksum::of_file(&path, expected.algorithm())
            .with_context(|| format!("cannot read {place}"))?;
        (path, found)
    };
    if found != *expected {
        bail!(
            "{called} is not what the spec pins: it has {found}, the spec says {expected}; \
             get the right file, or look at the new one and pin it"
        );
    }
    convert(&image, &called, work)
}

fn fetch(url: &str, expected: &Checksum, target: &Path) -> Result<Checksum> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut published = Published::open(url, STALL).await?;
        if let (Some(size), Some(folder)) = (published.size(), target.parent()) {
            room::on_host(folder, size)?;
        }
        let mut file = File::create(target)?;
        let mut summer = Summer::new(expected.algorithm());
        while let Some(piece) = published.piece().await? {
            summer.add(&piece);
            file.write_all(&piece).context("cannot keep it")?;
        }
        Ok(summer.done())
    })
}

fn convert(image: &Path, place: &str, work: &Work) -> Result<PathBuf> {
    let format = format_of(image).with_context(|| format!("cannot use {place}"))?;
    let info = program::finish(
        program::command("qemu-img").args(["info", "--output=json", "-f", format]).arg(image),
    )?;
    let info: Value = serde_json::from_str(&info).context("cannot read what qemu-img says")?;
    let elsewhere = ["backing-filename", "data-file"]
        .into_iter()
        .chain(["format-specific/data/data-file"])
        .any(|key| key.split('/').fold(&info, |value, part| &value[part]).is_string());
    if elsewhere {
        bail!("{place} takes content from another file, which no checksum is known of");
    }
    // What is in a compressed image is about three times its size.
    let packed = fs::metadata(image)?.len();
    let whole = info["virtual-size"].as_u64().unwrap_or(u64::MAX);
    room::on_host(work.path(), whole.min(packed.saturating_mul(4)))?;
    let disk = work.join("disk.raw");
    let mut convert = program::command("setpriv");
    convert
        .args(["--pdeathsig", "KILL", "qemu-img", "convert", "-f", format, "-O", "raw"])
        .arg(image)
        .arg(&disk);
    program::finish(&mut convert)?;
    Ok(disk)
}

/// `qcow2` or `raw`; never what qemu-img guesses, since a raw disk could pretend to be anything.
fn format_of(image: &Path) -> Result<&'static str> {
    let mut start = [0; 8];
    let file = File::open(image)?;
    file.read_exact_at(&mut start, 0).context("it is too small for an image")?;
    for (magic, name, remedy) in PACKED {
        if start.starts_with(magic) {
            bail!(
                "it is packed by {name}; unpack it ({remedy}) and pin the checksum of the result"
            );
        }
    }
    Ok(if start.starts_with(b"QFI\xfb") { "qcow2" } else { "raw" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_told_by_their_first_bytes() {
        let rows: [(&str, &[u8], &str); 5] = [
            ("qcow2", b"QFI\xfb\0\0\0\x03", "qcow2"),
            ("raw", b"\0\0\0\0\0\0\0\0", "raw"),
            (
                "xz",
                b"\xfd7zXZ\0\0\0",
                "it is packed by xz; unpack it (xz --decompress) and pin the checksum of the result",
            ),
            (
                "gzip",
                b"\x1f\x8b\x08\0\0\0\0\0",
                "it is packed by gzip; unpack it (gunzip) and pin the checksum of the result",
            ),
            ("nothing", b"abc", "it is too small for an image"),
        ];
        for (name, bytes, expected) in rows {
            let file = tempfile::NamedTempFile::new().unwrap();
            fs::write(file.path(), bytes).unwrap();
            let said = format_of(file.path()).map_or_else(|e| e.to_string(), str::to_owned);
            assert_eq!(said, expected, "{name}");
        }
    }
}
