//! Asking the clusters, or the cache in their place.

mod cluster;
mod endpoints;
mod extras;
mod reasons;
mod rights;

use std::collections::BTreeMap;

use futures_util::future::join_all;

use crate::cache::{self, Cache};
use crate::config::{Config, Facts};
use crate::error::Error;
use crate::guest::Guest;
use crate::spec::Spec;

use reasons::unread;

/// All that was read.
#[derive(Debug, Default)]
pub(crate) struct Fetched {
    /// The guests, by cluster and vmid.
    pub(crate) guests: Vec<Guest>,
    /// The nodes, if they were asked for.
    pub(crate) nodes: Vec<Node>,
    /// What could not be read, beside what stands at single guests.
    pub(crate) warnings: Vec<String>,
    /// What is said on standard error although there is an inventory.
    pub(crate) loud: Vec<String>,
    /// The clusters, in the configuration's order.
    pub(crate) clusters: Vec<Source>,
}

/// Where a cluster was read.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// What it is called.
    pub(crate) name: Option<String>,
    /// Which of its endpoints answered.
    pub(crate) endpoint: usize,
}

/// A node of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Node {
    #[serde(skip)]
    pub(crate) cluster: usize,
    pub(crate) name: String,
    pub(crate) online: bool,
    pub(crate) address: Option<String>,
}

/// One cluster's answer.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) endpoint: usize,
    pub(crate) guests: Vec<Guest>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) warnings: Vec<String>,
}

/// What is wanted of a run beside its configuration.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wish {
    /// The cache is not looked at.
    pub(crate) refresh: bool,
    /// All of every guest's configuration is kept.
    pub(crate) whole: bool,
}

/// Reads all clusters. Fails only when none can be read, or when nothing may be missing.
pub(crate) async fn fetch(config: &Config, specs: &[Spec], wish: Wish) -> Result<Fetched, Error> {
    let whole = wish.whole || config.facts.value == Facts::Full;
    let wish = Wish { whole, ..wish };
    let several = config.clusters.len() > 1;
    let outcomes =
        join_all((0..config.clusters.len()).map(|index| one(config, index, specs, wish))).await;
    let mut fetched = Fetched::default();
    let mut failures = Vec::new();
    for (index, outcome) in outcomes.into_iter().enumerate() {
        let name = config.clusters[index].name.clone();
        let mut source = Source { name: name.clone(), endpoint: 0 };
        let said = |text: &str| match &name {
            Some(name) if several => format!("cluster '{name}': {text}"),
            _ => text.to_owned(),
        };
        match outcome {
            Ok((answer, loud)) => {
                source.endpoint = answer.endpoint;
                fetched.guests.extend(answer.guests);
                fetched.nodes.extend(answer.nodes);
                fetched.warnings.extend(answer.warnings.iter().map(|text| said(text)));
                fetched.warnings.extend(loud.iter().map(|text| said(text)));
                fetched.loud.extend(loud.iter().map(|text| said(text)));
            }
            Err(error) => match &name {
                Some(name) if several => {
                    failures.push(Error::Cluster { name: name.clone(), source: Box::new(error) });
                }
                _ => failures.push(error),
            },
        }
        fetched.clusters.push(source);
    }
    if !failures.is_empty() && (failures.len() == config.clusters.len() || config.strict.value) {
        if failures.len() == 1 {
            return Err(failures.remove(0));
        }
        let texts: Vec<String> = failures.iter().map(ToString::to_string).collect();
        return Err(Error::Unreachable(texts.join("; ")));
    }
    fetched.warnings.extend(failures.iter().map(ToString::to_string));
    if config.strict.value {
        complete(&fetched)?;
    }
    Ok(fetched)
}

/// Reads one cluster: from its cache while that is fresh, else from its nodes.
async fn one(
    config: &Config,
    index: usize,
    specs: &[Spec],
    wish: Wish,
) -> Result<(Answer, Vec<String>), Error> {
    let cache = Cache::of(config, index, wish.whole);
    let now = cache::now();
    let held = cache.as_ref().map(Cache::read).unwrap_or_default();
    let age = held.age(now);
    if !wish.refresh && age.is_some_and(|age| age < config.cache.value.into()) {
        return Ok((held.answer(index, &config.policy.value), Vec::new()));
    }
    let silent = if wish.refresh { BTreeMap::new() } else { held.silent(now, config) };
    match cluster::read(config, index, specs, wish.whole, &silent).await {
        Ok(answer) => {
            let mut loud = Vec::new();
            if let Some(cache) = &cache {
                let written = cache.write(held, &answer, &silent, now);
                loud.extend(written.err().map(|error| error.to_string()));
            }
            Ok((answer, loud))
        }
        Err(error) => match age.filter(|_| config.stale_if_error.value) {
            Some(age) => {
                let loud = format!("this is {age} s old, from the cache (stale_if_error): {error}");
                Ok((held.answer(index, &config.policy.value), vec![loud]))
            }
            None => Err(error),
        },
    }
}

/// With `strict` nothing may be missing.
fn complete(fetched: &Fetched) -> Result<(), Error> {
    let guests = fetched.guests.iter().filter_map(|guest| {
        let reason = guest.reason().filter(|reason| unread(reason.kind))?;
        Some(format!("{} {}: {}", guest.kind.noun(), guest.vmid, reason.text))
    });
    let missing: Vec<String> = fetched.warnings.iter().cloned().chain(guests).collect();
    match &missing[..] {
        [] => Ok(()),
        [only] => Err(Error::Strict(only.clone())),
        [first, rest @ ..] => Err(Error::Strict(format!("{first} (and {} more)", rest.len()))),
    }
}
