//! apt's package lists: how their files are called, and the proof that they come from the pin.

use std::collections::BTreeSet;

use crate::archive;
use crate::pinning::Expected;

/// What `apt-get indextargets` is asked for, a line for each index that apt has.
pub(crate) const FORMAT: &str = "$(CREATED_BY)\t$(REPO_URI)\t$(RELEASE)\t$(METAKEY)\t$(FILENAME)";

/// An index that apt has and uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Index {
    /// `Packages`, `Sources`, `Translations`, or what a package of the node added.
    pub(crate) kind: String,
    pub(crate) uri: String,
    pub(crate) suite: String,
    pub(crate) key: String,
    pub(crate) file: String,
}

pub(crate) fn parse(output: &str) -> Vec<Index> {
    output
        .lines()
        .filter_map(|line| {
            let mut fields = line.split('\t').map(ToOwned::to_owned);
            Some(Index {
                kind: fields.next()?,
                uri: fields.next()?,
                suite: fields.next()?,
                key: fields.next()?,
                file: fields.next()?,
            })
        })
        .collect()
}

/// The name of a Release file among the lists, `InRelease` or `Release` last.
pub(crate) fn release_name(uri: &str, suite: &str, last: &str) -> String {
    let base = uri.trim_end_matches('/');
    // a suite with a slash at its end is a path of its own, not one below dists
    let whole = if suite.ends_with('/') {
        format!("{base}/{}/{last}", suite.trim_start_matches("./").trim_end_matches('/'))
            .replace("//", "/")
            .replacen(":/", "://", 1)
    } else {
        format!("{base}/dists/{suite}/{last}")
    };
    let (_, rest) = whole.split_once(':').unwrap_or(("", &whole));
    let rest = rest.strip_prefix("//").unwrap_or(rest);
    let authority_end = rest.find('/').unwrap_or(rest.len());
    let rest = match rest[..authority_end].rfind('@') {
        Some(at) => &rest[at + 1..],
        None => rest,
    };
    let mut name = String::with_capacity(rest.len());
    for character in rest.chars() {
        match character {
            '/' => name.push('_'),
            '\\' | '|' | '{' | '}' | '[' | ']' | '<' | '>' | '"' | '^' | '~' | '_' | '=' | '!'
            | '@' | '#' | '$' | '%' | '&' | '*' => {
                name.push_str(&format!("%{:02x}", u32::from(character)));
            }
            _ => name.push(character),
        }
    }
    name
}

/// An index that a Release file offers, with its size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Offered {
    pub(crate) key: String,
    pub(crate) size: u64,
}

/// The indexes of a Release file, by its SHA256 section.
pub(crate) fn offered(release: &str) -> Vec<Offered> {
    release
        .lines()
        .skip_while(|line| *line != "SHA256:")
        .skip(1)
        .take_while(|line| line.starts_with(' '))
        .filter_map(|line| {
            let mut words = line.split_whitespace().skip(1);
            let size = words.next()?.parse().ok()?;
            Some(Offered { key: words.next()?.to_owned(), size })
        })
        .collect()
}

/// The indexes that a source brings, of those that its Release file offers.
pub(crate) fn wanted<'a>(
    expected: &Expected,
    architectures: &[String],
    offered: &'a [Offered],
) -> Vec<&'a Offered> {
    let mut keys = BTreeSet::new();
    for component in &expected.components {
        if expected.types.iter().any(|kind| kind == "deb") {
            for architecture in expected.architectures.of(architectures) {
                keys.insert(format!("{component}/binary-{architecture}/Packages"));
            }
        }
        if expected.types.iter().any(|kind| kind == "deb-src") {
            keys.insert(format!("{component}/source/Sources"));
        }
    }
    // an empty index leaves no file
    offered.iter().filter(|index| index.size > 0 && keys.contains(&index.key)).collect()
}

/// Room for a source's indexes: unpacked, beside the packed file that they come from.
pub(crate) fn room(expected: &Expected, architectures: &[String], offered: &[Offered]) -> u64 {
    let own = expected.architectures.of(architectures);
    let binary = |key: &str| {
        own.iter().any(|arch| key.contains(&format!("/binary-{arch}/Packages")))
            || key.contains("/binary-all/Packages")
            || key.contains("/i18n/Translation-en")
    };
    let deb = expected.types.iter().any(|kind| kind == "deb");
    let src = expected.types.iter().any(|kind| kind == "deb-src");
    offered
        .iter()
        .filter(|index| {
            let component = index.key.split('/').next().unwrap_or_default();
            let plain = index.key.rsplit('/').next().is_some_and(|name| !name.contains('.'));
            let packed = index.key.ends_with(".xz");
            expected.components.iter().any(|wanted| wanted == component)
                && (plain || packed)
                && (deb && binary(&index.key) || src && index.key.contains("/source/Sources"))
        })
        .map(|index| index.size)
        .sum()
}

/// Names the sources that the indexes do not show to come from the pin. `exists` tells of the
/// files, `release` gives the text of a Release file among the lists.
pub(crate) fn missing(
    expected: &[Expected],
    indexes: &[Index],
    architectures: &[String],
    exists: &dyn Fn(&str) -> bool,
    release: &dyn Fn(&str, &str) -> Option<String>,
) -> Vec<String> {
    let mut missing = Vec::new();
    for source in expected.iter().filter(|source| source.pinned) {
        for uri in &source.uris {
            for suite in &source.suites {
                let place = format!("{} from {}", source.place, archive::mask(uri));
                let Some(text) = release(uri, suite) else {
                    missing.push(format!("{place}: there is no Release file of {suite}"));
                    continue;
                };
                let offered = offered(&text);
                for index in wanted(source, architectures, &offered) {
                    let there = indexes.iter().any(|found| {
                        archive::same_place(&found.uri, uri)
                            && found.suite == *suite
                            && found.key == index.key
                            && exists(&found.file)
                    });
                    if !there {
                        missing
                            .push(format!("{place}: there is no index {} of {suite}", index.key));
                    }
                }
            }
        }
    }
    for index in indexes {
        let known = expected.iter().any(|source| {
            let mut uris = source.uris.iter().chain(&source.live);
            uris.any(|uri| archive::same_place(uri, &index.uri))
        });
        if !known {
            let uri = archive::mask(&index.uri);
            missing.push(format!("{uri} {}: its index {} is not pinned", index.suite, index.key));
        }
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::Architectures;

    fn expected() -> Expected {
        Expected {
            place: "http://deb.debian.org/debian x".into(),
            types: vec!["deb".into()],
            uris: vec!["http://s/1".into()],
            live: Vec::new(),
            suites: vec!["x".into()],
            components: vec!["main".into()],
            architectures: Architectures::default(),
            pinned: true,
        }
    }

    const RELEASE: &str = "Origin: Debian\nMD5Sum:\n a 9 main/binary-amd64/Packages\nSHA256:\n \
        a 1000 main/binary-amd64/Packages\n b 100 main/binary-amd64/Packages.xz\n c 110 \
        main/binary-amd64/Packages.gz\n d 0 main/binary-i386/Packages\n e 50 \
        main/i18n/Translation-en\n f 70 contrib/binary-amd64/Packages\n g 30 \
        main/source/Sources\nSigned: x\n";

    fn index(uri: &str) -> Index {
        parse(&format!("Packages\t{uri}\tx\tmain/binary-amd64/Packages\t/lists/p"))[0].clone()
    }

    #[test]
    fn files_are_named_as_apt_names_them() {
        for (uri, suite, name) in [
            (
                "http://deb.debian.org/debian/",
                "trixie",
                "deb.debian.org_debian_dists_trixie_InRelease",
            ),
            (
                "http://u:p@127.0.0.1:8077/a_b/~c",
                "stable/updates",
                "127.0.0.1:8077_a%5fb_%7ec_dists_stable_updates_InRelease",
            ),
            ("http://h/flat", "./", "h_flat_InRelease"),
            ("http://h/flat", "sub/", "h_flat_sub_InRelease"),
            (
                "mirror+file:///etc/apt/mirrors/debian.list",
                "trixie",
                "_etc_apt_mirrors_debian.list_dists_trixie_InRelease",
            ),
        ] {
            assert_eq!(release_name(uri, suite, "InRelease"), name);
        }
    }

    #[test]
    fn g52_lists_prove_the_pin_or_name_what_is_wrong() {
        let archs = ["amd64".to_owned(), "i386".to_owned()];
        let with = |_: &str, _: &str| Some(RELEASE.to_owned());
        let without = |_: &str, _: &str| None;
        let run =
            |indexes: &[Index], there: bool, release: &dyn Fn(&str, &str) -> Option<String>| {
                missing(&[expected()], indexes, &archs, &|_| there, release)
            };
        assert!(run(&[index("http://s/1/")], true, &with).is_empty());
        for (indexes, there, release, wanted) in [
            (
                vec![],
                true,
                &without as &dyn Fn(&str, &str) -> Option<String>,
                "http://deb.debian.org/debian x from http://s/1: there is no Release file of x",
            ),
            (
                vec![],
                true,
                &with,
                "http://deb.debian.org/debian x from http://s/1: there is no index \
                 main/binary-amd64/Packages of x",
            ),
            (
                vec![index("http://s/1/")],
                false,
                &with,
                "http://deb.debian.org/debian x from http://s/1: there is no index \
                 main/binary-amd64/Packages of x",
            ),
            (
                vec![index("http://s/1/"), index("http://deb.debian.org/debian/")],
                true,
                &with,
                "http://deb.debian.org/debian/ x: its index main/binary-amd64/Packages is not \
                 pinned",
            ),
        ] {
            assert_eq!(run(&indexes, there, release), [wanted]);
        }
    }

    #[test]
    fn a_source_is_proved_by_the_indexes_of_its_own_architectures() {
        let offered = offered(
            "SHA256:\n a 9 main/binary-amd64/Packages\n b 8 main/binary-arm64/Packages\n \
             c 7 main/binary-i386/Packages\n",
        );
        let node = ["amd64".to_owned(), "i386".to_owned()];
        let words = |text: &str| text.split_whitespace().map(ToOwned::to_owned).collect();
        for (only, added, removed, sizes) in [
            (None, "", "", vec![9, 7]),
            (Some("amd64"), "", "", vec![9]),
            (Some("arm64"), "", "", vec![8]),
            (None, "arm64", "i386", vec![9, 8]),
        ] {
            let architectures = Architectures {
                only: only.map(words),
                added: words(added),
                removed: words(removed),
            };
            let source = Expected { architectures, ..expected() };
            let found: Vec<u64> =
                wanted(&source, &node, &offered).iter().map(|index| index.size).collect();
            assert_eq!(found, sizes, "{:?}", source.architectures);
            assert_eq!(room(&source, &node, &offered), sizes.iter().sum::<u64>());
        }
    }

    #[test]
    fn g58_room_is_counted_from_the_release_file() {
        let offered = offered(RELEASE);
        assert_eq!(offered.len(), 7);
        let archs = ["amd64".to_owned()];
        assert_eq!(room(&expected(), &archs, &offered), 1150);
        let source = Expected { types: vec!["deb-src".into()], ..expected() };
        assert_eq!(room(&source, &archs, &offered), 30);
    }
}
