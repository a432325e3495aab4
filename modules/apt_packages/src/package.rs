//! Packages as they are asked for and as dpkg knows them. Pure.

use std::collections::BTreeMap;

use crate::error::Error;
use crate::simulation::Step;

/// A package that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// With its architecture, if that is given.
    pub(crate) name: String,
    pub(crate) version: Option<String>,
}

impl Wanted {
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let bad = || Error::Name { name: text.to_owned() };
        let (name, version) = match text.split_once('=') {
            Some((name, version)) => (name, Some(version)),
            None => (text, None),
        };
        let (bare, arch) = match name.split_once(':') {
            Some((bare, arch)) => (bare, Some(arch)),
            None => (name, None),
        };
        let first =
            bare.chars().next().is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
        let rest = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "+-.".contains(c);
        // apt takes a minus at the end for a wish to remove
        let named = first && bare.len() > 1 && bare.chars().all(rest) && !bare.ends_with('-');
        let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let of_arch = arch.is_none_or(|arch| !arch.is_empty() && arch.chars().all(word));
        let digits = |c: char| c.is_ascii_alphanumeric() || "+-.:~".contains(c);
        let versioned = version.is_none_or(|version| {
            version.starts_with(|c: char| c.is_ascii_digit()) && version.chars().all(digits)
        });
        if named && of_arch && versioned {
            Ok(Self { name: name.to_owned(), version: version.map(ToOwned::to_owned) })
        } else {
            Err(bad())
        }
    }

    /// Whether apt took the plus at the end of a name that it does not know for a wish to install
    /// what is before the plus.
    pub(crate) fn is_taken_for_another(&self, steps: &[Step]) -> bool {
        let bare = |name: &str| name.split(':').next().unwrap_or_default().to_owned();
        let name = bare(&self.name);
        name.strip_suffix('+').is_some_and(|before| {
            let comes = |name: &str| steps.iter().any(|step| bare(&step.name) == name);
            comes(before) && !comes(&name)
        })
    }

    /// As apt-get takes it.
    pub(crate) fn argument(&self) -> String {
        match &self.version {
            Some(version) => format!("{}={version}", self.name),
            None => self.name.clone(),
        }
    }
}

/// Every package once.
pub(crate) fn all(names: &[String]) -> Result<Vec<Wanted>, Error> {
    let mut all: Vec<Wanted> = Vec::new();
    for name in names {
        let wanted = Wanted::parse(name.trim())?;
        match all.iter_mut().find(|known| known.name == wanted.name) {
            None => all.push(wanted),
            Some(known) => match (&known.version, wanted.version) {
                (Some(first), Some(second)) if *first != second => {
                    let (name, first) = (wanted.name, first.clone());
                    return Err(Error::TwoVersions { name, first, second });
                }
                (None, version) => known.version = version,
                _ => {}
            },
        }
    }
    Ok(all)
}

/// What dpkg has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Installed {
    /// Versions by name, and by name with architecture.
    versions: BTreeMap<String, String>,
    /// Packages that are neither in nor out.
    pub(crate) half: Vec<String>,
}

/// What dpkg-query is asked for.
pub(crate) const FORMAT: &str =
    "${Package}\\t${Architecture}\\t${db:Status-Abbrev}\\t${Version}\\n";

impl Installed {
    pub(crate) fn parse(text: &str) -> Self {
        let mut installed = Self::default();
        let mut for_all: Vec<(&str, &str)> = Vec::new();
        let mut native = None;
        for line in text.lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            let [name, arch, status, version] = fields[..] else { continue };
            match status.as_bytes().get(1) {
                Some(b'i') => {
                    match (name, arch) {
                        (name, "all") => for_all.push((name, version)),
                        ("dpkg", arch) => native = Some(arch),
                        _ => {}
                    }
                    installed.versions.insert(name.to_owned(), version.to_owned());
                    installed.versions.insert(format!("{name}:{arch}"), version.to_owned());
                }
                // unpacked, half-installed, half-configured, triggers awaited or pending
                Some(b'U' | b'H' | b'F' | b'W' | b't') => installed.half.push(name.to_owned()),
                _ => {}
            }
        }
        // apt takes a package for all architectures for one of the node's own
        for (name, version) in for_all.into_iter().filter(|_| native.is_some()) {
            let name = format!("{name}:{}", native.unwrap_or_default());
            installed.versions.insert(name, version.to_owned());
        }
        installed
    }

    pub(crate) fn version(&self, name: &str) -> Option<&str> {
        self.versions.get(name).map(String::as_str)
    }

    /// Whether a package is there as it is asked for.
    pub(crate) fn has(&self, wanted: &Wanted) -> bool {
        let version = self.version(&wanted.name);
        match &wanted.version {
            Some(exact) => version == Some(exact),
            None => version.is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (text, good) in [
            ("htop", true),
            ("g++", true),
            ("libc6:i386", true),
            ("nginx=1.26.3-3+deb13u1", true),
            ("perl=5:5.40~1", true),
            ("htop-", false),
            ("-y", false),
            ("a*", false),
            ("Htop", false),
            ("htop nginx", false),
            ("./x.deb", false),
            ("htop=", false),
            ("htop/trixie", false),
            ("htop:", false),
            ("", false),
        ] {
            assert_eq!(Wanted::parse(text).is_ok(), good, "{text:?}");
        }
        assert_eq!(
            Wanted::parse("a*").unwrap_err().to_string(),
            "name: 'a*' is not a package; write name, name:architecture or name=version, without \
             wildcards"
        );
        let twice = ["a1=1".to_owned(), "a1=2".to_owned()];
        assert_eq!(
            all(&twice).unwrap_err().to_string(),
            "name: 'a1' is asked for in the versions 1 and 2"
        );
        assert_eq!(all(&["a1".to_owned(), "a1=2".to_owned()]).unwrap().len(), 1);
    }

    #[test]
    fn what_dpkg_has() {
        let installed = Installed::parse(
            "htop\tamd64\tii \t3.4\nold\tall\trc \t1\nheld\tamd64\thi \t2\nhalf\tamd64\tiF \t1\n",
        );
        let has = |text: &str| installed.has(&Wanted::parse(text).unwrap());
        assert!(has("htop") && has("htop:amd64") && has("htop=3.4") && has("held"));
        assert!(!has("htop=3.5") && !has("htop:i386") && !has("old") && !has("half"));
        assert_eq!(installed.half, ["half"]);
        let installed = Installed::parse("doc\tall\tii \t1\ndpkg\tamd64\tii \t1.22\n");
        let has = |text: &str| installed.has(&Wanted::parse(text).unwrap());
        assert!(has("doc") && has("doc:all") && has("doc:amd64") && has("doc:amd64=1"));
        assert!(!has("doc:i386"));
    }

    #[test]
    fn a_plus_that_apt_takes_for_a_wish() {
        let steps = crate::simulation::parse("Inst demo (3 D [all])\nInst g++ (14 D [amd64])\n");
        let table = [("demo", false), ("demo+", true), ("demo+:amd64", true), ("g++", false)];
        for (name, wanted) in table {
            let package = Wanted::parse(name).unwrap();
            assert_eq!(package.is_taken_for_another(&steps), wanted, "{name}");
        }
    }
}
