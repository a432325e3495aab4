//! `/access`: tickets, permissions, users, tokens, roles and grants.

mod roles;
mod tickets;
mod users;

use super::call::Route;

const ROUTES: &[Route] = &[
    ("POST", "/access/ticket", tickets::create),
    ("GET", "/access/permissions", tickets::permissions),
    ("GET", "/access/domains", roles::domains),
    ("GET", "/access/users", users::list),
    ("POST", "/access/users", users::create),
    ("GET", "/access/users/{userid}", users::get),
    ("DELETE", "/access/users/{userid}", users::delete),
    ("GET", "/access/users/{userid}/token", users::tokens),
    ("GET", "/access/users/{userid}/token/{tokenid}", users::token),
    ("POST", "/access/users/{userid}/token/{tokenid}", users::create_token),
    ("DELETE", "/access/users/{userid}/token/{tokenid}", users::delete_token),
    ("GET", "/access/acl", roles::acl),
    ("PUT", "/access/acl", roles::grant),
    ("GET", "/access/roles", roles::list),
    ("GET", "/access/roles/{roleid}", roles::get),
    ("POST", "/access/roles", roles::create),
    ("DELETE", "/access/roles/{roleid}", roles::delete),
    ("GET", "/access/groups", roles::groups),
    ("POST", "/access/groups", roles::create_group),
];

/// The calls below `/access`.
pub(crate) fn routes() -> &'static [Route] {
    ROUTES
}
