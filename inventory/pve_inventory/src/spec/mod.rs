//! What a guest should be: one file a guest, checked before anything is done about it.

mod binding;
mod schema;
mod vars;

use std::path::{Path, PathBuf};

use pve_types::Vmid;
use serde_json::{Map, Value};

use crate::error::Error;
use crate::names;
use crate::yaml;

pub(crate) use binding::{Binding, bind, in_cluster};

/// The folder of the specs whose guests are to go.
const DESTROY: &str = "destroy";

/// One spec.
#[derive(Debug, Clone)]
pub(crate) struct Spec {
    /// Its file.
    pub(crate) path: PathBuf,
    /// The guest's name, which is the file's.
    pub(crate) name: String,
    /// The guest's number, if the spec gives it.
    pub(crate) vmid: Option<Vmid>,
    /// Whether the guest is to go.
    pub(crate) destroy: bool,
    /// All of it, as it is written, without what is null.
    pub(crate) content: Map<String, Value>,
}

impl Spec {
    /// The cluster it is for, if it says so.
    pub(crate) fn cluster(&self) -> Option<&str> {
        self.content.get("cluster").and_then(Value::as_str)
    }

    /// The groups it names.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &str> {
        self.content
            .get("groups")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
    }

    /// The variables it hands to the roles: its own words for what the base role calls otherwise,
    /// and its `vars` as they are.
    pub(crate) fn variables(&self) -> Map<String, Value> {
        let mut variables = Map::new();
        for (key, variable) in [
            ("packages", "base_packages"),
            ("archive_snapshot", "base_archive_snapshot"),
            ("timezone", "base_timezone"),
        ] {
            if let Some(value) = self.content.get(key) {
                variables.insert(variable.to_owned(), value.clone());
            }
        }
        if let Some(user) = self.content.get("cloud_init").and_then(|init| init.get("ciuser")) {
            variables.insert("ansible_user".to_owned(), user.clone());
        }
        if let Some(vars) = self.content.get("vars").and_then(Value::as_object) {
            variables.extend(vars.clone());
        }
        variables
    }
}

/// Reads the folder of specs; without the folder there are none, unless it was asked for.
pub(crate) fn read(folder: &Path, asked_for: bool) -> Result<Vec<Spec>, Error> {
    if !exists(folder)? {
        if asked_for {
            return Err(Error::Content {
                path: folder.to_owned(),
                reason: "there is no such folder of guest specs".to_owned(),
            });
        }
        return Ok(Vec::new());
    }
    let mut specs = folder_of(folder, false)?;
    let destroy = folder.join(DESTROY);
    if exists(&destroy)? {
        specs.extend(folder_of(&destroy, true)?);
    }
    apart(&specs)?;
    Ok(specs)
}

/// Whether there is anything by this name: a link that leads nowhere is, so that reading it fails.
fn exists(path: &Path) -> Result<bool, Error> {
    match std::fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(source) => Err(Error::Read { path: path.to_owned(), source }),
    }
}

fn folder_of(folder: &Path, destroy: bool) -> Result<Vec<Spec>, Error> {
    let failed = |source| Error::Read { path: folder.to_owned(), source };
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .map_err(failed)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()
        .map_err(failed)?;
    paths.retain(|path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let extension = path.extension().and_then(|extension| extension.to_str());
        !name.starts_with('.') && matches!(extension, Some("yml" | "yaml"))
    });
    paths.sort();
    paths.into_iter().map(|path| one(path, destroy)).collect()
}

fn one(path: PathBuf, destroy: bool) -> Result<Spec, Error> {
    // nothing that is called like a spec is passed over: its guest would be forgotten without a word
    let failed = |source| Error::Read { path: path.clone(), source };
    if !std::fs::metadata(&path).map_err(failed)?.is_file() {
        let reason = "it is not a file, and a spec is one".to_owned();
        return Err(Error::Content { path, reason });
    }
    let content = yaml::read(&path)?;
    let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
    let wrong = |reason| Error::Content { path: path.clone(), reason };
    if !names::is_guest(&name) {
        return Err(wrong(format!(
            "'{name}' cannot be the name of a guest: letters, digits, '-' and '.', and not a word \
             such as localhost or all"
        )));
    }
    let vmid = schema::check(&content).map_err(wrong)?;
    let content = content.into_iter().filter_map(|(key, value)| Some((key, given(value)?)));
    Ok(Spec { name, vmid, destroy, content: content.collect(), path })
}

/// A value without the nulls in it. A key with nothing behind it says nothing, at any depth, and the
/// roles test whether a key is there.
fn given(value: Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::Array(items) => Some(items.into_iter().filter_map(given).collect()),
        Value::Object(map) => Some(Value::Object(
            map.into_iter().filter_map(|(key, value)| Some((key, given(value)?))).collect(),
        )),
        value => Some(value),
    }
}

/// No two specs may mean one guest, and no group may be called as a guest is.
fn apart(specs: &[Spec]) -> Result<(), Error> {
    for (index, spec) in specs.iter().enumerate() {
        let wrong = |reason| Error::Content { path: spec.path.clone(), reason };
        for other in &specs[..index] {
            let same = if other.name == spec.name {
                format!("the name '{}'", spec.name)
            } else if other.vmid.is_some()
                && (other.vmid, other.cluster()) == (spec.vmid, spec.cluster())
            {
                format!("the vmid {}", spec.vmid.map_or(0, Vmid::get))
            } else {
                continue;
            };
            return Err(wrong(format!("{} has {same} as well", other.path.display())));
        }
        if let Some(group) = spec.groups().find(|group| specs.iter().any(|s| s.name == **group)) {
            return Err(wrong(format!(
                "the group '{group}' has the name of a guest, which Ansible cannot tell apart"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> Result<Vec<Spec>, String> {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        read(root.path(), true)
            .map_err(|error| error.to_string().replace(&root.path().display().to_string(), "DIR"))
    }

    #[test]
    fn specs_are_the_yaml_files_of_the_folder() {
        let specs = folder(&[
            ("web1.yml", "kind: vm\nvmid: 201\nnode: pve1\nimage: local:import/a.qcow2"),
            ("db1.yaml", "kind: vm\nnode: '{{ guest_node }}'"),
            ("destroy/old.yml", "kind: vm\nvmid: 300"),
            ("README.md", "not a spec"),
            (".hidden.yml", "- not a spec"),
        ])
        .unwrap();
        let rows: Vec<_> =
            specs.iter().map(|s| (s.name.as_str(), s.vmid.map(Vmid::get), s.destroy)).collect();
        assert_eq!(
            rows,
            [("db1", None, false), ("web1", Some(201), false), ("old", Some(300), true)]
        );
    }

    #[test]
    fn two_specs_never_mean_one_guest() {
        for (files, text) in [
            (
                &[("a.yml", "kind: vm\nvmid: 100"), ("b.yml", "kind: vm\nvmid: 100")][..],
                "DIR/b.yml: DIR/a.yml has the vmid 100 as well",
            ),
            (
                &[("a.yml", "kind: vm"), ("destroy/a.yml", "kind: vm")],
                "DIR/destroy/a.yml: DIR/a.yml has the name 'a' as well",
            ),
            (
                &[("web.yml", "kind: vm\ngroups: [web]")],
                "DIR/web.yml: the group 'web' has the name of a guest",
            ),
            (&[("all.yml", "kind: vm")], "DIR/all.yml: 'all' cannot be the name of a guest"),
            (&[("a_b.yml", "kind: vm")], "'a_b' cannot be the name of a guest"),
        ] {
            let error = folder(files).unwrap_err();
            assert!(error.starts_with(text) || error.contains(text), "{error}");
        }
    }

    #[test]
    fn a_folder_that_was_asked_for_must_be_there() {
        assert!(read(Path::new("/nonexistent/guests"), false).unwrap().is_empty());
        let error = read(Path::new("/nonexistent/guests"), true).unwrap_err().to_string();
        assert_eq!(error, "/nonexistent/guests: there is no such folder of guest specs");
    }

    #[test]
    fn what_is_called_like_a_spec_and_cannot_be_read_is_an_error() {
        use std::os::unix::fs::symlink;
        type Make = fn(&Path) -> std::io::Result<()>;
        let rows: [(&str, Make, &str); 6] = [
            (
                "a.yml",
                |path| symlink("nowhere.yml", path),
                "failed to read DIR/a.yml: No such file or directory",
            ),
            ("a.yml", |path| symlink("a.yml", path), "failed to read DIR/a.yml: Too many levels"),
            (
                "a.yml",
                |path| std::fs::create_dir(path),
                "DIR/a.yml: it is not a file, and a spec is one",
            ),
            ("a.yml", |path| std::fs::write(path, b"kind: \xff"), "failed to read DIR/a.yml: "),
            (
                "destroy",
                |path| symlink("nowhere", path),
                "failed to read DIR/destroy: No such file or directory",
            ),
            (
                "destroy",
                |path| std::fs::write(path, "kind: vm"),
                "failed to read DIR/destroy: Not a directory",
            ),
        ];
        for (name, make, text) in rows {
            let root = tempfile::tempdir().unwrap();
            make(&root.path().join(name)).unwrap();
            let error = read(root.path(), false).unwrap_err().to_string();
            let error = error.replace(&root.path().display().to_string(), "DIR");
            assert!(error.starts_with(text), "{error}");
        }
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("guests");
        symlink("nowhere", &folder).unwrap();
        assert!(read(&folder, false).is_err(), "a dangling folder is not an absent one");
    }

    #[test]
    fn null_is_absent_everywhere() {
        for (text, content) in [
            (
                "vmid:\ncluster:\nnode:\nimage:\nhardware:\ncloud_init:\ngroups:\npackages:\n\
                 archive_snapshot:\ntimezone:\nvars: ~",
                serde_json::json!({"kind": "vm"}),
            ),
            (
                "hardware: {cores: , net: {net0: a, net1: ~}}\ncloud_init: {ciuser: , ipconfig: }\n\
                 groups: [~, web]\npackages: [~]\nvars: {a: ~, b: {c: ~, d: [1, ~]}}",
                serde_json::json!({
                    "kind": "vm", "hardware": {"net": {"net0": "a"}}, "cloud_init": {},
                    "groups": ["web"], "packages": [], "vars": {"b": {"d": [1]}},
                }),
            ),
        ] {
            let specs = folder(&[("a.yml", &format!("kind: vm\n{text}"))]).unwrap();
            assert_eq!(Value::Object(specs[0].content.clone()), content, "{text}");
            let variables = Value::Object(specs[0].variables()).to_string();
            assert!(!variables.contains("null"), "{variables}");
        }
        for (text, reason) in [
            ("kind:", "it has no kind"),
            ("kind: vm\nmemroy:", "unknown key 'memroy'"),
            ("kind: vm\nvars: {pve_spec: }", "begins with pve_"),
        ] {
            let error = folder(&[("a.yml", text)]).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn variables_have_the_roles_names() {
        let specs = folder(&[(
            "a.yml",
            "kind: vm\npackages: [curl]\ntimezone: Etc/UTC\narchive_snapshot: 20250601T000000Z\n\
             cloud_init: {ciuser: debian}\nvars: {web_port: 80, ansible_user: root}",
        )])
        .unwrap();
        let expected = serde_json::json!({
            "base_packages": ["curl"], "base_timezone": "Etc/UTC",
            "base_archive_snapshot": "20250601T000000Z", "web_port": 80, "ansible_user": "root",
        });
        assert_eq!(Value::Object(specs[0].variables()), expected);
    }
}
