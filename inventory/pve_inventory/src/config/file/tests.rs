use super::*;
use pve_types::address::Family;
use serde_json::json;

fn applied(value: Value) -> Result<Config, String> {
    let Value::Object(map) = value else { panic!("{value}") };
    let mut config = Config::empty("default".into());
    apply(&map, Path::new("/etc/x"), &mut config)?;
    Ok(config)
}

#[test]
fn paths_are_relative_to_the_file() {
    let config = applied(json!({
        "url": "https://pve1", "token_secret_file": "secret", "ca_path": "/ca.pem",
        "guests": "../guests", "validate_certs": false, "timeout": 5, "prefer": "ipv6",
        "networks": ["10.0.0.0/8"], "exclude_networks": ["10.1.0.0/16"], "net": "net1",
    }))
    .unwrap();
    let cluster = &config.clusters[0];
    assert_eq!(cluster.token_secret_file.as_ref().unwrap().value, Path::new("/etc/x/secret"));
    assert_eq!(cluster.ca_path.as_ref().unwrap().value, Path::new("/ca.pem"));
    assert_eq!(config.guests.value, Path::new("/etc/x/../guests"));
    assert!(!cluster.validate_certs.value);
    assert_eq!(config.policy.value.prefer, Family::Ipv6);
    assert_eq!(config.policy.value.exclude.len(), 1);
}

#[test]
fn an_empty_text_is_no_filter() {
    for key in ["tags", "exclude_tags", "pools", "on_nodes", "kinds", "status", "names"] {
        let config = applied(json!({key: " "})).unwrap();
        assert_eq!(config.filters.value, Filters::default(), "{key}");
    }
}

#[test]
fn a_file_that_anyone_may_change_is_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pve_inventory.cfg");
    std::fs::write(&path, "url: https://pve1").unwrap();
    for (mode, believed) in [(0o600, true), (0o644, true), (0o664, true), (0o666, false)] {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let mut config = Config::empty("default".into());
        match read(&path, &mut config) {
            Ok(()) => assert!(believed, "{mode:o}"),
            Err(error) => {
                assert!(!believed, "{mode:o}");
                let text = error.to_string();
                assert!(text.contains("can be changed by anyone"), "{text}");
                assert!(text.contains(&format!("(its mode is {mode:04o})")), "{text}");
            }
        }
    }
}

#[test]
fn several_clusters_have_credentials_of_their_own() {
    let config = applied(json!({"clusters": [
        {"name": "east", "endpoints": ["pve1", "https://pve2:8443"], "fingerprint": ["AA", "BB"],
         "token_id": "a@pve!ci", "token_secret_command": "pass show east"},
        {"name": "west", "url": "https://pve9", "user": "b@pve", "password_file": "west",
         "fingerprint": "CC"},
    ]}))
    .unwrap();
    let [east, west] = &config.clusters[..] else { panic!("{:?}", config.clusters) };
    assert_eq!(east.hosts(), ["pve1", "https://pve2:8443"]);
    assert_eq!(east.fingerprint(1).unwrap(), "BB");
    let command = &east.token_secret_command.as_ref().unwrap().value;
    assert_eq!(*command, ["/bin/sh", "-c", "pass show east"]);
    assert_eq!(
        (west.hosts(), west.fingerprint(0).unwrap().as_str()),
        (&["https://pve9".to_owned()][..], "CC")
    );
    assert_eq!(west.password_file.as_ref().unwrap().value, Path::new("/etc/x/west"));
}

#[test]
fn what_is_wrong_is_named_with_what_is_allowed() {
    for (value, text) in [
        (json!({"hots": "x"}), "unknown key 'hots'; allowed are url, host, port, user,"),
        (
            json!({"password": "x"}),
            "unknown key 'password'; a secret does not belong into this file",
        ),
        (json!({"url": "https://a", "port": 1}), "give url, or host and port"),
        (
            json!({"url": "https://a", "endpoints": ["b"]}),
            "give endpoints, or a single url or host",
        ),
        (json!({"port": 0}), "port is 0: it must be a number from 1 to 65535"),
        (json!({"port": "8006"}), "port is \"8006\": it must be a number"),
        (json!({"host": 5}), "host is 5: it must be a text"),
        (json!({"validate_certs": "maybe"}), "say true or false"),
        (json!({"concurrency": 1000}), "a number from 1 to 256"),
        (json!({"networks": ["lan"]}), "networks: \"lan\" is not a network"),
        (json!({"prefer": "ipx"}), "say ipv4 or ipv6"),
        (json!({"net": "eth0"}), "net: 'eth0' is not a NIC: net0 to net31"),
        (
            json!({"status": ["running", "Stopped"]}),
            "'Stopped' is no status: say one of running, st",
        ),
        (json!({"facts": "all"}), "facts is 'all': say slim or full"),
        (json!({"hostname": "mac"}), "hostname is 'mac': say name, name-vmid, fqdn or vmid"),
        (json!({"prefix": "a-b"}), "prefix is 'a-b': letters, digits and '_'"),
        (json!({"kinds": ["vm"]}), "kinds: 'vm' is no kind: say qemu or lxc"),
        (json!({"tags": [1]}), "tags: 1 must be a text"),
        (
            json!({"tags": "web,db"}),
            "'web,db' is no tag, which has no ',', ';' or blank: give a list",
        ),
        (json!({"exclude_tags": ["a", "b c"]}), "'b c' is no tag"),
        (json!({"tags": {}}), "tags is {}: it must be a list of texts"),
        (
            json!({"token_secret_file": "a", "token_secret_command": "b"}),
            "give token_secret_file or token_secret_command, not both",
        ),
        (json!({"clusters": []}), "clusters is a list of clusters, each with a name"),
        (json!({"clusters": [1]}), "clusters[0]: it must be a mapping"),
        (json!({"clusters": [{"url": "a"}]}), "clusters[0]: a cluster of several needs a name"),
        (json!({"clusters": [{"name": "a b"}]}), "clusters[0]: name is 'a b': letters, digits,"),
        (
            json!({"clusters": [{"name": "a"}]}),
            "clusters[0]: cluster 'a' has no url, host or endpoints",
        ),
        (
            json!({"clusters": [{"name": "a", "url": "x"}, {"name": "a", "url": "y"}]}),
            "clusters[1]: another cluster is called 'a' as well",
        ),
        (json!({"clusters": [{"nam": "a"}]}), "clusters[0]: unknown key 'nam'; allowed are url,"),
        (json!({"clusters": [{"name": "a", "url": "x"}], "user": "b@pve"}), "'user' belongs into"),
        (
            json!({"endpoints": ["a", "b", "c"], "fingerprint": ["1", "2"]}),
            "fingerprint lists 2 for 3 endpoints",
        ),
    ] {
        let error = applied(value).unwrap_err();
        assert!(error.contains(text), "{error}");
    }
}
