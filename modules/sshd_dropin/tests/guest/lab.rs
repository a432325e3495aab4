//! A guest with a sshd to spoil, and what each run has to keep.

use pve_lab::guests::{Suite, TestGuest};
use serde_json::Value;

pub(crate) const MAIN: &str = "/etc/ssh/sshd_config";
pub(crate) const FOLDER: &str = "/etc/ssh/sshd_config.d";

pub(crate) struct Lab(pub(crate) TestGuest);

impl Lab {
    pub(crate) fn boot(suite: Suite) -> Self {
        let guest = TestGuest::boot(suite);
        guest.put(env!("CARGO_BIN_EXE_sshd_dropin"), "/root/module");
        let lab = Self(guest);
        // it may restart sshd as its last act
        lab.sh("cloud-init status --wait; cp -a /etc/ssh /root/ssh.stock");
        lab
    }

    /// Runs a command in the guest, also when its sshd is down.
    pub(crate) fn sh(&self, command: &str) -> String {
        let output = self.0.console(command);
        format!("{}{}", output.stdout, output.stderr).trim().to_owned()
    }

    pub(crate) fn module(&self, args: &Value, check: bool) -> Value {
        let mut all = Value::Object(harness::Core::default().reserved("sshd_dropin"));
        all["_ansible_check_mode"] = check.into();
        all["_ansible_diff"] = true.into();
        for (key, value) in args.as_object().unwrap() {
            all[key] = value.clone();
        }
        let command = format!("cat > /root/args <<'END'\n{all}\nEND\n/root/module /root/args");
        let output = self.0.console(&command);
        assert_eq!(output.stderr, "");
        serde_json::from_str(&output.stdout).unwrap()
    }

    /// The stock configuration, and sshd running with it.
    pub(crate) fn reset(&self) {
        let said = self.sh(
            "systemctl stop ssh.socket; rm -rf /etc/ssh && cp -a /root/ssh.stock /etc/ssh && \
             rm -rf /var/lib/ferrite && systemctl reset-failed; systemctl restart ssh.service && \
             systemctl is-active ssh.service",
        );
        assert!(said.ends_with("active"), "{said} {}", self.journal());
    }

    fn journal(&self) -> String {
        self.sh("journalctl -b -u ssh.service -u ssh.socket -n 40 --no-pager")
    }

    pub(crate) fn drop_in(&self, name: &str, text: &str) {
        self.write(&format!("{FOLDER}/{name}"), text);
    }

    pub(crate) fn main(&self, text: &str) {
        self.write(MAIN, text);
    }

    fn write(&self, path: &str, text: &str) {
        assert_eq!(self.sh(&format!("cat > {path} <<'END'\n{text}END\n")), "");
    }

    /// Everything that must be as before after a failure or a check.
    fn state(&self) -> String {
        self.sh("cd /etc/ssh && find . /run/sshd /var/lib/ferrite -printf '%p %m %u %l ' \
             -type f -exec sha256sum {} \\; 2>&1 | sort; ls -A /run | grep ferrite; \
             systemctl show -p MainPID,ActiveState,ExecMainStartTimestamp ssh.service; \
             journalctl -u ssh.service | grep -c 'Received SIGHUP'")
    }

    /// Fails alike in check mode and for real, and leaves no trace.
    pub(crate) fn refused(&self, args: &Value) -> String {
        let before = self.state();
        let check = self.module(args, true);
        assert_eq!(check["failed"], true, "{check}");
        assert_eq!(self.state(), before);
        let real = self.module(args, false);
        assert_eq!(real["failed"], true, "{real}");
        assert_eq!(self.state(), before);
        assert_eq!(real["msg"], check["msg"]);
        real["msg"].as_str().unwrap().to_owned()
    }

    /// Check, real, again, and sshd lets us in; gives the real result.
    pub(crate) fn cycle(&self, args: &Value) -> Value {
        let real = self.cycle_idle(args);
        let login = self.0.log_in("true");
        assert!(login.success(), "sshd lets us in: {login:?}");
        real
    }

    /// Check, real, again; gives the real result.
    pub(crate) fn cycle_idle(&self, args: &Value) -> Value {
        let before = self.state();
        let check = self.module(args, true);
        assert_eq!(check["changed"], true, "{check}");
        assert_eq!(self.state(), before, "check mode changes nothing");
        let real = self.module(args, false);
        assert_eq!(real["changed"], true, "{real}");
        assert_eq!(real["plan"], check["plan"], "{real} {}", self.journal());
        let after = self.state();
        let again = self.module(args, false);
        assert_eq!(again["changed"], false, "{again}");
        assert_eq!(self.state(), after, "a second run changes nothing");
        real
    }

    /// What a real sshd says is in force.
    pub(crate) fn effective(&self, keyword: &str) -> String {
        self.sh(&format!(
            "/usr/sbin/sshd -T -C user=nobody,host=h,addr=192.0.2.9 | grep '^{keyword} '"
        ))
    }
}
