//! A lab, and what it saw.

use harness::Module;
use pve_client::{Client, ConnectOptions, Form};
use pve_lab::{Lab, LabConfig};
use secret::Secret;
use serde_json::{Map, Value, json};

/// A lab with one node and an image, state only.
pub(crate) struct Bench {
    pub(crate) lab: Lab,
}

/// What most tests ask for.
pub(crate) fn web() -> Value {
    json!({
        "vmid": 201, "name": "web", "node": "pve1", "state": "started",
        "image": "local:import/debian-13.qcow2",
        "cores": 2, "memory": 1024, "ostype": "l26", "scsihw": "virtio-scsi-single",
        "agent": true, "onboot": true, "tags": ["web", "demo"],
        "net": {"net0": "virtio,bridge=vmbr0"},
        "scsi": {"scsi0": {"storage": "local", "size": "8G"}},
        "ciuser": "admin",
        "ipconfig": {"ipconfig0": "ip=dhcp"},
    })
}

impl Bench {
    /// A lab in which nothing takes longer than it must.
    pub(crate) fn new() -> Self {
        Self::with(LabConfig::default())
    }

    /// A lab as said.
    pub(crate) fn with(config: LabConfig) -> Self {
        Self { lab: Lab::start(config) }
    }

    /// The module with the lab's connection and these options.
    pub(crate) fn module(&self, args: Value) -> Module {
        let (id, secret) = self.lab.token();
        Module::new(env!("CARGO_BIN_EXE_pve_vm"))
            .args(json!({
                "api_host": "127.0.0.1", "api_port": self.lab.port(),
                "api_token_id": id, "api_token_secret": secret,
                "api_fingerprint": self.lab.fingerprint(),
            }))
            .args(args)
    }

    /// Speaks to the lab as its own token.
    pub(crate) fn with_client<T>(&self, act: impl AsyncFnOnce(Client) -> T) -> T {
        let (id, secret) = self.lab.token();
        let options = ConnectOptions {
            api_host: self.lab.url(),
            api_token_id: Some(id),
            api_token_secret: Some(Secret::new(secret)),
            api_fingerprint: Some(self.lab.fingerprint()),
            ..ConnectOptions::default()
        };
        let client = Client::connect(&options).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(act(client))
    }

    /// A call that is no business of the module's.
    pub(crate) fn post(&self, path: &str, params: &[(&str, &str)]) {
        let form: Form = params.iter().copied().collect();
        self.with_client(async |client| {
            let _: serde_json::Value = client.post(path, &form).await.unwrap();
        });
    }

    /// The token's secret.
    pub(crate) fn secret(&self) -> String {
        self.lab.token().1
    }

    /// Forgets the calls so far.
    pub(crate) fn forget(&self) {
        self.lab.clear_requests();
    }

    /// The calls since then: method and path.
    pub(crate) fn calls(&self) -> Vec<String> {
        let requests = self.lab.requests();
        requests.iter().map(|request| format!("{} {}", request.method, request.path)).collect()
    }

    /// The calls that ask for a change.
    pub(crate) fn writes(&self) -> Vec<String> {
        self.written().into_iter().map(|(call, _)| call).collect()
    }

    /// How many machines were made.
    pub(crate) fn creations(&self) -> usize {
        self.writes().iter().filter(|call| call.ends_with("/qemu")).count()
    }

    /// The calls that ask for a change, with their parameters.
    pub(crate) fn written(&self) -> Vec<(String, Value)> {
        let requests = self.lab.requests();
        requests
            .iter()
            .filter(|request| request.is_write())
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
}
