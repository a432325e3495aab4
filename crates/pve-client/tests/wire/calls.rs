//! What goes over the wire, and what is made of what comes back.

use std::io::Write;
use std::time::{Duration, Instant};

use crate::server::{Reply, SECRET, Server, answer, data, refusal};
use pve_client::{Client, ConnectOptions, Error, Form, Kind, View};
use pve_types::{NodeName, Vmid};

fn node() -> NodeName {
    "pve1".parse().unwrap()
}

fn vmid() -> Vmid {
    Vmid::new(100).unwrap()
}

const UPID: &str = "\"UPID:pve1:0003A1B2:01C4E5F6:68E0A1B2:qmdestroy:100:ansible@pve!ci:\"";

#[tokio::test]
async fn a30_the_header_is_the_same_however_the_token_is_written() {
    let server = Server::start(&["x"], |_, _| data("{}")).await;
    for (user, token, secret) in [
        (Some("ansible@pve"), "ci", format!("{SECRET}\n")),
        (None, "ansible@pve!ci", SECRET.to_owned()),
    ] {
        let options = ConnectOptions {
            api_user: user.map(str::to_owned),
            api_token_id: Some(token.to_owned()),
            api_token_secret: Some(secret::Secret::new(secret)),
            ..server.options()
        };
        let client = Client::connect(&options).unwrap();
        let _: serde_json::Value = client.get("/version", &Form::new()).await.unwrap();
    }
    for seen in server.seen() {
        let expected = format!("PVEAPIToken=ansible@pve!ci={SECRET}");
        assert_eq!(seen.header("authorization"), Some(expected.as_str()));
    }
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn requests_are_what_pveproxy_takes() {
    let server =
        Server::start(
            &["x"],
            |_, seen| {
                if seen.call().starts_with("GET") { data("{}") } else { data(UPID) }
            },
        )
        .await;
    let client = Client::connect(&server.options()).unwrap();
    let (node, vmid) = (node(), vmid());
    let qemu = client.node(&node).qemu(vmid);
    qemu.config(View::Current).await.unwrap();
    qemu.start(&Form::new()).await.unwrap();
    let form = Form::new().text("tags", "a;b").text("smbios1", "uuid=1").flag("onboot", true);
    client.node(&node).create_qemu(vmid, form).await.unwrap();
    qemu.delete(true, false).await.unwrap();
    let seen = server.seen();
    let body = "tags=a%3Bb&smbios1=uuid%3D1&onboot=1&vmid=100";
    let length = body.len().to_string();
    let base = "/api2/json/nodes/pve1/qemu";
    for (seen, (call, length, body)) in seen.iter().zip([
        (format!("GET {base}/100/config?current=1"), None, ""),
        (format!("POST {base}/100/status/start"), Some("0"), ""),
        (format!("POST {base}"), Some(length.as_str()), body),
        (format!("DELETE {base}/100?purge=1&destroy-unreferenced-disks=0"), None, ""),
    ]) {
        assert_eq!((seen.call(), seen.body.as_str()), (call.as_str(), body));
        assert_eq!(seen.header("content-length"), length, "{call}");
    }
    assert_eq!(seen.len(), 4);
    for seen in &seen {
        assert_eq!(seen.header("transfer-encoding"), None);
        assert_eq!(seen.connection, 0, "the connection is reused");
    }
}

#[tokio::test]
async fn a_dropped_read_is_repeated_and_a_dropped_write_never() {
    let server = Server::start(&["x"], |number, _| match number {
        0 | 1 | 3 => Reply::Drop,
        _ => data("{\"cores\":2}"),
    })
    .await;
    let client = Client::connect(&server.options()).unwrap();
    let (node, vmid) = (node(), vmid());
    let qemu = client.node(&node).qemu(vmid);
    assert_eq!(qemu.config(View::Current).await.unwrap().get("cores"), Some("2"));
    assert_eq!(server.seen().len(), 3);
    let error = qemu.set_config(&Form::new().number("cores", 4_u32)).await.unwrap_err();
    assert!(matches!(error, Error::MaybeSent { .. }), "{error:?}");
    let text = error.to_string();
    assert!(
        text.starts_with("the outcome of PUT /nodes/pve1/qemu/100/config is not known: "),
        "{text}"
    );
    assert_eq!(server.seen().len(), 4);
}

#[tokio::test]
async fn b21_the_proxy_giving_up_is_not_a_refusal() {
    let server = Server::start(&["x"], |_, _| answer(596, "Broken pipe", "")).await;
    let client = Client::connect(&server.options()).unwrap();
    let (node, vmid) = (node(), vmid());
    let qemu = client.node(&node).qemu(vmid);
    let error = qemu.resize("scsi0", "10G", Form::new()).await.unwrap_err();
    match &error {
        Error::MaybeSent { status: Some(596), reason, .. } => {
            assert_eq!(reason, "the cluster's proxy gave up (596 Broken pipe)");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(server.calls().len(), 1, "a write is not repeated");
}

#[tokio::test]
async fn a_wrong_token_is_asked_once() {
    let server = Server::start(&["x"], |_, _| answer(401, "Authentication failed!", "")).await;
    let client = Client::connect(&server.options()).unwrap();
    let error = client.version().await.unwrap_err();
    assert_eq!(error.kind(), Some(&Kind::Unauthorized));
    let text = error.to_string();
    assert!(
        text.starts_with("the API does not accept token 'ansible@pve!ci' (Authentication failed!)"),
        "{text}"
    );
    assert!(!format!("{error:?}{client:?}").contains(SECRET));
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn answers_of_every_shape_are_understood() {
    let errors = r#"{"data":null,"message":"Parameter verification failed.\n","errors":{"onboot":"type check ('boolean') failed - got 'yes'\n","vmid":"bad"}}"#;
    for (reply, text, refused) in [
        (
            answer(400, "Parameter verification failed.", errors),
            "onboot: type check ('boolean') failed - got 'yes'; vmid: bad",
            true,
        ),
        (
            refusal(500, "Configuration file 'nodes/pve1/qemu-server/100.conf' does not exist"),
            "Configuration file 'nodes/pve1/qemu-server/100.conf' does not exist",
            true,
        ),
        (
            refusal(403, "Permission check failed (/vms/100, VM.Audit)"),
            "token 'ansible@pve!ci' lacks VM.Audit on /vms/100: grant it there",
            true,
        ),
        (answer(403, "Permission check failed (/vms/100, VM.Audit)", ""), "lacks VM.Audit on", true),
        (
            answer(501, "Unexpected content for method 'DELETE'", "Unexpected content\n"),
            "Unexpected content for method 'DELETE' (GET /nodes/pve1/qemu/100/config)",
            true,
        ),
        (answer(500, "", ""), "Internal Server Error", true),
        (answer(200, "OK", "<html>a login page</html>"), "it is no JSON; is this the PVE API?", false),
        (answer(200, "OK", "{\"data\":{\"name"), "it was cut off after 14 bytes; try again", false),
        (answer(200, "OK", "{}"), "it has no data; is this the PVE API?", false),
        (data("[1]"), "the answer to GET /nodes/pve1/qemu/100/config is not as expected", false),
        (
            Reply::Bytes(
                b"HTTP/1.1 301 Moved\r\nLocation: https://evil.example/\r\nContent-Length: 0\r\n\r\n"
                    .to_vec(),
            ),
            "it redirects to https://evil.example/; set api_host to where the API itself is",
            false,
        ),
    ] {
        let mut reply = Some(reply);
        let server = Server::start(&["x"], move |_, _| reply.take().unwrap_or(Reply::Drop)).await;
        let client = Client::connect(&server.options()).unwrap();
        let (node, vmid) = (node(), vmid());
        let error = client.node(&node).qemu(vmid).config(View::Current).await.unwrap_err();
        assert!(error.to_string().contains(text), "{error}");
        assert_eq!(matches!(error, Error::Refused(_)), refused, "{error:?}");
        assert_eq!(server.seen().len(), 1, "{text}");
    }
}

#[tokio::test]
async fn an_agent_that_is_answered_for_with_nothing_says_nothing() {
    for body in ["null", "{}", "{\"result\":null}"] {
        let server = Server::start(&["x"], move |_, _| data(body)).await;
        let client = Client::connect(&server.options()).unwrap();
        let (node, vmid) = (node(), vmid());
        let agent = client.node(&node).qemu(vmid).agent();
        assert!(agent.network_interfaces().await.unwrap().is_null(), "{body}");
    }
}

#[tokio::test]
async fn compressed_answers_are_read() {
    let server = Server::start(&["x"], |_, seen| {
        assert!(seen.header("accept-encoding").unwrap().contains("gzip"));
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(b"{\"data\":{\"version\":\"9.2.11\",\"release\":\"9.2\"}}").unwrap();
        let body = encoder.finish().unwrap();
        let mut bytes = format!(
            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
            body.len()
        )
        .into_bytes();
        bytes.extend(body);
        Reply::Bytes(bytes)
    })
    .await;
    let client = Client::connect(&server.options()).unwrap();
    assert_eq!(client.version().await.unwrap().number().unwrap()[0], 9);
}

#[tokio::test]
async fn a_server_that_closes_idle_connections_costs_nothing() {
    // pveproxy closes after its 100th request and after some seconds of silence
    let server = Server::start(&["x"], |number, _| {
        let close = if number % 2 == 1 { "Connection: close\r\n" } else { "" };
        Reply::Bytes(
            format!("HTTP/1.1 200 OK\r\n{close}Content-Length: 18\r\n\r\n{{\"data\":\"100\"}}    ")
                .into_bytes(),
        )
    })
    .await;
    let client = Client::connect(&server.options()).unwrap();
    for _ in 0..6 {
        assert_eq!(client.next_id(None).await.unwrap(), vmid());
    }
    assert_eq!(server.seen().last().unwrap().connection, 2);
}

#[tokio::test]
async fn no_answer_in_time_is_said_with_the_option() {
    let server = Server::start(&["x"], |_, _| Reply::Silence(Duration::from_secs(30))).await;
    let options = ConnectOptions { api_timeout: 1, ..server.options() };
    let client = Client::connect(&options).unwrap();
    let started = Instant::now();
    let error = client.version().await.unwrap_err();
    assert!(error.to_string().ends_with("no answer within 1 s (api_timeout)"), "{error}");
    assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
}
