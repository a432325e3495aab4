//! What has to be known of keywords: older names, and those that do not follow "the first value
//! holds".

/// Older names, and the name under which `sshd -T` shows them.
const ALIASES: [(&str, &str); 11] = [
    ("challengeresponseauthentication", "kbdinteractiveauthentication"),
    ("skeyauthentication", "kbdinteractiveauthentication"),
    ("keepalive", "tcpkeepalive"),
    ("hostdsakey", "hostkey"),
    ("dsaauthentication", "pubkeyauthentication"),
    ("pubkeyacceptedkeytypes", "pubkeyacceptedalgorithms"),
    ("hostbasedacceptedkeytypes", "hostbasedacceptedalgorithms"),
    ("authorizedkeysfile2", "authorizedkeysfile"),
    ("verifyreversemapping", "usedns"),
    ("reversemappingcheck", "usedns"),
    ("rsaauthentication", "pubkeyauthentication"),
];

/// Keywords of which every line counts, not the first alone.
const ADDING: [&str; 9] = [
    "port",
    "listenaddress",
    "hostkey",
    "hostcertificate",
    "allowusers",
    "allowgroups",
    "denyusers",
    "denygroups",
    "acceptenv",
];

/// Those of them where more than was asked for is not what was asked for.
const EXCLUSIVE: [&str; 5] = ["port", "listenaddress", "hostkey", "allowusers", "allowgroups"];

/// Keywords whose list is joined by commas.
const COMMAS: [&str; 7] = [
    "ciphers",
    "macs",
    "kexalgorithms",
    "hostkeyalgorithms",
    "pubkeyacceptedalgorithms",
    "hostbasedacceptedalgorithms",
    "casignaturealgorithms",
];

/// A keyword in lower case under today's name.
pub(crate) fn canonical(keyword: &str) -> String {
    let lower = keyword.to_ascii_lowercase();
    ALIASES.iter().find(|(old, _)| *old == lower).map_or(lower, |(_, today)| (*today).to_owned())
}

/// Whether every line of this keyword counts.
pub(crate) fn is_adding(keyword: &str) -> bool {
    ADDING.contains(&keyword)
}

/// Whether another line of this keyword makes ours untrue.
pub(crate) fn is_exclusive(keyword: &str) -> bool {
    EXCLUSIVE.contains(&keyword)
}

/// How a list of values is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Joining {
    /// A line for each value.
    Lines,
    /// One line, values joined by commas.
    Commas,
    /// One line, values side by side.
    Blanks,
}

/// How a list of values of this keyword is written.
pub(crate) fn joining(keyword: &str) -> Joining {
    let keyword = canonical(keyword);
    if is_adding(&keyword) {
        Joining::Lines
    } else if COMMAS.contains(&keyword.as_str()) {
        Joining::Commas
    } else {
        Joining::Blanks
    }
}
