//! `template`: from now on the VM may only be cloned.

use std::sync::Arc;

use super::super::super::call::Call;
use super::super::super::error::{ApiError, ApiResult};
use super::volumes;
use crate::state::guest::drives;

/// Answers the call.
pub(crate) fn template(call: Call) -> ApiResult {
    let vmid = call.vmid();
    {
        let state = call.state();
        let guest = state.vm(call.node(), vmid).map_err(ApiError::internal)?;
        guest.check_lock().map_err(ApiError::internal)?;
        let refusal = if !guest.config.snapshots.is_empty() {
            "unable to create template, because VM contains snapshots"
        } else if guest.is_template() && call.params.get("disk").is_none() {
            "you can't convert a template to a template"
        } else if guest.running.is_some() {
            "you can't convert a VM to template if VM is running"
        } else {
            ""
        };
        if !refusal.is_empty() {
            return Err(ApiError::internal(refusal));
        }
    }
    let (shared, node) = (Arc::clone(&call.shared), call.node().to_owned());
    call.task("qmtemplate", &vmid.to_string(), move |_| {
        let _lock = shared.locks.take(vmid, shared.lock_timeout())?;
        let mut main = shared.state().vm(&node, vmid)?.config.main.clone();
        for (slot, mut drive) in drives(&main.clone()) {
            if drive.is_cdrom() {
                continue;
            }
            let (volume, storage) = volumes::locate(&shared, &drive.file)?;
            let base = drive.file.replace(&format!("/vm-{vmid}-"), &format!("/base-{vmid}-"));
            let (renamed, _) = volumes::locate(&shared, &base)?;
            std::fs::rename(volume.file(&storage), renamed.file(&storage))
                .map_err(|e| format!("failed to rename '{}': {e}", drive.file))?;
            drive.file = base;
            main.insert(slot, drive.print());
        }
        main.insert("template".to_owned(), "1".to_owned());
        let mut state = shared.state();
        state.vm_mut(&node, vmid)?.config.main = main;
        state.save_guest(vmid);
        Ok(())
    })
}
