//! A lab with a module to try on it, and a client that is no business of the module's. For tests:
//! whatever cannot be done is a panic.

#![expect(clippy::unwrap_used, reason = "a test that cannot prepare its lab has nothing to test")]

use std::path::PathBuf;
use std::time::Duration;

use harness::Module;
use pve_client::{Client, ConnectOptions, Form, Qemu};
use pve_types::{NodeName, Upid, Vmid};
use secret::Secret;
use serde_json::{Map, Value, json};
use tokio::runtime::{Builder, Runtime};

use crate::{Lab, LabConfig};

/// A lab with a module to try on it.
pub struct Bench {
    /// The lab.
    pub lab: Lab,
    /// Speaks to the lab with its own token.
    pub client: Client,
    runtime: Runtime,
    node: NodeName,
    binary: PathBuf,
}

impl AsRef<Lab> for Bench {
    fn as_ref(&self) -> &Lab {
        &self.lab
    }
}

impl Bench {
    /// A lab as said, for the module at this path.
    pub fn with(binary: &str, config: LabConfig) -> Self {
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
            binary: binary.into(),
            lab,
        }
    }

    /// The module with the lab's connection and these options.
    pub fn module(&self, args: Value) -> Module {
        let (id, secret) = self.lab.token();
        Module::new(&self.binary)
            .args(json!({
                "api_host": "127.0.0.1", "api_port": self.lab.port(),
                "api_token_id": id, "api_token_secret": secret,
                "api_fingerprint": self.lab.fingerprint(),
            }))
            .args(args)
    }

    /// Speaks to the lab.
    pub fn with_client<T>(&self, act: impl AsyncFnOnce(Client) -> T) -> T {
        self.runtime.block_on(act(self.client.clone()))
    }

    /// Does something to a machine on the first node.
    pub fn qemu<T>(&self, vmid: u32, act: impl AsyncFnOnce(Qemu<'_>) -> T) -> T {
        self.runtime.block_on(act(self.client.node(&self.node).qemu(Vmid::new(vmid).unwrap())))
    }

    /// Does what a task does for a machine, and waits for it.
    pub fn done<E: std::fmt::Debug>(
        &self,
        vmid: u32,
        act: impl AsyncFnOnce(Qemu<'_>) -> Result<Upid, E>,
    ) {
        let upid = self.qemu(vmid, act).unwrap();
        self.runtime.block_on(self.client.wait(&upid, Duration::from_secs(20))).unwrap();
    }

    /// A call that is no business of the module's.
    pub fn post(&self, path: &str, params: &[(&str, &str)]) {
        let form: Form = params.iter().copied().collect();
        let _: Value = self.runtime.block_on(self.client.post(path, &form)).unwrap();
    }

    /// Makes a machine on the first node.
    pub fn make(&self, vmid: u32, name: &str, settings: &[(&str, &str)]) {
        let form: Form = settings.iter().copied().chain([("name", name)]).collect();
        let node = self.client.node(&self.node);
        self.runtime.block_on(async {
            let upid = node.create_qemu(Vmid::new(vmid).unwrap(), form).await.unwrap();
            self.client.wait(&upid, Duration::from_secs(20)).await.unwrap();
        });
    }

    /// Starts a machine.
    pub fn start(&self, vmid: u32) {
        self.done(vmid, async |qemu| qemu.start(&Form::new()).await);
    }

    /// The secret of the lab's own token.
    pub fn secret(&self) -> String {
        self.lab.token().1
    }

    /// A token of a new user `NAME@pve` with these privileges on a path, as options of a module.
    pub fn token(&self, name: &str, privileges: &[(&str, &[&str])]) -> Value {
        let id = format!("{name}@pve!t");
        let secret = self.lab.add_token(&id, privileges);
        json!({"api_token_id": id, "api_token_secret": secret})
    }

    /// Forgets the calls so far.
    pub fn forget(&self) {
        self.lab.clear_requests();
    }

    /// The calls since then: method and path.
    pub fn calls(&self) -> Vec<String> {
        let requests = self.lab.requests();
        requests.iter().map(|request| format!("{} {}", request.method, request.path)).collect()
    }

    /// The calls that ask for a change.
    pub fn writes(&self) -> Vec<String> {
        self.written().into_iter().map(|(call, _)| call).collect()
    }

    /// The calls that ask for a change, with their parameters.
    pub fn written(&self) -> Vec<(String, Value)> {
        let requests = self.lab.requests();
        let writes = requests.iter().filter(|request| request.is_write());
        writes
            .map(|request| {
                let params: Map<String, Value> = request
                    .params
                    .iter()
                    .map(|(key, value)| (key.clone(), value.clone().into()))
                    .collect();
                (format!("{} {}", request.method, request.path), Value::Object(params))
            })
            .collect()
    }

    /// Runs the module and kills it once the lab has seen so many requests.
    pub fn kill_after(&self, args: Value, requests: usize) {
        self.module(args).kill_when(|| self.lab.requests().len() >= requests);
    }
}
