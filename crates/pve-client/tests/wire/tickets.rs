//! Logging in with a password.

use crate::server::{Reply, SECRET, Server, answer, data, refusal};
use pve_client::{Client, Form, Kind, View};

const TICKET: &str = r#"{"ticket":"PVE:ansible@pve:6B0E::abc+/=","CSRFPreventionToken":"6B0E:csrf","username":"ansible@pve"}"#;

fn is_login(call: &str) -> bool {
    call == "POST /api2/json/access/ticket"
}

#[tokio::test]
async fn a_ticket_is_got_once_and_writes_carry_the_csrf_token() {
    let server = Server::start(&["x"], |_, seen| match seen.call() {
        call if is_login(call) => data(TICKET),
        call if call.starts_with("PUT") => data("null"),
        _ => data("{}"),
    })
    .await;
    let client = Client::connect(&server.password_options()).unwrap();
    let (node, vmid) = ("pve1".parse().unwrap(), pve_types::Vmid::new(100).unwrap());
    let qemu = client.node(&node).qemu(vmid);
    qemu.config(View::Current).await.unwrap();
    qemu.set_config(&Form::new().number("cores", 2_u32)).await.unwrap();
    let seen = server.seen();
    assert_eq!(seen.len(), 3);
    assert_eq!(seen[0].body, format!("username=ansible%40pve&password={SECRET}"));
    let cookie = "PVEAuthCookie=PVE%3Aansible%40pve%3A6B0E%3A%3Aabc%2B%2F%3D";
    for (index, csrf) in [(1, None), (2, Some("6B0E:csrf"))] {
        assert_eq!(seen[index].header("cookie"), Some(cookie));
        assert_eq!(seen[index].header("csrfpreventiontoken"), csrf);
        assert_eq!(seen[index].header("authorization"), None);
    }
}

#[tokio::test]
async fn b73_an_expired_ticket_is_renewed_once_and_a_token_never() {
    let server = Server::start(&["x"], |number, seen| match (number, seen.call()) {
        (_, call) if is_login(call) => data(TICKET),
        (1, _) => answer(401, "permission denied - invalid PVE ticket", ""),
        _ => data("\"100\""),
    })
    .await;
    let client = Client::connect(&server.password_options()).unwrap();
    client.next_id(None).await.unwrap();
    let logins = server.calls().iter().filter(|call| is_login(call)).count();
    assert_eq!((logins, server.seen().len()), (2, 4));

    let server = Server::start(&["x"], |_, seen| match seen.call() {
        call if is_login(call) => data(TICKET),
        _ => answer(401, "permission denied - invalid PVE ticket", ""),
    })
    .await;
    let client = Client::connect(&server.password_options()).unwrap();
    let error = client.next_id(None).await.unwrap_err();
    assert_eq!(error.kind(), Some(&Kind::Unauthorized));
    assert_eq!(server.seen().len(), 4, "one more login, one more try, and no storm");
}

#[tokio::test]
async fn who_cannot_log_in_is_told_why() {
    for (reply, kind, text) in [
        (
            refusal(401, "authentication failure"),
            Kind::Unauthorized,
            "the API does not accept user 'ansible@pve' (authentication failure)",
        ),
        (
            data(r#"{"ticket":"PVE:!tfa!%7B%22totp%22%3Atrue%7D:6B0E::abc","NeedTFA":1}"#),
            Kind::SecondFactor,
            "user 'ansible@pve' needs a second factor to log in: use an API token",
        ),
    ] {
        let mut reply = Some(reply);
        let server = Server::start(&["x"], move |_, _| reply.take().unwrap_or(Reply::Drop)).await;
        let client = Client::connect(&server.password_options()).unwrap();
        let error = client.version().await.unwrap_err();
        assert_eq!(error.kind(), Some(&kind));
        assert!(error.to_string().starts_with(text), "{error}");
        assert!(!format!("{error}{error:?}").contains(SECRET), "{error:?}");
        assert_eq!(server.seen().len(), 1);
    }
}
