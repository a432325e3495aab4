//! Whether users can still log in when passwords are off.

use std::path::{Path, PathBuf};

use ansible_module::Failure;
use managed_node::{Node, User};

use crate::config::matches;
use crate::effective::Dump;
use crate::params::Params;

/// The users who must have a key: those that were asked for, else whoever called sudo.
pub(crate) fn users(params: &Params) -> Vec<String> {
    match &params.require_keys_for {
        Some(users) => users.clone(),
        None if params.root.is_some() => Vec::new(),
        // root has no need to come in by ssh to call sudo
        None => std::env::var("SUDO_USER")
            .ok()
            .filter(|user| !user.is_empty() && user != "root")
            .into_iter()
            .collect(),
    }
}

/// Why a user could not log in under what is in force, if it is so.
pub(crate) fn lacking(node: &Node, user: &str, dump: &Dump) -> Result<Option<String>, Failure> {
    let on = |keyword: &str| dump.first(keyword) == "yes";
    if on("passwordauthentication") || on("kbdinteractiveauthentication") {
        return Ok(None);
    }
    let Some(known) = node.user(user)? else {
        return Ok(Some(format!("there is no user '{user}'")));
    };
    if dump.first("pubkeyauthentication") == "no" {
        return Ok(Some(format!("logins with a key are off for '{user}' too")));
    }
    let given = |keyword: &str| !matches!(dump.first(keyword), "" | "none");
    if let Some(reason) = shut_out(&known, dump) {
        return Ok(Some(reason));
    }
    // keys and certificates that come from elsewhere cannot be counted here
    if given("authorizedkeyscommand") || given("trustedusercakeys") {
        return Ok(None);
    }
    let files: Vec<PathBuf> = dump
        .first("authorizedkeysfile")
        .split_whitespace()
        .filter(|file| *file != "none")
        .map(|file| expand(file, &known))
        .collect();
    if files.is_empty() {
        return Ok(Some(format!("AuthorizedKeysFile is none, so that '{user}' has no key")));
    }
    let mut unsafe_for: Option<String> = None;
    for file in &files {
        if !node.read_text_if_any(file)?.is_some_and(|text| text.lines().any(is_key)) {
            continue;
        }
        match writable_by_others(node, file, &known).filter(|_| dump.first("strictmodes") != "no") {
            None => return Ok(None),
            Some(path) => unsafe_for = Some(path),
        }
    }
    if let Some(path) = unsafe_for {
        return Ok(Some(format!(
            "sshd does not take the keys of '{user}', since others than '{user}' and root can \
             write {path} (StrictModes)"
        )));
    }
    let files: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
    Ok(Some(format!("user '{user}' has no key in {}", files.join(" or "))))
}

/// Why a user is not let in with any key.
fn shut_out(user: &User, dump: &Dump) -> Option<String> {
    let name = &user.name;
    if user.uid == 0 && dump.first("permitrootlogin") == "no" {
        return Some(format!("PermitRootLogin is no, so that '{name}' is not let in"));
    }
    let words = |keyword: &str| -> Vec<String> {
        let lines = dump.all(keyword).iter();
        lines.flat_map(|line| line.split_whitespace()).map(ToOwned::to_owned).collect()
    };
    // from where somebody comes is not known: what depends on it is held to let in
    if words("denyusers").iter().any(|pattern| !pattern.contains('@') && matches(pattern, name)) {
        return Some(format!("DenyUsers does not let '{name}' in"));
    }
    let allowed = words("allowusers");
    let fits = |pattern: &String| matches(pattern.split('@').next().unwrap_or_default(), name);
    (!allowed.is_empty() && !allowed.iter().any(fits))
        .then(|| format!("AllowUsers does not let '{name}' in"))
}

/// What sshd's StrictModes object to: the file or a folder above it, up to the home, that somebody
/// else than the user and root can write.
fn writable_by_others(node: &Node, file: &Path, user: &User) -> Option<String> {
    let real = node.follow(file).ok()?;
    let home = node.follow(&user.home).ok();
    for path in real.ancestors() {
        let (owner, _, mode) = node.owner_and_mode(path).ok()?;
        if (owner != 0 && owner != user.uid) || mode & 0o022 != 0 {
            return Some(path.display().to_string());
        }
        if home.as_deref() == Some(path) {
            break;
        }
    }
    None
}

fn expand(file: &str, user: &User) -> PathBuf {
    let mut path = String::new();
    let mut chars = file.chars();
    while let Some(c) = chars.next() {
        match (c, if c == '%' { chars.next() } else { None }) {
            ('%', Some('h')) => path.push_str(&user.home.to_string_lossy()),
            ('%', Some('u')) => path.push_str(&user.name),
            ('%', Some('U')) => path.push_str(&user.uid.to_string()),
            ('%', other) => path.extend(other),
            (c, _) => path.push(c),
        }
    }
    if Path::new(&path).is_absolute() { path.into() } else { user.home.join(path) }
}

fn is_key(line: &str) -> bool {
    let line = line.trim_start();
    let kind = |word: &str| ["ssh-", "ecdsa-", "sk-"].iter().any(|start| word.starts_with(start));
    // options may stand before the type
    !line.starts_with('#')
        && line
            .split_whitespace()
            .zip(line.split_whitespace().skip(1))
            .any(|(word, key)| kind(word) && key.starts_with("AAAA"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI x";

    #[test]
    fn lines_that_are_keys() {
        let table = [
            (KEY, true),
            ("from=\"10.0.0.1\",no-pty ecdsa-sha2-nistp256 AAAAE2 a", true),
            ("sk-ssh-ed25519@openssh.com AAAAG a", true),
            ("# ssh-ed25519 AAAAC3 x", false),
            ("", false),
            ("no key here", false),
            ("ssh-ed25519", false),
        ];
        for (line, wanted) in table {
            assert_eq!(is_key(line), wanted, "{line}");
        }
    }

    #[test]
    fn g39_who_would_be_locked_out() {
        let folder = tempfile::tempdir().unwrap();
        let node = Node::new(Some(folder.path())).unwrap();
        std::fs::create_dir_all(folder.path().join("etc")).unwrap();
        let passwd = "root:x:0:0::/root:/bin/sh\neric:x:3:3::/home/eric:/bin/sh\nann:x:1:1::/home/ann:/bin/sh\nbob:x:2:2::/home/bob:/bin/sh\n";
        std::fs::write(folder.path().join("etc/passwd"), passwd).unwrap();
        std::fs::create_dir_all(folder.path().join("home/ann/.ssh")).unwrap();
        std::fs::write(folder.path().join("home/ann/.ssh/authorized_keys"), KEY).unwrap();
        let shared = folder.path().join("home/eric/.ssh");
        std::fs::create_dir_all(&shared).unwrap();
        std::fs::write(shared.join("authorized_keys"), KEY).unwrap();
        let everyone = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(&shared, everyone).unwrap();
        std::fs::create_dir_all(folder.path().join("keys")).unwrap();
        std::fs::write(folder.path().join("keys/bob"), KEY).unwrap();
        let off = "passwordauthentication no\nkbdinteractiveauthentication no\n";
        let files = "authorizedkeysfile .ssh/authorized_keys\n";
        let table = [
            ("bob", format!("passwordauthentication yes\n{files}"), None),
            ("bob", format!("kbdinteractiveauthentication yes\n{files}"), None),
            ("ann", format!("{off}{files}"), None),
            (
                "bob",
                format!("{off}{files}"),
                Some("user 'bob' has no key in /home/bob/.ssh/authorized_keys"),
            ),
            ("bob", format!("{off}authorizedkeysfile none /keys/%u\n"), None),
            ("ann", format!("{off}authorizedkeysfile %h/.ssh/authorized_keys\n"), None),
            ("eve", format!("{off}{files}"), Some("there is no user 'eve'")),
            (
                "ann",
                format!("{off}{files}pubkeyauthentication no\n"),
                Some("logins with a key are off for 'ann' too"),
            ),
            ("bob", format!("{off}{files}trustedusercakeys /etc/ssh/ca\n"), None),
            (
                "bob",
                format!("{off}authorizedkeysfile none\n"),
                Some("AuthorizedKeysFile is none, so that 'bob' has no key"),
            ),
            (
                "ann",
                format!("{off}{files}denyusers eve\ndenyusers a*\n"),
                Some("DenyUsers does not let 'ann' in"),
            ),
            ("ann", format!("{off}{files}denyusers ann@10.*\n"), None),
            (
                "ann",
                format!("{off}{files}allowusers root\n"),
                Some("AllowUsers does not let 'ann' in"),
            ),
            ("ann", format!("{off}{files}allowusers root\nallowusers ann@10.*\n"), None),
            (
                "root",
                format!("{off}permitrootlogin no\n"),
                Some("PermitRootLogin is no, so that 'root' is not let in"),
            ),
            (
                "eric",
                format!("{off}{files}strictmodes yes\n"),
                Some(
                    "sshd does not take the keys of 'eric', since others than 'eric' and root can \
                     write /home/eric/.ssh (StrictModes)",
                ),
            ),
            ("eric", format!("{off}{files}strictmodes no\n"), None),
        ];
        for (user, dump, wanted) in table {
            let found = lacking(&node, user, &Dump::parse(&dump)).unwrap();
            assert_eq!(found.as_deref(), wanted, "{user} {dump}");
        }
    }
}
