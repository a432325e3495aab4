//! A guest for tests of modules: no PVE, just a Debian to run things in.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::host;
use super::launch::{Card, Machine};
use super::test_network::Shared;
use crate::image::{Image, Suite};
use crate::repository::Server;

/// How long a guest may take until it is up.
const BOOT_LIMIT: Duration = Duration::from_secs(60);

static MODULES: AtomicU32 = AtomicU32::new(0);

/// What a command in a guest did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// The exit status; -1 if it was killed.
    pub status: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Output {
    /// Whether the exit status is 0.
    pub fn success(&self) -> bool {
        self.status == 0
    }
}

/// A guest that lives as long as this value.
pub struct TestGuest {
    shared: Arc<Shared>,
    vmid: u32,
    address: String,
    connection: Mutex<Option<Child>>,
}

impl TestGuest {
    /// Boots a guest from the cached image of a release and waits until it is up.
    ///
    /// # Panics
    ///
    /// Panics with what is missing and what to do about it if this machine cannot run guests: a
    /// test that needs one must not pass without.
    pub fn boot(suite: Suite) -> Self {
        Self::boot_image(Image::cloud(suite))
    }

    /// Boots a guest from an image, one without Python perhaps, and waits until it is up.
    ///
    /// # Panics
    ///
    /// As [`TestGuest::boot`].
    pub fn boot_image(image: Image) -> Self {
        match Self::try_boot(image) {
            Ok(guest) => guest,
            #[expect(clippy::panic, reason = "for tests only, and documented")]
            Err(e) => panic!("no guest for this test: {e:#}"),
        }
    }

    /// Boots a guest, or says why it does not.
    pub fn try_boot(image: Image) -> Result<Self> {
        let shared = Shared::get()?;
        let file = image.ensure()?;
        let number = shared.next.fetch_add(1, Ordering::Relaxed);
        let vmid = 100 + number;
        let last = u8::try_from(10 + number).context("too many guests in one process")?;
        let address = shared.bridge.address(last);
        let disk = shared.machines.home().state.join(format!("{vmid}.raw"));
        host::finish(
            host::command("qemu-img").args(["convert", "-O", "raw"]).arg(&file).arg(&disk),
        )?;
        let mac = format!("bc:24:11:00:00:{last:02x}");
        let machine = Machine {
            vmid,
            netns: shared.name.clone(),
            disk: Some(disk),
            seed: image.cloud_init.then(|| shared.seed(image.suite, &mac, &address)),
            credentials: if image.cloud_init {
                Vec::new()
            } else {
                shared.credentials(&mac, &address)
            },
            cards: vec![Card {
                slot: 0,
                mac,
                bridge: Some(shared.bridge.name.clone()),
                tag: None,
                link_up: true,
            }],
            agent: true,
        };
        let guest = Self { shared, vmid, address, connection: Mutex::default() };
        guest.shared.machines.start(&machine)?;
        guest.wait_up()?;
        Ok(guest)
    }

    /// The guest's address.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The private key that root and `debian` let in.
    pub fn key(&self) -> &Path {
        &self.shared.key
    }

    /// The package server, which all guests of this process share.
    pub fn package_server(&self) -> &Server {
        &self.shared.server
    }

    /// Runs a shell command as root over ssh.
    ///
    /// Commands share a connection that was made when the guest came up, and that outlives most
    /// things one can do to sshd; [`TestGuest::log_in`] makes a new one.
    ///
    /// # Panics
    ///
    /// Panics if ssh cannot be run.
    pub fn run(&self, command: &str) -> Output {
        self.run_with(command, &[])
    }

    /// Runs a shell command as root over ssh with this on its standard input.
    ///
    /// # Panics
    ///
    /// Panics if ssh cannot be run.
    pub fn run_with(&self, command: &str, input: &[u8]) -> Output {
        // Without the shared connection ssh makes one of its own.
        finish(self.ssh().arg("-S").arg(self.socket()).arg(self.target()).arg(command), input)
    }

    /// Runs a shell command as root over a new connection: what sshd says to the next one who
    /// comes.
    ///
    /// # Panics
    ///
    /// Panics if ssh cannot be run.
    pub fn log_in(&self, command: &str) -> Output {
        finish(self.ssh().arg(self.target()).arg(command), &[])
    }

    /// Runs a shell command as root without the guest's network and sshd.
    ///
    /// # Panics
    ///
    /// Panics if the guest does not run.
    pub fn console(&self, command: &str) -> Output {
        finish(&mut self.console_command(&["sh", "-c", command]), &[])
    }

    /// As [`harness::crash::kill_before`], for a module's binary that lies in the guest.
    ///
    /// # Panics
    ///
    /// As [`TestGuest::console`].
    pub fn kill_before(
        &self,
        program: &str,
        args_file: &str,
        number: usize,
        counts: impl Fn(&str) -> bool,
    ) -> Option<String> {
        let command = self.console_command(&harness::crash::held(program, args_file));
        harness::crash::kill_before(command, number, counts)
    }

    fn console_command(&self, words: &[impl AsRef<OsStr>]) -> Command {
        let init = self.shared.machines.home().of(self.vmid).init();
        #[expect(clippy::expect_used, reason = "for tests only, and documented")]
        let init = init.expect("the guest runs").to_string();
        let mut command = host::command("nsenter");
        command.args(["-t", &init, "-m", "-u", "-i", "-n", "-p", "--"]).args(words);
        command
    }

    /// Copies a file into the guest, with its mode.
    ///
    /// # Panics
    ///
    /// Panics if the file cannot be read or written.
    pub fn put(&self, local: impl AsRef<Path>, remote: &str) {
        use std::os::unix::fs::PermissionsExt;
        let local = local.as_ref();
        let content = fs::read(local);
        let mode = fs::metadata(local).map_or(0o644, |m| m.permissions().mode() & 0o7777);
        #[expect(clippy::expect_used, reason = "for tests only, and documented")]
        self.write(remote, &content.expect("the file can be read"), mode);
    }

    /// Writes a file in the guest.
    ///
    /// # Panics
    ///
    /// Panics if it cannot be written.
    pub fn write(&self, remote: &str, content: &[u8], mode: u32) {
        let quoted = quote(remote);
        let script = format!("umask 077; cat >{quoted} && chmod {mode:o} {quoted}");
        let output = self.run_with(&script, content);
        assert!(output.success(), "cannot write {remote}: {output:?}");
    }

    /// Runs a module's binary in the guest as Ansible does and returns its result.
    ///
    /// # Panics
    ///
    /// Panics if it prints anything but one line of JSON on standard output.
    pub fn module(&self, binary: impl AsRef<Path>, args: &Value) -> Value {
        self.module_with(binary, args, &json!({}))
    }

    /// Runs a module with reserved arguments, `{"_ansible_check_mode": true}`.
    ///
    /// # Panics
    ///
    /// Panics if it prints anything but one line of JSON on standard output.
    pub fn module_with(&self, binary: impl AsRef<Path>, args: &Value, reserved: &Value) -> Value {
        let binary = binary.as_ref();
        let name = binary.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let number = MODULES.fetch_add(1, Ordering::Relaxed);
        let directory = format!("/root/.ansible/tmp/ansible-tmp-{number}");
        let quoted = quote(&directory);
        let mut all = Value::Object(harness::Core::default().reserved(&name));
        all["_ansible_tmpdir"] = json!(format!("{directory}/"));
        for source in [args, reserved] {
            for (key, value) in source.as_object().into_iter().flatten() {
                all[key] = value.clone();
            }
        }
        let program = quote(&format!("{directory}/AnsiballZ_{name}"));
        let args_file = quote(&format!("{directory}/args"));
        #[expect(clippy::expect_used, reason = "for tests only, and documented")]
        let content = fs::read(binary).expect("the module can be read");
        let placed = self.run_with(
            &format!("umask 077; mkdir -p {quoted} && cat >{program} && chmod u+x {program}"),
            &content,
        );
        assert!(placed.success(), "cannot place the module: {placed:?}");
        let output = self.run_with(
            &format!(
                "umask 077; cat >{args_file} && {program} {args_file} </dev/null; rc=$?; \
                 rm -rf {quoted}; exit $rc"
            ),
            all.to_string().as_bytes(),
        );
        let result = serde_json::from_str(output.stdout.trim_end_matches('\n'));
        match result {
            Ok(value) if output.stdout.lines().count() == 1 => value,
            #[expect(clippy::panic, reason = "for tests only, and documented")]
            _ => panic!("{name} printed something else than one line of JSON: {output:?}"),
        }
    }

    /// Reboots the guest and waits until it is up again.
    ///
    /// # Panics
    ///
    /// Panics if it does not come back.
    pub fn reboot(&self) {
        let before = self.shared.machines.get(self.vmid).map(|r| r.pid);
        // The connection breaks before the command's status arrives.
        let _ = self.run("systemctl reboot");
        let deadline = Instant::now() + BOOT_LIMIT;
        while self.shared.machines.get(self.vmid).map(|r| r.pid) == before {
            assert!(Instant::now() < deadline, "the guest does not reboot");
            std::thread::sleep(Duration::from_millis(20));
        }
        let up = self.wait_up();
        assert!(up.is_ok(), "the guest does not come back: {up:?}");
    }

    fn ssh(&self) -> Command {
        self.shared.ssh()
    }

    fn target(&self) -> String {
        format!("root@{}", self.address)
    }

    fn socket(&self) -> PathBuf {
        self.shared.machines.home().run.join(format!("{}.ssh", self.vmid))
    }

    /// Makes the connection that commands share: a new one takes some 100 ms each time.
    fn connect(&self, deadline: Instant) -> Result<()> {
        self.disconnect();
        let socket = self.socket();
        let mut child = self
            .ssh()
            .args(["-M", "-N", "-S"])
            .arg(&socket)
            .arg(self.target())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot run ssh")?;
        while !socket.exists() {
            if child.try_wait()?.is_some() || Instant::now() > deadline {
                bail!("the connection to {} is lost", self.address);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        *self.connection.lock().unwrap_or_else(PoisonError::into_inner) = Some(child);
        Ok(())
    }

    fn disconnect(&self) {
        let child = self.connection.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut child) = child {
            let _ = child.kill();
            let _ = child.wait();
        }
        // Killed, ssh leaves its socket behind.
        let _ = fs::remove_file(self.socket());
    }

    fn wait_up(&self) -> Result<()> {
        let deadline = Instant::now() + BOOT_LIMIT;
        loop {
            let output = self.log_in("systemctl is-system-running --wait");
            match output.stdout.trim() {
                "running" => return self.connect(deadline),
                state @ ("degraded" | "maintenance") => {
                    let failed = self.log_in("systemctl --failed --no-legend --plain").stdout;
                    bail!("the guest is {state}: {failed}");
                }
                _ => {}
            }
            let console = self.shared.machines.home().of(self.vmid).state;
            if self.shared.machines.get(self.vmid).is_none() {
                let log = fs::read_to_string(console.join("console.log")).unwrap_or_default();
                bail!("the guest ended while it booted; its console: {log}");
            }
            if Instant::now() > deadline {
                let log = fs::read_to_string(console.join("console.log")).unwrap_or_default();
                bail!("no ssh to the guest: {}; its console: {log}", output.stderr.trim());
            }
            std::thread::sleep(Duration::from_millis(30));
        }
    }
}

impl Drop for TestGuest {
    fn drop(&mut self) {
        self.disconnect();
        if let Err(e) = self.shared.machines.kill(self.vmid) {
            eprintln!("cannot end a guest: {e:#}");
        }
        let state = &self.shared.machines.home().state;
        let _ = fs::remove_file(state.join(format!("{}.raw", self.vmid)));
    }
}

fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn finish(command: &mut Command, input: &[u8]) -> Output {
    let result = (|| -> Result<Output> {
        let mut child = command
            .stdin(if input.is_empty() { Stdio::null() } else { Stdio::piped() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(input)?;
        }
        let output = child.wait_with_output()?;
        Ok(Output {
            status: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    })();
    match result {
        Ok(output) => output,
        #[expect(clippy::panic, reason = "for tests only, and documented by its callers")]
        Err(e) => panic!("cannot run {:?}: {e}", command.get_program()),
    }
}
