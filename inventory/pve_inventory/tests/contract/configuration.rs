//! The command line and the configuration file.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::fleet::{Fleet, config, printed, row, vars};
use crate::server::SECRET;

fn fleet() -> Fleet {
    Fleet::default()
        .row(row(100, "web"))
        .data("/nodes/pve1/qemu/100/config", config("BC:24:11:AA:BB:01"))
}

#[test]
fn host_is_empty_and_asks_nobody() {
    let fleet = fleet().start();
    let host = fleet.run(&["--host", "web"]);
    assert_eq!((host.status, host.stdout.as_str(), host.stderr.as_str()), (Some(0), "{}\n", ""));
    assert!(fleet.calls().is_empty());
}

#[test]
fn config_shows_no_words_of_a_command() {
    let fleet = fleet().start();
    for (words, shown) in [
        (format!("echo {SECRET}"), "echo ..."),
        (format!("[/bin/echo, {SECRET}]"), "/bin/echo ..."),
        (format!("X={SECRET} printenv X"), "a command ..."),
    ] {
        fleet.write("pve_inventory.cfg", &format!("token_secret_command: {words}\n"));
        // what is printed is searched for the secret
        let ran = printed(fleet.command(&["config"]).env_remove("PROXMOX_TOKEN_SECRET"));
        let line = ran.stdout.lines().find(|line| line.starts_with("token_secret_command"));
        assert!(line.is_some_and(|line| line.contains(shown)), "{ran:?}");
    }
}

#[test]
fn other_arguments_are_usage() {
    let fleet = fleet().start();
    for arguments in [&[][..], &["--nonsense"], &["--list", "--host", "x"], &["explain"]] {
        let run = fleet.run(arguments);
        assert_eq!((run.status, run.stdout.as_str()), (Some(2), ""), "{arguments:?} {run:?}");
        assert!(run.stderr.contains("Usage: pve_inventory"), "{run:?}");
    }
    let version = fleet.run(&["--version"]);
    assert_eq!(version.stdout, format!("pve_inventory {}\n", env!("CARGO_PKG_VERSION")));
    let help = fleet.run(&["--help"]);
    for word in ["--list", "show", "explain", "config", "PVE_INVENTORY_CONFIG", "PROXMOX_*"] {
        assert!(help.stdout.contains(word), "{word}: {}", help.stdout);
    }
}

#[test]
fn a30_a_file_alone_is_enough() {
    let fleet = fleet().start();
    fleet.write("conf/secret", &format!("{SECRET}\n"));
    fleet.write("conf/guests/web.yml", "kind: vm\nvmid: 100\n");
    fleet.write(
        "conf/my.cfg",
        &format!(
            "url: https://127.0.0.1:{}\nuser: ansible@pve\ntoken_id: ci\ntoken_secret_file: secret\n\
             fingerprint: {}\nguests: guests\n",
            fleet.environment()[1].1,
            fleet.fingerprint().to_lowercase()
        ),
    );
    let secret = fleet.folder().join("conf/secret");
    let run = |mode: u32| {
        std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(mode)).unwrap();
        let mut command = fleet.command(&["--list"]);
        command.env_clear().env("PVE_INVENTORY_CONFIG", "conf/my.cfg");
        printed(&mut command)
    };
    let open = run(0o644);
    assert_eq!(open.status, Some(1));
    assert!(open.stderr.contains("others can read it: chmod 600"), "{open:?}");
    let tight = run(0o600);
    assert_eq!((tight.status, tight.stderr.as_str()), (Some(0), ""), "{tight:?}");
    let authorization = format!("PVEAPIToken=ansible@pve!ci={SECRET}");
    for seen in fleet.seen() {
        assert_eq!(seen.header("authorization"), Some(authorization.as_str()));
    }
    // what the modules need to reach the same cluster, and never the secret
    let inventory: serde_json::Value = serde_json::from_str(&tight.stdout).unwrap();
    let web = vars(&inventory, "web");
    let port = &fleet.environment()[1].1;
    assert_eq!(web["pve_api_host"], format!("https://127.0.0.1:{port}"));
    assert_eq!(web["pve_api_user"], "ansible@pve");
    assert_eq!(web["pve_api_token_id"], "ci");
    let whole = std::fs::canonicalize(&secret).unwrap();
    assert_eq!(web["pve_api_token_secret_file"], whole.to_str().unwrap());
    assert_eq!(web.get("pve_api_validate_certs"), None);
}

#[test]
fn the_configuration_in_force_is_shown_with_its_origins() {
    let fleet = fleet().start();
    fleet.write("pve_inventory.cfg", "host: elsewhere\nport: 8443\nprefer: ipv6\nguests: specs\n");
    let shown = fleet.run(&["config"]);
    assert_eq!((shown.status, shown.stderr.as_str()), (Some(0), ""), "{shown:?}");
    let flat: Vec<String> =
        shown.stdout.lines().map(|l| l.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for line in [
        "host 127.0.0.1 (PROXMOX_HOST)",
        "token_id ansible@pve!ci (PROXMOX_TOKEN_ID)",
        "token_secret VALUE_SPECIFIED_IN_NO_LOG_PARAMETER (PROXMOX_TOKEN_SECRET)",
        "validate_certs true (default)",
        "address prefer ipv6 (configuration file)",
        "user not set",
    ] {
        assert!(flat.iter().any(|l| l == line), "{line}\n{}", shown.stdout);
    }
    assert!(fleet.calls().is_empty());
}

#[test]
fn a_wrong_file_is_named_with_what_is_allowed() {
    let fleet = fleet().start();
    fleet.write("pve_inventory.cfg", "hots: x\n");
    let run = fleet.run(&["--list"]);
    assert_eq!((run.status, run.stdout.as_str()), (Some(1), ""));
    assert!(
        run.stderr.contains("pve_inventory.cfg: unknown key 'hots'; allowed are url, host,"),
        "{run:?}"
    );
}

#[test]
fn networks_choose_among_addresses() {
    let interfaces = json!([{"name": "eth0", "hardware-address": "bc:24:11:aa:bb:01", "ip-addresses": [
        {"ip-address": "10.0.0.5", "ip-address-type": "ipv4", "prefix": 24},
        {"ip-address": "192.168.7.5", "ip-address-type": "ipv4", "prefix": 24},
        {"ip-address": "2001:db8::5", "ip-address-type": "ipv6", "prefix": 64},
    ]}]);
    let fleet = Fleet::default().vm(100, "web", config("BC:24:11:AA:BB:01"), interfaces).start();
    for (text, address) in [
        ("", "10.0.0.5"),
        ("networks: [192.168.0.0/16]", "192.168.7.5"),
        ("exclude_networks: [10.0.0.0/8]", "192.168.7.5"),
        ("prefer: ipv6", "2001:db8::5"),
    ] {
        fleet.write("pve_inventory.cfg", text);
        assert_eq!(vars(&fleet.list(), "web")["ansible_host"], address, "{text}");
    }
}
