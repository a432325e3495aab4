//! The identifier of one task.

use std::fmt;
use std::str::FromStr;

use crate::text::text_type;
use crate::{NodeName, ParseError};

/// The identifier of one task on a node:
/// `UPID:pve1:0003A1B2:01C4E5F6:68E0A1B2:qmcreate:110:root@pam!full:`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Upid {
    /// The node that the task runs on, which is where it must be asked for.
    pub node: NodeName,
    /// The process, hexadecimal as written.
    pub pid: String,
    /// When the process began, in ticks since boot, hexadecimal as written.
    pub pstart: String,
    /// When the task began, in seconds since 1970, hexadecimal as written.
    pub starttime: String,
    /// The kind of task, for example `qmcreate`.
    pub kind: String,
    /// What it works on, often a vmid; may be empty.
    pub id: String,
    /// The user or token that started it.
    pub user: String,
}

impl Upid {
    /// When the task began, in seconds since 1970.
    #[must_use]
    pub fn started(&self) -> Option<u64> {
        u64::from_str_radix(&self.starttime, 16).ok()
    }
}

impl FromStr for Upid {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let wrong =
            || ParseError::new("a UPID", text, "UPID:NODE:PID:PSTART:STARTTIME:TYPE:ID:USER:");
        let parts: Vec<&str> = text.split(':').collect();
        let [mark, node, pid, pstart, starttime, kind, id, user, ""] = parts[..] else {
            return Err(wrong());
        };
        let hex = |part: &str| part.len() >= 8 && part.bytes().all(|b| b.is_ascii_hexdigit());
        if mark != "UPID" || !hex(pid) || !hex(pstart) || !hex(starttime) || kind.is_empty() {
            return Err(wrong());
        }
        if user.is_empty() || text.contains(char::is_whitespace) {
            return Err(wrong());
        }
        Ok(Self {
            node: node.parse().map_err(|_| wrong())?,
            pid: pid.to_owned(),
            pstart: pstart.to_owned(),
            starttime: starttime.to_owned(),
            kind: kind.to_owned(),
            id: id.to_owned(),
            user: user.to_owned(),
        })
    }
}

impl fmt::Display for Upid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { node, pid, pstart, starttime, kind, id, user } = self;
        write!(f, "UPID:{node}:{pid}:{pstart}:{starttime}:{kind}:{id}:{user}:")
    }
}

text_type!(Upid);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_and_print_are_inverse() {
        for text in [
            "UPID:pve1:0003A1B2:01C4E5F6:68E0A1B2:qmcreate:110:root@pam!full:",
            "UPID:pve1:0003A1B2:01C4E5F6:68E0A1B2:imgcopy::root@pam:",
            "UPID:pve-2:003D0A1B2:101C4E5F6:68E0A1B2:vzdump:100:ops@pve!vm:",
        ] {
            assert_eq!(text.parse::<Upid>().unwrap().to_string(), text);
        }
        let upid: Upid =
            "UPID:pve1:0003A1B2:01C4E5F6:68E0A1B2:qmstart:110:root@pam!full:".parse().unwrap();
        assert_eq!(
            (upid.node.as_str(), upid.kind.as_str(), upid.id.as_str(), upid.user.as_str()),
            ("pve1", "qmstart", "110", "root@pam!full")
        );
        assert_eq!(upid.started(), Some(0x68E0_A1B2));
    }

    #[test]
    fn what_is_no_upid_is_refused() {
        for text in [
            "",
            "UPID:pve1",
            "UPID:pve1:0003A1B2:01C4E5F6:68E0A1B2:qmcreate:110:root@pam",
            "UPID:pve1:xyz:01C4E5F6:68E0A1B2:qmcreate:110:root@pam:",
            "NOPE:pve1:0003A1B2:01C4E5F6:68E0A1B2:qmcreate:110:root@pam:",
        ] {
            assert!(text.parse::<Upid>().is_err(), "{text}");
        }
    }
}
