//! What can go wrong, each with its operand.

/// A failure of this module.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(
        "option name: '{name}' is not the name of a drop-in; it needs letters, digits and -_.+ \
         only, does not begin with a dot and ends in .conf"
    )]
    Name { name: String },
    #[error("option settings: '{keyword}' is not a setting; use the option match, or content")]
    NotASetting { keyword: String },
    #[error("option settings: '{keyword}' is not a keyword of sshd's")]
    Keyword { keyword: String },
    #[error(
        "option settings: {keyword} is given twice under different names; sshd takes the first \
         alone"
    )]
    Twice { keyword: String },
    #[error("option settings: the value of {keyword} {why}")]
    Value { keyword: String, why: &'static str },
    #[error("option match: the criteria '{criteria}' {why}")]
    Criteria { criteria: String, why: &'static str },
    #[error("option content: line {line} holds a byte that sshd does not read as text")]
    Control { line: usize },
    #[error("state present needs settings, match or content")]
    Nothing,
    #[error(
        "option content: line {line} ('{text}') belongs to 'Match {criteria}' of line {by}; put it \
         above, or indent it like the lines before it"
    )]
    OwnMatch { line: usize, text: String, criteria: String, by: usize },
    #[error("option verify_for: '{text}' is not a list like user=ann,addr=192.0.2.7")]
    Connection { text: String },
    #[error("{path} is not there; is openssh-server installed?")]
    NoSshd { path: String },
    #[error("{path} would have no effect: no Include in /etc/ssh/sshd_config covers it")]
    NotIncluded { path: String },
    #[error(
        "{path} would hold for some connections only: the Include at {by} stands in 'Match \
         {criteria}' of {place}; move it above"
    )]
    ConditionalInclude { path: String, by: String, criteria: String, place: String },
    #[error("the configuration of sshd would be broken with {path}: {complaint}")]
    Broken { path: String, complaint: String },
    #[error("the configuration of sshd was broken before, without {path}: {complaint}")]
    BrokenBefore { path: String, complaint: String },
    #[error("{text}")]
    NotInForce { text: String },
    #[error(
        "logins with a password would be switched off, but {reasons}; see option require_keys_for"
    )]
    NoKeys { reasons: String },
    #[error("{path} is not a folder")]
    NoFolder { path: String },
    #[error("{path} is a folder or a special file, not a drop-in")]
    InTheWay { path: String },
    #[error(
        "{path}, which {by} includes, is a pipe: sshd would wait for ever to read it; remove it"
    )]
    Pipe { path: String, by: String },
    #[error("{unit} {what} after the change of {path}; the file is as it was before, {then}")]
    Daemon { unit: String, what: String, path: String, then: String },
    #[error("failed to read what systemd says about {unit}")]
    Show { unit: String },
}
