//! A folder to work in, and a publisher.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use images::{Algorithm, Checksum, Summer};
use pve_lab::{Origin, Place};
use tempfile::TempDir;

/// What a command did.
pub(crate) struct Done {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A folder with a catalog in it.
pub(crate) struct Bench {
    pub(crate) folder: TempDir,
    pub(crate) origin: Origin,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), origin: Origin::start() }
    }

    /// One whose publisher has these builds of trixie, and whose catalog pins the first one.
    pub(crate) fn trixie(builds: &[(&str, &[u8])]) -> Self {
        let bench = Self::new();
        for (serial, content) in builds {
            bench.publish(serial, content);
        }
        let serials = builds.iter().map(|(serial, _)| *serial);
        bench.list(&serials.collect::<Vec<_>>());
        bench.write("images.yml", bench.catalog(builds[0].0, builds[0].1).as_bytes());
        bench
    }

    pub(crate) fn publish(&self, serial: &str, content: &[u8]) {
        let name = format!("debian-13-genericcloud-amd64-{serial}.qcow2");
        let sums = format!("{}  {name}\n", sum(Algorithm::Sha512, content).hex());
        self.origin.put(&format!("/trixie/{serial}/SHA512SUMS"), Place::File(sums.into_bytes()));
        self.origin.put(&format!("/trixie/{serial}/{name}"), Place::File(content.to_vec()));
    }

    pub(crate) fn list(&self, serials: &[&str]) {
        let links: String =
            serials.iter().map(|serial| format!("<a href=\"{serial}/\">{serial}/</a>")).collect();
        let page = format!("<a href=\"latest/\">latest/</a>{links}");
        self.origin.put("/trixie/", Place::File(page.into_bytes()));
    }

    pub(crate) fn catalog(&self, serial: &str, content: &[u8]) -> String {
        format!(
            "---\nimages:\n  # what our machines are made from\n  trixie:\n    publisher: debian\n    \
             release: trixie\n    serial: {serial} # boots on all nodes\n    mirror: {}\n    \
             checksum: {}\n",
            self.origin.url(""),
            sum(Algorithm::Sha512, content)
        )
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path().join(name), bytes).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap()
    }

    /// The names of all files, in order.
    pub(crate) fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ferrite-image"));
        command.args(arguments.split(' ')).current_dir(self.path());
        command
    }

    pub(crate) fn run(&self, arguments: &str) -> Done {
        let Output { status, stdout, stderr } = self.command(arguments).output().unwrap();
        Done {
            status: status.code(),
            stdout: String::from_utf8(stdout).unwrap(),
            stderr: String::from_utf8(stderr).unwrap(),
        }
    }

    /// Runs what has to go well.
    pub(crate) fn ok(&self, arguments: &str) -> Done {
        let done = self.run(arguments);
        assert_eq!(done.status, Some(0), "{arguments}: {}", done.stderr);
        done
    }

    /// Runs what has to fail, and gives what it says.
    pub(crate) fn fails(&self, arguments: &str) -> String {
        let done = self.run(arguments);
        assert_eq!(done.status, Some(1), "{arguments}: {}{}", done.stdout, done.stderr);
        done.stderr
    }
}

pub(crate) fn sum(algorithm: Algorithm, bytes: &[u8]) -> Checksum {
    let mut summer = Summer::new(algorithm);
    summer.add(bytes);
    summer.done()
}
