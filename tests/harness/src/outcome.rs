//! What a run of a module gave, and assertions on it that show the whole result when they fail.

use std::process::Output;

use serde_json::Value;

/// What a module printed and how it ended.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The result; null when a person's command line was run.
    pub result: Value,
    /// Standard output as it was.
    pub stdout: String,
    /// Standard error as it was.
    pub stderr: String,
    /// The exit status; -1 after a signal.
    pub status: i32,
}

impl Outcome {
    pub(crate) fn new(output: Output) -> Self {
        Self {
            result: Value::Null,
            stdout: String::from_utf8(output.stdout).expect("standard output is UTF-8"),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            status: output.status.code().unwrap_or(-1),
        }
    }

    /// Asserts what every run keeps, and reads the result.
    pub(crate) fn checked(mut self) -> Self {
        let shown =
            format!("stdout: {}\nstderr: {}\nstatus: {}", self.stdout, self.stderr, self.status);
        assert!(self.stderr.is_empty(), "standard error is not empty\n{shown}");
        assert!(self.stdout.is_ascii(), "standard output is not ASCII\n{shown}");
        assert!(
            self.stdout.ends_with('\n') && self.stdout.matches('\n').count() == 1,
            "standard output is not one line\n{shown}"
        );
        self.result = serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("not JSON: {error}\n{shown}"));
        assert!(self.result.is_object(), "the result is not an object\n{shown}");
        for key in ["changed", "failed", "skipped"] {
            let value = &self.result[key];
            assert!(value.is_null() || value.is_boolean(), "{key} is not a boolean\n{shown}");
        }
        let failed = self.result["failed"] == true;
        assert_eq!(self.status, i32::from(failed), "status and result disagree\n{shown}");
        if failed {
            let message = self.result["msg"].as_str().unwrap_or_default();
            assert!(!message.is_empty(), "a failure without a message\n{shown}");
        }
        self
    }

    /// Asserts success and says whether something changed.
    #[must_use]
    #[track_caller]
    pub fn changed(&self) -> bool {
        self.ok();
        self.result["changed"].as_bool().expect("a success says whether it changed something")
    }

    /// Asserts success; gives the result.
    #[track_caller]
    pub fn ok(&self) -> &Value {
        assert!(self.result["failed"] != true, "it failed: {}", self.stdout);
        &self.result
    }

    /// Asserts failure; gives the message.
    #[track_caller]
    pub fn failed(&self) -> &str {
        assert!(self.result["failed"] == true, "it did not fail: {}", self.stdout);
        self.result["msg"].as_str().unwrap_or_default()
    }

    /// The lines of the plan.
    #[must_use]
    #[track_caller]
    pub fn plan(&self) -> Vec<&str> {
        let lines = self.result["plan"].as_array().map(Vec::as_slice).unwrap_or_default();
        lines.iter().map(|line| line.as_str().expect("a line of the plan is text")).collect()
    }

    /// The warnings.
    #[must_use]
    #[track_caller]
    pub fn warnings(&self) -> Vec<&str> {
        let lines = self.result["warnings"].as_array().map(Vec::as_slice).unwrap_or_default();
        lines.iter().map(|line| line.as_str().expect("a warning is text")).collect()
    }

    /// Asserts that a secret is nowhere in what was printed, neither as it is nor as JSON or an
    /// address would write it.
    #[track_caller]
    pub fn hides(&self, secret: &str) -> &Self {
        assert!(!secret.is_empty(), "an empty secret would be found everywhere");
        let json = Value::from(secret).to_string();
        let json = json.trim_matches('"');
        let address: String = secret
            .bytes()
            .map(|byte| match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                    char::from(byte).to_string()
                }
                _ => format!("%{byte:02X}"),
            })
            .collect();
        for form in [secret, json, &address] {
            for (stream, text) in [("output", &self.stdout), ("error", &self.stderr)] {
                assert!(!text.contains(form), "a secret is on standard {stream}: {text}");
            }
        }
        self
    }
}
