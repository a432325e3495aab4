//! Table of sources and where their snapshots are.

use super::*;

fn release(origin: &str, label: &str, snapshots: Option<&str>) -> Release {
    Release {
        origin: origin.into(),
        label: label.into(),
        snapshots: snapshots.map(ToOwned::to_owned),
    }
}

fn id() -> SnapshotId {
    "20250601T000000Z".parse().unwrap()
}

#[test]
fn archives_known_by_host_and_path() {
    for (uri, archive, pinned) in [
        (
            "http://deb.debian.org/debian",
            "debian",
            "http://snapshot.debian.org/archive/debian/20250601T000000Z",
        ),
        (
            "https://deb.debian.org/debian/",
            "debian",
            "https://snapshot.debian.org/archive/debian/20250601T000000Z/",
        ),
        (
            "http://deb.debian.org/debian-security",
            "debian-security",
            "http://snapshot.debian.org/archive/debian-security/20250601T000000Z",
        ),
        (
            "http://security.debian.org",
            "debian-security",
            "http://snapshot.debian.org/archive/debian-security/20250601T000000Z",
        ),
        (
            "http://security.debian.org/debian-security/",
            "debian-security",
            "http://snapshot.debian.org/archive/debian-security/20250601T000000Z/",
        ),
        (
            "http://ftp.de.debian.org/debian/",
            "debian",
            "http://snapshot.debian.org/archive/debian/20250601T000000Z/",
        ),
        (
            "http://cdn-aws.deb.debian.org/debian",
            "debian",
            "http://snapshot.debian.org/archive/debian/20250601T000000Z",
        ),
        (
            "http://debug.mirrors.debian.org/debian-debug/",
            "debian-debug",
            "http://snapshot.debian.org/archive/debian-debug/20250601T000000Z/",
        ),
        (
            "tor+http://deb.debian.org/debian",
            "debian",
            "tor+http://snapshot.debian.org/archive/debian/20250601T000000Z",
        ),
        (
            "http://archive.ubuntu.com/ubuntu/",
            "ubuntu",
            "http://snapshot.ubuntu.com/ubuntu/20250601T000000Z/",
        ),
        (
            "http://security.ubuntu.com/ubuntu",
            "ubuntu",
            "http://snapshot.ubuntu.com/ubuntu/20250601T000000Z",
        ),
        (
            "http://de.archive.ubuntu.com/ubuntu",
            "ubuntu",
            "http://snapshot.ubuntu.com/ubuntu/20250601T000000Z",
        ),
        (
            "http://eu-west-1.ec2.archive.ubuntu.com/ubuntu/",
            "ubuntu",
            "http://snapshot.ubuntu.com/ubuntu/20250601T000000Z/",
        ),
        (
            "http://ports.ubuntu.com/ubuntu-ports/",
            "ubuntu",
            "http://snapshot.ubuntu.com/ubuntu/20250601T000000Z/",
        ),
        (
            "https://ppa.launchpadcontent.net/git-core/ppa/ubuntu/",
            "ppa",
            "https://snapshot.ppa.launchpadcontent.net/git-core/ppa/ubuntu/20250601T000000Z/",
        ),
        (
            "http://snapshot.debian.org/archive/debian-security/20240101T000000Z/",
            "debian-security",
            "http://snapshot.debian.org/archive/debian-security/20250601T000000Z/",
        ),
        (
            "http://snapshot.ubuntu.com/ubuntu/20240101T000000Z",
            "ubuntu",
            "http://snapshot.ubuntu.com/ubuntu/20250601T000000Z",
        ),
    ] {
        let found = pin(uri, None, &BTreeMap::new(), &id()).unwrap();
        assert_eq!((found.archive.as_str(), found.uri.as_str()), (archive, pinned), "{uri}");
    }
}

#[test]
fn mirrors_are_known_by_their_release_file() {
    let debian = release("Debian", "Debian", None);
    let security = release("Debian", "Debian-Security", None);
    let backports = release("Debian Backports", "Debian Backports", None);
    let ubuntu = release("Ubuntu", "Ubuntu", None);
    let own = release("Acme", "Acme", Some("https://snap.acme.example/@SNAPSHOTID@/"));
    for (uri, release, pinned) in [
        (
            "http://mirror.example/live",
            &debian,
            "http://snapshot.debian.org/archive/debian/20250601T000000Z",
        ),
        (
            "https://mirror.example/pub/debian/",
            &debian,
            "https://snapshot.debian.org/archive/debian/20250601T000000Z/",
        ),
        (
            "http://mirror.example/sec",
            &security,
            "http://snapshot.debian.org/archive/debian-security/20250601T000000Z",
        ),
        (
            "http://mirror.example/debian",
            &backports,
            "http://snapshot.debian.org/archive/debian/20250601T000000Z",
        ),
        (
            "http://u:p@mirror.example:8080/ubuntu",
            &ubuntu,
            "http://snapshot.ubuntu.com/ubuntu/20250601T000000Z",
        ),
        ("http://repo.acme.example/apt", &own, "https://snap.acme.example/20250601T000000Z"),
    ] {
        assert_eq!(pin(uri, Some(release), &BTreeMap::new(), &id()).unwrap().uri, pinned, "{uri}");
    }
}

#[test]
fn g51_what_cannot_be_pinned_says_why() {
    let docker = release("Docker", "Docker CE", None);
    for (uri, release, reason) in [
        (
            "https://download.docker.com/linux/debian",
            Some(&docker),
            "no snapshots of an archive of origin 'Docker' are known; name them in servers, or \
             the source in allow_unpinned",
        ),
        (
            "https://download.docker.com/linux/debian",
            None,
            "download.docker.com is not known, and there is no Release file of it that could tell \
             what it mirrors",
        ),
        ("file:/srv/repo", None, "file:/srv/repo is not fetched over a network"),
        ("cdrom:[Debian 13]/", None, "cdrom:[Debian 13]/ is not fetched over a network"),
    ] {
        assert_eq!(pin(uri, release, &BTreeMap::new(), &id()).unwrap_err(), reason, "{uri}");
    }
}

#[test]
fn g56_an_id_before_the_archive_began_is_refused() {
    for (uri, text, reason) in [
        ("http://deb.debian.org/debian", "20050311T235959Z", "debian begin at 20050312T000000Z"),
        (
            "http://archive.ubuntu.com/ubuntu",
            "20230228T000000Z",
            "ubuntu begin at 20230301T000000Z",
        ),
    ] {
        let id = text.parse().unwrap();
        assert_eq!(
            pin(uri, None, &BTreeMap::new(), &id).unwrap_err(),
            format!("the snapshots of {reason}")
        );
    }
    let id = "20230228T000000Z".parse().unwrap();
    assert!(pin("http://deb.debian.org/debian", None, &BTreeMap::new(), &id).is_ok());
}

#[test]
fn servers_are_named_by_archive_host_or_uri() {
    for key in ["debian", "deb.debian.org", "http://deb.debian.org/debian/"] {
        let servers = BTreeMap::from([(
            key.to_owned(),
            "https://snap.example/@PATH@/@SNAPSHOTID@/".to_owned(),
        )]);
        assert_eq!(
            pin("http://deb.debian.org/debian", None, &servers, &id()).unwrap().uri,
            "https://snap.example/debian/20250601T000000Z",
            "{key}"
        );
    }
}

#[test]
fn passwords_are_masked() {
    for (uri, masked) in [
        ("https://u:p@m.example/debian", "https://***@m.example/debian"),
        ("https://m.example/a@b", "https://m.example/a@b"),
        ("cdrom:[x]/", "cdrom:[x]/"),
    ] {
        assert_eq!(mask(uri), masked);
    }
}

#[test]
fn release_files_are_read() {
    let text = "-----BEGIN PGP SIGNED MESSAGE-----\n\nOrigin: Debian\nLabel: Debian-Security\n\
                Snapshots: https://s/@SNAPSHOTID@/\n";
    let read = Release::parse(text);
    assert_eq!(read, release("Debian", "Debian-Security", Some("https://s/@SNAPSHOTID@/")));
    assert_eq!(Release::parse("Origin: X\nSnapshots: no\n").snapshots, None);
}
