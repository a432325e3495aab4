//! What is asked, of whom: a file, overridden by the environment, each value with where it came
//! from.

mod cluster;
mod environment;
mod file;
mod place;
mod secrets;
mod shown;
mod values;

use std::fmt;
use std::path::PathBuf;

use pve_types::address::Policy;

use crate::error::Error;
use crate::filter::Filters;
use crate::names::Pattern;

pub(crate) use cluster::Cluster;
pub(crate) use place::Place;

/// How many calls are under way at most at each endpoint; it starts with 8.
const CONCURRENCY: u32 = 64;
/// How many seconds an agent may take. A silent one is given up by PVE itself after three.
const AGENT_TIMEOUT: u32 = 5;
/// How many seconds a silent agent is left alone when there is a cache.
const SILENT_MEMORY: u32 = 300;

/// A value and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setting<T> {
    pub(crate) value: T,
    pub(crate) origin: Origin,
}

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Nobody said anything.
    Default,
    /// The configuration file.
    File,
    /// An environment variable.
    Environment(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Default => "default",
            Self::File => "configuration file",
            Self::Environment(name) => name,
        })
    }
}

impl<T> Setting<T> {
    fn by_default(value: T) -> Self {
        Self { value, origin: Origin::Default }
    }

    fn from_file(value: T) -> Self {
        Self { value, origin: Origin::File }
    }

    fn from_environment(value: T, name: &str) -> Self {
        Self { value, origin: Origin::Environment(name.to_owned()) }
    }
}

/// How much is said about each guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Facts {
    /// What address, groups and specs need.
    Slim,
    /// The configuration and the interfaces as well.
    Full,
}

/// All that a run is asked for.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    /// The configuration file, if there is one.
    pub(crate) file: Option<PathBuf>,
    /// The clusters; at least one.
    pub(crate) clusters: Vec<Cluster>,
    pub(crate) timeout: Setting<u32>,
    pub(crate) guests: Setting<PathBuf>,
    pub(crate) templates: Setting<bool>,
    pub(crate) concurrency: Setting<u32>,
    pub(crate) agent_timeout: Setting<u32>,
    pub(crate) policy: Setting<Policy>,
    /// Whether anything that cannot be read is a failure.
    pub(crate) strict: Setting<bool>,
    pub(crate) filters: Setting<Filters>,
    pub(crate) hostname: Setting<Pattern>,
    pub(crate) prefix: Setting<String>,
    /// Whether nodes are hosts too.
    pub(crate) nodes: Setting<bool>,
    pub(crate) facts: Setting<Facts>,
    /// Whether `ansible_user` is cloud-init's.
    pub(crate) cloud_init_user: Setting<bool>,
    /// How many seconds a cache is fresh; 0 is no cache.
    pub(crate) cache: Setting<u32>,
    pub(crate) cache_dir: Option<Setting<PathBuf>>,
    /// Whether an old cache is better than none.
    pub(crate) stale_if_error: Setting<bool>,
    /// How many seconds a silent agent is left alone.
    pub(crate) silent_memory: Setting<u32>,
}

impl Config {
    /// What is in force here.
    pub(crate) fn load(place: &Place) -> Result<Self, Error> {
        let mut config = Self::empty(place.default_guests());
        if let Some(path) = place.config_file()? {
            file::read(&path, &mut config)?;
            config.file = Some(path);
        }
        environment::overlay(&mut config, &|name| place.variable(name))?;
        for cluster in &mut config.clusters {
            cluster.settle()?;
        }
        if config.cache_dir.is_none() {
            let folder = file::default_cache(&|name| place.variable(name));
            config.cache_dir = folder.map(Setting::by_default);
        }
        Ok(config)
    }

    fn empty(guests: PathBuf) -> Self {
        Self {
            file: None,
            clusters: vec![Cluster::default()],
            timeout: Setting::by_default(
                u32::try_from(pve_client::DEFAULT_TIMEOUT).unwrap_or(u32::MAX),
            ),
            guests: Setting::by_default(guests),
            templates: Setting::by_default(false),
            concurrency: Setting::by_default(CONCURRENCY),
            agent_timeout: Setting::by_default(AGENT_TIMEOUT),
            policy: Setting::by_default(Policy::default()),
            strict: Setting::by_default(false),
            filters: Setting::by_default(Filters::default()),
            hostname: Setting::by_default(Pattern::Name),
            prefix: Setting::by_default("pve_".to_owned()),
            nodes: Setting::by_default(false),
            facts: Setting::by_default(Facts::Slim),
            cloud_init_user: Setting::by_default(false),
            cache: Setting::by_default(0),
            cache_dir: None,
            stale_if_error: Setting::by_default(false),
            silent_memory: Setting::by_default(SILENT_MEMORY),
        }
    }
}
