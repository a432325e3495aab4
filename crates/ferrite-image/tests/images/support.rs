//! A source, a mirror and a place for outputs, and a look at what a build left.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use pve_lab::image::Image;
use pve_lab::repository;
use pve_lab::{Origin, Place};
use serde_json::Value;
use sha2::{Digest, Sha256};

const LIMIT: Duration = Duration::from_secs(60);

/// What the tests of builds share: a real image of the lab as the upstream one, and the lab's
/// archives as the mirror.
pub(crate) struct Bench {
    pub(crate) image: PathBuf,
    pub(crate) checksum: String,
    pub(crate) mirror: Origin,
    pub(crate) folder: tempfile::TempDir,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let image = Image::without_python().ensure().unwrap();
        let sum = Sha256::digest(fs::read(&image).unwrap());
        let checksum =
            format!("sha256:{}", sum.iter().map(|b| format!("{b:02x}")).collect::<String>());
        let mirror = Origin::start();
        let root = repository::files().unwrap();
        let mut folders = vec![root.join("archive")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let name = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
                    mirror.put(&format!("/{name}"), Place::File(fs::read(path).unwrap()));
                }
            }
        }
        Self { image, checksum, mirror, folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A spec that installs the lab's package from a snapshot.
    pub(crate) fn spec(&self, snapshot: &str, more: &str) -> String {
        format!(
            "name: x\nsource: {{image: '{}', checksum: '{}'}}\npackages: [ferrite-demo]\n\
             snapshot: {{id: {snapshot}, mirror: '{}'}}\n{more}",
            self.image.display(),
            self.checksum,
            self.mirror.url("/archive")
        )
    }

    /// Begins to build what a spec says.
    pub(crate) fn start(&self, spec: &str) -> Child {
        self.command(spec).spawn().unwrap()
    }

    /// The command that builds what a spec says.
    pub(crate) fn command(&self, spec: &str) -> Command {
        let file = self.path("spec.yml");
        fs::write(&file, spec).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_ferrite-image"));
        command.arg("build").arg(file).arg("--output").arg(self.path("out/x.qcow2"));
        command.env_remove("http_proxy").stdout(Stdio::piped()).stderr(Stdio::piped());
        fs::create_dir_all(self.path("out")).unwrap();
        command
    }

    /// Builds what a spec says, and returns the manifest.
    pub(crate) fn build(&self, spec: &str) -> Value {
        let output = self.command(spec).output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
        let manifest = fs::read_to_string(self.path("out/x.qcow2.json")).unwrap();
        serde_json::from_str(&manifest).unwrap()
    }

    /// What is in the folder of outputs.
    pub(crate) fn outputs(&self) -> Vec<String> {
        let all = fs::read_dir(self.path("out")).unwrap().flatten();
        let mut names: Vec<String> =
            all.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Waits until no program, mount or loop device has to do with this bench any more.
    pub(crate) fn assert_free(&self, what: &str) {
        let end = Instant::now() + LIMIT;
        loop {
            let left = [self.loops(), self.mounts(), self.programs()].concat();
            if left.is_empty() {
                return;
            }
            assert!(Instant::now() < end, "{what}: {left:?}");
            std::thread::yield_now();
        }
    }

    fn is_ours(&self, text: &str) -> bool {
        text.contains(&*self.folder.path().to_string_lossy())
    }

    fn loops(&self) -> Vec<String> {
        let all = fs::read_dir("/sys/block").unwrap().flatten();
        let files = all.filter_map(|e| fs::read_to_string(e.path().join("loop/backing_file")).ok());
        files.filter(|file| self.is_ours(file)).collect()
    }

    fn mounts(&self) -> Vec<String> {
        let table = fs::read_to_string("/proc/self/mountinfo").unwrap();
        table.lines().filter(|line| self.is_ours(line)).map(str::to_owned).collect()
    }

    fn programs(&self) -> Vec<String> {
        let all = fs::read_dir("/proc").unwrap().flatten();
        let lines = all.filter_map(|e| fs::read(e.path().join("cmdline")).ok());
        let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
        lines.filter(|line| self.is_ours(line)).collect()
    }
}

/// What a build said on its way to fail.
pub(crate) fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Waits until a file is there.
pub(crate) fn wait_for(path: &Path, child: &mut Child) {
    let end = Instant::now() + LIMIT;
    while !path.exists() {
        assert!(child.try_wait().unwrap().is_none(), "the build ended before {}", path.display());
        assert!(Instant::now() < end, "no {}", path.display());
        std::thread::yield_now();
    }
}

/// Runs a script with an image's root mounted in its working directory, and returns what it says.
pub(crate) fn inside(image: &Path, folder: &Path, script: &str) -> String {
    let disk = folder.join("look.raw");
    let place = folder.join("look");
    fs::create_dir_all(&place).unwrap();
    let convert =
        Command::new("qemu-img").args(["convert", "-O", "raw"]).arg(image).arg(&disk).status();
    assert!(convert.unwrap().success());
    let root = ferrite_image::disk::root(&disk).unwrap().unwrap();
    let script = format!("mount -t ext4 -o \"$1\" \"$2\" \"$3\" && cd \"$3\" && {{ {script}\n}}");
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-e", "-c", &script, "sh"])
        .arg(format!("ro,noload,{}", root.mount_options()))
        .arg(&disk)
        .arg(&place)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", said(&output));
    fs::remove_file(disk).unwrap();
    String::from_utf8(output.stdout).unwrap()
}
