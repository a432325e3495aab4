//! Where this machine gets Debian from: its own apt sources know a mirror that works here.

use std::fs;
use std::path::Path;

/// The mirror of `debian` in this machine's sources, if they name one.
pub(crate) fn of_host() -> Option<String> {
    let mut texts = Vec::new();
    if let Ok(text) = fs::read_to_string("/etc/apt/sources.list") {
        texts.push(text);
    }
    if let Ok(entries) = fs::read_dir("/etc/apt/sources.list.d") {
        let mut paths: Vec<_> = entries.flatten().map(|e| e.path()).collect();
        paths.sort();
        texts.extend(
            paths.iter().filter(|p| is_source(p)).filter_map(|p| fs::read_to_string(p).ok()),
        );
    }
    texts.iter().find_map(|text| find(text))
}

fn is_source(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "sources" || e == "list")
}

/// The first archive of the main distribution in a sources file of either format.
fn find(text: &str) -> Option<String> {
    text.lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .filter(|line| line.starts_with("deb ") || line.starts_with("URIs:"))
        .flat_map(str::split_whitespace)
        .map(|word| word.trim_end_matches('/'))
        .find(|word| {
            (word.starts_with("http://") || word.starts_with("https://"))
                && word.ends_with("/debian")
        })
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn finds_the_archive() {
        let rows = [
            (
                "deb822",
                "Types: deb\n# http://old.example/debian\nURIs: http://mirror.example/debian/\nSuites: trixie\n",
                Some("http://mirror.example/debian"),
            ),
            (
                "one line with options",
                "deb [arch=amd64 signed-by=/k.gpg] https://mirror.example/debian bookworm main\n",
                Some("https://mirror.example/debian"),
            ),
            (
                "security alone",
                "deb http://mirror.example/debian-security bookworm-security main\n",
                None,
            ),
            ("another vendor", "deb https://deb.example/node_20.x nodistro main\n", None),
            ("disabled", "# deb http://mirror.example/debian bookworm main\n", None),
        ];
        for (name, text, expected) in rows {
            assert_eq!(find(text).as_deref(), expected, "{name}");
        }
    }
}
