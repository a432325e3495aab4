//! Tasks followed to their end.

use std::time::{Duration, Instant};

use crate::server::{Reply, Seen, Server, answer, data, refusal};
use pve_client::{Client, Error, Kind};
use pve_types::Upid;

fn upid() -> Upid {
    "UPID:pve1:0003A1B2:01C4E5F6:68E0A1B2:qmcreate:110:root@pam!full:".parse().unwrap()
}

const RUNNING: &str = r#"{"status":"running"}"#;

fn is_log(seen: &Seen) -> bool {
    seen.call().contains("/log?")
}

async fn wait(
    timeout: Duration,
    script: impl FnMut(usize, &Seen) -> Reply + Send + 'static,
) -> (Result<Vec<String>, Error>, Server) {
    let server = Server::start(&["x"], script).await;
    let client = Client::connect(&server.options()).unwrap();
    let result = client.wait(&upid(), timeout).await.map(|outcome| outcome.warnings);
    (result, server)
}

#[tokio::test]
async fn a_task_that_ends_well_is_noticed_at_once() {
    let started = Instant::now();
    let (result, server) = wait(Duration::from_secs(30), |number, _| {
        data(if number < 3 { RUNNING } else { r#"{"status":"stopped","exitstatus":"OK"}"# })
    })
    .await;
    assert_eq!(result.unwrap(), Vec::<String>::new());
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    assert_eq!(
        server.calls()[0],
        "GET /api2/json/nodes/pve1/tasks/UPID%3Apve1%3A0003A1B2%3A01C4E5F6%3A68E0A1B2%3Aqmcreate%3A110%3Aroot%40pam%21full%3A/status"
    );
}

#[tokio::test]
async fn warnings_are_those_of_the_log() {
    let (result, _) = wait(Duration::from_secs(30), |_, seen| {
        if is_log(seen) {
            data(r#"[{"n":1,"t":"creating"},{"n":2,"t":"WARN: no efidisk configured!"},{"n":3,"t":"TASK WARNINGS: 1"}]"#)
        } else {
            data(r#"{"status":"stopped","exitstatus":"WARNINGS: 1"}"#)
        }
    })
    .await;
    assert_eq!(result.unwrap(), ["no efidisk configured!"]);
}

#[tokio::test]
async fn b19_a_failed_task_is_told_at_once_with_its_words() {
    let started = Instant::now();
    let (result, _) = wait(Duration::from_secs(30), |_, seen| {
        if is_log(seen) {
            data(
                r#"[{"n":1,"t":"allocating"},{"n":2,"t":"TASK ERROR: storage 'fast' does not exist"}]"#,
            )
        } else {
            data(r#"{"status":"stopped","exitstatus":"storage 'fast' does not exist"}"#)
        }
    })
    .await;
    let error = result.unwrap_err();
    assert_eq!(error.kind(), Some(&Kind::Gone));
    assert_eq!(
        error.to_string(),
        "task qmcreate on pve1 failed: storage 'fast' does not exist; its log ends with: allocating"
    );
    assert!(started.elapsed() < Duration::from_secs(2));
}

#[tokio::test]
async fn trouble_on_the_way_is_waited_out() {
    let (result, _) = wait(Duration::from_secs(30), |number, _| match number {
        0..=3 => answer(596, "Connection timed out", ""),
        4 => Reply::Drop,
        5 => data(RUNNING),
        _ => data(r#"{"status":"stopped","exitstatus":"OK"}"#),
    })
    .await;
    result.unwrap();
    let (result, _) =
        wait(Duration::from_secs(30), |_, _| refusal(403, "Permission check failed")).await;
    assert!(matches!(result.unwrap_err(), Error::Refused(_)));
}

#[tokio::test]
async fn a_deadline_names_the_task_that_goes_on() {
    let started = Instant::now();
    let (result, _) = wait(Duration::from_secs(1), |_, seen| {
        data(if is_log(seen) { r#"[{"n":1,"t":"transferred 3 MiB"}]"# } else { RUNNING })
    })
    .await;
    let text = result.unwrap_err().to_string();
    assert_eq!(
        text,
        format!(
            "task qmcreate on pve1 still runs after 1 s; it goes on by itself ({}); its log ends \
             with: transferred 3 MiB",
            upid()
        )
    );
    assert!(started.elapsed() < Duration::from_secs(3));
}

#[tokio::test]
async fn the_end_of_a_long_log_is_read() {
    let (result, server) = wait(Duration::from_secs(30), |_, seen| {
        if seen.call().ends_with("start=0&limit=500") {
            answer(200, "OK", r#"{"data":[{"n":1,"t":"first"}],"total":1200}"#)
        } else if is_log(seen) {
            answer(200, "OK", r#"{"data":[{"n":1200,"t":"last words"}],"total":1200}"#)
        } else {
            data(r#"{"status":"stopped","exitstatus":"boom"}"#)
        }
    })
    .await;
    assert!(result.unwrap_err().to_string().ends_with("its log ends with: last words"));
    assert!(server.calls().last().unwrap().ends_with("/log?start=1192&limit=8"));
}
