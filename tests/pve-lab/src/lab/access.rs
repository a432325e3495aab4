//! Callers with no more than they are given, for tests of what is refused.

use super::Lab;
use crate::random;
use crate::state::Pool;
use crate::state::access::{Grant, Token};

impl Lab {
    /// Adds a pool without members.
    pub fn add_pool(&self, name: &str) {
        self.shared.state().cluster.pools.insert(name.to_owned(), Pool::default());
    }

    /// A new token, `user@realm!name`, of a user with exactly these privileges at these paths.
    /// Returns its secret. A token of that id loses what it had.
    pub fn add_token(&self, id: &str, grants: &[(&str, &[&str])]) -> String {
        let (user, name) = id.split_once('!').unwrap_or((id, "t"));
        let secret = random::uuid();
        let mut state = self.shared.state();
        let access = &mut state.cluster.access;
        access.acl.retain(|grant| grant.who != user);
        for (number, (path, privileges)) in grants.iter().enumerate() {
            let role = format!("{}-{number}", user.split('@').next().unwrap_or(user));
            let privileges = privileges.iter().map(|privilege| (*privilege).to_owned());
            access.roles.insert(role.clone(), privileges.collect());
            access.acl.push(Grant {
                path: (*path).to_owned(),
                kind: "user".to_owned(),
                who: user.to_owned(),
                role,
                propagate: true,
            });
        }
        let token = Token { secret: secret.clone(), privsep: false, expire: 0, comment: None };
        access.users.entry(user.to_owned()).or_default().tokens.insert(name.to_owned(), token);
        state.save_cluster();
        secret
    }
}
