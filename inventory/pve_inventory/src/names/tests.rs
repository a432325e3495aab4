use super::*;

fn named(guests: &[(u32, &str, &str)], taken: &[&str]) -> Vec<String> {
    let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let wanted: Vec<Wanted> = guests
        .iter()
        .map(|(vmid, name, fixed)| Wanted {
            key: (0, *vmid),
            cluster: None,
            kind: "qemu",
            name: text(name),
            domain: None,
            fixed: text(fixed),
        })
        .collect();
    let taken = taken.iter().map(|name| (*name).to_owned()).collect();
    let names = hosts(&wanted, &taken, Pattern::Name);
    let mut backwards = wanted;
    backwards.reverse();
    assert_eq!(
        hosts(&backwards, &taken, Pattern::Name),
        names,
        "the order of the guests does not matter"
    );
    names.into_values().collect()
}

#[test]
fn a18_guests_of_one_name_stay_apart() {
    for (guests, taken, names) in [
        (&[(100, "web", ""), (101, "db", "")][..], &[][..], &["web", "db"][..]),
        (&[(100, "web", ""), (101, "web", "")], &[], &["web-100", "web-101"]),
        (&[(100, "web", "web"), (101, "web", "")], &[], &["web", "web-101"]),
        // a name that looks like a made one is not taken from its guest
        (
            &[(100, "web", ""), (101, "web", ""), (102, "web-101", "")],
            &[],
            &["web-100", "web-101-101", "web-101"],
        ),
        (&[(100, "localhost", ""), (101, "ALL", "")], &[], &["localhost-100", "ALL-101"]),
        (
            &[(100, "web", ""), (101, "pve_guests", "")],
            &["web", "pve_guests"],
            &["web-100", "pve_guests-101"],
        ),
        (
            &[(100, "", ""), (101, "{{ 1+1 }}", ""), (102, "--limit", "")],
            &[],
            &["qemu-100", "1_1___", "limit"],
        ),
        (
            &[(100, "a:b,c[1:3]", ""), (101, "\u{2028}", ""), (102, "7up", "")],
            &[],
            &["a_b_c_1_3_", "qemu-101", "7up"],
        ),
    ] {
        assert_eq!(named(guests, taken), names, "{guests:?}");
    }
}

#[test]
fn no_name_leads_to_the_control_node_or_to_another_machine() {
    for (name, host) in [
        ("localhost.localdomain", "localhost.localdomain-100"),
        ("LocalHost4", "LocalHost4-100"),
        ("localhost6.localdomain6", "localhost6.localdomain6-100"),
        ("ip6-localhost", "ip6-localhost-100"),
        ("ip6-loopback", "ip6-loopback-100"),
        ("web.localhost", "web.localhost-100"),
        ("web.localhost.", "web.localhost.-100"),
        ("localhost.", "localhost.-100"),
        ("10.0.0.9", "10.0.0.9-100"),
        ("127.1", "127.1-100"),
        ("0x7f000001", "0x7f000001-100"),
        ("0x7f.1", "0x7f.1-100"),
        ("2130706433", "2130706433-100"),
        // these lead nowhere by themselves
        ("4711", "4711"),
        ("web.10", "web.10"),
        ("mylocalhost", "mylocalhost"),
        ("localhost-1", "localhost-1"),
        ("10-0-0-9", "10-0-0-9"),
    ] {
        assert_eq!(named(&[(100, name, "")], &[]), [host], "{name}");
        let node = nodes([(name, None)].into_iter(), &BTreeSet::new());
        assert_eq!(node[0] == name, host == name, "{name} as a node: {node:?}");
    }
    let numbers = hosts(&[wanted_as(167_772_165, "web", None)], &BTreeSet::new(), Pattern::Vmid);
    assert_eq!(numbers.into_values().collect::<Vec<_>>(), ["167772165"]);
}

fn wanted_as(vmid: u32, name: &str, cluster: Option<(usize, &str)>) -> Wanted {
    Wanted {
        key: (cluster.map_or(0, |(index, _)| index), vmid),
        cluster: cluster.map(|(_, name)| name.to_owned()),
        kind: "qemu",
        name: Some(name.to_owned()),
        domain: None,
        fixed: None,
    }
}

#[test]
fn a18_every_pattern_keeps_guests_apart() {
    let guests = || {
        let mut guests = vec![
            wanted_as(100, "web", Some((0, "east"))),
            wanted_as(101, "web", Some((0, "east"))),
            wanted_as(100, "web", Some((1, "west"))),
            wanted_as(102, "db.lan", Some((1, "west"))),
            wanted_as(103, "", Some((1, "west"))),
        ];
        guests[0].domain = Some("example.org".to_owned());
        guests[3].domain = Some("example.org".to_owned());
        guests
    };
    for (word, names) in [
        ("name", ["web-100-east", "web-101", "web-100-west", "db.lan", "qemu-103"]),
        ("name-vmid", ["web-100-east", "web-101", "web-100-west", "db.lan-102", "qemu-103"]),
        ("fqdn", ["web.example.org", "web-101", "web-100", "db.lan", "qemu-103"]),
        ("vmid", ["100-east", "101", "100-west", "102", "103"]),
    ] {
        let pattern: Pattern = word.parse().unwrap();
        assert_eq!(pattern.to_string(), word);
        let named = hosts(&guests(), &BTreeSet::new(), pattern);
        assert_eq!(named.into_values().collect::<Vec<_>>(), names, "{word}");
    }
}

#[test]
fn nodes_are_called_as_they_are_unless_something_else_is() {
    let taken = BTreeSet::from(["web".to_owned()]);
    let named = nodes(
        [("pve1", None), ("web", None), ("pve1", Some("west")), ("all", Some("west"))].into_iter(),
        &taken,
    );
    assert_eq!(named, ["pve1", "web-node", "pve1-node", "all-node"]);
}

proptest::proptest! {
    #[test]
    fn any_names_become_safe_and_unique_hosts(
        names in proptest::collection::vec(
            proptest::prop_oneof!["[a-c](-10[0-4])?", "localhost|all|ungrouped|web|pve_x", ".*"],
            0..6,
        ),
        pattern in proptest::sample::select(PATTERNS.map(|(_, pattern)| pattern).to_vec()),
    ) {
        let wanted: Vec<Wanted> = (100..)
            .zip(&names)
            .map(|(vmid, name)| wanted_as(vmid, name, None))
            .collect();
        let taken = BTreeSet::from(["web".to_owned(), "pve_x".to_owned()]);
        let hosts = hosts(&wanted, &taken, pattern);
        proptest::prop_assert_eq!(hosts.len(), names.len());
        let unique: BTreeSet<&String> = hosts.values().collect();
        proptest::prop_assert_eq!(unique.len(), names.len());
        for host in hosts.values() {
            proptest::prop_assert!(!taken.contains(host) && !is_reserved(host), "{}", host);
            proptest::prop_assert!(
                host.starts_with(|c: char| c.is_ascii_alphanumeric())
                    && host.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)),
                "{}", host
            );
        }
    }
}

#[test]
fn groups_are_identifiers() {
    for (text, name) in [
        ("web", "pve_tag_web"),
        ("b-1.x", "pve_tag_b_1_x"),
        ("1st", "pve_tag_1st"),
        ("{{ x }}", "pve_tag____x___"),
        ("", "pve_tag_"),
    ] {
        assert_eq!(group("pve_tag_", text), name);
        assert!(is_group(&group("pve_tag_", text)));
    }
    for (text, right) in [("web", true), ("_a1", true), ("1a", false), ("a-b", false), ("", false)]
    {
        assert_eq!(is_group(text), right, "{text}");
    }
}

#[test]
fn names_of_guests_are_dns_names() {
    for (text, right) in [
        ("web1", true),
        ("web1.example.org", true),
        ("web_1", false),
        ("-web", false),
        ("localhost", false),
        ("all", false),
        ("a..b", false),
        ("", false),
    ] {
        assert_eq!(is_guest(text), right, "{text}");
    }
}
