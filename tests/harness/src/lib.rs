//! Runs a built module the way Ansible does: the binary under its remote name `AnsiballZ_NAME`, one
//! argument (a file called `args` beside it), the reserved `_ansible_*` keys of a chosen
//! ansible-core, an empty standard input, and an environment that holds nothing by chance.
//!
//! What every run must keep is asserted here and not in each test: one line of ASCII JSON on
//! standard output, nothing on standard error, real booleans, a message with each failure, and an
//! exit status that agrees with the result.

#![expect(clippy::expect_used, reason = "a harness fails its test by panicking")]

mod core;
pub mod crash;
mod cycle;
mod host;
mod outcome;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Map, Value};

pub use crate::core::Core;
pub use crate::cycle::{Cycle, check_apply_again, tree};
pub use crate::host::host;
pub use crate::outcome::Outcome;

/// A built module and what it is called with. Cheap to clone, so that one test can run variations.
#[derive(Debug, Clone)]
pub struct Module {
    binary: PathBuf,
    name: String,
    args: Map<String, Value>,
    env: BTreeMap<OsString, OsString>,
    core: Core,
    reserved: Map<String, Value>,
}

impl Module {
    /// The module at this path: `Module::new(env!("CARGO_BIN_EXE_timer_mask"))`.
    #[must_use]
    pub fn new(binary: impl AsRef<Path>) -> Self {
        let binary = binary.as_ref().to_path_buf();
        let name = binary.file_name().expect("a binary has a name").to_string_lossy().into_owned();
        Self {
            binary,
            name,
            args: Map::new(),
            env: BTreeMap::new(),
            core: Core::default(),
            reserved: Map::new(),
        }
    }

    /// Adds these options; one given before is replaced.
    #[must_use]
    pub fn args(mut self, args: Value) -> Self {
        let Value::Object(args) = args else { panic!("options are an object, not {args}") };
        self.args.extend(args);
        self
    }

    /// Adds one option.
    #[must_use]
    pub fn arg(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.args.insert(name.to_owned(), value.into());
        self
    }

    /// Takes an option away.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.args.remove(name);
        self
    }

    /// Runs in check mode.
    #[must_use]
    pub fn check(self) -> Self {
        self.reserved("_ansible_check_mode", true)
    }

    /// Runs in diff mode.
    #[must_use]
    pub fn diff(self) -> Self {
        self.reserved("_ansible_diff", true)
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    /// Sends the reserved keys of this ansible-core.
    #[must_use]
    pub fn core(mut self, core: Core) -> Self {
        self.core = core;
        self
    }

    /// Sets a reserved key to another value than ansible-core would.
    #[must_use]
    pub fn reserved(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.reserved.insert(key.to_owned(), value.into());
        self
    }

    /// Runs the module and checks what every run must keep.
    #[must_use]
    pub fn run(&self) -> Outcome {
        let mut args = self.args.clone();
        args.extend(self.core.reserved(&self.name));
        args.extend(self.reserved.clone());
        // Ansible escapes all that is not ASCII
        self.run_file(ascii(&Value::Object(args).to_string()).as_bytes())
    }

    /// Runs the module and kills it as soon as `is_time`, if it has not ended before.
    pub fn kill_when(&self, mut is_time: impl FnMut() -> bool) {
        let dir = tempfile::tempdir().expect("a temporary folder can be made");
        let mut args = self.args.clone();
        args.extend(self.core.reserved(&self.name));
        args.extend(self.reserved.clone());
        let file = dir.path().join("args");
        std::fs::write(&file, Value::Object(args).to_string()).expect("the file can be written");
        let mut command = self.command(dir.path(), &[file.into_os_string()]);
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = quiet.spawn().expect("the module can be run");
        while !is_time() && child.try_wait().expect("it is our child").is_none() {
            std::thread::yield_now();
        }
        child.kill().expect("it is our child");
        child.wait().expect("it is our child");
    }

    /// Runs the module with an arguments file of these bytes, whatever they are.
    #[must_use]
    pub fn run_file(&self, content: &[u8]) -> Outcome {
        let dir = tempfile::tempdir().expect("a temporary folder can be made");
        let args = dir.path().join("args");
        std::fs::write(&args, content).expect("the arguments file can be written");
        std::fs::set_permissions(&args, std::fs::Permissions::from_mode(0o700)).expect("chmod");
        self.spawn(dir.path(), &[args.into_os_string()], Stdio::null()).checked()
    }

    /// Runs the module with the options on its standard input, named by `argument` (`-` or
    /// `/dev/stdin`).
    #[must_use]
    pub fn run_stdin(&self, argument: &str) -> Outcome {
        let dir = tempfile::tempdir().expect("a temporary folder can be made");
        let mut args = self.args.clone();
        args.extend(self.core.reserved(&self.name));
        args.extend(self.reserved.clone());
        let file = dir.path().join("stdin");
        std::fs::write(&file, Value::Object(args).to_string()).expect("the input can be written");
        let stdin = std::fs::File::open(&file).expect("it was just written");
        self.spawn(dir.path(), &[argument.into()], stdin.into()).checked()
    }

    /// Runs the binary with a person's command line; nothing is asserted about what it prints.
    #[must_use]
    pub fn run_plain(&self, arguments: &[&str]) -> Outcome {
        let dir = tempfile::tempdir().expect("a temporary folder can be made");
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        self.spawn(dir.path(), &arguments, Stdio::null())
    }

    fn spawn(&self, dir: &Path, arguments: &[OsString], stdin: Stdio) -> Outcome {
        let output = self
            .command(dir, arguments)
            .stdin(stdin)
            .output()
            .unwrap_or_else(|error| panic!("{} cannot be run: {error}", self.binary.display()));
        Outcome::new(output)
    }

    /// The module under its remote name, with an environment that holds nothing by chance.
    fn command(&self, dir: &Path, arguments: &[OsString]) -> Command {
        let remote = dir.join(format!("AnsiballZ_{}", self.name));
        symlink(&self.binary, &remote).expect("the module can be linked");
        let mut command = Command::new(&remote);
        command
            .args(arguments)
            .current_dir(dir)
            .env_clear()
            .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
            .env("HOME", dir)
            .envs(&self.env);
        command
    }
}

fn ascii(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for unit in json.encode_utf16() {
        match char::from_u32(u32::from(unit)).filter(char::is_ascii) {
            Some(character) => out.push(character),
            None => out.push_str(&format!("\\u{unit:04x}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_ascii_is_escaped_as_python_does() {
        for (plain, escaped) in [("\"a\"", "\"a\""), ("é", "\\u00e9"), ("😀", "\\ud83d\\ude00")]
        {
            assert_eq!(ascii(plain), escaped);
        }
    }
}
