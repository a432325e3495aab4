//! What the server refuses, sorted by what a caller may do about it.

use std::time::Duration;

use pve_client::{Error, Form, Kind, View};
use pve_lab::{CallFault, Lab, LabConfig, Start};
use pve_types::{NodeName, Vmid};

use crate::{client, with_token};

fn node() -> NodeName {
    "pve1".parse().unwrap()
}

async fn guest(lab: &Lab, vmid: u32) -> (pve_client::Client, Vmid) {
    let client = client(lab);
    let vmid = Vmid::new(vmid).unwrap();
    let form = Form::new().text("name", "a").text("net0", "virtio,bridge=vmbr0");
    let upid = client.node(&node()).create_qemu(vmid, form).await.unwrap();
    client.wait(&upid, Duration::from_secs(20)).await.unwrap();
    (client, vmid)
}

#[tokio::test]
async fn kinds_are_recognised() {
    let lab = Lab::start(LabConfig::default());
    let (client, vmid) = guest(&lab, 100).await;
    let node = node();
    let qemu = client.node(&node).qemu(vmid);
    let kind = |error: Error| error.kind().cloned().unwrap_or_else(|| panic!("{error:?}"));

    let exists = client.node(&node).create_qemu(vmid, Form::new()).await.unwrap_err();
    assert_eq!(kind(exists), Kind::Exists);
    assert_eq!(kind(client.next_id(Some(vmid)).await.unwrap_err()), Kind::Exists);
    let missing = client.node(&node).qemu(Vmid::new(999).unwrap());
    assert_eq!(kind(missing.config(View::Current).await.unwrap_err()), Kind::Gone);
    let storage = "nosuch".parse().unwrap();
    let status = client.node(&node).storage(&storage).content(None).await;
    assert_eq!(kind(status.unwrap_err()), Kind::Gone);
    assert_eq!(kind(qemu.reboot(&Form::new()).await.unwrap_err()), Kind::NotRunning);
    let root = qemu.set_config(&Form::new().text("args", "-cpu host")).await.unwrap_err();
    assert_eq!(kind(root), Kind::RootOnly);
    let agent = qemu.agent().network_interfaces().await.unwrap_err();
    assert_eq!(kind(agent), Kind::AgentNotConfigured);

    lab.lock_guest(100, "backup", Duration::from_secs(20));
    let locked = qemu.set_config(&Form::new().number("cores", 2_u32)).await.unwrap_err();
    assert_eq!(locked.to_string(), "VM is locked (backup)");
    assert_eq!(kind(locked), Kind::Locked("backup".to_owned()));
}

#[tokio::test]
async fn every_wrong_parameter_is_named_at_once() {
    let lab = Lab::start(LabConfig::default());
    let (client, vmid) = guest(&lab, 100).await;
    let node = node();
    let form = Form::new().text("onboot", "yes").text("memory", "lots").text("bogus", "1");
    let error = client.node(&node).qemu(vmid).set_config(&form).await.unwrap_err();
    assert_eq!(error.kind(), Some(&Kind::Parameter));
    let text = error.to_string();
    for part in [
        "onboot: type check ('boolean') failed - got 'yes'",
        "memory: invalid format",
        "bogus: property is not defined in schema",
    ] {
        assert!(text.contains(part), "{text}");
    }
}

#[tokio::test]
async fn a_wrong_secret_is_refused_once() {
    let lab = Lab::start(LabConfig::default());
    let (id, _) = lab.token();
    let wrong = with_token(&lab, &id, "00000000-0000-0000-0000-000000000000");
    let error = wrong.version().await.unwrap_err();
    assert_eq!(error.kind(), Some(&Kind::Unauthorized), "{error:?}");
    let refused = lab.requests().iter().filter(|request| request.status == 401).count();
    assert_eq!((refused, lab.requests().len()), (1, 1), "no retry storm");
}

#[tokio::test]
async fn missing_rights_are_named_with_their_place() {
    let lab = Lab::start(LabConfig { start: Start::Recordings, ..LabConfig::default() });
    let (full, vmid) = guest(&lab, 777).await;
    // the tokens that the recordings were made with: an auditor, and one with nothing granted
    let secret = |last: &str| format!("00000000-0000-4000-8000-00000000{last}");
    let auditor = with_token(&lab, "viewer@pve!ro", &secret("0002"));
    let nobody = with_token(&lab, "root@pam!nopriv", &secret("0001"));
    let node = node();
    auditor.node(&node).qemu(vmid).config(View::Current).await.unwrap();
    let refused = auditor.node(&node).qemu(vmid).start(&Form::new()).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "token 'viewer@pve!ro' lacks VM.PowerMgmt on /vms/777: grant it there; a token with \
         privilege separation needs it for itself as well"
    );
    // who may see nothing is told of nothing, and not refused
    assert_eq!(nobody.resources(Some("vm")).await.unwrap(), []);
    assert!(nobody.permissions(None).await.unwrap().is_empty());
    assert!(!full.permissions(None).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_write_that_was_done_and_not_answered_is_not_repeated() {
    let lab = Lab::start(LabConfig::default());
    let (client, vmid) = guest(&lab, 100).await;
    let node = node();
    let qemu = client.node(&node).qemu(vmid);
    for fault in [
        CallFault::DropAfter,
        CallFault::Proxy { status: 596, reason: "Broken pipe".to_owned(), done: true },
    ] {
        lab.clear_requests();
        lab.fail_calls("PUT", "/config", 1, fault);
        let error = qemu.set_config(&Form::new().number("cores", 4_u32)).await.unwrap_err();
        assert!(matches!(error, Error::MaybeSent { .. }), "{error:?}");
        let writes = lab.requests().iter().filter(|request| request.is_write()).count();
        assert_eq!(writes, 1);
        assert_eq!(qemu.config(View::Current).await.unwrap().get("cores"), Some("4"));
        qemu.set_config(&Form::new().number("cores", 1_u32)).await.unwrap();
    }
    lab.fail_calls("GET", "/config", 1, CallFault::DropBefore);
    assert_eq!(qemu.config(View::Current).await.unwrap().get("cores"), Some("1"));
}
