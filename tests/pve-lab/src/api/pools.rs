//! `/pools`.

use serde_json::{Value, json};

use super::call::{Call, NOTHING, Route};
use super::cluster::resources;
use super::error::{ApiError, ApiResult};
use crate::state::{Pool, State};

pub(crate) const ROUTES: &[Route] = &[
    ("GET", "/pools", list),
    ("POST", "/pools", create),
    ("PUT", "/pools", update),
    ("DELETE", "/pools", delete),
    ("GET", "/pools/{poolid}", get),
    ("PUT", "/pools/{poolid}", update),
    ("DELETE", "/pools/{poolid}", delete),
];

fn row(call: &Call, state: &State, name: &str, pool: &Pool, members: bool) -> Value {
    let mut row = json!({"poolid": name});
    if let Some(comment) = &pool.comment {
        row["comment"] = json!(comment);
    }
    if members {
        let rows: Vec<Value> = pool
            .guests
            .iter()
            .filter_map(|vmid| state.guests.get(vmid))
            .map(|guest| {
                let mut row = resources::guest_row(&call.shared, state, guest);
                if let Some(map) = row.as_object_mut() {
                    map.shift_remove("pool");
                }
                row
            })
            .collect();
        row["members"] = json!(rows);
    }
    row
}

fn missing(name: &str) -> ApiError {
    ApiError::internal(format!("no such pool '{name}'"))
}

fn list(call: Call) -> ApiResult {
    if let Some(name) = call.params.get("poolid") {
        call.require(&format!("/pool/{name}"), "Pool.Audit")?;
    }
    let state = call.state();
    if let Some(name) = call.params.get("poolid") {
        let pool = state.cluster.pools.get(name).ok_or_else(|| missing(name))?;
        return Ok(json!([row(&call, &state, name, pool, true)]));
    }
    let sees =
        |name: &str| state.cluster.access.allows(&call.who, &format!("/pool/{name}"), "Pool.Audit");
    Ok(state
        .cluster
        .pools
        .iter()
        .filter(|(name, _)| sees(name))
        .map(|(name, pool)| row(&call, &state, name, pool, false))
        .collect())
}

fn get(call: Call) -> ApiResult {
    let name = call.params.text("poolid");
    call.require(&format!("/pool/{name}"), "Pool.Audit")?;
    let state = call.state();
    let pool = state.cluster.pools.get(name).ok_or_else(|| missing(name))?;
    let mut row = row(&call, &state, name, pool, true);
    if let Some(map) = row.as_object_mut() {
        map.shift_remove("poolid");
    }
    Ok(row)
}

fn create(call: Call) -> ApiResult {
    let name = call.params.text("poolid").to_owned();
    call.require(&format!("/pool/{name}"), "Pool.Allocate")?;
    let mut state = call.state();
    if state.cluster.pools.contains_key(&name) {
        return Err(ApiError::internal(format!(
            "create pool failed: pool '{name}' already exists"
        )));
    }
    let comment = call.params.get("comment").map(str::to_owned);
    state.cluster.pools.insert(name, Pool { comment, ..Pool::default() });
    state.save_cluster();
    NOTHING
}

fn update(call: Call) -> ApiResult {
    let name = call.params.text("poolid").to_owned();
    call.require(&format!("/pool/{name}"), "Pool.Allocate")?;
    let remove = call.params.flag("delete");
    let guests: Vec<u32> =
        call.params.list("vms").iter().filter_map(|text| text.parse().ok()).collect();
    let mut state = call.state();
    for vmid in &guests {
        let other = state.pool_of(*vmid).map(str::to_owned);
        if let Some(other) = other.filter(|other| !remove && *other != name) {
            if !call.params.flag("allow-move") {
                return Err(ApiError::internal(format!(
                    "update pools failed: VM {vmid} belongs already to pool '{other}' and \
                     'allow-move' is not set"
                )));
            }
            if let Some(pool) = state.cluster.pools.get_mut(&other) {
                pool.guests.retain(|have| have != vmid);
            }
        }
    }
    let pool = state.cluster.pools.get_mut(&name).ok_or_else(|| missing(&name))?;
    if let Some(comment) = call.params.get("comment") {
        pool.comment = Some(comment.to_owned());
    }
    pool.guests.retain(|vmid| !guests.contains(vmid));
    for id in call.params.list("storage") {
        pool.storages.retain(|have| *have != id);
        if !remove {
            pool.storages.push(id);
        }
    }
    if !remove {
        pool.guests.extend(guests);
    }
    state.save_cluster();
    NOTHING
}

fn delete(call: Call) -> ApiResult {
    let name = call.params.text("poolid").to_owned();
    call.require(&format!("/pool/{name}"), "Pool.Allocate")?;
    let mut state = call.state();
    let pool = state.cluster.pools.get(&name).ok_or_else(|| missing(&name))?;
    if !pool.guests.is_empty() {
        return Err(ApiError::internal(format!(
            "delete pool failed: pool '{name}' is not empty (contains VMs)"
        )));
    }
    state.cluster.pools.remove(&name);
    state.save_cluster();
    NOTHING
}
