//! `/nodes`.

mod content;
mod download;
mod fetch;
mod lxc;
pub(crate) mod qemu;
pub(crate) mod status;
mod storage;
mod tasks;

use super::call::Route;

/// The calls below `/nodes`.
pub(crate) fn routes() -> Vec<Route> {
    [
        status::ROUTES,
        tasks::ROUTES,
        storage::ROUTES,
        content::ROUTES,
        download::ROUTES,
        lxc::ROUTES,
        qemu::ROUTES,
    ]
    .concat()
}
