//! What can be told wrong without asking anyone.

use ansible_module::Failure;

use crate::params::Params;

/// Names that PVE keeps for the machine as it is and as it will be.
const RESERVED: [&str; 2] = ["current", "pending"];

/// Checks what a task asks for.
///
/// # Errors
/// Names the option, what was given and what is allowed.
pub(crate) fn check(params: &Params) -> Result<(), Failure> {
    params.connection.check()?;
    let snapname = &params.snapname;
    if RESERVED.contains(&snapname.as_str()) {
        return Err(Failure::new(format!(
            "snapname: '{snapname}' is PVE's own word for the machine itself, not a snapshot's name"
        )));
    }
    // PVE::JSONSchema, format pve-configid
    let rest = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if !snapname.starts_with(|c: char| c.is_ascii_alphabetic())
        || !snapname.bytes().all(rest)
        || !(2..=40).contains(&snapname.len())
    {
        return Err(Failure::new(format!(
            "snapname: '{snapname}' is not a snapshot's name: a letter, then letters, digits, '-' \
             and '_', from 2 to 40 characters"
        )));
    }
    match (&params.retention, &params.retention_pattern) {
        (Some(_), None) => Err(Failure::new(
            "retention: give retention_pattern as well: only snapshots that it matches are removed",
        )),
        (Some(_), Some(pattern)) if !pattern.matches(snapname) => Err(Failure::new(format!(
            "retention_pattern: '{pattern}' does not match snapname '{snapname}', so that the \
             snapshots of this task would never be removed"
        ))),
        _ => Ok(()),
    }
}
