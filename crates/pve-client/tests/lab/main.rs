//! The client against the lab, which answers as PVE does.

#[cfg(test)]
mod guests;
#[cfg(test)]
mod refusals;

/// A client with all rights in a lab.
#[cfg(test)]
fn client(lab: &pve_lab::Lab) -> pve_client::Client {
    let (id, secret) = lab.token();
    with_token(lab, &id, &secret)
}

/// A client with this token.
#[cfg(test)]
fn with_token(lab: &pve_lab::Lab, id: &str, secret: &str) -> pve_client::Client {
    let options = pve_client::ConnectOptions {
        api_host: lab.url(),
        api_token_id: Some(id.to_owned()),
        api_token_secret: Some(secret::Secret::new(secret)),
        api_fingerprint: Some(lab.fingerprint()),
        ..pve_client::ConnectOptions::default()
    };
    pve_client::Client::connect(&options).unwrap()
}
