//! Shell patterns: `*`, `?`, `[a-z]`. Names that begin with a dot are not found by a star.

/// Whether a name fits a pattern without slashes.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    fits(&pattern, &name)
}

fn fits(pattern: &[char], name: &[char]) -> bool {
    match pattern.split_first() {
        None => name.is_empty(),
        Some(('*', rest)) => (0..=name.len()).any(|skip| fits(rest, &name[skip..])),
        Some(('?', rest)) => !name.is_empty() && fits(rest, &name[1..]),
        Some(('[', rest)) => {
            let Some(end) = rest.iter().skip(1).position(|c| *c == ']').map(|end| end + 1) else {
                return name.first() == Some(&'[') && fits(rest, &name[1..]);
            };
            let Some((first, left)) = name.split_first() else { return false };
            in_set(&rest[..end], *first) && fits(&rest[end + 1..], left)
        }
        Some(('\\', rest)) if !rest.is_empty() => {
            name.first() == rest.first() && fits(&rest[1..], &name[1..])
        }
        Some((c, rest)) => name.first() == Some(c) && fits(rest, &name[1..]),
    }
}

fn in_set(set: &[char], c: char) -> bool {
    let (negated, set) = match set.split_first() {
        Some(('!' | '^', rest)) => (true, rest),
        _ => (false, set),
    };
    let mut found = false;
    let mut index = 0;
    while index < set.len() {
        if index + 2 < set.len() && set[index + 1] == '-' {
            found |= (set[index]..=set[index + 2]).contains(&c);
            index += 3;
        } else {
            found |= set[index] == c;
            index += 1;
        }
    }
    found != negated
}

/// The paths that fit an absolute pattern, in byte order.
pub(crate) fn expand(pattern: &str, list: &dyn Fn(&str) -> Vec<String>) -> Vec<String> {
    let mut found = vec![String::new()];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        let mut next = Vec::new();
        for folder in &found {
            let here = if folder.is_empty() { "/" } else { folder };
            for name in list(here) {
                let hidden = name.starts_with('.') && !part.starts_with('.');
                if !hidden && matches(part, &name) {
                    next.push(format!("{folder}/{name}"));
                }
            }
        }
        found = next;
    }
    found.sort_unstable();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        let table = [
            ("*.conf", "10-a.conf", true),
            ("*.conf", "10-a.txt", false),
            ("*", "", true),
            ("??-*.conf", "10-a.conf", true),
            ("[0-9]*", "5x", true),
            ("[!0-9]*", "5x", false),
            ("[^a]b", "cb", true),
            ("[]x]y", "]y", true),
            ("a[", "a[", true),
            ("\\*", "*", true),
            ("\\*", "a", false),
            ("bob", "bobby", false),
        ];
        for (pattern, name, wanted) in table {
            assert_eq!(matches(pattern, name), wanted, "{pattern} {name}");
        }
    }

    #[test]
    fn byte_order_and_hidden_names() {
        let list = |folder: &str| -> Vec<String> {
            let names: &[&str] = match folder {
                "/" => &["etc"],
                "/etc" => &["d", "e"],
                "/etc/d" => &["A.conf", "5-z.conf", "20-b.conf", ".hid.conf", "05-y.conf", "x"],
                "/etc/e" => &["1.conf"],
                _ => &[],
            };
            names.iter().map(ToString::to_string).collect()
        };
        assert_eq!(
            expand("/etc/d/*.conf", &list),
            ["/etc/d/05-y.conf", "/etc/d/20-b.conf", "/etc/d/5-z.conf", "/etc/d/A.conf"]
        );
        assert_eq!(expand("/etc/?/*1.conf", &list), ["/etc/e/1.conf"]);
        assert_eq!(expand("/etc/d/.*", &list), ["/etc/d/.hid.conf"]);
        assert_eq!(expand("/etc/none/*.conf", &list), Vec::<String>::new());
    }
}
