//! Tables of sources and what they become.

use super::*;

const DEBIAN: &str = "Types: deb\nURIs: http://deb.debian.org/debian\nSuites: trixie\n\
    Components: main\n\nTypes: deb\nURIs: http://deb.debian.org/debian-security\n\
    Suites: trixie-security\nComponents: main\n";
const ID: &str = "20250601T000000Z";

fn params(more: serde_json::Value) -> Params {
    let mut all = serde_json::json!({"snapshot_id": ID});
    all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    serde_json::from_value(all).unwrap()
}

fn file(name: &str, text: &str) -> SourceFile {
    let path = format!("/etc/apt/sources.list.d/{name}");
    SourceFile { path, form: Form::of(name).unwrap(), text: text.into() }
}

fn run(more: serde_json::Value, method: Method, files: &[SourceFile]) -> Pinning {
    pin(&params(more), &ID.parse().unwrap(), method, files, &Facts::default()).unwrap()
}

#[test]
fn g59_every_pocket_is_pinned_wherever_it_comes_from() {
    let text = "deb http://archive.ubuntu.com/ubuntu noble main\n\
                deb http://archive.ubuntu.com/ubuntu noble-updates main\n\
                deb http://security.ubuntu.com/ubuntu noble-security main\n";
    let pinning = run(serde_json::json!({}), Method::Rewrite, &[file("u.list", text)]);
    assert!(pinning.refused.is_empty());
    let placed = &pinning.texts["/etc/apt/sources.list.d/u.list"];
    assert_eq!(placed.matches("http://snapshot.ubuntu.com/ubuntu/20250601T000000Z ").count(), 3);
}

#[test]
fn g51_a_source_without_snapshots_is_refused_unless_it_is_named() {
    let files = [
        file("debian.sources", DEBIAN),
        file("docker.list", "deb https://download.docker.com/linux/debian trixie stable\n"),
    ];
    let pinning = run(serde_json::json!({}), Method::Rewrite, &files);
    assert_eq!(
        pinning.refused,
        ["https://download.docker.com/linux/debian trixie (/etc/apt/sources.list.d/docker.list \
          line 1): download.docker.com is not known, and there is no Release file of it that \
          could tell what it mirrors"]
    );
    for name in ["docker.list", "download.docker.com", "https://download.docker.com/linux/debian/"]
    {
        let allowed = run(serde_json::json!({"allow_unpinned": [name]}), Method::Rewrite, &files);
        assert!(allowed.refused.is_empty(), "{name}");
        assert_eq!(allowed.reports[2].reason, "allowed to stay unpinned");
    }
}

#[test]
fn only_the_sources_named_are_pinned_and_the_others_must_be_allowed() {
    let files = [file("debian.sources", DEBIAN)];
    let some = serde_json::json!({"sources": ["debian"]});
    assert_eq!(run(some, Method::Rewrite, &files).refused.len(), 1);
    let both = serde_json::json!({
        "sources": ["debian"], "allow_unpinned": ["debian-security"]
    });
    let pinning = run(both, Method::Rewrite, &files);
    assert!(pinning.refused.is_empty());
    let text = &pinning.texts["/etc/apt/sources.list.d/debian.sources"];
    assert_eq!(text.matches("snapshot.debian.org").count(), 1);
    assert_eq!(text.matches("Check-Valid-Until: no").count(), 1);
    let params = params(serde_json::json!({"sources": ["nowhere"]}));
    let id = ID.parse().unwrap();
    let error = pin(&params, &id, Method::Rewrite, &files, &Facts::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "sources: 'nowhere' names no enabled source; there are http://deb.debian.org/debian, \
         http://deb.debian.org/debian-security"
    );
}

#[test]
fn a_stanza_of_pinned_and_unpinned_uris_is_refused() {
    let text = "Types: deb\nURIs: http://deb.debian.org/debian http://own/\nSuites: x\n";
    let pinning = run(
        serde_json::json!({"allow_unpinned": ["own"]}),
        Method::Rewrite,
        &[file("a.sources", text)],
    );
    assert_eq!(pinning.refused.len(), 1);
    assert!(pinning.refused[0].ends_with("give each a stanza of its own"));
}

#[test]
fn a_file_of_mirrors_is_looked_into() {
    let text = "Types: deb\nURIs: mirror+file:///etc/apt/mirrors/debian.list\nSuites: trixie\n";
    let facts = Facts {
        mirrors: BTreeMap::from([(
            "mirror+file:///etc/apt/mirrors/debian.list".to_owned(),
            "https://deb.debian.org/debian".to_owned(),
        )]),
        ..Facts::default()
    };
    let id = ID.parse().unwrap();
    let files = [file("debian.sources", text)];
    let params = params(serde_json::json!({}));
    let pinning = pin(&params, &id, Method::Rewrite, &files, &facts).unwrap();
    assert!(
        pinning.texts[&files[0].path]
            .contains("URIs: https://snapshot.debian.org/archive/debian/20250601T000000Z\n")
    );
}

#[test]
fn native_leaves_the_uri_and_tells_apt_where_the_snapshots_are() {
    let pinning = run(serde_json::json!({}), Method::Native, &[file("debian.sources", DEBIAN)]);
    let text = &pinning.texts["/etc/apt/sources.list.d/debian.sources"];
    assert_eq!(text.matches("Snapshot: 20250601T000000Z").count(), 2);
    assert_eq!(text.matches("http://deb.debian.org/debian").count(), 2);
    assert_eq!(
        pinning.hosts["deb.debian.org"],
        "http://snapshot.debian.org/archive/@PATH@/@SNAPSHOTID@/"
    );
}

#[test]
fn passwords_are_not_in_reports_nor_messages() {
    let files = [file("own.list", "deb https://me:geheim@own.example/debian x main\n")];
    let pinning = run(serde_json::json!({}), Method::Rewrite, &files);
    assert!(!format!("{:?} {:?}", pinning.reports, pinning.refused).contains("geheim"));
}
