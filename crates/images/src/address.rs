//! Addresses, some of which have a password in them.

/// An address without what may be a password in it.
#[must_use]
pub fn shown(url: &str) -> String {
    match (url.split_once("://"), login(url)) {
        (Some((scheme, rest)), Some(login)) => format!("{scheme}://{}", &rest[login.len() + 1..]),
        _ => url.to_owned(),
    }
}

/// The password in an address.
#[must_use]
pub fn password(url: &str) -> Option<&str> {
    login(url)?.split_once(':').map(|(_, password)| password)
}

/// What stands before the host, without its `@`.
fn login(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let host = rest.split(['/', '?', '#']).next()?;
    if let Some((login, _)) = host.rsplit_once('@') {
        return Some(login);
    }
    // a password that has one of these characters as it is: what follows the ':' is no port
    let (_, port) = host.rsplit_once(':')?;
    let is_port = port.ends_with(']') || port.bytes().all(|byte| byte.is_ascii_digit());
    if is_port { None } else { rest.rsplit_once('@').map(|(login, _)| login) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_found_and_not_shown() {
        for (url, found, seen) in [
            ("https://user:hush@h/x", Some("hush"), "https://h/x"),
            ("https://user:hu:sh@h:80/x", Some("hu:sh"), "https://h:80/x"),
            ("https://user:hu@sh@h/x", Some("hu@sh"), "https://h/x"),
            ("https://user:hu/sh@h/x", Some("hu/sh"), "https://h/x"),
            ("https://user:hu?sh@h/x@y", Some("hu?sh@h/x"), "https://y"),
            ("https://user:hu#sh@h/x", Some("hu#sh"), "https://h/x"),
            ("https://token@h/x", None, "https://h/x"),
            ("https://:hush@h/x", Some("hush"), "https://h/x"),
            ("https://h/x:y@z", None, "https://h/x:y@z"),
            ("https://h:8443/x@z", None, "https://h:8443/x@z"),
            ("https://[::1]/x@z", None, "https://[::1]/x@z"),
            ("https://[::1]:80/x@z", None, "https://[::1]:80/x@z"),
            ("https://h?x=a@b", None, "https://h?x=a@b"),
            ("/srv/a:b@c", None, "/srv/a:b@c"),
            ("", None, ""),
        ] {
            assert_eq!((password(url), shown(url).as_str()), (found, seen), "{url}");
        }
    }
}
