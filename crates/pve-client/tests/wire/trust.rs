//! Which server is believed, and what is said when it is not.

use crate::server::{Certified, SECRET, Server, data};
use pve_client::{Client, ConnectOptions, Error, Form};

async fn version(options: &ConnectOptions) -> Result<serde_json::Value, Error> {
    Client::connect(options)?.get("/version", &Form::new()).await
}

async fn refused(options: &ConnectOptions) -> String {
    let error = version(options).await.unwrap_err();
    assert!(matches!(error, Error::NotSent { .. }), "{error:?}");
    let text = error.to_string();
    assert!(!format!("{text}{error:?}").contains(SECRET), "{text}");
    text
}

#[tokio::test]
async fn b74_a_fingerprint_trusts_one_certificate() {
    let server = Server::start(&["pve1"], |_, _| data("{}")).await;
    let right = server.options();
    version(&right).await.unwrap();
    let print = server.fingerprint.to_string();
    for same in [print.to_lowercase(), print.replace(':', "")] {
        version(&ConnectOptions { api_fingerprint: Some(same), ..right.clone() }).await.unwrap();
    }
    let digit = if print.starts_with('0') { "1" } else { "0" };
    let wrong = ConnectOptions {
        api_fingerprint: Some(format!("{digit}{}", &print[1..])),
        ..right.clone()
    };
    let seen = server.seen().len();
    let text = refused(&wrong).await;
    assert!(text.contains(&format!("offered has fingerprint {print}, not {digit}")), "{text}");
    // not checking names or issuers does not switch the fingerprint off
    let text = refused(&ConnectOptions { validate_certs: false, ..wrong }).await;
    assert!(text.contains(&print), "{text}");
    assert_eq!(server.seen().len(), seen, "a secret went to a server that is not trusted");
}

#[tokio::test]
async fn authorities_come_from_the_file_given() {
    let server = Server::start(&["127.0.0.1"], |_, _| data("{}")).await;
    let folder = tempfile::tempdir().unwrap();
    let ca_path = folder.path().join("ca.pem");
    std::fs::write(&ca_path, &server.ca_pem).unwrap();
    let options = ConnectOptions { api_fingerprint: None, ..server.options() };
    version(&ConnectOptions { ca_path: Some(ca_path), ..options.clone() }).await.unwrap();
    version(&ConnectOptions { validate_certs: false, ..options.clone() }).await.unwrap();
    let text = refused(&options).await;
    assert!(text.contains("an authority that is not trusted; set ca_path to"), "{text}");

    let missing = folder.path().join("missing.pem");
    let error =
        Client::connect(&ConnectOptions { ca_path: Some(missing.clone()), ..options.clone() });
    let text = error.unwrap_err().to_string();
    assert_eq!(text, format!("failed to read certificates from {}", missing.display()));
    std::fs::write(&missing, "no certificate").unwrap();
    let error = Client::connect(&ConnectOptions { ca_path: Some(missing), ..options });
    assert!(error.unwrap_err().to_string().contains("holds no usable certificate"));
}

#[tokio::test]
async fn a_certificate_that_is_its_own_authority_is_trusted_by_fingerprint_alone() {
    let server = Server::showing(Certified::self_signed(&["127.0.0.1"]), |_, _| data("{}")).await;
    version(&server.options()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let ca_path = folder.path().join("ca.pem");
    std::fs::write(&ca_path, &server.ca_pem).unwrap();
    let options =
        ConnectOptions { api_fingerprint: None, ca_path: Some(ca_path), ..server.options() };
    let text = refused(&options).await;
    assert!(text.contains("no ca_path can vouch for; set api_fingerprint to"), "{text}");
}

#[tokio::test]
async fn a28_another_name_is_said_with_both_remedies() {
    let server = Server::start(&["pve.localdomain", "192.0.2.10"], |_, _| data("{}")).await;
    let folder = tempfile::tempdir().unwrap();
    let ca_path = folder.path().join("ca.pem");
    std::fs::write(&ca_path, &server.ca_pem).unwrap();
    let options =
        ConnectOptions { api_fingerprint: None, ca_path: Some(ca_path), ..server.options() };
    let text = refused(&options).await;
    assert!(
        text.contains(
            "its certificate is not for '127.0.0.1' but for 'pve.localdomain', '192.0.2.10'; set \
             api_host to one of these names, or trust this certificate by api_fingerprint"
        ),
        "{text}"
    );
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn no_server_is_one_sentence() {
    let server = Server::start(&["pve1"], |_, _| data("{}")).await;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = listener.local_addr().unwrap().port();
    drop(listener);
    let host = |host: String| ConnectOptions { api_host: host, ..server.options() };
    let text = refused(&host(format!("127.0.0.1:{closed}"))).await;
    assert_eq!(text, format!("failed to reach the API at 127.0.0.1:{closed}: connection refused"));
    let text = refused(&host("no-such-host.invalid".to_owned())).await;
    assert!(text.contains("no-such-host.invalid:8006: its name is not known here"), "{text}");
}

#[tokio::test]
async fn plain_http_is_said() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut hello = [0; 64];
            let _ = stream.read(&mut hello).await;
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        }
    });
    let options = ConnectOptions {
        api_host: format!("127.0.0.1:{port}"),
        api_token_id: Some("a@pve!b".to_owned()),
        api_token_secret: Some(secret::Secret::new(SECRET)),
        ..ConnectOptions::default()
    };
    let text = refused(&options).await;
    assert!(text.ends_with("it does not speak TLS there"), "{text}");
}
