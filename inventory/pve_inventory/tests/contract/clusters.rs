//! Several clusters in one run, several endpoints of one, and every way to log in.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::fleet::{
    Fleet, Printed, Running, agent, config, foreign, hosts, interface, printed, vars,
};
use crate::server::SECRET;

const MAC: &str = "BC:24:11:AA:BB:01";
const LOW: &str = "bc:24:11:aa:bb:01";

fn web(address: &str) -> Fleet {
    Fleet::default().vm(100, "web", config(MAC), json!([interface("eth0", LOW, address)]))
}

/// An entry of `clusters`, in JSON, which is YAML.
fn entry(name: &str, fleet: &Running) -> Value {
    json!({"name": name, "endpoints": [endpoint(fleet)], "fingerprint": fleet.fingerprint(),
           "token_id": "ansible@pve!ci", "token_secret_command": format!("echo {SECRET}")})
}

fn endpoint(fleet: &Running) -> String {
    format!("127.0.0.1:{}", fleet.environment()[1].1)
}

/// A run with this configuration file and nothing in the environment.
fn run(home: &Running, content: &Value, arguments: &[&str]) -> Printed {
    home.write("pve_inventory.cfg", &content.to_string());
    let mut command = home.command(arguments);
    printed(command.env_clear().env("PATH", "/usr/bin:/bin"))
}

fn listed(run: &Printed) -> Value {
    assert_eq!((run.status, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    serde_json::from_str(&run.stdout).unwrap()
}

/// A port that nobody listens on.
fn closed() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

#[test]
fn two_clusters_are_one_inventory() {
    let (east, west) = (web("10.0.0.5").start(), web("10.9.0.5").start());
    east.write("guests/web.yml", "kind: vm\ncluster: west\nvmid: 100\n");
    east.write("guests/new.yml", "kind: vm\ncluster: west\nvmid: 300\n");
    let content =
        json!({"guests": "guests", "clusters": [entry("east", &east), entry("west", &west)]});
    let inventory = listed(&run(&east, &content, &["--list"]));
    assert_eq!(hosts(&inventory, "pve_guests"), ["web", "web-100"]);
    let (of_west, of_east) = (vars(&inventory, "web"), vars(&inventory, "web-100"));
    assert_eq!(
        (&of_east["pve_cluster"], &of_east["ansible_host"]),
        (&json!("east"), &json!("10.0.0.5"))
    );
    assert_eq!(
        (&of_west["pve_cluster"], &of_west["ansible_host"]),
        (&json!("west"), &json!("10.9.0.5"))
    );
    assert_eq!(hosts(&inventory, "pve_cluster_west"), ["web"]);
    for host in ["web", "new"] {
        assert_eq!(vars(&inventory, host)["pve_api_host"], endpoint(&west), "{host}");
        assert_eq!(vars(&inventory, host)["pve_cluster"], "west", "{host}");
    }
}

#[test]
fn a_cluster_that_fails_leaves_the_other_unless_strict() {
    let east = web("10.0.0.5").start();
    let mut lost = entry("west", &east);
    lost["endpoints"] = json!([closed()]);
    let mut content = json!({"clusters": [entry("east", &east), lost]});
    let inventory = listed(&run(&east, &content, &["--list"]));
    assert_eq!(hosts(&inventory, "pve_guests"), ["web"]);
    let said = inventory["pve_guests"]["vars"]["pve_inventory_warnings"][0].clone();
    let said = said["__ansible_unsafe"].as_str().unwrap().to_owned();
    assert!(said.starts_with("cluster 'west': failed to reach the API at 127.0.0.1:"), "{said}");
    let shown = run(&east, &content, &["show"]).stdout;
    assert!(shown.contains("warning: cluster 'west': failed to reach"), "{shown}");
    content["strict"] = true.into();
    let strict = run(&east, &content, &["--list"]);
    assert_eq!((strict.status, strict.stdout.as_str()), (Some(1), ""), "{strict:?}");
    assert_eq!(strict.stderr, format!("pve_inventory: {said}\n"));
    // all of them is a failure, strict or not
    content["strict"] = false.into();
    content["clusters"][0]["endpoints"] = json!([closed()]);
    let all = run(&east, &content, &["--list"]);
    assert_eq!((all.status, all.stdout.as_str(), all.stderr.lines().count()), (Some(1), "", 1));
    assert!(
        all.stderr.contains("cluster 'east': ") && all.stderr.contains("; cluster 'west': "),
        "{all:?}"
    );
}

#[test]
fn strict_accepts_no_guest_that_could_not_be_read() {
    let fleet = web("10.0.0.5")
        .vm(101, "db", config(MAC), json!([]))
        .refusal(&agent(101), 403, "Permission check failed (/vms/101, VM.GuestAgent.Audit)")
        .start();
    fleet.list();
    fleet.write("pve_inventory.cfg", "strict: true\n");
    let strict = fleet.run(&["--list"]);
    assert_eq!((strict.status, strict.stdout.as_str()), (Some(1), ""), "{strict:?}");
    assert!(strict.stderr.starts_with("pve_inventory: strict: vm 101: token"), "{strict:?}");
    // a guest that says nothing of itself was read as far as there is something to read
    let silent = web("10.0.0.5")
        .vm(101, "db", config(MAC), json!([]))
        .refusal(&agent(101), 500, "QEMU guest agent is not running")
        .start();
    silent.write("pve_inventory.cfg", "strict: true\n");
    assert_eq!(hosts(&silent.list(), "pve_address_missing"), ["db"]);
}

#[test]
fn a_dead_node_is_passed_over() {
    let fleet = web("10.0.0.5").start();
    // one that refuses, and one that takes connections and never says a word
    let mute = TcpListener::bind("127.0.0.1:0").unwrap();
    let mute = mute.local_addr().map(|address| (mute, address.to_string())).unwrap();
    fleet.write("guests/web.yml", "kind: vm\n");
    for dead in [closed(), mute.1.clone()] {
        for order in [[dead.clone(), endpoint(&fleet)], [endpoint(&fleet), dead]] {
            let mut cluster = entry("east", &fleet);
            cluster["endpoints"] = json!(order);
            let content = json!({"guests": "guests", "clusters": [cluster]});
            let started = Instant::now();
            let inventory = listed(&run(&fleet, &content, &["--list"]));
            assert!(started.elapsed() < Duration::from_secs(8), "{:?}", started.elapsed());
            let web = vars(&inventory, "web");
            assert_eq!(web["ansible_host"], "10.0.0.5", "{order:?}");
            assert_eq!(
                web["pve_api_host"],
                endpoint(&fleet),
                "modules are sent to one that answers"
            );
        }
    }
}

#[test]
fn no_endpoint_is_one_sentence_that_names_them() {
    let fleet = web("10.0.0.5").start();
    let dead = [closed(), closed()];
    let mut cluster = entry("east", &fleet);
    cluster["endpoints"] = json!(dead);
    let failed = run(&fleet, &json!({"clusters": [cluster]}), &["--list"]);
    assert_eq!((failed.status, failed.stderr.lines().count()), (Some(1), 1), "{failed:?}");
    for endpoint in dead {
        assert!(failed.stderr.contains(&endpoint), "{failed:?}");
    }
}

#[test]
fn calls_are_spread_over_the_endpoints() {
    let many = || {
        let mut fleet = Fleet::default();
        for vmid in 100..140 {
            fleet = fleet.vm(vmid, &format!("g{vmid}"), config(MAC), json!([]));
        }
        fleet.start()
    };
    let (one, other) = (many(), many());
    let mut cluster = entry("east", &one);
    cluster["endpoints"] = json!([endpoint(&one), endpoint(&other)]);
    cluster["fingerprint"] = json!([one.fingerprint(), other.fingerprint()]);
    let inventory = listed(&run(&one, &json!({"clusters": [cluster]}), &["--list"]));
    assert_eq!(hosts(&inventory, "pve_guests").len(), 40);
    let (first, second) = (one.calls().len(), other.calls().len());
    assert_eq!(first + second, 81, "one list, and two calls for each guest");
    assert!(first > 20 && second > 20, "{first} {second}");
}

#[test]
fn a_secret_may_be_what_a_command_prints() {
    let fleet = web("10.0.0.5").start();
    let mut cluster = entry("east", &fleet);
    listed(&run(&fleet, &json!({"clusters": [cluster]}), &["--list"]));
    let authorization = format!("PVEAPIToken=ansible@pve!ci={SECRET}");
    assert_eq!(fleet.seen()[0].header("authorization"), Some(authorization.as_str()));
    cluster["token_secret_command"] =
        json!(["/bin/sh", "-c", format!("echo {SECRET} >&2; exit 4")]);
    let calls = fleet.calls().len();
    let failed = run(&fleet, &json!({"clusters": [cluster]}), &["--list"]);
    assert_eq!(failed.status, Some(1));
    assert!(failed.stderr.contains("ended with exit status: 4"), "{failed:?}");
    assert_eq!(fleet.calls().len(), calls, "nobody is asked without the secret");
    // what is in force is shown without running it
    cluster["token_secret_command"] = "touch ran".into();
    let shown = run(&fleet, &json!({"clusters": [cluster]}), &["config"]);
    assert!(shown.stdout.contains("touch ..."), "{shown:?}");
    assert!(!fleet.folder().join("ran").exists());
}

#[test]
fn a_password_is_as_good_as_a_token() {
    let login = "POST /api2/json/access/ticket";
    let ticket = json!({"ticket": "PVE:a@pve:1::x", "CSRFPreventionToken": "1:y"});
    let fleet = web("10.0.0.5").data(login, ticket).start();
    let cluster = json!({"url": format!("https://{}", endpoint(&fleet)), "user": "a@pve",
                         "fingerprint": fleet.fingerprint(), "password_command": format!("echo {SECRET}")});
    let inventory = listed(&run(&fleet, &cluster, &["--list"]));
    assert_eq!(vars(&inventory, "web")["ansible_host"], "10.0.0.5");
    let logins = fleet.calls().iter().filter(|call| *call == login).count();
    assert_eq!(logins, 1, "one login for all calls");
    // in the ways that it can be refused, each a sentence
    let second = json!({"ticket": "PVE:!tfa!%7B%22totp%22%3Atrue%7D:1::x", "NeedTFA": 1});
    for (fleet, user, text) in [
        (
            web("10.0.0.5").refusal(login, 401, "authentication failure"),
            "a@nowhere",
            "the API does not accept user 'a@nowhere' (authentication failure): check its name, realm",
        ),
        (
            web("10.0.0.5").data(login, second),
            "a@pve",
            "user 'a@pve' needs a second factor to log in",
        ),
        (
            web("10.0.0.5"),
            "a",
            "user 'a' has no realm: write it as user@realm, for example a@pam or a@pve",
        ),
    ] {
        let fleet = fleet.start();
        let mut content = cluster.clone();
        content["url"] = format!("https://{}", endpoint(&fleet)).into();
        content["fingerprint"] = fleet.fingerprint().into();
        content["user"] = user.into();
        let failed = run(&fleet, &content, &["--list"]);
        assert_eq!((failed.status, failed.stdout.as_str()), (Some(1), ""), "{failed:?}");
        assert!(failed.stderr.starts_with(&format!("pve_inventory: {text}")), "{failed:?}");
        assert_eq!(failed.stderr.lines().count(), 1);
        assert!(fleet.calls().len() <= 1, "{:?}", fleet.calls());
    }
}

#[test]
fn a_node_that_does_not_answer_is_asked_a_few_times_only() {
    let mut fleet = web("10.0.0.5");
    for vmid in 200..260 {
        let row = json!({"type": "qemu", "vmid": vmid, "node": "pve2", "name": format!("g{vmid}"), "status": "unknown"});
        let path = format!("/nodes/pve2/qemu/{vmid}/config");
        fleet = fleet.row(row).refusal(&path, 595, "No route to host");
    }
    let fleet = fleet.start();
    let inventory = fleet.list();
    assert_eq!(hosts(&inventory, "pve_guests").len(), 61);
    let reason = foreign(vars(&inventory, "g259"), "pve_address_reason");
    assert!(reason.starts_with("node pve2 does not answer: "), "{reason}");
    let asked = fleet.calls().iter().filter(|call| call.contains("pve2")).count();
    assert!(asked < 40, "{asked} calls to a node that is down");
    let warnings = &inventory["pve_guests"]["vars"]["pve_inventory_warnings"];
    let warning = warnings[0]["__ansible_unsafe"].as_str().unwrap();
    assert!(
        warning.starts_with("60 guests could not be read: node pve2 does not answer"),
        "{warning}"
    );
}
