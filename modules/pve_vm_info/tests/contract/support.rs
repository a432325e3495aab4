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
        Module::new(env!("CARGO_BIN_EXE_pve_vm_info"))
            .args(json!({
                "api_host": "127.0.0.1", "api_port": self.lab.port(),
                "api_token_id": id, "api_token_secret": secret,
                "api_fingerprint": self.lab.fingerprint(),
            }))
            .args(args)
    }

    /// Makes a machine.
    pub(crate) fn make(&self, vmid: u32, name: &str, settings: &[(&str, &str)]) {
        let form: Form = settings.iter().copied().chain([("name", name)]).collect();
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

    /// Changes settings.
    pub(crate) fn set(&self, vmid: u32, settings: &[(&str, &str)]) {
        let form: Form = settings.iter().copied().collect();
        let qemu = self.client.node(&self.node).qemu(Vmid::new(vmid).unwrap());
        self.runtime.block_on(qemu.set_config(&form)).unwrap();
    }

    /// Makes a snapshot.
    pub(crate) fn snapshot(&self, vmid: u32, name: &str, description: &str) {
        let qemu = self.client.node(&self.node).qemu(Vmid::new(vmid).unwrap());
        let form = Form::new().text("description", description);
        self.runtime.block_on(async {
            let upid = qemu.create_snapshot(name, form).await.unwrap();
            self.client.wait(&upid, Duration::from_secs(20)).await.unwrap();
        });
    }

    /// A token of a new user without any rights.
    pub(crate) fn token(&self, name: &str) -> Value {
        let secret = self.lab.add_token(&format!("{name}@pve!t"), &[]);
        json!({"api_token_id": format!("{name}@pve!t"), "api_token_secret": secret})
    }
}
