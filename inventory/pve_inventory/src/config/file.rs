//! The configuration file: YAML, strict about its keys.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::config::values::{Values, policy};
use crate::config::{Cluster, Config, Facts, Setting};
use crate::error::Error;
use crate::filter::Filters;
use crate::names::Pattern;
use crate::{names, yaml};

/// The keys of one cluster, which stand by themselves or in each entry of `clusters`.
const CLUSTER: [&str; 14] = [
    "url",
    "host",
    "port",
    "user",
    "token_id",
    "token_secret_file",
    "token_secret_command",
    "password_file",
    "password_command",
    "ca_path",
    "fingerprint",
    "validate_certs",
    "endpoints",
    "name",
];

/// The keys about all of it.
const GENERAL: [&str; 28] = [
    "clusters",
    "timeout",
    "guests",
    "templates",
    "concurrency",
    "agent_timeout",
    "net",
    "prefer",
    "networks",
    "exclude_networks",
    "strict",
    "hostname",
    "prefix",
    "nodes",
    "facts",
    "cloud_init_user",
    "tags",
    "exclude_tags",
    "pools",
    "on_nodes",
    "kinds",
    "status",
    "names",
    "exclude_names",
    "cache",
    "cache_dir",
    "stale_if_error",
    "silent_memory",
];

/// What the cluster says of a guest: QEMU's own words (qapi: RunState) for one that is there, and two
/// of PVE's.
const STATUSES: [&str; 18] = [
    "running",
    "stopped",
    "paused",
    "suspended",
    "prelaunch",
    "unknown",
    "colo",
    "debug",
    "finish-migrate",
    "guest-panicked",
    "inmigrate",
    "internal-error",
    "io-error",
    "postmigrate",
    "restore-vm",
    "save-vm",
    "shutdown",
    "watchdog",
];

/// Reads the file over what is there.
pub(crate) fn read(path: &Path, config: &mut Config) -> Result<(), Error> {
    let failed = |source| Error::Read { path: path.to_owned(), source };
    let mode = path.metadata().map_err(failed)?.permissions().mode();
    if mode & 0o002 != 0 {
        return Err(Error::OpenConfig { path: path.to_owned(), mode: mode & 0o7777 });
    }
    let map = yaml::read(path)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    apply(&map, folder, config).map_err(|reason| Error::Content { path: path.to_owned(), reason })
}

fn apply(map: &Map<String, Value>, folder: &Path, config: &mut Config) -> Result<(), String> {
    let allowed: Vec<&str> = CLUSTER.into_iter().chain(GENERAL).collect();
    let values = Values { map, folder, place: String::new() };
    values.only(&allowed)?;
    match map.get("clusters") {
        None | Some(Value::Null) => config.clusters = vec![cluster(&values)?],
        Some(Value::Array(list)) if !list.is_empty() => {
            if let Some(key) = CLUSTER.iter().find(|key| map.contains_key(**key)) {
                return Err(format!("'{key}' belongs into the entries of clusters now"));
            }
            config.clusters = clusters(list, folder)?;
        }
        Some(_) => return Err("clusters is a list of clusters, each with a name".to_owned()),
    }
    general(&values, config)
}

fn clusters(list: &[Value], folder: &Path) -> Result<Vec<Cluster>, String> {
    let mut clusters: Vec<Cluster> = Vec::new();
    for (index, entry) in list.iter().enumerate() {
        let place = format!("clusters[{index}]: ");
        let Value::Object(map) = entry else {
            return Err(format!("{place}it must be a mapping such as name: ..., url: ..."));
        };
        let values = Values { map, folder, place };
        values.only(&CLUSTER)?;
        let cluster = cluster(&values)?;
        let place = &values.place;
        let Some(name) = &cluster.name else {
            return Err(format!("{place}a cluster of several needs a name"));
        };
        if clusters.iter().any(|other| other.name.as_ref() == Some(name)) {
            return Err(format!("{place}another cluster is called '{name}' as well"));
        }
        if cluster.endpoints.is_none() {
            return Err(format!("{place}cluster '{name}' has no url, host or endpoints"));
        }
        clusters.push(cluster);
    }
    Ok(clusters)
}

fn cluster(values: &Values<'_>) -> Result<Cluster, String> {
    let place = &values.place;
    let mut cluster = Cluster::default();
    if let Some(name) = values.text("name")? {
        if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_') {
            return Err(format!("{place}name is '{name}': letters, digits, '-' and '_'"));
        }
        cluster.name = Some(name);
    }
    if values.has("url") && (values.has("host") || values.has("port")) {
        return Err(format!("{place}url already says host and port: give url, or host and port"));
    }
    if values.has("endpoints") && (values.has("url") || values.has("host")) {
        return Err(format!("{place}give endpoints, or a single url or host"));
    }
    let one = values.text("url")?.or(values.text("host")?).map(|host| vec![host]);
    let endpoints = values.words("endpoints")?.or(one);
    cluster.endpoints = endpoints.map(Setting::from_file);
    if let Some(port) = values.number("port", 1, 65535)? {
        cluster.port = u16::try_from(port).ok().map(Setting::from_file);
    }
    for (key, setting) in [("user", &mut cluster.user), ("token_id", &mut cluster.token_id)] {
        *setting = values.text(key)?.map(Setting::from_file);
    }
    for (key, setting) in [
        ("token_secret_file", &mut cluster.token_secret_file),
        ("password_file", &mut cluster.password_file),
        ("ca_path", &mut cluster.ca_path),
    ] {
        *setting = values.path(key)?.map(Setting::from_file);
    }
    for (key, setting) in [
        ("token_secret_command", &mut cluster.token_secret_command),
        ("password_command", &mut cluster.password_command),
    ] {
        *setting = values.command(key)?.map(Setting::from_file);
    }
    for (file, command) in
        [("token_secret_file", "token_secret_command"), ("password_file", "password_command")]
    {
        if values.has(file) && values.has(command) {
            return Err(format!("{place}give {file} or {command}, not both"));
        }
    }
    cluster.fingerprints = values.words("fingerprint")?.map(Setting::from_file);
    let (many, hosts) =
        (cluster.fingerprints.as_ref().map_or(1, |f| f.value.len()), cluster.hosts());
    if many > 1 && many != hosts.len() {
        return Err(format!(
            "{place}fingerprint lists {many} for {} endpoints: give one for each in their order",
            hosts.len()
        ));
    }
    if let Some(value) = values.flag("validate_certs")? {
        cluster.validate_certs = Setting::from_file(value);
    }
    Ok(cluster)
}

fn general(values: &Values<'_>, config: &mut Config) -> Result<(), String> {
    if let Some(guests) = values.path("guests")? {
        config.guests = Setting::from_file(guests);
    }
    if let Some(folder) = values.path("cache_dir")? {
        config.cache_dir = Some(Setting::from_file(folder));
    }
    for (key, setting) in [
        ("templates", &mut config.templates),
        ("strict", &mut config.strict),
        ("nodes", &mut config.nodes),
        ("cloud_init_user", &mut config.cloud_init_user),
        ("stale_if_error", &mut config.stale_if_error),
    ] {
        if let Some(value) = values.flag(key)? {
            *setting = Setting::from_file(value);
        }
    }
    const DAY: u32 = 86400;
    for (key, least, most, setting) in [
        ("timeout", 1, 3600, &mut config.timeout),
        ("concurrency", 1, 256, &mut config.concurrency),
        ("agent_timeout", 1, 3600, &mut config.agent_timeout),
        ("cache", 0, 30 * DAY, &mut config.cache),
        ("silent_memory", 0, 30 * DAY, &mut config.silent_memory),
    ] {
        if let Some(value) = values.number(key, least, most)? {
            *setting = Setting::from_file(value);
        }
    }
    if let Some(text) = values.text("hostname")? {
        config.hostname = Setting::from_file(text.parse::<Pattern>()?);
    }
    if let Some(text) = values.text("facts")? {
        config.facts = Setting::from_file(match text.as_str() {
            "slim" => Facts::Slim,
            "full" => Facts::Full,
            other => return Err(format!("facts is '{other}': say slim or full")),
        });
    }
    if let Some(prefix) = values.raw_text("prefix")? {
        if !prefix.is_empty() && !names::is_group(&prefix) {
            return Err(format!("prefix is '{prefix}': letters, digits and '_', no digit first"));
        }
        config.prefix = Setting::from_file(prefix);
    }
    policy(values, config)?;
    let list = |key: &str| values.words(key).map(Option::unwrap_or_default);
    let filters = Filters {
        tags: list("tags")?,
        exclude_tags: list("exclude_tags")?,
        pools: list("pools")?,
        nodes: list("on_nodes")?,
        kinds: list("kinds")?,
        status: list("status")?,
        names: list("names")?,
        exclude_names: list("exclude_names")?,
    };
    if let Some(kind) = filters.kinds.iter().find(|kind| !["qemu", "lxc"].contains(&kind.as_str()))
    {
        return Err(format!("kinds: '{kind}' is no kind: say qemu or lxc"));
    }
    if let Some(status) = filters.status.iter().find(|status| !STATUSES.contains(&status.as_str()))
    {
        return Err(format!("status: '{status}' is no status: say one of {}", STATUSES.join(", ")));
    }
    for tag in filters.tags.iter().chain(&filters.exclude_tags) {
        if tag.contains([',', ';', ' ']) {
            return Err(format!("'{tag}' is no tag, which has no ',', ';' or blank: give a list"));
        }
    }
    if filters != Filters::default() {
        config.filters = Setting::from_file(filters);
    }
    Ok(())
}

/// The folder of the cache, unless the configuration says another.
pub(crate) fn default_cache(variable: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let folder = variable("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = folder.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".cache")))?;
    Some(folder.join("ferrite/inventory"))
}

#[cfg(test)]
mod tests;
