//! What no recording covers: several nodes, migration, restore; and who may do what.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod client;
mod session;

use client::Answer;
use pve_lab::{Fault, LabConfig};
use serde_json::{Value, json};
use session::Session;

/// A call with another token.
fn call_as(session: &Session, token: &(&str, String), call: (&str, &str), body: &str) -> Answer {
    let header = format!("PVEAPIToken={}={}", token.0, token.1);
    let headers = [("Authorization".to_owned(), header)];
    let body = (!body.is_empty()).then_some((body, false));
    session.client.call(call.0, &format!("/api2/json{}", call.1), &headers, body)
}

fn three() -> Session {
    Session::new(LabConfig { nodes: 3, ..LabConfig::default() })
}

#[test]
fn a_machine_moves_with_its_configuration() {
    let session = three();
    let nodes = session.get("/nodes");
    assert_eq!(nodes.as_array().unwrap().len(), 3);
    session.create(100);
    for (body, text) in [
        ("target=pve1", "Parameter verification failed."),
        ("target=pve9", "no such cluster node 'pve9'"),
    ] {
        let answer = session.call("POST", "/nodes/pve1/qemu/100/migrate", body);
        assert!(answer.reason.contains(text), "{answer:?}");
    }
    assert_eq!(session.task("POST", "/nodes/pve1/qemu/100/migrate", "target=pve2"), "OK");
    let gone = session.call("GET", "/nodes/pve1/qemu/100/config", "");
    assert!(gone.reason.contains("does not exist"), "{gone:?}");
    let before = session.get("/nodes/pve2/qemu/100/config");
    assert_eq!(before["name"], "vm100");
    let start = session.call("POST", "/nodes/pve2/qemu/100/status/start", "").json();
    session.end_of("pve2", start["data"].as_str().unwrap());
    let cold = session.call("POST", "/nodes/pve2/qemu/100/migrate", "target=pve3");
    assert_eq!(cold.reason, "can't migrate running VM without --online");
    let online = |body: &str| {
        let answer = session.call("POST", "/nodes/pve2/qemu/100/migrate", body).json();
        session.end_of("pve2", answer["data"].as_str().unwrap())
    };
    assert_eq!(online("target=pve3&online=1"), "migration aborted");
    assert_eq!(online("target=pve3&online=1&with-local-disks=1"), "OK");
    let status = session.get("/nodes/pve3/qemu/100/status/current");
    assert_eq!(status["status"], "running");
    assert_eq!(session.get("/nodes/pve3/qemu/100/config"), before);
}

#[test]
fn a_backup_comes_back_as_another_machine() {
    let session = three();
    session.create(100);
    let archive = session.lab.back_up(100).replace(':', "%3A").replace('/', "%2F");
    let taken = session.call("POST", "/nodes/pve1/qemu", &format!("vmid=100&archive={archive}"));
    assert!(taken.reason.starts_with("unable to restore VM 100 - VM 100 already exists"));
    let body = format!("vmid=101&archive={archive}&unique=1");
    assert_eq!(session.task("POST", "/nodes/pve1/qemu", &body), "OK");
    let (old, new) =
        (session.get("/nodes/pve1/qemu/100/config"), session.get("/nodes/pve1/qemu/101/config"));
    assert_eq!((&new["name"], &new["smbios1"]), (&old["name"], &old["smbios1"]));
    assert_ne!(new["net0"], old["net0"]);
    assert_eq!(new["scsi0"], "local:101/vm-101-disk-0.raw,size=3G");
    let body = "vmid=102&archive=local%3Abackup%2Fvzdump-qemu-9.vma";
    let none = session.call("POST", "/nodes/pve1/qemu", body);
    assert!(none.reason.contains("does not exist"), "{none:?}");
}

#[test]
fn a_hibernated_machine_is_resumed_by_a_start() {
    let session = three();
    session.create(100);
    assert_eq!(session.task("POST", "/nodes/pve1/qemu/100/status/start", ""), "OK");
    assert_eq!(session.task("POST", "/nodes/pve1/qemu/100/status/suspend", "todisk=1"), "OK");
    assert_eq!(session.get("/nodes/pve1/qemu/100/status/current")["lock"], "suspended");
    assert_eq!(session.task("POST", "/nodes/pve1/qemu/100/status/start", ""), "OK");
    let status = session.get("/nodes/pve1/qemu/100/status/current");
    assert_eq!((&status["status"], &status["lock"]), (&json!("running"), &Value::Null));
}

#[test]
fn a_password_is_kept_as_a_hash() {
    let session = three();
    session.create(100);
    let body = "cipassword=hunter2&ide2=local%3Acloudinit";
    assert_eq!(session.call("PUT", "/nodes/pve1/qemu/100/config", body).status, 200);
    let text = session.lab.config_text(100).unwrap();
    assert!(text.contains("cipassword: $5$") && !text.contains("hunter2"), "{text}");
    assert_eq!(session.get("/nodes/pve1/qemu/100/config")["cipassword"], "**********");
    let dump = session.get("/nodes/pve1/qemu/100/cloudinit/dump?type=user");
    assert!(dump.as_str().unwrap().contains("password: $5$"), "{dump}");
}

#[test]
fn a_full_storage_takes_nothing() {
    let session = three();
    session.create(100);
    session.lab.fault(Fault::Free { storage: "local".into(), bytes: 1 << 20 });
    let full = session.call("PUT", "/nodes/pve1/qemu/100/config", "scsi1=local%3A1");
    assert!(full.reason.contains("not enough free space on storage 'local'"), "{full:?}");
}

#[test]
fn each_call_needs_its_privilege_in_the_words_of_pve() {
    let session = three();
    session.create(100);
    let nothing =
        ("none@pve!t", session.lab.add_token("none@pve!t", &[("/vms/999", &["VM.Audit"])]));
    let vm = "/nodes/pve1/qemu/100";
    for (method, path, body, reason) in [
        ("GET", "/config", "", "Permission check failed (/vms/100, VM.Audit)"),
        ("GET", "/status/current", "", "Permission check failed (/vms/100, VM.Audit)"),
        ("POST", "/status/start", "", "Permission check failed (/vms/100, VM.PowerMgmt)"),
        ("POST", "/status/shutdown", "", "Permission check failed (/vms/100, VM.PowerMgmt)"),
        ("POST", "/snapshot", "snapname=s1", "Permission check failed (/vms/100, VM.Snapshot)"),
        ("GET", "/snapshot", "", "Permission check failed (/vms/100, VM.Audit)"),
        ("POST", "/migrate", "target=pve2", "Permission check failed (/vms/100, VM.Migrate)"),
        ("POST", "/clone", "newid=200", "Permission check failed (/vms/100, VM.Clone)"),
        ("POST", "/template", "", "Permission check failed (/vms/100, VM.Allocate)"),
        (
            "PUT",
            "/resize",
            "disk=scsi0&size=9G",
            "Permission check failed (/vms/100, VM.Config.Disk)",
        ),
        ("DELETE", "", "", "Permission check failed (/vms/100, VM.Allocate)"),
    ] {
        let answer = call_as(&session, &nothing, (method, &format!("{vm}{path}")), body);
        assert_eq!((answer.status, answer.reason.as_str()), (403, reason), "{method} {path}");
    }
    // one key, one privilege
    for (privilege, body, needed) in [
        ("VM.Config.CPU", "cores=2", "memory=256"),
        ("VM.Config.Memory", "memory=256", "onboot=1"),
        ("VM.Config.Options", "onboot=1", "startup=order%3D1"),
        ("VM.Config.Options", "onboot=0", "ciuser=a"),
        ("VM.Config.Cloudinit", "ciuser=a", "vga=std"),
        ("VM.Config.HWType", "vga=std", "cores=3"),
    ] {
        let id = "some@pve!t";
        let some = (id, session.lab.add_token(id, &[("/vms/100", &[privilege])]));
        let put = |body| call_as(&session, &some, ("PUT", &format!("{vm}/config")), body);
        assert_eq!(put(body).status, 200, "{privilege}");
        let refused = put(needed);
        assert_eq!(refused.status, 403, "{privilege} is enough for {needed}");
        let place = if needed.starts_with("startup") { "/, Sys." } else { "/vms/100, VM.Config." };
        let text = format!("Permission check failed ({place}");
        assert!(refused.reason.starts_with(&text), "{refused:?}");
    }
    // a VLAN is a place of its own
    let id = "net@pve!t";
    let grants: &[(&str, &[&str])] =
        &[("/vms/100", &["VM.Config.Network"]), ("/sdn/zones/localnetwork/vmbr0/20", &["SDN.Use"])];
    let net = (id, session.lab.add_token(id, grants));
    for (tag, status) in [("%2Ctag%3D20", 200), ("%2Ctag%3D30", 403), ("", 403)] {
        let body = format!("net1=virtio%2Cbridge%3Dvmbr0{tag}");
        let answer = call_as(&session, &net, ("PUT", &format!("{vm}/config")), &body);
        assert_eq!(answer.status, status, "{body}: {answer:?}");
    }
}

#[test]
fn a_separated_token_has_what_both_have() {
    let session = three();
    session.create(100);
    session.lab.add_token("u@pve!all", &[("/vms", &["VM.Audit", "VM.PowerMgmt"])]);
    let made = session.call("POST", "/access/users/u@pve/token/sep", "privsep=1").json();
    let sep = ("u@pve!sep", made["data"]["value"].as_str().unwrap().to_owned());
    let status = |session: &Session| {
        call_as(session, &sep, ("GET", "/nodes/pve1/qemu/100/status/current"), "").status
    };
    assert_eq!(status(&session), 403);
    let grant = "path=/vms/100&tokens=u@pve!sep&roles=Administrator";
    assert_eq!(session.call("PUT", "/access/acl", grant).status, 200);
    assert_eq!(status(&session), 200);
    // what the user has not, the token has not either, whatever it was given
    let put = call_as(&session, &sep, ("PUT", "/nodes/pve1/qemu/100/config"), "cores=2");
    assert_eq!(put.status, 403, "{put:?}");
}
