//! Names of files on a storage: what PVE takes, what says the content, what is temporary.

use crate::params::Content;

/// How a temporary file's name begins.
const TEMPORARY: &str = "ferrite-tmp-";
/// PVE takes 255 characters, of which a temporary name needs some.
const LONGEST: usize = 230;
/// Endings of compressed files.
pub(crate) const COMPRESSIONS: [&str; 7] = ["xz", "zst", "zstd", "gz", "bz2", "lzo", "lz4"];

impl Content {
    /// PVE's word.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Import => "import",
            Self::Iso => "iso",
            Self::Vztmpl => "vztmpl",
        }
    }

    /// The content of this word.
    pub(crate) fn of_word(word: &str) -> Option<Self> {
        [Self::Import, Self::Iso, Self::Vztmpl].into_iter().find(|one| one.word() == word)
    }

    /// The endings that PVE takes (`PVE::Storage`, `*_EXT_RE_*`).
    pub(crate) fn endings(self) -> &'static [&'static str] {
        match self {
            Self::Import => &[".qcow2", ".raw", ".vmdk", ".ova"],
            Self::Iso => &[".iso", ".img"],
            Self::Vztmpl => &[".tar.gz", ".tar.xz", ".tar.zst", ".tar.bz2"],
        }
    }

    /// The ending of a name that PVE takes for this content.
    fn ending_of(self, name: &str) -> Option<&'static str> {
        let lower = name.to_ascii_lowercase();
        // only for import do capitals count
        let name = if self == Self::Import { name } else { &lower };
        self.endings().iter().find(|ending| name.ends_with(**ending)).copied()
    }
}

/// What is wrong with a name for this content.
pub(crate) fn problem(content: Content, name: &str) -> Option<String> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if !name.bytes().all(fits) {
        return Some(format!(
            "'{name}' has characters that PVE replaces: letters, digits, '.', '_' and '-' are kept; \
             call it {}",
            plain(name)
        ));
    }
    if name.starts_with(['.', '-']) || name.len() > LONGEST {
        return Some(format!(
            "'{name}' is no name for a file on a storage: it begins with a letter or a digit, and \
             has at most {LONGEST} characters"
        ));
    }
    if name.starts_with(TEMPORARY) {
        return Some(format!("'{name}' begins as temporary files do: they are removed"));
    }
    match content.ending_of(name) {
        Some(ending) if name.len() > ending.len() => None,
        _ => Some(ending_problem(content, name)),
    }
}

fn ending_problem(content: Content, name: &str) -> String {
    let endings = content.endings().join(", ");
    let mut text = format!("'{name}': content {} takes files ending in {endings}", content.word());
    if content == Content::Import && name.ends_with(".img") {
        text.push_str(
            "; set name to one with the ending of its format (cloud images called .img are qcow2 \
             most often)",
        );
    } else if let Some(other) = [Content::Import, Content::Iso, Content::Vztmpl]
        .into_iter()
        .find(|other| other.ending_of(name).is_some())
    {
        text.push_str(&format!("; this one would be content {}", other.word()));
    } else if COMPRESSIONS.iter().any(|ending| name.ends_with(&format!(".{ending}"))) {
        text.push_str("; leave the ending of the compression out, and see decompress");
    }
    text
}

/// With the characters that PVE replaces replaced.
pub(crate) fn plain(name: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    name.chars().map(|c| if fits(c) { c } else { '_' }).collect()
}

/// The last part of a path or an address.
pub(crate) fn last_part(place: &str) -> &str {
    let place = place.split_once("://").map_or(place, |(_, rest)| {
        let path = rest.split_once('/').map_or("", |(_, path)| path);
        path.split(['?', '#']).next().unwrap_or_default()
    });
    place.rsplit('/').next().unwrap_or_default()
}

/// The name by default: that of the source, and the beginning of the checksum.
pub(crate) fn by_content(content: Content, source: &str, sum: Option<&str>) -> String {
    let name = plain(source.trim_start_matches(['.', '-']));
    let Some(sum) = sum else { return name };
    let (stem, ending) = match content.ending_of(&name) {
        Some(ending) => name.split_at(name.len() - ending.len()),
        None => (name.as_str(), ""),
    };
    let room = LONGEST.saturating_sub(ending.len() + PREFIX + 1);
    let stem = &stem[..stem.len().min(room)];
    format!("{stem}-{}{ending}", &sum[..PREFIX.min(sum.len())])
}

/// How much of a checksum stands in a name.
const PREFIX: usize = 12;

/// Whether a name holds the beginning of this checksum.
pub(crate) fn says(name: &str, sum: &str) -> bool {
    sum.get(..PREFIX).is_some_and(|prefix| name.to_ascii_lowercase().contains(prefix))
}

/// A temporary name for what shall be called by this one, with a mark of this run.
pub(crate) fn temporary(name: &str, mark: &str) -> String {
    format!("{TEMPORARY}{mark}-{name}")
}

/// Whether a file is a temporary one for this name, of any run.
pub(crate) fn is_temporary(file: &str, name: &str) -> bool {
    file.strip_prefix(TEMPORARY).and_then(|rest| rest.split_once('-')).is_some_and(
        |(mark, rest)| {
            rest == name && !mark.is_empty() && mark.bytes().all(|b| b.is_ascii_hexdigit())
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b35_endings_belong_to_contents() {
        for (content, name, text) in [
            (Content::Import, "debian-13.img", "takes files ending in .qcow2, .raw, .vmdk, .ova"),
            (Content::Import, "debian-13.qcow2", ""),
            (Content::Import, "x.raw", ""),
            (Content::Import, "x.vmdk", ""),
            (Content::Import, "x.ova", ""),
            (Content::Import, "x.QCOW2", "takes files ending in"),
            (
                Content::Iso,
                "x.qcow2",
                "takes files ending in .iso, .img; this one would be content import",
            ),
            (Content::Iso, "x.ISO", ""),
            (Content::Iso, "x.img", ""),
            (Content::Vztmpl, "debian-13.tar.zst", ""),
            (Content::Vztmpl, "debian-13.zst", "leave the ending of the compression out"),
            (Content::Import, "x.raw.xz", "leave the ending of the compression out"),
            (Content::Import, "a b(1).raw", "call it a_b_1_.raw"),
            (Content::Import, "../x.raw", "call it .._x.raw"),
            (Content::Import, ".raw", "begins with a letter or a digit"),
            (Content::Import, "ferrite-tmp-1-x.raw", "begins as temporary files do"),
        ] {
            let problem = problem(content, name).unwrap_or_default();
            assert!(problem.contains(text) && problem.is_empty() == text.is_empty(), "{problem}");
        }
        assert!(problem(Content::Iso, &format!("{}.iso", "a".repeat(250))).is_some());
    }

    #[test]
    fn the_name_says_the_content() {
        let sum = "0123456789abcdef0123";
        for (content, source, name) in [
            (Content::Import, "debian-13-20251117.qcow2", "debian-13-20251117-0123456789ab.qcow2"),
            (Content::Vztmpl, "debian-13.tar.zst", "debian-13-0123456789ab.tar.zst"),
            (Content::Iso, "a b.iso", "a_b-0123456789ab.iso"),
            (Content::Import, "noble.img", "noble.img-0123456789ab"),
        ] {
            assert_eq!(by_content(content, source, Some(sum)), name);
            assert!(says(name, sum) && !says(name, "9999999999999999"));
        }
        assert_eq!(by_content(Content::Import, "x.raw", None), "x.raw");
        let long = by_content(Content::Import, &format!("{}.raw", "a".repeat(300)), Some(sum));
        assert_eq!((problem(Content::Import, &long), says(&long, sum)), (None, true));
    }

    #[test]
    fn an_entry_of_the_catalog_is_called_the_same_by_the_tool() {
        let checksum = format!("sha512:{}", "0123456789abcdef".repeat(8)).parse().unwrap();
        for name in ["debian-13-genericcloud-amd64-20251117-2299.qcow2", "talos-v1.11.5.raw"] {
            let (url, name) = (String::new(), name.to_owned());
            let pinned = images::Pinned { url, name, checksum: Clone::clone(&checksum) };
            let ours = by_content(Content::Import, &pinned.name, Some(pinned.checksum.hex()));
            assert_eq!(ours, pinned.file_name());
        }
    }

    #[test]
    fn the_last_part_of_an_address_is_its_files_name() {
        for (place, name) in [
            ("https://h/a/b.qcow2", "b.qcow2"),
            ("https://h/a/b.qcow2?x=/y#z", "b.qcow2"),
            ("https://h", ""),
            ("https://h/", ""),
            ("/srv/images/b.raw.xz", "b.raw.xz"),
            ("b.raw", "b.raw"),
        ] {
            assert_eq!(last_part(place), name, "{place}");
        }
    }

    #[test]
    fn temporary_files_are_known_by_their_names() {
        let name = temporary("x.raw", "0a1b2c3d");
        assert!(is_temporary(&name, "x.raw"), "{name}");
        for (file, name) in [
            (name.as_str(), "y.raw"),
            ("ferrite-tmp-x.raw", "x.raw"),
            ("ferrite-tmp-0a1b-y-x.raw", "x.raw"),
            ("x.raw", "x.raw"),
            ("ferrite-tmp-zz-x.raw", "x.raw"),
        ] {
            assert!(!is_temporary(file, name), "{file}");
        }
    }
}
