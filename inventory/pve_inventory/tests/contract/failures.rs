//! When there is no inventory: exit status 1, one sentence, nothing on standard output, no secret.

use crate::fleet::{Fleet, Printed, config, printed};
use crate::server::SECRET;

/// The sentence of a failed run.
fn sentence(printed: &Printed) -> &str {
    assert_eq!((printed.status, printed.stdout.as_str()), (Some(1), ""), "{printed:?}");
    let line = printed.stderr.strip_suffix('\n').expect("a line");
    assert!(!line.contains('\n') && !line.contains(SECRET), "{line}");
    line.strip_prefix("pve_inventory: ").expect("the program's name first")
}

#[test]
fn a_wrong_token_is_one_sentence_and_one_call() {
    let fleet =
        Fleet::default().refusal("/cluster/resources", 401, "Authentication failed!").start();
    let printed = fleet.run(&["--list"]);
    assert_eq!(
        sentence(&printed),
        "the API does not accept token 'ansible@pve!ci' (Authentication failed!): check its name, \
         realm and secret, and whether it has expired"
    );
    assert_eq!(fleet.calls().len(), 1, "PVE delays every 401 by 3 s");
}

#[test]
fn b74_a_wrong_fingerprint_is_one_sentence_and_no_call() {
    let fleet = Fleet::default().start();
    let wrong = fleet.fingerprint().replace('A', "B").replace('0', "1");
    let printed = printed(fleet.command(&["--list"]).env("PROXMOX_FINGERPRINT", &wrong));
    let text = sentence(&printed);
    let offered = format!("offered has fingerprint {}, not {wrong}", fleet.fingerprint());
    assert!(text.contains(&offered), "{text}");
    assert!(text.contains("set fingerprint to the new one"), "{text}");
    assert!(fleet.calls().is_empty());
}

#[test]
fn an_unknown_authority_is_one_sentence() {
    let fleet = Fleet::default().start();
    let printed = printed(fleet.command(&["--list"]).env_remove("PROXMOX_FINGERPRINT"));
    let text = sentence(&printed);
    assert!(text.contains("an authority that is not trusted; set ca_path"), "{text}");
    assert!(text.ends_with("or fingerprint to the certificate's SHA-256 fingerprint"), "{text}");
}

#[test]
fn no_server_is_one_sentence() {
    let fleet = Fleet::default().start();
    for (host, text) in
        [("no-such-host.invalid", "no-such-host.invalid:"), ("127.0.0.2", "127.0.0.2:")]
    {
        let printed = printed(fleet.command(&["--list"]).env("PROXMOX_HOST", host));
        let sentence = sentence(&printed);
        assert!(sentence.starts_with(&format!("failed to reach the API at {text}")), "{sentence}");
    }
}

#[test]
fn missing_options_are_named() {
    let fleet = Fleet::default().start();
    for (gone, text) in [
        ("PROXMOX_HOST", "no API host is given: set host (or PROXMOX_HOST)"),
        ("PROXMOX_TOKEN_SECRET", "token 'ansible@pve!ci' has no secret"),
        ("PROXMOX_TOKEN_ID", "no credentials are given"),
    ] {
        let printed = printed(fleet.command(&["--list"]).env_remove(gone));
        assert!(sentence(&printed).contains(text), "{printed:?}");
    }
    let nonsense = printed(fleet.command(&["--list"]).env("PROXMOX_VALIDATE_CERTS", "never"));
    assert_eq!(sentence(&nonsense), "PROXMOX_VALIDATE_CERTS is 'never': say true or false");
}

#[test]
fn a_token_without_rights_is_told_so() {
    let fleet = Fleet::default().data("/access/permissions", serde_json::json!({})).start();
    let text = sentence(&fleet.run(&["--list"])).to_owned();
    assert!(
        text.starts_with(
            "token 'ansible@pve!ci' has no privileges at all and therefore sees no guest"
        ),
        "{text}"
    );
    let granted = serde_json::json!({"/vms": {"VM.Audit": 1}});
    let fleet = Fleet::default().data("/access/permissions", granted).start();
    fleet.list();
}

#[test]
fn a_token_that_may_see_no_guest_has_an_empty_inventory_that_says_so() {
    let text = "token 'ansible@pve!ci' lacks VM.Audit and therefore sees no guest: grant it \
                PVEAuditor on /vms (a token with privilege separation needs it for itself)";
    for granted in [
        serde_json::json!({"/storage": {"Datastore.Audit": 1}}),
        serde_json::json!({"/": {"VM.Audit": 0}, "/vms": {"VM.PowerMgmt": 1}}),
    ] {
        let fleet = Fleet::default().data("/access/permissions", granted).start();
        let inventory = fleet.list();
        assert_eq!(
            inventory["pve_guests"],
            serde_json::json!({"hosts": [], "vars":
                {"pve_inventory_warnings": [{"__ansible_unsafe": text}]}})
        );
        let shown = fleet.run(&["show"]);
        assert_eq!((shown.status, shown.stderr.as_str()), (Some(0), ""), "{shown:?}");
        assert!(shown.stdout.ends_with(&format!("\nwarning: {text}\n")), "{shown:?}");
        fleet.write("pve_inventory.cfg", "strict: true\n");
        assert_eq!(sentence(&fleet.run(&["--list"])), format!("strict: {text}"));
    }
    let granted = serde_json::json!({"/vms": {"VM.Audit": 1}});
    let fleet = Fleet::default().data("/access/permissions", granted).start();
    assert_eq!(fleet.list()["pve_guests"], serde_json::json!({"hosts": []}), "it is just empty");
}

#[test]
fn a27_the_environment_does_not_change_the_checks() {
    let fleet = Fleet::default().row(crate::fleet::row(100, "web"));
    let fleet = fleet.data("/nodes/pve1/qemu/100/config", config("BC:24:11:AA:BB:01")).start();
    let bundle = "/etc/ssl/certs/ca-certificates.crt";
    let with = |validate: &str, variables: &[(&str, &str)]| {
        let mut command = fleet.command(&["--list"]);
        command.env_remove("PROXMOX_FINGERPRINT").env("PROXMOX_VALIDATE_CERTS", validate);
        command.envs(variables.iter().copied());
        printed(&mut command)
    };
    let off = with("false", &[("REQUESTS_CA_BUNDLE", bundle), ("SSL_CERT_FILE", bundle)]);
    assert_eq!((off.status, off.stderr.as_str()), (Some(0), ""), "{off:?}");
    let ca = fleet.ca();
    let ca = ca.to_str().unwrap();
    for variables in [
        [("SSL_CERT_FILE", ca), ("REQUESTS_CA_BUNDLE", ca)],
        [("PYTHONHTTPSVERIFY", "0"), ("NODE_TLS_REJECT_UNAUTHORIZED", "0")],
    ] {
        assert!(sentence(&with("true", &variables)).contains("not trusted"));
    }
    let trusted = with("true", &[("PROXMOX_CA_PATH", ca)]);
    assert_eq!(trusted.status, Some(0), "{trusted:?}");
    // a proxy of the environment is not for the nodes
    let proxied = with("true", &[("PROXMOX_CA_PATH", ca), ("https_proxy", "http://127.0.0.1:9")]);
    assert_eq!(proxied.status, Some(0), "{proxied:?}");
}
