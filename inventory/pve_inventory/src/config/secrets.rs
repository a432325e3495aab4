//! Secrets that stand somewhere else than in the configuration: in a file that only its owner can
//! read, or in what a command prints.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use secret::Secret;

use crate::error::Error;

/// Refuses a file that others can read.
pub(crate) fn tight(path: &Path) -> Result<(), Error> {
    let failed = |source| Error::Read { path: path.to_owned(), source };
    let mode = path.metadata().map_err(failed)?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(Error::OpenSecret { path: path.to_owned(), mode: mode & 0o777 });
    }
    Ok(())
}

/// A secret that is a file's content.
pub(crate) fn file(path: &Path) -> Result<Secret, Error> {
    tight(path)?;
    let text = std::fs::read_to_string(path)
        .map_err(|source| Error::Read { path: path.to_owned(), source })?;
    Ok(Secret::new(text.trim()))
}

/// A secret that a command prints. Neither the command nor its words are in an error: some have
/// secrets in both.
pub(crate) fn command(words: &[String], key: &'static str) -> Result<Secret, Error> {
    let failed = |reason: String| Error::SecretCommand { key, reason };
    let (program, arguments) = words.split_first().ok_or_else(|| failed("it is empty".into()))?;
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| failed(format!("cannot be run: {error}")))?;
    if !output.status.success() {
        return Err(failed(format!("ended with {}", output.status)));
    }
    let text = String::from_utf8(output.stdout).map_err(|_| failed("printed no text".into()))?;
    match text.trim() {
        "" => Err(failed("printed nothing".into())),
        text => Ok(Secret::new(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a30_a_secret_file_is_tight_and_its_newline_is_not_the_secrets() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        std::fs::write(&path, "aaaa-bbbb\n").unwrap();
        let with = |mode| {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            file(&path)
        };
        for mode in [0o600, 0o400] {
            assert_eq!(with(mode).unwrap().expose(), "aaaa-bbbb");
        }
        for mode in [0o640, 0o604, 0o660, 0o620] {
            let error = with(mode).unwrap_err().to_string();
            assert!(error.contains(&format!("its mode is {mode:04o}")), "{error}");
            assert!(error.contains("others can read it: chmod 600"), "{error}");
            assert!(!error.contains("aaaa"), "{error}");
        }
    }

    #[test]
    fn a_command_prints_a_secret_or_is_named() {
        let words =
            |line: &str| -> Vec<String> { ["/bin/sh", "-c", line].map(str::to_owned).to_vec() };
        let got = command(&words("echo ' aaaa-bbbb '"), "token_secret_command").unwrap();
        assert_eq!(got.expose(), "aaaa-bbbb");
        for (line, text) in [
            ("echo aaaa >&2; exit 3", "exit status: 3"),
            ("true", "printed nothing"),
            ("printf '\\377'", "printed no text"),
        ] {
            let error = command(&words(line), "token_secret_command").unwrap_err().to_string();
            assert!(error.starts_with("token_secret_command "), "{error}");
            assert!(error.ends_with(text) && !error.contains("aaaa"), "{error}");
        }
        let error = command(&["/nonexistent/x".to_owned()], "password_command").unwrap_err();
        assert!(error.to_string().contains("cannot be run: No such file"), "{error}");
    }
}
