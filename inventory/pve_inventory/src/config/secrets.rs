//! Secrets that stand somewhere else than in the configuration: in a file that only its owner can
//! read, or in what a command prints.

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use secret::Secret;

use crate::error::Error;

/// No secret is longer.
const MOST: u64 = 64 * 1024;

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
    one_line(&text).map_err(|what| Error::Content {
        path: path.to_owned(),
        reason: format!("it holds {what}, and should hold the secret alone"),
    })
}

/// A text that is a secret and nothing else; else what it is.
fn one_line(text: &str) -> Result<Secret, &'static str> {
    match text.trim() {
        "" => Err("nothing"),
        text if text.contains(['\n', '\r']) => Err("several lines"),
        text => Ok(Secret::new(text)),
    }
}

/// A secret that a command prints, within so many seconds. Neither the command nor its words are in
/// an error: some have secrets in both.
pub(crate) fn command(words: &[String], key: &'static str, seconds: u32) -> Result<Secret, Error> {
    let failed = |reason: String| Error::SecretCommand { key, reason };
    let (program, arguments) = words.split_first().ok_or_else(|| failed("it is empty".into()))?;
    // in this process's own group, so that it may ask on the terminal
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| failed(format!("cannot be run: {error}")))?;
    let end = Instant::now() + Duration::from_secs(seconds.into());
    let outcome = printed(&mut child, end);
    if outcome.is_none() {
        // the error is that it did not end, whatever becomes of it now
        let _ = child.kill();
        let _ = child.wait();
    }
    let (text, status) = outcome
        .ok_or_else(|| failed(format!("did not end within {seconds} s (timeout)")))?
        .map_err(|error| failed(format!("cannot be read: {error}")))?;
    if !status.success() {
        return Err(failed(format!("ended with {status}")));
    }
    let text = String::from_utf8(text).map_err(|_| failed("printed no text".into()))?;
    one_line(&text).map_err(|what| match what {
        "nothing" => failed("printed nothing".into()),
        what => failed(format!("printed {what}, and should print the secret alone")),
    })
}

/// What a command printed and how it ended; nothing if it is not at its end by then.
fn printed(child: &mut Child, end: Instant) -> Option<std::io::Result<(Vec<u8>, ExitStatus)>> {
    let output = child.stdout.take()?;
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        let mut text = Vec::new();
        let read = output.take(MOST).read_to_end(&mut text).map(|_| text);
        // nobody listens any more when the time is over
        let _ = send.send(read);
    });
    let read = receive.recv_timeout(end.saturating_duration_since(Instant::now())).ok()?;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(read.map(|text| (text, status))),
            Ok(None) if Instant::now() < end => std::thread::sleep(Duration::from_millis(5)),
            Ok(None) => return None,
            Err(error) => return Some(Err(error)),
        }
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
        let got = command(&words("echo ' aaaa-bbbb '"), "token_secret_command", 60).unwrap();
        assert_eq!(got.expose(), "aaaa-bbbb");
        for (line, text) in [
            ("echo aaaa >&2; exit 3", "exit status: 3"),
            ("true", "printed nothing"),
            ("printf '\\377'", "printed no text"),
            ("echo aaaa; echo bbbb", "printed several lines, and should print the secret alone"),
            ("exec yes aaaa", "ended with signal: 13 (SIGPIPE)"),
        ] {
            let error = command(&words(line), "token_secret_command", 60).unwrap_err().to_string();
            assert!(error.starts_with("token_secret_command "), "{error}");
            assert!(error.ends_with(text) && !error.contains("aaaa"), "{error}");
        }
        let error = command(&["/nonexistent/x".to_owned()], "password_command", 60).unwrap_err();
        assert!(error.to_string().contains("cannot be run: No such file"), "{error}");
    }

    #[test]
    fn a_command_that_does_not_end_is_given_up() {
        // the second leaves a program behind that holds its output, the third is done with printing
        for line in ["exec sleep 60", "echo aaaa; sleep 60 &", "echo aaaa; exec >&-; exec sleep 60"]
        {
            let words = ["/bin/sh", "-c", line].map(str::to_owned);
            let begin = Instant::now();
            let error = command(&words, "token_secret_command", 1).unwrap_err().to_string();
            assert_eq!(error, "token_secret_command did not end within 1 s (timeout)", "{line}");
            assert!(begin.elapsed() < Duration::from_secs(30), "{line}");
        }
    }

    #[test]
    fn a_file_holds_the_secret_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        for (text, what) in [("aaaa\nbbbb\n", "several lines"), (" \n", "nothing")] {
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
            let error = file(&path).unwrap_err().to_string();
            let text = format!("secret: it holds {what}, and should hold the secret alone");
            assert!(error.ends_with(&text) && !error.contains("aaaa"), "{error}");
        }
    }
}
