//! A lab with machines in it.

use std::time::Duration;

use harness::Module;
use pve_client::{Client, ConnectOptions, Form};
use pve_lab::{Lab, LabConfig};
use pve_types::{NodeName, Vmid};
use secret::Secret;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

pub(crate) struct Bench {
    pub(crate) lab: Lab,
    client: Client,
    runtime: Runtime,
    node: NodeName,
}

impl AsRef<Lab> for Bench {
    fn as_ref(&self) -> &Lab {
        &self.lab
    }
}

impl Bench {
    pub(crate) fn with(config: LabConfig) -> Self {
        let lab = Lab::start(config);
        let (id, secret) = lab.token();
        let options = ConnectOptions {
            api_host: lab.url(),
            api_token_id: Some(id),
            api_token_secret: Some(Secret::new(secret)),
            api_fingerprint: Some(lab.fingerprint()),
            ..ConnectOptions::default()
        };
        Self {
            client: Client::connect(&options).unwrap(),
            runtime: Builder::new_current_thread().enable_all().build().unwrap(),
            node: "pve1".parse().unwrap(),
            lab,
        }
    }

    /// The module with the lab's connection and these options.
    pub(crate) fn module(&self, args: Value) -> Module {
        let (id, secret) = self.lab.token();
        Module::new(env!("CARGO_BIN_EXE_pve_snapshot"))
            .args(json!({
                "api_host": "127.0.0.1", "api_port": self.lab.port(),
                "api_token_id": id, "api_token_secret": secret,
                "api_fingerprint": self.lab.fingerprint(),
            }))
            .args(args)
    }

    /// Makes a machine.
    pub(crate) fn make(&self, vmid: u32, name: &str, settings: &[(&str, &str)]) {
        let disk = ("scsi0", "local:1,format=qcow2");
        let form: Form =
            [disk, ("name", name)].into_iter().chain(settings.iter().copied()).collect();
        let node = self.client.node(&self.node);
        self.runtime.block_on(async {
            let upid = node.create_qemu(Vmid::new(vmid).unwrap(), form).await.unwrap();
            self.client.wait(&upid, Duration::from_secs(20)).await.unwrap();
        });
    }

    /// Starts a machine.
    pub(crate) fn start(&self, vmid: u32) {
        let qemu = self.client.node(&self.node).qemu(Vmid::new(vmid).unwrap());
        self.runtime.block_on(async {
            let upid = qemu.start(&Form::new()).await.unwrap();
            self.client.wait(&upid, Duration::from_secs(20)).await.unwrap();
        });
    }

    /// The snapshots of a machine with what they stand on, and what the machine stands on.
    pub(crate) fn tree(&self, vmid: u32) -> Vec<String> {
        let qemu = self.client.node(&self.node).qemu(Vmid::new(vmid).unwrap());
        let mut rows: Vec<String> = self
            .runtime
            .block_on(qemu.snapshots())
            .unwrap()
            .into_iter()
            .map(|row| format!("{} on {}", row.name, row.parent.unwrap_or_else(|| "-".into())))
            .collect();
        rows.sort();
        rows
    }

    /// The calls that ask for a change.
    pub(crate) fn writes(&self) -> Vec<String> {
        let requests = self.lab.requests();
        requests
            .iter()
            .filter(|request| request.is_write())
            .map(|request| format!("{} {}", request.method, request.path))
            .collect()
    }

    /// A token of a new user with these rights.
    pub(crate) fn token(&self, privileges: &[&str]) -> Value {
        let secret = self.lab.add_token("some@pve!t", &[("/vms/101", privileges)]);
        json!({"api_token_id": "some@pve!t", "api_token_secret": secret})
    }
}
