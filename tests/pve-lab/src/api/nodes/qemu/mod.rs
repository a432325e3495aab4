//! `/nodes/{node}/qemu`.

mod agent;
mod checks;
mod clone;
mod cloudinit;
mod config;
mod create;
mod destroy;
mod disks;
mod firewall;
mod misc;
mod password;
mod pending;
mod power;
mod resize;
mod restore;
mod snapshot;
pub(crate) mod status;
mod template;
mod update;
pub(crate) mod values;
pub(crate) mod volumes;

use super::super::call::Route;

pub(crate) const ROUTES: &[Route] = &[
    ("GET", "/nodes/{node}/vzdump/extractconfig", restore::extract),
    ("GET", "/nodes/{node}/qemu", status::list),
    ("POST", "/nodes/{node}/qemu", create::create),
    ("DELETE", "/nodes/{node}/qemu/{vmid}", destroy::destroy),
    ("GET", "/nodes/{node}/qemu/{vmid}/config", config::get),
    ("PUT", "/nodes/{node}/qemu/{vmid}/config", config::put),
    ("POST", "/nodes/{node}/qemu/{vmid}/config", config::post),
    ("GET", "/nodes/{node}/qemu/{vmid}/pending", pending::list),
    ("PUT", "/nodes/{node}/qemu/{vmid}/unlink", config::unlink),
    ("GET", "/nodes/{node}/qemu/{vmid}/status/current", status::current),
    ("POST", "/nodes/{node}/qemu/{vmid}/status/start", power::start),
    ("POST", "/nodes/{node}/qemu/{vmid}/status/stop", power::stop),
    ("POST", "/nodes/{node}/qemu/{vmid}/status/shutdown", power::shutdown),
    ("POST", "/nodes/{node}/qemu/{vmid}/status/reboot", power::reboot),
    ("POST", "/nodes/{node}/qemu/{vmid}/status/reset", power::reset),
    ("POST", "/nodes/{node}/qemu/{vmid}/status/suspend", power::suspend),
    ("POST", "/nodes/{node}/qemu/{vmid}/status/resume", power::resume),
    ("GET", "/nodes/{node}/qemu/{vmid}/cloudinit", cloudinit::list),
    ("PUT", "/nodes/{node}/qemu/{vmid}/cloudinit", cloudinit::regenerate),
    ("GET", "/nodes/{node}/qemu/{vmid}/cloudinit/dump", cloudinit::dump),
    ("PUT", "/nodes/{node}/qemu/{vmid}/resize", resize::resize),
    ("POST", "/nodes/{node}/qemu/{vmid}/move_disk", resize::move_disk),
    ("POST", "/nodes/{node}/qemu/{vmid}/clone", clone::clone),
    ("POST", "/nodes/{node}/qemu/{vmid}/template", template::template),
    ("GET", "/nodes/{node}/qemu/{vmid}/feature", misc::feature),
    ("GET", "/nodes/{node}/qemu/{vmid}/migrate", misc::migrate_check),
    ("POST", "/nodes/{node}/qemu/{vmid}/migrate", misc::migrate),
    ("GET", "/nodes/{node}/qemu/{vmid}/rrddata", misc::rrd),
    ("GET", "/nodes/{node}/qemu/{vmid}/snapshot", snapshot::list),
    ("POST", "/nodes/{node}/qemu/{vmid}/snapshot", snapshot::create),
    ("DELETE", "/nodes/{node}/qemu/{vmid}/snapshot/{snapname}", snapshot::delete),
    ("GET", "/nodes/{node}/qemu/{vmid}/snapshot/{snapname}/config", snapshot::config),
    ("PUT", "/nodes/{node}/qemu/{vmid}/snapshot/{snapname}/config", snapshot::describe),
    ("POST", "/nodes/{node}/qemu/{vmid}/snapshot/{snapname}/rollback", snapshot::rollback),
    ("GET", "/nodes/{node}/qemu/{vmid}/firewall/options", firewall::options),
    ("GET", "/nodes/{node}/qemu/{vmid}/firewall/rules", firewall::list),
    ("POST", "/nodes/{node}/qemu/{vmid}/firewall/rules", firewall::add),
    ("GET", "/nodes/{node}/qemu/{vmid}/agent/get-fsinfo", agent::run),
    ("GET", "/nodes/{node}/qemu/{vmid}/agent/get-host-name", agent::run),
    ("GET", "/nodes/{node}/qemu/{vmid}/agent/get-osinfo", agent::run),
    ("GET", "/nodes/{node}/qemu/{vmid}/agent/get-time", agent::run),
    ("GET", "/nodes/{node}/qemu/{vmid}/agent/get-timezone", agent::run),
    ("GET", "/nodes/{node}/qemu/{vmid}/agent/get-users", agent::run),
    ("GET", "/nodes/{node}/qemu/{vmid}/agent/get-vcpus", agent::run),
    ("GET", "/nodes/{node}/qemu/{vmid}/agent/info", agent::run),
    ("GET", "/nodes/{node}/qemu/{vmid}/agent/network-get-interfaces", agent::run),
    ("POST", "/nodes/{node}/qemu/{vmid}/agent/ping", agent::run),
    ("POST", "/nodes/{node}/qemu/{vmid}/agent/fsfreeze-freeze", agent::run),
    ("POST", "/nodes/{node}/qemu/{vmid}/agent/fsfreeze-status", agent::run),
    ("POST", "/nodes/{node}/qemu/{vmid}/agent/fsfreeze-thaw", agent::run),
    ("POST", "/nodes/{node}/qemu/{vmid}/agent/fstrim", agent::run),
    ("POST", "/nodes/{node}/qemu/{vmid}/agent/shutdown", agent::run),
    ("POST", "/nodes/{node}/qemu/{vmid}/agent/exec", agent::exec),
    ("GET", "/nodes/{node}/qemu/{vmid}/agent/exec-status", agent::exec_status),
    ("GET", "/nodes/{node}/qemu/{vmid}/agent/file-read", agent::file_read),
    ("POST", "/nodes/{node}/qemu/{vmid}/agent/file-write", agent::file_write),
    ("POST", "/nodes/{node}/qemu/{vmid}/agent/set-user-password", agent::set_password),
];
