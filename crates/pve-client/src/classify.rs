//! What PVE means by its texts. This is the only place that looks at them; each pattern stands
//! beside who emits it.
//!
//! The same words come as the answer of a call or, a moment later, as the exit status of a task.

use std::collections::BTreeMap;

/// What a refusal means, as far as a caller may act on it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// The token, password or ticket is not accepted.
    Unauthorized,
    /// The password is right and a second factor is asked for.
    SecondFactor,
    /// A privilege is missing.
    Forbidden {
        /// Where it is missing, if the server says so.
        path: Option<String>,
        /// Which one; any of these would do.
        privileges: Vec<String>,
    },
    /// What was asked about does not exist.
    Gone,
    /// The guest is locked, for example by `backup`.
    Locked(String),
    /// The guest's configuration was locked for too long; it may be free again.
    LockTimeout,
    /// The configuration is not the one that was read.
    DigestMismatch,
    /// A file is not the one whose checksum was given.
    Checksum,
    /// It exists already.
    Exists,
    /// The guest does not run.
    NotRunning,
    /// The guest runs already.
    AlreadyRunning,
    /// The guest must not run for this.
    Running,
    /// The guest's protection mode forbids it.
    Protected,
    /// Only `root@pam` itself may do this.
    RootOnly,
    /// The guest's configuration has no agent.
    AgentNotConfigured,
    /// The guest's agent does not answer.
    AgentNotRunning,
    /// This server has no such call.
    NotImplemented,
    /// Parameters are wrong.
    Parameter,
    /// A running guest did not let go of a device, or did not take it; the change is kept as
    /// pending.
    Hotplug,
    /// A command on the node took longer than the node gives it; it may well do the next time.
    CommandTimeout,
    /// Anything else.
    Other,
}

/// What this answer means.
pub(crate) fn answer(status: u16, message: &str, errors: &BTreeMap<String, String>) -> Kind {
    match status {
        401 => Kind::Unauthorized,
        403 => forbidden(message),
        501 | 506 => Kind::NotImplemented,
        _ => {
            // a parameter's text may tell more than that it is wrong: nextid says "already exists"
            let told = errors.values().map(|text| text_of(text)).find(|kind| *kind != Kind::Other);
            match text_of(message) {
                Kind::Other if !errors.is_empty() => told.unwrap_or(Kind::Parameter),
                Kind::Other if status == 400 => Kind::Parameter,
                kind => kind,
            }
        }
    }
}

/// What this exit status of a task means.
pub(crate) fn exit(message: &str) -> Kind {
    if message.contains("Permission check failed") { forbidden(message) } else { text_of(message) }
}

/// PVE::RPCEnvironment: `Permission check failed (/vms/110, VM.Config.Disk|VM.Config.CDROM)`.
fn forbidden(message: &str) -> Kind {
    let inner = message.split_once('(').and_then(|(_, rest)| rest.rsplit_once(')')).map(|(i, _)| i);
    let parts = inner.and_then(|inner| inner.split_once(','));
    match parts {
        Some((path, privileges)) if path.starts_with('/') => Kind::Forbidden {
            path: Some(path.trim().to_owned()),
            privileges: privileges.trim().split('|').map(str::to_owned).collect(),
        },
        _ => Kind::Forbidden { path: None, privileges: Vec::new() },
    }
}

fn text_of(message: &str) -> Kind {
    let has = |part: &str| message.contains(part);
    // PVE::AbstractConfig: `VM is locked (backup)`, `CT is locked (snapshot)`
    if let Some((_, lock)) = message.split_once(" is locked (") {
        return Kind::Locked(lock.split(')').next().unwrap_or_default().to_owned());
    }
    // PVE::Tools::lock_file: `can't lock file '/var/lock/qemu-server/lock-113.conf' - got timeout`
    if has("can't lock file") && has("got timeout") {
        return Kind::LockTimeout;
    }
    // PVE::Tools::run_command: `command '/usr/bin/qemu-img resize ...' failed: got timeout`
    if has("command '/") && has("got timeout") {
        return Kind::CommandTimeout;
    }
    // PVE::QemuServer::vmconfig_hotplug_pending
    if has("hotplug problem - ") {
        return Kind::Hotplug;
    }
    // PVE::Tools::download_file_from_url and the upload's task
    if has("checksum mismatch: got ") {
        return Kind::Checksum;
    }
    // PVE::Tools::assert_if_modified, before 7 without the hint in parentheses
    if has("detected modified configuration") || has("checksum mismatch") {
        return Kind::DigestMismatch;
    }
    // PVE::QemuServer::Agent
    if has("No QEMU guest agent configured") {
        return Kind::AgentNotConfigured;
    }
    if has("QEMU guest agent is not running") || (has("guest-") && has("got timeout")) {
        return Kind::AgentNotRunning;
    }
    // PVE::AbstractConfig, `protection mode enabled`
    if has("protection mode enabled") {
        return Kind::Protected;
    }
    // PVE::QemuServer::check_running and PVE::API2::LXC::Status
    if has("already running") {
        return Kind::AlreadyRunning;
    }
    if has("not running") {
        return Kind::NotRunning;
    }
    // PVE::API2::Qemu::destroy_vm, PVE::API2::LXC::destroy_vm, `template`
    if has("is running - destroy failed") || has("container is running") || has("if VM is running")
    {
        return Kind::Running;
    }
    // PVE::API2::Qemu::check_vm_modify_config_perm, PVE::Storage
    let lower = message.to_ascii_lowercase();
    if lower.starts_with("only root can ") || lower.starts_with("only root may ") {
        return Kind::RootOnly;
    }
    // the role or bridge that a request names is a wrong parameter, not the thing that is gone
    if has("ACL update failed") || has("bridge '") {
        return Kind::Other;
    }
    // PVE::AbstractConfig::load_config, PVE::QemuConfig, PVE::Storage, PVE::AccessControl, tasks
    if (has("onfiguration file") && (has("does not exist") || has("unable to find")))
        || (has("storage '") && has("does not exist"))
        // PVE::AbstractConfig::snapshot_delete
        || (has("snapshot '") && has("does not exist"))
        || has("no such user")
        || has("no such task")
        // PVE::API2::Pool
        || has("no such pool")
        || has("no such resource")
        || (has("volume_size_info on") && has("no format"))
    {
        return Kind::Gone;
    }
    // PVE::AbstractConfig::__snapshot_prepare: `snapshot name 'pre' already used`
    if has("snapshot name '") && has("already used") {
        return Kind::Exists;
    }
    if has("already exists") || has("already defined") || has("refusing to override existing") {
        return Kind::Exists;
    }
    Kind::Other
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn answers_as_recorded() {
        let forbidden = |path: Option<&str>, privileges: &[&str]| Kind::Forbidden {
            path: path.map(str::to_owned),
            privileges: privileges.iter().map(|p| (*p).to_owned()).collect(),
        };
        for (status, message, kind) in [
            (401, "Authentication failed!", Kind::Unauthorized),
            (401, "invalid token value!", Kind::Unauthorized),
            (403, "Permission check failed", forbidden(None, &[])),
            (403, "Permission check failed (pool 'nopool' does not exist)", forbidden(None, &[])),
            (
                403,
                "Permission check failed (/vms/110, VM.Config.Disk|VM.Config.CDROM)",
                forbidden(Some("/vms/110"), &["VM.Config.Disk", "VM.Config.CDROM"]),
            ),
            (
                500,
                "Configuration file 'nodes/pve1/qemu-server/9999.conf' does not exist",
                Kind::Gone,
            ),
            (500, "unable to find configuration file for VM 9999 on node 'pve1'", Kind::Gone),
            (500, "storage 'nostore' does not exist", Kind::Gone),
            (500, "no such user ('bob@pve')", Kind::Gone),
            (500, "no such pool 'prod'", Kind::Gone),
            (500, "snapshot 'pre' does not exist", Kind::Gone),
            (500, "snapshot name 'pre' already used", Kind::Exists),
            (500, "VM is locked (backup)", Kind::Locked("backup".into())),
            (
                500,
                "can't lock file '/var/lock/qemu-server/lock-113.conf' - got timeout",
                Kind::LockTimeout,
            ),
            (500, "checksum mismatch (file change by other user?)", Kind::DigestMismatch),
            (500, "unable to create VM 110 - VM 110 already exists on node 'pve1'", Kind::Exists),
            (500, "unable to create VM 131: config file already exists", Kind::Exists),
            (500, "VM 110 not running", Kind::NotRunning),
            (500, "VM 110 is not running", Kind::NotRunning),
            (500, "CT 200 already running", Kind::AlreadyRunning),
            (500, "VM 110 is running - destroy failed", Kind::Running),
            (500, "unable to destroy CT 220 - container is running", Kind::Running),
            (500, "can't remove VM 210 - protection mode enabled", Kind::Protected),
            (500, "only root can set 'args' config", Kind::RootOnly),
            (500, "Only root can pass arbitrary filesystem paths. at X line 651.", Kind::RootOnly),
            (500, "No QEMU guest agent configured", Kind::AgentNotConfigured),
            (500, "QEMU guest agent is not running", Kind::AgentNotRunning),
            (500, "VM 100 qmp command 'guest-ping' failed - got timeout", Kind::AgentNotRunning),
            (500, "bridge 'vmbr9' does not exist", Kind::Other),
            (500, "ACL update failed: role 'NoSuchRole' does not exist", Kind::Other),
            (501, "Method 'GET /nosuch' not implemented", Kind::NotImplemented),
            (500, "no such cluster node 'pve9'", Kind::Other),
        ] {
            assert_eq!(answer(status, message, &errors(&[])), kind, "{message}");
        }
    }

    #[test]
    fn a_parameters_text_may_say_more() {
        for (pairs, kind) in [
            (&[("onboot", "type check ('boolean') failed - got 'yes'")][..], Kind::Parameter),
            (&[("vmid", "VM 110 already exists")], Kind::Exists),
            (&[("upid", "no such task")], Kind::Gone),
            (&[("net0", "hotplug problem - error on hot-unplugging device 'net0'")], Kind::Hotplug),
            (&[("skiplock", "Only root may use this option.")], Kind::RootOnly),
        ] {
            assert_eq!(answer(400, "Parameter verification failed.", &errors(pairs)), kind);
        }
        assert_eq!(answer(400, "Bad Request", &errors(&[])), Kind::Parameter);
    }

    #[test]
    fn a_task_says_the_same_words() {
        assert_eq!(exit("VM is locked (backup)"), Kind::Locked("backup".into()));
        assert_eq!(exit("can't lock file 'x' - got timeout"), Kind::LockTimeout);
        assert_eq!(
            exit("command '/usr/bin/qemu-img resize -f qcow2 x 10G' failed: got timeout"),
            Kind::CommandTimeout
        );
        assert_eq!(
            exit("Permission check failed (/storage/x, Datastore.AllocateSpace)"),
            Kind::Forbidden {
                path: Some("/storage/x".into()),
                privileges: vec!["Datastore.AllocateSpace".into()]
            }
        );
        assert_eq!(exit("shrinking disks is not supported"), Kind::Other);
        assert_eq!(exit("checksum mismatch: got 'ab' != expect 'cd'"), Kind::Checksum);
        assert_eq!(exit("refusing to override existing file '/x.iso'"), Kind::Exists);
    }
}
