//! apt.conf files: names, text, dumps and which of two holds. Pure.

use std::collections::BTreeMap;

use crate::error::Error;
use crate::params::{Params, State};

const HEAD: &str =
    "// What apt does periodically. Written by Ansible (ferrite.pve.apt_periodic).\n";
const PREFIX: &str = "APT::Periodic::";

/// Settings in force, by their names below `APT::Periodic`.
pub(crate) type Settings = BTreeMap<String, String>;

/// Refuses what cannot be written.
pub(crate) fn check(params: &Params) -> Result<(), Error> {
    if !readable(&params.file) {
        return Err(Error::FileName { name: params.file.clone() });
    }
    for (name, value) in params.settings.iter().flatten() {
        let word = |c: char| c.is_ascii_alphanumeric() || "-_:".contains(c);
        if name.is_empty() || !name.chars().all(word) || name.starts_with(PREFIX) {
            return Err(Error::SettingName { name: name.clone() });
        }
        let value = value.text();
        if value.contains(['"', '\n', '\r']) {
            return Err(Error::Value { name: name.clone(), value });
        }
    }
    let none = params.settings.as_ref().is_none_or(BTreeMap::is_empty);
    if params.state == State::Present && none { Err(Error::NoSettings) } else { Ok(()) }
}

/// Whether apt reads a file of that name in apt.conf.d: others it leaves out without a word.
pub(crate) fn readable(name: &str) -> bool {
    let stem = name.strip_suffix(".conf").unwrap_or(name);
    !stem.is_empty() && stem.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
}

/// The text of our file.
pub(crate) fn text(params: &Params) -> String {
    let settings = params.settings.iter().flatten();
    let lines = settings.map(|(name, value)| format!("{PREFIX}{name} \"{}\";\n", value.text()));
    std::iter::once(HEAD.to_owned()).chain(lines).collect()
}

/// The settings of a dump.
pub(crate) fn parse(dump: &str) -> Settings {
    dump.lines()
        .filter_map(|line| {
            let (name, value) = line.strip_prefix(PREFIX)?.strip_suffix(';')?.split_once(' ')?;
            let value = value.strip_prefix('"')?.strip_suffix('"')?;
            (!value.is_empty()).then(|| (name.to_owned(), value.to_owned()))
        })
        .collect()
}

/// Settings that would not be in force, with the file that outranks ours. `files` are the
/// settings of the other files in the order in which apt reads them.
pub(crate) fn overridden(
    params: &Params,
    effective: &Settings,
    files: &[(String, Settings)],
) -> Vec<String> {
    params
        .settings
        .iter()
        .flatten()
        .filter_map(|(name, value)| {
            let (value, now) = (value.text(), effective.get(name).map_or("", String::as_str));
            if now == value {
                return None;
            }
            let winner = files
                .iter()
                .rev()
                .find(|(_, settings)| settings.get(name).is_some_and(|theirs| theirs == now));
            let winner = winner.map_or("something else", |(path, _)| path.as_str());
            Some(format!("{PREFIX}{name} would not be '{value}' but '{now}', by {winner}"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(value: serde_json::Value) -> Params {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn g60_names_that_apt_does_not_read_are_refused() {
        for (name, good) in [
            ("99ferrite", true),
            ("99b.conf", true),
            ("10_a-b", true),
            ("99c.bak", false),
            ("99d.yml", false),
            ("99 e", false),
            (".hidden", false),
            ("../x", false),
            ("", false),
            (".conf", false),
        ] {
            let result = check(&params(serde_json::json!({"file": name, "settings": {"A": 1}})));
            assert_eq!(result.is_ok(), good, "{name:?}");
        }
        let error = check(&params(serde_json::json!({"file": "9.yml", "settings": {"A": 1}})));
        assert_eq!(
            error.unwrap_err().to_string(),
            "file '9.yml' is a name that apt does not read; use letters, digits, _ and -, with no \
             ending or .conf"
        );
    }

    #[test]
    fn g61_values_that_would_break_apt_are_refused() {
        for (settings, message) in [
            (
                serde_json::json!({"A": "1\"; evil"}),
                "settings: the value '1\"; evil' of A has a quote or a line end in it",
            ),
            (
                serde_json::json!({"A": "1\n"}),
                "settings: the value '1\n' of A has a quote or a line end in it",
            ),
            (
                serde_json::json!({"A B": 1}),
                "settings: 'A B' is not the name of a setting below APT::Periodic",
            ),
            (
                serde_json::json!({"APT::Periodic::Enable": 1}),
                "settings: 'APT::Periodic::Enable' is not the name of a setting below \
                 APT::Periodic",
            ),
            (serde_json::json!({}), "settings: at least one is needed"),
        ] {
            let error = check(&params(serde_json::json!({"settings": settings}))).unwrap_err();
            assert_eq!(error.to_string(), message);
        }
        assert!(check(&params(serde_json::json!({"state": "absent"}))).is_ok());
    }

    #[test]
    fn the_text_is_what_apt_writes_itself() {
        let params = params(serde_json::json!({
            "settings": {"Unattended-Upgrade": false, "Update-Package-Lists": 1, "X": "always"}
        }));
        assert_eq!(
            text(&params),
            format!(
                "{HEAD}APT::Periodic::Unattended-Upgrade \"0\";\n\
                 APT::Periodic::Update-Package-Lists \"1\";\nAPT::Periodic::X \"always\";\n"
            )
        );
    }

    #[test]
    fn g60_the_file_that_wins_is_named() {
        let params = params(serde_json::json!({"settings": {"Unattended-Upgrade": 0, "B": 2}}));
        let dump = parse(
            "APT::Periodic \"\";\nAPT::Periodic::Unattended-Upgrade \"1\";\nAPT::Periodic::B \
             \"2\";\n",
        );
        let of = |text: &str| parse(&format!("APT::Periodic::Unattended-Upgrade \"{text}\";\n"));
        let files = [
            ("/etc/apt/apt.conf.d/50a".to_owned(), of("0")),
            ("/etc/apt/apt.conf.d/99b.conf".to_owned(), of("1")),
        ];
        assert_eq!(
            overridden(&params, &dump, &files),
            ["APT::Periodic::Unattended-Upgrade would not be '0' but '1', by \
              /etc/apt/apt.conf.d/99b.conf"]
        );
    }
}
