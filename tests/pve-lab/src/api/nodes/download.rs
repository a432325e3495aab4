//! Bringing files into a storage: `upload` and `download-url`.

use serde_json::json;

use super::super::call::{Call, Route};
use super::super::error::{ApiError, ApiResult, ErrorBody};
use crate::state::storage::Volume;

pub(crate) const ROUTES: &[Route] = &[
    ("POST", "/nodes/{node}/storage/{storage}/upload", upload),
    ("POST", "/nodes/{node}/storage/{storage}/download-url", download),
    ("GET", "/nodes/{node}/query-url-metadata", metadata),
];

/// Checks a file name by the content it shall be.
fn check_name(content: &str, name: &str) -> Result<(), ApiError> {
    let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    match content {
        "iso" if !ends(&[".iso", ".img"]) => {
            Err(ApiError::param("filename", "wrong file extension"))
        }
        "vztmpl" if !ends(&[".tar.gz", ".tar.xz", ".tar.zst"]) => {
            Err(ApiError::param("filename", "wrong file extension"))
        }
        "import" if !ends(&[".qcow2", ".raw", ".vmdk", ".ova"]) => {
            Err(ApiError::param("filename", "invalid filename or wrong extension"))
        }
        _ => Ok(()),
    }
}

/// The permission is checked before the body is looked at, and then there is no body in the answer.
fn upload(call: Call) -> ApiResult {
    let path = format!("/storage/{}", call.params.text("storage"));
    call.require(&path, "Datastore.AllocateTemplate")
        .map_err(|error| ApiError { body: ErrorBody::Empty, ..error })?;
    Err(ApiError { body: ErrorBody::Empty, ..ApiError::text(400, "Bad Request") })
}

fn download(call: Call) -> ApiResult {
    let storage_id = call.params.text("storage").to_owned();
    let path = format!("/storage/{storage_id}");
    call.require(&path, "Datastore.AllocateTemplate")?;
    let content = call.params.text("content").to_owned();
    let name = call.params.text("filename").to_owned();
    check_name(&content, &name)?;
    let storage = call.state().storage(&storage_id).cloned().map_err(ApiError::internal)?;
    if !storage.holds(&content) {
        return Err(ApiError::internal(format!(
            "storage '{storage_id}' does not support '{content}' content"
        )));
    }
    let url = call.params.text("url").to_owned();
    call.task("download", &name.clone(), move |task| {
        let volid = format!("{storage_id}:{content}/{name}");
        let volume = Volume::parse(&volid).ok_or("unable to parse volume ID")?;
        let shown = volume.shown(&storage);
        task.log(format!("downloading {url} to {shown}"));
        if volume.file(&storage).exists() {
            return Err(format!("refusing to override existing file '{shown}'"));
        }
        // the lab has no way out: every address is one where nobody listens
        let host = url.split('/').nth(2).unwrap_or_default();
        Err(format!("download failed: Connecting to {host}... failed: Connection refused."))
    })
}

fn metadata(call: Call) -> ApiResult {
    let url = call.params.text("url");
    let name = url.rsplit('/').next().unwrap_or_default();
    Ok(json!({"filename": name, "size": 0, "mimetype": "application/octet-stream"}))
}
