//! A lab with a client that may do everything.

use std::time::{Duration, Instant};

use pve_lab::{Lab, LabConfig};
use serde_json::Value;

use crate::client::{Answer, Client};

pub(crate) struct Session {
    pub(crate) lab: Lab,
    pub(crate) client: Client,
}

impl Session {
    pub(crate) fn new(config: LabConfig) -> Self {
        let lab = Lab::start(config);
        let client = Client::new(lab.port(), lab.ca_pem());
        Self { lab, client }
    }

    pub(crate) fn headers(&self) -> Vec<(String, String)> {
        let (id, secret) = self.lab.token();
        vec![("Authorization".to_owned(), format!("PVEAPIToken={id}={secret}"))]
    }

    pub(crate) fn call(&self, method: &str, path: &str, body: &str) -> Answer {
        let body = (!body.is_empty()).then_some((body, false));
        self.client.call(method, &format!("/api2/json{path}"), &self.headers(), body)
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        self.call("GET", path, "").json()["data"].clone()
    }

    /// Carries out a call that begins a task, and returns how the task ended.
    pub(crate) fn task(&self, method: &str, path: &str, body: &str) -> String {
        let answer = self.call(method, path, body).json();
        let upid =
            answer["data"].as_str().unwrap_or_else(|| panic!("no task: {answer}")).to_owned();
        self.end_of("pve1", &upid)
    }

    /// How a task ends.
    pub(crate) fn end_of(&self, node: &str, upid: &str) -> String {
        let end = Instant::now() + Duration::from_secs(20);
        while Instant::now() < end {
            let status = self.get(&format!("/nodes/{node}/tasks/{upid}/status"));
            if status["status"] == "stopped" {
                return status["exitstatus"].as_str().unwrap().to_owned();
            }
            std::thread::yield_now();
        }
        panic!("{upid} does not end");
    }

    pub(crate) fn create(&self, vmid: u32) {
        let body = format!(
            "vmid={vmid}&name=vm{vmid}&agent=1&net0=virtio%2Cbridge%3Dvmbr0\
             &scsi0=local%3A0%2Cimport-from%3Dlocal%3Aimport%2Fdebian-13.qcow2"
        );
        assert_eq!(self.task("POST", "/nodes/pve1/qemu", &body), "OK");
    }
}
