//! Unit names and unit files, as far as masking has to know them. Pure.

use crate::error::Error;

/// Where an administrator's unit files and masks lie.
pub(crate) const ADMIN: &str = "/etc/systemd/system";
/// Where masks that end with the next boot lie.
pub(crate) const RUNTIME: &str = "/run/systemd/system";
/// What systemd reads before [`ADMIN`].
pub(crate) const ABOVE_ADMIN: [&str; 4] = [
    "/etc/systemd/system.control",
    "/run/systemd/system.control",
    "/run/systemd/transient",
    "/run/systemd/generator.early",
];
/// Where packages put unit files, the first outranking the next.
pub(crate) const VENDOR: [&str; 5] = [
    "/run/systemd/generator",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
    "/run/systemd/generator.late",
];

/// Folders beside unit files whose links make one unit want another.
pub(crate) const WANTING: [&str; 3] = [".wants", ".requires", ".upholds"];

/// Refuses what is not the name of a timer.
pub(crate) fn check_name(name: &str) -> Result<(), Error> {
    const OTHERS: [&str; 10] = [
        ".service",
        ".socket",
        ".target",
        ".path",
        ".mount",
        ".slice",
        ".scope",
        ".device",
        ".swap",
        ".automount",
    ];
    let name_owned = || name.to_owned();
    if OTHERS.iter().any(|suffix| name.ends_with(suffix)) {
        return Err(Error::NotATimer { name: name_owned() });
    }
    let good = |c: char| c.is_ascii_alphanumeric() || ":-_.\\@".contains(c);
    if name.is_empty() || name.len() > 255 || !name.chars().all(good) || name.starts_with('.') {
        return Err(Error::Name { name: name_owned() });
    }
    if !name.ends_with(".timer") {
        return Err(Error::Suffix { name: name_owned() });
    }
    Ok(())
}

/// The unit that a timer starts: the last `Unit=` in its files, else the service of its name.
pub(crate) fn triggered(name: &str, files: &[String]) -> String {
    let stem = name.strip_suffix(".timer").unwrap_or(name);
    let mut unit = None;
    for text in files {
        for value in assignments(text, "Timer", "Unit") {
            unit = Some(value.to_owned()).filter(|value| !value.is_empty());
        }
    }
    let prefix = stem.split_once('@').map_or(stem, |(prefix, _)| prefix);
    let instance = stem.split_once('@').map_or("", |(_, instance)| instance);
    unit.map_or_else(
        || format!("{stem}.service"),
        |unit| {
            unit.replace("%i", instance)
                .replace("%I", instance)
                .replace("%p", prefix)
                .replace("%N", stem)
        },
    )
}

/// Whether a unit file can be enabled.
pub(crate) fn has_install(text: &str) -> bool {
    text.lines().any(|line| line.trim() == "[Install]")
}

fn assignments<'a>(text: &'a str, section: &str, key: &str) -> Vec<&'a str> {
    let mut here = false;
    let mut values = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            here = name == section;
        } else if here
            && let Some((found, value)) = line.split_once('=')
            && found.trim_end() == key
        {
            values.push(value.trim());
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_timers_by_their_full_name() {
        for name in ["apt-daily.timer", "x@.timer", "x@a\\x2db.timer", "a:b_c.d.timer"] {
            check_name(name).unwrap();
        }
        let table = [
            (
                "apt-daily",
                "option timers: 'apt-daily' has no suffix .timer; did you mean 'apt-daily.timer'?",
            ),
            (
                "apt-daily.service",
                "option timers: 'apt-daily.service' is not a timer; only units with the suffix \
                 .timer are masked",
            ),
            ("../x.timer", "option timers: '../x.timer' is not the name of a unit"),
            ("a b.timer", "option timers: 'a b.timer' is not the name of a unit"),
            (".timer", "option timers: '.timer' is not the name of a unit"),
            ("-x\n.timer", "option timers: '-x\n.timer' is not the name of a unit"),
            ("", "option timers: '' is not the name of a unit"),
        ];
        for (name, wanted) in table {
            assert_eq!(check_name(name).unwrap_err().to_string(), wanted);
        }
    }

    #[test]
    fn the_triggered_unit() {
        let table: [(&str, &[&str], &str); 6] = [
            ("apt-daily.timer", &[], "apt-daily.service"),
            ("a.timer", &["[Timer]\nUnit = b.service\n"], "b.service"),
            ("a.timer", &["[Unit]\nUnit=no.service\n[Timer]\n# Unit=x\n"], "a.service"),
            ("a.timer", &["[Timer]\nUnit=b.service", "[Timer]\nUnit=c.target"], "c.target"),
            ("a@x.timer", &["[Timer]\nUnit=b@%i.service"], "b@x.service"),
            ("a@x.timer", &[], "a@x.service"),
        ];
        for (name, files, wanted) in table {
            let files: Vec<String> = files.iter().map(ToString::to_string).collect();
            assert_eq!(triggered(name, &files), wanted, "{name} {files:?}");
        }
    }
}
