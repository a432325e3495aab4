//! Users, tokens, roles and what they may do.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// Who makes a call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Identity {
    /// `user@realm`.
    pub(crate) user: String,
    /// The token's name, if it is one.
    pub(crate) token: Option<String>,
}

impl Identity {
    /// `root@pam` by password: the only one who may set root-only options.
    pub(crate) fn is_root(&self) -> bool {
        self.user == "root@pam" && self.token.is_none()
    }

    /// `user@realm` or `user@realm!token`.
    pub(crate) fn full(&self) -> String {
        match &self.token {
            Some(token) => format!("{}!{token}", self.user),
            None => self.user.clone(),
        }
    }
}

/// A token of a user.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Token {
    pub(crate) secret: String,
    pub(crate) privsep: bool,
    #[serde(default)]
    pub(crate) expire: u64,
    #[serde(default)]
    pub(crate) comment: Option<String>,
}

/// A user.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct User {
    #[serde(default)]
    pub(crate) password: Option<String>,
    #[serde(default)]
    pub(crate) fields: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) tokens: BTreeMap<String, Token>,
}

/// A role granted at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Grant {
    pub(crate) path: String,
    /// `user`, `group` or `token`.
    pub(crate) kind: String,
    pub(crate) who: String,
    pub(crate) role: String,
    pub(crate) propagate: bool,
}

/// The access part of the state.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Access {
    pub(crate) users: BTreeMap<String, User>,
    pub(crate) groups: BTreeMap<String, String>,
    pub(crate) roles: BTreeMap<String, BTreeSet<String>>,
    pub(crate) acl: Vec<Grant>,
    /// Privileges that do not exist in the version served.
    #[serde(skip)]
    pub(crate) old: bool,
}

const VM: &[&str] = &[
    "VM.Allocate",
    "VM.Audit",
    "VM.Backup",
    "VM.Clone",
    "VM.Config.CDROM",
    "VM.Config.CPU",
    "VM.Config.Cloudinit",
    "VM.Config.Disk",
    "VM.Config.HWType",
    "VM.Config.Memory",
    "VM.Config.Network",
    "VM.Config.Options",
    "VM.Console",
    "VM.Migrate",
    "VM.PowerMgmt",
    "VM.Snapshot",
    "VM.Snapshot.Rollback",
];
const AGENT: &[&str] = &[
    "VM.GuestAgent.Audit",
    "VM.GuestAgent.FileRead",
    "VM.GuestAgent.FileSystemMgmt",
    "VM.GuestAgent.FileWrite",
    "VM.GuestAgent.Unrestricted",
    "VM.Replicate",
];
const OTHER: &[&str] = &[
    "Datastore.Allocate",
    "Datastore.AllocateSpace",
    "Datastore.AllocateTemplate",
    "Datastore.Audit",
    "Group.Allocate",
    "Mapping.Audit",
    "Mapping.Modify",
    "Mapping.Use",
    "Permissions.Modify",
    "Pool.Allocate",
    "Pool.Audit",
    "Realm.Allocate",
    "Realm.AllocateUser",
    "SDN.Allocate",
    "SDN.Audit",
    "SDN.Use",
    "Sys.AccessNetwork",
    "Sys.Audit",
    "Sys.Console",
    "Sys.Incoming",
    "Sys.Modify",
    "Sys.PowerMgmt",
    "Sys.Syslog",
    "User.Modify",
];

impl Access {
    /// All privileges of the version served.
    pub(crate) fn all_privileges(&self) -> BTreeSet<String> {
        let agent: &[&str] = if self.old { &["VM.Monitor"] } else { AGENT };
        [VM, agent, OTHER].concat().into_iter().map(str::to_owned).collect()
    }

    /// Whether a privilege exists in the version served.
    fn exists(&self, privilege: &str) -> bool {
        let agent: &[&str] = if self.old { &["VM.Monitor"] } else { AGENT };
        [VM, agent, OTHER].iter().any(|group| group.contains(&privilege))
    }

    /// The privileges of a role, built in or made.
    pub(crate) fn role(&self, name: &str) -> Option<BTreeSet<String>> {
        if let Some(role) = self.roles.get(name) {
            return Some(role.clone());
        }
        if !BUILT_IN.contains(&name) {
            return None;
        }
        Some(self.all_privileges().into_iter().filter(|p| built_in_has(name, p)).collect())
    }

    /// Whether a role has a privilege.
    fn role_has(&self, name: &str, privilege: &str) -> bool {
        match self.roles.get(name) {
            Some(role) => role.contains(privilege),
            None => built_in_has(name, privilege),
        }
    }

    /// The names of all roles.
    pub(crate) fn role_names(&self) -> Vec<String> {
        BUILT_IN.iter().map(|name| (*name).to_owned()).chain(self.roles.keys().cloned()).collect()
    }

    /// The roles granted at a path; none if one of them takes everything away.
    fn granted(&self, kind: &str, who: &str, path: &str) -> Vec<&str> {
        let mut roles: Vec<&str> = Vec::new();
        for prefix in prefixes(path) {
            let here: Vec<&Grant> = self
                .acl
                .iter()
                .filter(|g| g.kind == kind && g.who == who && g.path == prefix)
                .filter(|g| g.propagate || prefix == path)
                .collect();
            // a grant nearer to the object replaces those above it
            if !here.is_empty() {
                roles = here.iter().map(|g| g.role.as_str()).collect();
            }
        }
        if roles.contains(&"NoAccess") { Vec::new() } else { roles }
    }

    /// What someone may do at a path.
    pub(crate) fn privileges(&self, who: &Identity, path: &str) -> BTreeSet<String> {
        self.all_privileges().into_iter().filter(|p| self.allows(who, path, p)).collect()
    }

    /// Whether someone has a privilege at a path.
    pub(crate) fn allows(&self, who: &Identity, path: &str, privilege: &str) -> bool {
        let any = |roles: Vec<&str>| roles.iter().any(|role| self.role_has(role, privilege));
        let own = if who.user == "root@pam" {
            self.exists(privilege)
        } else {
            any(self.granted("user", &who.user, path))
        };
        let Some(name) = who.token.as_ref().filter(|_| own) else { return own };
        match self.users.get(&who.user).and_then(|user| user.tokens.get(name)) {
            None => false,
            Some(token) if !token.privsep => true,
            Some(_) => any(self.granted("token", &who.full(), path)),
        }
    }
}

/// The roles that every PVE has.
const BUILT_IN: &[&str] = &[
    "Administrator",
    "NoAccess",
    "PVEAdmin",
    "PVEAuditor",
    "PVEDatastoreAdmin",
    "PVEDatastoreUser",
    "PVEMappingAdmin",
    "PVEMappingAuditor",
    "PVEMappingUser",
    "PVEPoolAdmin",
    "PVEPoolUser",
    "PVESDNAdmin",
    "PVESDNUser",
    "PVESysAdmin",
    "PVETemplateUser",
    "PVEUserAdmin",
    "PVEVMAdmin",
    "PVEVMUser",
];

/// Whether a built-in role has a privilege.
fn built_in_has(role: &str, p: &str) -> bool {
    match role {
        "Administrator" => true,
        "PVEAdmin" => !matches!(
            p,
            "Sys.PowerMgmt"
                | "Sys.Modify"
                | "Realm.Allocate"
                | "Permissions.Modify"
                | "Sys.AccessNetwork"
                | "Sys.Incoming"
                | "Mapping.Modify"
                | "SDN.Allocate"
        ),
        "PVEAuditor" => p.ends_with(".Audit"),
        "PVEVMAdmin" => p.starts_with("VM."),
        "PVEVMUser" => matches!(
            p,
            "VM.Audit"
                | "VM.Backup"
                | "VM.Config.CDROM"
                | "VM.Config.Cloudinit"
                | "VM.Console"
                | "VM.PowerMgmt"
                | "VM.GuestAgent.Audit"
                | "VM.Monitor"
        ),
        "PVETemplateUser" => matches!(p, "VM.Audit" | "VM.Clone"),
        "PVEDatastoreAdmin" => p.starts_with("Datastore."),
        "PVEDatastoreUser" => matches!(p, "Datastore.Audit" | "Datastore.AllocateSpace"),
        "PVEPoolAdmin" => p.starts_with("Pool."),
        "PVEPoolUser" => p == "Pool.Audit",
        "PVESDNAdmin" => p.starts_with("SDN.") || p == "Permissions.Modify",
        "PVESDNUser" => matches!(p, "SDN.Audit" | "SDN.Use"),
        "PVEMappingAdmin" => p.starts_with("Mapping."),
        "PVEMappingUser" => matches!(p, "Mapping.Audit" | "Mapping.Use"),
        "PVEMappingAuditor" => p == "Mapping.Audit",
        "PVESysAdmin" => {
            matches!(p, "Sys.Audit" | "Sys.Console" | "Sys.Syslog" | "Permissions.Modify")
        }
        "PVEUserAdmin" => matches!(p, "Group.Allocate" | "Realm.AllocateUser" | "User.Modify"),
        _ => false,
    }
}

/// `/`, `/vms`, `/vms/110` for `/vms/110`.
fn prefixes(path: &str) -> Vec<String> {
    let mut prefixes = vec!["/".to_owned()];
    let mut prefix = String::new();
    for part in path.split('/').filter(|part| !part.is_empty()) {
        prefix.push('/');
        prefix.push_str(part);
        prefixes.push(prefix.clone());
    }
    prefixes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearer_grants_replace_and_separated_tokens_intersect() {
        let mut access = Access::default();
        let mut user = User::default();
        user.tokens.insert(
            "sep".into(),
            Token { secret: String::new(), privsep: true, expire: 0, comment: None },
        );
        access.users.insert("ops@pve".into(), user);
        let grant = |path: &str, kind: &str, who: &str, role: &str| Grant {
            path: path.into(),
            kind: kind.into(),
            who: who.into(),
            role: role.into(),
            propagate: true,
        };
        access.acl = vec![
            grant("/vms", "user", "ops@pve", "PVEVMAdmin"),
            grant("/vms/101", "user", "ops@pve", "NoAccess"),
            grant("/vms/100", "token", "ops@pve!sep", "PVEAuditor"),
        ];
        let user = Identity { user: "ops@pve".into(), token: None };
        let token = Identity { user: "ops@pve".into(), token: Some("sep".into()) };
        for (who, path, privilege, wanted) in [
            (&user, "/vms/100", "VM.PowerMgmt", true),
            (&user, "/vms/101", "VM.PowerMgmt", false),
            (&token, "/vms/100", "VM.Audit", true),
            (&token, "/vms/100", "VM.PowerMgmt", false),
            (&token, "/vms/102", "VM.Audit", false),
        ] {
            assert_eq!(access.allows(who, path, privilege), wanted, "{who:?} {path} {privilege}");
        }
    }
}
