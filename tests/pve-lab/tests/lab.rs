//! A lab as its users meet it: requests, faults, restarts, fleets.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod client;
mod session;

use std::time::{Duration, Instant};

use pve_lab::{AgentScript, CallFault, Fleet, LabConfig, TaskFault};
use serde_json::{Value, json};
use session::Session;

fn session() -> Session {
    Session::new(LabConfig::default())
}

#[test]
fn the_state_survives_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let config = || LabConfig { dir: Some(dir.path().to_owned()), ..LabConfig::default() };
    let first = Session::new(config());
    first.create(100);
    let before =
        (first.get("/nodes/pve1/qemu/100/config"), first.lab.token(), first.lab.fingerprint());
    drop(first);
    let second = Session::new(config());
    let after =
        (second.get("/nodes/pve1/qemu/100/config"), second.lab.token(), second.lab.fingerprint());
    assert_eq!(before, after);
    let tasks = second.get("/cluster/tasks");
    assert_eq!(
        (tasks[0]["type"].as_str(), tasks[0]["status"].as_str()),
        (Some("qmcreate"), Some("OK"))
    );
}

#[test]
fn a_guest_whose_creation_died_with_the_lab_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let config = || LabConfig { dir: Some(dir.path().to_owned()), ..LabConfig::default() };
    drop(Session::new(config()));
    let folder = dir.path().join("nodes/pve1/qemu-server");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("100.conf"), "lock: create\n").unwrap();
    let session = Session::new(config());
    assert_eq!(session.get("/cluster/resources?type=vm"), json!([]));
    session.create(100);
}

#[test]
fn requests_are_logged_without_secrets() {
    let session = session();
    session.create(100);
    session.lab.clear_requests();
    session.call("PUT", "/nodes/pve1/qemu/100/config", "cipassword=hunter2&memory=256");
    session.call("GET", "/nodes/pve1/qemu/100/config", "");
    let requests = session.lab.requests();
    assert_eq!(requests.iter().filter(|request| request.is_write()).count(), 1);
    let text = format!("{requests:?}");
    assert!(text.contains("\"memory\", \"256\""), "{text}");
    assert!(!text.contains("hunter2") && !text.contains(&session.lab.token().1), "{text}");
}

#[test]
fn tasks_fail_and_warn_on_request() {
    let session = session();
    session.lab.fail_tasks("qmcreate", 1, TaskFault::Fail("no space left".into()));
    assert_eq!(
        session.task("POST", "/nodes/pve1/qemu", "vmid=100"),
        "unable to create VM 100 - no space left"
    );
    assert_eq!(session.get("/cluster/resources?type=vm"), json!([]));
    session.lab.fail_tasks("qmstart", 1, TaskFault::Warn(vec!["no hugepages".into()]));
    session.create(100);
    assert_eq!(session.task("POST", "/nodes/pve1/qemu/100/status/start", ""), "WARNINGS: 1");
    assert_eq!(session.get("/nodes/pve1/qemu/100/status/current")["status"], "running");
}

#[test]
fn calls_meet_faults_on_request() {
    let session = session();
    session.create(100);
    let put = |body: &str| session.call("PUT", "/nodes/pve1/qemu/100/config", body);
    let cores = || session.get("/nodes/pve1/qemu/100/config")["cores"].clone();

    session.lab.fail_calls("PUT", "/config", 1, CallFault::DropBefore);
    assert_eq!((put("cores=2").status, cores()), (0, Value::Null));
    session.lab.fail_calls("PUT", "/config", 1, CallFault::DropAfter);
    assert_eq!((put("cores=2").status, cores()), (0, json!(2)));
    let proxy = |done| CallFault::Proxy { status: 596, reason: "Broken pipe".into(), done };
    session.lab.fail_calls("PUT", "/config", 1, proxy(false));
    let answer = put("cores=3");
    assert_eq!(
        (answer.status, answer.reason.as_str(), answer.body.as_str()),
        (596, "Broken pipe", "")
    );
    assert_eq!(cores(), json!(2));
    session.lab.fail_calls("PUT", "/config", 1, proxy(true));
    assert_eq!((put("cores=3").status, cores()), (596, json!(3)));

    let digest = session.get("/nodes/pve1/qemu/100/config")["digest"].as_str().unwrap().to_owned();
    session.lab.fail_calls("PUT", "/config", 1, CallFault::ChangeDigest);
    let answer = put(&format!("cores=4&digest={digest}"));
    assert_eq!(answer.reason, "checksum mismatch (file change by other user?)");
}

#[test]
fn locks_are_held_on_request() {
    let session = session();
    session.create(100);
    session.lab.hold_lock(100, Duration::from_millis(800));
    let answer = session.call("PUT", "/nodes/pve1/qemu/100/config", "cores=2");
    assert_eq!(
        answer.reason,
        "can't lock file '/var/lock/qemu-server/lock-100.conf' - got timeout"
    );
    session.lab.lock_guest(100, "backup", Duration::from_secs(60));
    let put = || session.call("PUT", "/nodes/pve1/qemu/100/config", "cores=2");
    // whoever holds the file goes first
    let mut answer = put();
    while answer.reason.ends_with("got timeout") {
        answer = put();
    }
    assert_eq!(answer.reason, "VM is locked (backup)");
}

#[test]
fn a_silent_agent_is_told_from_one_that_does_not_run() {
    let session = session();
    session.create(100);
    assert_eq!(session.task("POST", "/nodes/pve1/qemu/100/status/start", ""), "OK");
    let ask = || session.call("GET", "/nodes/pve1/qemu/100/agent/network-get-interfaces", "");
    assert_eq!(ask().json()["data"]["result"][0]["name"], "lo");
    session.lab.script_agent(100, AgentScript { not_running: true, ..AgentScript::default() });
    assert_eq!(ask().reason, "QEMU guest agent is not running");
    session.lab.script_agent(100, AgentScript { timeout: true, ..AgentScript::default() });
    assert_eq!(
        ask().reason,
        "VM 100 qga command 'guest-network-get-interfaces' failed - got timeout"
    );
}

#[test]
fn a_guest_that_powers_off_is_stopped_and_what_was_pending_holds() {
    let session = session();
    session.create(100);
    assert_eq!(session.task("POST", "/nodes/pve1/qemu/100/status/start", ""), "OK");
    session.call("PUT", "/nodes/pve1/qemu/100/config", "memory=1024");
    assert_eq!(session.get("/nodes/pve1/qemu/100/config?current=1")["memory"], Value::Null);
    session.lab.power_off(100);
    assert_eq!(session.get("/nodes/pve1/qemu/100/status/current")["status"], "stopped");
    assert_eq!(session.get("/nodes/pve1/qemu/100/config?current=1")["memory"], "1024");
}

#[test]
fn the_listing_lags_behind_a_creation() {
    let session = Session::new(LabConfig { lag: Duration::from_secs(60), ..LabConfig::default() });
    session.create(100);
    assert_eq!(
        session.get("/cluster/resources?type=vm"),
        json!([{"id": "qemu/100", "type": "qemu", "node": "pve1", "vmid": 100, "status": "unknown"}])
    );
}

#[test]
fn http_is_spoken_as_pveproxy_does() {
    let session = session();
    let (id, secret) = session.lab.token();
    let token = format!("Authorization: PVEAPIToken={id}={secret}\r\n");
    let raw =
        |head: &str| session.client.raw(format!("{head}\r\n{token}Host: x\r\n\r\n").as_bytes());
    for (request, status, reason) in [
        ("PATCH /api2/json/version HTTP/1.1", 501, "method 'PATCH' not available"),
        ("GET /api2/json/nosuch HTTP/1.1", 501, "Method 'GET /nosuch' not implemented"),
        (
            "DELETE /api2/json/nodes/pve1/qemu/1 HTTP/1.1\r\nContent-Length: 1",
            501,
            "Unexpected content for method 'DELETE'",
        ),
        (
            "POST /api2/json/pools HTTP/1.1\r\nTransfer-Encoding: chunked",
            501,
            "chunked transfer encoding not supported",
        ),
    ] {
        let answer = raw(request);
        assert_eq!((answer.status, answer.reason.as_str()), (status, reason), "{request}");
    }
    let extjs = session.client.call(
        "GET",
        "/api2/extjs/nodes/pve1/qemu/9/config",
        &session.headers(),
        None,
    );
    assert_eq!((extjs.status, extjs.json()["success"].clone()), (200, json!(0)));
}

#[test]
fn a_refused_login_waits_as_long_as_it_is_told() {
    let session = Session::new(LabConfig { delays: 0.1, ..LabConfig::default() });
    let begin = Instant::now();
    let answer = session.client.call("GET", "/api2/json/version", &[], None);
    assert_eq!(
        (answer.status, answer.reason.as_str(), answer.body.as_str()),
        (401, "No ticket", "")
    );
    assert!(begin.elapsed() >= Duration::from_millis(300));
}

#[test]
fn fleets_are_the_same_from_the_same_seed() {
    let fleet = || Fleet { guests: 300, nodes: 4, hostile: true, silent: 10, ..Fleet::default() };
    let rows = |fleet: Fleet| {
        let session = Session::new(LabConfig { fleet: Some(fleet), ..LabConfig::default() });
        let mut rows = session.get("/cluster/resources?type=vm");
        for row in rows.as_array_mut().unwrap() {
            row["uptime"] = Value::Null;
        }
        let running = rows.as_array().unwrap().iter().find(|row| {
            row["type"] == "qemu" && row["status"] == "running" && row["template"] == 0
        });
        let running = running.unwrap().clone();
        let path =
            format!("/nodes/{}/qemu/{}/config", running["node"].as_str().unwrap(), running["vmid"]);
        assert_eq!(session.get(&path)["agent"], "1");
        rows
    };
    let first = rows(fleet());
    assert_eq!(first.as_array().unwrap().len(), 300);
    assert_eq!(first, rows(fleet()));
    assert_ne!(first, rows(Fleet { seed: 2, ..fleet() }));
    assert!(first.to_string().contains("localhost"));
}

#[test]
fn a_node_that_is_off_is_not_reached() {
    let session = Session::new(LabConfig {
        fleet: Some(Fleet { guests: 6, nodes: 2, ..Fleet::default() }),
        ..LabConfig::default()
    });
    session.lab.set_offline("pve2", true);
    let answer = session.call("GET", "/nodes/pve2/qemu", "");
    assert_eq!((answer.status, answer.body.as_str()), (595, ""));
    assert_eq!(session.call("GET", "/nodes/pve1/qemu", "").status, 200);
}
