//! `/nodes/{node}/storage/{storage}/content`: the volumes, which are files.

use std::fs;
use std::time::UNIX_EPOCH;

use serde_json::{Value, json};

use super::super::call::{Call, Route};
use super::super::error::{ApiError, ApiResult};
use super::download::PARTIAL;
use super::qemu::volumes;
use crate::driver::VolumeFormat;
use crate::state::storage::{Storage, Volume, folder};

pub(crate) const ROUTES: &[Route] = &[
    ("GET", "/nodes/{node}/storage/{storage}/content", list),
    ("POST", "/nodes/{node}/storage/{storage}/content", allocate),
    ("GET", "/nodes/{node}/storage/{storage}/content/{volume}", get),
    ("DELETE", "/nodes/{node}/storage/{storage}/content/{volume}", delete),
];

fn storage(call: &Call) -> Result<Storage, ApiError> {
    let state = call.state();
    let storage = state.storage(call.params.text("storage")).map_err(ApiError::internal)?;
    Ok(storage.at(call.node()))
}

/// The base of a linked clone, by the configuration that uses it.
fn base_of(call: &Call, storage: &str, vmid: u32, name: &str) -> Option<String> {
    let state = call.state();
    let guest = state.guests.get(&vmid)?;
    guest.config.main.values().find_map(|value| {
        let volume = Volume::parse(value.split(',').next()?)?;
        (volume.storage == storage && volume.name == name).then_some(volume.base)?
    })
}

fn rows(call: &Call, storage: &Storage, content: &str) -> Vec<Value> {
    let mut rows = Vec::new();
    let root = storage.files(content).join(folder(content));
    let mut files = Vec::new();
    for entry in fs::read_dir(&root).into_iter().flatten().flatten() {
        let path = entry.path();
        let owner = entry.file_name().to_string_lossy().parse::<u32>().ok();
        match owner.filter(|_| content == "images" && path.is_dir()) {
            Some(vmid) => files.extend(
                fs::read_dir(&path).into_iter().flatten().flatten().map(|e| (Some(vmid), e.path())),
            ),
            // the endings of such names are none that PVE lists
            None if path.to_string_lossy().contains(PARTIAL) => {}
            None if path.is_file() => files.push((None, path)),
            None => {}
        }
    }
    files.sort();
    for (vmid, path) in files {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        let Ok(meta) = fs::metadata(&path) else { continue };
        let ctime = meta
            .modified()
            .ok()
            .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
            .map_or(0, |age| age.as_secs());
        let mut row = json!({"content": content, "ctime": ctime});
        match vmid {
            Some(vmid) => {
                let Ok(info) = call.shared.driver.volume_info(&path) else { continue };
                let own = format!("{vmid}/{name}");
                let base = base_of(call, &storage.id, vmid, name);
                row["parent"] = json!(base.as_ref().map(|base| format!("../{base}")));
                let below = base.map_or_else(|| own.clone(), |base| format!("{base}/{own}"));
                row["volid"] = json!(format!("{}:{below}", storage.id));
                row["vmid"] = json!(vmid);
                row["format"] = json!(VolumeFormat::of_path(&path).as_str());
                row["size"] = json!(info.virtual_size);
                row["used"] = json!(info.used);
            }
            None => {
                let format = match content {
                    "iso" => "iso",
                    "snippets" => "snippet",
                    "vztmpl" if name.ends_with(".zst") => "tzst",
                    "vztmpl" if name.ends_with(".xz") => "txz",
                    "vztmpl" => "tgz",
                    _ => VolumeFormat::of_path(&path).as_str(),
                };
                row["volid"] = json!(format!("{}:{content}/{name}", storage.id));
                row["format"] = json!(format);
                row["size"] = json!(meta.len());
            }
        }
        rows.push(row);
    }
    rows
}

fn list(call: Call) -> ApiResult {
    let storage = storage(&call)?;
    let wanted = call.params.get("content");
    let vmid = call.params.number("vmid");
    let mut all = Vec::new();
    for content in ["images", "iso", "vztmpl", "import", "snippets", "backup"] {
        if storage.holds(content) && wanted.is_none_or(|wanted| wanted == content) {
            all.extend(rows(&call, &storage, content));
        }
    }
    if let Some(vmid) = vmid {
        // only disks have an owner, and only these two are left out for want of one
        all.retain(|row| match row["content"].as_str() {
            Some("images") => row["vmid"] == json!(vmid),
            Some("iso" | "vztmpl") => false,
            _ => true,
        });
    }
    Ok(json!(all))
}

/// A volume's id, given with or without the storage.
fn volid(call: &Call) -> String {
    let volume = call.params.text("volume");
    if volume.contains(':') {
        volume.to_owned()
    } else {
        format!("{}:{volume}", call.params.text("storage"))
    }
}

fn get(call: Call) -> ApiResult {
    let storage = storage(&call)?;
    let volid = volid(&call);
    let missing =
        || ApiError::internal(format!("volume_size_info on '{volid}' failed - no format"));
    let volume = Volume::parse(&volid).ok_or_else(missing)?;
    let info = call.shared.driver.volume_info(&volume.file(&storage)).map_err(|_| missing())?;
    Ok(
        json!({"path": volume.shown(&storage), "format": VolumeFormat::of_path(&volume.file(&storage)).as_str(),
        "size": info.virtual_size, "used": info.used}),
    )
}

fn allocate(call: Call) -> ApiResult {
    let storage = storage(&call)?;
    let owner = call.vmid();
    let name = call.params.text("filename").to_owned();
    let size = super::super::size::parse(call.params.text("size"))
        .map(|size| if call.params.text("size").ends_with(['M', 'G']) { size } else { size << 10 })
        .unwrap_or(0);
    let format = volumes::format_of(call.params.get("format").unwrap_or("raw"));
    let volid = format!("{}:{owner}/{name}", storage.id);
    let volume = Volume::parse(&volid)
        .ok_or_else(|| ApiError::internal(format!("unable to parse volume ID '{volid}'")))?;
    let file = volume.file(&storage);
    if file.exists() {
        return Err(ApiError::internal(format!(
            "disk image '{}' already exists",
            volume.shown(&storage)
        )));
    }
    call.shared
        .driver
        .create_volume(&file, format, size)
        .map_err(|e| ApiError::internal(e.to_string()))?;
    Ok(json!(volid))
}

fn delete(call: Call) -> ApiResult {
    let storage = storage(&call)?;
    let volid = volid(&call);
    let Some(volume) = Volume::parse(&volid) else {
        return Err(ApiError::internal(format!("unable to parse directory volume name '{volid}'")));
    };
    let path = format!("/storage/{}", storage.id);
    if !call.allows(&path, "Datastore.Allocate") {
        let template = matches!(volume.content.as_str(), "iso" | "vztmpl" | "import");
        let needed =
            if template { "Datastore.AllocateTemplate" } else { "Datastore.AllocateSpace" };
        call.require(&path, needed)?;
    }
    let id = match volume.vmid {
        Some(vmid) => format!("{vmid}@{}", storage.id),
        None => storage.id.clone(),
    };
    let shared = std::sync::Arc::clone(&call.shared);
    call.task("imgdel", &id, move |task| {
        volumes::refuse_base_in_use(&shared.state(), &volume)
            .map_err(|base| format!("base volume '{base}' is still in use by linked clones"))?;
        let file = volume.file(&storage);
        if file.exists() {
            shared.driver.remove_volume(&file).map_err(|e| e.to_string())?;
        } else {
            task.log(format!("disk image '{}' does not exist", volume.shown(&storage)));
        }
        task.log(format!("Removed volume '{volid}'"));
        Ok(())
    })
}
