//! A connection that a `Match` fits, to ask sshd about.

use super::split;

/// A connection as `sshd -T -C` takes it, or nothing if none can be made up: a group has members
/// that we do not know.
pub(crate) fn example_connection(criteria: &str) -> Option<String> {
    let words = split(&format!("Match {criteria}"));
    let mut words = words.into_iter().skip(1);
    let mut parts = vec![
        ("user", "nobody".to_owned()),
        ("host", "client.invalid".to_owned()),
        ("addr", "192.0.2.1".to_owned()),
    ];
    let mut known = false;
    while let Some(word) = words.next() {
        if word.eq_ignore_ascii_case("all") {
            known = true;
            continue;
        }
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name.to_owned(), value.to_owned()),
            None => (word, words.next()?),
        };
        let key = match name.to_ascii_lowercase().as_str() {
            "user" => "user",
            "host" => "host",
            "address" => "addr",
            "localaddress" => "laddr",
            "localport" => "lport",
            _ => return None,
        };
        let example = value.split(',').find(|pattern| !pattern.starts_with('!'))?;
        let example = example.split('/').next().unwrap_or(example).replace(['*', '?'], "1");
        if example.contains(['[', ' ', '\t']) {
            return None;
        }
        parts.retain(|(known, _)| *known != key);
        parts.push((key, example));
        known = true;
    }
    known.then(|| {
        let parts: Vec<_> = parts.iter().map(|(key, value)| format!("{key}={value}")).collect();
        parts.join(",")
    })
}

#[cfg(test)]
mod tests {
    use super::example_connection;

    #[test]
    fn connections() {
        let table = [
            ("User git", Some("host=client.invalid,addr=192.0.2.1,user=git")),
            ("User !root,g*", Some("host=client.invalid,addr=192.0.2.1,user=g1")),
            ("Address 10.0.0.0/8", Some("user=nobody,host=client.invalid,addr=10.0.0.0")),
            ("LocalPort 2222 user=a", Some("host=client.invalid,addr=192.0.2.1,lport=2222,user=a")),
            ("Group staff", None),
            ("User", None),
            ("User !root", None),
        ];
        for (criteria, wanted) in table {
            assert_eq!(example_connection(criteria).as_deref(), wanted, "{criteria}");
        }
    }
}
