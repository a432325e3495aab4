//! Packages that are newer than the pin. They stay: a downgrade is never done unasked.

use std::path::Path;

use managed_node::{Command, Node};

use crate::apt::apt_cache;
use crate::error::Error;
use crate::params::Newer;

/// As many names as fit well into one command line.
const AT_ONCE: usize = 500;

pub(crate) fn read(node: &Node, config: Option<&Path>) -> Result<Vec<Newer>, Error> {
    let query =
        Command::new("dpkg-query").args(["-W", "-f", "${db:Status-Abbrev}\\t${binary:Package}\\n"]);
    let output = node.run(&query)?.check(&query)?.stdout;
    let names: Vec<&str> = output.lines().filter_map(|line| line.strip_prefix("ii \t")).collect();
    let mut newer = Vec::new();
    for some in names.chunks(AT_ONCE) {
        let command = apt_cache(config).arg("policy").args(some.iter().copied());
        newer.extend(parse(&node.run(&command)?.check(&command)?.stdout));
    }
    Ok(newer)
}

/// Reads version tables, which are sorted from new to old. A package is newer than the pin when
/// its version is in no archive and an archive has an older one.
pub(crate) fn parse(policy: &str) -> Vec<Newer> {
    let mut newer = Vec::new();
    let (mut name, mut installed, mut alone) = ("", None, true);
    let mut lines = policy.lines().peekable();
    while let Some(line) = lines.next() {
        if !line.starts_with(' ') {
            (name, installed, alone) = (line.trim_end_matches(':'), None, true);
        } else if let Some(row) = line.strip_prefix(" *** ") {
            installed = row.split_whitespace().next();
            while let Some(source) = lines.next_if(|line| line.starts_with("        ")) {
                alone &= source.trim_end().ends_with("/var/lib/dpkg/status");
            }
        } else if let Some(row) = line.strip_prefix("     ")
            && !row.starts_with(' ')
            && let (Some(mine), true, Some(pinned)) =
                (installed, alone, row.split_whitespace().next())
        {
            newer.push(Newer {
                name: name.to_owned(),
                installed: mine.to_owned(),
                pinned: pinned.to_owned(),
            });
            installed = None;
        }
    }
    newer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_no_archive_has_and_an_older_one_is_there_for() {
        let policy = "\
demo:
  Installed: 3.0
  Candidate: 3.0
  Version table:
 *** 3.0 100
        100 /var/lib/dpkg/status
     2.0 500
        500 http://s/debian/1 trixie/main amd64 Packages
     1.0 500
        500 http://s/debian/1 trixie/main amd64 Packages
same:
  Installed: 2.0
  Candidate: 2.0
  Version table:
 *** 2.0 500
        500 http://s/debian/1 trixie/main amd64 Packages
        100 /var/lib/dpkg/status
     1.0 500
        500 http://s/debian/1 trixie/main amd64 Packages
older:
  Installed: 1.0
  Candidate: 2.0
  Version table:
     2.0 500
        500 http://s/debian/1 trixie/main amd64 Packages
 *** 1.0 100
        100 /var/lib/dpkg/status
own:
  Installed: 1.0
  Candidate: 1.0
  Version table:
 *** 1.0 100
        100 /var/lib/dpkg/status
";
        assert_eq!(
            parse(policy),
            [Newer { name: "demo".into(), installed: "3.0".into(), pinned: "2.0".into() }]
        );
    }
}
