use std::collections::BTreeMap;

use crate::sshd_config::{Content, MAIN, Source, example_connection, split, walk};

struct Files(BTreeMap<String, String>);

impl Source for Files {
    fn read(&self, path: &str) -> Content {
        self.0.get(path).map_or(Content::Unreadable, |text| Content::Text(text.clone()))
    }

    fn list(&self, folder: &str) -> Vec<String> {
        let inside = |path: &String| Some(path.strip_prefix(folder)?.strip_prefix('/')?.to_owned());
        self.0.keys().filter_map(inside).filter(|name| !name.contains('/')).collect()
    }
}

/// sshd's configuration, the main file and drop-ins after it with NULs between: reading ends, whatever
/// includes what, and every directive is a line of its file.
pub fn sshd(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut texts = text.splitn(4, '\0').map(str::to_owned);
    let main = texts.next().unwrap_or_default();
    let name = |(at, text)| (format!("/etc/ssh/sshd_config.d/{at}.conf"), text);
    let mut files: BTreeMap<String, String> = texts.enumerate().map(name).collect();
    files.insert(MAIN.to_owned(), main.clone());
    let files = Files(files);
    for directive in walk(&files, MAIN, &main).directives {
        let file = files.0.get(&directive.file).expect("a file that is there");
        let line = file.split('\n').nth(directive.line - 1).expect("a line that is there");
        assert!(line.contains(&directive.text), "{}", directive.place());
        assert!(!directive.keyword.is_empty());
        assert_eq!(directive.keyword, directive.keyword.to_ascii_lowercase());
        assert!(!split(&directive.text).is_empty(), "{}", directive.text);
        for condition in &directive.conditions {
            let _ = example_connection(&condition.criteria);
        }
        let _ = directive.holds_for("root");
    }
}
