//! A guest's life through the API.

use std::time::Duration;

use pve_client::{Client, Form, Kind, View};
use pve_lab::{Lab, LabConfig, TaskFault};
use pve_types::{NodeName, Vmid};

use crate::client;

const LONG: Duration = Duration::from_secs(20);

fn node() -> NodeName {
    "pve1".parse().unwrap()
}

async fn create(client: &Client, vmid: Vmid, form: Form) {
    let upid = client.node(&node()).create_qemu(vmid, form).await.unwrap();
    client.wait(&upid, LONG).await.unwrap();
}

#[tokio::test]
async fn from_creation_to_the_end() {
    let lab = Lab::start(LabConfig::default());
    let client = client(&lab);
    let node = node();
    let vmid = client.next_id(None).await.unwrap();
    let form = Form::new()
        .text("name", "web1")
        .number("memory", 512_u32)
        .number("cores", 2_u32)
        .flag("onboot", true)
        .text("tags", "Web;a")
        .text("net0", "virtio,bridge=vmbr0")
        .text("scsi0", "local:1")
        .text("smbios1", "uuid=11111111-2222-3333-4444-555555555555")
        .text("sshkeys", "ssh-ed25519%20AAAAC3NzaC1lZDI1NTE5AAAAIEyxDP1OMEPMQY1pg0w%2BhvUKuOzTJnwg66TDxmS1AoAM%20me%40here")
        .text("description", "a; b = c & d%41 ü\nsecond");
    create(&client, vmid, form).await;
    let qemu = client.node(&node).qemu(vmid);
    let config = qemu.config(View::Current).await.unwrap();
    for (key, value) in [
        ("name", "web1"),
        ("memory", "512"),
        ("cores", "2"),
        ("onboot", "1"),
        ("tags", "a;web"),
        ("smbios1", "uuid=11111111-2222-3333-4444-555555555555"),
        (
            "sshkeys",
            "ssh-ed25519%20AAAAC3NzaC1lZDI1NTE5AAAAIEyxDP1OMEPMQY1pg0w%2BhvUKuOzTJnwg66TDxmS1AoAM%20me%40here",
        ),
        ("description", "a; b = c & d%41 ü\nsecond"),
    ] {
        assert_eq!(config.get(key), Some(value), "{key}");
    }
    let digest = config.digest().unwrap();

    qemu.set_config(&Form::new().number("cores", 4_u32).digest(Some(&digest))).await.unwrap();
    let stale = qemu.set_config(&Form::new().number("cores", 3_u32).digest(Some(&digest))).await;
    assert!(stale.as_ref().unwrap_err().is_stale(), "{stale:?}");
    let upid = qemu.resize("scsi0", "+1G", Form::new()).await.unwrap();
    client.wait(&upid, LONG).await.unwrap();
    let config = qemu.config(View::Pending).await.unwrap();
    assert_eq!(config.get("cores"), Some("4"));
    assert!(config.get("scsi0").unwrap().contains("size=2G"), "{config:?}");

    let upid = qemu.start(&Form::new()).await.unwrap();
    client.wait(&upid, LONG).await.unwrap();
    let status = qemu.status().await.unwrap();
    assert!(status.is_running() && status.pid.is_some(), "{status:?}");
    qemu.set_config(&Form::new().number("memory", 1024_u32)).await.unwrap();
    assert_eq!(qemu.config(View::Current).await.unwrap().get("memory"), Some("512"));
    assert_eq!(qemu.config(View::Pending).await.unwrap().get("memory"), Some("1024"));
    let pending = qemu.pending().await.unwrap();
    let memory = pending.iter().find(|item| item.key == "memory").unwrap();
    assert_eq!(memory.pending.as_deref(), Some("1024"));

    assert_eq!(qemu.delete(false, false).await.unwrap_err().kind(), Some(&Kind::Running));
    let upid = qemu.stop(&Form::new()).await.unwrap();
    client.wait(&upid, LONG).await.unwrap();
    let upid = qemu.delete(true, true).await.unwrap();
    client.wait(&upid, LONG).await.unwrap();
    assert!(qemu.config(View::Current).await.unwrap_err().is_gone());
    let names: Vec<_> = client.resources(Some("vm")).await.unwrap();
    assert_eq!(names, []);
}

#[tokio::test]
async fn a_task_that_fails_or_warns_says_so() {
    let lab = Lab::start(LabConfig::default());
    let client = client(&lab);
    let (node, vmid) = (node(), Vmid::new(100).unwrap());
    lab.fail_tasks("qmcreate", 1, TaskFault::Warn(vec!["something is odd".to_owned()]));
    let upid = client.node(&node).create_qemu(vmid, Form::new().text("name", "a")).await.unwrap();
    assert_eq!(client.wait(&upid, LONG).await.unwrap().warnings, ["something is odd"]);
    lab.fail_tasks("qmstart", 1, TaskFault::Fail("storage 'fast' does not exist".to_owned()));
    let upid = client.node(&node).qemu(vmid).start(&Form::new()).await.unwrap();
    let error = client.wait(&upid, LONG).await.unwrap_err();
    assert!(
        error.to_string().starts_with("task qmstart on pve1 failed: storage 'fast' does not exist"),
        "{error}"
    );
    // a missing guest is found out by the task, not by the call
    let missing = Vmid::new(999).unwrap();
    let upid = client.node(&node).qemu(missing).start(&Form::new()).await.unwrap();
    assert!(client.wait(&upid, LONG).await.unwrap_err().is_gone());
}

#[tokio::test]
async fn storages_and_rights_are_read() {
    let lab = Lab::start(LabConfig::default());
    let client = client(&lab);
    let node = node();
    let storages = client.node(&node).storages().await.unwrap();
    let local = storages
        .iter()
        .find(|s| s.storage.as_ref().is_some_and(|id| id.as_str() == "local"))
        .unwrap();
    assert!(local.active && local.holds("images"), "{local:?}");
    let id = "local".parse().unwrap();
    assert!(client.node(&node).storage(&id).status().await.unwrap().avail.is_some());
    client.node(&node).storage(&id).content(Some("import")).await.unwrap();
    assert!(!client.permissions(None).await.unwrap().is_empty());
    let networks = client.node(&node).networks().await.unwrap();
    assert!(
        networks.iter().any(|row| row.iface == "vmbr0" && row.kind == "bridge"),
        "{networks:?}"
    );
    assert!(client.version().await.unwrap().number().is_some());
    assert_eq!(client.nodes().await.unwrap()[0].node, node);
}
