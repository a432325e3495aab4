//! What `cloud-init status` means. Pure.

use crate::error::Error;
use crate::params::CloudInit;

/// Judges the exit status and the text. 2 means finished with recoverable errors, since 23.4;
/// before that such an end was 0.
pub(crate) fn judge(status: i32, text: &str) -> Result<CloudInit, Error> {
    let details = details(text);
    let said = text
        .lines()
        // dots of the wait stand before it, on the same line
        .find_map(|line| line.trim_start_matches('.').strip_prefix("status:"))
        .map_or_else(|| "unknown".to_owned(), |said| said.trim().to_owned());
    match status {
        0 | 2 => Ok(CloudInit {
            degraded: status == 2,
            deprecated_only: status == 2 && deprecated_only(text),
            status: said,
            details,
        }),
        _ => Err(Error::CloudInit { details }),
    }
}

/// Whether all recoverable errors are remarks about keys that have a newer name. PVE's own seed
/// has such a key, so that every guest of it ends degraded.
fn deprecated_only(text: &str) -> bool {
    let mut kinds = text
        .lines()
        .skip_while(|line| !line.starts_with("recoverable_errors:"))
        .skip(1)
        .filter_map(|line| line.strip_suffix(':'))
        .filter(|kind| !kind.is_empty() && kind.chars().all(|c| c.is_ascii_uppercase()))
        .peekable();
    kinds.peek().is_some() && kinds.all(|kind| kind == "DEPRECATED")
}

/// The text on one line.
fn details(text: &str) -> String {
    let lines: Vec<&str> = text
        .lines()
        .map(|line| line.trim_start_matches('.').trim())
        .filter(|line| !line.is_empty())
        .collect();
    if lines.is_empty() { "it said nothing".to_owned() } else { lines.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g03_exit_statuses() {
        let degraded = "....\nstatus: done\nextended_status: degraded done\nrecoverable_errors:\n\
                        WARNING:\n\t- bad key\n";
        let done = judge(0, "status: done\n").unwrap();
        assert_eq!((done.status.as_str(), done.degraded), ("done", false));
        let done = judge(2, degraded).unwrap();
        assert!(done.degraded);
        assert_eq!(
            done.details,
            "status: done, extended_status: degraded done, recoverable_errors:, WARNING:, - bad key"
        );
        for (text, only) in [
            ("status: done\nrecoverable_errors:\nDEPRECATED:\n\t- user: name\n", true),
            ("recoverable_errors:\nDEPRECATED:\n\t- a\nWARNING:\n\t- b\n", false),
            ("recoverable_errors:\nERROR:\n\t- b\n", false),
            ("status: done\nextended_status: degraded done\n", false),
        ] {
            assert_eq!(judge(2, text).unwrap().deprecated_only, only, "{text}");
        }
        assert_eq!(judge(0, "....status: disabled\n").unwrap().status, "disabled");
        for (status, text, message) in [
            (1, "status: error\ndetail: no datasource\n", "status: error, detail: no datasource"),
            (1, "", "it said nothing"),
            (139, "status: running\n", "status: running"),
        ] {
            assert_eq!(
                judge(status, text).unwrap_err().to_string(),
                format!("cloud-init failed: {message}")
            );
        }
    }
}
