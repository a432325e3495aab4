//! A cluster that answers what a test says, over TLS, and the inventory run against it.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::server::{Reply, SECRET, Seen, Server, answer};

/// What a path answers.
#[derive(Debug, Clone)]
enum Route {
    Data(Value),
    Refusal(u16, String),
    Silence,
}

/// A cluster to be.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fleet {
    rows: Vec<Value>,
    routes: BTreeMap<String, VecDeque<Route>>,
}

/// A running VM's row in the cluster's list.
pub(crate) fn row(vmid: u32, name: &str) -> Value {
    json!({"type": "qemu", "id": format!("qemu/{vmid}"), "vmid": vmid, "node": "pve1",
           "name": name, "status": "running", "template": 0})
}

/// A configuration with an agent and net0 at this MAC.
pub(crate) fn config(mac: &str) -> Value {
    json!({"name": "x", "agent": "1", "ostype": "l26", "net0": format!("virtio={mac},bridge=vmbr0"),
           "smbios1": "uuid=11111111-2222-3333-4444-555555555555,serial=QUJDPT0=,base64=1",
           "digest": "b9d5c7c6f1e0a2d3b4c5d6e7f8091a2b3c4d5e6f"})
}

/// An interface as the agent gives it, with one IPv4 address.
pub(crate) fn interface(name: &str, mac: &str, address: &str) -> Value {
    json!({"name": name, "hardware-address": mac, "ip-addresses":
           [{"ip-address": address, "ip-address-type": "ipv4", "prefix": 24}]})
}

impl Fleet {
    /// With this row.
    pub(crate) fn row(mut self, row: Value) -> Self {
        self.rows.push(row);
        self
    }

    /// With this data at a path; one with a query goes before the same without.
    pub(crate) fn data(self, path: &str, data: Value) -> Self {
        self.route(path, Route::Data(data))
    }

    /// With this refusal at a path.
    pub(crate) fn refusal(self, path: &str, status: u16, message: &str) -> Self {
        self.route(path, Route::Refusal(status, message.to_owned()))
    }

    /// With no answer at a path.
    pub(crate) fn silence(self, path: &str) -> Self {
        self.route(path, Route::Silence)
    }

    /// With this data at a path once it has refused with what was said before.
    pub(crate) fn then(mut self, path: &str, data: Value) -> Self {
        self.routes.entry(path.to_owned()).or_default().push_back(Route::Data(data));
        self
    }

    /// With this refusal at a path once it has answered with what was said before.
    pub(crate) fn then_refusal(mut self, path: &str, status: u16, message: &str) -> Self {
        let refusal = Route::Refusal(status, message.to_owned());
        self.routes.entry(path.to_owned()).or_default().push_back(refusal);
        self
    }

    fn route(mut self, path: &str, route: Route) -> Self {
        self.routes.insert(path.to_owned(), VecDeque::from([route]));
        self
    }

    /// With a running VM whose agent reports these interfaces.
    pub(crate) fn vm(self, vmid: u32, name: &str, config: Value, interfaces: Value) -> Self {
        self.row(row(vmid, name))
            .data(&format!("/nodes/pve1/qemu/{vmid}/config"), config)
            .data(&agent(vmid), json!({"result": interfaces}))
    }

    /// Starts it.
    pub(crate) fn start(mut self) -> Running {
        let (send, receive) = mpsc::channel();
        std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let server = Server::start(&["127.0.0.1"], move |_, seen| self.reply(seen)).await;
                send.send(server).unwrap();
                std::future::pending::<()>().await;
            });
        });
        let server = receive.recv().unwrap();
        Running { server, folder: tempfile::tempdir().unwrap() }
    }

    fn reply(&mut self, seen: &Seen) -> Reply {
        let call = seen.call();
        let path = call.strip_prefix("GET /api2/json").unwrap_or(call);
        let bare = path.split('?').next().unwrap();
        let key = if self.routes.contains_key(path) { path } else { bare };
        let route = self.routes.get_mut(key).and_then(|queue| match queue.len() {
            0 | 1 => queue.front().cloned(),
            _ => queue.pop_front(),
        });
        match route {
            Some(Route::Data(data)) => answer(200, "OK", &json!({"data": data}).to_string()),
            Some(Route::Refusal(status @ 595..=599, message)) => answer(status, &message, ""),
            Some(Route::Refusal(status, message)) => {
                let body = json!({"data": null, "message": format!("{message}\n")});
                answer(status, &message, &body.to_string())
            }
            Some(Route::Silence) => Reply::Silence(Duration::from_secs(60)),
            None if bare == "/cluster/resources" => {
                answer(200, "OK", &json!({"data": self.rows}).to_string())
            }
            None => {
                let message = format!("Method '{call}' not implemented");
                answer(501, &message, &json!({"data": null, "message": message}).to_string())
            }
        }
    }
}

/// The path of a VM's agent call.
pub(crate) fn agent(vmid: u32) -> String {
    format!("/nodes/pve1/qemu/{vmid}/agent/network-get-interfaces")
}

/// A cluster that answers.
pub(crate) struct Running {
    server: Server,
    folder: tempfile::TempDir,
}

/// What a run printed.
#[derive(Debug)]
pub(crate) struct Printed {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) status: Option<i32>,
}

impl Running {
    /// The command, with the environment that a token needs and no other.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pve_inventory"));
        command.args(arguments).env_clear().current_dir(self.folder.path());
        command.envs(self.environment());
        command
    }

    /// What the environment says about this cluster.
    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        vec![
            ("PROXMOX_HOST", "127.0.0.1".to_owned()),
            ("PROXMOX_PORT", self.server.port.to_string()),
            ("PROXMOX_TOKEN_ID", "ansible@pve!ci".to_owned()),
            ("PROXMOX_TOKEN_SECRET", format!("{SECRET}\n")),
            ("PROXMOX_FINGERPRINT", self.server.fingerprint.to_string()),
        ]
    }

    /// The authority of its certificate, as a file.
    pub(crate) fn ca(&self) -> PathBuf {
        let path = self.folder.path().join("ca.pem");
        std::fs::write(&path, &self.server.ca_pem).unwrap();
        path
    }

    /// The folder that the runs are in.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file into that folder.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Runs it.
    pub(crate) fn run(&self, arguments: &[&str]) -> Printed {
        printed(&mut self.command(arguments))
    }

    /// The inventory as JSON; the run must be a silent success.
    pub(crate) fn list(&self) -> Value {
        let printed = self.run(&["--list"]);
        assert_eq!((printed.status, printed.stderr.as_str()), (Some(0), ""), "{printed:?}");
        assert!(printed.stdout.is_ascii());
        assert_eq!(printed.stdout.lines().count(), 1);
        let inventory: Value = serde_json::from_str(&printed.stdout).unwrap();
        for (name, group) in inventory.as_object().unwrap() {
            // an empty object would become a host
            assert!(name == "_meta" || group["hosts"].is_array(), "{name}: {group}");
        }
        inventory
    }

    /// The calls it was asked, without their common beginning.
    pub(crate) fn calls(&self) -> Vec<String> {
        let calls = self.server.calls();
        calls.iter().map(|call| call.replace("GET /api2/json", "")).collect()
    }

    /// What it was asked.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.server.seen()
    }

    /// The fingerprint of its certificate.
    pub(crate) fn fingerprint(&self) -> String {
        self.server.fingerprint.to_string()
    }
}

/// Runs a command to its end.
pub(crate) fn printed(command: &mut Command) -> Printed {
    let output = command.stdin(std::process::Stdio::null()).output().unwrap();
    let printed = Printed {
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        status: output.status.code(),
    };
    assert!(!format!("{printed:?}").contains(SECRET), "a secret was printed: {printed:?}");
    printed
}

/// A host's variables.
pub(crate) fn vars<'a>(inventory: &'a Value, host: &str) -> &'a Value {
    let vars = &inventory["_meta"]["hostvars"][host];
    assert!(vars.is_object(), "no host {host} in {inventory}");
    vars
}

/// A variable's text, marked as foreign.
pub(crate) fn foreign<'a>(vars: &'a Value, name: &str) -> &'a str {
    vars[name]["__ansible_unsafe"].as_str().unwrap_or_else(|| panic!("{name} in {vars}"))
}

/// The hosts of a group.
pub(crate) fn hosts(inventory: &Value, group: &str) -> Vec<String> {
    let hosts = inventory[group]["hosts"].as_array().into_iter().flatten();
    hosts.map(|host| host.as_str().unwrap().to_owned()).collect()
}
